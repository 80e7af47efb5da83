"""A tiny model that answers with a digit, so that groups of rollouts differ in reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from supersession.engines.local import LocalEngine, load_model
from supersession.episode import Episode
from supersession.protocol import NotesRollout
from supersession.sources.curriculum import Curriculum, Stage
from tests.conftest import make_episode
from training.collect import Collector
from training.curriculum import Scheduler

PLAIN = Curriculum(stages=(Stage(name="plain", levels={0: 1.0}),))


class DigitScheduler(Scheduler):
    """Episodes whose question is "How many?" and whose gold is 4."""

    def episode(self, index: int) -> Episode:
        made = make_episode(f"digit-{index}", sessions=2 + index % 2)
        question = made.questions[0].model_copy(update={"gold": "4", "stale": (), "value_type": "integer", "text": "How many?"})
        return made.model_copy(update={"questions": (question,)})


@pytest.fixture(scope="session")
def digit_model_dir(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model, fine-tuned for a moment to reply to any prompt with one of three digits."""
    model, tokenizer = load_model(str(tiny_model_dir))
    engine = LocalEngine(model, tokenizer)
    generator = torch.Generator().manual_seed(0)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    rollout = NotesRollout(DigitScheduler(PLAIN, seed=0, budget=20).episode(1), 20)
    prompts = []
    while not rollout.done:
        prompts.append(engine.encode(rollout.prompt().messages))
        rollout.step("4")
    for step in range(80):
        prompt = prompts[step % len(prompts)]
        digits = torch.randint(3, 6, (8,), generator=generator)
        ids = torch.tensor([prompt + tokenizer(str(int(digit)))["input_ids"] + engine.eos_ids for digit in digits])
        labels = ids.clone()
        labels[:, : len(prompt)] = -100
        optimiser.zero_grad()
        model(input_ids=ids, labels=labels).loss.backward()
        optimiser.step()
    folder = tmp_path_factory.mktemp("digit-llama")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_engine(folder: Path) -> LocalEngine:
    """A fresh engine with an untrained adapter, the same every time."""
    model, tokenizer = load_model(str(folder))
    torch.manual_seed(0)
    adapted: Any = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"))
    return LocalEngine(adapted, tokenizer)


def make_collector(engine: LocalEngine, **changes: Any) -> Collector:
    options: dict[str, Any] = {
        "groups": 2,
        "group_size": 4,
        "budget": 20,
        "stale_weight": 0.5,
        "temperature": 1.0,
        "answer_tokens": 4,
        "refills": 1,
        "seed": 0,
    }
    return Collector(engine, DigitScheduler(PLAIN, seed=0, budget=20), **(options | changes))
