"""Merge a trained adapter into its base model: a plain folder that transformers, vLLM and every `--model` of this repository load.

python training/export.py runs/qwen --out models/qwen-notes
"""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field
from pydantic_settings import CliPositionalArg
from safetensors import SafetensorError
from transformers import AutoConfig
from transformers.utils import logging as transformers_logging

from supersession.cli import Options, UsageError, provenance, run, write_text
from supersession.engines.local import LocalEngine, load_adapter, load_model
from supersession.engines.models import resolve_model
from supersession.protocol import NotesRollout
from supersession.sources import open_source

EXAMPLE = "python training/export.py runs/qwen --out models/qwen-notes"
CHECKED_PROMPTS = 4


class ExportOptions(Options):
    """Merge a LoRA adapter into its base model and write a plain transformers folder."""

    source: CliPositionalArg[Path]
    """A training run's folder (its adapter/ is taken), or an adapter's folder."""
    out: Path
    """Folder to write; it must not exist yet, or be empty."""
    model: str | None = None
    """The base model; unset, the one that the run was started with, else the one that the adapter names."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the written weights; auto is the base model's own. Merging is done in float32."""
    seed: int = 0
    """Of the episodes whose prompts the written model is compared on."""
    json_file: Path | None = Field(None, alias="json")
    """Write what was done, and the comparison, to this file."""


def main(options: ExportOptions) -> None:
    transformers_logging.disable_progress_bar()
    # PEFT calls what transformers is about to rename; nothing that a user of this command could change.
    warnings.simplefilter("ignore", FutureWarning)
    adapter = find_adapter(options.source)
    out = options.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out} exists and is not an empty folder; give another one, or remove it")
    result = export(adapter, options.model or base_of(adapter), out, options.dtype, options.seed)
    if options.json_file is not None:
        write_text(options.json_file, json.dumps(result | {"provenance": provenance()}, indent=2) + "\n")
    print(f"{out}: {result['base']} with {adapter}, {result['dtype']}")
    print(
        f"against base and adapter on {result['prompts']} prompts: the same next token at {result['same_token']}, logits at most "
        f"{result['largest_difference']:.2g} apart"
    )


def find_adapter(source: Path) -> Path:
    """Return the adapter's folder in `source`: its own if it is one, else its `adapter/`. Raises `UsageError` if there is neither."""
    for folder in (source, source / "adapter"):
        if (folder / "adapter_config.json").is_file():
            return folder
    raise UsageError(
        f"{source} holds no adapter (neither adapter_config.json nor adapter/adapter_config.json); give the folder of a finished run, or "
        "of an adapter such as its warm-start"
    )


def base_of(adapter: Path) -> str:
    """Return the name of the base model: as the run around the adapter was given it, else as PEFT recorded it."""
    # The run's own name for the model outlives a move to another machine; PEFT records a path in this one's cache.
    run_config = adapter.absolute().parent / "config.json"
    if run_config.is_file():
        options = _read_json(run_config).get("options")
        if isinstance(options, dict) and isinstance(options.get("model"), str):
            return str(options["model"])
    recorded = _read_json(adapter / "adapter_config.json").get("base_model_name_or_path")
    if not recorded:
        raise UsageError(f"the adapter in {adapter} does not name its base model; give --model")
    return str(recorded)


def export(adapter: Path, base: str, out: Path, dtype: str, seed: int) -> dict[str, Any]:
    """Write the merged model to `out`, whole or not at all, and return what was done and how far its logits are from base and adapter.

    Raises `ModelError` for a base model that cannot be had or an adapter that does not fit it, `OSError` or `UsageError` if the disk
    refuses.
    """
    folder = resolve_model(base)
    loaded, tokenizer = load_model(folder, "float32", "cpu")
    precision = getattr(torch, dtype) if dtype != "auto" else (AutoConfig.from_pretrained(folder).dtype or torch.float32)
    adapted = load_adapter(loaded, adapter, trainable=False)
    prompts = sample_prompts(LocalEngine(adapted, tokenizer), seed)
    before = next_token_logits(adapted, prompts)
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        adapted.merge_and_unload(safe_merge=True).to(precision).save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        # A second copy of the weights beside the first would double the memory.
        del loaded, adapted
        after = next_token_logits(load_model(str(partial), "float32", "cpu")[0], prompts)
        partial.replace(out)
    except SafetensorError as error:
        raise UsageError(f"cannot write the weights to {partial}: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return {
        "base": base,
        "adapter": str(adapter),
        "out": str(out),
        "dtype": str(precision).removeprefix("torch."),
        "prompts": len(prompts),
        "same_token": int((before.argmax(-1) == after.argmax(-1)).sum()),
        "largest_difference": float((before - after).abs().max()),
    }


def sample_prompts(engine: LocalEngine, seed: int) -> list[list[int]]:
    """Return the token ids of the first prompts of some held-out episodes."""
    episodes = open_source("dev", level=1, count=CHECKED_PROMPTS, seed=seed)
    return [engine.encode(NotesRollout(episode, 300).prompt().messages) for episode in episodes]


def next_token_logits(model: Any, prompts: list[list[int]]) -> torch.Tensor:
    """Return the logits of the first token after each prompt, shape (prompts, vocabulary)."""
    model.eval()
    with torch.no_grad():
        return torch.cat([model(input_ids=torch.tensor([ids]), logits_to_keep=1, use_cache=False).logits[:, -1].float() for ids in prompts])


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return content if isinstance(content, dict) else {}


if __name__ == "__main__":
    run(ExportOptions, main, EXAMPLE)
