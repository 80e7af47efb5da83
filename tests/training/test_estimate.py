"""The dry run: its figures are those of the real model and of real rollouts, and it leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from curricula.files import open_curriculum
from supersession.cli import run
from supersession.engines.local import LocalEngine, load_model
from supersession.protocol import NotesRollout
from supersession.sources.curriculum import Curriculum, Stage
from training.estimate import EPISODES, PROBE, activation_bytes, cache_bytes, estimate, measure, skeleton
from training.grpo import EXAMPLE, main, with_adapter
from training.options import TrainOptions


def options(model: Path, **changes: Any) -> TrainOptions:
    return TrainOptions(**({"model": str(model), "dtype": "float32", "budget": 60, "answer_tokens": 4} | changes))


def dry_run(*words: Any) -> int:
    """Run the command and return its exit code."""
    try:
        run(TrainOptions, main, EXAMPLE, ["--dry-run", *(str(word) for word in words)])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_parameters_weights_and_adapter_are_those_of_the_real_model(tiny_model_dir: Path) -> None:
    chosen = options(tiny_model_dir)
    model, tokenizer = skeleton(chosen)
    found = estimate(chosen, open_curriculum("plain"), with_adapter(model, chosen), tokenizer)
    real = with_adapter(load_model(str(tiny_model_dir), "float32", "cpu")[0], chosen)
    assert found["parameters"]["trainable"] == sum(p.numel() for p in real.parameters() if p.requires_grad)
    assert found["parameters"]["all"] == sum(p.numel() for p in real.parameters())
    size = found["memory_bytes"]
    assert size["weights"] == sum(p.numel() * 4 for p in real.parameters() if not p.requires_grad)
    assert size["adapter"] == size["gradients"] == size["optimiser"] / 2 == found["parameters"]["trainable"] * 4
    assert all(tensor.device.type == "meta" for tensor in model.parameters())


def test_activations_are_what_autograd_keeps_of_the_real_model(tiny_model_dir: Path) -> None:
    """On the CPU the same probe may keep less or more for attention, whose kernel is another there; a quarter is allowed for it."""
    chosen = options(tiny_model_dir)
    real = with_adapter(load_model(str(tiny_model_dir), "float32", "cpu")[0], chosen)
    weights = {p.untyped_storage()._cdata for p in real.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights:
            kept[storage._cdata] = storage
        return tensor

    ids = torch.zeros((1, PROBE), dtype=torch.long)
    real.train()
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        logits = real(input_ids=ids, logits_to_keep=27, use_cache=False).logits[:, :-1]
        logps = torch.log_softmax(logits.float(), -1).gather(-1, ids[:, -26:, None])
    held = sum(storage.nbytes() for storage in kept.values()) / PROBE
    assert logps.shape == (1, 26, 1)
    assert activation_bytes(with_adapter(skeleton(chosen)[0], chosen), 0.1) == pytest.approx(held, rel=0.25)


def test_the_cache_has_the_bytes_of_a_real_one(tiny_model_dir: Path) -> None:
    model, _ = load_model(str(tiny_model_dir), "float32", "cpu")
    with torch.no_grad():
        cache = model(input_ids=torch.zeros((1, 10), dtype=torch.long), use_cache=True).past_key_values
    held = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert 10 * cache_bytes(model.config, torch.float32) == held


def test_a_load_counts_the_segments_and_tokens_of_real_rollouts(tiny_model_dir: Path) -> None:
    chosen = options(tiny_model_dir)
    engine = LocalEngine(*skeleton(chosen))
    curriculum = open_curriculum("plain")
    episodes = [curriculum.episode(0, "train", 0, index, 60) for index in range(EPISODES)]
    load = measure(engine, "plain", episodes, 60, 4)
    prompts, segments = 0, 0
    for episode in episodes:
        rollout = NotesRollout(episode, 60)
        while not rollout.done:
            segment = rollout.prompt()
            prompts += len(engine.encode(segment.messages))
            rollout.step(episode.expert_notes[segment.index] if segment.kind == "write" else "")
            segments += 1
    assert load.segments == segments / EPISODES
    assert load.prompt_tokens == prompts / EPISODES
    assert load.sampled_at_most == pytest.approx((load.segments - 1) * (60 // 3 + 16) + 4)


def test_totals_follow_steps_and_the_last_stage_is_counted_too(tiny_model_dir: Path) -> None:
    stages = (Stage(name="easy", levels={0: 1.0}), Stage(name="middle", levels={1: 1.0}), Stage(name="hard", levels={3: 1.0}))
    curriculum = Curriculum(stages=stages)
    chosen = options(tiny_model_dir, steps=10, budget=300, warm_start_episodes=0, eval_count=5)
    model, tokenizer = skeleton(chosen)
    found = estimate(chosen, curriculum, with_adapter(model, chosen), tokenizer)
    assert [step["stage"] for step in found["step"]] == ["easy", "hard"]
    assert found["step"][1]["prompt_tokens"] > found["step"][0]["prompt_tokens"]
    assert found["total_tokens"]["grpo"] == [10 * (step["prompt_tokens"] + step["sampled_tokens"]) for step in found["step"]]
    assert found["total_tokens"]["warm_start"] == 0
    tested = found["evaluation"]
    assert found["total_tokens"]["evaluation"] == round(2 * 5 * (tested["prompt_tokens"] + tested["sampled_tokens"]))


def test_the_command_prints_options_and_estimate_and_leaves_only_the_json(
    tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, out = tmp_path / "estimate.json", tmp_path / "run"
    # The folder that it reads holds no weights, so none can have been loaded.
    bare = tmp_path / "bare"
    bare.mkdir()
    for path in tiny_model_dir.iterdir():
        if path.suffix != ".safetensors":
            (bare / path.name).write_bytes(path.read_bytes())
    words = ["--model", bare, "--out", out, "--budget", 60, "--refills", 1, "--lora-rank", 4, "--json", report]
    assert dry_run(*words) == 0
    shown = capsys.readouterr().out
    for part in (
        "lora_rank                 4",
        "stage 'plain': 18 rollouts (at most 36 with refills)",
        "trainable parameters",
        "activations",
        "peak",
    ):
        assert part in shown
    written = json.loads(report.read_text())
    assert written["config"]["lora_rank"] == 4
    assert written["step"][0]["rollouts"] == 18
    assert not out.exists()


@pytest.mark.filterwarnings("ignore:.*copying from a non-meta parameter")
def test_an_adapter_to_start_from_is_counted_by_its_own_rank(tiny_model_dir: Path, tmp_path: Path) -> None:
    fresh = options(tiny_model_dir, lora_rank=2)
    real = with_adapter(load_model(str(tiny_model_dir), "float32", "cpu")[0], fresh)
    real.save_pretrained(tmp_path / "adapter")
    started = options(tiny_model_dir, adapter=tmp_path / "adapter")
    model = with_adapter(skeleton(started)[0], started)
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == sum(p.numel() for p in real.parameters() if p.requires_grad)


def test_a_context_that_is_too_short_is_said(tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = tmp_path / "short"
    short.mkdir()
    for path in tiny_model_dir.iterdir():
        (short / path.name).write_bytes(path.read_bytes())
    config = json.loads((short / "config.json").read_text())
    (short / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 100}))
    assert dry_run("--model", short, "--budget", 60) == 0
    assert "the model's context has 100: TOO LONG" in capsys.readouterr().out


def test_an_unknown_model_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dry_run("--model", "no/such/model", "--out", tmp_path / "run") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: the config and tokenizer of model 'no/such/model' cannot be had: ")
    assert error.count("\n") == 1
