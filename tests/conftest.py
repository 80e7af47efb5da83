"""Shared fixtures: a tiny randomly initialised Llama with a byte-level tokenizer (no download), and a hand-made episode."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from supersession.episode import Episode, FactEvent, FactKey, Question, Session, Turn

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Two threads on a busy two-core machine wait for each other more than they compute.
os.environ.setdefault("OMP_NUM_THREADS", "1")

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.fixture(scope="session")
def tiny_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random two-layer Llama and its tokenizer, as save_pretrained writes them; one byte is one token."""
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(specials + alphabet)}, merges=[]))
    raw.add_special_tokens([AddedToken(token, special=True) for token in specials])
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=CHAT_TEMPLATE
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    folder = tmp_path_factory.mktemp("tiny-llama")
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_episode(name: str = "gym", sessions: int = 2) -> Episode:
    """An episode in which the gym changes once, in the second session; further sessions are small talk."""
    start = dt.datetime(2025, 3, 3, 18, 30)
    key = FactKey(subject="user", attribute="gym")
    said = ["My gym is Iron Temple.", "I switched my gym to Fit Barn."] + ["It rained all day."] * (sessions - 2)
    return Episode(
        id=name,
        sessions=tuple(
            Session(date=start + dt.timedelta(days=7 * i), turns=(Turn(role="user", content=text),)) for i, text in enumerate(said)
        ),
        timeline=(
            FactEvent(session=0, turn=0, key=key, kind="assert", value="Iron Temple"),
            FactEvent(session=1, turn=0, key=key, kind="update", value="Fit Barn"),
        ),
        questions=(
            Question(
                id=f"{name}-q",
                date=start + dt.timedelta(days=7 * sessions),
                text="Which gym do I go to?",
                kind="current",
                value_type="name",
                gold="Fit Barn",
                stale=("Iron Temple",),
                key=key,
            ),
        ),
        expert_notes=("gym: Iron Temple", *["gym: Fit Barn (was Iron Temple)"] * (sessions - 1)),
    )


@pytest.fixture
def episode() -> Episode:
    return make_episode()
