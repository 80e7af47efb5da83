"""Which episode comes next: an endless stream over the generator's levels that moves up and down with the pass rate."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from supersession.episode import Episode
from supersession.sources.generator import generate


@dataclass
class Curriculum:
    """Training episodes from `levels`, easiest first; `state_dict` holds all that a checkpoint needs.

    The stream moves to the next level when the mean pass rate of the last `window` groups is above `promote`, and back when it is below
    `demote`: outside that band most groups have no spread.
    """

    levels: list[int]
    seed: int
    budget: int
    questions: int = 1
    window: int = 32
    promote: float = 0.8
    demote: float = 0.1
    stage: int = 0
    recent: deque[float] = field(default_factory=deque)

    @property
    def level(self) -> int:
        return self.levels[self.stage]

    def episode(self, index: int) -> Episode:
        """Return training episode number `index` at the present level."""
        return generate("train", seed=self.seed, index=index, level=self.level, questions=self.questions, budget=self.budget)

    def update(self, pass_rates: list[float]) -> None:
        """Take the pass rate of each group just played, in [0, 1], and move the level if the last `window` of them say so."""
        self.recent.extend(pass_rates)
        while len(self.recent) > self.window:
            self.recent.popleft()
        if len(self.recent) < self.window:
            return
        mean = sum(self.recent) / len(self.recent)
        step = (mean > self.promote and self.stage + 1 < len(self.levels)) - (mean < self.demote and self.stage > 0)
        if step:
            self.stage += step
            self.recent.clear()

    def state_dict(self) -> dict[str, Any]:
        return {"stage": self.stage, "recent": list(self.recent)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stage, self.recent = state["stage"], deque(state["recent"])
