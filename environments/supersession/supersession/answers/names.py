"""Names and phrases: finding a known one in free text in any spelling that people would accept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from supersession.answers.text import STOP_WORDS, Tokens, content, normalise, stem

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
    """The stems of a text that carry meaning, and the token that each comes from."""

    stems: list[str]
    origin: list[int]


def outline(tokens: Tokens) -> Outline:
    """Return the outline of a text."""
    stems: list[str] = []
    origin: list[int] = []
    for i, word in enumerate(tokens.words):
        if word in STOP_WORDS and word not in _ALIASES or not word[0].isalnum():
            continue
        for part in _ALIASES.get(word, (stem(word),)):
            stems.append(part)
            origin.append(i)
    return Outline(stems, origin)


def find_name(text: Outline, stems: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where `stems` stand together in any order, as (first token, token after the last).

    A phrase of three words or more may be spread over a few others. Compounds written together or apart are the same ("TechCorp", "Tech Corp").
    """
    places = []
    size = len(stems)
    wanted, joined = sorted(stems), "".join(stems)
    first = set(stems)
    for i, word in enumerate(text.stems):
        if word in first:
            window = text.stems[i : i + size]
            if window == list(stems) or (size > 1 and sorted(window) == wanted and text.origin[i + size - 1] - text.origin[i] < 3 * size):
                places.append((text.origin[i], text.origin[i + size - 1] + 1))
                continue
            if size >= 3 and (spread := _scattered(text, i, first)) is not None:
                places.append(spread)
                continue
        if len(joined) < 6 or not joined.startswith(word):
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
