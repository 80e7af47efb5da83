"""The difficulty of an episode as named knobs, and the levels as settings of them."""

from __future__ import annotations

from typing import get_args

from pydantic import BaseModel, ConfigDict, model_validator

from supersession.episode import QuestionKind

SPLITS = ("train", "dev", "test", "ood")
"""train, dev and test share words but no fact change; `ood` has attributes, values, names and phrasings of its own."""

Range = tuple[int, int]


class Knobs(BaseModel):
    """What an episode may contain. Ranges are (lowest, highest); shares are probabilities. Nonsense raises `ValueError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    sessions: Range
    """Sessions in an episode."""
    chars: Range
    """Characters of a session."""
    facts: Range
    """Fact keys in an episode, the one that is mostly asked about included."""
    changes: Range = (1, 1)
    """Lasting changes of that fact."""
    other_changes: float = 0.0
    """Share of the other facts that change once."""
    same_attribute: float = 0.0
    """Share of the other facts that are the same attribute of another person or scope."""
    same_type: float = 0.0
    """Share of the remaining facts whose values have the same type."""
    competitor_last: float = 0.0
    """How often such a competing fact is told after the final change rather than anywhere."""
    implicit: float = 0.0
    """Share of changes told without saying that something changed."""
    relative: float = 0.0
    """Share of number changes told as a difference ("two more")."""
    returns: float = 0.0
    """Share of later changes that go back to an earlier value."""
    corrections: float = 0.0
    """Share of changes told as the correction of a slip."""
    noise: Range = (0, 0)
    """Sentences that mention a value without changing anything."""
    noise_kinds: dict[str, float] = {}
    """Weights of the kinds in `NOISE_KINDS`."""
    replies: float = 0.0
    """How often the assistant answers in short sessions; longer ones are always dialogues."""
    chat: bool = False
    """Sessions read like chats, with side topics."""
    words: float = 0.0
    """Share of small numbers written as words."""
    introduce: bool = False
    """A person's first mention says who it is ("my sister Mia")."""
    notes: int = 300
    """Characters within which ideal notes can hold every fact of the episode."""
    ask_other: float = 0.0
    """Share of questions about another fact than the one that changes most."""
    kinds: dict[QuestionKind, float] = {"current": 1.0}
    """Weights of the question kinds."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Knobs:
        for name in ("sessions", "chars", "facts", "changes", "noise"):
            low, high = getattr(self, name)
            least = 0 if name == "noise" else 1
            if not least <= low <= high:
                raise ValueError(f"{name} must be a range (low, high) with {least} <= low <= high, got {(low, high)}")
        shares = "other_changes same_attribute same_type competitor_last implicit relative returns corrections replies words ask_other"
        for name in shares.split():
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share and must lie between 0 and 1, got {getattr(self, name)}")
        if self.changes[1] >= self.sessions[0]:
            needed = self.changes[1] + 1
            raise ValueError(
                f"{self.changes[1]} changes need at least {needed} sessions, got {self.sessions[0]}; raise sessions or lower changes"
            )
        if self.chars[0] < 60:
            raise ValueError(f"a session cannot be told in {self.chars[0]} characters; give at least 60")
        if self.noise[1] and not self.noise_kinds:
            raise ValueError("noise needs noise_kinds, the weights of its kinds; got none")
        unknown = sorted(set(self.noise_kinds) - set(NOISE_KINDS))
        if unknown:
            raise ValueError(f"noise kind {unknown[0]!r} is unknown; choose from {', '.join(NOISE_KINDS)}")
        if self.noise_kinds.get("slip") and not self.chat:
            raise ValueError("a slip of the assistant needs a dialogue; set chat to true or take slip out of noise_kinds")
        for name, weights in (("noise_kinds", self.noise_kinds), ("kinds", self.kinds)):
            if any(weight < 0 for weight in weights.values()) or (weights and sum(weights.values()) <= 0):
                raise ValueError(f"the weights of {name} must be 0 or more and not all 0, got {weights}")
        if not self.kinds:
            raise ValueError(f"kinds needs at least one of {', '.join(get_args(QuestionKind))}")
        return self


NOISE_KINDS = ("repeat", "past", "slip", "intent", "hearsay", "joke", "once")
"""The value again; an earlier one as a memory, or from the assistant; a plan that came to nothing; a rumour; a joke; an exception."""

_ALL_KINDS: dict[QuestionKind, float] = {
    "current": 0.4,
    "previous": 0.12,
    "both": 0.08,
    "as_of": 0.08,
    "count": 0.08,
    "direction": 0.06,
    "scoped": 0.1,
    "abstain": 0.08,
}
_ALL_NOISE = {"repeat": 1.0, "past": 1.0, "slip": 0.8, "intent": 1.5, "hearsay": 1.0, "joke": 0.5, "once": 1.5}

LEVELS: dict[int, Knobs] = {
    0: Knobs(sessions=(2, 2), chars=(60, 90), facts=(1, 1), notes=160),
    1: Knobs(
        sessions=(2, 3),
        chars=(80, 130),
        facts=(2, 2),
        same_attribute=0.3,
        same_type=0.5,
        competitor_last=0.4,
        ask_other=0.25,
        replies=0.3,
        notes=160,
    ),
    2: Knobs(
        sessions=(3, 3),
        chars=(120, 200),
        facts=(2, 3),
        same_attribute=0.4,
        same_type=0.4,
        competitor_last=0.5,
        implicit=0.35,
        noise=(0, 1),
        noise_kinds={"repeat": 1.0, "past": 0.5},
        replies=0.5,
        introduce=True,
        notes=160,
        ask_other=0.15,
        kinds={"current": 0.65, "previous": 0.15, "scoped": 0.1, "abstain": 0.1},
    ),
    3: Knobs(
        sessions=(4, 4),
        chars=(300, 500),
        facts=(3, 4),
        changes=(1, 2),
        other_changes=0.3,
        same_attribute=0.4,
        same_type=0.5,
        competitor_last=0.6,
        implicit=0.4,
        relative=0.3,
        corrections=0.1,
        noise=(1, 2),
        noise_kinds=_ALL_NOISE,
        chat=True,
        words=0.4,
        introduce=True,
        ask_other=0.15,
        kinds=_ALL_KINDS,
    ),
    4: Knobs(
        sessions=(4, 6),
        chars=(400, 800),
        facts=(4, 5),
        changes=(1, 3),
        other_changes=0.4,
        same_attribute=0.5,
        same_type=0.6,
        competitor_last=0.7,
        implicit=0.5,
        relative=0.4,
        returns=0.2,
        corrections=0.1,
        noise=(2, 4),
        noise_kinds=_ALL_NOISE,
        chat=True,
        words=0.4,
        introduce=True,
        ask_other=0.2,
        kinds=_ALL_KINDS,
    ),
    5: Knobs(
        sessions=(5, 7),
        chars=(600, 1100),
        facts=(4, 6),
        changes=(1, 4),
        other_changes=0.5,
        same_attribute=0.5,
        same_type=0.7,
        competitor_last=0.75,
        implicit=0.6,
        relative=0.5,
        returns=0.3,
        corrections=0.1,
        noise=(3, 5),
        noise_kinds=_ALL_NOISE,
        chat=True,
        words=0.4,
        introduce=True,
        ask_other=0.25,
        kinds=_ALL_KINDS,
    ),
    6: Knobs(
        sessions=(6, 8),
        chars=(900, 1500),
        facts=(5, 7),
        changes=(2, 5),
        other_changes=0.5,
        same_attribute=0.5,
        same_type=0.7,
        competitor_last=0.75,
        implicit=0.7,
        relative=0.5,
        returns=0.35,
        corrections=0.1,
        noise=(4, 7),
        noise_kinds=_ALL_NOISE,
        chat=True,
        words=0.4,
        introduce=True,
        ask_other=0.25,
        kinds=_ALL_KINDS,
    ),
}
"""Level 0 is one fact and its plain update in two short messages; level 6 is months of chats with everything in between."""
