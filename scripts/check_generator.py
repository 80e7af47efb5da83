"""Whether generated episodes are right, varied and quick to make: correctness per level, diversity of the text, speed and memory.

correctness   an independent reader recomputes every gold; superseded values stand in the text; the gold does not stand in the question;
              the scorer accepts the gold and rejects every other value; the ideal notes keep their budget and hold what is asked for
diversity     distinct session texts, distinct word 8-grams per million characters beside those of a file of real or hand-written
              conversations, phrasings that were never used, histograms of value types and question kinds
speed         megabytes of text per second on one core, and resident memory while episodes stream by
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
from pydantic import Field
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from supersession.answers import Verdict, verdict
from supersession.cli import Options, UsageError, provenance, run, write_text
from supersession.episode import NOT_STATED, Episode, Question, lasting_values, resolve
from supersession.sources.generator import LEVELS, episodes, expert_answer
from supersession.sources.generator.grammar import Template, Voice
from supersession.sources.generator.lexicon import World, world
from supersession.sources.generator.values import NUMBER_WORDS
from supersession.sources.longmemeval import load_longmemeval

EXAMPLE = (
    "python scripts/check_generator.py --count 20000 --texts 100000 --stream 1000000 --compare eval/data/natural.json --json check.json"
)
NGRAM = 8
SAMPLE_CHARS = 1_000_000


class CheckOptions(Options):
    """Check the generator: correctness, diversity, speed."""

    levels: list[int] = Field(sorted(LEVELS), min_length=1)
    """levels to check"""
    count: int = Field(2000, ge=1)
    """episodes per level whose correctness is checked"""
    texts: int = Field(20_000, ge=1)
    """session texts that must differ, and whose 8-grams are counted, over all levels"""
    stream: int = Field(20_000, ge=1)
    """episodes of mixed levels made for the measurement of speed and memory"""
    compare: Path | None = None
    """a LongMemEval file whose 8-grams are counted beside"""
    seed: int = 0
    """of the episodes"""
    json_file: Path | None = Field(None, alias="json")
    """write the whole result to this file"""


def failures(episode: Episode) -> Iterator[str]:
    """Yield the name of each check that one of the episode's questions fails."""
    text = " ".join(turn.content for session in episode.sessions for turn in session.turns).lower()
    budget = LEVELS[episode.meta["level"]].notes
    if any(len(notes) > budget for notes in episode.expert_notes):
        yield "ideal notes exceed the budget"
    for question in episode.questions:
        known = (question.gold, question.stale, question.others, question.text, question.value_type)
        if resolve(episode, question) != question.gold:
            yield "gold differs from the timeline"
        if not all(_told(value, text, episode, question) for value in question.stale):
            yield "superseded value not in the text"
        if question.value_type not in ("integer", "decimal", "yesno", "direction") and question.gold.lower() in question.text.lower():
            yield "gold stands in the question"
        wanted = Verdict.ABSTAIN if question.kind == "abstain" else Verdict.CURRENT
        if verdict(expert_answer(question), *known) != wanted:
            yield "scorer rejects the gold"
        if any(verdict(value, *known) in (Verdict.CURRENT, Verdict.ABSTAIN) for value in (*question.stale, *question.others)):
            yield "scorer accepts another value"
        if question.gold != NOT_STATED and question.kind != "direction" and not _noted(question, episode.expert_notes[-1]):
            yield "ideal notes lack the gold"


def _told(value: str, text: str, episode: Episode, question: Question) -> bool:
    """Say whether the text tells a value, in digits, in words, as yes or no, or as the sum of what was added and taken away."""
    if value in ("yes", "no") or value.lower() in text:
        return True
    small = value.isdigit() and int(value) < len(NUMBER_WORDS) and NUMBER_WORDS[int(value)] in text
    return small or (question.key is not None and value in lasting_values(episode, question.key))


def _noted(question: Question, notes: str) -> bool:
    return all(part in notes for part in question.gold.split(" -> "))


def check(level: int, options: CheckOptions) -> dict[str, Any]:
    """Return the failures of one level by name, with its histograms of value types and question kinds."""
    failed: Counter[str] = Counter()
    types: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for split in ("train", "ood"):
        half = options.count // 2 or 1
        for episode in tqdm(episodes(split, options.seed, level, half), total=half, desc=f"level {level}, {split}", leave=False):
            failed.update(failures(episode))
            types.update(question.value_type for question in episode.questions)
            kinds.update(question.kind for question in episode.questions)
    return {"level": level, "failures": dict(failed), "types": dict(types), "kinds": dict(kinds)}


def diversity(options: CheckOptions) -> dict[str, Any]:
    """Return the share of distinct session texts, 8-grams per million characters, and the phrasings that no episode used."""
    used: set[int] = set()
    render = Template.render

    def recorded(self: Template, voice: Voice, **slots: str) -> str:
        used.add(id(self))
        return render(self, voice, **slots)

    texts: list[str] = []
    Template.render = recorded  # type: ignore[method-assign]
    try:
        for split, share in (("train", 3), ("ood", 1)):
            here: list[str] = []
            for episode in _mixed(split, options):
                here += [" ".join(turn.content for turn in session.turns) for session in episode.sessions]
                if len(here) >= options.texts * share // 4:
                    break
            texts += here
    finally:
        Template.render = render  # type: ignore[method-assign]
    templates = {id(template): text for name in ("main", "ood") for text, template in _templates(world(name))}
    return {
        "texts": len(texts),
        "distinct_texts": len(set(texts)) / len(texts),
        "ngrams_per_million_characters": {
            f"level {level}": ngrams(_texts(episodes("train", options.seed, level))) for level in options.levels
        },
        "templates": len(templates),
        "unused_templates": sorted(text for key, text in templates.items() if key not in used),
    }


def _mixed(split: str, options: CheckOptions) -> Iterator[Episode]:
    streams = [episodes(split, options.seed + 1, level) for level in options.levels]
    while True:
        for stream in streams:
            yield next(stream)


def _texts(made: Iterable[Episode]) -> Iterator[str]:
    for episode in made:
        for session in episode.sessions:
            yield " ".join(turn.content for turn in session.turns)


def _templates(words: World) -> Iterator[tuple[str, Template]]:
    """Yield every phrasing that a fact can be told or asked in, with its text."""
    for attribute in words.attributes:
        for name, forms in attribute.phrasings.items():
            yield from ((f"{attribute.name}, {name}: {form.voices['I']}", form) for form in forms)
    for name, forms in words.frames.items():
        yield from ((f"{name}: {form.voices['I']}", form) for form in forms)


def ngrams(texts: Iterable[str]) -> float:
    """Return the number of distinct word 8-grams in the first million characters, scaled to a million where there are fewer."""
    grams: set[tuple[str, ...]] = set()
    characters = 0
    for text in texts:
        words = re.findall(r"\w+", text.lower())
        grams.update(tuple(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1))
        characters += len(text)
        if characters >= SAMPLE_CHARS:
            break
    return len(grams) * SAMPLE_CHARS / characters


def speed(options: CheckOptions) -> dict[str, Any]:
    """Return megabytes of text per second per level, and the resident memory at tenths of a long stream in MiB."""
    rates = {}
    for level in options.levels:
        started, characters, made = time.process_time(), 0, 0
        for episode in episodes("train", options.seed + 2, level, max(20, options.stream // 100)):
            characters += sum(len(turn.content) for session in episode.sessions for turn in session.turns)
            made += 1
        seconds = time.process_time() - started
        rates[f"level {level}"] = {"episodes_per_second": made / seconds, "megabytes_per_second": characters / seconds / 1e6}
    memory = []
    tenth = max(1, options.stream // 10)
    for number, _ in enumerate(tqdm(_mixed("train", options), total=options.stream, desc="stream", leave=False), start=1):
        if number % tenth == 0:
            memory.append(psutil.Process().memory_info().rss / 2**20)
        if number >= options.stream:
            break
    return {"rates": rates, "memory_mib": memory}


def main(options: CheckOptions) -> None:
    unknown = sorted(set(options.levels) - set(LEVELS))
    if unknown:
        raise UsageError(f"--levels: {unknown[0]} is unknown; choose from {', '.join(map(str, LEVELS))}")
    real = load_longmemeval(options.compare, question_type=None) if options.compare else None
    quick = speed(options)
    levels = [check(level, options) for level in options.levels]
    varied = diversity(options)
    if real is not None:
        varied["ngrams_per_million_characters"][options.compare.name if options.compare else ""] = ngrams(_texts(real))
    if options.json_file is not None:
        result = {"levels": levels, "diversity": varied, "speed": quick, "options": options.model_dump(mode="json")}
        write_text(options.json_file, json.dumps(result | {"provenance": provenance()}, indent=1) + "\n")
    show(levels, varied, quick)


def show(levels: list[dict[str, Any]], varied: dict[str, Any], quick: dict[str, Any]) -> None:
    table = Table(title="per level")
    for column in ("level", "failed checks", "question kinds", "value types", "episodes/s", "MB/s"):
        table.add_column(column)
    for row in levels:
        rate = quick["rates"][f"level {row['level']}"]
        cells = [
            ", ".join(f"{name} {count}" for name, count in sorted(row[key].items(), key=lambda i: -i[1])) for key in ("kinds", "types")
        ]
        failed = ", ".join(f"{name}: {count}" for name, count in row["failures"].items()) or "none"
        table.add_row(str(row["level"]), failed, *cells, f"{rate['episodes_per_second']:.0f}", f"{rate['megabytes_per_second']:.1f}")
    Console().print(table)
    print(f"distinct session texts: {varied['distinct_texts']:.2%} of {varied['texts']:,}")
    for name, number in varied["ngrams_per_million_characters"].items():
        print(f"distinct {NGRAM}-grams per million characters, {name}: {number:,.0f}")
    print(f"phrasings never used: {len(varied['unused_templates'])} of {varied['templates']}", *varied["unused_templates"][:10], sep="\n  ")
    print(f"memory along the stream, MiB: {', '.join(f'{size:.0f}' for size in quick['memory_mib'])}")


if __name__ == "__main__":
    run(CheckOptions, main, EXAMPLE)
