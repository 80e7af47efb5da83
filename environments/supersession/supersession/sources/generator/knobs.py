"""The difficulty of an episode as named knobs, and the levels as settings of them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from supersession.episode import QuestionKind

SPLITS = ("train", "dev", "test", "ood")
"""train, dev and test share words but no fact change; `ood` has attributes, values, names and phrasings of its own."""

Range = tuple[int, int]

Relationship = Literal["matched-neutral", "unrelated", "repeated-history", "same-slot-conflict"]
"""What another thing told is to the fact that is asked about: another attribute with values of the same type; any other attribute; the
fact's own past or present once more; a rival value of the same attribute."""
Owner = Literal["person", "scope", "past", "source"]
"""Whose a rival value is: another person's, another scope's, an earlier one that the assistant still believes in, a wrong source's."""
Marker = Literal["none", "transient", "superseded"]
"""How a rival value is marked: not at all, as an exception of the day, as what used to be."""
Authority = Literal["none", "claimed"]
"""Whether a wrong source is just somebody talking, or a letter, a website, an official."""
Position = Literal["before", "after", "any"]
"""Where a rival value stands: before or after the last change of the fact that is asked about."""


class Knobs(BaseModel):
    """What an episode may contain. Ranges are (lowest, highest); shares are probabilities. Nonsense raises `ValueError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    sessions: Range
    """Sessions in an episode."""
    chars: Range
    """Characters of a session."""
    load: Range
    """Other things told beside the fact that is mostly asked about, L0 to L6."""
    relationship: dict[Relationship, float] = {"unrelated": 1.0}
    """Weights of what each of them is to that fact."""
    owner: dict[Owner, float] = {"person": 1.0, "scope": 1.0}
    """Weights of whose the rival value of a same-slot conflict is. Attributes that have scopes conflict with other scopes, all others with
    other people."""
    marker: dict[Marker, float] = {"none": 1.0}
    """Weights of how it is marked."""
    authority: dict[Authority, float] = {"none": 1.0}
    """Weights of what stands behind a wrong source."""
    position: dict[Position, float] = {"any": 1.0}
    """Weights of where rival values and values of the same type stand."""
    changes: Range = (1, 1)
    """Lasting changes of that fact."""
    other_changes: float = 0.0
    """Share of the other facts that change once."""
    twin: float = 0.0
    """Share of the same attribute's facts that start from the same value and must stay as they are."""
    implicit: float = 0.0
    """Share of changes told without saying that something changed."""
    drift: float = 0.0
    """Share of changes that are never stated: the old value failed, the new one worked."""
    unmarked: float = 0.0
    """Share of the remaining changes told like a first mention, without a word that says that something changed."""
    disguised: float = 0.0
    """Share of changes told in the words of noise: gossip that is true, a plan that was carried out, a letter that is right."""
    relational: float = 0.0
    """Share of episodes in which the fact takes over the value of another one, which is not said again."""
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
        for name in ("sessions", "chars", "load", "changes", "noise"):
            low, high = getattr(self, name)
            least = 0 if name in ("load", "noise") else 1
            if not least <= low <= high:
                raise ValueError(f"{name} must be a range (low, high) with {least} <= low <= high, got {(low, high)}")
        if self.load[1] > MAX_LOAD:
            raise ValueError(f"load goes from L0 to L{MAX_LOAD}, got {self.load}")
        shares = "other_changes twin implicit drift unmarked disguised relational relative returns corrections replies words ask_other"
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
        for name in ("noise_kinds", "kinds", "relationship", "owner", "marker", "authority", "position"):
            weights = getattr(self, name)
            if any(weight < 0 for weight in weights.values()) or (weights and sum(weights.values()) <= 0):
                raise ValueError(f"the weights of {name} must be 0 or more and not all 0, got {weights}")
            if not weights and name != "noise_kinds":
                raise ValueError(f"{name} needs at least one weight, such as {name} = {{ {_EXAMPLES[name]} = 1.0 }}")
        self._interference_makes_sense()
        return self

    def _interference_makes_sense(self) -> None:
        conflicts = self.relationship.get("same-slot-conflict", 0) > 0
        unmarked = self.marker.get("none", 0) > 0
        if not conflicts:
            for name, wanted in (("marker", self.marker.keys() - {"none"}), ("owner", self.owner.keys() & {"past", "source"})):
                if wanted:
                    raise ValueError(f"{name} {min(wanted)!r} is about same-slot conflicts; give relationship a weight for them")
        if self.authority.get("claimed") and not (conflicts and unmarked and self.owner.get("source")):
            raise ValueError("authority 'claimed' is a wrong source's; give owner a weight for 'source', and marker one for 'none'")
        if self.owner.get("past") and unmarked and not self.chat:
            raise ValueError("a past value without a marker is a slip of the assistant, which needs a dialogue; set chat to true")
        if self.twin and not conflicts:
            raise ValueError("twin is a share of same-slot conflicts; give relationship a weight for them")
        if self.relational and not conflicts:
            raise ValueError("relational takes over a value of the same attribute; give relationship a weight for same-slot-conflict")


MAX_LOAD = 6
_EXAMPLES = {
    "kinds": "current",
    "relationship": "unrelated",
    "owner": "person",
    "marker": "none",
    "authority": "none",
    "position": "any",
}

NOISE_KINDS = ("repeat", "past", "slip", "intent", "hearsay", "joke", "official", "once")
"""The value again; an earlier one as a memory, or from the assistant; a plan that came to nothing; a rumour; a joke; a
letter that is wrong; an exception."""

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
_ALL_NOISE = {"repeat": 0.1, "past": 0.4, "slip": 0.4, "intent": 1.0, "hearsay": 0.8, "joke": 0.1, "official": 0.8, "once": 0.3}

_DIALOGUE = {
    "chat": True,
    "words": 0.4,
    "introduce": True,
    "owner": {"person": 4.0, "scope": 4.0, "past": 1.0, "source": 1.0},
    "marker": {"none": 0.9, "transient": 0.05, "superseded": 0.05},
    "authority": {"none": 0.5, "claimed": 0.5},
    "corrections": 0.1,
    "noise_kinds": _ALL_NOISE,
    "kinds": _ALL_KINDS,
}
"""What the levels from 3 on have in common."""
_CONTESTED = _DIALOGUE | {
    "relationship": {"same-slot-conflict": 0.8, "matched-neutral": 0.05, "unrelated": 0.1, "repeated-history": 0.05},
    "position": {"after": 0.7, "any": 0.3},
    "other_changes": 0.9,
    "implicit": 0.6,
    "drift": 0.25,
    "disguised": 0.75,
    "corrections": 0.03,
    "unmarked": 0.9,
    "relational": 0.1,
    "ask_other": 0.1,
}
"""What the levels from 4 on have in common, set so that no shortcut is far above chance (scripts/audit_curriculum.py)."""

LEVELS: dict[int, Knobs] = {
    0: Knobs(sessions=(2, 2), chars=(60, 90), load=(0, 0), notes=160),
    1: Knobs(
        sessions=(2, 3),
        chars=(80, 130),
        load=(1, 1),
        relationship={"same-slot-conflict": 0.3, "matched-neutral": 0.35, "unrelated": 0.35},
        position={"after": 0.4, "any": 0.6},
        ask_other=0.25,
        replies=0.3,
        notes=160,
    ),
    2: Knobs(
        sessions=(3, 3),
        chars=(120, 200),
        load=(1, 2),
        relationship={"same-slot-conflict": 0.4, "matched-neutral": 0.25, "unrelated": 0.35},
        position={"after": 0.5, "any": 0.5},
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
        **_DIALOGUE,
        sessions=(4, 4),
        chars=(300, 500),
        load=(2, 3),
        relationship={"same-slot-conflict": 0.6, "matched-neutral": 0.15, "unrelated": 0.2, "repeated-history": 0.05},
        position={"after": 0.6, "any": 0.4},
        changes=(1, 2),
        other_changes=0.4,
        twin=0.15,
        implicit=0.4,
        drift=0.2,
        disguised=0.1,
        relational=0.05,
        relative=0.3,
        noise=(1, 2),
        ask_other=0.15,
    ),
    4: Knobs(
        **_CONTESTED,
        sessions=(4, 6),
        chars=(400, 800),
        load=(3, 4),
        changes=(1, 3),
        twin=0.15,
        relative=0.4,
        returns=0.2,
        noise=(3, 5),
    ),
    5: Knobs(
        **_CONTESTED,
        sessions=(5, 7),
        chars=(600, 1100),
        load=(3, 5),
        changes=(1, 4),
        twin=0.2,
        relative=0.5,
        returns=0.3,
        noise=(4, 6),
    ),
    6: Knobs(
        **_CONTESTED,
        sessions=(7, 9),
        chars=(900, 1500),
        load=(4, 6),
        changes=(1, 5),
        twin=0.2,
        relative=0.5,
        returns=0.35,
        noise=(5, 7),
    ),
}
"""Level 0 is one fact and its plain update in two short messages; level 6 is months of chats with everything in between."""
