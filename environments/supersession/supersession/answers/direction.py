"""Up or down, yes or no: the two types whose values are words."""

from __future__ import annotations

import re

from supersession.answers.moments import Found
from supersession.answers.text import SENTENCE_ENDS, STOP_WORDS, Tokens, content, stem
from supersession.answers.values import Value

_UP = frozenset(
    """increase increased increases increasing more up rise rose risen rising raise raised raising higher grew grown grow growing longer larger bigger
    greater gained gain climbed heavier upward upwards upped extended expanded""".split()
)
_DOWN = frozenset(
    """decrease decreased decreases decreasing less fewer down drop dropped drops fell fallen fall falling reduce reduced reducing reduction lower lowered
    lowering cut shorter smaller shrank shrunk declined decline lighter downward downwards lessened shortened""".split()
)
_YES = frozenset("yes yeah yep yup affirmative indeed correct true".split())
_NO = frozenset("no nope nah negative false".split())
_AFTER_NO = frozenset(
    ("you", "i", "they", "we", "he", "she", "it", "the", "there", "your", "now", "instead", "or", "and", "but", "rather", "to", "yes", "")
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|without|neither|nor|lacks?|lost|misplaced|stopped|sold|cancell?ed|quit|gave up|given up|got rid of|used to|former|ended)\b|n't\b"
)
_SHORT_YES = re.compile(
    r"^\W*(?:absolutely|definitely|certainly|of course|you are|you do|you have|it is|it does|they do|she does|he does)\W*$"
)
_SHORT_NO = re.compile(
    r"^\W*(?:not any ?more|no longer|not now|not at present|(?:you|it|they|she|he) (?:do|does|did|are|is|have|has)(?: not|n't)(?: any ?more)?)\W*$"
)
# A reported cause ("no indication that you did not") is no answer.
_UNCONTRADICTED = re.compile(r"\bno (?:contradict\w*|conflicting|indication|evidence|mention|sign|doubt|changes?|updates?)\b")


def read_direction(tokens: Tokens) -> float | None:
    """Return +1 for the first word that says up, -1 for down, None where none does."""
    for word in tokens.words:
        if word in _UP:
            return 1.0
        if word in _DOWN:
            return -1.0
    return None


def direction_nouns(tokens: Tokens) -> frozenset[str]:
    """Return what the first direction word is about: "less water" gives {"water"}."""
    for i, word in enumerate(tokens.words):
        if word in _UP or word in _DOWN:
            return frozenset(_noun(tokens, i))
    return frozenset()


def _noun(tokens: Tokens, i: int) -> list[str]:
    word = tokens.at(i + 1)
    return [stem(word)] if word.isalpha() and word not in STOP_WORDS else []


def scan_directions(tokens: Tokens, about: frozenset[str]) -> list[Found]:
    """Return the direction words of a text; with `about`, those that another noun follows ("more coffee" beside "less water") are left out."""
    found = []
    for i, word in enumerate(tokens.words):
        sign = 1.0 if word in _UP else -1.0 if word in _DOWN else 0.0
        if not sign or (word in ("more", "less", "up") and tokens.at(i + 1) in ("than", "recent", "recently", "accurate", "likely", "to")):
            continue
        if word in ("more", "less", "most") and stem(tokens.at(i + 1)) in (
            "recent",
            "specific",
            "explicit",
            "information",
            "detail",
            "reliable",
        ):
            continue
        noun = _noun(tokens, i)
        if about and noun and not about & set(noun) and word in ("more", "less", "fewer", "higher", "lower", "longer", "shorter"):
            continue
        found.append(Found(i, i + 1, Value("direction", sign, sign)))
    return found


def scan_yes_no(tokens: Tokens, asked: frozenset[str]) -> list[Found]:
    """Return each "yes" and "no" of a text; where it has neither, what its sentences say about the question's own words."""
    found = []
    for i, word in enumerate(tokens.words):
        if word in _YES and (word == "yes" or _opens(tokens, i)):
            found.append(Found(i, i + 1, Value("yesno", 1.0, 1.0)))
        elif (
            word in _NO
            and (_opens(tokens, i) or not tokens.at(i + 1).isalpha())
            and (not tokens.at(i + 1).isalpha() or tokens.at(i + 1) in _AFTER_NO)
        ):
            found.append(Found(i, i + 1, Value("yesno", -1.0, -1.0)))
    return found or _short(tokens) or _implied(tokens, asked)


def _short(tokens: Tokens) -> list[Found]:
    """Return what an answer says that is nothing but "not anymore" or "you do"."""
    text = " ".join(tokens.words)
    sign = 1.0 if _SHORT_YES.match(text) else -1.0 if _SHORT_NO.match(text) else 0.0
    return [Found(0, len(tokens), Value("yesno", sign, sign))] if sign else []


def _opens(tokens: Tokens, i: int) -> bool:
    before = tokens.at(i - 1)
    return not before[:1].isalnum() or before in (
        "is",
        "and",
        "or",
        "but",
        "so",
        "either",
        "to",
        "from",
        "now",
        "was",
        "be",
        "than",
        "of",
        "not",
    )


def _implied(tokens: Tokens, asked: frozenset[str]) -> list[Found]:
    found, start = [], 0
    for i in range(len(tokens) + 1):
        if i < len(tokens) and tokens.words[i] not in SENTENCE_ENDS:
            continue
        sentence = " ".join(tokens.words[start:i])
        if asked and len(asked & set(content(sentence))) >= 0.5 * len(asked):
            sign = -1.0 if _NEGATION.search(_UNCONTRADICTED.sub("", sentence)) else 1.0
            found.append(Found(start, i, Value("yesno", sign, sign)))
        start = i + 1
    return found
