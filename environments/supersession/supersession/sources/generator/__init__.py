"""Generated episodes: `generate` gives one by (split, seed, index, level), `episodes` a stream of them."""

from supersession.sources.generator.build import episodes, generate
from supersession.sources.generator.knobs import LEVELS, SPLITS, Knobs
from supersession.sources.generator.notes import expert_answer

__all__ = ["LEVELS", "SPLITS", "Knobs", "episodes", "expert_answer", "generate"]
