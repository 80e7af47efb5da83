"""Where a learner stands in a curriculum: an endless stream of training episodes that moves up and down with the pass rate."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from supersession.episode import Episode
from supersession.sources.curriculum import Curriculum, Stage


@dataclass
class Scheduler:
    """Training episodes of `curriculum`, from its stage `place` on; `state_dict` holds all that a checkpoint needs.

    Stages move as `Curriculum` says: outside of its band most groups have no spread.
    """

    curriculum: Curriculum
    seed: int
    budget: int
    place: int = 0
    recent: deque[float] = field(default_factory=deque)

    @property
    def stage(self) -> Stage:
        return self.curriculum.stages[self.place]

    def episode(self, index: int) -> Episode:
        """Return training episode number `index` at the present stage."""
        return self.curriculum.episode(self.place, "train", self.seed, index, self.budget)

    def update(self, pass_rates: list[float]) -> None:
        """Take the pass rate of each group just played, in [0, 1], and move the stage if the last `window` of them say so."""
        rule = self.curriculum
        self.recent.extend(pass_rates)
        while len(self.recent) > rule.window:
            self.recent.popleft()
        if len(self.recent) < rule.window:
            return
        mean = sum(self.recent) / len(self.recent)
        step = (mean > rule.promote and self.place + 1 < len(rule.stages)) - (mean < rule.demote and self.place > 0)
        if step:
            self.place += step
            self.recent.clear()

    def state_dict(self) -> dict[str, Any]:
        return {"place": self.place, "recent": list(self.recent)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.place, self.recent = state["place"], deque(state["recent"])
