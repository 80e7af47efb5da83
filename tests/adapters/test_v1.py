"""The v1 taskset, harness and env, through the library's own Python interface and command line; runs on verifiers 0.3.1 and 0.4."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf

from supersession.episode import write_jsonl
from tests.adapters.commands import HAS_V0, eval_v1
from tests.chat_server import Fault, Script, gym_agent, serve
from tests.conftest import make_episode


@pytest.fixture
def episodes_file(tmp_path: Path) -> Path:
    path = tmp_path / "episodes.jsonl"
    write_jsonl([make_episode("gym-0", 2), make_episode("gym-1", 4)], path)
    return path


def play(script: Script, taskset: dict[str, Any], agent: dict[str, Any] | None = None, **sampling: Any) -> tuple[list[Any], Any]:
    """Return the traces of one rollout of every task, and the server."""
    os.environ["LOOPBACK_KEY"] = "none"
    config = vf.resolve_env_config({"taskset": {"id": "supersession", **taskset}, "agent": agent or {}})
    env = vf.load_environment(config)

    async def run(url: str) -> list[Any]:
        client = vf.EvalClientConfig(base_url=url, api_key_var="LOOPBACK_KEY")
        context = vf.ModelContext(client=client, model="scripted", sampling=vf.SamplingConfig(**sampling))
        async with env.serving():
            return [await env.run_slot(slot, context) for task in env.taskset for slot in env.slots(task)]

    with serve(script) as server:
        episodes = asyncio.run(run(server.url))
    return [trace for episode in episodes for trace in episode.traces], server


def from_file(path: Path, **more: Any) -> dict[str, Any]:
    return {"split": "jsonl", "data_path": str(path), **more}


def test_an_episode_is_one_trace_with_a_branch_for_every_turn(episodes_file: Path) -> None:
    traces, server = play(gym_agent, from_file(episodes_file))
    assert [trace.ok for trace in traces] == [True, True]
    assert [trace.num_branches for trace in traces] == [3, 5]
    assert [[message.role for message in branch.messages] for branch in traces[0].branches] == [["system", "user", "assistant"]] * 3
    assert "Iron Temple" not in server.requests[2]["messages"][1]["content"]
    assert [trace.task.key for trace in traces] == ["gym-0", "gym-1"]


def test_reports_reward_and_every_metric(episodes_file: Path) -> None:
    traces, _ = play(gym_agent, from_file(episodes_file))
    assert [trace.reward for trace in traces] == [1.0, 1.0]
    expected = {"accuracy": 1.0, "r_cur": 1.0, "r_stale": 0.0, "T": 1.0, "C": 0.0, "finished": 1.0, "overflow": 0.0, "notes_length": 13.0}
    expected |= {f"verdict_{name}": float(name == "current") for name in ("current", "stale", "hedged", "abstain", "other")}
    assert traces[1].metrics == expected


def test_full_context_is_one_turn_with_the_whole_history(episodes_file: Path) -> None:
    traces, server = play(gym_agent, from_file(episodes_file, full_context=True, count=1))
    assert (len(server.requests), traces[0].num_branches) == (1, 1)
    assert "Iron Temple" in server.requests[0]["messages"][1]["content"]


def test_the_stale_weight_is_the_cost_of_a_stale_answer(episodes_file: Path) -> None:
    traces, _ = play(lambda body, number: "Iron Temple", from_file(episodes_file, stale_weight=0.25))
    assert [trace.reward for trace in traces] == [-0.25, -0.25]


@pytest.mark.parametrize(("given", "expected"), [({}, [116, 116, 64]), ({"max_tokens": 7}, [7, 7, 7])])
def test_turns_have_a_token_limit_unless_the_user_sets_one(episodes_file: Path, given: dict[str, int], expected: list[int]) -> None:
    _, server = play(gym_agent, from_file(episodes_file, count=1), **given)
    assert [body["max_tokens"] for body in server.requests] == expected


def test_an_empty_reply_is_empty_notes(episodes_file: Path) -> None:
    traces, _ = play(lambda body, number: "", from_file(episodes_file, count=1))
    assert (traces[0].ok, traces[0].num_branches, traces[0].metrics["finished"], traces[0].reward) == (True, 3, 1.0, 0.0)


def test_a_prompt_beyond_the_context_stops_the_rollout_and_says_so(episodes_file: Path) -> None:
    too_long = Fault(400, '{"error": {"message": "This model\'s maximum context length is 10 tokens"}}')
    traces, server = play(lambda body, number: too_long if number == 1 else gym_agent(body), from_file(episodes_file, count=1))
    assert len(server.requests) == 2
    assert (traces[0].ok, traces[0].errors, traces[0].stop_condition) == (True, [], "context_length")
    assert (traces[0].reward, traces[0].metrics["finished"], traces[0].metrics["C"]) == (0.0, 0.0, 1.0)


def test_a_turn_limit_stops_the_rollout_and_says_so(episodes_file: Path) -> None:
    traces, _ = play(gym_agent, from_file(episodes_file, count=1), agent={"max_turns": 2})
    assert (traces[0].ok, traces[0].stop_condition, traces[0].num_branches) == (True, "max_turns", 2)
    assert (traces[0].reward, traces[0].metrics["finished"]) == (0.0, 0.0)


def test_a_passing_fault_is_tried_again(episodes_file: Path) -> None:
    busy = Fault(503, "busy")
    traces, server = play(lambda body, number: busy if number == 1 else gym_agent(body), from_file(episodes_file, count=1))
    assert len(server.requests) == 4
    assert (traces[0].ok, traces[0].num_branches, traces[0].reward) == (True, 3, 1.0)


def test_a_lasting_fault_is_the_traces_error(episodes_file: Path) -> None:
    traces, server = play(lambda body, number: Fault(401, "no such key"), from_file(episodes_file, count=1))
    assert len(server.requests) == 1
    assert not traces[0].ok
    assert "no such key" in traces[0].errors[-1].message


def test_a_saved_trace_can_be_scored_again(episodes_file: Path) -> None:
    traces, _ = play(gym_agent, from_file(episodes_file, count=1))
    (task,) = load_taskset(**from_file(episodes_file, count=1))
    saved = vf.WireTrace.model_validate(traces[0].to_record())
    saved.rewards.clear()
    saved.metrics.clear()
    asyncio.run(task.score(saved))
    assert (saved.reward, saved.metrics) == (1.0, traces[0].metrics)


def test_the_command_line_runs_the_installed_taskset(episodes_file: Path, tmp_path: Path) -> None:
    with serve(gym_agent) as server:
        run = eval_v1(tmp_path, server.url, "--env.taskset.split", "jsonl", "--env.taskset.data-path", str(episodes_file), "-r", "2")
    traces = [trace for row in run.rows for trace in row["traces"]]
    assert [trace["ok"] for trace in traces] == [True] * 4, run.output
    assert [trace["errors"] for trace in traces] == [[]] * 4
    assert [trace["rewards"]["current_not_stale"]["score"] for trace in traces] == [1.0] * 4


def test_the_command_line_names_a_bad_value(tmp_path: Path) -> None:
    run = eval_v1(tmp_path, "http://127.0.0.1:9/v1", "--env.taskset.split", "validation", "-n", "1")
    assert run.code != 0
    assert "'train', 'dev', 'test', 'ood', 'longmemeval' or 'jsonl'" in run.output.replace("\n", " ")
    assert "Traceback" not in run.output


@pytest.mark.parametrize(
    ("taskset", "message"),
    [
        ({"level": 7}, "level 7 is unknown; choose one of 0, 1, 2, 3, 4, 5, 6"),
        ({"budget": 0}, "greater than or equal to 1"),
        ({"count": 0}, "greater than or equal to 1"),
        ({"stale_weight": -1}, "greater than or equal to 0"),
        ({"split": "jsonl"}, "give its path as data_path"),
        ({"split": "jsonl", "data_path": "missing.jsonl"}, "cannot read missing.jsonl"),
        ({"system_prompt": "prompt.txt"}, "system_prompt does not apply"),
    ],
)
def test_bad_input_is_refused(taskset: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.txt").write_text("You are helpful.")
    with pytest.raises(ValueError, match=message):
        next(iter(load_taskset(**taskset)))


def load_taskset(**fields: Any) -> Any:
    return vf.load_taskset(vf.taskset_config_type("supersession")(id="supersession", **fields))


def test_training_streams_without_end_and_evaluation_does_not() -> None:
    train, dev = load_taskset(split="train", level=0), load_taskset(split="dev", level=0)
    assert (train.INFINITE, dev.INFINITE, load_taskset(split="train", count=5).INFINITE) == (True, False, False)
    assert [task.key for task in itertools.islice(train, 2)] == ["train-0-0-0", "train-0-0-1"]
    keys = [task.key for task in dev]
    assert len(set(keys)) == len(keys) == 1000


def test_tasks_survive_the_wire_and_accept_their_own_gold(episodes_file: Path) -> None:
    for taskset in (load_taskset(**from_file(episodes_file)), load_taskset(split="test", level=5, count=20, questions_per_episode=3)):
        for task in taskset:
            data = type(task).data_type().model_validate_json(task.data.model_dump_json())
            assert data == task.data
            assert asyncio.run(type(task)(data).validate(None))


@pytest.mark.skipif(HAS_V0, reason="verifiers 0.3 has the v0 API")
def test_the_v0_entry_point_names_the_remedy() -> None:
    import supersession

    with pytest.raises(ImportError, match=r"pip install 'verifiers>=0\.3\.1,<0\.4'"):
        supersession.load_environment()
