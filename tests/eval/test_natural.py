"""The hand-written set: every item loads, is scored as its label says, has its promised shape, shares no sentence with the generator."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from supersession.answers import verdict
from supersession.episode import NOT_STATED, Episode
from supersession.scoring import score_answer
from supersession.sources.generator import episodes, expert_answer
from supersession.sources.longmemeval import load_longmemeval

PATH = Path(__file__).parents[2] / "eval" / "data" / "natural.json"
ITEMS = load_longmemeval(PATH)
each_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)


def sentences(episode: Episode) -> set[str]:
    text = " ".join(turn.content for session in episode.sessions for turn in session.turns)
    return {sentence.strip().lower() for sentence in re.split(r"(?<=[.!?])\s+", text) if len(sentence.split()) > 3}


def test_it_is_large_and_asks_every_kind() -> None:
    kinds = Counter(item.questions[0].kind for item in ITEMS)
    assert len(ITEMS) >= 60
    assert set(kinds) == {"current", "previous", "both", "as_of", "count", "direction", "abstain", "scoped"}
    assert all(item.meta["reviewed"] for item in ITEMS)
    assert Counter(len(item.sessions) for item in ITEMS).keys() == {2, 3, 4, 5, 6}


@each_item
def test_sessions_are_dialogues_of_the_promised_length(item: Episode) -> None:
    dates = [session.date for session in item.sessions]
    assert dates == sorted(set(dates))
    assert item.questions[0].date > dates[-1]
    for session in item.sessions:
        assert 300 <= sum(len(turn.content) for turn in session.turns) <= 1500
        assert [turn.role for turn in session.turns] == (["user", "assistant"] * len(session.turns))[: len(session.turns)]
    assert item.meta["answer_turns"]


@each_item
def test_the_gold_is_right_and_every_other_value_wrong(item: Episode) -> None:
    question = item.questions[0]
    ideal = "unknown" if question.gold == NOT_STATED else expert_answer(question)
    assert score_answer(question, ideal, None).correct
    for value in (*question.stale, *question.others):
        found = verdict(value, question.gold, question.stale, question.others, question.text, question.value_type)
        assert found not in ("current", "abstain"), value
    assert question.kind == "direction" or question.gold.lower() not in question.text.lower()


def test_no_sentence_is_shared_with_the_generator() -> None:
    ours = set().union(*map(sentences, ITEMS))
    for split in ("train", "ood"):
        for episode in episodes(split, 0, 4, 150):
            assert not ours & sentences(episode)
