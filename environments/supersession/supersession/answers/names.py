"""Names and phrases: finding a known one in free text in any spelling that people would accept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from supersession.answers.text import SENTENCE_ENDS, STOP_WORDS, Tokens, content, normalise, stem

_CLAUSE_ENDS = SENTENCE_ENDS | frozenset((",", ":", "(", ")", "/", "|", "->", "=>", "-->", "==>"))
_JOINS = frozenset("and or to from now but not then instead".split())
_LEADING = frozenset("in at on to from with into near under behind inside by for".split())
_TAIL = re.compile(r",|\s(?:in|at|on|with|for|from|near|of|around|under|behind|inside)\s")
_ALIASES = {
    "nyc": ("new", "york", "city"),
    "usa": ("united", "state"),
    "us": ("united", "state"),
    "uk": ("united", "kingdom"),
    "la": ("los", "angeles"),
    "sf": ("san", "francisco"),
    "tv": ("television",),
    "phd": ("doctorate",),
}


@dataclass(frozen=True, slots=True)
class Name:
    """A name as the stems that carry it: `full` has all of them, `core` those that are enough to recognise it."""

    full: tuple[str, ...]
    core: tuple[str, ...]


def read_name(text: str, question: str = "") -> Name:
    """Return the name that `text` spells; words of the question and what follows a preposition are not needed to recognise it."""
    text = normalise(text)
    full = tuple(_expand(content(text))) or tuple(word for word in re.findall(r"\w+", text.lower()))
    return Name(full, _core(text, full, frozenset(content(normalise(question)))))


def _core(text: str, full: tuple[str, ...], asked: frozenset[str]) -> tuple[str, ...]:
    words = text.split()
    while len(words) > 1 and (words[0].lower() in _LEADING or words[0].lower() in STOP_WORDS):
        del words[0]
    bare = " ".join(words)
    head = _TAIL.split(bare, maxsplit=1)[0]
    core = tuple(_expand(content(head))) or full
    # "Ford F-150 pickup truck" is recognised by its proper name.
    proper = tuple(_expand(content(" ".join(word for word in head.split() if not word.islower()))))
    if len(proper) >= 2 and not head.islower() and len(proper) >= len(core) / 2:
        core = proper
    told = tuple(word for word in core if word not in asked)
    return told if told and any(len(word) > 2 for word in told) else core


def _expand(stems: list[str]) -> list[str]:
    return [part for word in stems for part in _ALIASES.get(word, (word,))]


@dataclass(frozen=True, slots=True)
class Outline:
    """The stems of a text that carry meaning; the token and the number of the clause that each comes from."""

    stems: list[str]
    origin: list[int]
    clause: list[int]


def outline(tokens: Tokens) -> Outline:
    """Return the outline of a text."""
    stems: list[str] = []
    origin: list[int] = []
    clause: list[int] = []
    number = 0
    for i, word in enumerate(tokens.words):
        if not word[0].isalnum():
            number += word in _CLAUSE_ENDS
            continue
        if word in _JOINS:
            number += 1
        if word in STOP_WORDS and word not in _ALIASES:
            continue
        for part in _ALIASES.get(word, (stem(word),)):
            stems.append(part)
            origin.append(i)
            clause.append(number)
    return Outline(stems, origin, clause)


def find_name(text: Outline, stems: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where a name stands, as (first token, token after the last): written so; else with its words in another order or
    with a compound written otherwise ("Tech Corp", "TechCorp"); else, for three words or more, spread over a few others."""
    if not stems:
        return []
    places = _exact(text, stems) or _reordered(text, stems) or _compound(text, "".join(stems), len(stems))
    if places or len(stems) < 3:
        return places
    wanted = set(stems)
    return [place for i, word in enumerate(text.stems) if word in wanted and (place := _scattered(text, i, wanted)) is not None]


def _exact(text: Outline, stems: tuple[str, ...]) -> list[tuple[int, int]]:
    size, wanted = len(stems), list(stems)
    return [
        (text.origin[i], text.origin[i + size - 1] + 1)
        for i, word in enumerate(text.stems)
        if word == wanted[0] and text.stems[i : i + size] == wanted
    ]


def _reordered(text: Outline, stems: tuple[str, ...]) -> list[tuple[int, int]]:
    size, wanted = len(stems), sorted(stems)
    if not 1 < size < 9 or not set(stems) <= set(text.stems):
        return []
    return [
        (text.origin[i], text.origin[i + size - 1] + 1)
        for i, word in enumerate(text.stems)
        if word in wanted and sorted(text.stems[i : i + size]) == wanted and text.clause[i] == text.clause[i + size - 1]
    ]


def _compound(text: Outline, joined: str, size: int) -> list[tuple[int, int]]:
    places = []
    for i, word in enumerate(text.stems) if len(joined) >= 6 else ():
        if not joined.startswith(word):
            continue
        glued, j = word, i + 1
        while len(glued) < len(joined) and j < min(i + 4, len(text.stems)):
            glued, j = glued + text.stems[j], j + 1
        if glued == joined and j - i != size:
            places.append((text.origin[i], text.origin[j - 1] + 1))
    return places


def _scattered(text: Outline, i: int, wanted: set[str]) -> tuple[int, int] | None:
    """Return the tokens of the tightest run with all of `wanted` that ends within a few words of `i`."""
    missing = set(wanted)
    for j in range(i, min(i + 2 * len(wanted) + 2, len(text.stems))):
        missing.discard(text.stems[j])
        if not missing:
            missing, k = set(wanted), j + 1
            while missing:
                k -= 1
                missing.discard(text.stems[k])
            return text.origin[k], text.origin[j] + 1
    return None
