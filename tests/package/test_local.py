"""The local engine: the same replies whatever shares a batch, exact merging, and clear refusals."""

from pathlib import Path

import pytest
import torch

from supersession.engines import local
from supersession.engines.generation import PromptTooLong, token_limit
from supersession.engines.local import LocalEngine, common_prefix, load_adapter, load_model, merged_adapter
from supersession.engines.models import ModelError
from supersession.episode import Episode
from supersession.protocol import NotesRollout
from tests.conftest import make_episode


@pytest.fixture(scope="module")
def engine(tiny_model_dir: Path) -> LocalEngine:
    return LocalEngine.load(str(tiny_model_dir))


def replies(engine: LocalEngine, episodes: list[Episode], **options: float) -> list[tuple[list[str], list[str]]]:
    rollouts = [NotesRollout(episode, budget=60) for episode in episodes]
    engine.play(rollouts, answer_tokens=8, **options)  # type: ignore[arg-type]
    return [(rollout.notes_history, rollout.answers) for rollout in rollouts]


def test_batching_does_not_change_greedy_replies(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = [make_episode(f"e{n}", sessions=n) for n in (2, 3, 5)]
    together = replies(engine, episodes)
    alone = [replies(engine, [episode])[0] for episode in episodes]
    monkeypatch.setattr(engine, "batch_tokens", 1)
    assert together == alone == replies(engine, episodes)


def test_shared_prefix_does_not_change_replies(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = [make_episode(f"e{n}", sessions=n) for n in (2, 3)]
    shared = replies(engine, episodes)
    monkeypatch.setattr(local, "MIN_PREFIX", 10**9)
    assert shared == replies(engine, episodes)


def test_sampling_is_reproducible_and_leaves_the_global_generator_alone(engine: LocalEngine) -> None:
    before = torch.random.get_rng_state()
    first = replies(engine, [make_episode()], temperature=1.0, seed=1)
    assert torch.equal(before, torch.random.get_rng_state())
    assert first == replies(engine, [make_episode()], temperature=1.0, seed=1)
    assert first != replies(engine, [make_episode()], temperature=1.0, seed=2)


def test_steps_hold_what_was_sampled(engine: LocalEngine) -> None:
    rollout = NotesRollout(make_episode(), budget=60)
    (steps,) = engine.play([rollout], temperature=1.0, answer_tokens=8)
    assert [step.segment.kind for step in steps] == ["write", "write", "answer"]
    for step in steps:
        assert step.generation.prompt_ids == tuple(engine.encode(step.segment.messages))
        assert 0 < step.generation.completion_tokens <= token_limit(step.segment, 60, 8)
        assert step.generation.truncated == (step.generation.token_ids[-1] not in engine.eos_ids)


def test_a_session_longer_than_the_context_is_refused_by_name(engine: LocalEngine) -> None:
    long = make_episode()
    turn = long.sessions[1].turns[0].model_copy(update={"content": "x" * 5000})
    session = long.sessions[1].model_copy(update={"turns": (turn,)})
    long = long.model_copy(update={"sessions": (long.sessions[0], session)})
    with pytest.raises(PromptTooLong, match=r"episode 'gym', session 2: the prompt has \d+ tokens .* 4096"):
        engine.check(NotesRollout(long))
    with pytest.raises(PromptTooLong, match="session 2"):
        engine.play([NotesRollout(long)])


def test_merging_gives_the_base_weights_back_bit_for_bit(tiny_model_dir: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    model, tokenizer = load_model(str(tiny_model_dir))
    peft = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False))
    layer = peft.base_model.model.model.layers[0].mlp.up_proj
    base = layer.get_base_layer().weight.data.clone()
    ids = torch.tensor([tokenizer("Iron Temple")["input_ids"]])
    with torch.no_grad():
        expected = peft(input_ids=ids).logits
        with merged_adapter(peft):
            assert not torch.equal(layer.get_base_layer().weight, base)
            torch.testing.assert_close(peft(input_ids=ids).logits, expected, rtol=1e-4, atol=1e-5)
        assert torch.equal(layer.get_base_layer().weight, base)
        assert torch.equal(peft(input_ids=ids).logits, expected)
    peft.save_pretrained(tmp_path / "adapter")
    again = load_adapter(load_model(str(tiny_model_dir))[0], tmp_path / "adapter", trainable=False)
    with torch.no_grad():
        torch.testing.assert_close(again(input_ids=ids).logits, expected)


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [([[1] * 20 + [2], [1] * 20 + [3, 4]], 20), ([[1] * 20, [1] * 21], 19), ([[1] * 5 + [2], [1] * 5 + [3]], 0), ([[1] * 30], 0)],
)
def test_common_prefix(prompts: list[list[int]], expected: int) -> None:
    assert common_prefix(prompts) == expected


def test_models_that_cannot_be_had(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"holds no config\.json"):
        load_model(str(tmp_path))
    with pytest.raises(ModelError, match="'no/such/model' is neither a folder"):
        load_model("no/such/model")
    with pytest.raises(ModelError, match="hub cannot be reached"):
        load_model("acme/not-cached")
    with pytest.raises(ModelError, match=r"holds no adapter_config\.json"):
        load_adapter(None, tmp_path, trainable=False)  # type: ignore[arg-type]
