"""The verdict: what an answer commits to, compared with what is right and what used to be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from supersession.answers.abstention import abstains
from supersession.answers.direction import scan_directions, scan_yes_no
from supersession.answers.names import find_name, outline
from supersession.answers.scan import Found, noun_stems, scan
from supersession.answers.spans import Passage, passages
from supersession.answers.spec import Spec, Target, spec_of, target_of
from supersession.answers.stance import Stance, stance_of
from supersession.answers.text import SENTENCE_ENDS, Tokens, content, normalise, tokenise
from supersession.answers.values import Value, same
from supersession.episode import ValueType


class Verdict(StrEnum):
    """What an answer turned out to be. `ABSTAIN` is right where the gold itself is "not stated"."""

    CURRENT = "current"
    STALE = "stale"
    HEDGED = "hedged"
    ABSTAIN = "abstain"
    OTHER = "other"


MAX_ANSWER = 200_000
"""Longer answers are cut to their end before they are read."""
MAX_DETAILS = 3
"""Further values of the gold's type that an answer may mention beside the one it commits to."""
TERSE = 4
"""An abstention of up to this many tokens ("unknown", "I do not know") is one by itself, whatever follows."""

_ATTRIBUTED = re.compile(r"\byou (?:\w+ ){0,2}(?:mention\w*|stated|said|discuss\w*|told|talked)|\bmentions?\b|\blast update\b|\bonly\b|\bstated\b")
_GUESS = re.compile(r"\b(?:or|maybe|perhaps|probably|likely|but|guess|estimat\w+|approximately|about)\b")
_SIDE_ISSUE = re.compile(r"\b(?:when|why|whether|which|how (?:long|often|much)|exact(?:ly)?|specific)\b(?!.*\bhow many\b)")
_STILL_COMMITS = re.compile(r"\b(?:but|however|likely|probably|perhaps|maybe|i think|i believe|guess|assum\w+|so|therefore|answer|appears|infer\w*)\b")


def verdict(
    answer: str,
    gold: str,
    stale: Sequence[str] = (),
    others: Sequence[str] = (),
    question: str | None = None,
    value_type: ValueType = "auto",
) -> Verdict:
    """Return what `answer` commits to.

    `stale` are superseded values, `others` further wrong candidates of the same type. The type of the value is inferred from `gold` and
    `question` unless `value_type` names it. Never raises on any answer; the time is linear in its length.
    """
    text = normalise(answer[-MAX_ANSWER:])
    if not any(char.isalnum() for char in text):
        return Verdict.OTHER
    spec = spec_of(gold, question, value_type)
    known = _known(spec, gold, stale, others, question)
    for passage in passages(text):
        found = _read_passage(passage, spec, known)
        if found is not None:
            return found
        if passage.final:
            break
    return Verdict.OTHER


def mentions(text: str, value: str, question: str | None = None, value_type: ValueType = "auto") -> bool:
    """Say whether free text contains `value` anywhere, in any accepted spelling; "7" is neither in "17" nor in "7:30"."""
    spec = spec_of(value, question, value_type)
    tokens = tokenise(normalise(text[-MAX_ANSWER:]))
    if spec.shape == "abstain":
        return abstains(" ".join(tokens.words))
    targets = spec.parts or (spec.target,)
    return all(any(True for _ in _find_target(tokens, target, spec)) for target in targets)


@dataclass(frozen=True, slots=True)
class Mention:
    """A value that the answer mentions, and what we know of it: "gold", "stale", "other" (a known wrong one) or "unknown"."""

    start: int
    end: int
    label: str
    key: object


Known = tuple[tuple[str, Target], ...]


def _known(spec: Spec, gold: str, stale: Sequence[str], others: Sequence[str], question: str | None) -> Known:
    known: list[tuple[str, Target]] = [("gold", spec.target)] if not spec.parts else []
    gold_text = gold.strip().lower()
    for label, texts in (("stale", stale), ("other", others)):
        for text in texts:
            if text.strip() and text.strip().lower() != gold_text:
                target = target_of(text, spec.kind, question)
                if not _equal(spec.target, target):
                    known.append((label, target))
    return tuple(known)


def _equal(a: Target, b: Target) -> bool:
    if a.name is not None and b.name is not None:
        return sorted(a.name.full) == sorted(b.name.full) or set(a.name.core) <= set(b.name.full)
    return any(same(x, y) for x in a.values for y in b.values)


def _read_passage(passage: Passage, spec: Spec, known: Known) -> Verdict | None:
    found = [verdict for verdict in (_read(text, spec, known) for text in passage.texts) if verdict is not None]
    if not found:
        return None
    return found[0] if len(set(found)) == 1 else Verdict.HEDGED


def _read(text: str, spec: Spec, known: Known) -> Verdict | None:
    tokens = tokenise(text)
    if spec.shape == "both":
        return _read_both(tokens, spec, known)
    if spec.shape == "list":
        return _read_list(tokens, spec, known)
    silent = _abstaining(tokens)
    if spec.shape == "abstain":
        return _read_abstention(tokens, silent, known)
    found = _mentions(tokens, spec, known)
    if silent:
        standing = _outweigh(tokens, found, silent)
        if isinstance(standing, Verdict):
            return standing
        found = standing
    if not found:
        return None
    return _decide(tokens, found, spec)


# --- which sentences abstain ---------------------------------------------------------------------------------------------------


def _sentences(tokens: Tokens) -> list[tuple[int, int]]:
    spans, start = [], 0
    for i, word in enumerate(tokens.words):
        if word in SENTENCE_ENDS:
            if i > start:
                spans.append((start, i))
            start = i + 1
    if start < len(tokens):
        spans.append((start, len(tokens)))
    return spans


def _abstaining(tokens: Tokens) -> list[tuple[int, int]]:
    return [span for span in _sentences(tokens) if abstains(" ".join(tokens.words[span[0] : span[1]]))]


def _outweigh(tokens: Tokens, found: list[Mention], silent: list[tuple[int, int]]) -> list[Mention] | Verdict:
    """Return the mentions that stand against the abstaining sentences, or the verdict where none does."""
    last = silent[-1]
    after = [mention for mention in found if mention.start >= last[1]]
    if after:
        words = _sentence_of(tokens, after[0].start)
        if _STILL_COMMITS.search(words):
            return after
        if _ATTRIBUTED.search(words):
            return Verdict.ABSTAIN
        return Verdict.HEDGED if last[1] - last[0] <= TERSE else after
    inside = [mention for mention in found if last[0] <= mention.start]
    if inside:
        lead = " ".join(tokens.words[last[0] : inside[0].start])
        if abstains(lead) and _STILL_COMMITS.search(lead):
            return inside
        if abstains(lead) and tokens.at(inside[0].start - 1) == "or":
            return Verdict.HEDGED
    before = [mention for mention in found if mention.end <= last[0]]
    words = " ".join(tokens.words[last[0] : last[1]])
    return before if before and _SIDE_ISSUE.search(words) else Verdict.ABSTAIN


def _sentence_of(tokens: Tokens, i: int) -> str:
    start, end = next(span for span in _sentences(tokens) if span[0] <= i < span[1])
    return " ".join(tokens.words[start:end])


def _read_abstention(tokens: Tokens, silent: list[tuple[int, int]], known: Known) -> Verdict | None:
    """Judge an answer to a question that has none: an abstention counts unless a guess goes with it."""
    if not silent:
        return None
    for start, end in _sentences(tokens):
        if start < silent[-1][0]:
            continue
        words = " ".join(tokens.words[start:end])
        if start == silent[-1][0] and not _GUESS.search(words):
            continue
        part = Tokens(tokens.words[start:end], tokens.starts[start:end], tokens.ends[start:end])
        says = bool(scan(part)) or any(_find_target(part, target, None) for _, target in known)
        if says and not _ATTRIBUTED.search(words):
            return Verdict.HEDGED
    return Verdict.ABSTAIN


# --- mentions ------------------------------------------------------------------------------------------------------------------


def _mentions(tokens: Tokens, spec: Spec, known: Known) -> list[Mention]:
    found = _name_mentions(tokens, known)
    if spec.shape != "name":
        found += [mention for hit in _scan_kind(tokens, spec) if (mention := _label(hit, spec, known)) is not None]
        if not found and spec.support:
            text = outline(tokens)
            for name in spec.support:
                found += [Mention(start, end, "gold", "gold") for start, end in find_name(text, _support(name, spec))]
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[Mention] = []
    for mention in found:
        # "New York" hides the "York" in it.
        if kept and mention.start < kept[-1].end and mention.end <= kept[-1].end and mention.label != kept[-1].label:
            continue
        kept.append(mention)
    return kept


def _support(name: object, spec: Spec) -> tuple[str, ...]:
    full: tuple[str, ...] = name.full  # type: ignore[attr-defined]
    return full


def _name_mentions(tokens: Tokens, known: Known) -> list[Mention]:
    named = [(label, target.name) for label, target in known if target.name is not None]
    if not named:
        return []
    text = outline(tokens)
    found = []
    for label, name in named:
        places = find_name(text, name.full) or (find_name(text, name.core) if name.core != name.full else [])
        found += [Mention(start, end, label, name.full) for start, end in places]
    return found


def _scan_kind(tokens: Tokens, spec: Spec) -> list[Found]:
    if spec.kind == "yesno":
        return scan_yes_no(tokens, spec.asked)
    if spec.kind == "direction":
        return scan_directions(tokens, spec.noun)
    hits = [hit for hit in scan(tokens) if _fits(tokens, hit, spec)]
    if spec.kind == "number":
        exact = [hit for hit in hits if _on_target(tokens, hit, spec)]
        return exact or hits
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


def _on_target(tokens: Tokens, hit: Found, spec: Spec) -> bool:
    if hit.value.kind != "number":
        return bool(spec.counted & set(tokens_between(tokens, hit)))
    nouns = noun_stems(tokens, hit.end)
    return not nouns or bool(spec.counted & set(nouns))


def tokens_between(tokens: Tokens, hit: Found) -> list[str]:
    return content(" ".join(tokens.words[hit.start : hit.end]))


def _label(hit: Found, spec: Spec, known: Known) -> Mention | None:
    for label, target in known:
        if any(same(value, hit.value) for value in target.values):
            return Mention(hit.start, hit.end, label, target.values[0])
    if hit.value.kind != spec.kind and not (hit.value.kind == "number" or spec.kind == "ratio"):
        return None
    if spec.kind in ("yesno", "direction"):
        return Mention(hit.start, hit.end, "other", hit.value.low)
    return Mention(hit.start, hit.end, "unknown", (hit.value.kind, hit.value.low, hit.value.high, hit.value.pair, hit.value.date))


def _find_target(tokens: Tokens, target: Target, spec: Spec | None) -> list[tuple[int, int]]:
    if target.name is not None:
        return find_name(outline(tokens), target.name.full)
    hits = _scan_kind(tokens, spec) if spec is not None and spec.kind in ("yesno", "direction") else scan(tokens)
    places = []
    for hit in hits:
        loose = spec is not None and hit.value.kind != spec.kind and not _fits(tokens, hit, spec)
        if not loose and any(same(value, hit.value) for value in target.values):
            places.append((hit.start, hit.end))
    return places


# --- the decision --------------------------------------------------------------------------------------------------------------


def _decide(tokens: Tokens, found: list[Mention], spec: Spec) -> Verdict:
    held = _held([(mention, stance_of(tokens, mention.start, mention.end)) for mention in found], tokens, spec.past)
    if not held:
        return Verdict.OTHER
    labels = {mention.label for mention in held}
    if "gold" not in labels:
        if "stale" in labels:
            return Verdict.HEDGED if "other" in labels else Verdict.STALE
        return Verdict.OTHER
    if labels == {"gold"}:
        return Verdict.CURRENT
    if labels & {"stale", "other"}:
        return Verdict.HEDGED
    return _beside_unknown(tokens, held)


def _held(found: list[tuple[Mention, Stance]], tokens: Tokens, past: bool) -> list[Mention]:
    """Return the mentions that the answer commits to."""
    live = [(mention, stance) for mention, stance in found if stance != Stance.DENIED]
    tied = {k for k in range(len(live) - 1) if _alternatives(tokens, live[k][0], live[k + 1][0])}
    tied |= {k + 1 for k in tied}
    if past:
        history = [m for m, stance in live if stance in (Stance.PAST, Stance.WEAK_PAST)]
        if history:
            return history
        old = [m for k, (m, stance) in enumerate(live) if stance == Stance.PLAIN or k in tied]
        return old or [m for m, _ in live]
    firm = [(k, m, s) for k, (m, s) in enumerate(live) if s in (Stance.PLAIN, Stance.NOW) or k in tied]
    if not firm:
        return [m for m, stance in live if stance == Stance.WEAK_PAST]
    first_now = next((k for k, _, stance in firm if stance == Stance.NOW), 0)
    return [m for k, m, _ in firm if k >= first_now or k in tied]


def _alternatives(tokens: Tokens, a: Mention, b: Mention) -> bool:
    between = tokens.words[a.end : b.start]
    return len(between) <= 4 and any(word in ("or", "/", "and/or") for word in between)


def _beside_unknown(tokens: Tokens, held: list[Mention]) -> Verdict:
    """Judge a gold beside values that nobody listed: details of a committed answer are fine, rivals and heaps are not."""
    extra = {mention.key for mention in held if mention.label == "unknown"}
    if len(extra) > MAX_DETAILS:
        return Verdict.HEDGED
    ends = [end for _, end in _sentences(tokens)]
    first = held[0]
    limit = next((end for end in ends if first.start < end), len(tokens))
    opening = [mention for mention in held if mention.start < limit]
    if not any(mention.label == "gold" for mention in opening):
        return Verdict.HEDGED
    for a, b in zip(held, held[1:], strict=False):
        between = tokens.words[a.end : b.start]
        if a.label != b.label and len(between) <= 2 and all(word in (",", "/", "or", "and", "|", "-", "&", "\n", "*") for word in between):
            return Verdict.HEDGED
    return Verdict.CURRENT if held[0].label == "gold" else Verdict.HEDGED


# --- two-part and list answers -------------------------------------------------------------------------------------------------


def _read_both(tokens: Tokens, spec: Spec, known: Known) -> Verdict | None:
    before, now = spec.parts
    everything: Known = (("before", before), ("now", now), *known)
    found = _mentions(tokens, spec, everything)
    silent = _abstaining(tokens)
    if not found:
        return Verdict.ABSTAIN if silent else None
    stances = [(mention, stance_of(tokens, mention.start, mention.end)) for mention in found]
    live = [(m, s) for m, s in stances if s != Stance.DENIED]
    labels = {m.label for m, _ in live}
    if silent and labels <= {"now"} | ({"before"} if "now" not in labels else set()):
        return Verdict.ABSTAIN
    if labels == {"before", "now"}:
        order = [m.label for m, _ in live]
        stance = {m.label: s for m, s in live}
        swapped = stance["before"] == Stance.NOW and stance["now"] != Stance.NOW or stance["now"] in (Stance.PAST, Stance.WEAK_PAST)
        told = stance["before"] in (Stance.PAST, Stance.WEAK_PAST) or stance["now"] == Stance.NOW
        if swapped or (not told and order[0] == "now"):
            return Verdict.STALE
        return Verdict.CURRENT
    if labels <= {"before", "now", "stale"}:
        return Verdict.STALE
    if {"before", "now"} <= labels and "unknown" not in labels:
        return Verdict.HEDGED
    return Verdict.OTHER


def _read_list(tokens: Tokens, spec: Spec, known: Known) -> Verdict | None:
    everything: Known = (*((f"item {k}", part) for k, part in enumerate(spec.parts)), *known)
    found = [m for m in _mentions(tokens, spec, everything) if stance_of(tokens, m.start, m.end) not in (Stance.DENIED, Stance.PAST)]
    if not found:
        return Verdict.ABSTAIN if _abstaining(tokens) else None
    labels = {mention.label for mention in found}
    items = {f"item {k}" for k in range(len(spec.parts))}
    if items <= labels:
        return Verdict.CURRENT if labels == items else Verdict.HEDGED
    return Verdict.STALE if "stale" in labels else Verdict.OTHER
