"""Where episodes come from: one function that the adapters, the trainer and the evaluator open every source with."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args, overload

from supersession.episode import Episode, EpisodeError, read_jsonl

Split = Literal["train", "dev", "test", "ood", "longmemeval", "jsonl"]
"""`train`, `dev`, `test`, `ood`: generated; `longmemeval`: the benchmark's JSON; `jsonl`: a file that `write_jsonl` wrote."""

SPLITS: tuple[Split, ...] = get_args(Split)
FILE_SPLITS: tuple[Split, ...] = ("longmemeval", "jsonl")
DEFAULT_LEVEL = 2
DEFAULT_COUNT = 1000
"""How many generated episodes a source holds when nobody says."""


@dataclass(frozen=True)
class GeneratedEpisodes(Sequence[Episode]):
    """`size` generated episodes that are made when asked for: item `index` is a pure function of these fields and `index`."""

    split: str
    level: int
    seed: int
    questions: int
    budget: int
    size: int

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> Episode: ...
    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...
    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        from supersession.sources.generator import generate

        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.size))]
        if not -self.size <= index < self.size:
            raise IndexError(f"episode {index} of {self.size}")
        return generate(self.split, self.seed, index % self.size, self.level, self.questions, self.budget)


def open_source(
    split: str,
    *,
    level: int | None = None,
    count: int | None = None,
    seed: int = 0,
    data_path: str | Path | None = None,
    questions: int = 1,
    budget: int = 300,
) -> Sequence[Episode]:
    """Return the episodes of `split`.

    Generated splits hold `count` episodes (default `DEFAULT_COUNT`) of difficulty `level` (default `DEFAULT_LEVEL`) with `questions`
    questions each, a function of (split, seed, index) alone; `budget` is the notes budget in characters that their expert notes keep to.
    The file splits hold the first `count` episodes of `data_path` (default all); `longmemeval` without a path is read from the Hugging
    Face hub. Raises `EpisodeError` for an unknown split or level, a number out of range, an option that does not apply to the split, or a
    bad file.
    """
    if split not in SPLITS:
        raise EpisodeError(f"split {split!r} is unknown; choose one of {', '.join(SPLITS)}")
    for name, value in (("count", count), ("questions", questions), ("budget", budget)):
        if value is not None and value < 1:
            raise EpisodeError(f"{name} must be at least 1, got {value}")
    if split in FILE_SPLITS:
        if level is not None:
            raise EpisodeError(f"level {level} does not apply to split {split!r}, whose episodes are read from a file; leave it out")
        return _from_file(split, None if data_path is None else Path(data_path), count)
    if data_path is not None:
        raise EpisodeError(
            f"data_path {str(data_path)!r} does not apply to the generated split {split!r}; use split 'jsonl' or 'longmemeval'"
        )
    from supersession.sources.generator import LEVELS

    level = DEFAULT_LEVEL if level is None else level
    if level not in LEVELS:
        raise EpisodeError(f"level {level!r} is unknown; choose one of {', '.join(map(str, LEVELS))}")
    return GeneratedEpisodes(split, level, seed, questions, budget, DEFAULT_COUNT if count is None else count)


def _from_file(split: str, path: Path | None, count: int | None) -> list[Episode]:
    if split == "longmemeval":
        from supersession.sources.longmemeval import load_longmemeval

        return load_longmemeval(path)[:count]
    if path is None:
        raise EpisodeError("split 'jsonl' reads its episodes from a file; give its path as data_path")
    episodes = list(itertools.islice(read_jsonl(path), count))
    (name, times), *_ = Counter(episode.id for episode in episodes).most_common(1)
    if times > 1:
        raise EpisodeError(f"{path}: {times} episodes have the id {name!r}; results are kept by id, so give each its own")
    return episodes
