"""Measure a model's notes memory on LongMemEval's knowledge updates, on our generated splits, or on a file of episodes.

    python eval/longmemeval.py --data longmemeval_oracle.json --condition bounded --budget 300 --model smollm2-135m --out runs/lme
    python eval/longmemeval.py --split test --level 2 --count 200 --endpoint http://localhost:8000/v1 --model NAME

Rows go to `rows.jsonl` in --out as they finish; the same command again adds what is missing and asks failed questions again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.report import by_kind, kind_table, show, summarize
from eval.rows import Row
from eval.runner import Local, evaluate
from supersession.cli import Options, UsageError, provenance, run, write_text
from supersession.engines.endpoint import ATTEMPTS, CONCURRENCY, TIMEOUT_S, EndpointEngine
from supersession.engines.generation import ANSWER_TOKENS
from supersession.engines.models import DEFAULT_MODEL, ModelError
from supersession.episode import Episode
from supersession.protocol import Condition, NotesRollout
from supersession.scoring import STALE_WEIGHT
from supersession.sources import DEFAULT_COUNT, DEFAULT_LEVEL, open_source

EXAMPLE = "python eval/longmemeval.py --data longmemeval_oracle.json --condition bounded --budget 300 --model smollm2-135m --out runs/lme"


class EvaluationOptions(Options):
    """Let a model live through episodes and answer their questions; print a table per question kind."""

    data: Path | None = None
    """LongMemEval's JSON (.json, .json.gz) or a JSONL file of episodes; without --data and --split, LongMemEval comes from the hub."""
    split: Literal["dev", "test", "ood"] | None = None
    """A generated split instead of a file."""
    level: int | None = Field(None, ge=0)
    """Difficulty of a generated split (default 2)."""
    count: int | None = Field(None, ge=1)
    """How many episodes a generated split has."""
    condition: Condition = "bounded"
    """What the question shows. bounded: the notes that the model wrote; full: the whole history; none: nothing; expert: the episode's
    expert notes; append: the last --budget characters of the history; last: the last session."""
    budget: int = Field(300, ge=1)
    """Characters that the notes may have."""
    model: str | None = None
    """A local model: alias, folder or hub id; with --endpoint, the model's name there."""
    adapter: Path | None = None
    """Folder of a LoRA adapter for the local model."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of the local model; auto: bfloat16 on a GPU, float32 on a CPU."""
    batch_tokens: int | None = Field(None, ge=1)
    """Tokens that the local model takes at a time; fewer need less memory, and less is lost at an interrupt."""
    endpoint: str | None = None
    """Base URL of an OpenAI-compatible endpoint, such as http://localhost:8000/v1; the key is read from OPENAI_API_KEY."""
    concurrency: int = Field(CONCURRENCY, ge=1)
    """Requests to the endpoint at a time."""
    timeout_s: float = Field(TIMEOUT_S, gt=0)
    """Seconds that one request may take."""
    attempts: int = Field(ATTEMPTS, ge=1)
    """How often a failing request is tried in all."""
    answer_tokens: int = Field(ANSWER_TOKENS, ge=1)
    """Tokens that an answer may have."""
    temperature: float = Field(0.0, ge=0)
    """0: the most likely reply; above: sampled."""
    stale_weight: float = Field(STALE_WEIGHT, ge=0)
    """What a stale answer costs in the reward."""
    limit: int | None = Field(None, ge=1)
    """Only the first so many episodes."""
    out: Path | None = None
    """Folder for rows.jsonl and summary.json; a rerun adds only what is missing."""
    json_file: Path | None = Field(None, alias="json")
    """File for the whole result: config, provenance, summary, rows."""
    seed: int = 0
    """Of generated episodes and of sampling."""


def main(options: EvaluationOptions) -> None:
    """Run one evaluation. Exits with 1 when some questions failed."""
    if options.json_file is not None and not options.json_file.parent.is_dir():
        raise UsageError(f"--json: folder {options.json_file.parent} does not exist; create it or choose another file")
    episodes = open_episodes(options)
    for episode in episodes:
        # An episode that the condition does not apply to is refused before a model is loaded and a folder made.
        NotesRollout(episode, options.budget, options.condition)
    config = identity(options)
    rows = evaluate(
        open_engine(options),
        episodes,
        condition=options.condition,
        budget=options.budget,
        stale_weight=options.stale_weight,
        temperature=options.temperature,
        answer_tokens=options.answer_tokens,
        seed=options.seed,
        out=options.out,
        config=config,
    )
    report = {
        "config": config,
        "provenance": provenance(),
        "summary": summarize(rows).as_dict(),
        "by_kind": {kind: summary.as_dict() for kind, summary in by_kind(rows).items()},
    }
    if options.out is not None:
        write_text(options.out / "summary.json", json.dumps(report, indent=2) + "\n")
    if options.json_file is not None:
        write_text(options.json_file, json.dumps(report | {"rows": [row.model_dump(mode="json") for row in rows]}, indent=2) + "\n")
    agent = f"{config['model']} with {options.adapter}" if options.adapter else config["model"]
    show(kind_table(rows, f"{agent} · {config['source']} · {memory(options)}"))
    finish(rows, options.out)


def memory(options: EvaluationOptions) -> str:
    """Return in words what the model has in view at the question."""
    words: dict[Condition, str] = {
        "bounded": f"notes of {options.budget} characters",
        "full": "whole history in view",
        "none": "no memory",
        "expert": "expert notes in view",
        "append": f"last {options.budget} characters of the history in view",
        "last": "last session in view",
    }
    return words[options.condition]


def open_episodes(options: EvaluationOptions) -> Sequence[Episode]:
    """Return the episodes that the options name."""
    if options.data is not None and options.split is not None:
        raise UsageError(f"--data {options.data} and --split {options.split} exclude each other; give one of them")
    if options.split is not None:
        count = options.count or DEFAULT_COUNT
        count = min(count, options.limit or count)
        return open_source(options.split, level=options.level, count=count, seed=options.seed, budget=options.budget)
    for name in ("level", "count"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} {getattr(options, name)} applies to generated splits; add --split, or use --limit with a file")
    if options.data is None or options.data.name.endswith((".json", ".json.gz")):
        return open_source("longmemeval", data_path=options.data, count=options.limit)
    if options.data.suffix == ".jsonl":
        return open_source("jsonl", data_path=options.data, count=options.limit)
    raise UsageError(f"--data {options.data}: the name must end in .json or .json.gz (LongMemEval) or .jsonl (episodes)")


def open_engine(options: EvaluationOptions) -> Local | EndpointEngine:
    """Return the endpoint or the loaded local model that the options name."""
    if options.endpoint is not None:
        if options.model is None:
            raise UsageError(f"--endpoint {options.endpoint} needs --model with the model's name there")
        if options.adapter is not None:
            raise UsageError(
                f"--adapter {options.adapter} applies to local models; serve the adapter at the endpoint and name it with --model"
            )
        try:
            return EndpointEngine(
                options.endpoint,
                options.model,
                concurrency=options.concurrency,
                timeout_s=options.timeout_s,
                attempts=options.attempts,
            )
        except ValueError as error:
            raise UsageError(f"--endpoint: {error}") from error
    from transformers.utils import logging

    from supersession.engines.local import BATCH_TOKENS, LocalEngine

    logging.disable_progress_bar()
    batch_tokens = options.batch_tokens or BATCH_TOKENS
    try:
        return LocalEngine.load(options.model or DEFAULT_MODEL, options.adapter, options.dtype, batch_tokens=batch_tokens)
    except ModelError as error:
        raise UsageError(str(error)) from error


def identity(options: EvaluationOptions) -> dict[str, Any]:
    """Return what decides a row's content; rows that differ in it do not belong in one folder."""
    names = ("condition", "budget", "dtype", "endpoint", "answer_tokens", "temperature", "stale_weight", "seed")
    if options.split is not None:
        source = f"{options.split}, level {DEFAULT_LEVEL if options.level is None else options.level}"
    elif options.data is not None:
        source = f"{options.data.name} ({_digest(options.data)})"
    else:
        source = "longmemeval"
    adapter = options.adapter
    weights = adapter / "adapter_model.safetensors" if adapter else None
    return {
        "source": source,
        "model": options.model or DEFAULT_MODEL,
        "adapter": f"{adapter} ({_digest(weights)})" if weights is not None and weights.is_file() else None,
        **{name: getattr(options, name) for name in names},
    }


def finish(rows: Sequence[Row], out: Path | None) -> None:
    """Say how it ended in one line; exit with 1 when some questions failed."""
    failed = [row for row in rows if row.error is not None]
    if failed:
        print(f"first failure: {failed[0].error}", file=sys.stderr)
        again = "the same command asks them again" if out else "with --out DIR, the same command would ask only them again"
        print(f"{len(failed)} of {len(rows)} questions failed; {again}", file=sys.stderr)
        sys.exit(1)
    print(f"{len(rows)} questions answered" + (f"; rows and summary are in {out}" if out else ""))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


if __name__ == "__main__":
    run(EvaluationOptions, main, EXAMPLE)
