"""curricula/generate.py writes episodes that the package reads back, in both formats, and refuses bad input in one sentence."""

import json
import subprocess
import sys
from pathlib import Path

from supersession.episode import read_jsonl
from supersession.sources.generator import episodes

ROOT = Path(__file__).parents[2]


def _generate(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "curricula" / "generate.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_jsonl_reads_back_as_the_same_episodes(tmp_path):
    done = _generate(
        "--level", 3, "--split", "test", "--count", 5, "--seed", 4, "--out", tmp_path / "e.jsonl", "--json", tmp_path / "s.json"
    )
    assert done.returncode == 0, done.stderr
    assert list(read_jsonl(tmp_path / "e.jsonl")) == list(episodes("test", 4, 3, 5))
    assert sum(json.loads((tmp_path / "s.json").read_text())["kinds"].values()) == 5


def test_longmemeval_format_keeps_questions_dates_and_evidence(tmp_path):
    out = tmp_path / "e.json"
    done = _generate("--level", 2, "--split", "dev", "--count", 20, "--questions", 2, "--out", out, "--format", "longmemeval")
    assert done.returncode == 0, done.stderr
    entries = json.loads(out.read_text())
    made = list(episodes("dev", 0, 2, 20, questions=2))
    assert [entry["question"] for entry in entries] == [question.text for episode in made for question in episode.questions]
    for entry in entries:
        assert len(entry["haystack_sessions"]) == len(entry["haystack_dates"]) == len(entry["haystack_session_ids"])
        told = any(turn["has_answer"] for session in entry["haystack_sessions"] for turn in session)
        assert told or entry["question_id"].endswith("_abs")


def test_bad_input_is_one_sentence_and_leaves_no_file(tmp_path):
    for arguments, says in (
        (("--level", 9), "--level: 9 is unknown; choose one of 0, 1, 2, 3, 4, 5, 6"),
        (("--split", "val"), "--split: 'val' is unknown; choose one of train, dev, test, ood"),
        (("--count", 0), "--count"),
        (("--format", "csv"), "--format"),
    ):
        done = _generate(*arguments, "--out", tmp_path / "x.jsonl")
        assert done.returncode == 2
        assert says in done.stderr
        assert "Traceback" not in done.stderr
    done = _generate("--out", tmp_path / "missing" / "x.jsonl")
    assert done.returncode == 2
    assert "does not exist" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_knobs_from_a_file_replace_those_of_the_level(tmp_path):
    knobs, out = tmp_path / "knobs.toml", tmp_path / "e.jsonl"
    knobs.write_text("sessions = [5, 5]\n")
    assert _generate("--level", 2, "--count", 3, "--knobs", knobs, "--out", out).returncode == 0
    assert all(len(episode.sessions) == 5 for episode in read_jsonl(out))
    for text, says in (("sessions = [5, 2]", "sessions must be a range"), ("session = 3", "session: "), ("sessions = [", "not valid TOML")):
        knobs.write_text(text)
        done = _generate("--knobs", knobs, "--out", out)
        assert done.returncode == 2
        assert says in done.stderr
