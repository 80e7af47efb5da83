"""Numbers in digits and in words."""

from __future__ import annotations

from supersession.answers.text import Tokens

UNITS = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
        nineteen""".split()
    )
}
TENS = {word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SUFFIXES = {"k": 1_000, "m": 1_000_000, "mn": 1_000_000, "bn": 1_000_000_000, "b": 1_000_000_000}

NUMBER_WORDS = frozenset(UNITS) | frozenset(TENS) | {"a", "an", "dozen", "hundred", "thousand", "single", "couple", "half"}


def read_number(tokens: Tokens, i: int) -> tuple[float, int] | None:
    """Return the number that starts at token `i` and the index after it; None where none starts there."""
    word = tokens.at(i)
    if word[:1].isdigit():
        return _digits(tokens, i)
    if word in UNITS or word in TENS:
        return _words(tokens, i)
    if word in ("a", "an") and tokens.at(i + 1) in SCALES:
        return _words(tokens, i + 1)
    if word == "single" or (word == "a" and tokens.at(i + 1) == "single"):
        return 1.0, i + (1 if word == "single" else 2)
    if word == "a" and tokens.at(i + 1) == "couple":
        return 2.0, i + (3 if tokens.at(i + 2) == "of" else 2)
    if word == "a" and tokens.at(i + 1) == "dozen":
        return 12.0, i + 2
    if word == "half" and tokens.at(i + 1) == "a" and tokens.at(i + 2) == "dozen":
        return 6.0, i + 3
    return None


def _digits(tokens: Tokens, i: int) -> tuple[float, int]:
    value = float(tokens.words[i].replace(",", ""))
    suffix = tokens.at(i + 1)
    if suffix in _SUFFIXES and tokens.glued(i + 1):
        return value * _SUFFIXES[suffix], i + 2
    if suffix in SCALES:
        return value * SCALES[suffix], i + 2
    return value, i + 1


def _words(tokens: Tokens, i: int) -> tuple[float, int]:
    """Read "two hundred and fifty", "twenty-five", "nineteen hundred", "one million two hundred thousand"."""
    total, part, previous = 0.0, 0.0, ""
    j = i
    while True:
        word = tokens.at(j)
        if word in SCALES:
            scale = SCALES[word]
            part = (part or 1.0) * scale
            if scale > 100:
                total, part = total + part, 0.0
        elif word in TENS and previous not in UNITS and previous not in TENS:
            part += TENS[word]
        elif word in UNITS and previous not in UNITS and (previous not in TENS or 0 < UNITS[word] < 10):
            part += UNITS[word]
        elif (word == "-" and previous in TENS and 0 < UNITS.get(tokens.at(j + 1), 0) < 10) or (
            word == "and" and previous in SCALES and (tokens.at(j + 1) in UNITS or tokens.at(j + 1) in TENS)
        ):
            j += 1
            continue
        else:
            break
        previous = word
        j += 1
    return total + part, j
