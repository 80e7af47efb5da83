"""What both verifiers adapters report about a rollout, whether it ran to its end or was stopped on the way."""

from __future__ import annotations

from dataclasses import replace

from supersession.protocol import NotesRollout
from supersession.scoring import score


def outcome(rollout: NotesRollout, stale_weight: float) -> dict[str, float]:
    """Return `Scorecard.metrics()` and `finished` (1.0, or 0.0 for a rollout that a turn limit, a timeout or the context's length stopped).

    A question that was not reached counts as answered by nothing, so it is wrong; the notes are those that stood when the rollout stopped.
    """
    unanswered = len(rollout.episode.questions) - len(rollout.answers)
    closed = replace(rollout, answers=[*rollout.answers, *[""] * unanswered])
    return {**score(closed, stale_weight).metrics(), "finished": float(rollout.done)}
