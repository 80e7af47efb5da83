"""What a gold answer says: its type, its value in comparable form, and what the question asks about."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from supersession.answers.direction import direction_nouns, read_direction
from supersession.answers.names import Name, read_name
from supersession.answers.scan import noun_stems, scan
from supersession.answers.text import content, normalise, tokenise
from supersession.answers.values import Kind, Value
from supersession.episode import NOT_STATED, ValueType

Shape = Kind | Literal["both", "list", "abstain"]

_TYPES: dict[ValueType, Kind] = {
    "integer": "number",
    "decimal": "number",
    "money": "money",
    "percent": "percent",
    "time": "time",
    "duration": "duration",
    "date": "date",
    "weekday": "weekday",
    "frequency": "frequency",
    "ratio": "ratio",
    "name": "name",
    "yesno": "yesno",
    "direction": "direction",
}
_NO_INFORMATION = re.compile(
    r"^(?:the )?(?:information|info) (?:provided )?(?:is not|isn't) enough|^not stated\b|^unknown\b|^not (?:mentioned|specified|given)\b|^no information\b",
    re.I,
)
_YES_NO = re.compile(r"^(yes|no|not|never)\b", re.IGNORECASE)
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_EITHER_WAY = re.compile(
    r"\b(?:increase|decrease|more|less|fewer|higher|lower|up|down)\b.{0,80}\bor\b.{0,80}\b(?:increase|decrease|more|less|fewer|higher|lower|up|down)\b",
    re.I,
)
_ONCE = re.compile(r"\b(?:previously|formerly|originally|initially|used to|at first|back in)\b")
_EARLIER = re.compile(r"\b(?:previous|before|former|original|initial|prior|earlier|old|as of|up to|by the end of)\b")
_PAST_VERB = re.compile(r"\b(?:was|were|did|had|used)\b")
_TWO_ASKED = re.compile(r"\?.*\?|\bprevious\w*\b.*\band\b.*\b(?:now|current\w*)\b|\bbefore and (?:now|after)\b|\bfrom what to what\b", re.S)
_COUNTED = re.compile(r"\bhow (?:many|much) ((?:[\w'-]+ ){1,4})")


@dataclass(frozen=True, slots=True)
class Target:
    """One value to look for: `values` are its typed readings, all equally good; `name` is its reading as a phrase."""

    values: tuple[Value, ...] = ()
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Spec:
    """What is asked and what is right.

    `target` is the gold; for "both" and "list" the `parts` are. `asked` holds the stems of the question, `counted` those of what it
    counts; `echo` its pairs of words. `past` says that the question asks for what was so before. `noun` is what a direction is about; `support` holds
    phrases that show a yes or a no without saying it.
    """

    shape: Shape
    target: Target
    kind: Kind = "name"
    parts: tuple[Target, ...] = ()
    asked: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()
    past: bool = False
    noun: frozenset[str] = frozenset()
    support: tuple[Name, ...] = ()
    echo: frozenset[tuple[str, str]] = frozenset()


@lru_cache(maxsize=8192)
def spec_of(gold: str, question: str | None, value_type: ValueType) -> Spec:
    """Return the spec of a gold answer; the type is inferred from gold and question where `value_type` is "auto"."""
    asked_text = normalise(question or "").lower()
    asked = frozenset(content(asked_text))
    if value_type == "abstain" or gold.strip().lower() == NOT_STATED or _NO_INFORMATION.search(gold.strip()):
        return Spec("abstain", Target(), asked=asked)
    past = _asks_for_past(asked_text)
    words = tokenise(asked_text).words
    echo = frozenset(itertools.pairwise(words))
    counted = _COUNTED.search(asked_text)
    main, notes = _main(gold)
    nouns = frozenset(content(counted.group(1)) if counted else ()) | set(_gold_nouns(main))
    if value_type == "both" or " -> " in gold or (value_type == "auto" and _TWO_ASKED.search(asked_text)):
        parts = _two_parts(main)
        if parts:
            kind = infer_kind(parts[1], asked_text)
            return Spec("both", Target(), kind, tuple(target_of(part, kind, question) for part in parts), asked, nouns, echo=echo)
    if value_type == "list" or (value_type == "auto" and _is_list(main)):
        items = _items(main)
        kind = infer_kind(items[0], "")
        return Spec("list", Target(), kind, tuple(target_of(item, kind, question) for item in items), asked, nouns, past, echo=echo)
    kind = _TYPES[value_type] if value_type in _TYPES else infer_kind(main, asked_text)
    return Spec(
        kind,
        target_of(gold, kind, question),
        kind,
        asked=asked,
        counted=nouns,
        past=past,
        noun=direction_nouns(tokenise(normalise(main))) if kind == "direction" else frozenset(),
        echo=echo,
        support=tuple(read_name(note) for note in notes if len(content(note)) <= 6) if kind == "yesno" else (),
    )


def _asks_for_past(question: str) -> bool:
    if "currently" in question:
        return False
    return bool(_ONCE.search(question) or (_EARLIER.search(question) and _PAST_VERB.search(question)))


def _gold_nouns(gold: str) -> list[str]:
    tokens = tokenise(normalise(gold))
    return [noun for hit in scan(tokens) if hit.value.kind == "number" for noun in noun_stems(tokens, hit.end)]


@lru_cache(maxsize=32768)
def target_of(text: str, kind: Kind, question: str | None) -> Target:
    """Return what `text` says when read as `kind`; as a phrase where it holds no value of that kind."""
    main, notes = _main(text)
    values: list[Value] = []
    for part in (main, *(note.removeprefix("or ") for note in notes)):
        value = _value(part, kind)
        if value is not None and (not values or part is main or text.find("(or ") >= 0 or value.low == values[0].low):
            values.append(value)
    if values:
        return Target(tuple(values))
    return Target(name=read_name(main, question or ""))


def infer_kind(gold: str, question: str) -> Kind:
    """Return the type of a gold answer, "name" for a phrase."""
    text = normalise(gold)
    if _YES_NO.match(text.strip()):
        return "yesno"
    tokens = tokenise(text)
    if read_direction(tokens) is not None and (_EITHER_WAY.search(question) or len(tokens) == 1):
        return "direction"
    found = scan(tokens)
    if not found:
        return "name"
    covered = {i for hit in found for i in range(hit.start, hit.end)}
    known = set(content(question))
    rest = [
        i
        for i, word in enumerate(tokens.words)
        if i not in covered and word[0].isalnum() and content(word) and not set(content(word)) <= known
    ]
    proper = any(text[tokens.starts[i]].isupper() for i in rest if tokens.starts[i] > 0)
    if len(rest) > 3 or proper or (found[0].start in covered and rest and found[0].start > rest[0] + 1):
        return "name"
    return _plain_kind(found[0].value, question)


def _plain_kind(value: Value, question: str) -> Kind:
    if value.kind == "number" and value.pair is not None and re.search(r"\b(?:record|score|ratio|result)\b", question):
        return "ratio"
    if value.kind == "number" and not value.unit:
        if re.search(
            r"\bhow much\b.{0,60}\b(?:cost|pay|paid|earn|spend|spent|save|saved|worth|owe|make|raise|raised)\b|\bwhat (?:price|amount|sum|budget|salary|rent)\b",
            question,
        ):
            return "money"
        if re.search(r"\bpercent", question):
            return "percent"
    return value.kind


def _value(text: str, kind: Kind) -> Value | None:
    tokens = tokenise(normalise(text))
    if kind == "yesno":
        word = _YES_NO.match(text.strip())
        return Value("yesno", *(2 * (1.0 if word.group(1).lower() == "yes" else -1.0,))) if word else None
    if kind == "direction":
        found = read_direction(tokens)
        return Value("direction", found, found) if found is not None else None
    if kind == "name":
        return None
    hits = [hit.value for hit in scan(tokens)]
    exact = [value for value in hits if value.kind == kind]
    if exact:
        return exact[0]
    if kind == "ratio":
        return next((Value("ratio", pair=value.pair) for value in hits if value.pair is not None), None)
    if kind in ("money", "percent", "number") and hits and hits[0].count is not None:
        return Value(kind, *hits[0].count)
    if kind == "duration":
        return next((value for value in hits if value.kind == "time"), None)
    return None


def _main(text: str) -> tuple[str, list[str]]:
    """Split a gold answer from its parentheses."""
    notes = [note.strip() for note in _PARENTHESES.findall(text)]
    main = _PARENTHESES.sub(" ", text).strip().strip(".").strip()
    return (main, notes) if main else (text, [])


def _two_parts(text: str) -> tuple[str, str] | None:
    if "->" in text:
        before, _, now = text.partition("->")
        return (before.strip(), now.strip()) if before.strip() and now.strip() else None
    pieces = [piece for piece in re.split(r"(?<=[.;!?])\s+|,? (?:and|but) (?=now|current)", text) if piece.strip()]
    return (pieces[0], pieces[1]) if len(pieces) == 2 else None


def _is_list(text: str) -> bool:
    return (text.count(",") >= 2 and len(text) < 200) or (
        bool(re.fullmatch(r"[\w']+ and [\w']+", text)) and infer_kind(text, "") == "weekday"
    )


def _items(text: str) -> list[str]:
    return [item.strip() for item in re.split(r",\s*(?:and\s+)?|;\s*|\s+and\s+", text) if item.strip()] or [text]
