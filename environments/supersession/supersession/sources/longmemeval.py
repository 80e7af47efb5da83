"""LongMemEval's own JSON as episodes, with kinds and superseded values from a reviewed table of ours."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import re
import tomllib
import zlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from supersession.episode import NOT_STATED, Episode, EpisodeError, Question, QuestionKind, Role, Session, Turn, ValueType, parse_date

HUB_DATASET = "xiaowu0162/longmemeval-cleaned"
HUB_FILES = {"oracle": "longmemeval_oracle.json", "s": "longmemeval_s_cleaned.json"}
"""`oracle` holds the evidence sessions only, `s` about 50 sessions a question."""

Variant = Literal["oracle", "s"]

_DIRECTION = re.compile(
    r"\bincreased? or decreased?\b|\bmore\b.{0,80}\bor (?:less|fewer)\b|\b(?:higher|longer) or (?:lower|shorter)\b", re.IGNORECASE
)
_PREVIOUS = re.compile(
    r"\b(?:previously|initially|originally|formerly|used to)\b"
    r"|\b(?:is|was|were) (?:my|the) (?:previous|former|original)\b|\bbefore (?:I|my|the)\b",
    re.IGNORECASE,
)
_NOW = re.compile(r"\b(?:now|currently|at present)\b", re.IGNORECASE)
_START = re.compile(r"\b(?:initially|originally|just started|at first|previously)\b", re.IGNORECASE)
_DECREASE = re.compile(r"\bdecreas|\bless\b|\bfewer\b|\blower|\bshorter\b|\breduc", re.IGNORECASE)
_INCREASE = re.compile(r"\bincreas|\bmore\b|\bhigher\b|\blonger\b|\brais", re.IGNORECASE)


class Label(BaseModel):
    """What one item asks for: its kind, the value after the change, the superseded values, newest first, other wrong values, their type."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: QuestionKind
    current: str | None = None
    previous: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    value_type: ValueType = "auto"


class _Item(BaseModel):
    """One item of the benchmark's file; fields that are not needed here are let through."""

    question_id: str = Field(min_length=1)
    question_type: str
    question: str = Field(min_length=1)
    answer: str | int | float
    question_date: str
    haystack_dates: list[str] = Field(min_length=1)
    haystack_session_ids: list[str]
    haystack_sessions: list[list[_RawTurn]]
    answer_session_ids: list[str] = []
    label: Label | None = None

    @model_validator(mode="after")
    def _as_many_of_each(self) -> _Item:
        counts = {len(self.haystack_dates), len(self.haystack_session_ids), len(self.haystack_sessions)}
        if len(counts) > 1:
            raise ValueError("haystack_dates, haystack_session_ids and haystack_sessions must be equally long")
        return self


class _RawTurn(BaseModel):
    role: Role
    content: str
    has_answer: bool = False


def load_longmemeval(
    path: Path | None = None, variant: Variant = "oracle", question_type: str | None = "knowledge-update"
) -> list[Episode]:
    """Return the benchmark's items of one type (None: of all types) as episodes with one question each.

    `path` is a file in the benchmark's format, `.json` or `.json.gz`, whose items may carry a `label` of ours; without it, `variant` is
    read from the Hugging Face hub. Sessions are sorted by date, those of the same date in file order. The gold is the benchmark's answer,
    except for kinds whose gold has a fixed form (`Question`). `stale` holds the values that were true at another time than the one asked
    for. Turns and distractor sessions without text are left out. `meta` holds `answer_sessions` and `answer_turns`, the evidence as session
    and [session, turn] indices. Raises `EpisodeError` naming file, item and field.
    """
    source = download(variant) if path is None else path
    episodes = []
    for index, raw in enumerate(_read(source)):
        item = _parse(raw, f"{source}, item {index}")
        if question_type is None or item.question_type == question_type:
            episodes.append(_episode(item, f"{source}, item {index} ({item.question_id})"))
    if not episodes:
        wanted = "items" if question_type is None else f"items of type {question_type!r}"
        raise EpisodeError(f"{source} holds no {wanted}; give a LongMemEval file such as {HUB_FILES['oracle']}")
    return episodes


def download(variant: Variant) -> Path:
    """Return the benchmark's file from the Hugging Face hub, or its cached copy. Raises `EpisodeError` when it cannot be had."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(HUB_DATASET, HUB_FILES[variant], repo_type="dataset"))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise EpisodeError(
            f"{HUB_FILES[variant]} of {HUB_DATASET} is not cached and the hub cannot be reached; "
            "download it elsewhere and give its path as the data"
        ) from error


@cache
def labels() -> dict[str, Label]:
    """Return the reviewed table by question id."""
    text = resources.files(__package__).joinpath("lme_labels.toml").read_text(encoding="utf-8")
    return TypeAdapter(dict[str, Label]).validate_python(tomllib.loads(text))


def label_of(item: _Item) -> Label | None:
    """Return the item's own label, which files of ours carry, or the one in the reviewed table."""
    return item.label or labels().get(item.question_id)


def infer_kind(question_id: str, question: str) -> QuestionKind:
    """Return the kind that a question's wording suggests; ids that end in `_abs` want an abstention."""
    if question_id.endswith("_abs"):
        return "abstain"
    if _DIRECTION.search(question):
        return "direction"
    if _START.search(question) and _NOW.search(question):
        return "both"
    return "previous" if _PREVIOUS.search(question) else "current"


def _read(path: Path) -> list[Any]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            text = file.read()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise EpisodeError(f"cannot read {path}: {error}") from error
    if not text.strip():
        raise EpisodeError(f"{path} is empty; give a LongMemEval file such as {HUB_FILES['oracle']}")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise EpisodeError(f"{path}: not valid JSON ({error}); is the file truncated?") from error
    if not isinstance(data, list):
        raise EpisodeError(f"{path} holds a JSON {type(data).__name__}, not the list of items of a LongMemEval file")
    return data


def _parse(raw: Any, where: str) -> _Item:
    name = raw.get("question_id") if isinstance(raw, dict) else None
    where = f"{where} ({name})" if name else where
    try:
        return _Item.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise EpisodeError(f"{where}{f', field {field}' if field else ''}: {first['msg']}, got {repr(first['input'])[:80]}") from error


def _episode(item: _Item, where: str) -> Episode:
    order = sorted(range(len(item.haystack_dates)), key=lambda i: _date(item.haystack_dates[i], f"{where}, field haystack_dates.{i}"))
    sessions: list[Session] = []
    answer_sessions: list[int] = []
    answer_turns: list[list[int]] = []
    for i in order:
        turns = [turn for turn in item.haystack_sessions[i] if turn.content.strip()]
        is_evidence = item.haystack_session_ids[i] in item.answer_session_ids
        if not turns:
            if is_evidence:
                raise EpisodeError(f"{where}, field haystack_sessions.{i}: an answer session without text")
            continue
        if is_evidence:
            answer_sessions.append(len(sessions))
        answer_turns += [[len(sessions), place] for place, turn in enumerate(turns) if turn.has_answer]
        date = parse_date(item.haystack_dates[i])
        sessions.append(Session(date=date, turns=tuple(Turn(role=turn.role, content=turn.content) for turn in turns)))
    if not sessions:
        raise EpisodeError(f"{where}, field haystack_sessions: no session has any text")
    return Episode(
        id=item.question_id,
        sessions=tuple(sessions),
        questions=(_question(item, _date(item.question_date, f"{where}, field question_date")),),
        meta={
            "source": "longmemeval",
            "question_type": item.question_type,
            "reviewed": label_of(item) is not None,
            "answer_sessions": answer_sessions,
            "answer_turns": answer_turns,
        },
    )


def _question(item: _Item, date: dt.datetime) -> Question:
    label = label_of(item) or Label(kind=infer_kind(item.question_id, item.question))
    gold, stale, value_type = _gold(str(item.answer), label)
    others = tuple(value for value in label.others if value != gold and value not in stale)
    return Question(
        id=item.question_id, date=date, text=item.question, kind=label.kind, value_type=value_type, gold=gold, stale=stale, others=others
    )


def _gold(answer: str, label: Label) -> tuple[str, tuple[str, ...], ValueType]:
    """Return the gold, the values that were true at another time than the one asked for, and the value type."""
    if label.kind == "abstain":
        return NOT_STATED, label.previous, "abstain"
    if label.kind == "direction" and (way := label.current or _direction(answer)):
        return way, ("increase" if way == "decrease" else "decrease",), "direction"
    if label.kind == "both" and label.current and label.previous:
        return f"{label.previous[0]} -> {label.current}", (), "both"
    if label.kind == "as_of":
        return answer, tuple(value for value in (label.current, *label.previous) if value and value != answer), label.value_type
    if label.kind == "previous":
        return answer, (label.current,) if label.current else (), label.value_type
    return answer, label.previous, label.value_type


def _direction(answer: str) -> str | None:
    """Return which way an answer in words says that it went; None where it says both or neither."""
    down, up = bool(_DECREASE.search(answer)), bool(_INCREASE.search(answer))
    return None if down == up else "decrease" if down else "increase"


def _date(text: str, where: str) -> dt.datetime:
    try:
        return parse_date(text)
    except EpisodeError as error:
        raise EpisodeError(f"{where}: {error}") from None
