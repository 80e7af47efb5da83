"""The warm start: the expert's segments are the rollouts' segments, and the loss is the plain one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from supersession.engines.local import LocalEngine
from supersession.episode import EpisodeError
from supersession.protocol import NotesRollout
from supersession.scoring import score
from supersession.sources import open_source
from tests.conftest import make_episode
from training.batch import Row, collate
from training.sft import SegmentSFTTrainer, expert_steps, shuffled_by_length


@pytest.fixture(scope="module")
def engine(tiny_model_dir: Path) -> LocalEngine:
    return LocalEngine.load(str(tiny_model_dir))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_expert_lives_the_rollouts_segments_and_earns_the_full_reward(engine: LocalEngine, level: int) -> None:
    for episode in open_source("train", level=level, count=20, seed=3, budget=160):
        steps = expert_steps(engine, episode, budget=160)
        rollout = NotesRollout(episode, budget=160)
        for step in steps:
            assert step.segment == rollout.prompt()
            assert step.generation.prompt_ids == tuple(engine.encode(step.segment.messages))
            assert engine.tokenizer.decode(step.generation.token_ids[:-1]) == step.generation.text
            assert step.generation.token_ids[-1] in engine.eos_ids
            rollout.step(step.generation.text)
        assert score(rollout).reward == 1.0, episode.id


def test_an_expert_beyond_the_budget_or_absent_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(EpisodeError, match="exceed the budget of 5 characters"):
        expert_steps(engine, make_episode(), budget=5)
    with pytest.raises(EpisodeError, match="has no expert notes"):
        expert_steps(engine, make_episode().model_copy(update={"expert_notes": ()}), budget=60)


def test_rows_are_grouped_by_length_and_the_groups_shuffled() -> None:
    rows = [Row((1,) * n, (2,), 1.0) for n in range(1, 42)]
    order = shuffled_by_length(rows, batch_size=8, seed=0)
    assert sorted(row.length for row in order) == [row.length for row in rows]
    groups = [[row.length for row in order[i : i + 8]] for i in range(0, 40, 8)]
    assert all(max(group) - min(group) == 7 for group in groups)
    assert groups != sorted(groups)


def test_the_loss_is_the_mean_over_completion_tokens(engine: LocalEngine) -> None:
    rows = [Row((5, 6, 7), (8, 9), 1.0), Row((5,), (10, 11, 12), 1.0)]
    trainer = SegmentSFTTrainer.__new__(SegmentSFTTrainer)
    loss = trainer.compute_loss(engine.model, collate(rows, engine.pad_id, "cpu"))
    nll, tokens = 0.0, 0
    for row in rows:
        ids = torch.tensor([row.prompt_ids + row.token_ids])
        with torch.no_grad():
            logps = torch.log_softmax(engine.model(input_ids=ids).logits[0, :-1], -1)
        nll -= float(logps[torch.arange(ids.size(1) - 1), ids[0, 1:]][-len(row.token_ids) :].sum())
        tokens += len(row.token_ids)
    assert float(loss.detach()) == pytest.approx(nll / tokens, rel=1e-4)
