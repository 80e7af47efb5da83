"""The prime-rl config: against prime-rl's own schema where there is one at hand, and against our own taskset always."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from supersession.adapters.v1 import SupersessionConfig, SupersessionTaskset
from supersession.engines.generation import token_limit
from supersession.protocol import NotesRollout

CONFIG = Path(__file__).parents[2] / "training" / "prime_rl" / "qwen2.5-3b.toml"


@pytest.fixture
def config() -> dict[str, Any]:
    return tomllib.loads(CONFIG.read_text(encoding="utf-8"))


def tasksets(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The taskset table of the training source and of the evaluation source."""
    return {part: config["orchestrator"][part]["source"][0]["env"]["taskset"] for part in ("train", "eval")}


def schema_errors(config: dict[str, Any]) -> list[str]:
    path = os.environ.get("PRIME_RL_SCHEMA")
    if not path:
        pytest.skip("PRIME_RL_SCHEMA does not name the JSON schema of prime-rl's rl config")
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(Path(path).read_text(encoding="utf-8")))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(config)]


def test_prime_rls_schema_accepts_the_config(config: dict[str, Any]) -> None:
    assert schema_errors(config) == []


@pytest.mark.parametrize("table", ["orchestrator", "trainer", "inference"])
def test_prime_rls_schema_refuses_a_misspelt_key(config: dict[str, Any], table: str) -> None:
    config[table]["no_such_key"] = 1
    assert any("no_such_key" in error for error in schema_errors(config))


@pytest.mark.parametrize("part", ["train", "eval"])
def test_our_taskset_accepts_its_arguments_and_makes_episodes(config: dict[str, Any], part: str) -> None:
    arguments = tasksets(config)[part]
    assert set(arguments) <= set(SupersessionConfig.model_fields)
    taskset = SupersessionTaskset(SupersessionConfig.model_validate(arguments))
    assert not taskset.INFINITE
    task = next(iter(taskset.load()))
    assert task.data.budget == 300
    assert task.data.episode.meta["level"] == 4
    assert task.data.episode.meta["split"] == {"train": "train", "eval": "dev"}[part]


def test_replies_have_the_harness_limit_and_fit_the_sequence(config: dict[str, Any]) -> None:
    """The longest prompt counts one token for two characters, far above the four that English has."""
    arguments = tasksets(config)["train"]
    task = next(iter(SupersessionTaskset(SupersessionConfig.model_validate(arguments)).load()))
    rollout = NotesRollout(task.data.episode, arguments["budget"])
    limit = token_limit(rollout.prompt(), rollout.budget)
    assert config["orchestrator"]["train"]["sampling"]["max_completion_tokens"] == limit
    assert config["orchestrator"]["eval"]["sampling"]["max_completion_tokens"] == limit
    while not rollout.done:
        prompt = sum(len(message["content"]) for message in rollout.prompt().messages)
        assert prompt / 2 + limit <= config["seq_len"] == config["inference"]["vllm"]["max_model_len"]
        rollout.step("x" * rollout.budget)


def test_batches_are_whole_groups_and_evaluation_is_held_out(config: dict[str, Any]) -> None:
    orchestrator = config["orchestrator"]
    assert orchestrator["batch_size"] % orchestrator["group_size"] == 0
    assert orchestrator["train"]["source"][0]["group_size"] == orchestrator["group_size"] == 8
    assert orchestrator["eval"]["source"][0]["num_examples"] <= tasksets(config)["eval"]["count"]
