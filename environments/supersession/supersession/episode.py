"""The data model: an episode is a dated sequence of chat sessions in which facts change, and questions about them.

Everything here is plain data. Where an episode carries a timeline of fact events, `resolve` recomputes a question's gold
answer from the timeline alone, independently of the code that wrote the text.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

NOT_STATED = "not stated"
"""Gold value of a question whose answer the episode never gives."""

Role = Literal["user", "assistant"]
EventKind = Literal["assert", "update", "increment", "retract", "correct", "repeat", "exception", "invalid"]
QuestionKind = Literal["current", "previous", "both", "as_of", "count", "direction", "abstain", "scoped"]
ValueType = Literal[
    "auto",
    "integer",
    "decimal",
    "money",
    "percent",
    "time",
    "duration",
    "date",
    "weekday",
    "frequency",
    "ratio",
    "name",
    "yesno",
    "list",
    "both",
    "direction",
    "abstain",
]


class EpisodeError(ValueError):
    """An episode file or row that cannot be used; the message names the place, the value and the remedy."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Turn(_Model):
    role: Role
    content: str


class Session(_Model):
    date: dt.datetime
    turns: tuple[Turn, ...] = Field(min_length=1)


class FactKey(_Model):
    """What a value is a value of: (scope, subject, attribute), for example ("work", "user", "standup time")."""

    scope: str = ""
    subject: str
    attribute: str


class FactEvent(_Model):
    """Something said about a fact key at one turn.

    `assert`, `update` and `correct` set the lasting value; `increment` adds `value` to it; `retract` removes it; `repeat`,
    `exception` (true once, not lasting) and `invalid` (hearsay, a joke, an intention that came to nothing) leave it alone.
    """

    session: int = Field(ge=0)
    turn: int = Field(ge=0)
    key: FactKey
    kind: EventKind
    by: Role = "user"
    value: str | None = None

    @model_validator(mode="after")
    def _value_where_needed(self) -> FactEvent:
        if self.value is None and self.kind != "retract":
            raise ValueError(f"a {self.kind!r} event needs a value")
        return self


class Question(_Model):
    """A question and everything that the scorer needs: the gold value, the superseded values, the other candidates.

    For kind `both` the gold reads "PREVIOUS -> CURRENT"; for `direction` it is "increase" or "decrease"; for `abstain` it is
    `NOT_STATED`. `others` holds further values of the same type that occur in the episode and are wrong here.
    """

    id: str
    date: dt.datetime
    text: str = Field(min_length=1)
    kind: QuestionKind = "current"
    value_type: ValueType = "auto"
    gold: str = Field(min_length=1)
    stale: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    key: FactKey | None = None
    as_of: dt.datetime | None = None


class Episode(_Model):
    id: str
    sessions: tuple[Session, ...] = Field(min_length=1)
    timeline: tuple[FactEvent, ...] = ()
    questions: tuple[Question, ...] = Field(min_length=1)
    expert_notes: tuple[str, ...] = ()
    """What an ideal agent's notes say after each session; empty where nobody wrote them."""
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _parts_agree(self) -> Episode:
        for event in self.timeline:
            if event.session >= len(self.sessions) or event.turn >= len(self.sessions[event.session].turns):
                raise ValueError(f"a timeline event points at session {event.session}, turn {event.turn}, which is not there")
        if self.expert_notes and len(self.expert_notes) != len(self.sessions):
            raise ValueError(f"{len(self.expert_notes)} expert notes for {len(self.sessions)} sessions; give one per session or none")
        ids = [question.id for question in self.questions]
        if len(set(ids)) != len(ids):
            raise ValueError(f"question ids must differ within an episode, got {ids}")
        return self


def format_date(date: dt.datetime) -> str:
    """Return a date as LongMemEval writes it, `2023/05/25 (Thu) 20:21`."""
    return date.strftime("%Y/%m/%d (%a) %H:%M")


def parse_date(text: str) -> dt.datetime:
    """Read `2023/05/25 (Thu) 20:21` (LongMemEval) or ISO 8601; raise `EpisodeError` on anything else."""
    try:
        return dt.datetime.strptime(text, "%Y/%m/%d (%a) %H:%M")
    except ValueError:
        pass
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        raise EpisodeError(f"date {text!r} is neither like '2023/05/25 (Thu) 20:21' nor ISO 8601") from None


def lasting_values(episode: Episode, key: FactKey, as_of: dt.datetime | None = None) -> list[str | None]:
    """Return the lasting values that `key` took, oldest first, up to `as_of`; None stands for a retracted value.

    A correction replaces the value that it corrects, which was never true and so is not part of the history.
    """
    history: list[str | None] = []
    for event in sorted(episode.timeline, key=lambda e: (e.session, e.turn)):
        if event.key != key or (as_of is not None and episode.sessions[event.session].date > as_of):
            continue
        if event.kind in ("assert", "update"):
            history.append(event.value)
        elif event.kind == "increment":
            before = history[-1] if history and history[-1] is not None else "0"
            history.append(str(int(before) + int(event.value or "0")))
        elif event.kind == "correct":
            history[-1:] = [event.value]
        elif event.kind == "retract":
            history.append(None)
    return history


def resolve(episode: Episode, question: Question) -> str:
    """Recompute the gold answer of `question` from the timeline.

    Raises `EpisodeError` if the question names no fact key or if the timeline cannot answer its kind.
    """
    if question.key is None:
        raise EpisodeError(f"question {question.id!r} names no fact key, so its gold cannot be recomputed")
    history = lasting_values(episode, question.key, question.as_of if question.kind == "as_of" else None)
    current = history[-1] if history else None
    if question.kind in ("current", "scoped", "count", "as_of", "abstain"):
        return NOT_STATED if current is None else current
    before = next((value for value in reversed(history[:-1]) if value is not None), None)
    if before is None or current is None:
        raise EpisodeError(f"question {question.id!r} of kind {question.kind!r} needs two values of {question.key}, got {history}")
    if question.kind == "previous":
        return before
    if question.kind == "both":
        return f"{before} -> {current}"
    return "increase" if float(current) > float(before) else "decrease"


def write_jsonl(episodes: Iterable[Episode], path: Path) -> int:
    """Write episodes to `path`, one JSON object a line, and return how many; an existing file is replaced only when all are written."""
    partial = path.with_name(path.name + ".partial")
    count = 0
    try:
        with partial.open("w", encoding="utf-8") as file:
            for episode in episodes:
                file.write(episode.model_dump_json() + "\n")
                count += 1
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def read_jsonl(path: Path) -> Iterator[Episode]:
    """Yield the episodes of a JSONL file; raise `EpisodeError` naming file, line and field on the first bad row, or if it has none."""
    count = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    count += 1
                    yield parse_episode(line, where=f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise EpisodeError(f"cannot read {path}: {error}") from error
    if count == 0:
        raise EpisodeError(f"{path} holds no episodes; write one JSON object a line")


def parse_episode(line: str, where: str) -> Episode:
    """Read one episode from JSON text; `where` names its place in error messages (`EpisodeError`)."""
    try:
        return Episode.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise EpisodeError(f"{where}: not valid JSON ({error}); is the file truncated?") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "episode"
        shown = repr(first["input"])
        raise EpisodeError(f"{where}, field {field}: {first['msg']}, got {shown[:80]}") from error
