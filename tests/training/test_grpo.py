"""The training command as its user runs it: from nothing to the table, again, and with bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from supersession.cli import run
from training.grpo import EXAMPLE, main
from training.options import TrainOptions
from training.progress import read_metrics


def train(out: Path, model: Path | str, **changes: Any) -> int:
    """Run the command and return its exit code."""
    options: dict[str, Any] = {
        "model": model,
        "out": out,
        "curriculum": "plain",
        "eval-level": 0,
        "budget": 60,
        "answer-tokens": 4,
        "eval-count": 3,
        "warm-start-episodes": 2,
        "steps": 2,
        "groups": 1,
        "group-size": 2,
        "refills": 0,
        "save-steps": 1,
    }
    argv = [word for name, value in (options | changes).items() for word in (f"--{name}", str(value))]
    try:
        run(TrainOptions, main, EXAMPLE, argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_a_run_leaves_table_adapter_metrics_and_plot_and_a_rerun_repeats_nothing(
    tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert train(out, tiny_model_dir) == 0
    shown = capsys.readouterr().out
    assert all(stage in shown for stage in ("base", "warm start", "GRPO", str(out / "adapter"), str(out / "metrics.jsonl")))
    assert (out / "adapter" / "adapter_model.safetensors").is_file()
    assert (out / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert [row["step"] for row in read_metrics(out / "metrics.jsonl") if row["stage"] == "grpo"] == [1, 2]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["stages"]["GRPO"]["n"] == 3
    assert summary["config"]["steps"] == 2
    rows = {path: path.stat().st_mtime_ns for path in out.glob("eval/*/rows.jsonl")}
    assert len(rows) == 3
    assert train(out, tiny_model_dir) == 0
    assert json.loads((out / "summary.json").read_text())["stages"] == summary["stages"]
    assert rows == {path: path.stat().st_mtime_ns for path in rows}


def test_a_folder_of_another_run_is_refused(tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = {"eval-count": 0, "warm-start-episodes": 0, "steps": 0}
    assert train(tmp_path, tiny_model_dir, **quick) == 0
    assert train(tmp_path, tiny_model_dir, **quick, seed=7) == 2
    assert "holds a run with seed = 0, not 7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 0}, "--budget: Input should be greater than or equal to 1, got '0'"),
        ({"curriculum": "level-9"}, "curriculum 'level-9' is unknown; choose one of buried-update, drift"),
        ({"eval-level": 9}, "--eval-level 9 is unknown; choose from 0, 1"),
        ({"model": "no/such/model"}, "model 'no/such/model' is neither a folder"),
        ({"eval-split": "longmemeval"}, "--eval-split: Input should be 'dev', 'test' or 'ood', got 'longmemeval'"),
        ({"no-such-option": 1}, "unrecognized arguments: --no-such-option"),
        ({"config": "absent.toml"}, "cannot read the config absent.toml"),
    ],
)
def test_bad_input_is_one_sentence(
    tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], message: str
) -> None:
    assert train(tmp_path / "run", **({"model": tiny_model_dir} | changes)) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert "Traceback" not in error


def test_an_unknown_config_key_is_named_with_the_known_ones(
    tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "typo.toml"
    config.write_text("learning_rat = 1e-4\n")
    assert train(tmp_path / "run", tiny_model_dir, config=config) == 2
    assert f"{config}: unknown key 'learning_rat'; known keys: adapter, answer_tokens" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_one_sentence(tiny_model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert train(tmp_path / "file" / "run", tiny_model_dir) == 2
    assert "Not a directory" in capsys.readouterr().err
