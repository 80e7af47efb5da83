"""From a finished rollout to its reward: verdicts, the reward, and where the memory failed."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from supersession.answers import Verdict, mentions, verdict
from supersession.episode import NOT_STATED, Question
from supersession.protocol import NotesRollout

STALE_WEIGHT = 0.5
"""Default λ: a stale answer costs half of what a current one earns."""


@dataclass(frozen=True)
class QuestionScore:
    """How one question went.

    `r_cur` is 1.0 if the answer commits to the gold and to nothing else, else 0.0. `r_stale` is -1.0 if it commits to a superseded value
    or hedges with one, else 0.0. `reward` = r_cur + λ·r_stale, in [-λ, 1]. `gold_in_notes` (T) and `stale_in_notes` (C) say whether
    the final notes contain the gold and any superseded value; None where that cannot be asked (no notes, or no such value).
    """

    question_id: str
    kind: str
    verdict: Verdict
    correct: bool
    r_cur: float
    r_stale: float
    reward: float
    gold_in_notes: bool | None
    stale_in_notes: bool | None


@dataclass(frozen=True)
class Scorecard:
    """How one rollout went; `reward` is the mean over its questions."""

    questions: tuple[QuestionScore, ...]
    notes_length: int
    overflow: int

    @property
    def reward(self) -> float:
        return statistics.fmean(question.reward for question in self.questions)

    def metrics(self) -> dict[str, float]:
        """Return means over questions of the rewards, each verdict, T and C; the final notes' length and the overflow in characters.

        T and C are left out where no question has them.
        """
        result = {
            "reward": self.reward,
            "accuracy": statistics.fmean(question.correct for question in self.questions),
            "r_cur": statistics.fmean(question.r_cur for question in self.questions),
            "r_stale": statistics.fmean(question.r_stale for question in self.questions),
            "notes_length": float(self.notes_length),
            "overflow": float(self.overflow),
        }
        for name in Verdict:
            result[f"verdict_{name}"] = statistics.fmean(question.verdict == name for question in self.questions)
        for letter, flags in (
            ("T", [question.gold_in_notes for question in self.questions if question.gold_in_notes is not None]),
            ("C", [question.stale_in_notes for question in self.questions if question.stale_in_notes is not None]),
        ):
            if flags:
                result[letter] = statistics.fmean(flags)
        return result


def score(rollout: NotesRollout, stale_weight: float = STALE_WEIGHT) -> Scorecard:
    """Score a finished rollout. Raises `ValueError` if it is not done, or if `stale_weight` is negative."""
    if not rollout.done:
        raise ValueError(f"the rollout of episode {rollout.episode.id!r} is not done: {len(rollout.answers)} of its questions are answered")
    if stale_weight < 0:
        raise ValueError(f"stale_weight must be 0 or more, got {stale_weight}")
    notes = rollout.notes if rollout.notes_history else None
    scores = tuple(
        score_answer(question, answer, notes, stale_weight)
        for question, answer in zip(rollout.episode.questions, rollout.answers, strict=True)
    )
    return Scorecard(scores, len(rollout.notes), sum(rollout.overflow))


def score_answer(question: Question, answer: str, notes: str | None, stale_weight: float = STALE_WEIGHT) -> QuestionScore:
    """Score one answer; `notes` are the final notes, None where there are none."""
    found = verdict(answer, question.gold, question.stale, question.others, question.text, question.value_type)
    wants_abstention = question.kind == "abstain"
    correct = found == (Verdict.ABSTAIN if wants_abstention else Verdict.CURRENT)
    touches_stale = found == Verdict.STALE or (found == Verdict.HEDGED and any(_says(answer, value, question) for value in question.stale))
    r_cur, r_stale = float(correct), -float(touches_stale)
    has_gold = question.gold != NOT_STATED and not wants_abstention
    return QuestionScore(
        question_id=question.id,
        kind=question.kind,
        verdict=found,
        correct=correct,
        r_cur=r_cur,
        r_stale=r_stale,
        reward=r_cur + stale_weight * r_stale,
        gold_in_notes=_says(notes, question.gold, question) if notes is not None and has_gold else None,
        stale_in_notes=any(_says(notes, value, question) for value in question.stale) if notes is not None and question.stale else None,
    )


def _says(text: str, value: str, question: Question) -> bool:
    return mentions(text, value, question.text, question.value_type)
