"""The picture of one episode being lived through: sessions beside the notes that the model wrote after each, question, verdict."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from pydantic import Field

from eval.rows import Row
from supersession.cli import Options, UsageError, provenance, run, write_text
from supersession.episode import Episode, format_date
from supersession.sources import open_source
from training.options import TrainOptions

COLOURS = {"current": "#1b7f4b", "stale": "#b3402a", "hedged": "#b07a10", "abstain": "#5b6470", "other": "#5b6470"}
WIDTH = 52
"""Characters to a line of a box."""


class FigureOptions(Options):
    """Draw one held-out episode of a training run as its model lived it."""

    run_dir: Path = Path("runs/laptop")
    """Folder of a training run."""
    stage: str = "grpo"
    """Whose notes: base, warm-start or grpo."""
    verdict: str = "current"
    """Draw an episode with this verdict."""
    out: Path = Path("docs/episode.png")
    """The picture."""
    seed: int = Field(0, ge=0)
    """Which of the episodes with that verdict."""
    json_file: Path | None = Field(None, alias="json")
    """Also write what is drawn to this file."""


def main(options: FigureOptions) -> None:
    row, episode = find(options)
    draw(row, episode, options.out)
    print(f"drew episode {episode.id} ({row.verdict}) to {options.out}")
    if options.json_file is not None:
        result = {"config": options.model_dump(mode="json"), "provenance": provenance(), "row": row.model_dump(mode="json")}
        write_text(options.json_file, json.dumps(result, indent=2) + "\n")


def find(options: FigureOptions) -> tuple[Row, Episode]:
    """Return the row to draw and its episode, made anew from the run's options."""
    path = options.run_dir / "eval" / options.stage / "rows.jsonl"
    if not path.is_file():
        raise UsageError(f"{path} is not there; give the --run-dir of a finished run of training/grpo.py and one of its stages")
    rows = [Row.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    fitting = [row for row in rows if row.verdict == options.verdict and row.stale]
    if not fitting:
        raise UsageError(f"no row of {path} has verdict {options.verdict!r}; choose one of {', '.join(COLOURS)}")
    row = fitting[options.seed % len(fitting)]
    config = TrainOptions(**json.loads((options.run_dir / "config.json").read_text(encoding="utf-8"))["options"])
    source = open_source(config.eval_split, level=config.eval_level, count=config.eval_count, seed=config.seed, budget=config.budget)
    return row, next(episode for episode in source if episode.id == row.episode_id)


def draw(row: Row, episode: Episode, target: Path) -> None:
    """Draw sessions on the left, the notes after each on the right, the question and the answer below."""
    lines = len(episode.sessions) + 1
    figure, axis = plt.subplots(figsize=(11, 1.55 * lines))
    axis.set(xlim=(0, 2), ylim=(0, lines))
    axis.axis("off")
    for i, (session, notes) in enumerate(zip(episode.sessions, row.notes, strict=True)):
        y = lines - i - 0.5
        said = "\n".join(textwrap.fill(f"{turn.role}: {turn.content}", WIDTH) for turn in session.turns)
        box(axis, 0.02, y, f"{format_date(session.date)}: seen once", said, "#eef2f7", "#34495e")
        written = "\n".join(textwrap.fill(line, WIDTH) for line in notes.splitlines()) or "(empty)"
        box(axis, 1.05, y, f"notes carried on, {len(notes)} of {row.budget} characters", written, "#fbf6e6", "#6b5b1e")
        axis.annotate("", (1.03, y), (0.98, y), arrowprops={"arrowstyle": "->", "color": "#555555"})
    question = episode.questions[0]
    asked = textwrap.fill(question.text, WIDTH) + f"\n(now: {question.gold}; superseded: {', '.join(question.stale)})"
    box(axis, 0.02, 0.5, f"{format_date(question.date)}: asked from the notes alone", asked, "#eef2f7", "#34495e")
    box(
        axis,
        1.05,
        0.5,
        f"answer, verdict: {row.verdict}",
        textwrap.fill(row.answer or "(empty)", WIDTH),
        "#f4f4f4",
        COLOURS[str(row.verdict)],
    )
    axis.annotate("", (1.03, 0.5), (0.98, 0.5), arrowprops={"arrowstyle": "->", "color": "#555555"})
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110, bbox_inches="tight", facecolor="white")
    plt.close(figure)


def box(axis: plt.Axes, x: float, y: float, title: str, text: str, fill: str, edge: str) -> None:
    """Draw a titled text box whose left edge is at `x` and whose middle is at `y`."""
    axis.add_patch(plt.Rectangle((x, y - 0.42), 0.93, 0.84, facecolor=fill, edgecolor=edge, linewidth=1.2))
    axis.text(x + 0.02, y + 0.36, title, fontsize=8, color=edge, weight="bold", va="top")
    axis.text(x + 0.02, y + 0.16, text, fontsize=8.5, family="monospace", va="top")


if __name__ == "__main__":
    run(FigureOptions, main, "python scripts/figure_episode.py --run-dir runs/laptop --verdict current --out docs/episode.png")
