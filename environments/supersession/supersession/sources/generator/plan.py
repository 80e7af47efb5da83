"""What happens in an episode before a word of it is written: the facts, and what is said about each of them when."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from supersession.episode import EventKind, FactKey, QuestionKind
from supersession.sources.generator.draw import Draw
from supersession.sources.generator.knobs import Knobs
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
    "once": "exception",
}


@dataclass(slots=True)
class Said:
    """One mention. `at` is the session plus a fraction that orders it within; `form` names the phrasings that can tell it."""

    at: float
    kind: EventKind
    form: str
    value: str | None
    old: str = ""

    @property
    def session(self) -> int:
        return int(self.at)


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
        for number in range(self.draw.between(*self.knobs.facts) - 1):
            other = self._other_fact(main, force_same=number == 0 and self.kind == "scoped")
            if other is not None:
                self.facts.append(other)
                self._tell_other(other, main)
        self.facts = [fact for fact in self.facts if fact.said]
        dated = self.knobs.kinds.get("as_of", 0) > 0
        while len(self.facts) > 1 and full_length(self.facts, dated) > self.knobs.notes:
            self.facts.pop()
        for _ in range(self.draw.between(*self.knobs.noise)):
            self._noise(main)
        return Plan(self.sessions, self.kind, self.facts)

    # Facts

    def _main_fact(self) -> Fact:
        attribute = self.draw.pick(_attributes_for(self.world, self.kind))
        if attribute.scopes:
            return Fact(attribute, None, self.draw.pick(attribute.scopes))
        about_another = self.knobs.same_attribute > 0 and self.draw.chance(0.15)
        return Fact(attribute, self.draw.pick(self.world.people) if about_another else None, "")

    def _other_fact(self, main: Fact, force_same: bool) -> Fact | None:
        draw, knobs = self.draw, self.knobs
        taken = {fact.identity for fact in self.facts}
        for _ in range(20):
            attribute = main.attribute
            person = None
            if not force_same and not draw.chance(knobs.same_attribute):
                pool = self.world.by_type[attribute.type] if draw.chance(knobs.same_type) else self.world.attributes
                attribute = draw.pick(pool)
                person = self._person() if draw.chance(0.25) else None
            elif main.person is None or draw.chance(0.5):
                person = self._person()
            scope = draw.pick(attribute.scopes) if attribute.scopes else ""
            fact = Fact(attribute, None if attribute.scopes else person, scope)
            if fact.identity not in taken:
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
        """Tell another fact; one that competes with the main fact often has its last word after the main fact's last change."""
        draw = self.draw
        start = draw.below(self.sessions) + draw.fraction()
        change = draw.below(self.sessions) + draw.fraction() if draw.chance(self.knobs.other_changes) else 0.0
        if fact.attribute.type == main.attribute.type and draw.chance(self.knobs.competitor_last):
            last = self._after(main.said[-1].at)
            start, change = (start, last) if change else (last, 0.0)
        if self._assert(fact, start) and int(change) > int(start):
            self._change(fact, change, main=False)

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
        quiet = attribute.forms("implicit", fact.person is not None) and draw.chance(knobs.implicit)
        fact.said.append(Said(at, "update", "implicit" if quiet else "update", value, old))
        return True

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

    def _noise(self, main: Fact) -> None:
        """Mention a value that changes nothing, mostly about the main fact and often after its last change."""
        draw = self.draw
        fact = main if draw.chance(0.6) else draw.pick(self.facts)
        form = draw.weighted(self.knobs.noise_kinds)
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
            value = self._fresh(fact.attribute)
        if value is not None:
            fact.said.append(Said(at, _NOISE_EVENTS[form], form, value))
            fact.said.sort(key=lambda said: said.at)

    def _noise_moment(self, fact: Fact, form: str) -> float | None:
        """Return when to mention it: what fits right behind a change may follow one, the rest needs a session of its own."""
        draw = self.draw
        if form in ("hearsay", "joke", "past") and draw.chance(self.knobs.competitor_last):
            return self._after(fact.said[-1].at)
        busy = {said.session for said in fact.said}
        free = [session for session in range(fact.said[0].session + 1, self.sessions) if session not in busy]
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
