"""The options of a training run; the defaults are the laptop run that `make train` makes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from supersession.cli import Options
from supersession.engines.models import DEFAULT_MODEL
from supersession.scoring import STALE_WEIGHT


class TrainOptions(Options):
    """Train a model's memory with GRPO on bounded-memory episodes, and compare it before and after on held-out ones."""

    out: Path = Path("runs/grpo")
    """Folder of the run; a rerun with the same options goes on where it stopped."""
    model: str = DEFAULT_MODEL
    """An alias, a hub id such as Qwen/Qwen2.5-3B-Instruct, or a local folder."""
    adapter: Path | None = None
    """A LoRA adapter to start from, in place of a fresh one."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the base weights; auto is bfloat16 on a GPU, float32 on a CPU."""
    seed: int = 0
    """Every random choice comes from it."""

    budget: int = Field(120, ge=1)
    """Characters of notes that the agent may carry."""
    curriculum: str = "plain"
    """What is taught in which order: a curriculum of curricula/, level-N for one level of the generator, or a TOML file."""
    stale_weight: float = Field(STALE_WEIGHT, ge=0)
    """λ: what a stale answer costs, against 1 for a current one."""
    answer_tokens: int = Field(24, ge=1)
    """Longest answer, in tokens."""

    warm_start_episodes: int = Field(80, ge=0)
    """Episodes of expert notes to fine-tune on before GRPO; 0 leaves the stage out."""
    warm_start_learning_rate: float = Field(1e-3, gt=0)
    """Peak learning rate of the warm start."""
    warm_start_batch: int = Field(8, ge=1)
    """Segments per step of the warm start."""

    steps: int = Field(3, ge=0)
    """Optimiser steps of GRPO; 0 leaves the stage out."""
    groups: int = Field(3, ge=1)
    """Groups (episodes) per step and process."""
    group_size: int = Field(6, ge=2)
    """Rollouts of one episode."""
    learning_rate: float = Field(3e-4, gt=0)
    """Of GRPO, constant after a short warm-up."""
    temperature: float = Field(1.0, gt=0)
    """Of sampling."""
    refills: int = Field(0, ge=0)
    """How often a step may play further episodes in place of groups whose rollouts all scored the same."""
    patience: int = Field(5, ge=1)
    """Steps in a row without any signal after which training stops."""
    micro_batch_tokens: int = Field(1024, ge=1)
    """Padded tokens of one forward and backward pass; peak memory follows it."""
    save_steps: int = Field(2, ge=1)
    """Optimiser steps between checkpoints."""

    lora_rank: int = Field(16, ge=1)
    """Rank of the adapter on every linear layer."""
    lora_alpha: int = Field(32, ge=1)
    """Scale of the adapter: alpha / rank."""

    eval_split: Literal["dev", "test", "ood"] = "test"
    """Held-out split of the table."""
    eval_level: int = Field(0, ge=0)
    """Generator level of the table."""
    eval_count: int = Field(200, ge=0)
    """Held-out episodes to evaluate on before, between and after; 0 leaves the table out."""
    dry_run: bool = False
    """Print the resolved options and an estimate of tokens, parameters and memory, and stop; nothing is written but the --json file."""
    json_file: Path | None = Field(None, alias="json")
    """Also write the whole result to this file."""
