"""Compare evaluations of the same questions with the first of them: what differs, and what the data support.

    python eval/compare.py runs/base runs/grpo runs/full --json compare.json

Reads `rows.jsonl` of each folder; conditions and models may differ. "80% power" is the smallest difference, in points, that McNemar's
exact test finds in 80% of cases with as many questions of which as many differ (exact power after Duffy 1984, Biometrics 40, 1005-1015).
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import Field
from pydantic_settings import CliPositionalArg

from eval.pairs import compare_runs, sentence
from eval.report import comparison_table, show, summarize
from eval.rows import read_rows
from supersession.cli import Options, UsageError, provenance, run, write_text

EXAMPLE = "python eval/compare.py runs/base runs/grpo --json compare.json"


class CompareOptions(Options):
    """Compare evaluations of the same questions with the first of them: paired differences, tests, and what the data support."""

    runs: CliPositionalArg[list[Path]]
    """Folders of evaluations (their --out); the first is what the others are compared with."""
    json_file: Path | None = Field(None, alias="json")
    """File for the whole result: runs, and comparisons over all questions and per kind."""
    seed: int = 0
    """Of the bootstrap."""


def main(options: CompareOptions) -> None:
    """Print a table and a sentence for each run after the first."""
    if options.json_file is not None and not options.json_file.parent.is_dir():
        raise UsageError(f"--json: folder {options.json_file.parent} does not exist; create it or choose another file")
    if len(options.runs) < 2:
        raise UsageError(f"{options.runs[0]} is the only run given; a comparison needs two or more")
    twice = [folder for i, folder in enumerate(options.runs) if folder in options.runs[:i]]
    if twice:
        raise UsageError(f"{twice[0]} is given twice; compare different runs")
    runs = {str(folder): read_rows(folder) for folder in options.runs}
    tables = compare_runs(runs, options.seed)
    if options.json_file is not None:
        report = {
            "seed": options.seed,
            "provenance": provenance(),
            "runs": [{"folder": folder} | summarize(rows).as_dict() for folder, rows in runs.items()],
            "comparisons": [line.as_dict() for lines in tables for line in lines],
        }
        write_text(options.json_file, json.dumps(report, indent=2) + "\n")
    for lines in tables:
        show(comparison_table(lines))
        print(sentence(lines[0]) + "\n")
    if any(lines[0].episodes < lines[0].n for lines in tables):
        print("Some episodes ask several questions: the interval allows for what these have in common; p, Holm and 80% power do not.")


if __name__ == "__main__":
    run(CompareOptions, main, EXAMPLE)
