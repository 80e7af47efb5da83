"""What a run will cost, before it starts: tokens, parameters and memory, from a model without weights and a handful of real episodes.

The model is built on the meta device, which has shapes and no data. Its activations are what autograd keeps of a probe of one row that
runs through it there, times the tokens of a micro-batch. Attention matrices are left out, as fused attention keeps none. Temporary
buffers, the allocator's slack and the libraries come on top: the default run's process peaks at 4.5 GiB on a CPU where this says 1.9.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from peft.tuners.tuners_utils import BaseTunerLayer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from supersession.cli import provenance, write_text
from supersession.engines.generation import token_limit
from supersession.engines.local import BATCH_TOKENS, LocalEngine
from supersession.engines.models import EMBEDDED, ModelError, resolve_model
from supersession.episode import Episode
from supersession.sources import open_source
from supersession.sources.curriculum import Curriculum
from training.options import TrainOptions
from training.sft import expert_steps

EPISODES = 8
"""Measured per stage."""

PROBE = 251
"""Tokens of the row that activations are measured on; a prime, so that no dimension of a model equals it."""


@dataclass(frozen=True)
class Load:
    """The size of one rollout, as means over a handful of episodes, in segments and tokens; replies are the expert's."""

    name: str
    segments: float
    prompt_tokens: float
    sampled_tokens: float
    sampled_at_most: float
    """If every reply ran into its limit."""
    longest: int
    """Prompt and reply limit of the longest segment."""


@dataclass(frozen=True)
class Memory:
    """Bytes on each process. `merged` and `cache` are held while it generates, `gradients` and `activations` while it updates."""

    weights: int
    adapter: int
    optimiser: int
    merged: int
    cache: int
    gradients: int
    activations: int

    @property
    def peak(self) -> int:
        kept = self.weights + self.adapter + self.optimiser
        return kept + max(self.merged + self.cache, self.gradients + self.activations)


def skeleton(options: TrainOptions) -> tuple[Any, Any]:
    """Return the model on the meta device, and its tokenizer; of a hub id only these files are fetched. Raises `ModelError`."""
    local = options.model in EMBEDDED or Path(options.model).is_dir()
    source = resolve_model(options.model) if local else options.model
    precision = options.dtype if options.dtype != "auto" else ("bfloat16" if torch.cuda.is_available() else "float32")
    try:
        config = AutoConfig.from_pretrained(source)
        tokenizer = AutoTokenizer.from_pretrained(source)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, precision))
    except (OSError, ValueError) as error:
        raise ModelError(f"the config and tokenizer of model {options.model!r} cannot be had: {str(error).splitlines()[0]}") from error
    if tokenizer.chat_template is None:
        raise ModelError(f"the tokenizer of {options.model!r} has no chat template; use an instruction-tuned model")
    return model, tokenizer


def measure(engine: LocalEngine, name: str, episodes: Sequence[Episode], budget: int, answer_tokens: int) -> Load:
    """Return the size of a rollout of `episodes`, lived as the expert lives them. Raises `EpisodeError` as `expert_steps` does."""
    lives = [expert_steps(engine, episode, budget) for episode in episodes]
    limits = [[token_limit(step.segment, budget, answer_tokens) for step in life] for life in lives]
    longest = max(s.generation.prompt_tokens + n for life, ns in zip(lives, limits, strict=True) for s, n in zip(life, ns, strict=True))
    return Load(
        name,
        statistics.fmean(len(life) for life in lives),
        statistics.fmean(sum(step.generation.prompt_tokens for step in life) for life in lives),
        statistics.fmean(sum(step.generation.completion_tokens for step in life) for life in lives),
        statistics.fmean(map(sum, limits)),
        longest,
    )


def activation_bytes(model: Any, completion_share: float) -> float:
    """Return the bytes per token that autograd keeps of a forward pass whose last `completion_share` of tokens go through the LM head."""
    weights = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights and tuple(tensor.shape[-2:]) != (PROBE, PROBE):
            kept[storage._cdata] = storage
        return tensor

    keep = max(1, math.ceil(completion_share * PROBE))
    model.train()
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        ids_BT = torch.zeros((1, PROBE), dtype=torch.long, device="meta")
        # transformers would look into a plain mask, and the meta device has nothing to see; it takes one of four dimensions as it is.
        mask_B1TT = torch.ones((1, 1, PROBE, PROBE), dtype=torch.bool, device="meta")
        places_BT = torch.arange(PROBE, device="meta")[None]
        logits_BKV = model(
            input_ids=ids_BT, attention_mask=mask_B1TT, position_ids=places_BT, logits_to_keep=keep + 1, use_cache=False
        ).logits[:, :-1]
        logps_BK = torch.log_softmax(logits_BKV.float(), -1).gather(-1, ids_BT[:, -keep:, None])
    del logps_BK
    return sum(storage.nbytes() for storage in kept.values()) / PROBE


def cache_bytes(config: Any, dtype: torch.dtype) -> int:
    """Return the bytes of keys and values per token."""
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    return int(2 * config.num_hidden_layers * (getattr(config, "num_key_value_heads", None) or heads) * width * dtype.itemsize)


def memory(model: Any, options: TrainOptions, loads: Sequence[Load]) -> Memory:
    """Return the estimated memory of a process, for the largest of the loads."""
    trained = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    frozen = sum(p.numel() * p.element_size() for p in model.parameters() if not p.requires_grad)
    adapted = [layer.get_base_layer().weight for layer in model.modules() if isinstance(layer, BaseTunerLayer)]
    longest = max(load.longest for load in loads)
    share = max(load.sampled_at_most / (load.prompt_tokens + load.sampled_at_most) for load in loads)
    rollouts = options.groups * options.group_size
    return Memory(
        weights=frozen,
        adapter=trained,
        # AdamW's two moments.
        optimiser=2 * trained,
        merged=sum(weight.numel() * weight.element_size() for weight in adapted),
        cache=cache_bytes(model.config, model.dtype) * max(longest, min(BATCH_TOKENS, rollouts * longest)),
        gradients=trained,
        # A row longer than a micro-batch stands alone.
        activations=int(activation_bytes(model, share) * max(options.micro_batch_tokens, longest)),
    )


def estimate(options: TrainOptions, curriculum: Curriculum, model: Any, tokenizer: Any) -> dict[str, Any]:
    """Return the estimate as plain data: sizes of rollouts, of a step, of the run in tokens, parameters, and bytes of memory.

    `model` is the meta model with its adapter. Raises `EpisodeError` where the expert's notes exceed the budget.
    """
    engine = LocalEngine(model, tokenizer)
    last = len(curriculum.stages) - 1
    loads = []
    for place in sorted({0, last}):
        episodes = [curriculum.episode(place, "train", options.seed, index, options.budget) for index in range(EPISODES)]
        loads.append(measure(engine, curriculum.stages[place].name, episodes, options.budget, options.answer_tokens))
    held_out = open_source(options.eval_split, level=options.eval_level, count=EPISODES, seed=options.seed, budget=options.budget)
    tested = measure(engine, f"{options.eval_split}, level {options.eval_level}", held_out, options.budget, options.answer_tokens)
    rollouts = options.groups * options.group_size
    steps: list[dict[str, Any]] = [
        {
            "stage": load.name,
            "rollouts": rollouts,
            "rollouts_at_most": rollouts * (1 + options.refills),
            "segments": round(rollouts * load.segments),
            "prompt_tokens": round(rollouts * load.prompt_tokens),
            "sampled_tokens": round(rollouts * load.sampled_tokens),
            "sampled_tokens_at_most": round(rollouts * load.sampled_at_most),
        }
        for load in loads
    ]
    warm = statistics.fmean(load.prompt_tokens + load.sampled_tokens for load in loads)
    evaluations = (1 + bool(options.warm_start_episodes) + bool(options.steps)) * options.eval_count
    used = memory(model, options, [*loads, tested])
    return {
        "rollouts": [asdict(load) for load in loads],
        "evaluation": asdict(tested),
        "context": engine.context,
        "step": steps,
        "total_tokens": {
            "grpo": [options.steps * (step["prompt_tokens"] + step["sampled_tokens"]) for step in steps],
            "warm_start": round(options.warm_start_episodes * warm),
            "evaluation": round(evaluations * (tested.prompt_tokens + tested.sampled_tokens)),
        },
        "parameters": {
            "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
            "all": sum(p.numel() for p in model.parameters()),
        },
        "memory_bytes": asdict(used) | {"peak": used.peak},
    }


def report_estimate(options: TrainOptions, curriculum: Curriculum, model: Any, tokenizer: Any) -> None:
    """Print the resolved options and the estimate; write both to the `--json` file if there is one."""
    config = options.model_dump(mode="json", exclude={"dry_run"})
    found = estimate(options, curriculum, model, tokenizer)
    if options.json_file is not None:
        write_text(options.json_file, json.dumps({"config": config, "provenance": provenance(), **found}, indent=2) + "\n")
    print("options")
    for name, value in config.items():
        print(f"  {name:<26}{'' if value is None else value}")
    print(f"\na GRPO step on each process (measured on {EPISODES} episodes of a stage, replies as the expert's)")
    for step in found["step"]:
        more = f" (at most {step['rollouts_at_most']} with refills)" if options.refills else ""
        print(
            f"  stage {step['stage']!r}: {step['rollouts']} rollouts{more}, {step['segments']:,} segments, "
            f"{step['prompt_tokens']:,} prompt and {step['sampled_tokens']:,} sampled tokens (at most {step['sampled_tokens_at_most']:,})"
        )
    longest = max(load["longest"] for load in [*found["rollouts"], found["evaluation"]])
    fits = "" if longest <= found["context"] else ": TOO LONG, the run would stop; use a model with a longer context or shorter sessions"
    print(f"  longest segment with its reply: {longest:,} tokens; the model's context has {found['context']:,}{fits}")
    total = found["total_tokens"]
    grpo = " to ".join(f"{tokens:,}" for tokens in sorted(set(total["grpo"])))
    print("\ntokens of the run, prompts and replies, refills left out")
    print(f"  GRPO {grpo} (every kept one is trained on once), warm start {total['warm_start']:,}, evaluations {total['evaluation']:,}")
    parameters = found["parameters"]
    print(f"\ntrainable parameters: {parameters['trainable']:,} of {parameters['all']:,}")
    print("\nmemory of a process, GiB, without temporary buffers and libraries (training/estimate.py says how)")
    notes = {
        "optimiser": "AdamW's two moments",
        "merged": "second copy of the adapted weights while generating",
        "cache": "keys and values while generating",
        "gradients": "while updating",
        "activations": "of one micro-batch, while updating",
        "peak": "weights, adapter, optimiser, and the larger of generating and updating",
    }
    for name, size in found["memory_bytes"].items():
        print(f"  {name:<12}{size / 2**30:8.2f}  {notes.get(name, '')}".rstrip())
