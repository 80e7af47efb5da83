"""Dates and clock times in free text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from supersession.answers.numerals import read_number
from supersession.answers.text import Tokens
from supersession.answers.values import HOUR, MINUTE, Value

MONTHS = {
    name: number
    for number, name in enumerate("january february march april may june july august september october november december".split(), start=1)
}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
WEEKDAYS = {name: number for number, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())}
WEEKDAYS |= {name[:3]: number for name, number in WEEKDAYS.items() if name[:3] not in ("sat", "sun")} | {
    "tues": 1,
    "thurs": 3,
    "thur": 3,
    "weds": 2,
}
WEEKDAYS |= {name + "s": number for name, number in WEEKDAYS.items()}
_HALF_DAY = {"morning": "am", "afternoon": "pm", "evening": "pm", "night": "pm"}
_DOTTED_CLOCK = re.compile(r"(?:1?\d|2[0-3])\.[0-5]\d")
# Month names that are also words or names; they need a preposition before them to be dates.
_AMBIGUOUS = frozenset(("may", "march", "mar", "dec", "sep", "jan", "april", "june", "august"))


@dataclass(frozen=True, slots=True)
class Found:
    """A value between the tokens `start` and `end`."""

    start: int
    end: int
    value: Value


def read_month_first(tokens: Tokens, i: int) -> Found | None:
    """Read "May 25, 2023", "May 2023", "in May"; a bare "may" or "march" that could be a verb is no date."""
    month, j = MONTHS[tokens.words[i]], i + 1
    if tokens.at(j) == "." and tokens.at(j + 1)[:1].isdigit():
        j += 1
    day = year = 0
    number = tokens.at(j)
    if number.isdigit() and 1 <= int(number[:4]) <= 31 and len(number) <= 2:
        day, j = int(number), j + 1
        if tokens.at(j) in ("st", "nd", "rd", "th") and tokens.glued(j):
            j += 1
        comma = tokens.at(j) == ","
        if _is_year(tokens.at(j + comma)):
            year, j = int(tokens.at(j + comma)), j + comma + 1
    elif _is_year(number):
        year, j = int(number), j + 1
    elif tokens.words[i] in _AMBIGUOUS and tokens.at(i - 1) not in ("in", "since", "until", "last", "of", ""):
        return None
    return Found(i, j, Value("date", date=(year, month, day)))


def read_digit_date(tokens: Tokens, i: int) -> Found | None:
    """Read "2023/05/30", "2023-05-30", "5/30/2023", "5/30", "25 May 2023", "25th of May"."""
    word = tokens.words[i]
    sign = tokens.at(i + 1)
    if sign in ("/", "-") and tokens.at(i + 2).isdigit() and tokens.glued(i + 1) and tokens.glued(i + 2):
        a, b = word, tokens.at(i + 2)
        c = tokens.at(i + 4) if tokens.at(i + 3) == sign and tokens.glued(i + 4) and tokens.at(i + 4).isdigit() else ""
        if _is_year(a) and c and len(b) <= 2 and len(c) <= 2:
            return Found(i, i + 5, Value("date", date=(int(a), int(b), int(c))))
        if c and len(a) <= 2 and len(b) <= 2 and (_is_year(c) or len(c) == 2) and a.isdigit():
            return Found(i, i + 5, Value("date", date=(int(c) if len(c) == 4 else 2000 + int(c), int(a), int(b))))
        return None
    if not word.isdigit() or len(word) > 2:
        return None
    j = i + 1
    if tokens.at(j) in ("st", "nd", "rd", "th") and tokens.glued(j):
        j += 1
    if tokens.at(j) == "of":
        j += 1
    if tokens.at(j) in MONTHS and (
        tokens.at(j) not in ("may", "march") or j > i + 1 or _is_year(tokens.at(j + 1)) or not tokens.at(j + 1).isalpha()
    ):
        month, j = MONTHS[tokens.at(j)], j + 1
        comma = tokens.at(j) == ","
        year = int(tokens.at(j + comma)) if _is_year(tokens.at(j + comma)) else 0
        return Found(i, j + comma + 1 if year else j, Value("date", date=(year, month, int(word))))
    return None


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit() and "1900" <= word <= "2100"


def read_clock(tokens: Tokens, i: int) -> Found | None:
    """Read "7:30", "7:30 pm", "19:30", "7 am", "7 o'clock", "1:05:30" and, as a ratio, "1:5"."""
    word = tokens.words[i]
    if _DOTTED_CLOCK.fullmatch(word) and tokens.at(i + 1) in ("am", "pm"):
        return Found(i, i + 2, _time_of(int(word[:-3]), int(word[-2:]), tokens.at(i + 1)))
    if not word.isdigit() or len(word) > 4:
        return None
    hour = int(word)
    if tokens.at(i + 1) == ":" and tokens.glued(i + 1) and tokens.at(i + 2).isdigit() and tokens.glued(i + 2):
        text, j = tokens.at(i + 2), i + 3
        if len(text) != 2 or int(text) > 59:
            return Found(i, j, Value("ratio", pair=(float(hour), float(text[:9]))))
        if tokens.at(j) == ":" and len(tokens.at(j + 1)) == 2 and tokens.at(j + 1).isdigit():
            seconds = hour * HOUR + int(text) * MINUTE + int(tokens.at(j + 1))
            return Found(i, j + 2, Value("duration", seconds, seconds))
        half, j = _half_day(tokens, j)
        return _until(tokens, Found(i, j, _time_of(hour, int(text), half)))
    if 1 <= hour <= 12:
        half, j = _half_day(tokens, i + 1)
        if half or tokens.at(i + 1) == "o'clock":
            return Found(i, max(j, i + 2), _time_of(hour, 0, half))
    return None


def _until(tokens: Tokens, first: Found) -> Found:
    """Read the end of "8:00-8:30 am", "8:00 to 8:30"; a single time is returned as it is."""
    j = first.end
    if tokens.at(j) not in ("-", "to") or tokens.at(first.start - 1) == "from" or tokens.at(j + 2) != ":" or not tokens.at(j + 1).isdigit():
        return first
    second = read_clock(tokens, j + 1)
    if second is None or second.value.kind != "time":
        return first
    half = first.value.unit or second.value.unit
    return Found(first.start, second.end, Value("time", first.value.low, second.value.low, half))


def _half_day(tokens: Tokens, j: int) -> tuple[str, int]:
    if tokens.at(j) == "o'clock":
        j += 1
    if tokens.at(j) in ("am", "pm"):
        return tokens.at(j), j + 1
    if tokens.at(j) == "in" and tokens.at(j + 1) == "the" and tokens.at(j + 2) in _HALF_DAY:
        return _HALF_DAY[tokens.at(j + 2)], j + 3
    return "", j


def _time_of(hour: int, minute: int, half: str) -> Value:
    if not half and hour != 12 and (hour > 12 or hour == 0):
        half = "pm" if hour > 12 else "am"
    minutes = float(hour % 12 * 60 + minute) if hour < 24 else float(hour * 60 + minute)
    return Value("time", minutes, minutes, half, pair=(float(hour), float(minute)))


def read_spoken_time(tokens: Tokens, i: int) -> Found | None:
    """Read "half past seven", "quarter to eight", "seven thirty", "seven o'clock", "seven am"."""
    word = tokens.words[i]
    if word in ("half", "quarter") and tokens.at(i + 1) in ("past", "to", "after"):
        hour = read_number(tokens, i + 2)
        if hour is not None and 1 <= hour[0] <= 12:
            back = tokens.at(i + 1) == "to"
            minute = 30 if word == "half" else 15
            half, j = _half_day(tokens, hour[1])
            return Found(i, j, _time_of(int(hour[0]) - back or 12, 60 - minute if back else minute, half))
    if not word.isalpha():
        return None
    hour = read_number(tokens, i)
    if hour is None or hour[0] > 12 or hour[0] < 1:
        return None
    minutes = read_number(tokens, hour[1]) if tokens.at(hour[1]).isalpha() else None
    if minutes is not None and minutes[0] in (15, 20, 30, 40, 45, 50) and minutes[1] == hour[1] + 1:
        half, j = _half_day(tokens, minutes[1])
        return Found(i, j, _time_of(int(hour[0]), int(minutes[0]), half))
    half, j = _half_day(tokens, hour[1])
    if half or tokens.at(hour[1]) == "o'clock":
        return Found(i, j, _time_of(int(hour[0]), 0, half))
    return None
