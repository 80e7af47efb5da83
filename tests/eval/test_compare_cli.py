"""The command that compares evaluations, from its folders to its exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.compare import EXAMPLE, CompareOptions, main
from eval.rows import Row, RowStore
from supersession import cli
from tests.eval.test_report import row

Compare = Callable[..., tuple[int, str, str]]


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compare:
    """Run the command inside this process, in the folder of the runs."""
    monkeypatch.chdir(tmp_path)

    def inside(*arguments: object) -> tuple[int, str, str]:
        code: Any = 0
        try:
            cli.run(CompareOptions, main, EXAMPLE, [str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return inside


def write(folder: Path, rows: list[Row]) -> None:
    with RowStore(folder, {"folder": folder.name}) as store:
        store.add(rows)


def rows(right: int, n: int = 12, **changes: Any) -> list[Row]:
    return [row(i, correct=i < right, **changes) for i in range(n)]


def test_runs_of_other_conditions_are_compared_with_the_first(compare: Compare, tmp_path: Path) -> None:
    write(tmp_path / "base", rows(1))
    write(tmp_path / "full", rows(12, condition="full", notes=(), overflow=(), T=None, C=None))
    write(tmp_path / "some", rows(4, n=10))
    code, out, err = compare("base", "full", "some", "--json", "all.json")
    assert (code, err) == (0, "")
    assert "full is right on 11 more of 12 questions than base; p = 9.8e-04, 0.002 after Holm's correction" in out
    assert "10 shared questions of 10 episodes; left out: 2 that only the first has scored" in out
    result = json.loads((tmp_path / "all.json").read_text())
    assert [(run["folder"], run["n"], run["correct"]) for run in result["runs"]] == [("base", 12, 1), ("full", 12, 12), ("some", 10, 4)]
    lines = [line for line in result["comparisons"] if line["kind"] == "all"]
    assert [(line["first"], line["second"], line["n"], line["conclusive"]) for line in lines] == [
        ("base", "full", 12, True),
        ("base", "some", 10, False),
    ]
    assert lines[0]["sentence"] in out
    assert result["provenance"]["python"]


def test_the_seed_decides_the_interval(compare: Compare, tmp_path: Path) -> None:
    write(tmp_path / "a", [row(i // 3, question_id=f"q{i}", correct=i % 7 == 0) for i in range(50)])
    write(tmp_path / "b", [row(i // 3, question_id=f"q{i}", correct=i % 3 == 0) for i in range(50)])
    found = []
    for seed in (0, 0, 1):
        _, out, _ = compare("a", "b", "--seed", seed, "--json", "all.json")
        found.append(json.loads((tmp_path / "all.json").read_text())["comparisons"][0]["difference_interval"])
    assert found[0] == found[1] != found[2]
    assert "Some episodes ask several questions" in out


def test_a_run_under_way_can_be_compared_and_is_left_alone(compare: Compare, tmp_path: Path) -> None:
    write(tmp_path / "a", rows(3))
    write(tmp_path / "b", rows(9))
    path = tmp_path / "b" / "rows.jsonl"
    path.write_bytes(path.read_bytes() + b'{"episode_id": "half')
    before = path.read_bytes()
    assert compare("a", "b")[0] == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good"], "good is the only run given"),
        (["good", "good"], "good is given twice"),
        (["good", "absent"], "absent holds no rows.jsonl; give the --out folder of an evaluation"),
        (["good", "fresh"], "holds no rows yet"),
        (["good", "failed"], "all rows of failed have failed"),
        (["good", "elsewhere"], "good and elsewhere share no scored question"),
        (["good", "other", "--json", "nowhere/all.json"], "folder nowhere does not exist"),
        (["good", "other", "--seed", "many"], "--seed"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(compare: Compare, tmp_path: Path, arguments: list[str], message: str) -> None:
    write(tmp_path / "good", rows(3))
    write(tmp_path / "other", rows(4))
    write(tmp_path / "fresh", [])
    write(tmp_path / "failed", rows(0, error="refused"))
    write(tmp_path / "elsewhere", [row(50 + i) for i in range(5)])
    code, out, err = compare(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1, err


def test_help_shows_an_example(compare: Compare) -> None:
    code, out, _ = compare("--help")
    assert code == 0
    assert "example:\n  python eval/compare.py runs/base" in out
