"""Which curriculum a name on a command line means."""

from __future__ import annotations

import re
from pathlib import Path

from supersession.cli import UsageError
from supersession.sources.curriculum import Curriculum, Stage, load_curriculum
from supersession.sources.generator import LEVELS

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of the curricula in this folder."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def open_curriculum(name: str) -> Curriculum:
    """Return the curriculum that `name` means: one of this folder, `level-N` for a level alone, or a TOML file.

    Raises `UsageError` for an unknown name and `EpisodeError` for a bad file.
    """
    if name in names():
        return load_curriculum(FOLDER / f"{name}.toml")
    if (match := re.fullmatch(r"level-(\d+)", name)) and int(match[1]) in LEVELS:
        return Curriculum(stages=(Stage(name=name, levels={int(match[1]): 1.0}),))
    if Path(name).suffix == ".toml":
        return load_curriculum(Path(name))
    known = ", ".join([*names(), *(f"level-{level}" for level in LEVELS)])
    raise UsageError(f"curriculum {name!r} is unknown; choose one of {known}, or give a TOML file")
