"""From level 4 on, picking a value by its place or its frequency does not solve the episodes; at level 0 it may."""

import re
from collections import Counter

import pytest

from supersession.episode import Episode, Question
from supersession.sources.generator import episodes


def _mentions(episode: Episode, question: Question) -> list[str]:
    """Return the candidate values of the question in the order in which the text mentions them."""
    text = " ".join(turn.content for session in episode.sessions for turn in session.turns).lower()
    candidates = {value.lower() for value in (question.gold, *question.stale, *question.others)}
    found = [
        (match.start(), value) for value in candidates for match in re.finditer(rf"(?<![\w$:,.]){re.escape(value)}s?(?![\w:]|[,.]\d)", text)
    ]
    return [value for _, value in sorted(found)]


def _accuracies(level: int, count: int) -> tuple[float, dict[str, float]]:
    """Return the chance of a random candidate, and the accuracy of each shortcut."""
    right: Counter[str] = Counter()
    chance, asked = 0.0, 0
    for episode in episodes("test", 17, level, count):
        question = episode.questions[0]
        if question.kind in ("both", "direction", "abstain") or question.value_type == "yesno":
            continue
        said = _mentions(episode, question)
        asked += 1
        chance += 1 / (1 + len(question.stale) + len(question.others))
        if not said:  # a count that only differences or number words tell
            continue
        counts = Counter(said)
        guesses = {
            "last": said[-1],
            "first": said[0],
            "most frequent": max(reversed(said), key=counts.__getitem__),
            "rarest": min(reversed(said), key=counts.__getitem__),
            "longest": max(said, key=len),
        }
        right.update(name for name, value in guesses.items() if value == question.gold.lower())
    return chance / asked, {name: right[name] / asked for name in ("last", "first", "most frequent", "rarest", "longest")}


@pytest.mark.parametrize("level", [4, 5, 6])
def test_shortcuts_stay_near_chance(level):
    chance, accuracies = _accuracies(level, 250)
    assert max(accuracies.values()) < chance + 0.12, (chance, accuracies)


def test_the_last_value_solves_level_0():
    assert _accuracies(0, 250)[1]["last"] > 0.9
