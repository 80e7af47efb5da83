"""Run by test_trainer under torchrun: each process backpropagates its share of the rows and saves the adapter's gradient."""

import sys
from pathlib import Path

import torch
from accelerate import PartialState

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.training.conftest import make_engine
from tests.training.test_trainer import ROWS, make_trainer

model_dir, out = Path(sys.argv[1]), Path(sys.argv[2])
trainer = make_trainer(make_engine(model_dir), out, micro_batch_tokens=40)
rank = PartialState().process_index
assert PartialState().num_processes == 2
model = trainer.accelerator.prepare(trainer.model)
trainer.backward(model, ROWS[:4] if rank == 0 else ROWS[4:])
parts = [(name, p.grad) for name, p in trainer.model.named_parameters() if p.grad is not None]
torch.save(torch.cat([grad.flatten() for _, grad in sorted(parts)]), out / f"grad-{rank}.pt")
