"""Warm start: supervised fine-tuning on expert notes and answers, in the very segments and prompts of the rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback
from transformers.trainer import TRAINER_STATE_NAME
from trl import SFTConfig, SFTTrainer

from supersession.engines.generation import Generation, Step
from supersession.engines.local import LocalEngine
from supersession.episode import Episode, EpisodeError
from supersession.protocol import NotesRollout
from supersession.sources.generator import expert_answer
from training.batch import Row, collate, expand
from training.trainer import last_checkpoint


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


def shuffled_by_length(rows: Sequence[Row], batch_size: int, seed: int) -> list[Row]:
    """Return the rows so that each run of `batch_size` is of like length, and the runs come in random order.

    Grouping all rows by length would show the model every notes segment before the first answer.
    """
    ordered = sorted(rows, key=lambda row: row.length)
    batches = [ordered[i : i + batch_size] for i in range(0, len(ordered), batch_size)]
    # A short last batch must stay last, or every later run would straddle two lengths.
    tail = batches.pop() if batches and len(batches[-1]) < batch_size else []
    Random(seed).shuffle(batches)
    return [row for batch in batches for row in batch] + tail


class SegmentSFTTrainer(SFTTrainer):
    """`SFTTrainer` on `Row`s, collated as for GRPO, with the LM head on the completion block alone; the loss is per completion token."""

    def __init__(self, *, engine: LocalEngine, rows: Sequence[Row], args: SFTConfig, callbacks: list[Any]) -> None:
        data = [{"prompt_ids": list(row.prompt_ids), "token_ids": list(row.token_ids), "length": row.length} for row in rows]
        super().__init__(
            model=engine.model,
            args=args,
            train_dataset=Dataset.from_list(data),
            processing_class=engine.tokenizer,
            data_collator=lambda batch: collate(
                [Row(tuple(x["prompt_ids"]), tuple(x["token_ids"]), 1.0) for x in batch], engine.pad_id, "cpu"
            ),
            callbacks=callbacks,
        )
        self.remove_callback(PrinterCallback)

    def compute_loss(
        self, model: Any, inputs: dict[str, torch.Tensor], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        ids_BT = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask_BT = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        keep = inputs["completion_ids"].size(1)
        logits_BKV = model(input_ids=ids_BT, attention_mask=mask_BT, logits_to_keep=keep + 1, use_cache=False).logits[:, :-1]
        targets_BK = inputs["completion_ids"].masked_fill(inputs["tool_mask"] == 0, -100)
        return torch.nn.functional.cross_entropy(logits_BKV.flatten(0, 1).float(), targets_BK.flatten())


def warm_start(
    engine: LocalEngine,
    episodes: Iterable[Episode],
    *,
    budget: int,
    learning_rate: float,
    batch_size: int,
    save_steps: int,
    seed: int,
    out: Path,
    callbacks: list[Any],
) -> None:
    """Train the engine's LoRA adapter for one epoch on the expert's segments of `episodes`, and save it in `out`.

    A run that was stopped goes on from its newest whole checkpoint.
    """
    rows = [row for episode in episodes for row in expand(expert_steps(engine, episode, budget), 1.0)]
    rows = shuffled_by_length(rows, batch_size, seed)
    args = SFTConfig(
        output_dir=str(out / "trainer"),
        num_train_epochs=1,
        per_device_train_batch_size=batch_size,
        learning_rate=learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=5,
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        train_sampling_strategy="sequential",
        gradient_checkpointing=False,
        bf16=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        logging_steps=1,
        save_steps=save_steps,
        save_total_limit=2,
        ddp_timeout=7200,
        report_to="none",
        disable_tqdm=True,
        seed=seed,
    )
    trainer = SegmentSFTTrainer(engine=engine, rows=rows, args=args, callbacks=callbacks)
    checkpoint = last_checkpoint(out / "trainer", marker=TRAINER_STATE_NAME)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    engine.model.save_pretrained(out)
