"""The command, from its arguments to its exit code: real runs against a server, killed and resumed, and bad input."""

from __future__ import annotations

import functools
import json
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eval.longmemeval import EXAMPLE, EvaluationOptions, main, open_episodes
from supersession import cli
from supersession.episode import write_jsonl
from tests.chat_server import Fault, gym_agent, serve
from tests.conftest import make_episode

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "eval" / "longmemeval.py")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "episodes.jsonl"
    write_jsonl((make_episode(f"gym{i:02}") for i in range(24)), path)
    return path


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command inside this process, which saves the imports."""

    def inside(*arguments: object) -> Done:
        code: Any = 0
        try:
            cli.run(EvaluationOptions, main, EXAMPLE, [str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        return Done(code, *capsys.readouterr())

    return inside


def run_apart(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def rows(out: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k != "seconds"} for row in sorted(found, key=lambda row: str(row["episode_id"]))]


def test_a_run_from_end_to_end(data: Path, tmp_path: Path) -> None:
    with serve(gym_agent) as server:
        done = run_apart(
            "--data", data, "--endpoint", server.url, "--model", "gym", "--out", tmp_path / "out", "--json", tmp_path / "all.json"
        )
    assert done.returncode == 0, done.stderr
    assert "100.0% [86.2, 100.0]" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("24 questions answered; rows and summary are in")
    result = json.loads((tmp_path / "all.json").read_text())
    assert result["config"]["condition"] == "bounded"
    assert result["provenance"]["python"]
    assert result["summary"]["n"] == result["by_kind"]["current"]["correct"] == len(result["rows"]) == 24
    assert [row["episode_id"] for row in result["rows"]] == [f"gym{i:02}" for i in range(24)]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert {name: summary[name] for name in ("config", "summary", "by_kind")} == {
        name: result[name] for name in ("config", "summary", "by_kind")
    }
    assert len(rows(tmp_path / "out")) == 24


def test_a_longmemeval_file_and_a_limit(run: Run, tmp_path: Path) -> None:
    def item(name: str) -> dict[str, Any]:
        return {
            "question_id": name,
            "question_type": "knowledge-update",
            "question": "Which gym do I go to?",
            "answer": "Fit Barn",
            "question_date": "2023/06/01 (Thu) 00:58",
            "haystack_dates": ["2023/05/25 (Thu) 20:21"],
            "haystack_session_ids": ["s"],
            "haystack_sessions": [[{"role": "user", "content": "I switched my gym to Fit Barn."}]],
        }

    (tmp_path / "lme.json").write_text(json.dumps([item("a"), item("b"), item("c")]))
    with serve(gym_agent) as server:
        options = ["--data", tmp_path / "lme.json", "--endpoint", server.url, "--model", "gym", "--out", tmp_path / "out"]
        assert run(*options, "--limit", 2).returncode == 0
        assert len(server.requests) == 4
        assert run(*options).returncode == 0
        assert len(server.requests) == 6
    assert [row["question_id"] for row in rows(tmp_path / "out")] == ["a", "b", "c"]


def test_a_local_model_on_a_generated_split(run: Run, tiny_model_dir: Path, tmp_path: Path) -> None:
    options = ["--split", "test", "--level", 0, "--limit", 3, "--budget", 40, "--answer-tokens", 4, "--model", tiny_model_dir]
    done = run(*options, "--out", tmp_path / "out", "--json", tmp_path / "all.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "all.json").read_text())
    assert result["config"]["source"] == "test, level 0"
    assert len(result["rows"]) == 3
    assert all(segment["prompt_tokens"] for row in result["rows"] for segment in row["segments"])


def test_failures_are_counted_kept_and_asked_again(run: Run, data: Path, tmp_path: Path) -> None:
    def script(body: dict[str, Any], number: int) -> str | Fault:
        return Fault(404, "gone") if number % 3 == 2 else gym_agent(body)

    with serve(script) as server:
        options = ["--data", data, "--endpoint", server.url, "--model", "gym", "--out", tmp_path / "out"]
        done = run(*options, "--concurrency", 1)
        assert done.returncode == 1
        assert "failed; the same command asks them again" in done.stderr.splitlines()[-1]
        failed = [row for row in rows(tmp_path / "out") if row["error"]]
        assert failed
        assert "HTTP 404 (gone)" in failed[0]["error"]
    with serve(gym_agent) as server:
        moved = json.loads((tmp_path / "out" / "config.json").read_text()) | {"endpoint": server.url}
        (tmp_path / "out" / "config.json").write_text(json.dumps(moved))
        done = run("--data", data, "--endpoint", server.url, "--model", "gym", "--out", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 3 * len(failed)
    assert Counter(row["error"] for row in rows(tmp_path / "out")) == {None: 24}


def test_killed_twice_every_question_is_answered_once(run: Run, data: Path, tmp_path: Path) -> None:
    with serve(gym_agent, delay_s=0.05) as server:
        options = ["--data", data, "--endpoint", server.url, "--model", "gym"]
        path = tmp_path / "killed" / "rows.jsonl"
        for wanted in (3, 9):
            command = [*COMMAND, *map(str, options), "--out", str(path.parent), "--concurrency", "2"]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not (path.exists() and path.read_bytes().count(b"\n") >= wanted):
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
            with path.open("a") as file:
                file.write('{"episode_id": "torn')
        assert run(*options, "--out", path.parent).returncode == 0
        assert run(*options, "--out", tmp_path / "undisturbed").returncode == 0
    assert rows(path.parent) == rows(tmp_path / "undisturbed")
    assert [row["episode_id"] for row in rows(path.parent)] == [f"gym{i:02}" for i in range(24)]


def test_an_interrupt_keeps_what_was_finished(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with serve(gym_agent, delay_s=0.05) as server:
        command = [*COMMAND, "--data", str(data), "--endpoint", server.url, "--model", "gym", "--out", str(tmp_path), "--concurrency", "1"]
        # A suite that runs in the background of a shell ignores Ctrl-C, and its children would too.
        heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (path.exists() and path.stat().st_size):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; what was finished is on disk" in complaint
    assert "Traceback" not in complaint
    assert 0 < len(rows(tmp_path)) < 24


def test_a_full_disk_leaves_whole_rows_only(run: Run, data: Path, tmp_path: Path) -> None:
    with serve(gym_agent) as server:
        options = ["--data", data, "--endpoint", server.url, "--model", "gym", "--out", tmp_path]
        # A limit on file size is met in the middle of a row, as a full disk is.
        done = run_apart(*options, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)))
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("error: ")
        assert "Traceback" not in done.stderr
        assert 0 < len(rows(tmp_path)) < 24
        assert (tmp_path / "rows.jsonl").read_bytes().endswith(b"}\n")
        assert run(*options).returncode == 0
    assert len(rows(tmp_path)) == 24


def test_a_full_disk_under_the_json_file(run: Run, data: Path) -> None:
    with serve(gym_agent) as server:
        done = run("--data", data, "--endpoint", server.url, "--model", "gym", "--json", "/dev/full")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "error: [Errno 28] No space left on device")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--condition", "half"], "--condition"),
        (["--split", "validation"], "--split"),
        (["--split", "test", "--level", "99"], "level 99 is unknown"),
        (["--split", "test", "--count", "0"], "--count"),
        (["--budget", "0"], "--budget"),
        (["--budget", "many"], "--budget"),
        (["--limit", "0"], "--limit"),
        (["--level", "2"], "--level 2 applies to generated splits"),
        (["--split", "test", "--data", "x.json"], "exclude each other"),
        (["--data", "x.csv"], "must end in .json or .json.gz"),
        (["--data", "absent.json"], "cannot read absent.json"),
        (["--data", "absent.jsonl"], "absent.jsonl"),
        (["--split", "test", "--endpoint", "localhost:1", "--model", "m"], "is not a URL such as"),
        (["--split", "test", "--endpoint", "http://localhost:1/v1"], "needs --model"),
        (["--split", "test", "--endpoint", "http://localhost:1/v1", "--model", "m", "--adapter", "a"], "applies to local models"),
        (["--split", "test", "--limit", "1", "--model", "/nonexistent/model"], "/nonexistent/model"),
        (["--split", "test", "--json", "/nonexistent/all.json"], "/nonexistent does not exist"),
        (["--bugdet", "300"], "--bugdet"),
    ],
)
def test_bad_arguments_are_one_sentence(run: Run, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.json", "", "empty.json is empty"),
        ("empty.jsonl", "\n", "empty.jsonl holds no episodes"),
        ("cut.json", '[{"question_id": "a", "ques', "is the file truncated?"),
        ("cut.jsonl", '{"id": "a", "sess', "cut.jsonl, line 1: not valid JSON"),
        ("odd.json", '[{"question_id": "a", "question_type": "knowledge-update"}]', "item 0 (a), field question"),
        ("odd.jsonl", '{"id": "a"}', "odd.jsonl, line 1, field sessions"),
    ],
)
def test_a_bad_file_is_one_sentence(run: Run, name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    done = run("--data", tmp_path / name, "--endpoint", "http://localhost:1/v1", "--model", "m", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_one_sentence(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    done = run("--data", data, "--endpoint", "http://localhost:1/v1", "--model", "m", "--out", tmp_path / "taken")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "taken" in done.stderr


def test_another_config_in_the_same_folder_is_refused(run: Run, data: Path, tmp_path: Path) -> None:
    with serve(gym_agent) as server:
        options = ["--data", data, "--endpoint", server.url, "--model", "gym", "--out", tmp_path, "--limit", 1]
        assert run(*options).returncode == 0
        done = run(*options, "--budget", 200)
    assert done.returncode == 2
    assert "holds results with budget 300, this run has 200; choose another --out" in done.stderr


def test_an_unknown_key_in_the_config_is_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("bugdet = 300\n")
    done = run("--config", tmp_path / "run.toml")
    assert done.returncode == 2
    assert "unknown key 'bugdet'" in done.stderr


def test_a_config_file_sets_options_and_flags_win(run: Run, data: Path, tmp_path: Path) -> None:
    with serve(gym_agent) as server:
        (tmp_path / "run.toml").write_text(f'data = "{data}"\nendpoint = "{server.url}"\nmodel = "gym"\nbudget = 100\nlimit = 2\n')
        done = run("--config", tmp_path / "run.toml", "--limit", 1, "--json", tmp_path / "all.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "all.json").read_text())
    assert (result["config"]["budget"], len(result["rows"])) == (100, 1)


def test_an_episode_that_the_condition_does_not_apply_to_is_one_sentence(run: Run, tmp_path: Path) -> None:
    write_jsonl([make_episode("a"), make_episode("b").model_copy(update={"expert_notes": ()})], tmp_path / "mixed.jsonl")
    done = run("--data", tmp_path / "mixed.jsonl", "--condition", "expert", "--model", "/nonexistent/model", "--out", tmp_path / "out")
    assert (done.returncode, (tmp_path / "out").exists(), len(done.stderr.strip().splitlines())) == (2, False, 1)
    assert "episode 'b' has no expert notes to show" in done.stderr


def test_expert_notes_of_a_generated_split_keep_to_the_budget() -> None:
    for budget, longest in ((60, range(61)), (300, range(61, 301))):
        episodes = open_episodes(EvaluationOptions(split="test", level=3, count=8, budget=budget))
        assert max(len(notes) for episode in episodes for notes in episode.expert_notes) in longest


def test_help_shows_an_example(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "example:\n  python eval/longmemeval.py --data" in done.stdout
