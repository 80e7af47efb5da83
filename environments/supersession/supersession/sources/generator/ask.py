"""Questions about a plan, each with its gold, its superseded values and the other candidates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from supersession.episode import NOT_STATED, FactKey, Question, QuestionKind, ValueType
from supersession.sources.generator.draw import Draw
from supersession.sources.generator.grammar import Voice, capital
from supersession.sources.generator.knobs import Knobs
from supersession.sources.generator.lexicon import World
from supersession.sources.generator.plan import Fact, Plan

_CURRENT_KINDS: tuple[QuestionKind, ...] = ("current", "scoped", "count")


def ask(draw: Draw, world: World, knobs: Knobs, plan: Plan, dates: Sequence[dt.datetime], prefix: str, count: int) -> list[Question]:
    """Return up to `count` questions that differ in fact or kind; the first is of the plan's kind unless it goes to another fact."""
    date = dates[-1] + dt.timedelta(days=draw.between(1, 9), minutes=draw.between(-120, 120))
    asker = _Asker(draw, world, plan, dates, date)
    questions: list[Question] = []
    seen: set[tuple[object, str]] = set()
    for attempt in range(12 * count):
        kind, fact = plan.kind, plan.facts[0]
        if (attempt and count > 1) or attempt > 4:
            kind, fact = draw.weighted(knobs.kinds), draw.pick(plan.facts)
        elif len(plan.facts) > 1 and kind != "abstain" and draw.chance(knobs.ask_other):
            kind, fact = "current", draw.pick(plan.facts[1:])
        question = asker.question(kind, fact, f"{prefix}-q{len(questions)}")
        if question is None:
            continue
        group = "now" if question.kind in _CURRENT_KINDS or question.kind == "abstain" else question.kind
        if (question.key, group) not in seen:
            seen.add((question.key, group))
            questions.append(question)
        if len(questions) == count:
            break
    return questions


class _Asker:
    def __init__(self, draw: Draw, world: World, plan: Plan, dates: Sequence[dt.datetime], date: dt.datetime) -> None:
        self.draw, self.world, self.plan, self.dates, self.date = draw, world, plan, dates, date

    def question(self, kind: QuestionKind, fact: Fact, name: str) -> Question | None:
        """Return a question of `kind` about `fact`, or None where the fact's history does not allow it."""
        values = fact.values()
        if kind == "abstain":
            return self._abstain(fact, name)
        if values[-1] is None:
            return None
        current = values[-1]
        before = next((value for value in reversed(values[:-1]) if value is not None), None)
        corrected = any(said.kind == "correct" for said in fact.said)
        if kind in _CURRENT_KINDS:
            if kind == "count" and not fact.attribute.grows:
                kind = "current"
            if kind == "scoped" and not self._has_twin(fact):
                kind = "current"
            gone = [value for value in [*values, *fact.withdrawn] if value and value != current]
            asked = self._fill(fact, "ask")
            text = self._frame("now", ask=asked) if kind == "current" and self.draw.chance(0.3) else capital(f"{asked}?")
            return self._make(name, kind, fact, text, current, gone, fact.attribute.type)
        if before is None or corrected or not fact.attribute.forms("past"):
            return None
        past = self._fill(fact, "past")
        if kind == "previous":
            return self._make(name, kind, fact, self._frame("previous", past=past), before, [], fact.attribute.type)
        if kind == "both":
            return self._make(name, kind, fact, self._frame("both", past=past), f"{before} -> {current}", [], "both")
        if kind == "direction":
            return self._direction(name, fact, before, current)
        return self._as_of(name, fact, past)

    def _direction(self, name: str, fact: Fact, before: str, current: str) -> Question | None:
        if fact.attribute.type not in ("integer", "decimal") or fact.attribute.grows or fact.attribute.scopes:
            return None
        noun = fact.attribute.noun.render(*_voice(fact), name=_name(fact))
        up = float(current) > float(before)
        gold, opposite = ("increase", "decrease") if up else ("decrease", "increase")
        question = self._make(name, "direction", fact, self._frame("direction", noun=noun), gold, [], "direction")
        return question.model_copy(update={"others": (opposite,)})

    def _as_of(self, name: str, fact: Fact, past: str) -> Question | None:
        states = fact.history()
        place = self.draw.below(len(states) - 1)
        value = states[place][1]
        if value is None:
            return None
        session = self.draw.between(states[place][0], states[place + 1][0] - 1)
        moment = self.dates[session].replace(hour=23, minute=59)
        day = f"{moment:%B} {moment.day}, {moment.year}"
        gone = [state for _, state in states[:place] if state and state != value]
        return self._make(name, "as_of", fact, self._frame("as_of", past=past, day=day), value, gone, fact.attribute.type, moment)

    def _abstain(self, fact: Fact, name: str) -> Question | None:
        """Ask for a retracted value, or for something that was never told: another person's, another scope's, another attribute."""
        if fact.values()[-1] is None:
            return self._make(
                name,
                "abstain",
                fact,
                capital(f"{self._fill(fact, 'ask')}?"),
                NOT_STATED,
                [*filter(None, fact.values()), *fact.withdrawn],
                "abstain",
            )
        told = {other.identity for other in self.plan.facts}
        people = [other.person for other in self.plan.facts if other.person]
        for _ in range(10):
            attribute = fact.attribute
            if attribute.scopes:
                absent = Fact(attribute, None, self.draw.pick(attribute.scopes))
            elif people and self.draw.chance(0.6):
                absent = Fact(attribute, self.draw.pick(people), "")
            else:
                attribute = self.draw.pick(self.world.by_type[attribute.type])
                absent = Fact(attribute, None, self.draw.pick(attribute.scopes) if attribute.scopes else "")
            if absent.identity not in told:
                return self._make(name, "abstain", absent, capital(f"{self._fill(absent, 'ask')}?"), NOT_STATED, [], "abstain")
        return None

    def _has_twin(self, fact: Fact) -> bool:
        return bool(fact.scope) and any(other is not fact and other.attribute is fact.attribute for other in self.plan.facts)

    def _fill(self, fact: Fact, form: str) -> str:
        template = self.draw.pick(fact.attribute.forms(form))
        return template.render(*_voice(fact), name=_name(fact), scope=fact.scope)

    def _frame(self, form: str, **slots: str) -> str:
        return capital(self.draw.pick(self.world.questions[form]).format(**slots))

    def _make(
        self,
        name: str,
        kind: QuestionKind,
        fact: Fact,
        text: str,
        gold: str,
        gone: Sequence[str],
        value_type: ValueType,
        as_of: dt.datetime | None = None,
    ) -> Question:
        stale = tuple(dict.fromkeys(gone))
        right = set(gold.split(" -> ")) | set(stale)
        key: FactKey = fact.key
        others = dict.fromkeys(
            value
            for other in self.plan.facts
            if other.attribute.type == fact.attribute.type and fact.attribute.type != "yesno"
            for value in [*other.values(), *other.withdrawn, *(said.value for said in other.said if said.kind != "increment")]
            if value is not None and value not in right
        )
        return Question(
            id=name,
            date=self.date,
            text=text,
            kind=kind,
            value_type=value_type,
            gold=gold,
            stale=stale,
            others=tuple(others),
            key=key,
            as_of=as_of,
        )


def _voice(fact: Fact) -> tuple[Voice]:
    return (fact.person.voice if fact.person else "I",)


def _name(fact: Fact) -> str:
    return fact.person.name if fact.person else ""
