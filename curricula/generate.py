"""Write the episodes of a curriculum to a file, as JSON lines or as one LongMemEval JSON array."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic_settings import CliPositionalArg
from tqdm import tqdm

from curricula.files import open_curriculum
from supersession.cli import Options, UsageError, provenance, run, write_text
from supersession.episode import NOT_STATED, Episode, Question, format_date, write_jsonl
from supersession.sources.curriculum import Curriculum
from supersession.sources.generator import expert_answer
from supersession.sources.longmemeval import Label

EXAMPLE = "python curricula/generate.py buried-update --split test --count 600 --seed 0 --out episodes.jsonl"


class GenerateOptions(Options):
    """Write the episodes of a curriculum to a file: the same ones for the same options, on every machine."""

    name: CliPositionalArg[str]
    """a curriculum of this folder, level-N for one level of the generator, or a TOML file"""
    out: Path
    """File to write; it is replaced only when all is written."""
    split: Literal["train", "dev", "test", "ood"] = "train"
    """Which episodes; no two splits share any."""
    stage: str | None = None
    """Only this stage; without it, episodes come from all stages in turn."""
    count: int = Field(100, ge=1)
    """Number of episodes."""
    start: int = Field(0, ge=0)
    """Index of the first one."""
    seed: int = 0
    """Of the episodes."""
    budget: int = Field(300, ge=1)
    """Characters within which the ideal notes stay."""
    format: Literal["jsonl", "longmemeval"] = "jsonl"
    """`jsonl` keeps everything; `longmemeval` is the benchmark's own JSON, one entry per question."""
    json_file: Path | None = Field(None, alias="json")
    """File for a JSON summary."""


def main(options: GenerateOptions) -> None:
    curriculum = open_curriculum(options.name)
    places = stages_of(curriculum, options.stage)
    if not options.out.parent.is_dir():
        raise UsageError(f"--out: the folder {options.out.parent} does not exist; create it first")
    made = (
        curriculum.episode(places[index % len(places)], options.split, options.seed, index, options.budget)
        for index in range(options.start, options.start + options.count)
    )
    counts: Counter[str] = Counter()
    stream = _counted(tqdm(made, total=options.count, desc=f"{options.name}, {options.split}", unit="episode"), counts)
    if options.format == "jsonl":
        write_jsonl(stream, options.out)
    else:
        write_longmemeval(stream, options.out)
    print(f"{options.count} episodes, {sum(counts.values())} questions: {options.out}")
    if options.json_file:
        summary = {"options": options.model_dump(mode="json"), "episodes": options.count, "kinds": counts, "provenance": provenance()}
        write_text(options.json_file, json.dumps(summary, indent=2) + "\n")


def stages_of(curriculum: Curriculum, name: str | None) -> list[int]:
    """Return the places of the stages to write: all, or the one called `name`. Raises `UsageError` where there is none."""
    names = [stage.name for stage in curriculum.stages]
    if name is None:
        return list(range(len(names)))
    if name not in names:
        raise UsageError(f"--stage: {name!r} is unknown; choose one of {', '.join(map(repr, names))}")
    return [names.index(name)]


def write_longmemeval(made: Iterable[Episode], path: Path) -> None:
    """Write one LongMemEval entry per question to `path`; an existing file is replaced only when all are written."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            separator = "[\n"
            for episode in made:
                for question in episode.questions:
                    file.write(separator + json.dumps(longmemeval_entry(episode, question), ensure_ascii=False))
                    separator = ",\n"
            file.write("\n]\n")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def longmemeval_entry(episode: Episode, question: Question) -> dict[str, Any]:
    """Return one question with its sessions as LongMemEval writes it; ids of questions without an answer end in `_abs`, as there."""
    telling = {(event.session, event.turn) for event in episode.timeline if event.key == question.key}
    abstains = question.gold == NOT_STATED
    session_ids = [
        f"{'answer_' if any(s == number for s, _ in telling) else ''}{episode.id}_{number + 1}" for number in range(len(episode.sessions))
    ]
    return {
        "question_id": question.id + ("_abs" if abstains else ""),
        "question_type": "knowledge-update",
        "question": question.text,
        "answer": "The information provided is not enough." if abstains else expert_answer(question),
        "question_date": format_date(question.date),
        "haystack_dates": [format_date(session.date) for session in episode.sessions],
        "haystack_session_ids": session_ids,
        "haystack_sessions": [
            [
                {"role": turn.role, "content": turn.content, "has_answer": (number, place) in telling}
                for place, turn in enumerate(session.turns)
            ]
            for number, session in enumerate(episode.sessions)
        ],
        "answer_session_ids": [name for name in session_ids if name.startswith("answer_")],
        "label": label_of(question).model_dump(mode="json"),
    }


def label_of(question: Question) -> Label:
    """Return what the benchmark's format has no place for, as `load_longmemeval` reads it back."""
    gold, stale = question.gold, question.stale
    current: str | None = gold
    if question.kind == "both":
        before, current = gold.split(" -> ")
        stale = (before, *stale)
    elif question.kind == "previous":
        current, stale = None, (gold, *stale)
    elif gold == NOT_STATED:
        current = None
    return Label(kind=question.kind, current=current, previous=stale, others=question.others, value_type=question.value_type)


def _counted(made: Iterable[Episode], counts: Counter[str]) -> Iterator[Episode]:
    for episode in made:
        counts.update(question.kind for question in episode.questions)
        yield episode


if __name__ == "__main__":
    run(GenerateOptions, main, EXAMPLE)
