"""A local transformers model that plays rollouts in lock-step: the one engine of training and evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, PreTrainedModel, PreTrainedTokenizerBase

from supersession.engines.generation import ANSWER_TOKENS, Generation, PromptTooLong, Step, token_limit
from supersession.engines.models import ModelError, resolve_model
from supersession.protocol import Message, NotesRollout

BATCH_TOKENS = 32_768
"""Prompt and reply tokens (padding included) that one call of `generate` may hold; bounds the key-value cache."""

MIN_PREFIX = 16
"""A common prefix shorter than this many tokens is not worth a separate forward pass."""


@dataclass
class LocalEngine:
    """A model and its tokenizer. `model` may be a PEFT model; its adapter is merged while it generates and taken out exactly after."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    batch_tokens: int = BATCH_TOKENS

    @classmethod
    def load(
        cls, model: str, adapter: Path | None = None, dtype: str = "auto", device: str = "auto", batch_tokens: int = BATCH_TOKENS
    ) -> LocalEngine:
        """Load a model by alias, hub id or folder, with a LoRA adapter's folder if given. Raises `ModelError`.

        `dtype="auto"` is bfloat16 on a GPU and float32 on a CPU, where bfloat16 is slower unless the CPU computes in it.
        """
        loaded, tokenizer = load_model(model, dtype, device)
        if adapter is not None:
            loaded = load_adapter(loaded, adapter, trainable=False)
        return cls(loaded, tokenizer, batch_tokens)

    @property
    def context(self) -> int:
        """Tokens that a prompt and its reply may have together."""
        return int(self.model.config.max_position_embeddings)

    def encode(self, messages: list[Message]) -> list[int]:
        """Return the token ids of a prompt, with the generation prompt at its end."""
        text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return list(self.tokenizer(str(text), add_special_tokens=False)["input_ids"])

    def check(self, rollout: NotesRollout, answer_tokens: int = ANSWER_TOKENS) -> None:
        """Raise `PromptTooLong` if some session or question of the rollout cannot fit the context, whatever the notes will say."""
        probe = NotesRollout(rollout.episode, rollout.budget, rollout.condition)
        while not probe.done:
            segment = probe.prompt()
            self._fits(self.encode(segment.messages), token_limit(segment, probe.budget, answer_tokens), _place(probe))
            probe.step("")

    def play(
        self,
        rollouts: Sequence[NotesRollout],
        *,
        temperature: float = 0.0,
        seed: int = 0,
        answer_tokens: int = ANSWER_TOKENS,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Step]]:
        """Play fresh rollouts to their end, all of them one segment at a time, and return each one's steps.

        Greedy at temperature 0; otherwise sampled from the whole distribution, reproducibly for one `seed`, order and batch size.
        `progress` is called with the number of segments just lived. Raises `PromptTooLong` before that segment is generated.
        """
        lived: list[list[Step]] = [[] for _ in rollouts]
        with torch.random.fork_rng(devices=_cuda_devices(self.model)):
            torch.manual_seed(seed)
            while due := [i for i, rollout in enumerate(rollouts) if not rollout.done]:
                segments = [rollouts[i].prompt() for i in due]
                prompts = [self.encode(segment.messages) for segment in segments]
                limits = [token_limit(segment, rollouts[i].budget, answer_tokens) for i, segment in zip(due, segments, strict=True)]
                for i, prompt, limit in zip(due, prompts, limits, strict=True):
                    self._fits(prompt, limit, _place(rollouts[i]))
                replies = self.generate(prompts, limits, temperature)
                for i, segment, reply in zip(due, segments, replies, strict=True):
                    rollouts[i].step(reply.text)
                    lived[i].append(Step(segment, reply))
                if progress is not None:
                    progress(len(due))
        return lived

    def generate(self, prompts: Sequence[list[int]], limits: Sequence[int], temperature: float = 0.0) -> list[Generation]:
        """Return one reply per prompt (token ids), each at most its limit of tokens long; draws from torch's global generator."""
        replies: dict[int, Generation] = {}
        was_training = self.model.training
        self.model.eval()
        with torch.no_grad(), merged_adapter(self.model):
            for batch in self._batches(prompts, limits):
                rows = self._generate_batch([prompts[i] for i in batch], max(limits[i] for i in batch), temperature)
                for i, row in zip(batch, rows, strict=True):
                    replies[i] = self._reply(prompts[i], row, limits[i])
        self.model.train(was_training)
        return [replies[i] for i in range(len(prompts))]

    def _fits(self, prompt: list[int], limit: int, place: str) -> None:
        if len(prompt) + limit > self.context:
            raise PromptTooLong(
                f"{place}: the prompt has {len(prompt)} tokens and its reply may have {limit}, more than the {self.context} of the model's "
                "context; use a model with a longer context, or shorter sessions"
            )

    def _batches(self, prompts: Sequence[list[int]], limits: Sequence[int]) -> Iterator[list[int]]:
        """Yield indices of prompts of like length whose padded size stays within `batch_tokens`."""
        batch: list[int] = []
        for i in sorted(range(len(prompts)), key=lambda i: (limits[i], len(prompts[i]))):
            width = len(prompts[i]) + limits[i]
            if batch and width * (len(batch) + 1) > self.batch_tokens:
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch

    def _generate_batch(self, prompts: list[list[int]], limit: int, temperature: float) -> list[list[int]]:
        device, pad = self.model.device, self.pad_id
        prefix = common_prefix(prompts)
        width = max(len(prompt) for prompt in prompts)
        # Padding goes between the shared prefix and the rest, so that the prefix's keys and values serve every row.
        padding = [width - len(prompt) for prompt in prompts]
        ids = torch.tensor([p[:prefix] + [pad] * n + p[prefix:] for p, n in zip(prompts, padding, strict=True)], device=device)
        mask = torch.tensor([[1] * prefix + [0] * n + [1] * (width - prefix - n) for n in padding], device=device)
        cached: dict[str, Any] = {}
        if prefix:
            cache = DynamicCache(config=self.model.config)
            self.model(input_ids=ids[:1, :prefix], cache=cache, use_cache=True, logits_to_keep=1)
            cache.batch_repeat_interleave(len(prompts))
            cached = {"cache": cache}
        sampling: dict[str, Any] = {"do_sample": False}
        if temperature > 0:
            sampling = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        output = self.model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=limit,
            pad_token_id=pad,
            eos_token_id=self.eos_ids,
            use_cache=True,
            **sampling,
            **cached,
        )
        replies: list[list[int]] = output[:, width:].tolist()
        return replies

    def _reply(self, prompt: list[int], row: list[int], limit: int) -> Generation:
        end = next((n for n, token in enumerate(row[:limit]) if token in self.eos_ids), None)
        kept = row[:limit] if end is None else row[: end + 1]
        text = self.tokenizer.decode(kept if end is None else kept[:-1], skip_special_tokens=True)
        return Generation(str(text), len(prompt), len(kept), end is None, tuple(prompt), tuple(kept))

    @property
    def eos_ids(self) -> list[int]:
        """Token ids that end a reply."""
        ids = self.model.generation_config.eos_token_id if self.model.generation_config is not None else None
        ids = self.tokenizer.eos_token_id if ids is None else ids
        return [ids] if isinstance(ids, int) else list(ids)

    @property
    def pad_id(self) -> int:
        return self.eos_ids[0] if self.tokenizer.pad_token_id is None else int(self.tokenizer.pad_token_id)


def common_prefix(prompts: list[list[int]]) -> int:
    """Return how many leading tokens all prompts share, leaving each at least one of its own; 0 where sharing would not pay."""
    shortest, longest = min(prompts), max(prompts)
    limit = min(len(prompt) for prompt in prompts) - 1
    length = next((n for n in range(limit) if shortest[n] != longest[n]), limit)
    return length if len(prompts) > 1 and length >= MIN_PREFIX else 0


def load_model(name: str, dtype: str = "auto", device: str = "auto") -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Return the model and tokenizer that `name` resolves to, on the device. Raises `ModelError`."""
    folder = resolve_model(name)
    where = device if device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
    precision = dtype if dtype != "auto" else ("bfloat16" if where.startswith("cuda") else "float32")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, precision))
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ModelError(f"model {name!r} cannot be loaded from {folder}: {error}") from error
    if tokenizer.chat_template is None:
        raise ModelError(f"the tokenizer of {name!r} has no chat template; use an instruction-tuned model")
    return model.to(where), tokenizer


def load_adapter(model: PreTrainedModel, folder: Path, trainable: bool) -> Any:
    """Return `model` with the LoRA adapter saved in `folder`. Raises `ModelError` if there is none or it does not fit the model."""
    from peft import PeftModel

    if not (folder / "adapter_config.json").is_file():
        raise ModelError(f"adapter folder {str(folder)!r} holds no adapter_config.json; give a folder written by training")
    try:
        return PeftModel.from_pretrained(model, folder, is_trainable=trainable)
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"the adapter in {folder} does not fit the model: {str(error).splitlines()[0]}") from error


@contextmanager
def merged_adapter(model: Any) -> Iterator[None]:
    """Hold a PEFT model's adapter merged into its weights; afterwards the very same base tensors are back, bit for bit.

    Merging and unmerging in place would leave rounding errors in the base weights at every step, and a resumed run would differ.
    """
    from peft import PeftModel
    from peft.tuners.tuners_utils import BaseTunerLayer

    if not isinstance(model, PeftModel):
        yield
        return
    layers = [layer for layer in model.modules() if isinstance(layer, BaseTunerLayer)]
    weights = [layer.get_base_layer().weight.data for layer in layers]
    model.merge_adapter(safe_merge=True)
    try:
        yield
    finally:
        for layer, weight in zip(layers, weights, strict=True):
            layer.get_base_layer().weight.data = weight
            layer.merged_adapters.clear()


def _place(rollout: NotesRollout) -> str:
    segment = rollout.prompt()
    part = f"session {segment.index + 1}" if segment.kind == "write" else f"question {rollout.episode.questions[segment.index].id!r}"
    return f"episode {rollout.episode.id!r}, {part}"


def _cuda_devices(model: PreTrainedModel) -> list[int]:
    return [model.device.index or 0] if model.device.type == "cuda" else []
