"""Two runs on the same questions: what differs, how sure that is, and the sentence that says so."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eval.rows import Row
from eval.stats import cluster_bootstrap, holm, mcnemar, minimum_detectable_difference, wilson
from supersession.cli import UsageError

ALPHA = 0.05
"""Level at which a comparison counts as conclusive."""


@dataclass(frozen=True)
class Comparison:
    """A second run against a first one over the `n` questions that both have scored, those of one kind or of "all".

    `gained` questions only the second run has right, `lost` only the first. `difference` is second minus first, between -1 and 1.
    """

    first: str
    second: str
    kind: str
    n: int
    episodes: int
    correct_first: int
    correct_second: int
    interval_first: tuple[float, float]
    """Wilson, 95%."""
    interval_second: tuple[float, float]
    """Wilson, 95%."""
    gained: int
    lost: int
    difference: float
    difference_interval: tuple[float, float]
    """Bootstrap over episodes, 95%, since the questions of an episode share a conversation."""
    p: float
    """McNemar's exact test, two-sided; it takes questions as independent."""
    p_holm: float
    """`p` after Holm's correction: of "all" for the number of second runs, of a kind for the number of second runs times kinds."""
    detectable: float | None
    """The smallest difference that the test finds in 80% of cases with as many questions, of which as many differ; None below six."""
    only_first: int
    """Questions that only the first run has scored."""
    only_second: int

    @property
    def conclusive(self) -> bool:
        """Whether the corrected p-value is below 5% and the interval leaves out 0."""
        low, high = self.difference_interval
        return self.p_holm < ALPHA and not low <= 0 <= high

    def as_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self) | {"conclusive": self.conclusive, "sentence": sentence(self)}


def scored(rows: Iterable[Row]) -> dict[tuple[str, str], Row]:
    """Return the rows that did not fail, by (episode id, question id)."""
    return {row.key: row for row in rows if row.error is None}


def paired_outcomes(first: Iterable[Row], second: Iterable[Row]) -> dict[tuple[str, str], tuple[bool, bool]]:
    """Return whether each of two runs is right, for every question that both have scored, in the order of the questions' keys."""
    one, two = scored(first), scored(second)
    return {key: (bool(one[key].correct), bool(two[key].correct)) for key in sorted(one.keys() & two.keys())}


def compare_runs(runs: Mapping[str, Sequence[Row]], seed: int = 0) -> list[list[Comparison]]:
    """Compare each run with the first one: a list over all questions and then per question kind, the most frequent first.

    `seed` is the bootstrap's. Raises `UsageError` where a run has failed rows only, where two share no scored question, and where they
    asked different things under one id.
    """
    (first, base), *others = runs.items()
    tables = [_by_kind((first, second), base, rows, seed) for second, rows in others]
    whole = holm([lines[0].p for lines in tables])
    kinds = iter(holm([line.p for lines in tables for line in lines[1:]]))
    return [
        [dataclasses.replace(lines[0], p_holm=p), *(dataclasses.replace(line, p_holm=next(kinds)) for line in lines[1:])]
        for p, lines in zip(whole, tables, strict=True)
    ]


def sentence(line: Comparison) -> str:
    """Return what the data of a comparison support, in words."""
    share, about = line.correct_second - line.correct_first, "" if line.kind == "all" else f" of kind {line.kind}"
    if share:
        how = f"right on {abs(share)} {'more' if share > 0 else 'fewer'} of {line.n} questions{about} than {line.first}"
    else:
        how = f"right on as many of {line.n} questions{about} as {line.first}"
    corrected = f", {p_text(line.p_holm)} after Holm's correction" if line.p_holm > line.p else ""
    chance = f"a difference of this size or more would be seen by chance in {_percent(line.p)} of such comparisons"
    if line.conclusive:
        finding = f"the data support that {line.second} is {'better' if share > 0 else 'worse'}"
    elif line.detectable is None:
        finding = "so few questions cannot show which is better"
    else:
        unseen = f"a difference below {100 * line.detectable:.0f} points is missed in more than a fifth of them"
        finding = f"the data do not show which is better, and {unseen}"
    return f"{line.second} is {how}; p = {p_text(line.p)}{corrected}: were the two equally good, {chance}; {finding}."


def p_text(p: float) -> str:
    """Return a p-value as it is printed."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def _by_kind(names: tuple[str, str], first: Sequence[Row], second: Sequence[Row], seed: int) -> list[Comparison]:
    one, two = scored(first), scored(second)
    for name, run in zip(names, (one, two), strict=True):
        if not run:
            raise UsageError(f"all rows of {name} have failed; run its evaluation again")
    shared = one.keys() & two.keys()
    if not shared:
        raise UsageError(f"{names[0]} and {names[1]} share no scored question; compare runs on the same episodes")
    for key in sorted(shared):
        asked, also = ((row.question, row.kind, row.gold) for row in (one[key], two[key]))
        if asked != also:
            raise UsageError(
                f"{names[0]} and {names[1]} differ in question {key[1]!r}: {asked} and {also}; compare runs on the same episodes"
            )
    kinds = Counter(one[key].kind for key in shared)
    lines = [_compare(names, "all", first, second, seed)]
    for kind in sorted(kinds, key=lambda kind: (-kinds[kind], kind)):
        some, same = ([row for row in rows if row.kind == kind] for rows in (first, second))
        lines.append(_compare(names, kind, some, same, seed))
    return lines


def _compare(names: tuple[str, str], kind: str, first: Sequence[Row], second: Sequence[Row], seed: int) -> Comparison:
    pairs = paired_outcomes(first, second)
    before, after = [a for a, _ in pairs.values()], [b for _, b in pairs.values()]
    episodes: dict[str, list[float]] = {}
    for (episode, _), (a, b) in pairs.items():
        episodes.setdefault(episode, []).append(b - a)
    n, gained, lost = len(pairs), sum(b > a for a, b in pairs.values()), sum(b < a for a, b in pairs.values())
    p = mcnemar(before, after)
    return Comparison(
        first=names[0],
        second=names[1],
        kind=kind,
        n=n,
        episodes=len(episodes),
        correct_first=sum(before),
        correct_second=sum(after),
        interval_first=wilson(sum(before), n),
        interval_second=wilson(sum(after), n),
        gained=gained,
        lost=lost,
        difference=(gained - lost) / n,
        difference_interval=cluster_bootstrap(list(episodes.values()), seed),
        p=p,
        p_holm=p,
        detectable=minimum_detectable_difference(n, (gained + lost) / n),
        only_first=len(scored(first).keys() - pairs.keys()),
        only_second=len(scored(second).keys() - pairs.keys()),
    )


def _percent(p: float) -> str:
    return f"{100 * p:.0f}%" if p >= 0.1 else f"{100 * p:.1f}%" if p >= 0.001 else "less than 0.1%"
