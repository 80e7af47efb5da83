"""What earns the reward on generated episodes without tracking facts: shortcuts beside chance and beside a reader of the timeline.

Measured on questions that one value answers; the two classifiers are trained on episodes of the `train` split, all else needs no training.
The reader recomputes every answer, of every kind, from the timeline of facts and must always be right.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from curricula.classifiers import BagOfWords, QuestionOnly
from curricula.shortcuts import SHORTCUTS, Case, Shortcut, cases
from supersession.cli import Options, UsageError, provenance, run, write_text
from supersession.episode import NOT_STATED, Episode, Question, resolve
from supersession.scoring import score_answer
from supersession.sources.generator import LEVELS, SPLITS, episodes, expert_answer

EXAMPLE = "python scripts/audit_curriculum.py --levels 4 5 6 --count 2000 --json audit.json"
MARGIN = 0.10
"""How far above chance a shortcut may be at the levels from 4 on."""


class AuditOptions(Options):
    """Accuracy of shortcuts per level of the generator."""

    levels: list[int] = Field(sorted(LEVELS), min_length=1)
    """levels to audit, such as 4 5 6"""
    count: int = Field(2000, ge=1)
    """episodes per level"""
    training: int = Field(5000, ge=10)
    """episodes per level that the classifiers are trained on"""
    split: str = "test"
    """split that is audited"""
    seed: int = 0
    """of the episodes and of the classifiers"""
    json_file: Path | None = Field(None, alias="json")
    """write the whole result to this file"""


def audit(level: int, options: AuditOptions) -> dict[str, Any]:
    """Return the figures of one level: `reader_accuracy` over all questions, the rest over those that one value answers."""
    training = [case for episode in _stream("train", level, options.training, options.seed + 1) for case in cases(episode)]
    shortcuts: dict[str, Shortcut] = {
        **SHORTCUTS,
        "bag of words, trained": BagOfWords(training, options.seed),
        "question only, trained": QuestionOnly(training, options.seed),
    }
    right: dict[str, list[bool]] = {name: [] for name in shortcuts}
    read: list[bool] = []
    asked: list[Case] = []
    for episode in _stream(options.split, level, options.count, options.seed):
        read += [reads(episode, question) for question in episode.questions]
        for case in cases(episode):
            asked.append(case)
            for name, shortcut in shortcuts.items():
                right[name].append(shortcut(case) == case.question.gold)
    if not asked:
        raise UsageError(f"--count {options.count} gave no question that one value answers at level {level}; raise it")
    chance = statistics.fmean(case.chance for case in asked)
    accuracies = {name: statistics.fmean(answers) for name, answers in right.items()}
    return {
        "level": level,
        "questions": len(asked),
        "reader_accuracy": statistics.fmean(read),
        "chance": chance,
        "worst_over_chance": max(accuracies.values()) - chance,
        "shortcuts": accuracies,
    }


def reads(episode: Episode, question: Question) -> bool:
    """Say whether the answer that the timeline gives is scored as right."""
    answer = resolve(episode, question)
    told = "unknown" if answer == NOT_STATED else expert_answer(question.model_copy(update={"gold": answer}))
    return score_answer(question, told, None).correct


def _stream(split: str, level: int, count: int, seed: int) -> Iterator[Episode]:
    made = episodes(split, seed, level, count)
    yield from tqdm(made, total=count, desc=f"level {level}, {split}", unit="episode", leave=False, mininterval=1.0)


def main(options: AuditOptions) -> None:
    unknown = sorted(set(options.levels) - set(LEVELS))
    if unknown:
        raise UsageError(f"--levels: {unknown[0]} is unknown; choose from {', '.join(map(str, LEVELS))}")
    if options.split not in SPLITS:
        raise UsageError(f"--split: {options.split!r} is unknown; choose one of {', '.join(SPLITS)}")
    levels = [audit(level, options) for level in options.levels]
    if options.json_file is not None:
        result = {"levels": levels, "margin": MARGIN, "options": options.model_dump(mode="json"), "provenance": provenance()}
        write_text(options.json_file, json.dumps(result, indent=1) + "\n")
    show(levels)


def show(levels: list[dict[str, Any]]) -> None:
    """Print one column per level, the strongest shortcuts of the last one first."""
    table = Table(title="accuracy in % (questions that one value answers)")
    table.add_column("shortcut")
    for figures in levels:
        table.add_column(f"level {figures['level']}", justify="right")
    for name in ("reader_accuracy", "chance", "worst_over_chance"):
        table.add_row(name.replace("_", " "), *(f"{100 * figures[name]:.1f}" for figures in levels))
    table.add_section()
    for name in sorted(levels[-1]["shortcuts"], key=lambda name: -levels[-1]["shortcuts"][name]):
        table.add_row(name, *(f"{100 * figures['shortcuts'][name]:.1f}" for figures in levels))
    Console().print(table)
    above = [str(figures["level"]) for figures in levels if figures["level"] >= 4 and figures["worst_over_chance"] > MARGIN]
    print(f"levels from 4 on with a shortcut more than {MARGIN:.0%} above chance: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    run(AuditOptions, main, EXAMPLE)
