"""Bounded-memory episodes in which facts change, scored by a program: data model, protocol, scoring, sources and adapters.

verifiers finds its plugins here: `load_environment` (v0 API) and the taskset, harness and env (v1). They are imported when first
asked for, so that the core imports neither verifiers nor torch.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verifiers.legacy import Environment

    from supersession.adapters.v1 import SupersessionEnv, SupersessionHarness, SupersessionTaskset

__all__ = ["SupersessionEnv", "SupersessionHarness", "SupersessionTaskset", "load_environment"]


def __getattr__(name: str) -> Any:
    if name in ("SupersessionEnv", "SupersessionHarness", "SupersessionTaskset"):
        return getattr(importlib.import_module("supersession.adapters.v1"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_environment(
    split: str = "train",
    level: int | None = None,
    count: int | None = None,
    seed: int = 0,
    budget: int = 300,
    stale_weight: float | None = None,
    questions_per_episode: int = 1,
    full_context: bool = False,
    data_path: str | None = None,
    **kwargs: Any,
) -> Environment:
    """Return the verifiers v0 environment, for `vf-eval supersession` on verifiers 0.3 or `verifiers.load_environment("supersession")`.

    `split`, `level`, `count`, `seed`, `data_path` and `questions_per_episode` choose the episodes as `sources.open_source` does. `budget`
    is how many characters the notes may have, `stale_weight` the λ of the reward (default `scoring.STALE_WEIGHT`), and `full_context`
    shows the whole history at the question instead of notes. `kwargs` go to `MultiTurnEnv`. Raises `ValueError` for a bad value, and
    `ImportError` on verifiers 0.4 or newer, which have no v0 API.
    """
    try:
        import verifiers.legacy  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"load_environment needs verifiers 0.3; {importlib.metadata.version('verifiers')} is installed, which has no v0 API. Run "
            "`vf-eval supersession` as it is (this package is a v1 taskset too), or `pip install 'verifiers>=0.3.1,<0.4'`."
        ) from error
    from supersession.adapters.multiturn import SupersessionMultiTurnEnv
    from supersession.scoring import STALE_WEIGHT
    from supersession.sources import open_source

    episodes = open_source(split, level=level, count=count, seed=seed, data_path=data_path, questions=questions_per_episode, budget=budget)
    return SupersessionMultiTurnEnv(
        episodes,
        budget=budget,
        condition="full" if full_context else "bounded",
        stale_weight=STALE_WEIGHT if stale_weight is None else stale_weight,
        **kwargs,
    )
