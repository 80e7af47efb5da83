"""One row per question, and the folder that keeps them: append-only, resumable, safe against kill -9 and a full disk."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from supersession.answers import Verdict
from supersession.cli import UsageError, write_text
from supersession.episode import Episode


class SegmentSize(BaseModel):
    """The size of one prompt and its reply; token counts are None where the engine does not report them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["write", "answer"]
    index: int
    prompt_chars: int
    prompt_tokens: int | None
    reply_tokens: int | None
    truncated: bool
    """Whether the token limit cut the reply."""


class Row(BaseModel):
    """How one question went. `segments` are the writes of its rollout and its own answer turn.

    `notes` and `overflow` (characters cut) have one entry per session. T and C say whether the final notes hold the gold and a superseded
    value (`QuestionScore`). `seconds` is the wall time of the rollout, which several questions share; of rollouts played together, the
    equal share. Where `error` is set the rollout failed, and what depends on it is None or empty.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    episode_id: str
    question_id: str
    kind: str
    condition: str
    budget: int
    question: str
    gold: str
    stale: tuple[str, ...]
    segments: tuple[SegmentSize, ...] = ()
    notes: tuple[str, ...] = ()
    overflow: tuple[int, ...] = ()
    answer: str | None = None
    verdict: Verdict | None = None
    correct: bool | None = None
    T: bool | None = None
    C: bool | None = None
    reward: float | None = None
    seconds: float = 0.0
    error: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.episode_id, self.question_id


class RowStore:
    """A folder with `rows.jsonl` and the `config.json` that made them; use it as a context manager.

    Opening takes the folder for this process alone, and refuses rows that another config made. Raises `UsageError` for both, and for a
    damaged file; `OSError` where the disk refuses.
    """

    def __init__(self, folder: Path, config: Mapping[str, object]) -> None:
        self.folder = folder
        self._path = folder / "rows.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(folder / ".lock", blocking=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise UsageError(f"another run is writing to {folder}; wait for it or choose another --out") from None
        try:
            self._check_config(config)
            self._rows = _repaired_rows(self._path)
            self._file = self._path.open("ab", buffering=0)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> RowStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        self._lock.release()

    def finished(self, episodes: Iterable[Episode]) -> list[Row]:
        """Return the rows of those episodes whose questions all have a good one; the failed and the incomplete leave the file."""
        wanted = {episode.id: {question.id for question in episode.questions} for episode in episodes}
        good: dict[str, set[str]] = {}
        for row in self._rows:
            if row.error is None:
                good.setdefault(row.episode_id, set()).add(row.question_id)
        # Rows of episodes that this run leaves out, say by a smaller --limit, stay for the next one.
        kept = [row for row in self._rows if row.error is None and wanted.get(row.episode_id, set()) <= good[row.episode_id]]
        if len(kept) < len(self._rows):
            self._file.close()
            write_text(self._path, "".join(_line(row) for row in kept))
            self._file = self._path.open("ab", buffering=0)
            self._rows = kept
        return [row for row in kept if row.episode_id in wanted]

    def add(self, rows: Sequence[Row]) -> None:
        """Append the rows of one rollout. On `OSError` none of them is left in the file."""
        data = memoryview("".join(_line(row) for row in rows).encode())
        end = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(end)
            raise
        self._rows += rows

    def _check_config(self, config: Mapping[str, object]) -> None:
        path = self.folder / "config.json"
        config = json.loads(json.dumps(dict(config)))
        if not path.exists():
            write_text(path, json.dumps(config, indent=2) + "\n")
            return
        try:
            earlier = dict(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise UsageError(f"{path} is damaged ({error}); choose another --out") from error
        for name in sorted(earlier.keys() | config.keys()):
            if earlier.get(name) != config.get(name):
                was, now = earlier.get(name), config.get(name)
                raise UsageError(f"{self.folder} holds results with {name} {was!r}, this run has {now!r}; choose another --out")


def read_rows(folder: Path) -> list[Row]:
    """Return the rows that an evaluation left in `folder`, touching nothing: a run that is still writing may go on.

    Raises `UsageError` where there are none, or a damaged one.
    """
    path = folder / "rows.jsonl"
    if not path.is_file():
        raise UsageError(f"{folder} holds no rows.jsonl; give the --out folder of an evaluation")
    rows, _ = _parse(path)
    if not rows:
        raise UsageError(f"{path} holds no rows yet; let the evaluation finish a question first")
    return rows


def _repaired_rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    rows, torn = _parse(path)
    if torn:
        # A killed run can leave an unfinished last line; its question is asked again.
        os.truncate(path, path.stat().st_size - torn)
    return rows


def _parse(path: Path) -> tuple[list[Row], int]:
    """Return the rows of a file and how many bytes of an unfinished row stand at its end."""
    *lines, torn = path.read_bytes().split(b"\n")
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(Row.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            raise UsageError(f"{path}, line {number} is damaged ({first['msg']}); delete the line or choose another folder") from error
    return rows, len(torn)


def _line(row: Row) -> str:
    return row.model_dump_json() + "\n"
