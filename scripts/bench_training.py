"""What a training step costs beside the bare model calls that it cannot avoid, measured in one run.

Rollouts are set against `generate`, updates against forward and backward, on the same shapes.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from rich.console import Console
from rich.table import Table
from trl import GRPOConfig

from curricula.files import open_curriculum
from supersession.cli import Options, provenance, run, write_text
from supersession.engines.generation import token_limit
from supersession.engines.local import LocalEngine, load_model, merged_adapter
from supersession.engines.models import DEFAULT_MODEL
from supersession.episode import Episode, Session
from supersession.protocol import NotesRollout
from supersession.sources import open_source
from training.batch import Row, collate, expand, micro_batches, padding_share
from training.collect import Collector
from training.curriculum import Scheduler
from training.grpo import with_adapter
from training.options import TrainOptions
from training.trainer import SegmentGRPOTrainer


class BenchOptions(Options):
    """Measure a training step against the bare model calls on the same shapes, and its peak memory against the number of sessions."""

    model: str = DEFAULT_MODEL
    """An alias, a hub id, or a local folder."""
    level: int = Field(1, ge=0)
    """Generator level of the episodes."""
    episodes: int = Field(4, ge=1)
    """Groups played."""
    group_size: int = Field(8, ge=2)
    """Rollouts of each."""
    budget: int = Field(160, ge=1)
    """Characters of notes."""
    micro_batch_tokens: int = Field(1024, ge=1)
    """Padded tokens of one forward and backward pass."""
    sessions: list[int] = Field([3, 6, 12], min_length=1)
    """Numbers of sessions at which peak memory is measured."""
    seed: int = 0
    """Of episodes and sampling."""
    json_file: Path | None = Field(None, alias="json")
    """Also write the result to this file."""


def main(options: BenchOptions) -> None:
    console = Console()
    speed = measure_speed(options)
    memory = measure_memory(options)
    table = Table(
        title=f"{options.model}, {options.episodes} groups of {options.group_size}, level {options.level}, budget {options.budget}"
    )
    for column in ("part", "ours", "bare", "ours / bare"):
        table.add_column(column, justify="left" if column == "part" else "right")
    for part in ("rollouts", "update"):
        ours, bare = speed[part]["ours_tokens_per_second"], speed[part]["bare_tokens_per_second"]
        table.add_row(f"{part}, tokens/s", f"{ours:.0f}", f"{bare:.0f}", f"{bare / ours:.2f}x time")
    table.add_row("padding share of the update", f"{speed['padding_share']:.1%}", "", "")
    for count, peak in memory.items():
        table.add_row(f"peak memory, {count} sessions", f"{peak:.2f} GiB", "", f"{peak / memory[str(options.sessions[0])]:.2f}x")
    console.print(table)
    if options.json_file is not None:
        result = {"config": options.model_dump(mode="json"), "provenance": provenance(), "speed": speed, "peak_memory_gib": memory}
        write_text(options.json_file, json.dumps(result, indent=2) + "\n")


def measure_speed(options: BenchOptions) -> dict[str, Any]:
    """Return tokens per second of rollouts (sampled) and of the update (of the rows), ours and bare, and the padding share."""
    trainer = make_trainer(options)
    engine = trainer.engine
    episodes = open_source("train", level=options.level, count=options.episodes, seed=options.seed, budget=options.budget)
    rollouts = [NotesRollout(episode, options.budget) for episode in episodes for _ in range(options.group_size)]
    started = time.perf_counter()
    lives = engine.play(rollouts, temperature=1.0, seed=options.seed)
    ours = time.perf_counter() - started
    sampled = sum(step.generation.completion_tokens for life in lives for step in life)
    rows = [row for i, life in enumerate(lives) for row in expand(life, 1.0 if i % 2 else -1.0)]
    bare = time_bare_generate(engine, lives, options)
    trainer.backward(trainer.model, rows[:4])
    started = time.perf_counter()
    trainer.backward(trainer.model, rows)
    update = time.perf_counter() - started
    tokens = sum(row.length for row in rows)
    return {
        "rollouts": {"ours_tokens_per_second": sampled / ours, "bare_tokens_per_second": sampled / bare},
        "update": {"ours_tokens_per_second": tokens / update, "bare_tokens_per_second": tokens / time_bare_update(trainer, rows, options)},
        "padding_share": padding_share(micro_batches(rows, options.micro_batch_tokens)),
    }


def time_bare_generate(engine: LocalEngine, lives: list[Any], options: BenchOptions) -> float:
    """Return the seconds that plain left-padded `generate` calls take for the same prompts, to the longest reply of each turn."""
    seconds = 0.0
    with torch.no_grad(), merged_adapter(engine.model):
        engine.model.eval()
        for turn in range(max(len(life) for life in lives)):
            steps = [life[turn] for life in lives if turn < len(life)]
            width = max(step.generation.prompt_tokens for step in steps)
            ids = torch.tensor([[engine.pad_id] * (width - len(s.generation.prompt_ids)) + list(s.generation.prompt_ids) for s in steps])
            mask = torch.tensor([[0] * (width - s.generation.prompt_tokens) + [1] * s.generation.prompt_tokens for s in steps])
            longest = max(min(step.generation.completion_tokens, token_limit(step.segment, options.budget)) for step in steps)
            started = time.perf_counter()
            engine.model.generate(
                input_ids=ids.to(engine.model.device),
                attention_mask=mask.to(engine.model.device),
                min_new_tokens=longest,
                max_new_tokens=longest,
                do_sample=True,
                top_k=0,
                pad_token_id=engine.pad_id,
            )
            seconds += time.perf_counter() - started
    return seconds


def time_bare_update(trainer: SegmentGRPOTrainer, rows: list[Row], options: BenchOptions) -> float:
    """Return the seconds of the model's own loss, forward and backward, on the same micro-batches."""
    batches = [
        collate(batch, trainer.engine.pad_id, trainer.accelerator.device) for batch in micro_batches(rows, options.micro_batch_tokens)
    ]
    trainer.model.train()
    started = time.perf_counter()
    for batch in batches:
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
        trainer.model(input_ids=ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100), use_cache=False).loss.backward()
    return time.perf_counter() - started


def measure_memory(options: BenchOptions) -> dict[str, float]:
    """Return the peak resident memory (GiB; of the GPU where there is one) of playing and updating, per number of sessions."""
    context = multiprocessing.get_context("spawn")
    peaks = {}
    for count in options.sessions:
        queue: Any = context.Queue()
        process = context.Process(target=_peak, args=(options.model_dump(by_alias=True), count, queue))
        process.start()
        peaks[str(count)] = float(queue.get())
        process.join()
    return peaks


def _peak(options: dict[str, Any], sessions: int, queue: Any) -> None:
    parsed = BenchOptions(**options)
    trainer = make_trainer(parsed)
    episodes = open_source("train", level=parsed.level, count=parsed.episodes, seed=parsed.seed, budget=parsed.budget)
    rollouts = [NotesRollout(stretch(episode, sessions), parsed.budget) for episode in episodes for _ in range(parsed.group_size)]
    lives = trainer.engine.play(rollouts, temperature=1.0, seed=parsed.seed)
    rows = [row for i, life in enumerate(lives) for row in expand(life, 1.0 if i % 2 else -1.0)]
    trainer.backward(trainer.model, rows)
    if torch.cuda.is_available():
        queue.put(torch.cuda.max_memory_allocated() / 2**30)
    else:
        queue.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def stretch(episode: Episode, sessions: int) -> Episode:
    """Return the episode with its sessions repeated up to the wanted number: the same shapes, more segments."""
    repeated: tuple[Session, ...] = tuple(episode.sessions[i % len(episode.sessions)] for i in range(sessions))
    return episode.model_copy(update={"sessions": repeated, "timeline": (), "expert_notes": ()})


def make_trainer(options: BenchOptions) -> SegmentGRPOTrainer:
    """Return a trainer around a fresh adapter, as a training run makes it."""
    train = TrainOptions(model=options.model, budget=options.budget, seed=options.seed)
    model, tokenizer = load_model(options.model)
    engine = LocalEngine(with_adapter(model, train), tokenizer)
    collector = Collector(
        engine,
        Scheduler(open_curriculum(f"level-{options.level}"), options.seed, options.budget),
        groups=options.episodes,
        group_size=options.group_size,
        budget=options.budget,
        stale_weight=train.stale_weight,
        temperature=1.0,
        answer_tokens=train.answer_tokens,
        refills=0,
        seed=options.seed,
    )
    args = GRPOConfig(
        output_dir="runs/bench",
        max_steps=1,
        num_generations=options.group_size,
        per_device_train_batch_size=options.group_size,
        loss_type="dapo",
        scale_rewards="none",
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
    )
    return SegmentGRPOTrainer(
        collector=collector,
        micro_batch_tokens=options.micro_batch_tokens,
        patience=1,
        model=engine.model,
        processing_class=engine.tokenizer,
        args=args,
    )


if __name__ == "__main__":
    run(BenchOptions, main, "python scripts/bench_training.py --json bench.json")
