"""Episodes as a pure function of (split, seed, index, level)."""

from __future__ import annotations

from collections.abc import Iterator

from supersession.episode import Episode
from supersession.sources.generator.ask import ask
from supersession.sources.generator.draw import Draw, seed_of
from supersession.sources.generator.knobs import LEVELS, SPLITS, Knobs
from supersession.sources.generator.lexicon import world
from supersession.sources.generator.notes import expert_notes
from supersession.sources.generator.plan import make_plan
from supersession.sources.generator.write import draw_dates, write_sessions


def generate(
    split: str, seed: int, index: int, level: int = 2, questions: int = 1, budget: int = 300, knobs: Knobs | None = None
) -> Episode:
    """Return the episode at `index` of a split: the same one on every machine, whatever was generated before.

    `questions` is how many it asks at most (fewer where its facts do not give as many); `budget` bounds the characters of
    `expert_notes`. `knobs` replaces the settings of the level, which then only names the episode. Raises `ValueError` for an
    unknown split or level, or a count or budget below 1.
    """
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is unknown; choose one of {', '.join(map(str, LEVELS))}")
    if split not in SPLITS:
        raise ValueError(f"split {split!r} is unknown; choose one of {', '.join(SPLITS)}")
    for name, value in (("questions", questions), ("budget", budget)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    return _build(split, seed, index, level, knobs, questions, budget)


def episodes(
    split: str,
    seed: int,
    level: int = 2,
    count: int | None = None,
    start: int = 0,
    questions: int = 1,
    budget: int = 300,
    knobs: Knobs | None = None,
) -> Iterator[Episode]:
    """Yield the episodes from index `start` on: `count` of them, or without end where `count` is None. Raises as `generate` does."""
    index = start
    while count is None or index < start + count:
        yield generate(split, seed, index, level, questions, budget, knobs)
        index += 1


def _build(split: str, seed: int, index: int, level: int, custom: Knobs | None, questions: int, budget: int) -> Episode:
    knobs = custom or LEVELS[level]
    words = world("ood" if split == "ood" else "main")
    draw = Draw(seed_of(split, seed, index, level))
    name = f"{split}-{level}-{seed}-{index}"
    while True:
        plan = make_plan(draw, words, knobs)
        if split != "ood" and plan.split() != split:
            continue
        dates = draw_dates(draw, plan.sessions)
        sessions, timeline = write_sessions(draw, words, knobs, plan, dates)
        asked = ask(draw, words, knobs, plan, dates, name, questions)
        if asked:
            break
    meta = {"source": "generator", "split": split, "seed": seed, "index": index, "level": level}
    return Episode(
        id=name,
        sessions=tuple(sessions),
        timeline=tuple(timeline),
        questions=tuple(asked),
        expert_notes=expert_notes(plan.facts, dates, budget, dated=knobs.kinds.get("as_of", 0) > 0),
        meta={**meta, "knobs": custom.model_dump(mode="json")} if custom else meta,
    )
