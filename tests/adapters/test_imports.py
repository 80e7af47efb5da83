"""What importing the package costs: the core needs neither verifiers nor torch, and the adapters need no torch."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("imports", "absent"),
    [
        ("supersession, supersession.protocol, supersession.scoring, supersession.sources", {"torch", "transformers", "verifiers"}),
        ("supersession.adapters.v1", {"torch"}),
    ],
)
def test_importing_pulls_no_more_than_it_must(imports: str, absent: set[str]) -> None:
    code = f"import sys, {imports}; print(*sorted(set(sys.modules) & {absent!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
