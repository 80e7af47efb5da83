"""Curricula: TOML files that say which episodes are taught in which order, as stages over the generator's levels and knobs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from supersession.episode import Episode, EpisodeError
from supersession.sources.generator import LEVELS, Knobs, generate
from supersession.sources.generator.draw import Draw, seed_of


class Stage(BaseModel):
    """One step of a curriculum: a mixture of levels, some of their knobs set otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str = Field(min_length=1)
    levels: dict[int, float] = Field(min_length=1)
    """Weights of the generator's levels."""
    knobs: dict[str, Any] = {}
    """Knobs that replace those of every level of the stage."""
    questions: int = Field(1, ge=1)
    """Questions asked after one reading."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Stage:
        unknown = sorted(set(self.levels) - set(LEVELS))
        if unknown:
            raise ValueError(f"level {unknown[0]} is unknown; choose from {', '.join(map(str, LEVELS))}")
        if min(self.levels.values()) < 0 or sum(self.levels.values()) <= 0:
            raise ValueError(f"the weights of levels must be 0 or more and not all 0, got {self.levels}")
        for level in self.levels:
            self.knobs_of(level)
        return self

    def knobs_of(self, level: int) -> Knobs | None:
        """Return the stage's knobs at one of its levels; None where they are the level's own."""
        return Knobs.model_validate({**LEVELS[level].model_dump(), **self.knobs}) if self.knobs else None


class Curriculum(BaseModel):
    """Stages, easiest first, and the rule that moves a learner along them.

    The mean pass rate of the last `window` groups moves it up when it is above `promote` and down when it is below `demote`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    description: str = ""
    stages: tuple[Stage, ...] = Field(min_length=1)
    promote: float = Field(0.8, gt=0, le=1)
    demote: float = Field(0.1, ge=0, lt=1)
    window: int = Field(32, ge=1)
    """Groups that the pass rate is averaged over; after a move it is counted anew."""
    rehearse: float = Field(0.0, ge=0, lt=1)
    """Share of episodes that come from a stage already passed."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Curriculum:
        if self.demote >= self.promote:
            raise ValueError(f"demote ({self.demote}) must be below promote ({self.promote}), or a learner would go up and down at once")
        names = [stage.name for stage in self.stages]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two stages have the name {twice[0]!r}; names must differ")
        return self

    def episode(self, stage: int, split: str, seed: int, index: int, budget: int) -> Episode:
        """Return the episode at `index` for a learner at `stage` (counted from 0): a pure function of the arguments.

        `budget` bounds the characters of its expert notes. Raises `ValueError` as `generate` does.
        """
        draw = Draw(seed_of("curriculum", split, seed, index))
        if stage and self.rehearse and draw.chance(self.rehearse):
            stage = draw.below(stage)
        taught = self.stages[stage]
        level = draw.weighted(taught.levels)
        made = generate(split, seed, index, level, taught.questions, budget, taught.knobs_of(level))
        return made.model_copy(update={"meta": {**made.meta, "stage": taught.name}})


def load_curriculum(path: Path) -> Curriculum:
    """Return the curriculum in a TOML file. Raises `EpisodeError` naming file and field where it cannot be read or makes no sense."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise EpisodeError(f"cannot read the curriculum {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise EpisodeError(f"{path} is not valid TOML: {error}") from error
    try:
        return Curriculum.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise EpisodeError(f"{path}{f', {where}' if where else ''}: {first['msg'].removeprefix('Value error, ')}") from error
