"""What an answer commits to."""

from __future__ import annotations

from enum import StrEnum
from collections.abc import Sequence


class Verdict(StrEnum):
    CURRENT = "current"
    STALE = "stale"
    HEDGED = "hedged"
    ABSTAIN = "abstain"
    OTHER = "other"


def verdict(answer: str, gold: str, stale: Sequence[str] = (), others: Sequence[str] = (), question: str | None = None, value_type: str = "auto") -> Verdict:
    has = lambda v: mentions(answer, v)
    if "unknown" in answer.lower() or "not stated" in answer.lower():
        return Verdict.ABSTAIN
    if has(gold):
        return Verdict.HEDGED if any(has(s) for s in stale) else Verdict.CURRENT
    return Verdict.STALE if any(has(s) for s in stale) else Verdict.OTHER


def mentions(text: str, value: str, question: str | None = None, value_type: str = "auto") -> bool:
    return f" {value.lower()} " in f" {text.lower().strip(' .')} "
