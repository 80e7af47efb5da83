"""Rows to figures: a summary per question kind; the tables of a run, of the stages of a training run, and of two runs side by side."""

from __future__ import annotations

import dataclasses
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from eval.pairs import Comparison, p_text, paired_outcomes
from eval.rows import Row
from eval.stats import mcnemar, wilson
from supersession.answers import Verdict


@dataclass(frozen=True)
class Summary:
    """Figures of some rows. Rates are over the `n` scored rows; failed ones are counted apart. None where nothing can be counted.

    T: the final notes hold the gold; C: they hold a superseded value; both over the rows where that can be asked. `accuracy_given_T` and
    `accuracy_given_TC` are the reader's success where the notes hold the gold, and where they hold a superseded value beside it.
    `prompt_tokens` and `reply_tokens` are totals; a rollout's write turns are counted once, however many questions follow.
    """

    n: int
    failed: int
    correct: int
    accuracy: float | None
    accuracy_interval: tuple[float, float]
    """Wilson, 95%."""
    verdicts: dict[str, float]
    reward: float | None
    T: float | None
    accuracy_given_T: float | None  # noqa: N815
    C: float | None
    accuracy_given_TC: float | None  # noqa: N815
    notes_chars: float | None
    """Mean length of the final notes."""
    overflow_share: float | None
    """Share of the notes replies that the budget cut."""
    truncated_share: float | None
    """Share of all replies that the token limit cut."""
    prompt_tokens: int
    reply_tokens: int

    def as_dict(self) -> dict[str, object]:
        return dataclasses.asdict(self)


def summarize(rows: Iterable[Row]) -> Summary:
    """Return the figures of `rows`."""
    rows = list(rows)
    scored = [row for row in rows if row.error is None]
    correct = sum(bool(row.correct) for row in scored)
    overflow = [cut > 0 for row in scored for cut in row.overflow]
    segments = [segment for row in scored for segment in row.segments]
    once = {(row.episode_id, segment.kind, segment.index): segment for row in scored for segment in row.segments}.values()
    return Summary(
        n=len(scored),
        failed=len(rows) - len(scored),
        correct=correct,
        accuracy=_mean(bool(row.correct) for row in scored),
        accuracy_interval=wilson(correct, len(scored)),
        verdicts={str(name): statistics.fmean(row.verdict == name for row in scored) for name in Verdict} if scored else {},
        reward=_mean(row.reward for row in scored if row.reward is not None),
        T=_mean(row.T for row in scored if row.T is not None),
        accuracy_given_T=_mean(bool(row.correct) for row in scored if row.T),
        C=_mean(row.C for row in scored if row.C is not None),
        accuracy_given_TC=_mean(bool(row.correct) for row in scored if row.T and row.C),
        notes_chars=_mean(len(row.notes[-1]) for row in scored if row.notes),
        overflow_share=_mean(overflow),
        truncated_share=_mean(segment.truncated for segment in segments),
        prompt_tokens=sum(segment.prompt_tokens or 0 for segment in once),
        reply_tokens=sum(segment.reply_tokens or 0 for segment in once),
    )


def by_kind(rows: Iterable[Row]) -> dict[str, Summary]:
    """Return the figures of each question kind, the most frequent kind first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.kind, []).append(row)
    return {kind: summarize(group) for kind, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))}


def kind_table(rows: Sequence[Row], title: str) -> Table:
    """Return the table of a run: one line per question kind and one for all."""
    table = Table(title=title, title_justify="left")
    for name in ("kind", "n", "accuracy [95%]", "stale", "hedged", "abstain", "reward", "T", "P(right|T)", "C", "notes", "failed"):
        table.add_column(name, justify="left" if name == "kind" else "right", no_wrap=True)
    lines = by_kind(rows)
    for kind, summary in lines.items():
        table.add_row(*_kind_cells(kind, summary), end_section=kind == list(lines)[-1])
    table.add_row(*_kind_cells("all", summarize(rows)), style="bold")
    return table


def stage_table(stages: Mapping[str, Sequence[Row]]) -> Table:
    """Return a table with one line per stage, the first being the base that p-values refer to.

    p-values are McNemar's exact test on the questions that both stages have scored.
    """
    table = Table(title_justify="left")
    for name in ("stage", "n", "accuracy [95%]", "stale", "T", "P(right|T)", "p vs previous", "p vs base"):
        table.add_column(name, justify="left" if name == "stage" else "right", no_wrap=True)
    names = list(stages)
    for i, name in enumerate(names):
        summary = summarize(stages[name])
        previous = p_text(paired_p(stages[names[i - 1]], stages[name])) if i > 0 else ""
        base = p_text(paired_p(stages[names[0]], stages[name])) if i > 0 else ""
        table.add_row(
            name,
            str(summary.n),
            _accuracy(summary),
            _share(summary.verdicts.get("stale")),
            _share(summary.T),
            _share(summary.accuracy_given_T),
            previous,
            base,
        )
    return table


def paired_p(before: Sequence[Row], after: Sequence[Row]) -> float:
    """Return McNemar's exact p-value over the questions that both runs have scored."""
    pairs = paired_outcomes(before, after).values()
    return mcnemar([first for first, _ in pairs], [second for _, second in pairs])


def comparison_table(lines: Sequence[Comparison]) -> Table:
    """Return the table of two runs on the questions that both have scored: one line per question kind and one for all, which comes first
    in `lines`. Differences are in points of accuracy."""
    whole, *kinds = lines
    title = (
        f"{whole.second} (second) against {whole.first} (first)\n{whole.n} shared questions of {whole.episodes} episodes; "
        f"left out: {whole.only_first} that only the first has scored, {whole.only_second} that only the second has"
    )
    table = Table(title=title, title_justify="left")
    for name in ("kind", "n", "first [95%]", "second [95%]", "difference [95%]", "gained, lost", "p", "p, Holm", "80% power"):
        table.add_column(name, justify="left" if name == "kind" else "right", no_wrap=True)
    for line in kinds:
        table.add_row(*_comparison_cells(line), end_section=line is kinds[-1])
    table.add_row(*_comparison_cells(whole), style="bold")
    return table


def show(table: Table) -> None:
    """Print a table on stdout; a pipe or a file gets it unbroken, however wide."""
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def _kind_cells(kind: str, summary: Summary) -> list[str]:
    return [
        kind,
        str(summary.n),
        _accuracy(summary),
        *(_share(summary.verdicts.get(name)) for name in ("stale", "hedged", "abstain")),
        "-" if summary.reward is None else f"{summary.reward:.2f}",
        _share(summary.T),
        _share(summary.accuracy_given_T),
        _share(summary.C),
        "-" if summary.notes_chars is None else f"{summary.notes_chars:.0f}",
        str(summary.failed),
    ]


def _comparison_cells(line: Comparison) -> list[str]:
    low, high = line.difference_interval
    return [
        line.kind,
        str(line.n),
        _with_interval(line.correct_first / line.n, line.interval_first),
        _with_interval(line.correct_second / line.n, line.interval_second),
        f"{100 * line.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]",
        f"{line.gained}, {line.lost}",
        p_text(line.p),
        p_text(line.p_holm),
        "-" if line.detectable is None else f"{100 * line.detectable:.1f}",
    ]


def _accuracy(summary: Summary) -> str:
    return "-" if summary.accuracy is None else _with_interval(summary.accuracy, summary.accuracy_interval)


def _with_interval(share: float, interval: tuple[float, float]) -> str:
    return f"{_share(share)} [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return statistics.fmean(values) if values else None
