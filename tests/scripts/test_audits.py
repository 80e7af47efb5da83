"""The audits that a maintainer runs by hand: their JSON has the shape that others call for, and they notice what they are there for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import attack_reward, audit_curriculum, check_generator, measure_answers
from supersession.cli import Options, run
from supersession.scoring import score_answer


def result_of(options: type[Options], main: Callable[[Any], None], folder: Path, *arguments: object) -> dict[str, Any]:
    """Run a command with --json and return what it wrote."""
    run(options, main, "example", [*map(str, arguments), "--json", str(folder / "result.json")])
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def judged(**fields: object) -> str:
    return json.dumps({"question": "How many plants do I own?", "gold": "7", "previous": "5", "kind": "count", "source": "m"} | fields)


def test_agreement_is_measured_with_and_without_borderline_rows(tmp_path: Path) -> None:
    rows = [
        judged(answer="seven", reviewed=True, verdict="current"),
        judged(answer="5", reviewed=False, verdict="stale"),
        judged(answer="either 5 or 7", reviewed=True, verdict="hedged"),
        judged(answer="7, I guess", reviewed=False, verdict="other", borderline=True),
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    result = result_of(measure_answers.MeasureOptions, measure_answers.main, tmp_path, tmp_path / "rows.jsonl")
    assert result["clear"] == {"n": 3, "agreement": pytest.approx(2 / 3), "kappa": pytest.approx(0.4), "verdict_accuracy": 1.0}
    assert result["all"]["n"] == 4
    assert set(result["by_kind"]) == {"count"}
    assert set(result["by_source"]) == {"m"}
    assert [row["answer"] for row in result["false_rejects"]] == ["either 5 or 7"]
    assert [row["answer"] for row in result["false_accepts"]] == ["7, I guess"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "holds no rows"),
        ('{"question": "q"}', "line 1: field 'gold' is missing"),
        ('{"question": "q", "gold', "line 1: not valid JSON"),
    ],
)
def test_a_bad_file_of_judged_answers_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, says: str) -> None:
    (tmp_path / "rows.jsonl").write_text(content)
    with pytest.raises(SystemExit, match="2"):
        result_of(measure_answers.MeasureOptions, measure_answers.main, tmp_path, tmp_path / "rows.jsonl")
    assert says in capsys.readouterr().err


def test_no_policy_without_knowledge_earns_anything(tmp_path: Path) -> None:
    result = result_of(attack_reward.AttackOptions, attack_reward.main, tmp_path, "--episodes", 120)
    assert len(result["policies"]) >= 20
    assert result["above_limit"] == []
    honest = result["reference"]["honest: the gold"]["generated"]
    assert honest["answerable"] == honest["unanswerable"] == 1.0


def test_the_attack_notices_a_reward_that_can_be_gamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def contains(question: Any, answer: str, notes: str | None, stale_weight: float) -> Any:
        right = question.gold.lower() in answer.lower()
        return score_answer(question, question.gold if right else "", notes, stale_weight)

    monkeypatch.setattr(attack_reward, "score_answer", contains)
    result = result_of(attack_reward.AttackOptions, attack_reward.main, tmp_path, "--episodes", 60)
    assert {"every value of the type, commas", "gold denied", "old or new"} <= set(result["above_limit"])


def test_the_audit_has_its_shape_and_sees_that_the_last_value_solves_level_0(tmp_path: Path) -> None:
    result = result_of(
        audit_curriculum.AuditOptions, audit_curriculum.main, tmp_path, "--levels", 0, 4, "--count", 80, "--training", 150, "--seed", 3
    )
    assert [level["level"] for level in result["levels"]] == [0, 4]
    for level in result["levels"]:
        assert level["reader_accuracy"] == 1.0
        assert len(level["shortcuts"]) >= 14
        assert level["worst_over_chance"] == pytest.approx(max(level["shortcuts"].values()) - level["chance"])
    assert result["levels"][0]["shortcuts"]["last"] > 0.9
    assert result["levels"][1]["shortcuts"]["last"] < 0.4


def test_the_generator_check_finds_nothing_and_would_find_a_wrong_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("--levels", 0, 5, "--count", 40, "--texts", 200, "--stream", 100)
    result = result_of(check_generator.CheckOptions, check_generator.main, tmp_path, *arguments)
    assert all(level["failures"] == {} for level in result["levels"])
    assert result["diversity"]["distinct_texts"] > 0.9
    assert len(result["speed"]["memory_mib"]) == 10
    monkeypatch.setattr(check_generator, "resolve", lambda episode, question: "nonsense")
    result = result_of(check_generator.CheckOptions, check_generator.main, tmp_path, *arguments)
    assert all(level["failures"]["gold differs from the timeline"] for level in result["levels"])
