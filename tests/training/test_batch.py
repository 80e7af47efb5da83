"""Advantages, rows and micro-batches: pure functions."""

import pytest
import torch

from supersession.engines.generation import Generation, Step
from supersession.protocol import Segment
from training.batch import Row, advantages, collate, expand, has_spread, micro_batches, padding_share


def step(prompt: list[int], reply: list[int]) -> Step:
    return Step(Segment("write", 0, []), Generation("", len(prompt), len(reply), False, tuple(prompt), tuple(reply)))


def test_advantage_is_reward_minus_the_mean_of_its_group() -> None:
    assert advantages([1.0, 0.0, 0.0, -0.5]) == pytest.approx([0.875, -0.125, -0.125, -0.625])


def test_equal_rewards_have_no_spread() -> None:
    assert not has_spread([0.1 + 0.2, 0.3, 0.3])
    assert has_spread([0.0, -0.5])


def test_every_segment_of_a_rollout_has_its_advantage_and_empty_replies_no_row() -> None:
    rows = expand([step([1, 2], [3]), step([4], []), step([5], [6, 7])], 0.25)
    assert rows == [Row((1, 2), (3,), 0.25), Row((5,), (6, 7), 0.25)]


def test_micro_batches_keep_every_row_within_the_token_budget() -> None:
    rows = [Row((1,) * n, (2,), 0.0) for n in (9, 3, 30, 4, 5, 9, 2)]
    batches = micro_batches(rows, max_tokens=20)
    assert sorted(row.length for batch in batches for row in batch) == sorted(row.length for row in rows)
    assert all(len(batch) * max(row.length for row in batch) <= 20 or len(batch) == 1 for batch in batches)


@pytest.mark.parametrize("sessions", [3, 6, 12])
def test_the_largest_micro_batch_does_not_grow_with_the_number_of_sessions(sessions: int) -> None:
    rows = [Row((1,) * (100 + 7 * i % 40), (2,) * 20, 0.0) for i in range(32 * (sessions + 1))]
    assert 1800 < max(len(batch) * max(row.length for row in batch) for batch in micro_batches(rows, 2048)) <= 2048


def test_padding_share_counts_padding_among_all_tokens() -> None:
    assert padding_share([[Row((1,) * 3, (2,), 0.0), Row((1,), (2,), 0.0)]]) == pytest.approx(0.25)
    assert padding_share([]) == 0.0


def test_collate_ends_rows_flush_right_and_marks_the_sampled_tokens() -> None:
    tensors = collate([Row((11, 12, 13), (14,), 0.5), Row((21,), (22, 23), -0.5)], pad_id=0, device="cpu")
    ids = torch.cat([tensors["prompt_ids"], tensors["completion_ids"]], dim=1)
    assert ids.tolist() == [[11, 12, 13, 14], [0, 21, 22, 23]]
    assert torch.cat([tensors["prompt_mask"], tensors["completion_mask"]], dim=1).tolist() == [[1, 1, 1, 1], [0, 1, 1, 1]]
    assert tensors["tool_mask"].tolist() == [[0, 1], [1, 1]]
    assert tensors["advantages"].tolist() == [0.5, -0.5]
