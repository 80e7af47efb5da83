"""Train a model's memory: evaluate, warm-start on expert notes, GRPO, evaluate again, and say what changed.

    python training/grpo.py                                              the embedded model on a CPU
    python training/grpo.py --config training/configs/qwen2.5-3b.toml    the published recipe's model, on a GPU
    accelerate launch training/grpo.py --config ...                      the same on several

The algorithm is GRPO with three departures, each forced by a rollout being several prompts: the advantage belongs to the rollout and is
shared by its segments; the loss is divided by the sampled tokens of the whole step; groups without spread are dropped and refilled. No
KL, no division by the group's standard deviation.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import torch
from accelerate import PartialState
from peft import LoraConfig, get_peft_model
from transformers.utils import logging as transformers_logging
from trl import GRPOConfig

from curricula.files import open_curriculum
from eval.report import paired_p, show, stage_table, summarize
from eval.rows import Row
from eval.runner import evaluate
from supersession.cli import UsageError, provenance, run, write_text
from supersession.engines.local import LocalEngine, load_adapter, load_model
from supersession.sources import open_source
from supersession.sources.curriculum import Curriculum
from supersession.sources.generator import LEVELS
from training.collect import Collector
from training.curriculum import Scheduler
from training.estimate import report_estimate, skeleton
from training.options import TrainOptions
from training.progress import MetricsLog, Progress, plot_learning_curve
from training.sft import warm_start
from training.trainer import SegmentGRPOTrainer, last_checkpoint

EXAMPLE = "python training/grpo.py --curriculum buried-update --budget 300 --steps 60 --out runs/longer"


def main(options: TrainOptions) -> None:
    curriculum = open_curriculum(options.curriculum)
    if options.eval_level not in LEVELS:
        raise UsageError(f"--eval-level {options.eval_level} is unknown; choose from {', '.join(map(str, LEVELS))}")
    transformers_logging.disable_progress_bar()
    # TRL and transformers warn about each other's coming renames; nothing that a user of this command could change.
    warnings.simplefilter("ignore", FutureWarning)
    if options.dry_run:
        # An adapter loaded onto a model without weights warns for each tensor that nothing was copied.
        warnings.filterwarnings("ignore", message=".*copying from a non-meta parameter")
        model, tokenizer = skeleton(options)
        if PartialState().is_main_process:
            report_estimate(options, curriculum, with_adapter(model, options), tokenizer)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    claim(options)
    model, tokenizer = load_model(options.model, options.dtype)
    engine = LocalEngine(model, tokenizer)
    stages = {"base": evaluate_stage(engine, options, "base")}
    engine.model = with_adapter(model, options)
    if options.warm_start_episodes:
        run_warm_start(engine, options, curriculum)
        stages["warm start"] = evaluate_stage(engine, options, "warm-start")
    if options.steps:
        run_grpo(engine, options, curriculum)
        stages["GRPO"] = evaluate_stage(engine, options, "grpo")
    if PartialState().is_main_process:
        report(options, stages)


def claim(options: TrainOptions) -> None:
    """Mark the folder as this run's, so that nothing resumes a run with other options. Raises `UsageError` if it is another's."""
    path = options.out / "config.json"
    mine = json.loads(options.model_dump_json(exclude={"dry_run", "json_file", "out"}))
    if path.is_file():
        theirs = json.loads(path.read_text(encoding="utf-8"))["options"]
        changed = sorted(name for name in mine if mine[name] != theirs.get(name))
        if changed:
            name = changed[0]
            raise UsageError(
                f"{options.out} holds a run with {name} = {theirs.get(name)!r}, not {mine[name]!r}; give another --out or that value"
            )
    elif PartialState().is_main_process:
        write_text(path, json.dumps({"options": mine, "provenance": provenance()}, indent=2) + "\n")


def with_adapter(model: Any, options: TrainOptions) -> Any:
    """Return the model with the adapter to train: the one given, or a fresh one."""
    if options.adapter is not None:
        return load_adapter(model, options.adapter, trainable=True)
    torch.manual_seed(options.seed)
    return get_peft_model(
        model, LoraConfig(r=options.lora_rank, lora_alpha=options.lora_alpha, target_modules="all-linear", task_type="CAUSAL_LM")
    )


def evaluate_stage(engine: LocalEngine, options: TrainOptions, stage: str) -> list[Row]:
    """Return the rows of the held-out evaluation of this stage; what an interrupted run has already evaluated is not played again."""
    if not options.eval_count or not PartialState().is_main_process:
        return []
    print(f"evaluating {stage} on {options.eval_count} {options.eval_split} episodes of level {options.eval_level}", file=sys.stderr)
    episodes = open_source(options.eval_split, level=options.eval_level, count=options.eval_count, seed=options.seed, budget=options.budget)
    return evaluate(
        engine,
        episodes,
        budget=options.budget,
        stale_weight=options.stale_weight,
        answer_tokens=options.answer_tokens,
        seed=options.seed,
        out=options.out / "eval" / stage,
    )


def run_warm_start(engine: LocalEngine, options: TrainOptions, curriculum: Curriculum) -> None:
    """Bring the adapter to the end of the warm start, by training on all stages in turn or from disk."""
    folder = options.out / "warm-start"
    if not (folder / "done").is_file():
        stages = len(curriculum.stages)
        episodes = [
            curriculum.episode(index % stages, "train", options.seed + 1, index, options.budget)
            for index in range(options.warm_start_episodes)
        ]
        warm_start(
            engine,
            episodes,
            budget=options.budget,
            learning_rate=options.warm_start_learning_rate,
            batch_size=options.warm_start_batch,
            save_steps=options.save_steps,
            seed=options.seed,
            out=folder,
            callbacks=[Progress("warm start"), MetricsLog(options.out / "metrics.jsonl", "warm-start")],
        )
        if PartialState().is_main_process:
            (folder / "done").touch()
        return
    engine.model.load_adapter(folder, "default", is_trainable=True)


def run_grpo(engine: LocalEngine, options: TrainOptions, curriculum: Curriculum) -> None:
    """Train to the last step, from the newest whole checkpoint if there is one, and save the adapter."""
    folder = options.out / "grpo"
    collector = Collector(
        engine,
        Scheduler(curriculum, options.seed, options.budget),
        groups=options.groups,
        group_size=options.group_size,
        budget=options.budget,
        stale_weight=options.stale_weight,
        temperature=options.temperature,
        answer_tokens=options.answer_tokens,
        refills=options.refills,
        seed=options.seed,
    )
    args = GRPOConfig(
        output_dir=str(folder),
        max_steps=options.steps,
        num_generations=options.group_size,
        per_device_train_batch_size=options.group_size,
        gradient_accumulation_steps=1,
        learning_rate=options.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=2,
        max_grad_norm=1.0,
        beta=0.0,
        loss_type="dapo",
        scale_rewards="none",
        temperature=options.temperature,
        gradient_checkpointing=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        bf16=False,
        logging_steps=1,
        save_steps=options.save_steps,
        save_total_limit=2,
        ddp_timeout=7200,
        report_to="none",
        disable_tqdm=True,
        seed=options.seed,
    )
    trainer = SegmentGRPOTrainer(
        collector=collector,
        micro_batch_tokens=options.micro_batch_tokens,
        patience=options.patience,
        model=engine.model,
        processing_class=engine.tokenizer,
        args=args,
        callbacks=[Progress("GRPO"), MetricsLog(options.out / "metrics.jsonl", "grpo")],
    )
    checkpoint = last_checkpoint(folder)
    if checkpoint is not None:
        trainer.load_stream_state(checkpoint)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint is not None else None)
    if PartialState().is_main_process:
        engine.model.save_pretrained(options.out / "adapter")


def report(options: TrainOptions, stages: dict[str, list[Row]]) -> None:
    """Print the table of stages and where everything is; write `summary.json` and the learning curve."""
    result: dict[str, Any] = {"config": options.model_dump(mode="json"), "provenance": provenance(), "stages": {}}
    names = list(stages)
    for i, name in enumerate(names):
        result["stages"][name] = summarize(stages[name]).as_dict()
        if i:
            result["stages"][name]["p_vs_previous"] = paired_p(stages[names[i - 1]], stages[name])
            result["stages"][name]["p_vs_base"] = paired_p(stages[names[0]], stages[name])
    for path in filter(None, (options.out / "summary.json", options.json_file)):
        write_text(path, json.dumps(result, indent=2) + "\n")
    plot_learning_curve(options.out / "metrics.jsonl", options.out / "learning_curve.png")
    if options.eval_count:
        print(f"\n{options.model}: {options.eval_split} episodes of level {options.eval_level}, {options.budget} characters of notes")
        show(stage_table(stages))
        print("p: McNemar's exact test on the same questions. T: the final notes hold the current value.")
    for what, path in (
        ("adapter", options.out / ("adapter" if options.steps else "warm-start")),
        ("metrics", options.out / "metrics.jsonl"),
        ("learning curve", options.out / "learning_curve.png"),
        ("rows of each evaluation", options.out / "eval"),
    ):
        if path.exists():
            print(f"{what + ':':<25}{path}")


if __name__ == "__main__":
    run(TrainOptions, main, EXAMPLE)
