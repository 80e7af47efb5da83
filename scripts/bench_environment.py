"""What the environment costs: rollouts per second of the MultiTurnEnv with an endpoint that answers at once, and our share of the time.

The share is measured against a bare MultiTurnEnv in the same run: as many turns, the same prompts (made beforehand), the same replies,
a reward of 1. What our environment takes beyond it is ours: living through the episode, and scoring it. Both run in turns, several
times, and are compared by CPU time, so that other work on the machine counts little. `http` is how the environment is used: the
library's client calls a server on loopback, which runs in a process of its own. `in process` leaves the call out and so the library's
least possible work.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import verifiers.legacy as vf
from aiohttp import web
from datasets import Dataset
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion
from pydantic import Field
from rich.console import Console
from rich.table import Table
from verifiers.legacy.types import ClientConfig
from verifiers.legacy.utils.message_utils import normalize_messages

from supersession.adapters.multiturn import SupersessionMultiTurnEnv
from supersession.cli import Options, UsageError, provenance, run, write_text
from supersession.episode import Episode
from supersession.protocol import NotesRollout
from supersession.scoring import STALE_WEIGHT
from supersession.sources import open_source


class BenchOptions(Options):
    """Measure rollouts per second of the MultiTurnEnv, and how much of the CPU time is spent in our code rather than the library's."""

    rollouts: int = Field(64, ge=1)
    """Rollouts of each environment in each round."""
    rounds: int = Field(5, ge=1)
    """How often each environment plays them."""
    concurrency: int = Field(32, ge=1)
    """Rollouts under way at a time."""
    level: int = Field(5, ge=0)
    """Generator level of the episodes."""
    min_sessions: int = Field(6, ge=1)
    """Episodes with fewer sessions are left out."""
    max_sessions: int = Field(8, ge=1)
    """Episodes with more sessions are left out."""
    budget: int = Field(300, ge=1)
    """Characters of notes."""
    seed: int = 0
    """Of the episodes."""
    json_file: Path | None = Field(None, alias="json")
    """Also write the result to this file."""


REPLY = "Lives in Lisbon (before: Porto). Gym: Fit Barn, Tuesdays. Blue estate car. Rent 640 euros a month (before: 590)."
COMPLETION = {
    "id": "instant",
    "object": "chat.completion",
    "created": 0,
    "model": "instant",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
}


class InProcessClient(vf.OpenAIChatCompletionsClient):
    """The library's own client, with its conversions and checks, less the call."""

    def __init__(self) -> None:
        super().__init__(AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9/v1"))
        self.completion = ChatCompletion.model_validate(COMPLETION)

    async def get_native_response(self, *_: Any, **__: Any) -> ChatCompletion:
        return self.completion


class BareEnv(vf.MultiTurnEnv):
    """Shows prompts that were made beforehand, one a turn."""

    def __init__(self, prompts: list[list[vf.Messages]]) -> None:
        self.prompts = prompts
        rows = [{"prompt": [m.model_dump() for m in turns[0]], "answer": "", "info": {"index": i}} for i, turns in enumerate(prompts)]
        super().__init__(eval_dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[one]))

    async def get_prompt_messages(self, state: vf.State) -> vf.Messages:
        index: int = state["info"]["index"]
        return self.prompts[index][len(state["trajectory"])]

    async def env_response(self, messages: vf.Messages, state: vf.State, **kwargs: Any) -> vf.Messages:
        return await self.get_prompt_messages(state)

    async def render_completion(self, state: vf.State) -> None:
        state["completion"] = [message for step in state["trajectory"] for message in [*step["prompt"], *step["completion"]]]

    @vf.stop
    async def all_shown(self, state: vf.State) -> bool:
        return len(state["trajectory"]) == len(self.prompts[state["info"]["index"]])


async def one() -> float:
    return 1.0


def main(options: BenchOptions) -> None:
    episodes = choose_episodes(options)
    ours = SupersessionMultiTurnEnv(episodes, options.budget, "bounded", STALE_WEIGHT)
    bare = BareEnv([prompts_of(episode, options.budget) for episode in episodes])
    with instant_server() as url:
        os.environ |= {"NO_PROXY": "127.0.0.1", "LOOPBACK_KEY": "none"}
        http = ClientConfig(api_base_url=url, api_key_var="LOOPBACK_KEY")
        results = {"http": measure(ours, bare, http, options), "in process": measure(ours, bare, InProcessClient(), options)}
    turns = statistics.fmean(len(prompts) for prompts in bare.prompts)
    table = Table(title=f"{options.rollouts} rollouts of {turns:.1f} turns, concurrency {options.concurrency}")
    for column in ("client", "rollouts/s", "bare", "CPU ms per rollout", "bare", "ours beyond bare"):
        table.add_column(column, justify="left" if column == "client" else "right")
    for name, row in results.items():
        rates = f"{row['rollouts_per_second']:.0f}", f"{row['bare_rollouts_per_second']:.0f}"
        table.add_row(name, *rates, f"{row['cpu_ms']:.2f}", f"{row['bare_cpu_ms']:.2f}", f"{row['ours_beyond_bare']:.1%}")
    Console().print(table)
    if options.json_file is not None:
        document = {"config": options.model_dump(mode="json"), "provenance": provenance(), "turns_per_rollout": turns, "clients": results}
        write_text(options.json_file, json.dumps(document, indent=2) + "\n")


def choose_episodes(options: BenchOptions) -> list[Episode]:
    """Return the first episodes whose number of sessions lies in the wanted range."""
    source = open_source("train", level=options.level, count=20 * options.rollouts, seed=options.seed, budget=options.budget)
    chosen: list[Episode] = []
    for episode in source:
        if options.min_sessions <= len(episode.sessions) <= options.max_sessions:
            chosen.append(episode)
        if len(chosen) == options.rollouts:
            return chosen
    raise UsageError(
        f"level {options.level} gives only {len(chosen)} of {options.rollouts} episodes with {options.min_sessions} to "
        f"{options.max_sessions} sessions; choose another level or a wider range"
    )


def prompts_of(episode: Episode, budget: int) -> list[vf.Messages]:
    """Return the prompts that our environment shows when every reply is `REPLY`."""
    rollout = NotesRollout(episode, budget)
    prompts = []
    while not rollout.done:
        prompts.append(normalize_messages(rollout.prompt().messages, field_name="prompt"))
        rollout.step(REPLY)
    return prompts


def measure(ours: vf.MultiTurnEnv, bare: vf.MultiTurnEnv, client: Any, options: BenchOptions) -> dict[str, float]:
    """Return rollouts per second and CPU milliseconds per rollout of both environments, and how much more ours takes."""
    seconds: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
    for _ in range(options.rounds + 1):
        for name, env in (("ours", ours), ("bare", bare)):
            seconds[name].append(asyncio.run(play(env, client, options)))
    # The first round warms up. The least of the others counts: a busy machine only ever adds.
    wall, cpu = ({name: min(each[part] for each in rounds[1:]) / options.rollouts for name, rounds in seconds.items()} for part in (0, 1))
    return {
        "rollouts_per_second": 1 / wall["ours"],
        "bare_rollouts_per_second": 1 / wall["bare"],
        "cpu_ms": 1e3 * cpu["ours"],
        "bare_cpu_ms": 1e3 * cpu["bare"],
        "ours_beyond_bare": cpu["ours"] / cpu["bare"] - 1,
    }


async def play(env: vf.MultiTurnEnv, client: Any, options: BenchOptions) -> tuple[float, float]:
    """Play every episode once and return the seconds it took, by the clock and of CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    results = await env.evaluate(
        client, "instant", max_concurrent=options.concurrency, independent_scoring=True, on_start=quiet, on_progress=quiet
    )
    elapsed = time.perf_counter() - wall, time.process_time() - cpu
    failed = [row["error"] for row in results["outputs"] if row["error"] is not None]
    if failed:
        raise RuntimeError(f"{len(failed)} of {options.rollouts} rollouts failed; the first said: {failed[0]}")
    return elapsed


def quiet(*_: Any) -> None:
    """Instead of the library's progress bar."""


@contextmanager
def instant_server() -> Iterator[str]:
    """Run `serve` in a process of its own until the block ends, and give its URL."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(sender,), daemon=True)
    process.start()
    try:
        yield receiver.recv()
    finally:
        process.terminate()
        process.join()


def serve(address: Connection) -> None:
    """Answer every request at once, for ever; the URL is sent to `address`."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response(COMPLETION)

    async def live() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address.send(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        await asyncio.Event().wait()

    asyncio.run(live())


if __name__ == "__main__":
    run(BenchOptions, main, example="python scripts/bench_environment.py --json runs/bench_environment.json")
