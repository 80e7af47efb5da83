"""The folder of rows: resumed exactly, never mixed, never half-written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from eval.rows import Row, RowStore
from supersession.cli import UsageError, write_text
from tests.conftest import make_episode

CONFIG = {"model": "tiny", "budget": 300}
EPISODES = [make_episode("a"), make_episode("b")]


def row(name: str, error: str | None = None) -> Row:
    return Row(
        episode_id=name,
        question_id=f"{name}-q",
        kind="current",
        condition="bounded",
        budget=300,
        question="Which gym?",
        gold="Fit Barn",
        stale=("Iron Temple",),
        correct=None if error else True,
        error=error,
    )


def lines(folder: Path) -> list[str]:
    return (folder / "rows.jsonl").read_text().splitlines()


def test_rows_come_back(tmp_path: Path) -> None:
    with RowStore(tmp_path / "new" / "run", CONFIG) as store:
        store.add([row("a")])
        assert len(lines(store.folder)) == 1
    with RowStore(tmp_path / "new" / "run", CONFIG) as store:
        assert store.finished(EPISODES) == [row("a")]


def test_failed_rows_are_forgotten(tmp_path: Path) -> None:
    with RowStore(tmp_path, CONFIG) as store:
        store.add([row("a", error="refused"), row("b")])
    with RowStore(tmp_path, CONFIG) as store:
        assert store.finished(EPISODES) == [row("b")]
        store.add([row("a")])
    assert len(lines(tmp_path)) == 2


def test_an_episode_counts_only_with_all_its_questions(tmp_path: Path) -> None:
    question = EPISODES[0].questions[0]
    episode = EPISODES[0].model_copy(update={"questions": (question, question.model_copy(update={"id": "second"}))})
    with RowStore(tmp_path, CONFIG) as store:
        store.add([row("a")])
        assert store.finished([episode]) == []
    assert lines(tmp_path) == []


def test_rows_of_episodes_left_out_stay(tmp_path: Path) -> None:
    with RowStore(tmp_path, CONFIG) as store:
        store.add([row("a"), row("b")])
        assert store.finished(EPISODES[:1]) == [row("a")]
    with RowStore(tmp_path, CONFIG) as store:
        assert store.finished(EPISODES) == [row("a"), row("b")]


def test_a_torn_last_line_is_repaired(tmp_path: Path) -> None:
    with RowStore(tmp_path, CONFIG) as store:
        store.add([row("a"), row("b")])
    path = tmp_path / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    with RowStore(tmp_path, CONFIG) as store:
        assert store.finished(EPISODES) == [row("a")]
        store.add([row("b")])
    assert [Row.model_validate_json(line) for line in lines(tmp_path)] == [row("a"), row("b")]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    with RowStore(tmp_path, CONFIG) as store:
        store.add([row("a")])
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(UsageError, match=r"rows\.jsonl, line 1 is damaged"):
        RowStore(tmp_path, CONFIG)


def test_another_config_is_refused(tmp_path: Path) -> None:
    RowStore(tmp_path, CONFIG).__exit__(None, None, None)
    with pytest.raises(UsageError, match="holds results with budget 300, this run has 500; choose another --out"):
        RowStore(tmp_path, CONFIG | {"budget": 500})


def test_a_damaged_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UsageError, match="is damaged"):
        RowStore(tmp_path, CONFIG)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with RowStore(tmp_path, CONFIG), pytest.raises(UsageError, match="another run is writing to"):
        RowStore(tmp_path, CONFIG)
    with RowStore(tmp_path, CONFIG):
        pass


def test_text_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_device_is_written_to_and_stays_one() -> None:
    with pytest.raises(OSError, match="No space left on device"):
        write_text(Path("/dev/full"), "text")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
