"""What an ideal agent writes: every fact as it is now and what it was before, in as few characters as the budget asks for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

from supersession.episode import NOT_STATED, Question

if TYPE_CHECKING:
    from supersession.sources.generator.plan import Fact

UNKNOWN = "unknown"
NOTHING = "(empty)"
"""What the notes say before any fact was told, as the protocol shows them."""


def expert_notes(facts: Sequence[Fact], dates: Sequence[dt.datetime], budget: int, dated: bool) -> tuple[str, ...]:
    """Return the notes after each session, each within `budget` characters.

    `dated` adds to each value the day (month/day) on which it was told. Where the budget is short, dates go first, then the older
    values, then the previous ones, and last whole facts, beginning with those told first.
    """
    days = [f"{date:%m/%d}" for date in dates]
    notes = []
    for session in range(len(days)):
        told = sorted((fact for fact in facts if fact.said[0].session <= session), key=lambda fact: fact.said[0].at)
        notes.append(_fit(told, days, session + 1, budget, dated))
    return tuple(notes)


def full_length(facts: Sequence[Fact], dated: bool) -> int:
    """Return the characters of the longest that complete notes about `facts` can be."""
    last = max(fact.said[-1].session for fact in facts)
    return len("\n".join(_line(fact, ["12/31"] * (last + 1), float("inf"), 99, dated) for fact in facts))


def expert_answer(question: Question) -> str:
    """Return the short ideal reply to a generated question."""
    if question.gold == NOT_STATED:
        return UNKNOWN
    if question.kind == "both":
        before, now = question.gold.split(" -> ")
        return f"first {before}, now {now}"
    return question.gold


def _fit(facts: Sequence[Fact], days: Sequence[str], before: float, budget: int, dated: bool) -> str:
    if not facts:
        return NOTHING if len(NOTHING) <= budget else ""
    for with_dates, depth in ((dated, 99), (False, 99), (False, 1), (False, 0)):
        text = "\n".join(_line(fact, days, before, depth, with_dates) for fact in facts)
        if len(text) <= budget:
            return text
    while len(facts) > 1 and len(text) > budget:
        facts = facts[1:]
        text = "\n".join(_line(fact, days, before, 0, False) for fact in facts)
    return text if len(text) <= budget else ""


def _line(fact: Fact, days: Sequence[str], before: float, depth: int, dated: bool) -> str:
    """Return a line such as "gym: Fit Barn (was Iron Temple, Peak Gym)", the newest first."""
    states = [(value or UNKNOWN) + (f" {days[session]}" if dated else "") for session, value in reversed(fact.history(before))]
    gone = states[1 : 1 + depth]
    owner = f"{fact.person.name} " if fact.person else f"{fact.scope} " if fact.scope else ""
    return f"{owner}{fact.attribute.label}: {states[0]}" + (f" (was {', '.join(gone)})" if gone else "")
