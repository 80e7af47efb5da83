"""What a training run shows and leaves behind as it goes: a progress line with an ETA, `metrics.jsonl`, the learning curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import TrainerCallback

from supersession.cli import write_text

SHOWN = {"rollout/reward": "reward", "rollout/accuracy": "accuracy", "groups/dead_share": "dead", "rollout/stage": "stage", "loss": "loss"}
"""Which metrics stand on the progress line, and under what name."""


class Progress(TrainerCallback):
    """A tqdm line for the training loop."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.bar: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            self.bar = tqdm(total=state.max_steps, initial=state.global_step, desc=self.title, unit="step", mininterval=1.0)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.bar is not None:
            self.bar.update(1)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if self.bar is not None and logs:
            self.bar.set_postfix({short: f"{logs[name]:.3g}" for name, short in SHOWN.items() if logs.get(name) is not None})

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.bar is not None:
            self.bar.close()


class MetricsLog(TrainerCallback):
    """Appends every step's metrics to `metrics.jsonl`; lines of steps that a resumed run does again are removed first."""

    def __init__(self, path: Path, stage: str) -> None:
        self.path, self.stage = path, stage

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            kept = [row for row in read_metrics(self.path) if row["stage"] != self.stage or row["step"] <= state.global_step]
            write_text(self.path, "".join(json.dumps(row) + "\n" for row in kept))

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        # The summary that the Trainer logs after its last step has no loss of its own.
        if state.is_world_process_zero and logs and "loss" in logs:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"stage": self.stage, "step": state.global_step, **logs}) + "\n")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a `metrics.jsonl`, leaving out a last line that a kill cut short; empty if there is no file."""
    rows = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return rows


def plot_learning_curve(metrics: Path, target: Path) -> None:
    """Draw warm-start loss, GRPO reward and accuracy, and write- and read-success over steps into a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    rows = read_metrics(metrics)
    panels = [
        ("warm start", "warm-start", {"loss": "loss per token"}),
        ("GRPO: reward", "grpo", {"rollout/reward": "reward", "rollout/accuracy": "accuracy"}),
        (
            "GRPO: memory",
            "grpo",
            {"rollout/T": "gold in notes (T)", "rollout/C": "stale in notes (C)", "groups/dead_share": "groups without spread"},
        ),
    ]
    shown = [panel for panel in panels if any(row["stage"] == panel[1] for row in rows)]
    if not shown:
        return
    figure, axes = plt.subplots(1, len(shown), figsize=(4.6 * len(shown), 3.4), squeeze=False, layout="constrained")
    for axis, (title, stage, series) in zip(axes[0], shown, strict=True):
        for name, label in series.items():
            points = [(row["step"], row[name]) for row in rows if row["stage"] == stage and row.get(name) is not None]
            if points:
                axis.plot(*zip(*points, strict=True), label=label)
        axis.set(title=title, xlabel="optimiser step")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, loc="best", fontsize=8)
    figure.savefig(target, dpi=130)
    plt.close(figure)
