"""GRPO over rollouts of several segments: TRL's trainer and loss, our batches.

Where it departs from TRL: one optimiser step plays whole groups, drops those without spread, and cuts the rest into micro-batches by
tokens. The loss is TRL's own "dapo" (token-normalised) with the denominator counted over the whole step and all processes, so that neither
the number of segments, nor micro-batches, nor processes changes the gradient; peak memory follows `micro_batch_tokens`, not the number of
sessions.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psutil
import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOTrainer

from supersession.cli import UsageError
from supersession.engines.local import LocalEngine
from training.batch import Row, collate, micro_batches, padding_share
from training.collect import Collected, Collector

STATE_FILE = "supersession.json"
"""Written last into a checkpoint: its presence marks the checkpoint as whole."""


class TrainingStopped(UsageError):
    """Training cannot go on; the message says what to change."""


class SegmentGRPOTrainer(GRPOTrainer):
    """`GRPOTrainer` whose every step asks a `Collector` for rows.

    `micro_batch_tokens` bounds the padded tokens of one forward and backward pass on a process; `patience` is how many steps in a row may
    find no group with spread before `TrainingStopped` is raised.
    """

    def __init__(self, *, collector: Collector, micro_batch_tokens: int, patience: int, args: Any, **kwargs: Any) -> None:
        # One dummy prompt per step and process drives the loop; `_collect` decides what is played.
        ticks = Dataset.from_dict({"prompt": ["tick"] * (args.max_steps * args.world_size)})
        super().__init__(args=args, train_dataset=ticks, reward_funcs=[_scored_by_collector], **kwargs)
        self.collector = collector
        self.collector.rank, self.collector.world = self.accelerator.process_index, self.accelerator.num_processes
        self.micro_batch_tokens = micro_batch_tokens
        self.patience = patience
        # It prints every step's metrics as a dict; they are in metrics.jsonl and on the progress line.
        self.remove_callback(PrinterCallback)
        self.barren_steps = 0
        # TRL's loss divides by it; Trainer sets it only inside its own loop, whose accumulation is not used here.
        self.current_gradient_accumulation_steps = 1

    @property
    def engine(self) -> LocalEngine:
        return self.collector.engine

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> torch.Tensor:
        """Play, backpropagate micro-batch by micro-batch, and return the step's loss; the caller steps the optimiser."""
        collected = self._collect()
        started = time.perf_counter()
        loss = self.backward(model, collected.rows)
        self._record({**collected.metrics, "seconds/update": time.perf_counter() - started})
        return loss

    def backward(self, model: Any, rows: list[Row]) -> torch.Tensor:
        """Accumulate the gradient of `rows` (this process's share of the step) and return the loss, summed over micro-batches."""
        model.train()
        device = self.accelerator.device
        batches = micro_batches(rows, self.micro_batch_tokens)
        sampled_tokens = self._gathered(sum(len(row.token_ids) for row in rows)).sum()
        passes = int(self._gathered(len(batches)).max())
        self._record({"tokens/padding_share": padding_share(batches)})
        # Every process must run as many passes as the busiest one, or their collectives would not meet.
        idle = [Row((self.engine.eos_ids[0],), (self.engine.eos_ids[0],), 0.0)]
        batches += [idle] * (passes - len(batches))
        total = torch.zeros((), device=device)
        for i, batch in enumerate(batches):
            last = i == len(batches) - 1
            no_sync = nullcontext() if last else self.accelerator.no_sync(model)
            with no_sync, gathers_unequal_rows(self.accelerator), self.compute_loss_context_manager():
                tensors = collate(batch, self.engine.pad_id, device) | {"num_items_in_batch": sampled_tokens}
                loss = self._compute_loss(model, tensors)
                self.accelerator.backward(loss)
            total += loss.detach()
        if not torch.isfinite(total):
            raise TrainingStopped(
                f"the loss of step {self.state.global_step + 1} is {total.item()}; lower --learning-rate or use --dtype float32"
            )
        return total

    def _collect(self) -> Collected:
        collected = self.collector.collect(self.state.global_step)
        gathered = collected.pass_rates
        if self.accelerator.num_processes > 1:
            from accelerate.utils import gather_object

            gathered = gather_object(collected.pass_rates)
        self.collector.scheduler.update(gathered)
        self.barren_steps = 0 if self._gathered(len(collected.rows)).sum() else self.barren_steps + 1
        if self.barren_steps >= self.patience:
            mean = sum(gathered) / len(gathered)
            raise TrainingStopped(
                f"{self.barren_steps} steps in a row had no group whose rollouts scored differently (pass rate {mean:.0%}); "
                + ("use a harder --curriculum" if mean > 0.5 else "use an easier --curriculum or a longer warm start")
                + ", a larger --group-size, or a higher --temperature"
            )
        return collected

    def _gathered(self, count: float) -> torch.Tensor:
        """Return `count` of every process, shape (processes,)."""
        counts: torch.Tensor = self.accelerator.gather(torch.tensor([count], dtype=torch.float64, device=self.accelerator.device))
        return counts

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, logits_to_keep: int, **kwargs: Any
    ) -> Any:
        """As TRL's, but on a CPU the LM head runs on the completion block alone; TRL's fused head needs Triton for that."""
        if input_ids.device.type != "cpu":
            return super()._get_per_token_logps_and_entropies(model, input_ids, attention_mask, logits_to_keep, **kwargs)
        logits_BKV = model(input_ids=input_ids, attention_mask=attention_mask, logits_to_keep=logits_to_keep + 1, use_cache=False).logits
        logps_BKV = torch.log_softmax(logits_BKV[:, :-1].float() / self.temperature, dim=-1)
        with torch.no_grad():
            entropies_BK = -(logps_BKV.exp() * logps_BKV).sum(-1)
        return logps_BKV.gather(-1, input_ids[:, -logits_to_keep:, None]).squeeze(-1), entropies_BK, None

    def _record(self, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            self._metrics["train"][name].append(value)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        self._record({"memory/rss_gib": psutil.Process().memory_info().rss / 2**30})
        if self.accelerator.device.type == "cuda":
            self._record({"memory/cuda_peak_gib": torch.cuda.max_memory_allocated() / 2**30})
        super().log(logs, start_time)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        if self.args.should_save:
            folder = Path(self._get_output_dir(trial=trial)) / f"checkpoint-{self.state.global_step}"
            state = {"scheduler": self.collector.scheduler.state_dict(), "barren_steps": self.barren_steps}
            (folder / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")

    def load_stream_state(self, checkpoint: Path) -> None:
        """Put the scheduler back where `checkpoint` left it."""
        state = json.loads((checkpoint / STATE_FILE).read_text(encoding="utf-8"))
        self.collector.scheduler.load_state_dict(state["scheduler"])
        self.barren_steps = state["barren_steps"]


def last_checkpoint(folder: Path, marker: str = STATE_FILE) -> Path | None:
    """Return the newest whole checkpoint in `folder`; one that a kill left without `marker`, its last file, is passed over."""
    whole = [path.parent for path in folder.glob(f"checkpoint-*/{marker}")]
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


@contextmanager
def gathers_unequal_rows(accelerator: Any) -> Iterator[None]:
    """Let `accelerator.gather` take tensors of unequal first dimension, padded with NaN.

    TRL's loss gathers one clip ratio per row and ignores NaN, but takes for granted that all processes have equally many rows.
    """
    plain = accelerator.gather
    accelerator.gather = lambda tensor: plain(accelerator.pad_across_processes(tensor, dim=0, pad_index=float("nan")))
    try:
        yield
    finally:
        accelerator.gather = plain


def _scored_by_collector(**_: Any) -> list[float]:
    raise RuntimeError("rollouts are scored by the collector; TRL's reward functions are not used")
