"""Where an answer mentions which value, and what is known of that value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from supersession.answers.direction import scan_directions, scan_yes_no
from supersession.answers.moments import Found
from supersession.answers.names import find_name, outline
from supersession.answers.scan import noun_stems, scan
from supersession.answers.spec import Spec, Target, target_of
from supersession.answers.text import Tokens, content
from supersession.answers.values import Value, same


@dataclass(frozen=True, slots=True)
class Mention:
    """A value between two tokens.

    `label` is "gold", "stale", "other" (a listed wrong one), "part 0", "part 1", ... (of a gold with parts), "around" (a range that holds the gold) or
    "unknown". Mentions with the same `key` mention the same value.
    """

    start: int
    end: int
    label: str
    key: object


_STEP_BEFORE = frozenset("by up down plus minus added adding bought lost gained + another".split())
_STEP_AFTER = frozenset("more fewer extra less longer shorter earlier later +".split())
_ARTICLES = frozenset(("the", "a", "an", "my", "your"))

Known = tuple[tuple[str, Target], ...]
"""Labelled values, the gold first."""


def known_values(spec: Spec, gold: str, stale: Sequence[str], others: Sequence[str], question: str | None) -> Known:
    """Return the labelled values of a question; superseded and other values that equal the gold are left out."""
    known = [(f"part {k}", part) for k, part in enumerate(spec.parts)] or [("gold", spec.target)]
    right = [target for _, target in known]
    plain = gold.strip().lower()
    for label, texts in (("stale", stale), ("other", others)):
        for text in texts:
            if text.strip() and text.strip().lower() != plain:
                target = target_of(text, spec.kind, question)
                if target.name is not None and spec.kind in ("yesno", "direction"):
                    target = Target()
                if not any(_equal(good, target) for good in right):
                    known.append((label, target))
    return tuple(known)


def _equal(a: Target, b: Target) -> bool:
    if a.name is not None and b.name is not None:
        return sorted(a.name.full) == sorted(b.name.full)
    return any(same(x, y) for x in a.values for y in b.values)


def find_mentions(tokens: Tokens, spec: Spec, known: Known) -> list[Mention]:
    """Return the mentions of labelled values, and of any value of the gold's type, in order and without overlaps."""
    found = _named(tokens, known)
    if spec.kind != "name":
        found += [
            mention
            for hit in _scan(tokens, spec)
            if (mention := _label(hit, spec, known)) is not None and not (mention.label == "unknown" and _is_step(tokens, hit))
        ]
        if spec.support and not found:
            text = outline(tokens)
            found += [Mention(start, end, "gold", "gold") for name in spec.support for start, end in find_name(text, name.full)]
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[Mention] = []
    for mention in found:
        # "New York" hides the "York" in it.
        if not kept or mention.start >= kept[-1].end or (mention.end > kept[-1].end and mention.label != kept[-1].label):
            kept.append(mention)
    return kept


def holds(tokens: Tokens, target: Target, spec: Spec) -> bool:
    """Say whether the text mentions `target` anywhere, however it stands to it."""
    if target.name is not None:
        return bool(find_name(outline(tokens), target.name.full))
    return any(same(value, hit.value) for hit in _scan(tokens, spec, strict=False) for value in target.values)


def _named(tokens: Tokens, known: Known) -> list[Mention]:
    named = [(label, target.name) for label, target in known if target.name is not None]
    if not named:
        return []
    text = outline(tokens)
    found = []
    for label, name in named:
        places = find_name(text, name.full) or (find_name(text, name.core) if name.core != name.full else [])
        found += [Mention(start - (tokens.at(start - 1) in _ARTICLES), end, label, name.full) for start, end in places]
    return found


def _scan(tokens: Tokens, spec: Spec, strict: bool = True) -> list[Found]:
    """Return the values in a text that may answer the question; `strict` keeps only counts of what it counts, where there are any."""
    if spec.kind == "yesno":
        return scan_yes_no(tokens, spec.asked)
    if spec.kind == "direction":
        return scan_directions(tokens, spec.noun)
    hits = [hit for hit in scan(tokens) if _fits(tokens, hit, spec)]
    if spec.kind == "number" and strict:
        return [hit for hit in hits if _counts_asked(tokens, hit, spec)] or hits
    return hits


def _fits(tokens: Tokens, hit: Found, spec: Spec) -> bool:
    kind = hit.value.kind
    if kind == spec.kind:
        return True
    if kind == "number":
        return not noun_stems(tokens, hit.end, 1) or (spec.kind == "ratio" and hit.value.pair is not None)
    if spec.kind == "number":
        return kind in ("duration", "frequency", "percent") and hit.value.count is not None
    return (spec.kind, kind) in (("duration", "time"), ("weekday", "frequency"))


def _counts_asked(tokens: Tokens, hit: Found, spec: Spec) -> bool:
    if hit.value.kind != "number":
        return bool(spec.counted & set(content(" ".join(tokens.words[hit.start : hit.end]))))
    nouns = noun_stems(tokens, hit.end)
    return not nouns or bool(spec.counted & set(nouns))


def _label(hit: Found, spec: Spec, known: Known) -> Mention | None:
    value = hit.value
    for label, target in known:
        if any(same(wanted, value) for wanted in target.values):
            return Mention(hit.start, hit.end, label, target.values[0])
    if spec.kind in ("yesno", "direction"):
        # There are only two values: what is not right is what was so before, if anything was.
        opposite = "stale" if any(label == "stale" for label, _ in known) else "other"
        return Mention(hit.start, hit.end, opposite, value.low)
    if value.kind != spec.kind and value.kind != "number":
        return None
    around = value.low < value.high and any(_inside(wanted, value) for _, target in known[:1] for wanted in target.values)
    key = (value.kind, value.low, value.high, value.pair, value.date, value.bound)
    return Mention(hit.start, hit.end, "around" if around else "unknown", key)


def _is_step(tokens: Tokens, hit: Found) -> bool:
    """Say whether a number is a difference rather than a value: "by 2", "two more", "up $150", "15 + 2"; or the day of a report, "as of May 2"."""
    before, after = tokens.at(hit.start - 1), tokens.at(hit.end)
    as_of = before == "of" and tokens.at(hit.start - 2) == "as"
    return as_of or before in _STEP_BEFORE or after in _STEP_AFTER


def _inside(point: Value, span: Value) -> bool:
    return point.kind == span.kind and point.low == point.high and span.low <= point.low <= span.high
