"""Finding typed values in free text: one pass over the tokens, no backtracking."""

from __future__ import annotations

from functools import lru_cache

from supersession.answers.moments import MONTHS, WEEKDAYS, Found, read_clock, read_digit_date, read_month_first, read_spoken_time
from supersession.answers.numerals import NUMBER_WORDS, read_number
from supersession.answers.text import STOP_WORDS, Tokens, stem
from supersession.answers.units import CURRENCIES, DURATIONS, GLUED_DURATIONS, MEASURES, ORDINALS, PERIODS, RATES, SIGNS, TIMES
from supersession.answers.values import MINUTE, WEEK, Value

_OVER = frozenset(("over", "above", "exceeding"))
_UNDER = frozenset(("under", "below"))
_NO_NOUNS = frozenset(
    "before after previously initially originally formerly earlier later until because since during while again not no ago today more less only instead".split()
)
_BEFORE_SPAN = frozenset("over under almost nearly only takes take lasts last lasted took within after exactly half".split())
_LABELS = frozenset("session step rule snippet section chat chapter version option item no".split())
_STEPS = ("from", "by")
"""Before a number, what makes a following "to" a change and not a range."""
_STARTERS = frozenset(
    NUMBER_WORDS
    | set(RATES)
    | set(TIMES)
    | set(MONTHS)
    | set(WEEKDAYS)
    | set(SIGNS)
    | {"every", "each", "noon", "midnight", "quarter", "bi"}
)


@lru_cache(maxsize=256)
def scan(tokens: Tokens) -> list[Found]:
    """Return the typed values in a text, in order, without overlaps. Numbers that only label something ("Session 3", "1.") are left out."""
    found = []
    i, words = 0, tokens.words
    while i < len(words):
        word = words[i]
        if word in _STARTERS or word[0].isdigit():
            hit = _read(tokens, i)
            if hit is not None:
                if not _is_label(tokens, hit):
                    found.append(hit)
                i = hit.end
                continue
        i += 1
    return found


def _read(tokens: Tokens, i: int) -> Found | None:
    word = tokens.words[i]
    if word in SIGNS:
        return _money_with_sign(tokens, i)
    if word in RATES:
        return Found(i, i + 1, Value("frequency", RATES[word], RATES[word], count=(1, 1)))
    if word == "bi" and tokens.at(i + 1) == "-" and tokens.at(i + 2) in ("weekly", "monthly"):
        rate = RATES["bi" + tokens.at(i + 2)]
        return Found(i, i + 3, Value("frequency", rate, rate, count=(1, 1)))
    if word in ("every", "each"):
        return _every(tokens, i)
    if word in TIMES:
        return _rate(tokens, i + 1, (TIMES[word], TIMES[word]), i) or Found(i, i + 1, Value("number", TIMES[word], TIMES[word]))
    if word in WEEKDAYS:
        return Found(i, i + 1, Value("weekday", WEEKDAYS[word], WEEKDAYS[word]))
    if word in MONTHS:
        return read_month_first(tokens, i)
    if word in ("noon", "midnight"):
        return Found(i, i + 1, Value("time", 0.0, 0.0, "pm" if word == "noon" else "am"))
    if word[0].isdigit():
        hit = read_digit_date(tokens, i) or read_clock(tokens, i)
        if hit is not None:
            return hit
    return read_spoken_time(tokens, i) or _phrase_duration(tokens, i) or _counted(tokens, i)


def _money_with_sign(tokens: Tokens, i: int) -> Found | None:
    first = read_number(tokens, i + 1)
    if first is None:
        return None
    low, j = first
    high = low
    if tokens.at(j) == "-" or (tokens.at(j) == "to" and tokens.at(i - 1) not in _STEPS):
        second = read_number(tokens, j + 1 + (tokens.at(j + 1) in SIGNS))
        if second is not None and second[0] > low:
            high, j = second
    value = Value("money", low, high, SIGNS[tokens.words[i]], _bound(tokens, i), count=(low, high))
    return Found(i, j, value)


def _every(tokens: Tokens, i: int) -> Found | None:
    """Read "every week", "every other week", "every 2 weeks", "every Sunday"."""
    step, j = 1.0, i + 1
    if tokens.at(j) in ORDINALS:
        step, j = ORDINALS[tokens.at(j)], j + 1
    elif tokens.at(j).isdigit() and tokens.at(j + 1) in ("nd", "rd", "th"):
        step, j = float(tokens.at(j)), j + 2
    elif tokens.at(j) == "single":
        j += 1
    else:
        number = read_number(tokens, j)
        if number is not None:
            step, j = number
    period = stem(tokens.at(j))
    if period in PERIODS and step > 0:
        rate = 1 / (step * PERIODS[period])
        return Found(i, j + 1, Value("frequency", rate, rate, count=(1, 1)))
    if tokens.at(j) in WEEKDAYS and step > 0:
        day = float(WEEKDAYS[tokens.at(j)])
        return Found(i, j + 1, Value("frequency", 1 / (step * WEEK), 1 / (step * WEEK), count=(1, 1), pair=(day, day)))
    return None


def _rate(tokens: Tokens, j: int, count: tuple[float, float], i: int) -> Found | None:
    """Read what follows a count in "three times a week", "3x weekly", "twice per month", "two nights every other week"."""
    word = tokens.at(j)
    if word in RATES:
        rate = RATES[word]
        return Found(i, j + 1, Value("frequency", count[0] * rate, count[1] * rate, count=count))
    if word in ("a", "an", "per", "each", "every", "/", "in"):
        inner = _every(tokens, j)
        if inner is None:
            return None
        rate = inner.value.low
        return Found(i, inner.end, Value("frequency", count[0] * rate, count[1] * rate, count=count))
    return None


def _phrase_duration(tokens: Tokens, i: int) -> Found | None:
    """Read "a month", "an hour and a half", "half an hour", "half a year"."""
    word = tokens.words[i]
    if word == "half" and tokens.at(i + 1) in ("a", "an") and tokens.at(i + 2) in DURATIONS:
        length = DURATIONS[tokens.at(i + 2)] / 2
        return Found(i, i + 3, Value("duration", length, length))
    if word not in ("a", "an") or tokens.at(i + 1) not in DURATIONS:
        return None
    before = tokens.at(i - 1)
    if tokens.at(i + 2) == "ago" or (before.isalpha() and before not in STOP_WORDS and before not in _BEFORE_SPAN):
        # "three cups a day" is a rate.
        return None
    length, j, count = DURATIONS[tokens.at(i + 1)], i + 2, (1.0, 1.0)
    if tokens.at(j) == "and" and tokens.at(j + 1) == "a" and tokens.at(j + 2) == "half":
        length, j, count = 1.5 * length, j + 3, (1.5, 1.5)
    return Found(i, j, Value("duration", length, length, count=count))


def _counted(tokens: Tokens, i: int) -> Found | None:
    """Read a number or a range and the unit that follows it."""
    first = read_number(tokens, i)
    if first is None:
        return None
    low, j = first
    high, pair, start = low, None, i
    if (tokens.at(j) == "to" and tokens.at(i - 1) not in _STEPS) or _joined(tokens, j):
        second = read_number(tokens, j + 1)
        if second is not None:
            pair = (low, second[0])
            if tokens.at(j) in ("-", "to") and second[0] > low:
                high, j = second
            elif tokens.at(j) != "to":
                return Found(i, second[1], Value("ratio", pair=pair))
            else:
                pair = None
    elif tokens.at(j) == "and" and tokens.at(i - 1) == "between":
        second = read_number(tokens, j + 1)
        if second is not None and second[0] > low:
            high, j, start = second[0], second[1], i - 1
    if tokens.at(j) == "and" and tokens.at(j + 1) == "a" and tokens.at(j + 2) == "half":
        low, high, j = low + 0.5, high + 0.5, j + 3
    count, bound = (low, high), _bound(tokens, start)
    if tokens.at(j) in ("%", "percent", "pct"):
        return Found(start, j + 1, Value("percent", low, high, "", bound, count=count))
    word = tokens.at(j)
    unit = stem(word)
    if unit in CURRENCIES:
        return Found(start, j + 1, Value("money", low, high, CURRENCIES[unit], bound, count=count))
    if word == "x" or word in ("times", "days", "nights", "mornings", "evenings", "time"):
        rate = _rate(tokens, j + 1, count, start)
        if rate is not None:
            return rate
    dash = word == "-" and stem(tokens.at(j + 1)) in DURATIONS
    unit = stem(tokens.at(j + 1)) if dash else unit
    if unit in DURATIONS or (word in GLUED_DURATIONS and tokens.glued(j)):
        return _duration(tokens, start, j + dash, (low, high), bound)
    if tokens.at(j).isalpha() and stem(tokens.at(j)) in ("win", "won") and tokens.at(j + 1) in ("and", ",", "-"):
        losses = read_number(tokens, j + 2)
        if losses is not None:
            return Found(start, losses[1] + 1, Value("ratio", pair=(low, losses[0])))
    if unit in MEASURES:
        return Found(start, j + 1, Value("number", low, high, MEASURES[unit], bound, count=count))
    if high != low and pair is not None:
        return Found(start, j, Value("number", low, high, "", bound, pair=pair, count=count))
    rate = _rate(tokens, j, count, start) if word in RATES or word == "/" else None
    return rate or Found(start, j, Value("number", low, high, "", bound, count=count))


def _joined(tokens: Tokens, j: int) -> bool:
    """Say whether token `j` joins two numbers: "5-2", "5 - 2", "1/3", "1:5"."""
    sign = tokens.at(j)
    if sign not in ("-", "/", ":"):
        return False
    return (tokens.glued(j) and tokens.glued(j + 1)) or (sign == "-" and not tokens.glued(j) and not tokens.glued(j + 1))


def _duration(tokens: Tokens, start: int, j: int, count: tuple[float, float], bound: str) -> Found:
    """Read "9 months and 22 days", "1h 30m", whose first count stands before token `j`."""
    scale = _scale(tokens, j)
    low, high, smallest, single = count[0] * scale, count[1] * scale, scale, True
    j += 1
    while True:
        k = j + (tokens.at(j) in ("and", ",")) + (tokens.at(j) == "," and tokens.at(j + 1) == "and")
        more = (float(tokens.words[k].replace(",", "")), k + 1) if tokens.at(k)[:1].isdigit() else read_number(tokens, k)
        if more is None or not tokens.at(more[1]):
            break
        scale = _scale(tokens, more[1]) or GLUED_DURATIONS.get(tokens.at(more[1]), 0.0)
        if not 0 < scale < smallest:
            break
        low, high, smallest, single, j = low + more[0] * scale, high + more[0] * scale, scale, False, more[1] + 1
    if single and tokens.at(j) == "and" and tokens.at(j + 1) == "a" and tokens.at(j + 2) == "half":
        low, high, j = low + smallest / 2, high + smallest / 2, j + 3
        count = (count[0] + 0.5, count[1] + 0.5)
    return Found(start, j, Value("duration", low, high, "", bound, count=count if single else None))


def _scale(tokens: Tokens, j: int) -> float:
    word = tokens.at(j)
    if word in ("m", *GLUED_DURATIONS) and tokens.glued(j):
        return GLUED_DURATIONS.get(word, MINUTE)
    return DURATIONS.get(stem(word), 0.0)


def _bound(tokens: Tokens, i: int) -> str:
    before = tokens.at(i - 1)
    if before == "most" and tokens.at(i - 2) == "at":
        return "under"
    if before == "than":
        return "over" if tokens.at(i - 2) in ("more", "greater", "higher", "longer") else "under"
    return "over" if before in _OVER else "under" if before in _UNDER else ""


def _is_label(tokens: Tokens, hit: Found) -> bool:
    """ "Session 3", "Step 1", "#4", the "2." that numbers a line, "one of", "no one" say nothing about a value."""
    before, word, after = tokens.at(hit.start - 1), tokens.words[hit.start], tokens.at(hit.end)
    if hit.value.kind not in ("number", "ratio"):
        return False
    if stem(before) in _LABELS or before == "rule" or (before == "#" and tokens.glued(hit.start)):
        return True
    if word[0].isdigit() and after in (".", ")") and before in ("\n", "") and tokens.at(hit.end + 1) not in ("", "\n"):
        return True
    if word == "one" and (
        before in ("the", "no", "any", "this", "that", "every", "each", "which", "another", "new", "old", "other", "latest", "current")
        or after in ("of", "is", "was")
    ):
        return True
    return after in ("st", "nd", "rd", "th") and tokens.glued(hit.end)


def noun_stems(tokens: Tokens, j: int, limit: int = 4) -> list[str]:
    """Return the stems of the words right after token `j - 1`, up to the first sign or stop word: what a number counts."""
    stems = []
    for word in tokens.words[j : j + limit]:
        if not word[0].isalpha() or word in STOP_WORDS or word in _NO_NOUNS or word in NUMBER_WORDS:
            break
        stems.append(stem(word))
    return stems
