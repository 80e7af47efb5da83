"""From scored rollouts to optimiser rows: advantages, expansion into segments, micro-batches. Pure functions, no trainer.

A rollout is ONE sample of the algorithm and SEVERAL rows of the optimiser, one per segment. Its advantage is settled before it is cut
into rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from supersession.engines.generation import Step


@dataclass(frozen=True)
class Row:
    """One segment for the optimiser: the prompt, the sampled tokens, and the advantage of the rollout that they belong to."""

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    advantage: float

    @property
    def length(self) -> int:
        return len(self.prompt_ids) + len(self.token_ids)


def advantages(rewards: Sequence[float]) -> list[float]:
    """Return reward minus the group's mean for each rollout of a group, not divided by the deviation (Dr. GRPO, arXiv:2503.20783)."""
    mean = statistics.fmean(rewards)
    return [reward - mean for reward in rewards]


def has_spread(rewards: Sequence[float]) -> bool:
    """Return whether a group carries any signal: equal rewards give zero advantages."""
    return max(rewards) - min(rewards) > 1e-9


def expand(steps: Sequence[Step], advantage: float) -> list[Row]:
    """Return one row per segment of a rollout, all with the rollout's advantage; segments without a sampled token give none."""
    return [Row(s.generation.prompt_ids, s.generation.token_ids, advantage) for s in steps if s.generation.token_ids]


def micro_batches(rows: Sequence[Row], max_tokens: int) -> list[list[Row]]:
    """Cut rows into micro-batches of like length whose padded size stays within `max_tokens`; a longer row stands alone."""
    batches: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: row.length):
        if batches and row.length * (len(batches[-1]) + 1) <= max_tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def padding_share(batches: Sequence[Sequence[Row]]) -> float:
    """Return the share of padding among all tokens of the micro-batches, in [0, 1)."""
    padded = sum(max(row.length for row in batch) * len(batch) for batch in batches)
    return 1 - sum(row.length for batch in batches for row in batch) / padded if padded else 0.0


def collate(batch: Sequence[Row], pad_id: int, device: torch.device | str) -> dict[str, torch.Tensor]:
    """Return the tensors that TRL's GRPO loss takes, shapes (B, T - K) for prompts, (B, K) for completions, (B,) for advantages.

    Rows end flush right, so padding is only the difference in total length. K is the longest completion of the batch; where a row's
    completion is shorter, the last tokens of its prompt stand in the completion block, attended to but kept out of the loss by
    `tool_mask`.
    """
    width, keep = max(row.length for row in batch), max(len(row.token_ids) for row in batch)
    ids_BT = torch.full((len(batch), width), pad_id, dtype=torch.long)
    attended_BT = torch.zeros((len(batch), width), dtype=torch.long)
    sampled_BT = torch.zeros((len(batch), width), dtype=torch.long)
    for i, row in enumerate(batch):
        ids_BT[i, width - row.length :] = torch.tensor(row.prompt_ids + row.token_ids)
        attended_BT[i, width - row.length :] = 1
        sampled_BT[i, width - len(row.token_ids) :] = 1
    split = width - keep
    tensors = {
        "prompt_ids": ids_BT[:, :split],
        "prompt_mask": attended_BT[:, :split],
        "completion_ids": ids_BT[:, split:],
        "completion_mask": attended_BT[:, split:],
        "tool_mask": sampled_BT[:, split:],
        "advantages": torch.tensor([row.advantage for row in batch], dtype=torch.float32),
    }
    return {name: tensor.to(device) for name, tensor in tensors.items()}
