"""The words of the generator, read once from the TOML files beside it.

A world is one folder under `data/`: `main` for train, dev and test, `ood` for the split of that name. To add an attribute, add a
table to a file of its `attributes/`; nothing else changes.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from supersession.episode import ValueType
from supersession.sources.generator.grammar import Template, Voice, compile_template
from supersession.sources.generator.values import all_values

_PHRASINGS = ("assert", "update", "implicit", "outcome", "more", "more_one", "less", "once", "yes", "no", "to_yes", "to_no", "ask", "past")
_FIELDS = {*_PHRASINGS, "label", "type", "list", "range", "unit", "days", "scopes", "grows", "noun", "ing"}


@dataclass(frozen=True)
class Person:
    name: str
    relation: str
    voice: Voice


@dataclass(frozen=True)
class Attribute:
    """Something about a person or a scope that has a value. `grows` is the largest step of a counter, 0 for other attributes."""

    name: str
    label: str
    domain: str
    type: ValueType
    values: tuple[str, ...]
    scopes: tuple[str, ...]
    grows: int
    noun: Template
    ing: Template
    phrasings: dict[str, tuple[Template, ...]]

    def forms(self, name: str, third: bool = False) -> tuple[Template, ...]:
        """Return the phrasings called `name`; with `third`, those that can be said about another person."""
        found = self.phrasings.get(name, ())
        return tuple(form for form in found if form.third) if third else found


@dataclass(frozen=True)
class Topic:
    a: tuple[str, ...]
    b: tuple[str, ...]
    open: tuple[str, ...]
    ask: tuple[str, ...]
    tip: tuple[str, ...]


@dataclass(frozen=True)
class World:
    attributes: tuple[Attribute, ...]
    people: tuple[Person, ...]
    frames: dict[str, tuple[Template, ...]]
    words: dict[str, tuple[str, ...]]
    questions: dict[str, tuple[str, ...]]
    asks: dict[str, tuple[tuple[str, str], ...]]
    """Per domain, small requests and their answers."""
    topics: tuple[Topic, ...]
    by_type: dict[ValueType, tuple[Attribute, ...]]


@cache
def world(name: str) -> World:
    """Return the world of a folder under `data/`. Raises `ValueError` naming the file and field that is wrong."""
    folder = files("supersession.sources.generator").joinpath("data", name)
    lexicon = tomllib.loads(folder.joinpath("lexicon.toml").read_text(encoding="utf-8"))
    frames = tomllib.loads(folder.joinpath("frames.toml").read_text(encoding="utf-8"))
    chat = tomllib.loads(folder.joinpath("chat.toml").read_text(encoding="utf-8"))
    attributes: list[Attribute] = []
    asks: dict[str, tuple[tuple[str, str], ...]] = {}
    for path in sorted(folder.joinpath("attributes").iterdir(), key=lambda path: path.name):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        domain = data.pop("domain")
        asks[domain] = tuple((request, answer) for request, answer in data.pop("asks"))
        attributes += [_attribute(key, domain, spec, lexicon["lists"], f"{path.name}, [{key}]") for key, spec in data.items()]
    by_type: dict[ValueType, tuple[Attribute, ...]] = {}
    for attribute in attributes:
        by_type[attribute.type] = (*by_type.get(attribute.type, ()), attribute)
    questions = {key: tuple(forms) for key, forms in frames.pop("questions").items()}
    words = {key: tuple(frames.pop(key)) for key in ("connect", "ack", "thanks", "answer_open", "protest", "tuck")}
    return World(
        attributes=tuple(attributes),
        people=tuple(Person(name, relation, voice) for name, relation, voice in lexicon["people"]),
        frames={key: tuple(map(compile_template, forms)) for key, forms in frames.items()},
        words=words,
        questions=questions,
        asks=asks,
        topics=tuple(Topic(**{key: tuple(lines) for key, lines in topic.items()}) for topic in chat.values()),
        by_type=by_type,
    )


def _attribute(name: str, domain: str, spec: dict[str, Any], lists: dict[str, list[str]], where: str) -> Attribute:
    unknown = sorted(set(spec) - _FIELDS)
    if unknown:
        raise ValueError(f"{where}: unknown field {unknown[0]!r}; known fields: {', '.join(sorted(_FIELDS))}")
    kind: ValueType = spec["type"]
    if kind == "yesno":
        values: tuple[str, ...] = ("yes", "no")
    elif "list" in spec:
        values = tuple(lists[spec["list"]])
    else:
        values = all_values(kind, spec)
    return Attribute(
        name=name.replace("_", " "),
        label=spec.get("label", name.replace("_", " ")),
        domain=domain,
        type=kind,
        values=values,
        scopes=tuple(lists[spec["scopes"]]) if "scopes" in spec else (),
        grows=spec.get("grows", 0),
        noun=compile_template(spec.get("noun", "")),
        ing=compile_template(spec.get("ing", "")),
        phrasings={
            key: tuple(compile_template(_bare(text) if key in ("ask", "past") else text) for text in spec[key])
            for key in _PHRASINGS
            if key in spec
        },
    )


def _bare(question: str) -> str:
    """Return a question as the middle of a sentence: in lower case and without its question mark."""
    return question[:1].lower() + question[1:].rstrip("?")
