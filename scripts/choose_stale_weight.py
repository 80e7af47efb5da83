"""What λ, the price of a stale answer, does to the signal that GRPO learns from; the default `stale_weight` was chosen by this table.

A model samples groups of rollouts at several levels. For each λ the same groups are scored again: how many have spread, what advantage
each verdict gets on average, and at how many levels answering pays more than an "unknown" that earns 0. λ must be high enough that a stale
answer is worth less than any other wrong one, and low enough that a model which is often stale does not learn to refuse instead.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.console import Console
from rich.table import Table

from supersession.answers import Verdict
from supersession.cli import Options, provenance, run, write_text
from supersession.engines.local import LocalEngine
from supersession.engines.models import DEFAULT_MODEL
from supersession.protocol import NotesRollout
from supersession.scoring import QuestionScore, score
from supersession.sources.generator import generate
from training.batch import advantages, has_spread

EXAMPLE = "python scripts/choose_stale_weight.py --adapter runs/laptop/warm-start --levels 0 1 2 3 --json lambda.json"


class ChoiceOptions(Options):
    """Score sampled groups of rollouts under several prices of a stale answer."""

    model: str = DEFAULT_MODEL
    """alias, hub id or folder"""
    adapter: Path | None = None
    """LoRA adapter, such as that of a warm start"""
    levels: list[int] = Field([0, 1, 2, 3], min_length=1)
    """levels of the generator"""
    groups: int = Field(16, ge=1)
    """groups per level"""
    group_size: int = Field(8, ge=2)
    """rollouts of one episode"""
    weights: list[float] = Field([0.0, 0.25, 0.5, 1.0, 2.0], min_length=1)
    """the λ to compare"""
    budget: int = Field(300, ge=1)
    """characters of notes"""
    answer_tokens: int = Field(24, ge=1)
    """longest answer, in tokens"""
    seed: int = 0
    """of the episodes and of sampling"""
    json_file: Path | None = Field(None, alias="json")
    """write the whole result to this file"""


Group = list[QuestionScore]


def play(engine: LocalEngine, level: int, options: ChoiceOptions) -> list[Group]:
    """Return, per episode, how each rollout of its group answered, scored with λ = 0."""
    rollouts = [
        NotesRollout(generate("dev", options.seed, index, level, budget=options.budget), options.budget)
        for index in range(options.groups)
        for _ in range(options.group_size)
    ]
    engine.play(rollouts, temperature=1.0, seed=options.seed, answer_tokens=options.answer_tokens)
    scores = [score(rollout, 0.0).questions[0] for rollout in rollouts]
    return [scores[i : i + options.group_size] for i in range(0, len(scores), options.group_size)]


def weigh(groups: list[Group], weight: float) -> dict[str, Any]:
    """Return what λ = `weight` makes of the groups: the share with spread, and the mean advantage per verdict in groups with spread."""
    by_verdict: dict[str, list[float]] = defaultdict(list)
    spread = 0
    for group in groups:
        rewards = [answer.r_cur + weight * answer.r_stale for answer in group]
        if has_spread(rewards):
            spread += 1
            for answer, advantage in zip(group, advantages(rewards), strict=True):
                by_verdict[answer.verdict].append(advantage)
    return {"spread": spread / len(groups), "advantage": {name: statistics.fmean(values) for name, values in by_verdict.items()}}


def rates(groups: list[Group]) -> dict[str, float]:
    """Return how often answers are current and touch a stale value, and the λ below which answering earns more than abstaining."""
    answers = [answer for group in groups for answer in group]
    current = statistics.fmean(answer.r_cur for answer in answers)
    stale = -statistics.fmean(answer.r_stale for answer in answers)
    return {"current": current, "stale": stale, "break_even": current / stale if stale else float("inf")}


def main(options: ChoiceOptions) -> None:
    engine = LocalEngine.load(options.model, options.adapter)
    pools = {level: play(engine, level, options) for level in options.levels}
    levels = {level: rates(groups) for level, groups in pools.items()}
    everything = [group for groups in pools.values() for group in groups]
    weights = {
        weight: weigh(everything, weight) | {"answering_pays": sum(row["break_even"] > weight for row in levels.values())}
        for weight in options.weights
    }
    console = Console()
    table = Table(title="how the model answers")
    for column in ("level", "current", "stale", "answering beats 'unknown' for λ below"):
        table.add_column(column, justify="right")
    for level, row in levels.items():
        table.add_row(str(level), f"{row['current']:.1%}", f"{row['stale']:.1%}", f"{row['break_even']:.2f}")
    console.print(table)
    table = Table(title="the signal under λ")
    names = [str(verdict) for verdict in Verdict]
    for column in ("λ", "groups with spread", *(f"advantage of {name}" for name in names), "levels at which answering pays"):
        table.add_column(column, justify="right")
    for weight, figures in weights.items():
        cells = [f"{figures['advantage'][name]:+.2f}" if name in figures["advantage"] else "" for name in names]
        table.add_row(f"{weight:g}", f"{figures['spread']:.0%}", *cells, f"{figures['answering_pays']} of {len(levels)}")
    console.print(table)
    if options.json_file is not None:
        result = {"options": options.model_dump(mode="json"), "levels": levels, "weights": weights, "provenance": provenance()}
        write_text(options.json_file, json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    run(ChoiceOptions, main, EXAMPLE)
