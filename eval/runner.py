"""Episodes through an engine to scored rows: one function for the command line, the trainer and every evaluation."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from tqdm import tqdm

from eval.rows import Row, RowStore, SegmentSize
from supersession.engines.endpoint import EndpointEngine, EndpointError
from supersession.engines.generation import ANSWER_TOKENS, PromptTooLong, Step
from supersession.episode import Episode
from supersession.protocol import Condition, NotesRollout
from supersession.scoring import STALE_WEIGHT, score

CHARS_PER_TOKEN = 4
"""English text, roughly; only used to size chunks of local work."""


class Local(Protocol):
    """What this module needs of `LocalEngine`, named here so that endpoints can be evaluated without torch."""

    batch_tokens: int

    def check(self, rollout: NotesRollout, answer_tokens: int = ...) -> None: ...

    def play(
        self,
        rollouts: Sequence[NotesRollout],
        *,
        temperature: float = ...,
        seed: int = ...,
        answer_tokens: int = ...,
        progress: Callable[[int], None] | None = ...,
    ) -> list[list[Step]]: ...


@dataclass(frozen=True)
class Settings:
    """How episodes are lived and scored."""

    condition: Condition = "bounded"
    budget: int = 300
    stale_weight: float = STALE_WEIGHT
    temperature: float = 0.0
    answer_tokens: int = ANSWER_TOKENS
    seed: int = 0


@dataclass(frozen=True)
class Life:
    """A rollout that ended, well or with an error."""

    rollout: NotesRollout
    steps: Sequence[Step]
    seconds: float
    error: str | None = None


def evaluate(
    engine: Local | EndpointEngine,
    episodes: Iterable[Episode],
    *,
    condition: Condition = "bounded",
    budget: int = 300,
    stale_weight: float = STALE_WEIGHT,
    temperature: float = 0.0,
    answer_tokens: int = ANSWER_TOKENS,
    seed: int = 0,
    out: Path | None = None,
    config: Mapping[str, object] | None = None,
    progress: bool = True,
) -> list[Row]:
    """Play and score every episode, and return one row per question, in the order of `episodes`.

    Rows are appended to `rows.jsonl` in `out` as they come; of the rows there already, good ones are kept and failed ones are made anew.
    `config` is what decides a row's content (default: these settings): an `out` that was made with another one is refused (`UsageError`).
    A prompt that does not fit and an endpoint that fails become rows with an `error`; `OSError` is raised where the disk refuses,
    `ValueError` where two episodes share an id, and `EpisodeError` for an episode that the condition does not apply to.
    """
    settings = Settings(condition, budget, stale_weight, temperature, answer_tokens, seed)
    episodes = list(episodes)
    twice = [name for name, n in Counter(episode.id for episode in episodes).items() if n > 1]
    if twice:
        raise ValueError(f"two episodes have the id {twice[0]!r}; ids must differ within a run")
    if out is None:
        return _play_missing(engine, episodes, settings, None, progress)
    with RowStore(out, config or asdict(settings)) as store:
        return _play_missing(engine, episodes, settings, store, progress)


def _play_missing(
    engine: Local | EndpointEngine, episodes: list[Episode], settings: Settings, store: RowStore | None, progress: bool
) -> list[Row]:
    rows = store.finished(episodes) if store is not None else []
    finished = {row.episode_id for row in rows}
    due = [episode for episode in episodes if episode.id not in finished]
    total = sum(NotesRollout(episode, settings.budget, settings.condition).segments for episode in due)

    def keep(life: Life) -> None:
        new = rows_of(life, settings)
        if store is not None:
            store.add(new)
        rows.extend(new)

    bar = tqdm(
        total=total,
        unit="segment",
        desc=f"{settings.condition}, {len(due)} episodes",
        disable=not progress or not due,
        mininterval=0.1 if sys.stderr.isatty() else 10.0,
    )
    with bar:
        if isinstance(engine, EndpointEngine):
            asyncio.run(_live_remotely(engine, due, settings, keep, bar.update))
        else:
            for chunk in _chunks(due, settings, engine.batch_tokens):
                for life in _live_locally(engine, chunk, settings, bar.update):
                    keep(life)
    place = {(episode.id, question.id): i for i, (episode, question) in enumerate((e, q) for e in episodes for q in e.questions)}
    return sorted(rows, key=lambda row: place[row.key])


def rows_of(life: Life, settings: Settings) -> list[Row]:
    """Score a life: one row per question of its episode."""
    rollout = life.rollout
    writes = tuple(_size(step) for step in life.steps if step.segment.kind == "write")
    answers = {step.segment.index: _size(step) for step in life.steps if step.segment.kind == "answer"}
    card = score(rollout, settings.stale_weight) if life.error is None else None
    rows = []
    for index, question in enumerate(rollout.episode.questions):
        row = Row(
            episode_id=rollout.episode.id,
            question_id=question.id,
            kind=question.kind,
            condition=settings.condition,
            budget=settings.budget,
            question=question.text,
            gold=question.gold,
            stale=question.stale,
            seconds=life.seconds,
            error=life.error,
        )
        if card is not None:
            result = card.questions[index]
            row = row.model_copy(
                update={
                    "segments": (*writes, answers[index]),
                    "notes": tuple(rollout.notes_history),
                    "overflow": tuple(rollout.overflow),
                    "answer": rollout.answers[index],
                    "verdict": result.verdict,
                    "correct": result.correct,
                    "T": result.gold_in_notes,
                    "C": result.stale_in_notes,
                    "reward": result.reward,
                }
            )
        rows.append(row)
    return rows


def _size(step: Step) -> SegmentSize:
    return SegmentSize(
        kind=step.segment.kind,
        index=step.segment.index,
        prompt_chars=sum(len(message["content"]) for message in step.segment.messages),
        prompt_tokens=step.generation.prompt_tokens or None,
        reply_tokens=step.generation.completion_tokens or None,
        truncated=step.generation.truncated,
    )


def _chunks(episodes: Sequence[Episode], settings: Settings, batch_tokens: int) -> Iterator[list[Episode]]:
    """Yield episodes of like length, the longest first, as many at a time as fill one batch of the engine at each step.

    An interrupt loses at most one chunk.
    """
    sizes = {episode.id: _longest_prompt(episode, settings) for episode in episodes}
    limit = batch_tokens * CHARS_PER_TOKEN
    chunk: list[Episode] = []
    for episode in sorted(episodes, key=lambda episode: -sizes[episode.id]):
        if chunk and sizes[chunk[0].id] * (len(chunk) + 1) > limit:
            yield chunk
            chunk = []
        chunk.append(episode)
    if chunk:
        yield chunk


def _longest_prompt(episode: Episode, settings: Settings) -> int:
    """Return about how many characters the episode's longest prompt and its reply have."""
    if settings.condition == "bounded":
        return 1000 + max(sum(len(turn.content) for turn in session.turns) for session in episode.sessions)
    segment = NotesRollout(episode, settings.budget, settings.condition).prompt()
    return 1000 + len(segment.messages[-1]["content"])


def _live_locally(engine: Local, episodes: Sequence[Episode], settings: Settings, progress: Callable[[int], object]) -> Iterator[Life]:
    rollouts = []
    for episode in episodes:
        rollout = NotesRollout(episode, settings.budget, settings.condition)
        try:
            engine.check(rollout, settings.answer_tokens)
        except PromptTooLong as error:
            progress(rollout.segments)
            yield Life(rollout, (), 0.0, str(error))
        else:
            rollouts.append(rollout)
    if not rollouts:
        return
    lived = 0

    def count(segments: int) -> None:
        nonlocal lived
        lived += segments
        progress(segments)

    started = time.perf_counter()
    try:
        steps = engine.play(
            rollouts,
            temperature=settings.temperature,
            seed=_seed(settings.seed, rollouts[0].episode.id),
            answer_tokens=settings.answer_tokens,
            progress=count,
        )
    except PromptTooLong as error:
        # The notes that the model wrote made one prompt too long; alone, every other rollout still gets through.
        progress(-lived)
        if len(rollouts) == 1:
            progress(rollouts[0].segments)
            yield Life(rollouts[0], (), time.perf_counter() - started, str(error))
            return
        for rollout in rollouts:
            yield from _live_locally(engine, [rollout.episode], settings, progress)
        return
    seconds = (time.perf_counter() - started) / len(rollouts)
    for rollout, lived_steps in zip(rollouts, steps, strict=True):
        yield Life(rollout, lived_steps, seconds)


async def _live_remotely(
    engine: EndpointEngine, episodes: Sequence[Episode], settings: Settings, keep: Callable[[Life], None], progress: Callable[[int], object]
) -> None:
    waiting = iter(episodes)

    async def worker() -> None:
        for episode in waiting:
            rollout = NotesRollout(episode, settings.budget, settings.condition)
            started, steps, problem, lived = time.perf_counter(), [], None, 0

            def count(segments: int) -> None:
                nonlocal lived
                lived += segments
                progress(segments)

            try:
                steps = await engine.play(
                    rollout,
                    temperature=settings.temperature,
                    seed=_seed(settings.seed, episode.id),
                    answer_tokens=settings.answer_tokens,
                    progress=count,
                )
            except (EndpointError, PromptTooLong) as error:
                problem = str(error)
                progress(rollout.segments - lived)
            keep(Life(rollout, steps, time.perf_counter() - started, problem))

    async with engine:
        await asyncio.gather(*(worker() for _ in range(min(engine.concurrency, len(episodes)))))


def _seed(seed: int, name: str) -> int:
    """Return a seed of its own for a rollout, so that a resumed run draws as an undisturbed one; 31 bits, as endpoints take no more."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=4).digest(), "big") >> 1
