"""Measure how well the matcher agrees with careful readers, on a file of judged answers.

Each row of the JSONL file has `question`, `gold`, `answer`, `reviewed` (is it right?), and may have `previous` (the superseded value),
`verdict`, `borderline`, `kind`, `source` and `question_id`. A row counts as accepted when the verdict is "current", or "abstain" where
the gold itself is an abstention.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic_settings import CliPositionalArg

from supersession.answers import Verdict, verdict
from supersession.answers.spec import spec_of
from supersession.cli import Options, UsageError, provenance, run, write_text
from supersession.sources.longmemeval import labels

EXAMPLE = "python scripts/measure_answers.py judged_answers.jsonl --json agreement.json"
NEEDED = ("question", "gold", "answer", "reviewed")


class MeasureOptions(Options):
    """Agreement of the answer matcher with a reviewed file of real answers."""

    file: CliPositionalArg[Path]
    """JSONL file of judged answers"""
    json_file: Path | None = Field(None, alias="json")
    """write the whole result to this file"""
    half: Literal["all", "even", "odd"] = "all"
    """keep every question, or only every second one in the file's order (for leave-questions-out work)"""
    rows: bool = True
    """list the rows on which matcher and reader differ"""
    seed: int = 0
    """unused: the measurement has no randomness"""


@dataclass(frozen=True)
class Judged:
    """One judged answer and our verdict on it."""

    row: dict[str, Any]
    ours: Verdict

    @property
    def accepted(self) -> bool:
        """Whether the verdict is the right one: "current", or "abstain" where the gold is an abstention."""
        unanswerable = spec_of(str(self.row["gold"]), self.row["question"], "auto").shape == "abstain"
        return self.ours == (Verdict.ABSTAIN if unanswerable else Verdict.CURRENT)

    @property
    def borderline(self) -> bool:
        return bool(self.row.get("borderline"))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a judged file; raise `UsageError` naming file, line and field on the first bad one."""
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(f"{path}, line {number}: not valid JSON ({error}); is the file truncated?") from error
        missing = [name for name in NEEDED if not isinstance(row, dict) or name not in row]
        if missing:
            raise UsageError(f"{path}, line {number}: field {missing[0]!r} is missing; each row needs {', '.join(NEEDED)}")
        rows.append(row)
    if not rows:
        raise UsageError(f"{path} holds no rows; write one JSON object a line")
    return rows


def judge(row: dict[str, Any]) -> Judged:
    """Return our verdict on one row; for a question about the value before, the one that followed it is in our reviewed table."""
    stale = [str(row["previous"])] if row.get("previous") else []
    label = labels().get(str(row.get("question_id")))
    if label and label.kind == "previous" and label.current:
        stale.append(label.current)
    return Judged(row, verdict(str(row["answer"]), str(row["gold"]), stale, question=row["question"]))


def agreement(judged: Sequence[Judged]) -> dict[str, float | int | None]:
    """Return `n`, `agreement` and Cohen's `kappa` on accept / reject, and `verdict_accuracy` over the rows that carry a verdict."""
    n = len(judged)
    if n == 0:
        return {"n": 0, "agreement": None, "kappa": None, "verdict_accuracy": None}
    observed = sum(item.accepted == bool(item.row["reviewed"]) for item in judged) / n
    ours = sum(item.accepted for item in judged) / n
    theirs = sum(bool(item.row["reviewed"]) for item in judged) / n
    chance = ours * theirs + (1 - ours) * (1 - theirs)
    kappa = 1.0 if chance == 1 else (observed - chance) / (1 - chance)
    labelled = [item for item in judged if item.row.get("verdict")]
    accuracy = sum(item.ours == item.row["verdict"] for item in labelled) / len(labelled) if labelled else None
    return {"n": n, "agreement": observed, "kappa": kappa, "verdict_accuracy": accuracy}


def by(judged: Sequence[Judged], field: str) -> dict[str, dict[str, float | int | None]]:
    """Return `agreement` per value of a field of the rows, borderline rows left out."""
    values = sorted({str(item.row.get(field)) for item in judged})
    return {value: agreement([item for item in judged if str(item.row.get(field)) == value and not item.borderline]) for value in values}


def main(options: MeasureOptions) -> None:
    rows = read_rows(options.file)
    if options.half != "all":
        order = list(dict.fromkeys(str(row.get("question_id", row["question"])) for row in rows))
        kept = set(order[options.half == "odd" :: 2])
        rows = [row for row in rows if str(row.get("question_id", row["question"])) in kept]
    judged = [judge(row) for row in rows]
    clear = [item for item in judged if not item.borderline]
    result: dict[str, Any] = {
        "clear": agreement(clear),
        "all": agreement(judged),
        "by_kind": by(judged, "kind"),
        "by_source": by(judged, "source"),
        "false_accepts": _listed(judged, lambda item: item.accepted and not item.row["reviewed"]),
        "false_rejects": _listed(judged, lambda item: not item.accepted and bool(item.row["reviewed"])),
        "confusion": dict(Counter(f"{item.row.get('verdict')} -> {item.ours}" for item in clear)),
        "file": options.file.name,
        "half": options.half,
        "provenance": provenance(),
    }
    if options.json_file:
        write_text(options.json_file, json.dumps(result, indent=1) + "\n")
    _print(result, options.rows)


def _listed(judged: Sequence[Judged], wanted: Callable[[Judged], bool]) -> list[dict[str, Any]]:
    fields = ("question_id", "kind", "source", "question", "gold", "previous", "answer", "verdict", "borderline")
    return [{**{name: item.row.get(name) for name in fields}, "ours": item.ours} for item in judged if wanted(item)]


def _print(result: dict[str, Any], show_rows: bool) -> None:
    print(f"{'':48}{'n':>5}{'agreement':>11}{'kappa':>8}{'verdict':>9}")
    groups = [("clear rows", result["clear"]), ("all rows", result["all"])]
    groups += [(f"kind {name}", figures) for name, figures in result["by_kind"].items()]
    groups += [(name, figures) for name, figures in result["by_source"].items()]
    for name, figures in groups:
        cells = ["-" if figures[key] is None else f"{figures[key]:.3f}" for key in ("agreement", "kappa", "verdict_accuracy")]
        print(f"{name:48}{figures['n']:>5}{cells[0]:>11}{cells[1]:>8}{cells[2]:>9}")
    for name in ("false_accepts", "false_rejects"):
        print(f"\n{name.replace('_', ' ')}: {len(result[name])}")
        for row in result[name] if show_rows else ():
            mark = " (borderline)" if row["borderline"] else ""
            tail = " ".join(str(row["answer"]).split())[-160:]
            print(f"  {row['question_id']} gold {row['gold']!r}, ours {row['ours']}, reader {row['verdict']}{mark}: ...{tail}")


if __name__ == "__main__":
    run(MeasureOptions, main, EXAMPLE)
