"""How long a verdict takes: short answers, answers of 5,000 characters, and hostile texts of growing length.

Every answer is new to the caches, as in a rollout; the question's own values are read once, as there. Growth is the time of the longest
hostile text over that of one a quarter as long: 4 is linear.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.console import Console
from rich.table import Table

from supersession.answers import mentions, verdict
from supersession.cli import Options, provenance, run, write_text
from supersession.episode import Episode, Question
from supersession.sources.generator import episodes, expert_answer

EXAMPLE = "python scripts/bench_answers.py --json runs/bench_answers.json"
HOSTILE = {
    "digits": "1",
    "numbers": "1,000 ",
    "commas": ",",
    "or": "7 or ",
    "not": "not ",
    "answers": "Answer: 7\n",
    "brackets": "(",
    "stars": "**",
    "backslashes": "\\boxed{",
    "thoughts": "<think>",
    "arrows": "7 -> ",
    "quotes": '{"answer": "',
    "accents": "e\u0301",
    "names": "Fit Barn ",
}


class BenchOptions(Options):
    """Measure the time of verdicts."""

    answers: int = Field(2000, ge=10)
    """short answers; a tenth as many long ones"""
    characters: int = Field(200_000, ge=1000)
    """length of the longest hostile text"""
    seed: int = 0
    """of the episodes and texts"""
    json_file: Path | None = Field(None, alias="json")
    """write the whole result to this file"""


def milliseconds(question: Question, answer: str) -> float:
    """Return how long one verdict takes."""
    started = time.perf_counter()
    verdict(answer, question.gold, question.stale, question.others, question.text, question.value_type)
    return 1e3 * (time.perf_counter() - started)


def asked(options: BenchOptions) -> list[tuple[Episode, Question]]:
    """Return questions of levels 2 to 4 whose values the matcher has already read."""
    pairs = []
    for level in (2, 3, 4):
        for episode in episodes("test", options.seed, level, options.answers // 30):
            pairs += [(episode, question) for question in episode.questions]
    for _, question in pairs:
        milliseconds(question, "unknown")
    return pairs


def long_answer(episode: Episode, question: Question, rng: random.Random) -> str:
    """Return 5,000 characters of the episode's own text in random order that end in the answer."""
    words = " ".join(turn.content for session in episode.sessions for turn in session.turns).split(" ")
    text = " ".join(rng.choices(words, k=1200))[:4900]
    return f"{text}\n\nSo the answer is {expert_answer(question)}."


def hostile(unit: str, length: int, question: Question) -> float:
    """Return the milliseconds of the slower of a verdict on, and a search in, `length` characters of `unit`."""
    text = (unit * (length // len(unit) + 1))[:length]
    started = time.perf_counter()
    mentions(text, question.gold, question.text, question.value_type)
    return max(1e3 * (time.perf_counter() - started), milliseconds(question, text))


def main(options: BenchOptions) -> None:
    rng = random.Random(options.seed)
    pairs = asked(options)
    picked = [rng.choice(pairs) for _ in range(options.answers)]
    short = [
        milliseconds(q, f"{rng.choice(('It is', 'I think it is', 'Now:'))} {expert_answer(q)}{' ' * n}") for n, (_, q) in enumerate(picked)
    ]
    long = [milliseconds(question, long_answer(episode, question, rng)) for episode, question in picked[: options.answers // 10]]
    by_type = {question.value_type: question for _, question in pairs}
    growth = {
        name: worst([(hostile(unit, options.characters // 4, q), hostile(unit, options.characters, q)) for q in by_type.values()])
        for name, unit in HOSTILE.items()
    }
    result: dict[str, Any] = {"short_ms": statistics.median(short), "long_ms": statistics.median(long), "hostile": growth}
    table = Table(title=f"hostile texts of {options.characters:,} characters, the slowest value type")
    for column in ("text", "seconds", "growth for 4 times the length"):
        table.add_column(column, justify="left" if column == "text" else "right")
    for name, row in growth.items():
        table.add_row(name, f"{row['seconds']:.2f}", f"{row['growth']:.1f}")
    print(f"median of short answers: {result['short_ms']:.3f} ms; of 5,000 characters: {result['long_ms']:.2f} ms")
    Console().print(table)
    if options.json_file is not None:
        write_text(options.json_file, json.dumps(result | {"provenance": provenance()}, indent=1) + "\n")


def worst(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return the slowest of (quarter, whole) times: seconds of the whole and its ratio to the quarter."""
    quarter, whole = max(times, key=lambda pair: pair[1])
    return {"seconds": whole / 1e3, "growth": whole / max(quarter, 1e-6)}


if __name__ == "__main__":
    run(BenchOptions, main, EXAMPLE)
