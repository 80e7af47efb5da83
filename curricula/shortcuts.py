"""Answers that do not track facts: what a value's place, frequency or neighbouring words say about a question, and nothing else.

A curriculum teaches memory only where none of these earns the reward. Each shortcut sees the question and every mention of a candidate
value, in the order of the text, and names a value.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from supersession.episode import Episode, Question
from supersession.sources.generator.values import NUMBER_WORDS

TYPED_KINDS = ("current", "previous", "as_of", "count", "scoped")
"""Kinds whose answer is one value; a shortcut that names a value can answer no other."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[a-z']+")
_STOP = frozenset(
    "a an and are at be by did do does for from have how i in is it many me much my of on that the to was were what when which".split()
)
_FRESH = re.compile(r"\b(?:now|actually|these days|from now on|from here on|instead|since then|new)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that mentions a candidate value, with the sentence around it."""

    value: str
    session: int
    role: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its candidates (every value of its type that the episode mentions or gives), and their mentions in text order."""

    question: Question
    candidates: tuple[str, ...]
    mentions: tuple[Mention, ...]
    sentences: tuple[str, ...]

    @property
    def chance(self) -> float:
        """How often a random candidate is right."""
        return 1 / len(self.candidates)


Shortcut = Callable[[Case], str]


def cases(episode: Episode) -> list[Case]:
    """Return the questions of an episode that a value answers; those of other kinds are left out."""
    return [_case(episode, question) for question in episode.questions if question.kind in TYPED_KINDS]


def _case(episode: Episode, question: Question) -> Case:
    candidates = (
        ("yes", "no") if question.value_type == "yesno" else tuple(dict.fromkeys((question.gold, *question.stale, *question.others)))
    )
    parts = [
        (number, place, turn.role, sentence)
        for number, session in enumerate(episode.sessions)
        for place, turn in enumerate(session.turns)
        for sentence in _SENTENCE.split(turn.content)
    ]
    if question.value_type == "yesno":
        mentions = _told(episode)
    else:
        wanted = _pattern(candidates)
        spelled = {form: value for value in candidates for form in _forms(value)}
        mentions = tuple(
            Mention(spelled[match[1].lower()], number, role, sentence)
            for number, _, role, sentence in parts
            for match in wanted.finditer(sentence)
        )
    return Case(question, candidates, mentions, tuple(sentence for *_, sentence in parts))


def _told(episode: Episode) -> tuple[Mention, ...]:
    """Return what was said to be so or not so; such values stand nowhere in the text, so the turn that tells one is its sentence."""
    return tuple(
        Mention(event.value, event.session, event.by, episode.sessions[event.session].turns[event.turn].content)
        for event in episode.timeline
        if event.value in ("yes", "no")
    )


@cache
def _forms(value: str) -> tuple[str, ...]:
    small = value.isdigit() and int(value) < len(NUMBER_WORDS)
    return (value.lower(), NUMBER_WORDS[int(value)]) if small else (value.lower(),)


def _pattern(candidates: Sequence[str]) -> re.Pattern[str]:
    forms = sorted((form for value in candidates for form in _forms(value)), key=len, reverse=True)
    return re.compile(rf"(?<![\w$:,.])({'|'.join(map(re.escape, forms))})s?(?![\w:%]|[,.]\d)", re.IGNORECASE)


def content_words(text: str) -> set[str]:
    """Return the words of a text that carry meaning, in lower case."""
    return set(_WORD.findall(text.lower())) - _STOP


def _last(mentions: Sequence[Mention]) -> str:
    return mentions[-1].value if mentions else ""


def _ranked(case: Case, key: Callable[[str, Counter[str]], Any]) -> str:
    """Return the mentioned value with the greatest key; of equal ones the last."""
    counts = Counter(mention.value for mention in case.mentions)
    return max((m.value for m in reversed(case.mentions)), key=lambda value: key(value, counts), default="")


def _last_other_than_first(case: Case) -> str:
    return _last([mention for mention in case.mentions if mention.value != case.mentions[0].value]) or _last(case.mentions)


def _last_but_one(case: Case) -> str:
    return _last([mention for mention in case.mentions if mention.value != case.mentions[-1].value]) or _last(case.mentions)


def _session_votes(case: Case) -> str:
    votes = Counter({mention.session: mention.value for mention in case.mentions}.values())
    return max(reversed([mention.value for mention in case.mentions]), key=lambda value: votes[value], default="")


def _last_session(case: Case) -> str:
    """The value that the last session with any mentions most often."""
    here = [mention.value for mention in case.mentions if mention.session == case.mentions[-1].session]
    return max(reversed(here), key=Counter(here).__getitem__, default="")


def _nearest(case: Case, newest: bool) -> str:
    """The value whose sentence shares the most words with the question; of equal ones the newest or the oldest."""
    asked = content_words(case.question.text)
    mentions = case.mentions[::-1] if newest else case.mentions
    return max(mentions, key=lambda m: len(asked & content_words(m.sentence)), default=Mention("", 0, "", "")).value


def _tfidf(case: Case) -> str:
    """The value in the sentence that is nearest to the question by TF-IDF; of equal ones the newest."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not case.mentions:
        return ""
    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(case.sentences)
    near = vectorizer.transform([mention.sentence for mention in case.mentions]) @ vectorizer.transform([case.question.text]).T
    scores = near.toarray()[:, 0]
    return max(enumerate(case.mentions), key=lambda item: (scores[item[0]], item[0]))[1].value


SHORTCUTS: dict[str, Shortcut] = {
    "last": lambda case: _last(case.mentions),
    "first": lambda case: case.mentions[0].value if case.mentions else "",
    "last but one": _last_but_one,
    "last other than the first": _last_other_than_first,
    "most frequent": lambda case: _ranked(case, lambda value, counts: counts[value]),
    "rarest": lambda case: _ranked(case, lambda value, counts: -counts[value]),
    "longest": lambda case: _ranked(case, lambda value, _: len(value)),
    "last after now, new, actually": lambda case: _last([m for m in case.mentions if _FRESH.search(m.sentence)]),
    "last said by the user": lambda case: _last([mention for mention in case.mentions if mention.role == "user"]),
    "last session": _last_session,
    "majority of sessions": _session_votes,
    "nearest words, newest": lambda case: _nearest(case, newest=True),
    "nearest words, oldest": lambda case: _nearest(case, newest=False),
    "TF-IDF nearest sentence": _tfidf,
    "random": lambda case: random.Random(case.question.id).choice(case.candidates),
}
