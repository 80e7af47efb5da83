"""What happens in an episode before a word of it is written: the facts, and what is said about each of them when."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from supersession.episode import EventKind, FactKey, QuestionKind
from supersession.sources.generator.draw import Draw
from supersession.sources.generator.knobs import Knobs, Relationship
from supersession.sources.generator.lexicon import Attribute, Person, World
from supersession.sources.generator.notes import full_length
from supersession.sources.generator.values import difference_in_words

USER = "user"

_NOISE_EVENTS: dict[str, EventKind] = {
    "repeat": "repeat",
    "past": "repeat",
    "slip": "invalid",
    "intent": "invalid",
    "hearsay": "invalid",
    "joke": "invalid",
    "official": "invalid",
    "once": "exception",
}

_FLOATING = ("hearsay", "joke", "official", "past")
"""Mentions that may stand in one session with a change; the others would be taken for its consequence."""

_LASTING: tuple[EventKind, ...] = ("assert", "update", "increment", "correct", "retract")


@dataclass(slots=True)
class Said:
    """One mention. `at` is the session plus a fraction that orders it within; `form` names the phrasings that can tell it."""

    at: float
    kind: EventKind
    form: str
    value: str | None
    old: str = ""
    source: Fact | None = None
    """The fact whose value was taken over."""
    session: int = field(init=False)

    def __post_init__(self) -> None:
        self.session = int(self.at)


@dataclass(slots=True)
class Fact:
    """A fact key and all that is said about it, in order. `withdrawn` holds values that were corrected or retracted."""

    attribute: Attribute
    person: Person | None
    scope: str
    said: list[Said] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    key: FactKey = field(init=False)

    def __post_init__(self) -> None:
        self.key = FactKey(scope=self.scope, subject=self.person.name if self.person else USER, attribute=self.attribute.name)

    @property
    def identity(self) -> tuple[str, str, str]:
        return (self.attribute.name, self.person.name if self.person else USER, self.scope)

    def history(self, before: float = float("inf")) -> list[tuple[int, str | None]]:
        """Return (session, lasting value) for each state, oldest first, of what was said before `before`."""
        states: list[tuple[int, str | None]] = []
        for said in self.said:
            if said.at >= before:
                break
            if said.kind in ("assert", "update"):
                states.append((said.session, said.value))
            elif said.kind == "increment":
                states.append((said.session, str(int(states[-1][1] or 0) + int(said.value or 0))))
            elif said.kind == "correct":
                states[-1] = (said.session, said.value)
            elif said.kind == "retract":
                states.append((said.session, None))
        return states

    def values(self, before: float = float("inf")) -> list[str | None]:
        return [value for _, value in self.history(before)]


@dataclass(slots=True)
class Plan:
    """`facts[0]` is the one that changes most; `kind` is what the first question is to be."""

    sessions: int
    kind: QuestionKind
    facts: list[Fact]

    def split(self) -> str:
        """Return the one of train (80%), dev (10%) and test (10%) that owns this plan, by a hash of all that happens in it."""
        signs = [(*fact.identity, *(f"{said.session}{said.kind}{said.value}" for said in fact.said)) for fact in self.facts]
        bucket = hashlib.blake2b(repr(signs).encode(), digest_size=4).digest()[0] % 10
        return {0: "test", 1: "dev"}.get(bucket, "train")


def make_plan(draw: Draw, world: World, knobs: Knobs) -> Plan:
    """Draw the facts of one episode and their events; the ideal notes about them fit `knobs.notes`."""
    return _Planner(draw, world, knobs).plan()


class _Planner:
    def __init__(self, draw: Draw, world: World, knobs: Knobs) -> None:
        self.draw, self.world, self.knobs = draw, world, knobs
        self.sessions = draw.between(*knobs.sessions)
        self.kind: QuestionKind = draw.weighted(knobs.kinds)
        self.used: dict[str, set[str]] = {}
        self.facts: list[Fact] = []

    def plan(self) -> Plan:
        main = self._main_fact()
        while not self._tell_main(main):
            self.used.clear()
            main = self._main_fact()
        self.facts.append(main)
        for number in range(self.draw.between(*self.knobs.load)):
            self._add_load(main, force_twin=number == 0 and self.kind == "scoped")
        self.facts = [fact for fact in self.facts if fact.said]
        self._take_over(main)
        dated = self.knobs.kinds.get("as_of", 0) > 0
        while len(self.facts) > 1 and full_length(self.facts, dated) > self.knobs.notes:
            dropped = self.facts.pop()
            main.said = [said for said in main.said if said.source is not dropped]
        for _ in range(self.draw.between(*self.knobs.noise)):
            self._mention(main if self.draw.chance(0.4) else self.draw.pick(self.facts), self.draw.weighted(self.knobs.noise_kinds))
        return Plan(self.sessions, self.kind, self.facts)

    # Facts

    def _main_fact(self) -> Fact:
        attribute = self.draw.pick(self._attributes())
        if attribute.scopes:
            return Fact(attribute, None, self.draw.pick(attribute.scopes))
        about_another = "same-slot-conflict" in self.knobs.relationship and self.draw.chance(0.6)
        return Fact(attribute, self.draw.pick(self.world.people) if about_another else None, "")

    def _attributes(self) -> Sequence[Attribute]:
        """Return what a question of the plan's kind can be about, and what the wanted owner can have rivals of."""
        pool = _attributes_for(self.world, self.kind)
        owner = self.knobs.owner
        if not owner.get("scope") and owner.get("person"):
            return [attribute for attribute in pool if not attribute.scopes] or pool
        if owner.get("scope") and not owner.get("person"):
            return [attribute for attribute in pool if attribute.scopes] or pool
        return pool

    def _add_load(self, main: Fact, force_twin: bool) -> None:
        """Tell one more thing: another fact, or something about the main one that leaves it as it is."""
        relationship = "same-slot-conflict" if force_twin else self.draw.weighted(self.knobs.relationship)
        form = None if force_twin else self._form_of(relationship)
        if form is not None:
            self._mention(main, form)
            return
        other = self._other_fact(main, relationship)
        if other is not None:
            self.facts.append(other)
            self._tell_other(other, main)

    def _form_of(self, relationship: Relationship) -> str | None:
        """Return which mention of the main fact a load of this relationship is; None where it is a fact of its own."""
        draw, knobs = self.draw, self.knobs
        if relationship == "repeated-history":
            return "past" if draw.chance(0.7) else "repeat"
        if relationship != "same-slot-conflict":
            return None
        marker = draw.weighted(knobs.marker)
        if marker != "none":
            return {"transient": "once", "superseded": "past"}[marker]
        owner = draw.weighted(knobs.owner)
        if owner == "source":
            return "official" if draw.weighted(knobs.authority) == "claimed" else "hearsay" if draw.chance(0.7) else "joke"
        return "slip" if owner == "past" else None

    def _other_fact(self, main: Fact, relationship: Relationship) -> Fact | None:
        draw = self.draw
        taken = {fact.identity for fact in self.facts}
        for _ in range(20):
            attribute = main.attribute
            person = None
            if relationship != "same-slot-conflict":
                attribute = draw.pick(self.world.by_type[attribute.type] if relationship == "matched-neutral" else self.world.attributes)
                person = self._person() if draw.chance(0.25) else None
            elif main.person is None or draw.chance(0.5):
                person = self._person()
            scope = draw.pick(attribute.scopes) if attribute.scopes else ""
            fact = Fact(attribute, None if attribute.scopes else person, scope)
            if fact.identity not in taken and (relationship != "matched-neutral" or attribute is not main.attribute):
                return fact
        return None

    def _person(self) -> Person:
        known = [fact.person for fact in self.facts if fact.person]
        return self.draw.pick(known) if known and self.draw.chance(0.3) else self.draw.pick(self.world.people)

    # What is said about them

    def _tell_main(self, fact: Fact) -> bool:
        """Tell the main fact and its changes; False when its values ran out."""
        draw, knobs = self.draw, self.knobs
        changes = draw.between(*knobs.changes)
        retract = self.kind == "abstain" and knobs.chat and fact.attribute.type != "yesno" and draw.chance(0.5)
        needed = min(changes + 1 + retract, self.sessions)
        # In half of the dialogues the last session brings no change of this fact, so that its values there are all decoys.
        until = self.sessions - 1 if knobs.chat and needed < self.sessions and draw.chance(0.5) else self.sessions
        chosen = sorted(draw.some(range(until), needed))
        if not knobs.chat:
            chosen[0] = 0  # a short message without any fact would be mere padding
        when = [session + draw.fraction() for session in chosen]
        if not self._assert(fact, when[0]):
            return False
        last = len(when) - 1 if retract else len(when)
        for at in when[1:last]:
            if not self._change(fact, at, main=True):
                return False
        if retract:
            fact.withdrawn += [value for value in fact.values()[-1:] if value]
            fact.said.append(Said(when[-1], "retract", "retract", None))
        return True

    def _tell_other(self, fact: Fact, main: Fact) -> None:
        """Tell another fact; where its values could be taken for the main fact's, `position` says on which side of the last change."""
        draw = self.draw
        start = draw.below(self.sessions) + draw.fraction()
        change = draw.below(self.sessions) + draw.fraction() if draw.chance(self.knobs.other_changes) else 0.0
        position = draw.weighted(self.knobs.position) if fact.attribute.type == main.attribute.type else "any"
        if position == "after":
            last = self._after(main.said[-1].at)
            start, change = (start, last) if change else (last, 0.0)
        elif position == "before":
            start, change = draw.fraction() * main.said[-1].at, draw.fraction() * main.said[-1].at
        if fact.attribute is main.attribute and fact.attribute.type != "yesno" and self.knobs.twin and draw.chance(self.knobs.twin):
            fact.said.append(Said(start, "assert", "assert", main.said[0].value))
        elif self._assert(fact, start) and int(change) > int(start):
            self._change(fact, change, main=False)

    def _take_over(self, main: Fact) -> None:
        """Let the main fact take over the value of another fact of its attribute, as its last change."""
        if not self.knobs.relational or not self.draw.chance(self.knobs.relational):
            return
        current = main.values()[-1]
        rivals = [fact for fact in self.facts if fact is not main and fact.attribute is main.attribute]
        if not rivals or current is None or main.attribute.grows or main.attribute.type == "yesno":
            return
        rival = self.draw.pick(rivals)
        earliest = main.said[-1].session + 1
        at = self.draw.between(earliest, self.sessions - 1) + self.draw.fraction()
        value = rival.values(at)[-1] if rival.said[0].at < at else None
        if rival.values() != rival.values(at):
            return  # whether a later change of the other fact would count here too, nobody says
        if earliest < self.sessions and value is not None and value not in main.values() and value not in main.withdrawn:
            main.said.append(Said(at, "update", "relational", value, current, rival))

    def _after(self, moment: float) -> float:
        """Return a moment after `moment`, in its session or a later one."""
        session = self.draw.between(int(moment), self.sessions - 1)
        if session > int(moment):
            return session + self.draw.fraction()
        return moment + (int(moment) + 1 - moment) * self.draw.fraction()

    def _assert(self, fact: Fact, at: float) -> bool:
        value = self._fresh(fact.attribute)
        if value is None:
            return False
        form = value if fact.attribute.type == "yesno" else "assert"
        fact.said.append(Said(at, "assert", form, value))
        return True

    def _change(self, fact: Fact, at: float, main: bool) -> bool:
        draw, knobs, attribute = self.draw, self.knobs, fact.attribute
        earlier = [value for value in fact.values() if value]
        old = earlier[-1]
        if attribute.type == "yesno":
            opposite = "no" if old == "yes" else "yes"
            fact.said.append(Said(at, "update", f"to_{opposite}", opposite, old))
            return True
        often = 0.7 if self.kind == "count" and main else knobs.relative
        if attribute.type == "integer" and attribute.forms("more", fact.person is not None) and draw.chance(often):
            return self._increment(fact, at, int(old))
        if main and self.kind in ("current", "scoped") and draw.chance(knobs.corrections):
            value = self._next(attribute, old)
            if value is None:
                return False
            fact.withdrawn.append(old)
            fact.said.append(Said(at, "correct", "correct", value, old))
            return True
        back = [value for value in earlier[:-1] if value != old]
        if back and not attribute.grows and draw.chance(knobs.returns):
            fact.said.append(Said(at, "update", "update", draw.pick(back), old))
            return True
        value = self._next(attribute, old)
        if value is None:
            return False
        fact.said.append(Said(at, "update", self._way_of_telling(fact), value, old))
        return True

    def _way_of_telling(self, fact: Fact) -> str:
        """Return the phrasings that tell a change to a value: inferred from what happened, in the words of noise, implicit or explicit."""
        draw, knobs = self.draw, self.knobs
        third = fact.person is not None
        if knobs.drift and fact.attribute.forms("outcome", third) and draw.chance(knobs.drift):
            return "outcome"
        if knobs.disguised and draw.chance(knobs.disguised):
            return draw.pick(("heard", "confirmed") if fact.attribute.grows else ("heard", "confirmed", "decided"))
        if fact.attribute.forms("implicit", third) and draw.chance(knobs.implicit):
            return "implicit"
        return "assert" if knobs.unmarked and draw.chance(knobs.unmarked) else "update"

    def _increment(self, fact: Fact, at: float, old: int) -> bool:
        step = difference_in_words(self.draw, max(2, fact.attribute.grows or 6))
        if self.draw.chance(0.5) and fact.attribute.forms("less") and old > step:
            step = -step
        elif step == 1 and not fact.attribute.forms("more_one"):
            step = 2
        if str(old + step) in self.used["integer"]:
            return False
        self.used["integer"].add(str(old + step))
        form = "less" if step < 0 else "more_one" if step == 1 else "more"
        fact.said.append(Said(at, "increment", form, str(step), str(old)))
        return True

    def _mention(self, fact: Fact, form: str) -> None:
        """Mention a value of a fact that changes nothing, as far as there is one and room for it."""
        draw = self.draw
        if form == "once" and not fact.attribute.forms("once", fact.person is not None):
            form = "intent"
        if form == "intent" and fact.attribute.grows:
            form = "hearsay"  # nobody decides against a count
        at = self._noise_moment(fact, form)
        if at is None or fact.attribute.type == "yesno":
            return
        states = fact.values(at)
        current = states[-1]
        gone = [state for state in states[:-1] if state and state != current]
        value: str | None
        if form == "repeat":
            value = current
        elif form in ("past", "slip"):
            value = draw.pick(gone) if gone else None
        else:
            value = self._decoy(fact)
        if value is not None:
            fact.said.append(Said(at, _NOISE_EVENTS[form], form, value))
            fact.said.sort(key=lambda said: said.at)

    def _decoy(self, fact: Fact) -> str | None:
        """Return a value that the fact never has: a new one, one that was wrong before, or what another fact of the attribute has.

        Were it always a new one, a value that is mentioned once would be a decoy.
        """
        known = [said.value for said in fact.said if said.kind in ("invalid", "exception")]
        known += [value for other in self.facts if other.attribute is fact.attribute for value in other.values()]
        never = [value for value in known if value is not None and value not in fact.values() and value not in fact.withdrawn]
        return self.draw.pick(never) if never and self.draw.chance(0.5) else self._fresh(fact.attribute)

    def _noise_moment(self, fact: Fact, form: str) -> float | None:
        """Return when to mention it, None where there is no room: `_FLOATING` forms go anywhere, others need a session of their own."""
        draw = self.draw
        # A value that is only ever repeated after its last change would be the right one.
        position = "any" if form == "repeat" else draw.weighted(self.knobs.position)
        first = fact.said[0].at
        last = next(said.at for said in reversed(fact.said) if said.kind in _LASTING)
        if form in _FLOATING and position != "any":
            if position == "after":
                return self._after(fact.said[-1].at)
            return first + (last - first) * draw.fraction() if last > first else None
        busy = {said.session for said in fact.said}
        free = [session for session in range(int(first) + 1, self.sessions) if session not in busy]
        if position != "any":
            free = [session for session in free if (session > last) == (position == "after")]
        return draw.pick(free) + draw.fraction() if free else None

    # Values

    def _fresh(self, attribute: Attribute) -> str | None:
        """Return a value that nothing of this type in the episode has yet, None when there is none left."""
        if attribute.type == "yesno":
            return self.draw.pick(attribute.values)
        return self._unused(attribute, attribute.values)

    def _next(self, attribute: Attribute, old: str) -> str | None:
        if attribute.grows:
            return self._unused(attribute, [str(int(old) + step) for step in range(1, attribute.grows + 1)])
        return self._fresh(attribute)

    def _unused(self, attribute: Attribute, values: Sequence[str]) -> str | None:
        used = self.used.setdefault(attribute.type, set())
        value = self.draw.pick(values)
        if value in used:
            free = [other for other in values if other not in used]
            if not free:
                return None
            value = self.draw.pick(free)
        used.add(value)
        return value


def _attributes_for(world: World, kind: QuestionKind) -> Sequence[Attribute]:
    """Return the attributes about which a question of this kind can be asked."""
    pool = world.attributes
    if kind in ("previous", "both", "as_of"):
        return [attribute for attribute in pool if attribute.forms("past")]
    if kind == "count":
        return [attribute for attribute in pool if attribute.grows]
    if kind == "direction":
        return [
            attribute for attribute in pool if attribute.type in ("integer", "decimal") and not attribute.grows and not attribute.scopes
        ]
    if kind == "scoped":
        return [attribute for attribute in pool if attribute.scopes]
    return pool
