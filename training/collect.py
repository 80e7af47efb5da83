"""Playing groups of rollouts until the batch is full of groups that carry signal."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from supersession.engines.generation import Step
from supersession.engines.local import LocalEngine
from supersession.episode import Episode
from supersession.protocol import NotesRollout
from supersession.scoring import Scorecard, score
from training.batch import Row, advantages, expand, has_spread
from training.curriculum import Scheduler


@dataclass
class Collected:
    """Rows of the groups with spread, the pass rate of every group that was played, and what to log about them."""

    rows: list[Row] = field(default_factory=list)
    pass_rates: list[float] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass
class Collector:
    """Plays `groups` episodes `group_size` times each; groups without spread are dropped and refilled, at most `refills` times."""

    engine: LocalEngine
    scheduler: Scheduler
    groups: int
    group_size: int
    budget: int
    stale_weight: float
    temperature: float
    answer_tokens: int
    refills: int
    seed: int
    rank: int = 0
    world: int = 1

    def collect(self, step: int) -> Collected:
        """Return the rows for optimiser step `step`: a pure function of the weights, the scheduler's state, the seed and the step."""
        started = time.perf_counter()
        rows: list[Row] = []
        cards: list[Scorecard] = []
        pass_rates: list[float] = []
        prompt_tokens = sampled_tokens = truncated = kept = dead = 0
        for attempt in range(1 + self.refills):
            if kept == self.groups:
                break
            # Numbered by step, attempt, process and place, so that a resumed run and another number of processes play the same episodes.
            first = ((step * (1 + self.refills) + attempt) * self.world + self.rank) * self.groups
            episodes = [self.scheduler.episode(first + place) for place in range(self.groups - kept)]
            for scores, lives in self._play(episodes, step, attempt):
                rewards = [card.reward for card in scores]
                cards += scores
                pass_rates.append(statistics.fmean(question.correct for card in scores for question in card.questions))
                prompt_tokens += sum(s.generation.prompt_tokens for life in lives for s in life)
                sampled_tokens += sum(s.generation.completion_tokens for life in lives for s in life)
                truncated += sum(s.generation.truncated for life in lives for s in life)
                if not has_spread(rewards):
                    dead += 1
                    continue
                kept += 1
                for life, advantage in zip(lives, advantages(rewards), strict=True):
                    rows += expand(life, advantage)
        means: dict[str, list[float]] = defaultdict(list)
        for card in cards:
            for name, value in card.metrics().items():
                means[name].append(value)
        metrics = {f"rollout/{name}": statistics.fmean(values) for name, values in means.items()}
        metrics |= {
            "groups/played": float(kept + dead),
            "groups/dead_share": dead / (kept + dead),
            "groups/kept": float(kept),
            "tokens/prompt": float(prompt_tokens),
            "tokens/sampled": float(sampled_tokens),
            "tokens/trained": float(sum(len(row.token_ids) for row in rows)),
            "rollout/truncated_segments": float(truncated),
            "rollout/stage": float(self.scheduler.place),
            "seconds/rollouts": time.perf_counter() - started,
        }
        return Collected(rows, pass_rates, metrics)

    def _play(self, episodes: Sequence[Episode], step: int, attempt: int) -> list[tuple[list[Scorecard], list[list[Step]]]]:
        """Return, per episode, the scorecards and the lived steps of its group."""
        rollouts = [NotesRollout(episode, self.budget) for episode in episodes for _ in range(self.group_size)]
        seed = int.from_bytes(hashlib.blake2b(f"{self.seed}/{step}/{attempt}/{self.rank}".encode(), digest_size=6).digest(), "big")
        lives = self.engine.play(rollouts, temperature=self.temperature, seed=seed, answer_tokens=self.answer_tokens)
        cards = [score(rollout, self.stale_weight) for rollout in rollouts]
        size = self.group_size
        return [(cards[i : i + size], lives[i : i + size]) for i in range(0, len(rollouts), size)]
