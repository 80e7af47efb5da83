"""The rules that a rollout of several segments puts on GRPO, each on a tiny Llama."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from trl import GRPOConfig

from supersession.engines.generation import PromptTooLong
from supersession.engines.local import LocalEngine
from tests.training.conftest import make_collector, make_engine
from training.batch import Row
from training.trainer import SegmentGRPOTrainer, TrainingStopped, last_checkpoint

ROWS = [
    Row(tuple(range(3, 3 + n)), tuple(range(40 + n, 40 + n + m)), advantage)
    for n, m, advantage in [(12, 5, 0.75), (30, 2, 0.75), (7, 9, -0.25), (22, 1, -0.25), (15, 4, -0.5)]
]


def make_trainer(
    engine: LocalEngine, out: Path, steps: int = 2, micro_batch_tokens: int = 512, patience: int = 2, **collector: Any
) -> SegmentGRPOTrainer:
    args = GRPOConfig(
        output_dir=str(out),
        max_steps=steps,
        num_generations=4,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=1,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        loss_type="dapo",
        scale_rewards="none",
        beta=0.0,
        logging_steps=1,
        save_steps=1,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
    )
    return SegmentGRPOTrainer(
        collector=make_collector(engine, **collector),
        micro_batch_tokens=micro_batch_tokens,
        patience=patience,
        model=engine.model,
        processing_class=engine.tokenizer,
        args=args,
    )


def gradient(folder: Path, out: Path, rows: list[Row], micro_batch_tokens: int = 512) -> tuple[float, torch.Tensor]:
    """The loss of `rows` and its gradient in the adapter, flattened."""
    trainer = make_trainer(make_engine(folder), out, micro_batch_tokens=micro_batch_tokens)
    loss = trainer.backward(trainer.model, rows)
    parts = [p.grad.flatten() for _, p in sorted(trainer.model.named_parameters()) if p.grad is not None]
    return float(loss), torch.cat(parts)


@pytest.fixture(scope="module")
def whole(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[float, torch.Tensor]:
    return gradient(tiny_model_dir, tmp_path_factory.mktemp("whole"), ROWS)


def test_loss_and_gradient_equal_a_plain_reference(tiny_model_dir: Path, whole: tuple[float, torch.Tensor]) -> None:
    """Row by row, unpadded: the sum of -advantage * log p over sampled tokens, divided by the step's sampled tokens."""
    model = make_engine(tiny_model_dir).model
    total = sum(len(row.token_ids) for row in ROWS)
    loss = torch.zeros(())
    for row in ROWS:
        ids = torch.tensor([row.prompt_ids + row.token_ids])
        logps = torch.log_softmax(model(input_ids=ids).logits[0, :-1].float(), -1)
        sampled = logps[torch.arange(ids.size(1) - 1), ids[0, 1:]][-len(row.token_ids) :]
        # The ratio of new to old probability is 1 in value and carries the gradient.
        loss = loss - row.advantage * (sampled - sampled.detach()).exp().sum() / total
    loss.backward()
    expected = torch.cat([p.grad.flatten() for _, p in sorted(model.named_parameters()) if p.grad is not None])
    assert whole[0] == pytest.approx(float(loss.detach()), abs=1e-6)
    assert float(expected.norm()) > 1e-4
    torch.testing.assert_close(whole[1], expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("micro_batch_tokens", [1, 40, 64])
def test_moving_rows_between_micro_batches_leaves_the_gradient(
    tiny_model_dir: Path, tmp_path: Path, whole: tuple[float, torch.Tensor], micro_batch_tokens: int
) -> None:
    loss, grad = gradient(tiny_model_dir, tmp_path, ROWS, micro_batch_tokens)
    assert loss == pytest.approx(whole[0], abs=1e-6)
    torch.testing.assert_close(grad, whole[1], rtol=1e-4, atol=1e-7)


def test_cutting_a_rollout_into_more_rows_leaves_the_gradient(
    tiny_model_dir: Path, tmp_path: Path, whole: tuple[float, torch.Tensor]
) -> None:
    cut: list[Row] = []
    for row in ROWS:
        for k in range(len(row.token_ids)):
            cut.append(Row(row.prompt_ids + row.token_ids[:k], row.token_ids[k : k + 1], row.advantage))
    loss, grad = gradient(tiny_model_dir, tmp_path, cut)
    assert loss == pytest.approx(whole[0], abs=1e-6)
    torch.testing.assert_close(grad, whole[1], rtol=1e-4, atol=1e-7)


def test_spreading_rows_over_processes_leaves_the_gradient(tiny_model_dir: Path, tmp_path: Path, whole: tuple[float, torch.Tensor]) -> None:
    """Two gloo processes with unequal shares of the rows; the busier one needs three passes, the other one."""
    script = Path(__file__).with_name("two_processes.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", str(script), str(tiny_model_dir)]
    done = subprocess.run(
        [*command, str(tmp_path)],
        env={**os.environ, "ACCELERATE_USE_CPU": "true"},
        capture_output=True,
        text=True,
        timeout=240,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for rank in range(2):
        torch.testing.assert_close(torch.load(tmp_path / f"grad-{rank}.pt"), whole[1], rtol=1e-4, atol=1e-7)


def test_groups_without_spread_are_dropped_and_refilled(digit_model_dir: Path) -> None:
    collected = make_collector(make_engine(digit_model_dir), groups=3, refills=8).collect(step=0)
    metrics = collected.metrics
    assert metrics["groups/played"] > 3
    assert metrics["groups/kept"] == 3
    assert metrics["groups/dead_share"] == pytest.approx(1 - 3 / metrics["groups/played"])
    assert metrics["tokens/trained"] == sum(len(row.token_ids) for row in collected.rows)
    assert all(row.advantage != 0 for row in collected.rows)


def test_barren_steps_stop_the_run_with_a_remedy(tiny_model_dir: Path, tmp_path: Path) -> None:
    trainer = make_trainer(make_engine(tiny_model_dir), tmp_path, steps=5, groups=1, group_size=2, refills=0)
    with pytest.raises(TrainingStopped, match=r"2 steps in a row .* \(pass rate 0%\); use an easier --curriculum"):
        trainer.train()


def test_a_step_makes_the_better_rollouts_likelier(tiny_model_dir: Path, tmp_path: Path) -> None:
    trainer = make_trainer(make_engine(tiny_model_dir), tmp_path)

    def weighted_logps() -> float:
        total = 0.0
        with torch.no_grad():
            for row in ROWS:
                ids = torch.tensor([row.prompt_ids + row.token_ids])
                logps = torch.log_softmax(trainer.model(input_ids=ids).logits[0, :-1].float(), -1)
                total += row.advantage * float(logps[torch.arange(ids.size(1) - 1), ids[0, 1:]][-len(row.token_ids) :].sum())
        return total

    before = weighted_logps()
    trainer.backward(trainer.model, ROWS)
    torch.optim.SGD(trainer.model.parameters(), lr=1.0).step()
    assert weighted_logps() > before + 1e-3


def test_a_killed_run_resumes_with_the_same_numbers(digit_model_dir: Path, tmp_path: Path) -> None:
    def history(trainer: SegmentGRPOTrainer) -> list[dict[str, float]]:
        timed = ("seconds", "memory", "step_time", "runtime", "per_second", "flos", "train_loss")
        rows = [row for row in trainer.state.log_history if "loss" in row]
        return [{name: value for name, value in row.items() if not any(word in name for word in timed)} for row in rows]

    straight = make_trainer(make_engine(digit_model_dir), tmp_path / "straight", steps=4)
    straight.train()
    interrupted = make_trainer(make_engine(digit_model_dir), tmp_path / "resumed", steps=4)
    interrupted.args.max_steps = 2
    interrupted.train()
    torn = tmp_path / "resumed" / "checkpoint-3"
    torn.mkdir()
    (torn / "trainer_state.json").write_text("{")
    checkpoint = last_checkpoint(tmp_path / "resumed")
    assert checkpoint is not None
    assert checkpoint.name == "checkpoint-2"
    resumed = make_trainer(make_engine(digit_model_dir), tmp_path / "resumed", steps=4)
    resumed.load_stream_state(checkpoint)
    resumed.train(resume_from_checkpoint=str(checkpoint))
    assert history(resumed) == history(straight)
    for (name, one), (_, other) in zip(straight.model.named_parameters(), resumed.model.named_parameters(), strict=True):
        assert torch.equal(one, other), name
    assert json.loads((checkpoint / "supersession.json").read_text())["scheduler"]["recent"]


def test_a_prompt_beyond_the_context_stops_before_anything_is_cut(digit_model_dir: Path) -> None:
    engine = make_engine(digit_model_dir)
    engine.model.config.max_position_embeddings = 100
    with pytest.raises(PromptTooLong, match="episode 'digit-0', session 1"):
        make_collector(engine).collect(step=0)
