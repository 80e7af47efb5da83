"""The installed environment against a real language model behind a real OpenAI-compatible server: `transformers serve`, on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.commands import BIN, HAS_V0, Run, eval_v1, vf_eval_v0

pytest.importorskip("fastapi", reason="transformers serve needs transformers[serving]")

V1_FLAGS = ["--env.taskset.split", "test", "--env.taskset.level", "0", "--env.taskset.budget", "24", "-n", "3"]
V04_BIN = Path(__file__).parents[2] / ".venv-v04" / "bin"
"""Made by scripts/check_verifiers_v04.sh, which then runs this file."""


@pytest.fixture(scope="module")
def served(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server of the tiny random Llama, whose name is its folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log.txt"
    command = [str(BIN / "transformers"), "serve", str(tiny_model_dir), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with log.open("w") as file:
        server = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(20)


def wait_until_healthy(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 300) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        try:
            direct.open(url, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    pytest.fail(f"transformers serve did not start:\n{log.read_text()[-2000:]}")


@pytest.mark.skipif(not HAS_V0, reason="verifiers 0.4 has no v0 API")
def test_the_v0_command_line_plays_a_served_model(served: str, tiny_model_dir: Path, tmp_path: Path) -> None:
    run = vf_eval_v0(
        tmp_path, served, {"split": "test", "level": 0, "count": 3, "budget": 24}, "-n", "3", "-r", "1", model=str(tiny_model_dir)
    )
    assert run.code == 0, run.output
    assert [(row["error"], row["finished"], row["num_turns"]) for row in run.rows] == [(None, 1.0, 3.0)] * 3, run.output


def test_the_v1_command_line_plays_a_served_model(served: str, tiny_model_dir: Path, tmp_path: Path) -> None:
    assert_all_finished(eval_v1(tmp_path, served, *V1_FLAGS, model=str(tiny_model_dir)))


@pytest.mark.skipif(not (V04_BIN / "vf-eval").exists(), reason="run scripts/check_verifiers_v04.sh")
def test_verifiers_04_plays_a_served_model(served: str, tiny_model_dir: Path, tmp_path: Path) -> None:
    assert_all_finished(eval_v1(tmp_path, served, *V1_FLAGS, model=str(tiny_model_dir), v04_bin=V04_BIN))


def assert_all_finished(run: Run) -> None:
    traces = [trace for row in run.rows for trace in row["traces"]]
    assert [(trace["ok"], trace["errors"], trace["metrics"].get("finished")) for trace in traces] == [(True, [], 1.0)] * 3, run.output
