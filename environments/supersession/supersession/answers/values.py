"""Typed values and when two of them are the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "money", "percent", "time", "duration", "date", "weekday", "frequency", "ratio", "name", "yesno", "direction"]

SECOND, MINUTE, HOUR, DAY, WEEK = 1.0, 60.0, 3600.0, 86400.0, 604800.0
YEAR = 365.25 * DAY
MONTH = YEAR / 12


@dataclass(frozen=True, slots=True)
class Value:
    """A value as read from text.

    `low` and `high` differ for a range. Their scale: plain count (number, money, percent), minutes after midnight or noon (time),
    seconds (duration), 0-6 from Monday (weekday), times per second (frequency), +1 / -1 (yesno, direction).
    `unit` is a currency, a measure, "am" / "pm", "dozen", or "" where none is given. `bound` is "over" or "under" where the
    text says "more than" or "less than". `pair` holds the two numbers of "5-2"; `date` is (year, month, day), 0 where not given.
    `count` is the number as written, before its unit.
    """

    kind: Kind
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    bound: str = ""
    pair: tuple[float, float] | None = None
    date: tuple[int, int, int] = (0, 0, 0)
    count: tuple[float, float] | None = None


def same(wanted: Value, found: Value) -> bool:
    """Say whether `found`, read from an answer, is what `wanted`, read from a gold, says.

    A unit that only one side gives is taken as agreed; units that both give must agree. "more than 4" is not 4.
    """
    if found.bound and found.bound != wanted.bound:
        return False
    if wanted.kind == found.kind:
        return _same_kind(wanted, found)
    if found.kind == "number":
        return (not found.unit or (found.unit, wanted.unit) == ("lb", "£")) and _bare_number_fits(wanted, found)
    if wanted.kind == "number":
        return _as_number(wanted, found)
    if wanted.kind == "ratio":
        return found.pair == wanted.pair
    if {wanted.kind, found.kind} == {"duration", "time"}:
        return _clock_is_duration(wanted, found)
    if wanted.kind == "weekday" and found.kind == "frequency":
        return found.pair is not None and found.pair[0] == wanted.low
    return False


def _same_kind(wanted: Value, found: Value) -> bool:
    if wanted.kind == "date":
        return _same_date(wanted.date, found.date)
    if wanted.kind == "time":
        return _close(wanted, found) and (not wanted.unit or not found.unit or wanted.unit == found.unit)
    if wanted.kind == "ratio":
        return wanted.pair == found.pair
    if wanted.kind == "money":
        return _close(wanted, found) and (not wanted.unit or not found.unit or wanted.unit == found.unit)
    if wanted.kind == "number" and wanted.unit != found.unit:
        if "dozen" in (wanted.unit, found.unit):
            # "20 dozen" is 20 where the question counts dozens, else 240.
            dozens, plain = (wanted, found) if wanted.unit == "dozen" else (found, wanted)
            return _close(dozens, plain) or (math.isclose(12 * dozens.low, plain.low) and math.isclose(12 * dozens.high, plain.high))
        return _close(wanted, found) and not (wanted.unit and found.unit)
    return _close(wanted, found)


def _close(a: Value, b: Value) -> bool:
    return math.isclose(a.low, b.low, rel_tol=1e-9, abs_tol=1e-12) and math.isclose(a.high, b.high, rel_tol=1e-9, abs_tol=1e-12)


def _bare_number_fits(wanted: Value, found: Value) -> bool:
    if wanted.kind in ("money", "percent"):
        return _close(wanted, found)
    if wanted.kind == "time":
        return found.low == found.high and 1 <= found.low <= 12 and (found.low % 12) * 60 == wanted.low
    if wanted.kind == "ratio":
        return found.pair == wanted.pair
    return wanted.kind == "duration" and wanted.count == (found.low, found.high)


def _as_number(wanted: Value, found: Value) -> bool:
    return found.kind in ("duration", "frequency", "percent", "money") and found.count == (wanted.low, wanted.high)


def _clock_is_duration(a: Value, b: Value) -> bool:
    """25:50 as a duration is 25 minutes 50 seconds, or 25 hours 50 minutes."""
    clock, duration = (a, b) if a.kind == "time" else (b, a)
    if clock.pair is None or (clock.unit and 1 <= clock.pair[0] <= 12):
        return False
    large, small = clock.pair
    return duration.low == duration.high and duration.low in (large * MINUTE + small, large * HOUR + small * MINUTE)


def _same_date(wanted: tuple[int, int, int], found: tuple[int, int, int]) -> bool:
    """Every part that both give must agree; the answer must give the gold's month and day, or its year when it has nothing else."""
    if any(a and b and a != b for a, b in zip(wanted, found, strict=True)):
        return False
    needed = wanted[1:] if any(wanted[1:]) else wanted
    given = found[1:] if any(wanted[1:]) else found
    return all(b for a, b in zip(needed, given, strict=True) if a)
