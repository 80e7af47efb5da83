"""From a plan to chat sessions: every mention becomes a sentence inside a message about something else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from supersession.episode import FactEvent, Role, Session, Turn
from supersession.sources.generator.draw import Draw
from supersession.sources.generator.grammar import Template, Voice, article, capital
from supersession.sources.generator.knobs import Knobs
from supersession.sources.generator.lexicon import Topic, World
from supersession.sources.generator.plan import Fact, Plan, Said
from supersession.sources.generator.values import NUMBER_WORDS

_EXCHANGE_CHARS = 380
"""Length at which a chat turns to its next question, in characters."""

_ALONE = ("correct", "retract", "exception")
"""Events that may not be tucked into another sentence."""


@dataclass(slots=True)
class _Mention:
    fact: Fact
    said: Said


def draw_dates(draw: Draw, sessions: int) -> list[dt.datetime]:
    """Return one date per session, each at least a day after the one before, all between 2021 and 2025."""
    day = dt.datetime(2021, 1, 4) + dt.timedelta(days=draw.below(1500))
    dates = []
    for _ in range(sessions):
        dates.append(day + dt.timedelta(minutes=draw.between(7 * 60, 22 * 60 + 30)))
        day += dt.timedelta(days=draw.between(2, 24))
    return dates


def write_sessions(
    draw: Draw, world: World, knobs: Knobs, plan: Plan, dates: Sequence[dt.datetime]
) -> tuple[list[Session], list[FactEvent]]:
    """Return the sessions and the timeline that says at which turn of which session each mention stands."""
    mentions = sorted((_Mention(fact, said) for fact in plan.facts for said in fact.said), key=lambda mention: mention.said.at)
    writer = _Writer(draw, world, knobs)
    sessions = []
    for number, date in enumerate(dates):
        here = [mention for mention in mentions if mention.said.session == number]
        turns = writer.chat(here) if knobs.chat else writer.message(here)
        sessions.append(Session(date=date, turns=tuple(turns)))
    return sessions, writer.timeline


class _Writer:
    def __init__(self, draw: Draw, world: World, knobs: Knobs) -> None:
        self.draw, self.world, self.knobs = draw, world, knobs
        self.known: set[str] = set()
        self.phrased: set[tuple[int, int]] = set()
        self.timeline: list[FactEvent] = []

    def message(self, mentions: Sequence[_Mention]) -> list[Turn]:
        """Return a short session: one message, and sometimes an answer to it."""
        draw = self.draw
        low, high = self.knobs.chars
        parts = [capital(self._sentence(mention, turn=0)) for mention in mentions]
        domain = mentions[0].fact.attribute.domain if mentions else draw.pick(list(self.world.asks))
        length = sum(map(len, parts)) + len(parts)
        answer = ""
        for request, reply in draw.some(self.world.asks[domain], 2):
            if length + len(request) > (high if answer else low + 30) and length >= low:
                continue
            parts.append(request)
            length += len(request) + 1
            answer = reply
            if length >= low:
                break
        if length < low:
            topic = draw.pick(self.world.topics)
            parts.insert(0, capital(draw.pick(topic.open).format(a=draw.pick(topic.a), b=draw.pick(topic.b))))
        turns = [Turn(role="user", content=" ".join(parts))]
        if draw.chance(self.knobs.replies):
            known = not answer or draw.chance(0.4)
            turns.append(Turn(role="assistant", content=draw.pick(self.world.words["ack"]) if known else answer))
        return turns

    def chat(self, mentions: Sequence[_Mention]) -> list[Turn]:
        """Return a dialogue about side topics, as long as the knobs ask, with the mentions spread over the user's turns."""
        draw = self.draw
        target = draw.between(*self.knobs.chars)
        exchanges = max(1, round(target / _EXCHANGE_CHARS))
        places = sorted(draw.below(exchanges) for _ in mentions)
        topics = draw.some(self.world.topics, min(exchanges, len(self.world.topics)))
        turns: list[Turn] = []
        length = told = 0
        protest = ""
        for number in range(exchanges):
            topic = topics[number % len(topics)]
            a, b = draw.pick(topic.a), draw.pick(topic.b)
            stated: list[_Mention] = []
            slips: list[_Mention] = []
            while told < len(mentions) and places[told] == number:
                (slips if mentions[told].said.form == "slip" else stated).append(mentions[told])
                told += 1
            greeting = protest or (draw.pick(self.world.words["thanks"]) if turns and draw.chance(0.4) else "")
            user = " ".join(filter(None, [greeting, self._user_text(stated, topic, a, b, turn=len(turns))]))
            turns.append(Turn(role="user", content=user))
            length += len(user)
            start = draw.pick(self.world.words["ack"]) if stated and draw.chance(0.3) else ""
            start = " ".join(filter(None, [start, *(self._sentence(slip, turn=len(turns)) for slip in slips)]))
            reply = self._reply(start, topic, a, b, round(target * (number + 1) / exchanges) - length)
            turns.append(Turn(role="assistant", content=reply))
            length += len(reply)
            protest = draw.pick(self.world.words["protest"]) if slips else ""
        if protest:
            turns += [Turn(role="user", content=protest), Turn(role="assistant", content=draw.pick(self.world.words["ack"]))]
        return turns

    def _user_text(self, mentions: Sequence[_Mention], topic: Topic, a: str, b: str, turn: int) -> str:
        """Weave the mentions into a message about a side topic: before it, after its opening, or at the end."""
        draw = self.draw
        parts = [capital(draw.pick(topic.open).format(a=a, b=b)), capital(draw.pick(topic.ask).format(a=a, b=b))]
        place = draw.below(3)
        told = []
        for number, mention in enumerate(mentions):
            sentence = self._sentence(mention, turn)
            if mention.said.kind not in _ALONE and draw.chance(0.3):
                told.append(capital(draw.pick(self.world.words["tuck"]).format(s=sentence.removesuffix("."))))
            elif (place > 0 or number > 0) and mention.said.form != "repeat" and draw.chance(0.6):
                told.append(draw.pick(self.world.words["connect"]) + sentence)
            else:
                told.append(capital(sentence))
        return " ".join([*parts[:place], *told, *parts[place:]])

    def _reply(self, start: str, topic: Topic, a: str, b: str, length: int) -> str:
        """Return an answer of about `length` characters that begins with `start`."""
        draw = self.draw
        opener = draw.pick(self.world.words["answer_open"]) if not start and draw.chance(0.4) else start
        parts = [opener] if opener else []
        written = len(opener)
        tips = list(topic.tip)
        while tips:
            tip = tips.pop(draw.below(len(tips)))
            if len(parts) > bool(opener) and written + len(tip) > length:
                break
            parts.append(capital(tip.format(a=a, b=b)))
            written += len(parts[-1]) + 1
        return " ".join(parts)

    def _sentence(self, mention: _Mention, turn: int) -> str:
        """Tell one mention, and record it in the timeline."""
        fact, said = mention.fact, mention.said
        by: Role = "assistant" if said.form == "slip" else "user"
        self.timeline.append(FactEvent(session=said.session, turn=turn, key=fact.key, kind=said.kind, by=by, value=said.value))
        draw, attribute, person = self.draw, fact.attribute, fact.person
        name = person.name if person else ""
        voice: Voice = person.voice if person else "you" if by == "assistant" else "I"
        slots = {"name": name, "scope": fact.scope, "v": said.value or "", "old": said.old}
        if said.kind == "increment":
            slots["d"] = NUMBER_WORDS[abs(int(said.value or 0))]
        elif (
            self.knobs.words and attribute.type == "integer" and int(slots["v"] or 99) < len(NUMBER_WORDS) and draw.chance(self.knobs.words)
        ):
            slots["v"] = NUMBER_WORDS[int(slots["v"])]
        if said.form in self.world.frames:
            slots["noun"] = attribute.noun.render(voice, **slots)
            slots["ing"] = attribute.ing.render(voice, **slots)
            slots["gossip"] = self._gossip(name)
            if said.source is not None:
                slots["other"] = _noun_of(said.source)
            template = draw.pick(self.world.frames[said.form])
        else:
            template = self._unused(mention, attribute.forms(said.form, third=person is not None))
        text = article(template.render(voice, **slots))
        if person and self.knobs.introduce and name not in self.known:
            self.known.add(name)
            text = text.replace(name, f"{person.relation} {name}", 1)
        return text

    def _unused(self, mention: _Mention, forms: Sequence[Template]) -> Template:
        """Return a phrasing that was not used for this fact yet, as far as there is one."""
        template = self.draw.pick(forms)
        for _ in range(3):
            if (id(mention.fact), id(template)) not in self.phrased:
                break
            template = self.draw.pick(forms)
        self.phrased.add((id(mention.fact), id(template)))
        return template

    def _gossip(self, name: str) -> str:
        """Return somebody who is wrong about a fact, other than the one whom it is about."""
        person = self.draw.pick(self.world.people)
        while person.name == name:
            person = self.draw.pick(self.world.people)
        return f"{person.relation} {person.name}"


def _noun_of(fact: Fact) -> str:
    """Return the noun phrase of somebody's fact, as the user says it."""
    voice: Voice = fact.person.voice if fact.person else "I"
    return fact.attribute.noun.render(voice, name=fact.person.name if fact.person else "", scope=fact.scope)
