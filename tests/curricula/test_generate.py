"""curricula/generate.py writes episodes that the package reads back, in both formats, and refuses bad input in one sentence."""

import json
import subprocess
import sys
from pathlib import Path

from curricula.files import open_curriculum
from supersession.answers import verdict
from supersession.episode import read_jsonl
from supersession.sources.generator import episodes, expert_answer
from supersession.sources.longmemeval import load_longmemeval

ROOT = Path(__file__).parents[2]


def _generate(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "curricula" / "generate.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_jsonl_reads_back_as_the_same_episodes(tmp_path):
    done = _generate("level-3", "--split", "test", "--count", 5, "--seed", 4, "--out", tmp_path / "e.jsonl", "--json", tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    assert list(read_jsonl(tmp_path / "e.jsonl")) == [open_curriculum("level-3").episode(0, "test", 4, index, 300) for index in range(5)]
    assert sum(json.loads((tmp_path / "s.json").read_text())["kinds"].values()) == 5


def test_longmemeval_format_keeps_questions_dates_and_evidence(tmp_path):
    out = tmp_path / "e.json"
    done = _generate("level-4", "--split", "dev", "--count", 20, "--out", out, "--format", "longmemeval")
    assert done.returncode == 0, done.stderr
    entries = json.loads(out.read_text())
    made = list(episodes("dev", 0, 4, 20))
    assert [entry["question"] for entry in entries] == [question.text for episode in made for question in episode.questions]
    for entry in entries:
        assert len(entry["haystack_sessions"]) == len(entry["haystack_dates"]) == len(entry["haystack_session_ids"])
        told = any(turn["has_answer"] for session in entry["haystack_sessions"] for turn in session)
        assert told or entry["question_id"].endswith("_abs")


def test_bad_input_is_one_sentence_and_leaves_no_file(tmp_path):
    for arguments, says in (
        (("level-9",), "curriculum 'level-9' is unknown; choose one of buried-update, drift"),
        (("plain", "--split", "val"), "--split: Input should be 'train', 'dev', 'test' or 'ood', got 'val'"),
        (("plain", "--stage", "hard"), "--stage: 'hard' is unknown; choose one of 'plain'"),
        (("plain", "--count", 0), "--count"),
        (("plain", "--format", "csv"), "--format"),
    ):
        done = _generate(*arguments, "--out", tmp_path / "x.jsonl")
        assert done.returncode == 2
        assert says in done.stderr
        assert "Traceback" not in done.stderr
    done = _generate("plain", "--out", tmp_path / "missing" / "x.jsonl")
    assert done.returncode == 2
    assert "does not exist" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_ones_own_is_a_curriculum(tmp_path):
    path, out = tmp_path / "mine.toml", tmp_path / "e.jsonl"
    path.write_text('[[stages]]\nname = "five"\nlevels = {2 = 1.0}\nknobs = {sessions = [5, 5]}\nquestions = 2\n')
    assert _generate(path, "--count", 3, "--out", out).returncode == 0
    made = list(read_jsonl(out))
    assert all(len(episode.sessions) == 5 and episode.meta["stage"] == "five" for episode in made)
    assert any(len(episode.questions) == 2 for episode in made)


def test_stages_take_turns_and_one_can_be_had_alone(tmp_path):
    names = [stage.name for stage in open_curriculum("buried-update").stages]
    assert _generate("buried-update", "--count", 12, "--out", tmp_path / "all.jsonl").returncode == 0
    assert _generate("buried-update", "--count", 2, "--stage", names[3], "--out", tmp_path / "one.jsonl").returncode == 0
    assert {episode.meta["level"] for episode in read_jsonl(tmp_path / "one.jsonl")} <= {3, 4}
    assert len({episode.meta["stage"] for episode in read_jsonl(tmp_path / "all.jsonl")}) >= 5


def test_longmemeval_format_reads_back_with_gold_and_rivals(tmp_path):
    out = tmp_path / "e.json"
    assert _generate("buried-update", "--count", 40, "--out", out, "--format", "longmemeval").returncode == 0
    curriculum = open_curriculum("buried-update")
    made = [curriculum.episode(index % 6, "train", 0, index, 300) for index in range(40)]
    for before, after in zip(made, load_longmemeval(out), strict=True):
        assert after.questions[0].kind == before.questions[0].kind
        assert set(after.questions[0].stale) <= set(before.questions[0].stale) | {"increase", "decrease"}
        assert verdict(expert_answer(before.questions[0]), after.questions[0].gold, after.questions[0].stale) in ("current", "abstain")
