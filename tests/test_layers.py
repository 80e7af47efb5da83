"""Who may import whom: the core knows nothing of its callers, and the package pulls in no deep-learning library."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "environments" / "supersession" / "supersession"
CORE = [PACKAGE / "episode.py", PACKAGE / "protocol.py", PACKAGE / "scoring.py", *sorted((PACKAGE / "answers").glob("*.py"))]
ABOVE_CORE = ("supersession.sources", "supersession.engines", "supersession.adapters", "torch", "transformers", "verifiers")


def imports(path: Path) -> set[str]:
    """Every module that a file imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def reaches(path: Path, *modules: str) -> set[str]:
    return {name for name in imports(path) for module in modules if name == module or name.startswith(module + ".")}


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_the_core_imports_none_of_its_callers(path: Path) -> None:
    assert not reaches(path, *ABOVE_CORE)


@pytest.mark.parametrize("folder", ["environments/supersession/supersession", "eval", "curricula"])
def test_imports_go_one_way(folder: str) -> None:
    above = {"eval": ["training"]}.get(folder, ["training", "eval"])
    for path in (ROOT / folder).rglob("*.py"):
        assert not reaches(path, *above), path


def test_importing_the_package_and_its_sources_pulls_no_torch() -> None:
    code = (
        "import sys, supersession, supersession.scoring, supersession.sources.generator, supersession.sources.longmemeval, "
        "supersession.engines.endpoint; sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'trl', 'peft')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
