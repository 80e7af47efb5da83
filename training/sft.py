"""Warm start: supervised fine-tuning on expert notes and answers, in the very segments and prompts of the rollouts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from supersession.engines.generation import Generation, Step
from supersession.engines.local import LocalEngine
from supersession.episode import Episode, EpisodeError
from supersession.protocol import NotesRollout
from supersession.sources.generator import expert_answer


def expert_steps(engine: LocalEngine, episode: Episode, budget: int) -> list[Step]:
    """Return the segments that the expert lives in `episode`, each with its reply as token ids that end in the end-of-turn token.

    Raises `EpisodeError` if the episode has no expert notes, or if they exceed the budget.
    """
    if not episode.expert_notes:
        raise EpisodeError(f"episode {episode.id!r} has no expert notes; a warm start needs generated episodes")
    rollout = NotesRollout(episode, budget)
    steps = []
    while not rollout.done:
        segment = rollout.prompt()
        text = episode.expert_notes[segment.index] if segment.kind == "write" else expert_answer(episode.questions[segment.index])
        prompt = engine.encode(segment.messages)
        reply = [*engine.tokenizer(text, add_special_tokens=False)["input_ids"], engine.eos_ids[0]]
        steps.append(Step(segment, Generation(text, len(prompt), len(reply), False, tuple(prompt), tuple(reply))))
        rollout.step(text)
    if any(rollout.overflow):
        raise EpisodeError(f"the expert notes of episode {episode.id!r} exceed the budget of {budget} characters; raise the budget")
    return steps


def warm_start(
    engine: LocalEngine,
    episodes: Iterable[Episode],
    *,
    budget: int,
    learning_rate: float,
    batch_size: int,
    seed: int,
    out: Path,
    callbacks: list[Any],
) -> None:
    """Train the engine's LoRA adapter for one epoch on the expert's segments of `episodes`, and save it in `out`."""
    rows = []
    for episode in episodes:
        for step in expert_steps(engine, episode, budget):
            prompt, reply = list(step.generation.prompt_ids), list(step.generation.token_ids)
            rows.append({"input_ids": prompt + reply, "completion_mask": [0] * len(prompt) + [1] * len(reply)})
    args = SFTConfig(
        output_dir=str(out / "trainer"),
        num_train_epochs=1,
        per_device_train_batch_size=batch_size,
        learning_rate=learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=5,
        max_length=None,
        completion_only_loss=True,
        train_sampling_strategy="group_by_length",
        gradient_checkpointing=False,
        bf16=False,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=seed,
    )
    trainer = SFTTrainer(
        model=engine.model, args=args, train_dataset=Dataset.from_list(rows), processing_class=engine.tokenizer, callbacks=callbacks
    )
    trainer.train()
    engine.model.save_pretrained(out)
