"""Values of attributes: how they are drawn, and how they are written in text and as gold answers."""

from __future__ import annotations

import datetime as dt
from typing import Any

from supersession.episode import ValueType
from supersession.sources.generator.draw import Draw

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def all_values(kind: ValueType, spec: dict[str, Any]) -> tuple[str, ...]:
    """Return the values that an attribute of this type can take, in order.

    `spec` holds `range` = [low, high, step] for numbers and clock times, `unit` for durations, and `days` = [first, last] for dates.
    Raises `ValueError` for a type that has no range.
    """
    if kind == "date":
        first, last = spec.get("days", (1, 28))
        return tuple(f"{month:%B} {day}" for month in (dt.date(2000, m, 1) for m in range(1, 13)) for day in range(first, last + 1))
    low, high, step = spec["range"]
    if kind == "time":
        return tuple(_clock(minutes) for minutes in range(_minutes(low), _minutes(high) + 1, step))
    count = round((high - low) / step) + 1
    numbers = [low + step * place for place in range(count)]
    if kind == "integer":
        return tuple(str(number) for number in numbers)
    if kind == "money":
        return tuple(f"${number:,}" for number in numbers)
    if kind == "duration":
        return tuple(f"{number} {spec['unit']}" for number in numbers)
    if kind in ("decimal", "percent"):
        sign = "%" if kind == "percent" else ""
        return tuple(f"{number:.1f}".removesuffix(".0") + sign for number in numbers)
    raise ValueError(f"attributes of type {kind!r} need a list of values, not a range")


def difference_in_words(draw: Draw, highest: int) -> int:
    """Return a difference in [1, highest] that reads well in words."""
    return draw.between(1, min(highest, len(NUMBER_WORDS) - 1))


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def _clock(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{(hours - 1) % 12 + 1}:{rest:02d} {'am' if hours < 12 else 'pm'}"
