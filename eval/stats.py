"""Intervals and tests for counts of right answers; the arithmetic is scipy's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, bootstrap

BATCH_CELLS = 4_000_000
"""Resampled values that are held at a time; bounds the bootstrap's memory at some 100 MB."""


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


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for their number by Holm's step-down method (Holm 1979), in the order given."""
    adjusted, worst = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        worst = adjusted[i] = max(worst, min(1.0, (len(p_values) - rank) * p_values[i]))
    return adjusted


def cluster_bootstrap(
    clusters: Sequence[Sequence[float]], seed: int = 0, confidence: float = 0.95, resamples: int = 9999
) -> tuple[float, float]:
    """Return the percentile interval of the mean over all values when whole clusters are resampled (Davison & Hinkley 1997, section 3.8).

    Meant for differences of paired outcomes, each -1, 0 or 1: below two clusters nothing is known, and the interval is (-1, 1). Where
    all clusters agree it has no width, which says that nothing differed, not that nothing can. The order of clusters matters to the draw.
    """
    if len(clusters) < 2:
        return -1.0, 1.0
    sums, sizes = np.array([sum(values) for values in clusters], float), np.array([len(values) for values in clusters], float)
    interval = bootstrap(
        (sums, sizes),
        lambda some_sums, some_sizes, axis: some_sums.sum(axis) / some_sizes.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        confidence_level=confidence,
        n_resamples=resamples,
        batch=max(1, BATCH_CELLS // len(clusters)),
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def mcnemar_power(difference: float, discordant: float, n: int, alpha: float = 0.05) -> float:
    """Return the power of McNemar's exact test on `n` pairs: the unconditional exact power of Duffy (1984), Biometrics 40, 1005-1015.

    `discordant` is the share of pairs that differ, `difference` that of gained minus that of lost pairs. Raises `ValueError` unless
    0 <= difference <= discordant <= 1.
    """
    if not 0 <= difference <= discordant <= 1:
        raise ValueError(f"difference {difference} must lie between 0 and the discordant share {discordant}, and that at most at 1")
    if discordant == 0:
        return 0.0
    pairs = np.arange(n + 1)
    # The test rejects when at most `bound` of the pairs that differ go one way; -1 where they are too few to reject at all.
    bound = binom.ppf(alpha / 2, pairs, 0.5)
    bound = np.where(binom.cdf(bound, pairs, 0.5) > alpha / 2, bound - 1, bound)
    gain = (discordant + difference) / (2 * discordant)
    rejected = binom.cdf(bound, pairs, gain) + binom.cdf(bound, pairs, 1 - gain)
    return float(np.sum(binom.pmf(pairs, n, discordant) * rejected))


def minimum_detectable_difference(n: int, discordant: float, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Return the smallest difference of two accuracies that McNemar's exact test finds with `power` on `n` independent pairs.

    `discordant` is the share of pairs that differ; a difference beyond it is taken to be one without lost pairs. None where even a
    difference of 1 is not found, as below six pairs. Solves `mcnemar_power` for the difference.
    """

    def lacking(difference: float) -> float:
        return mcnemar_power(difference, max(discordant, difference), n, alpha) - power

    return float(brentq(lacking, 0.0, 1.0)) if lacking(1.0) >= 0 else None
