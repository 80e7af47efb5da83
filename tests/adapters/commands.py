"""The libraries' own command lines, run as a user runs them: in a process of their own, against an endpoint on loopback."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HAS_V0 = importlib.metadata.version("verifiers").startswith("0.3.")
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Run:
    code: int
    output: str
    rows: list[dict[str, Any]]


def vf_eval_v0(folder: Path, url: str, env_args: dict[str, Any], *flags: str, model: str = "scripted") -> Run:
    """Run verifiers 0.3's `vf-eval`; the rows are those of its results.jsonl."""
    endpoint = ["-m", model, "-b", url, "-k", "LOOPBACK_KEY"]
    return _run(folder, [str(BIN / "vf-eval"), "supersession", "-a", json.dumps(env_args), *endpoint, "-s", "-d", *flags], "results.jsonl")


def eval_v1(folder: Path, url: str, *flags: str, model: str = "scripted", v04_bin: Path | None = None) -> Run:
    """Run the v1 evaluation of the installed verifiers, or of the 0.4 in `v04_bin`; the rows are the episodes of its traces.jsonl."""
    command = [str(BIN / "eval"), "--no-serve"] if HAS_V0 and v04_bin is None else [str((v04_bin or BIN) / "vf-eval")]
    command.insert(1, "supersession")
    endpoint = ["-m", model, "--client.base-url", url, "--client.api-key-var", "LOOPBACK_KEY"]
    return _run(folder, [*command, *endpoint, "--no-push", "--no-rich", *flags], "traces.jsonl")


def _run(folder: Path, command: list[str], rows_file: str) -> Run:
    env = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "LOOPBACK_KEY": "none", "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    rows = [json.loads(line) for file in sorted(folder.glob(f"outputs/**/{rows_file}")) for line in file.read_text().splitlines()]
    return Run(done.returncode, done.stdout + done.stderr, rows)
