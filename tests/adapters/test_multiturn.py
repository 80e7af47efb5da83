"""The v0 environment: what the model is shown, what is reported, and what bad input says."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from supersession import load_environment
from supersession.episode import Episode, write_jsonl
from tests.adapters.commands import HAS_V0, vf_eval_v0
from tests.chat_server import Fault, Script, gym_agent, serve
from tests.conftest import make_episode

pytestmark = pytest.mark.skipif(not HAS_V0, reason="verifiers 0.4 has no v0 API")

VERDICTS = {"current": 1.0, "stale": 0.0, "hedged": 0.0, "abstain": 0.0, "other": 0.0}


@pytest.fixture
def episodes_file(tmp_path: Path) -> Path:
    path = tmp_path / "episodes.jsonl"
    write_jsonl([make_episode("gym-0", 2), make_episode("gym-1", 4)], path)
    return path


def evaluate(
    script: Script, path: Path, monkeypatch: pytest.MonkeyPatch, columns: tuple[str, ...] = (), **options: Any
) -> tuple[list[Any], Any]:
    """Return the output rows and the server."""
    from verifiers.legacy import ClientConfig

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LOOPBACK_KEY", "none")
    sampling = options.pop("sampling_args", None)
    env = load_environment(split="jsonl", data_path=str(path), **options)
    with serve(script) as server:
        client = ClientConfig(api_base_url=server.url, api_key_var="LOOPBACK_KEY", max_retries=0)
        results = asyncio.run(
            env.evaluate(client, "scripted", sampling_args=sampling, state_columns=["notes_history", "answers", *columns])
        )
    return results["outputs"], server


def test_every_turn_shows_the_notes_and_one_session(episodes_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, server = evaluate(gym_agent, episodes_file, monkeypatch, columns=("trajectory",), count=1)
    first, second, question = (body["messages"] for body in server.requests)
    assert [m["role"] for m in first] == [m["role"] for m in second] == [m["role"] for m in question] == ["system", "user"]
    assert "Iron Temple" in first[1]["content"]
    assert second[1]["content"].startswith("Notes:\ngym: Iron Temple\n\nSession of 2025/03/10 (Mon) 18:30:")
    assert "Iron Temple" not in question[1]["content"]
    assert len(rows[0]["trajectory"]) == 3
    assert [message["role"] for message in rows[0]["completion"]] == ["assistant", "system", "user"] * 2 + ["assistant"]


def test_reports_reward_and_every_metric(episodes_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = evaluate(gym_agent, episodes_file, monkeypatch)
    assert [row["reward"] for row in rows] == [1.0, 1.0]
    assert rows[1]["notes_history"] == ["gym: Iron Temple"] + ["gym: Fit Barn"] * 3
    expected = {
        "current_not_stale": 1.0,
        "accuracy": 1.0,
        "r_cur": 1.0,
        "r_stale": 0.0,
        "T": 1.0,
        "C": 0.0,
        "finished": 1.0,
        "overflow": 0.0,
    }
    expected |= {f"verdict_{name}": value for name, value in VERDICTS.items()} | {"notes_length": 13.0, "num_turns": 5.0}
    assert rows[1]["metrics"] == expected


def test_full_context_is_one_turn_with_the_whole_history(episodes_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, server = evaluate(gym_agent, episodes_file, monkeypatch, full_context=True, count=1)
    assert len(server.requests) == 1
    assert "Iron Temple" in server.requests[0]["messages"][1]["content"]
    assert "T" not in rows[0]["metrics"]


def test_the_stale_weight_is_the_cost_of_a_stale_answer(episodes_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = evaluate(lambda body, number: "Iron Temple", episodes_file, monkeypatch, stale_weight=0.25)
    assert [row["reward"] for row in rows] == [-0.25, -0.25]


@pytest.mark.parametrize(
    ("given", "expected"), [(None, [116, 116, 64]), ({"max_tokens": 7}, [7, 7, 7]), ({"max_tokens": None}, [116, 116, 64])]
)
def test_turns_have_a_token_limit_unless_the_user_sets_one(
    episodes_file: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any] | None, expected: list[int]
) -> None:
    _, server = evaluate(gym_agent, episodes_file, monkeypatch, count=1, sampling_args=given)
    assert [body["max_completion_tokens"] for body in server.requests] == expected


def test_an_empty_reply_is_empty_notes(episodes_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = evaluate(lambda body, number: "", episodes_file, monkeypatch, count=1)
    assert rows[0]["error"] is None
    assert rows[0]["notes_history"] == ["", ""]
    assert rows[0]["metrics"]["finished"] == 1.0
    assert rows[0]["reward"] == 0.0


def test_a_prompt_beyond_the_context_stops_the_rollout_and_says_so(episodes_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    too_long = Fault(400, '{"error": {"message": "This model\'s maximum context length is 10 tokens"}}')
    rows, _ = evaluate(lambda body, number: too_long if number == 1 else gym_agent(body), episodes_file, monkeypatch, count=1)
    assert rows[0]["stop_condition"] == "prompt_too_long"
    assert rows[0]["notes_history"] == ["gym: Iron Temple"]
    assert (rows[0]["reward"], rows[0]["metrics"]["finished"], rows[0]["metrics"]["C"]) == (0.0, 0.0, 1.0)


def test_the_command_line_runs_the_installed_environment(episodes_file: Path, tmp_path: Path) -> None:
    with serve(gym_agent) as server:
        run = vf_eval_v0(tmp_path, server.url, {"split": "jsonl", "data_path": str(episodes_file)}, "-n", "2", "-r", "2")
    assert run.code == 0, run.output
    assert [(row["reward"], row["error"]) for row in run.rows] == [(1.0, None)] * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "validation"}, "split 'validation' is unknown; choose one of train, dev, test, ood, longmemeval, jsonl"),
        ({"level": 7}, "level 7 is unknown; choose one of 0, 1, 2, 3, 4, 5, 6"),
        ({"budget": 0}, "budget must be at least 1, got 0"),
        ({"count": 0}, "count must be at least 1, got 0"),
        ({"questions_per_episode": 0}, "questions must be at least 1, got 0"),
        ({"stale_weight": -1}, "stale_weight must be 0 or more, got -1"),
        ({"split": "jsonl"}, "split 'jsonl' reads its episodes from a file; give its path as data_path"),
        ({"split": "jsonl", "data_path": "missing.jsonl"}, "cannot read missing.jsonl"),
        ({"split": "longmemeval", "data_path": "missing.json"}, "missing.json"),
        ({"split": "longmemeval", "level": 3}, "level 3 does not apply to split 'longmemeval'"),
        ({"split": "dev", "data_path": "x.jsonl"}, "data_path 'x.jsonl' does not apply to the generated split 'dev'"),
    ],
)
def test_bad_input_is_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]*\Z") as raised:
        load_environment(**options)
    assert message in str(raised.value)


def test_generated_splits_are_datasets_of_first_prompts() -> None:
    env = load_environment(split="train", level=0, count=3)
    rows = env.get_dataset()
    assert len(rows) == 3
    assert rows[0]["info"] == {"index": 0, "episode": "train-0-0-0"}
    assert rows[0]["prompt"][1]["content"].startswith("Notes:\n(empty)\n\nSession of ")


def test_episodes_are_told_apart_by_split(episode: Episode) -> None:
    prompts = [load_environment(split=split, count=1).get_dataset()[0]["prompt"][1]["content"] for split in ("train", "dev", "test", "ood")]
    assert len(set(prompts)) == 4
