"""The exported folder is the base model with the adapter, and an export leaves a whole folder or none."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from supersession.cli import run
from supersession.engines.local import LocalEngine, load_model
from training.export import EXAMPLE, ExportOptions, main

IDS = torch.arange(3, 120)[None]


def export(*words: Any) -> int:
    """Run the command and return its exit code."""
    try:
        run(ExportOptions, main, EXAMPLE, [str(word) for word in words])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture(scope="module")
def finished_run(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder: an adapter that changes the logits, and the options that name the base model."""
    folder = tmp_path_factory.mktemp("run")
    model, _ = load_model(str(tiny_model_dir))
    torch.manual_seed(1)
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    get_peft_model(model, config).save_pretrained(folder / "adapter")
    (folder / "config.json").write_text(json.dumps({"options": {"model": str(tiny_model_dir)}}))
    return folder


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = model.eval()(input_ids=IDS).logits
    return result


def test_logits_equal_those_of_base_and_adapter(tiny_model_dir: Path, finished_run: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "models" / "merged", tmp_path / "report.json"
    assert export(finished_run, "--out", out, "--json", report) == 0
    base = AutoModelForCausalLM.from_pretrained(tiny_model_dir)
    plain = logits(base)
    adapted = logits(PeftModel.from_pretrained(base, finished_run / "adapter"))
    assert float((adapted - plain).abs().max()) > 1e-2
    torch.testing.assert_close(logits(AutoModelForCausalLM.from_pretrained(out)), adapted, rtol=0, atol=1e-4)
    written = json.loads(report.read_text())
    assert written["same_token"] == written["prompts"] == 4
    assert written["largest_difference"] < 1e-4
    assert [path.name for path in out.parent.iterdir()] == ["merged"]


def test_the_folder_is_a_model_like_any_other(tiny_model_dir: Path, finished_run: Path, tmp_path: Path) -> None:
    assert export(finished_run / "adapter", "--out", tmp_path / "merged", "--dtype", "bfloat16") == 0
    names = {path.name for path in (tmp_path / "merged").iterdir()}
    assert {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"} <= names
    assert not any("adapter" in name for name in names)
    engine = LocalEngine.load(str(tmp_path / "merged"))
    message = [{"role": "user", "content": "Hello"}]
    assert engine.encode(message) == LocalEngine.load(str(tiny_model_dir)).encode(message)
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "merged").dtype == torch.bfloat16
    assert AutoTokenizer.from_pretrained(tmp_path / "merged").chat_template


def test_an_adapter_alone_takes_the_base_that_it_names(tiny_model_dir: Path, finished_run: Path, tmp_path: Path) -> None:
    lone = tmp_path / "lone"
    (finished_run / "adapter").rename(lone)
    try:
        assert export(lone, "--out", tmp_path / "merged", "--json", tmp_path / "report.json") == 0
    finally:
        lone.rename(finished_run / "adapter")
    assert json.loads((tmp_path / "report.json").read_text())["base"] == str(tiny_model_dir)


@pytest.mark.parametrize("taken", ["folder", "file"])
def test_a_place_that_is_taken_is_refused(finished_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], taken: str) -> None:
    out = tmp_path / "out"
    if taken == "folder":
        out.mkdir()
    (out / "mine.txt" if taken == "folder" else out).write_text("keep")
    assert export(finished_run, "--out", out) == 2
    assert capsys.readouterr().err == f"error: --out {out} exists and is not an empty folder; give another one, or remove it\n"
    assert (out / "mine.txt" if taken == "folder" else out).read_text() == "keep"


def test_an_empty_folder_is_filled(finished_run: Path, tmp_path: Path) -> None:
    assert export(finished_run, "--out", tmp_path) == 0
    assert (tmp_path / "model.safetensors").is_file()


def test_a_folder_without_adapter_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(tmp_path, "--out", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path} holds no adapter")
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_adapter_of_another_model_is_refused(
    tiny_model_dir: Path, finished_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = AutoModelForCausalLM.from_pretrained(tiny_model_dir)
    config = model.config
    config.hidden_size = 48
    type(model)(config).save_pretrained(tmp_path / "wider")
    AutoTokenizer.from_pretrained(tiny_model_dir).save_pretrained(tmp_path / "wider")
    assert export(finished_run, "--model", tmp_path / "wider", "--out", tmp_path / "out") == 2
    assert "does not fit the model" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_disk_that_refuses_leaves_nothing(finished_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The largest file that this process may write stands in for the full disk: the weights do not fit, what comes before them does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        code = export(finished_run, "--out", tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
