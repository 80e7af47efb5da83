"""One state machine, one scorer: the same replies through every caller give the same prompts, notes, verdicts and rewards.

A caller is a function from an episode and its replies to what it reports. The script that stands in for the model answers only the
prompts that the bare state machine shows, so a caller that shows anything else fails; since a prompt holds the notes, equal prompts mean
equal notes.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from supersession.answers import Verdict
from supersession.episode import Episode, write_jsonl
from supersession.protocol import NotesRollout
from supersession.scoring import score
from supersession.sources import open_source
from tests.adapters.commands import HAS_V0
from tests.chat_server import Fault, serve
from tests.conftest import make_episode

BUDGET = 120
STALE_WEIGHT = 0.5


@dataclass(frozen=True)
class Script:
    """An episode, the reply to each of its prompts in order, and what the bare state machine and scorer make of them."""

    episode: Episode
    replies: dict[str, str]
    metrics: dict[str, float]

    def __call__(self, body: dict[str, Any], number: int) -> str | Fault:
        asked = body["messages"][-1]["content"]
        return self.replies[asked] if asked in self.replies else Fault(400, f"no such prompt: {asked}")


def play_alone(episode: Episode, replies: list[str]) -> Script:
    """The reference: the state machine and the scorer, with nothing around them."""
    rollout, asked = NotesRollout(episode, BUDGET), {}
    for reply in replies:
        asked[rollout.prompt().messages[-1]["content"]] = reply
        rollout.step(reply)
    return Script(episode, asked, score(rollout, STALE_WEIGHT).metrics())


def make_scripts() -> list[Script]:
    """Scripts with every verdict, notes that are cut, kept, emptied and padded, and several questions."""
    replies = ["gym: Iron Temple", "gym: Fit Barn (was Iron Temple)"]
    answers = ["Fit Barn", "Iron Temple", "Either Fit Barn or Iron Temple.", "unknown", "Gold Gym", "", "  Fit Barn\n", "Füt Bärn 🏋️"]
    scripts = [play_alone(make_episode(f"gym-{i}"), [*replies, answer]) for i, answer in enumerate(answers)]
    random = Random(7)
    for episode in open_source("dev", level=4, count=6, questions=2, budget=BUDGET):
        notes = [random.choice([expert, "", " \n", "x" * 500, f"  {expert} " * 3]) for expert in episode.expert_notes]
        said = [
            random.choice([q.gold, *q.stale, *q.others, "unknown", f"It is {q.gold}, no longer the old one."]) for q in episode.questions
        ]
        scripts.append(play_alone(episode, notes + said))
    return scripts


SCRIPTS = make_scripts()


def through_multiturn(script: Script, folder: Path) -> dict[str, float]:
    from verifiers.legacy import ClientConfig

    from supersession import load_environment

    write_jsonl([script.episode], folder / "episode.jsonl")
    env = load_environment("jsonl", data_path=str(folder / "episode.jsonl"), budget=BUDGET, stale_weight=STALE_WEIGHT)
    with serve(script) as server:
        client = ClientConfig(api_base_url=server.url, api_key_var="LOOPBACK_KEY", max_retries=0)
        (row,) = asyncio.run(env.evaluate(client, "scripted"))["outputs"]
    assert row["error"] is None
    return {**row["metrics"], "reward": row["reward"]}


def through_v1(script: Script, folder: Path) -> dict[str, float]:
    import verifiers.v1 as vf

    path = folder / "episode.jsonl"
    write_jsonl([script.episode], path)
    taskset = {"id": "supersession", "split": "jsonl", "data_path": str(path), "budget": BUDGET, "stale_weight": STALE_WEIGHT}
    env = vf.load_environment(vf.resolve_env_config({"taskset": taskset}))

    async def run(url: str) -> Any:
        client = vf.EvalClientConfig(base_url=url, api_key_var="LOOPBACK_KEY")
        context = vf.ModelContext(client=client, model="scripted", sampling=vf.SamplingConfig())
        async with env.serving():
            (task,) = env.taskset
            (slot,) = env.slots(task)
            return await env.run_slot(slot, context)

    with serve(script) as server:
        (trace,) = asyncio.run(run(server.url)).traces
    assert trace.ok, trace.errors
    return {**trace.metrics, "reward": trace.reward}


def through_evaluator(script: Script, folder: Path) -> dict[str, float]:
    from eval.runner import evaluate
    from supersession.engines.endpoint import EndpointEngine

    with serve(script) as server:
        engine = EndpointEngine(server.url, "scripted", attempts=1)
        rows = evaluate(engine, [script.episode], budget=BUDGET, stale_weight=STALE_WEIGHT, progress=False)
    assert [row.error for row in rows] == [None] * len(rows)
    columns: dict[str, list[Any]] = {
        "reward": [row.reward for row in rows],
        "accuracy": [row.correct for row in rows],
        "T": [row.T for row in rows if row.T is not None],
        "C": [row.C for row in rows if row.C is not None],
        "notes_length": [len(row.notes[-1]) for row in rows],
        "overflow": [sum(row.overflow) for row in rows],
    } | {f"verdict_{name}": [row.verdict == name for row in rows] for name in Verdict}
    return {name: statistics.fmean(values) for name, values in columns.items() if values}


def through_trainer(script: Script, folder: Path, tiny_model_dir: Path) -> dict[str, float]:
    from curricula.files import open_curriculum
    from supersession.engines.generation import Generation
    from supersession.engines.local import LocalEngine
    from training.collect import Collector
    from training.curriculum import Scheduler

    class ScriptedEngine(LocalEngine):
        def generate(self, prompts: Any, limits: Any, temperature: float = 0.0) -> list[Generation]:
            shown = [self.tokenizer.decode(prompt) for prompt in prompts]
            found = [next(reply for asked, reply in script.replies.items() if f"user\n{asked}<|im_end|>" in text) for text in shown]
            return [Generation(reply, len(prompt), 1, False) for reply, prompt in zip(found, prompts, strict=True)]

    class OneEpisode(Scheduler):
        def episode(self, index: int) -> Episode:
            return script.episode

    collector = Collector(
        engine=ScriptedEngine.load(str(tiny_model_dir)),
        scheduler=OneEpisode(open_curriculum("plain"), seed=0, budget=BUDGET),
        groups=1,
        group_size=1,
        budget=BUDGET,
        stale_weight=STALE_WEIGHT,
        temperature=1.0,
        answer_tokens=64,
        refills=0,
        seed=0,
    )
    logged = collector.collect(0).metrics
    return {name.removeprefix("rollout/"): value for name, value in logged.items() if name.startswith("rollout/")}


CALLERS: dict[str, Callable[..., dict[str, float]]] = {
    "v1": through_v1,
    "evaluator": through_evaluator,
    "trainer": through_trainer,
} | ({"multiturn": through_multiturn} if HAS_V0 else {})


def test_the_scripts_cover_every_verdict_and_cut() -> None:
    assert all(any(script.metrics[f"verdict_{name}"] > 0 for script in SCRIPTS) for name in Verdict)
    assert any(script.metrics["overflow"] > 0 for script in SCRIPTS)
    assert any("T" not in script.metrics or script.metrics["T"] == 0 for script in SCRIPTS)


@pytest.mark.parametrize("caller", CALLERS)
def test_the_same_replies_give_the_same_outcome(
    caller: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LOOPBACK_KEY", "none")
    model = {}
    if caller == "trainer":
        pytest.importorskip("torch")
        model = {"tiny_model_dir": request.getfixturevalue("tiny_model_dir")}
    for script in SCRIPTS:
        reported = CALLERS[caller](script, tmp_path, **model)
        shared = {name: reported[name] for name in reported.keys() & script.metrics.keys()}
        assert shared == pytest.approx({name: script.metrics[name] for name in shared}), script.episode.id
        # The evaluator's rows keep neither r_cur nor r_stale, which follow from the verdict.
        assert script.metrics.keys() - shared.keys() <= {"r_cur", "r_stale"}
