"""Intervals and tests for counts of right answers; the arithmetic is scipy's."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.stats import binomtest


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion (Wilson 1927); (0, 1) where nothing was counted.

    Raises `ValueError` unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} trials: successes must be between 0 and n")
    if n == 0:
        return 0.0, 1.0
    interval = binomtest(successes, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def mcnemar(before: Sequence[bool], after: Sequence[bool]) -> float:
    """Return the two-sided p-value of McNemar's exact test (McNemar 1947) on paired outcomes; 1 where no pair differs.

    Raises `ValueError` if the two are not equally long.
    """
    if len(before) != len(after):
        raise ValueError(f"paired outcomes must be equally many, got {len(before)} and {len(after)}")
    gained = sum(b < a for b, a in zip(before, after, strict=True))
    lost = sum(b > a for b, a in zip(before, after, strict=True))
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
