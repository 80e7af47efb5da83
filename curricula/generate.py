"""Write generated episodes to a file, as JSON lines or as one LongMemEval JSON array."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from tqdm import tqdm

from supersession.cli import Options, UsageError, load_toml, provenance, run, write_text
from supersession.episode import NOT_STATED, Episode, Question, format_date, write_jsonl
from supersession.sources.generator import LEVELS, SPLITS, Knobs, episodes, expert_answer

EXAMPLE = "python curricula/generate.py --level 2 --split test --count 100 --seed 0 --out episodes.jsonl"


class GenerateOptions(Options):
    """Write generated episodes to a file: the same ones for the same options, on every machine."""

    out: Path
    """File to write; it is replaced only when all is written."""
    split: str = "train"
    """One of train, dev, test, ood."""
    level: int = 2
    """Difficulty from 0 to 6."""
    knobs: Path | None = None
    """TOML file of knobs that replace those of the level, such as `sessions = [3, 5]`."""
    count: int = Field(100, ge=1)
    """Number of episodes."""
    start: int = Field(0, ge=0)
    """Index of the first one."""
    seed: int = 0
    questions: int = Field(1, ge=1)
    """Questions per episode, where its facts give as many."""
    budget: int = Field(300, ge=1)
    """Characters within which the ideal notes stay."""
    format: Literal["jsonl", "longmemeval"] = "jsonl"
    """`jsonl` keeps everything; `longmemeval` is the benchmark's own JSON, one entry per question."""
    json_file: Path | None = Field(None, alias="json")
    """File for a JSON summary."""


def main(options: GenerateOptions) -> None:
    if options.split not in SPLITS:
        raise UsageError(f"--split: {options.split!r} is unknown; choose one of {', '.join(SPLITS)}")
    if options.level not in LEVELS:
        raise UsageError(f"--level: {options.level} is unknown; choose one of {', '.join(map(str, LEVELS))}")
    if not options.out.parent.is_dir():
        raise UsageError(f"--out: the folder {options.out.parent} does not exist; create it first")
    knobs = read_knobs(options.knobs, options.level) if options.knobs else None
    made = episodes(options.split, options.seed, options.level, options.count, options.start, options.questions, options.budget, knobs)
    counts: dict[str, int] = {}
    stream = _counted(tqdm(made, total=options.count, desc=f"{options.split} level {options.level}", unit="episode"), counts)
    if options.format == "jsonl":
        write_jsonl(stream, options.out)
    else:
        write_longmemeval(stream, options.out)
    print(f"{options.count} episodes, {sum(counts.values())} questions: {options.out}")
    if options.json_file:
        summary = {"options": options.model_dump(mode="json"), "episodes": options.count, "kinds": counts, "provenance": provenance()}
        write_text(options.json_file, json.dumps(summary, indent=2) + "\n")


def read_knobs(path: Path, level: int) -> Knobs:
    """Return the knobs of `level` with those in a TOML file in their place; raise `UsageError` naming what makes no sense."""
    try:
        return Knobs.model_validate({**LEVELS[level].model_dump(), **load_toml(path)})
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise UsageError(f"{path}: {where}{first['msg'].removeprefix('Value error, ')}") from error


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
    }


def _counted(made: Iterable[Episode], counts: dict[str, int]) -> Iterable[Episode]:
    for episode in made:
        for question in episode.questions:
            counts[question.kind] = counts.get(question.kind, 0) + 1
        yield episode


if __name__ == "__main__":
    run(GenerateOptions, main, EXAMPLE)
