"""verifiers v1 (0.3.1 and 0.4): episodes as a taskset, and a harness that lives through one in process.

Every turn is a fresh prompt, so an episode is one trace with one branch per turn. Scoring reads nothing but the trace: it feeds the model's
replies to a new `NotesRollout`, so a saved run can be scored again by the library's replay command.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import aiohttp
import verifiers.v1 as vf
from pydantic import Field
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from supersession.adapters.outcome import outcome
from supersession.engines.generation import token_limit
from supersession.episode import NOT_STATED, Episode
from supersession.protocol import NotesRollout, Segment
from supersession.scoring import STALE_WEIGHT, score
from supersession.sources import Split, open_source

if TYPE_CHECKING:
    Trace: TypeAlias = vf.Trace[Any, Any, Any]

ATTEMPTS = 3
"""How often a model call is tried; the library leaves retries to the harness, and its own programs try as often."""

CONTEXT_LENGTH_PHRASES = ("context length", "context_length", "context window", "prompt is too long", "maximum model length")
"""What providers say when a prompt does not fit the model's context."""


class SupersessionData(vf.TaskData):
    """An episode and how it is lived and scored: all that another process needs."""

    episode: Episode
    budget: int
    full_context: bool
    stale_weight: float

    def new_rollout(self) -> NotesRollout:
        return NotesRollout(self.episode, self.budget, "full" if self.full_context else "bounded")


class SupersessionTask(vf.Task[SupersessionData]):
    @property
    def key(self) -> str:
        return str(self.data.episode.id)

    @vf.reward
    async def current_not_stale(self, trace: Trace) -> float:
        return self._outcome(trace)["reward"]

    @vf.metric
    async def scorecard(self, trace: Trace) -> Mapping[str, float]:
        return {name: value for name, value in self._outcome(trace).items() if name != "reward"}

    async def validate(self, runtime: vf.Runtime) -> bool:
        """Whether the scorer accepts every gold answer of this episode."""
        rollout = self.data.new_rollout()
        while not rollout.done:
            segment = rollout.prompt()
            rollout.step("" if segment.kind == "write" else _gold_reply(self.data.episode, segment))
        return all(question.correct for question in score(rollout).questions)

    def _outcome(self, trace: Trace) -> dict[str, float]:
        rollout = self.data.new_rollout()
        for message in trace.assistant_messages:
            rollout.step(message.content or "")
        return outcome(rollout, self.data.stale_weight)


def _gold_reply(episode: Episode, segment: Segment) -> str:
    gold = episode.questions[segment.index].gold
    return "unknown" if gold == NOT_STATED else gold


class SupersessionConfig(vf.TasksetConfig):
    split: Split = "train"
    """train, dev, test, ood (generated), longmemeval, or jsonl."""
    level: int | None = None
    """Difficulty of generated episodes, 0 to 6."""
    count: int | None = Field(None, ge=1)
    """How many episodes. Unset: train never ends, dev, test and ood hold 1000, a file is read whole."""
    seed: int = 0
    """Another seed, other episodes."""
    data_path: str | None = None
    """The file of split longmemeval (unset: the Hugging Face hub) or jsonl."""
    budget: int = Field(300, ge=1)
    """How many characters the notes may have."""
    stale_weight: float = Field(STALE_WEIGHT, ge=0)
    """λ: what a stale answer costs, in units of what a current one earns."""
    questions_per_episode: int = Field(1, ge=1)
    """Questions asked about one reading of an episode; the reward is their mean."""
    full_context: bool = False
    """Show the whole history at the question instead of notes."""


class SupersessionTaskset(vf.Taskset[SupersessionTask, SupersessionConfig]):
    def __init__(self, config: SupersessionConfig) -> None:
        super().__init__(config)
        if config.system_prompt is not None:
            raise ValueError("system_prompt does not apply: the notes protocol has a system prompt of its own for each kind of turn")
        # The library reads this off the instance, and only a training stream has no end.
        self.INFINITE = config.split == "train" and config.count is None

    def load(self) -> Iterator[SupersessionTask]:
        config = self.config
        episodes = open_source(
            config.split,
            level=config.level,
            count=sys.maxsize if self.INFINITE else config.count,
            seed=config.seed,
            data_path=config.data_path,
            questions=config.questions_per_episode,
            budget=config.budget,
        )
        for index, episode in enumerate(episodes):
            data = SupersessionData(
                idx=index,
                name=episode.id,
                prompt="",
                episode=episode,
                budget=config.budget,
                full_context=config.full_context,
                stale_weight=config.stale_weight,
            )
            system, user = data.new_rollout().prompt().messages
            # For viewers, and because the library refuses a task without a prompt; the harness asks the rollout for every prompt.
            first = {"system_prompt": system["content"], "prompt": user["content"]}
            yield SupersessionTask(data.model_copy(update=first), config.task)


class SupersessionHarness(vf.Harness[vf.HarnessConfig]):
    """Lives through an episode inside this process: one model call per turn, each through the library's interception endpoint."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        if not isinstance(data, SupersessionData):
            raise TypeError(
                f"the supersession harness plays supersession tasks only, got {type(data).__name__}; leave --env.agent.harness.id out"
            )
        rollout = data.new_rollout()
        headers = {"Authorization": f"Bearer {secret}"}
        # Proxies are not consulted (aiohttp's default): the endpoint is on loopback. The library bounds the whole rollout's time.
        async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as session:
            while not rollout.done:
                segment = rollout.prompt()
                body = {"model": ctx.model, "messages": segment.messages, "max_tokens": token_limit(segment, rollout.budget)}
                reply = await _complete(session, f"{endpoint}/chat/completions", body, trace)
                if reply is None:
                    break
                rollout.step(reply)
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


async def _complete(session: aiohttp.ClientSession, url: str, body: dict[str, object], trace: Trace) -> str | None:
    """Return the model's reply, or None when the trace was stopped by a limit of the run or because the prompt exceeds the context."""
    async for attempt in AsyncRetrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential_jitter(initial=0.5, max=8),
        retry=retry_if_exception_type((aiohttp.ClientConnectionError, TransientError)),
        reraise=True,
    ):
        with attempt:
            # The library recognises a repeated call by this header of the OpenAI clients, and records it once.
            retries = {"x-stainless-retry-count": str(attempt.retry_state.attempt_number - 1)}
            async with session.post(url, json=body, headers=retries) as response:
                if response.status == 200:
                    return str((await response.json())["choices"][0]["message"]["content"] or "")
                text = await response.text()
            if trace.stop_condition is not None:
                return None
            if response.status == 400 and any(phrase in text.lower() for phrase in CONTEXT_LENGTH_PHRASES):
                trace.stop("context_length")
                return None
            error = TransientError if response.status >= 500 or response.status in (408, 409, 429) else RuntimeError
            raise error(f"the model call failed with HTTP {response.status}: {text[:500]}")
    raise AssertionError("unreachable: the last attempt returns or raises")


class TransientError(RuntimeError):
    """A failed model call that may succeed when it is tried again."""


class SupersessionEnvConfig(vf.SingleAgentEnvConfig):
    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """The agent; the harness runs in this process, so no sandbox is wanted."""


class SupersessionEnv(vf.SingleAgentEnv, vf.Env[SupersessionEnvConfig]):
    """The single-agent env with a local runtime, where the library's default is a remote sandbox."""
