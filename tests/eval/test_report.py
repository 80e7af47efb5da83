"""Rows to figures."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from eval.report import by_kind, kind_table, paired_p, stage_table, summarize
from eval.rows import Row, SegmentSize
from supersession.answers import Verdict


def row(i: int, verdict: Verdict | None = Verdict.CURRENT, **changes: Any) -> Row:
    write = SegmentSize(kind="write", index=0, prompt_chars=40, prompt_tokens=10, reply_tokens=5, truncated=i == 0)
    answer = SegmentSize(kind="answer", index=changes.pop("place", 0), prompt_chars=20, prompt_tokens=4, reply_tokens=1, truncated=False)
    made = {
        "episode_id": f"e{i}",
        "question_id": f"e{i}-q",
        "kind": "current",
        "condition": "bounded",
        "budget": 300,
        "question": "Which gym?",
        "gold": "Fit Barn",
        "stale": ("Iron Temple",),
        "segments": (write, answer),
        "notes": ("abc", "abcdef"),
        "overflow": (0, 2),
        "verdict": verdict,
        "correct": verdict == Verdict.CURRENT,
        "T": True,
        "C": False,
        "reward": float(verdict == Verdict.CURRENT),
    }
    return Row.model_validate(made | changes)


def text(table: Table) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(table)
    return out.getvalue()


ROWS = [
    row(0),
    row(1),
    row(2, Verdict.STALE, C=True, T=False),
    row(3, Verdict.OTHER, C=True, kind="previous"),
    row(4, None, error="refused", correct=None, T=None, C=None, reward=None, notes=(), segments=(), kind="previous"),
]


def test_a_summary_counts_scored_rows() -> None:
    summary = summarize(ROWS)
    assert (summary.n, summary.failed, summary.correct, summary.accuracy) == (4, 1, 2, 0.5)
    assert summary.accuracy_interval == pytest.approx((0.150, 0.850), abs=5e-4)
    assert summary.verdicts == {"current": 0.5, "stale": 0.25, "hedged": 0.0, "abstain": 0.0, "other": 0.25}
    assert (summary.T, summary.accuracy_given_T) == (0.75, pytest.approx(2 / 3))
    assert (summary.C, summary.accuracy_given_TC) == (0.5, 0.0)
    assert (summary.reward, summary.notes_chars, summary.overflow_share, summary.truncated_share) == (0.5, 6.0, 0.5, 0.125)
    assert (summary.prompt_tokens, summary.reply_tokens) == (56, 24)


def test_shared_writes_are_counted_once() -> None:
    summary = summarize([row(1), row(1, question_id="second", place=1)])
    assert (summary.prompt_tokens, summary.reply_tokens) == (10 + 4 + 4, 5 + 1 + 1)


def test_a_summary_of_nothing_is_empty() -> None:
    summary = summarize([])
    assert (summary.n, summary.accuracy, summary.accuracy_interval, summary.verdicts) == (0, None, (0.0, 1.0), {})


def test_kinds_are_reported_apart() -> None:
    assert {kind: (s.n, s.failed) for kind, s in by_kind(ROWS).items()} == {"current": (3, 0), "previous": (1, 1)}
    shown = text(kind_table(ROWS, "A run"))
    assert "66.7% [20.8, 93.9]" in shown
    assert "50.0% [15.0, 85.0]" in shown


def test_stages_are_compared_with_the_one_before_and_the_base() -> None:
    base = [row(i, Verdict.OTHER) for i in range(12)]
    middle = [row(i, Verdict.CURRENT if i < 6 else Verdict.OTHER) for i in range(12)]
    last = [row(i) for i in range(12)]
    shown = text(stage_table({"base": base, "warm start": middle, "GRPO": last})).splitlines()
    assert "warm start" in shown[4]
    assert shown[4].count("0.031") == 2
    assert "0.031" in shown[5]
    assert "4.9e-04" in shown[5]


def test_pairs_are_the_questions_that_both_scored() -> None:
    before = [row(i, Verdict.OTHER) for i in range(8)]
    after = [row(i) for i in range(2, 10)]
    assert paired_p(before, after) == pytest.approx(2 / 2**6)
    assert paired_p(before, [row(1, None, error="refused", correct=None)]) == 1.0
