"""Other values beside the gold: harmless details, or rivals that leave the choice to the reader."""

from __future__ import annotations

import itertools

from supersession.answers.mentions import Mention
from supersession.answers.text import SENTENCE_ENDS, Tokens, sentences, stem
from supersession.answers.units import PERIODS

MAX_DETAILS = 3
"""Further values of the gold's type that an answer may mention beside the one it commits to."""
MAX_SEGMENTS = 1
"""Short phrases that may stand beside a bare name before the answer is a list ("Denver, Colorado")."""
MAX_SEGMENT_WORDS = 5

_LISTING = frozenset((",", "(", "/", "or", "and", "|", "-", "&", "\n", "*", ";"))
_SEPARATORS = SENTENCE_ENDS | frozenset((",", "/", "|", "{", "}", "and", "or"))
_FILLERS = frozenset("it is it's the a an be could may might maybe answer".split())
OR = frozenset(("or", "/", "|"))
_PER = frozenset((*PERIODS, "mo", "yr", "wk", "hr", "h", "visit", "person", "night", "session", "class", "trip"))


def has_rivals(tokens: Tokens, held: list[Mention]) -> bool:
    """Say whether values that nobody listed compete with the gold: details after a committed answer do not, rivals and heaps do."""
    if held[0].label != "gold" or len({mention.key for mention in held if mention.label != "gold"}) > MAX_DETAILS:
        return True
    for a, b in itertools.pairwise(held):
        if a.label != b.label and b.start - a.end <= 2 and _LISTING.issuperset(tokens.words[a.end : b.start]):
            return True
    rivals = [mention for mention in held if mention.label != "gold" and _stands_alone(tokens, mention)]
    return bool(rivals)


def more_items(tokens: Tokens, found: list[Mention]) -> bool:
    """Say whether a list of values has further items that nobody listed: one between them, or several after the last."""
    inside = {i for mention in found for i in range(mention.start, mention.end)}
    last = found[-1].end
    end = next((i for i in range(last, len(tokens)) if tokens.words[i] in SENTENCE_ENDS or tokens.words[i] == "("), len(tokens))
    between = after = words = 0
    known = True
    for i in range(found[0].start, end + 1):
        word = tokens.at(i)
        if i in inside:
            known = True
        elif i == end or word in _SEPARATORS or word == "&":
            bare = not known and 0 < words <= MAX_SEGMENT_WORDS - 2
            between, after = between + (bare and i < last), after + (bare and i > last)
            words, known = 0, False
        elif word[0].isalnum() and word not in _FILLERS:
            words += 1
    return between > 0 or after > 1


def _stands_alone(tokens: Tokens, mention: Mention) -> bool:
    """Say whether a line or sentence holds nothing but this value: "It is 18."."""
    start, end = next(span for span in sentences(tokens) if span[0] <= mention.start < span[1])
    outside = [*tokens.words[start : mention.start], *tokens.words[mention.end : end]]
    return all(word in _FILLERS or not word[0].isalnum() for word in outside)


def is_per(tokens: Tokens, i: int) -> bool:
    """Say whether token `i` is the slash of a rate: "/month"."""
    return tokens.at(i) == "/" and stem(tokens.at(i + 1)) in _PER


def in_list(tokens: Tokens, found: list[Mention], name: bool) -> bool:
    """Say whether the gold is one side of an "or" whose other side is not known or, for a name, one of several bare phrases ("A, B, C")."""
    inside = {i for mention in found for i in range(mention.start, mention.end)}
    near = {tokens.at(m.start - 1) for m in found if m.start > 1 and m.start - 2 not in inside and tokens.at(m.start - 2)[:1].isalnum()}
    near |= {
        tokens.at(m.end) for m in found if m.end + 1 not in inside and tokens.at(m.end + 1)[:1].isalnum() and not is_per(tokens, m.end)
    }
    if near & OR or not name:
        return bool(near & OR)
    bare, words, holds_gold = 0, 0, False
    for i, word in enumerate([*tokens.words, "."]):
        if i in inside:
            holds_gold = True
        elif word in _SEPARATORS:
            if holds_gold and words > 1:
                return False
            bare += not holds_gold and 0 < words <= MAX_SEGMENT_WORDS
            words, holds_gold = 0, False
        elif word[0].isalnum() and word not in _FILLERS:
            words += 1
    return bare > MAX_SEGMENTS or (bare == 1 and "and" in near)
