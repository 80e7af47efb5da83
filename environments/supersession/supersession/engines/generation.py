"""What every engine returns for a prompt, and the limits on what it may write."""

from __future__ import annotations

from dataclasses import dataclass

from supersession.cli import UsageError
from supersession.protocol import Segment

ANSWER_TOKENS = 64
"""Default limit of an answer's tokens."""


class PromptTooLong(UsageError):
    """A prompt and its reply do not fit the model's context; nothing is ever cut silently."""


@dataclass(frozen=True)
class Generation:
    """A reply: its text, its size in tokens, whether the limit cut it; `prompt_ids`, `token_ids` where the engine has them (local)."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    truncated: bool
    prompt_ids: tuple[int, ...] = ()
    token_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """One lived segment of a rollout."""

    segment: Segment
    generation: Generation


def token_limit(segment: Segment, budget: int, answer_tokens: int = ANSWER_TOKENS) -> int:
    """Return how many tokens a reply may have; for notes a third of the budget's characters and some slack (English has 4 a token)."""
    return budget // 3 + 16 if segment.kind == "write" else answer_tokens
