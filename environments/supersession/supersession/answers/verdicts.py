"""The verdict: what an answer commits to, compared with what is right and with what used to be."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from supersession.answers.abstention import abstains, commits_after, drop_silent_asides, reports, side_issue, silent_sentences, with_guess
from supersession.answers.mentions import Known, Mention, find_mentions, holds, known_values
from supersession.answers.rivals import OR, has_rivals, in_list, is_per, more_items
from supersession.answers.scan import scan
from supersession.answers.spans import Passage, lists_facts, passages
from supersession.answers.spec import Spec, spec_of
from supersession.answers.stance import Stance, stances_of
from supersession.answers.text import Tokens, content, normalise, sentences, tokenise
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
MAX_VALUES = 5
"""Different values of the gold's type, history included, in a conclusion that is still one."""
RIVAL = 40
"""Characters of a marked conclusion that is only a value."""
TERSE = 4
"""An abstention of up to this many tokens ("unknown", "I do not know") is one by itself, whatever follows."""

_VARIES = re.compile(r"\b(?:var(?:y|ies|ied)|inconsistent|conflicting|two different|different (?:times|values|amounts|answers))\b")


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
    known = known_values(spec, gold, stale, others, question) if spec.shape != "abstain" else _wrong(stale, others)
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
    tokens = _tokens(text[-MAX_ANSWER:])
    if spec.shape == "abstain":
        return bool(silent_sentences(tokens))
    return all(holds(tokens, target, spec) for target in spec.parts or (spec.target,))


@lru_cache(maxsize=32)
def _tokens(text: str) -> Tokens:
    """Return the tokens of a text; notes are asked about several values in a row."""
    return tokenise(normalise(text))


def _wrong(stale: Sequence[str], others: Sequence[str]) -> Known:
    """Label the values that no answer to an unanswerable question may give."""
    return tuple(("other", spec_of(text, None, "auto").target) for text in (*stale, *others) if text.strip())


def _read_passage(passage: Passage, spec: Spec, known: Known) -> Verdict | None:
    first, *rest = (_read(text, spec, known) for text in passage.texts)
    if passage.leads:
        return Verdict.HEDGED if first and {first, *rest} >= {Verdict.CURRENT, Verdict.STALE} else first
    # A short rival that says nothing of the gold's type ("Answer: Monday" beside "Answer: 5") is one all the same.
    read = zip(passage.texts, (first, *rest), strict=True)
    found = {
        verdict or Verdict.OTHER for text, verdict in read if verdict is not None or (len(text) <= RIVAL and text != passage.texts[-1])
    }
    if found <= {Verdict.OTHER}:
        return Verdict.OTHER if Verdict.OTHER in (first, *rest) else None
    return found.pop() if len(found) == 1 else Verdict.HEDGED


def _read(text: str, spec: Spec, known: Known) -> Verdict | None:
    tokens = tokenise(drop_silent_asides(text))
    silent = silent_sentences(tokens)
    if spec.shape not in ("both", "list") and lists_facts(text):
        return Verdict.HEDGED
    if spec.shape == "abstain":
        return _read_abstention(tokens, silent, known)
    found = [m for m in find_mentions(tokens, spec, known) if not _echoes(tokens, m, spec)]
    if spec.shape == "both":
        if silent:
            found = [m for m in found if not any(start <= m.start < end for start, end in silent)]
        return _read_both(tokens, found, bool(silent), spec)
    if silent:
        standing = _standing(tokens, found, silent[-1])
        if isinstance(standing, Verdict):
            return standing
        found = standing
    if not found:
        return None
    if spec.shape == "list":
        return _read_list(tokens, found, spec)
    return _decide(tokens, found, spec)


def _echoes(tokens: Tokens, mention: Mention, spec: Spec) -> bool:
    """Say whether a mention stands in a repetition of the question."""
    if "?" not in tokens.words:
        return False
    start, end = next(span for span in sentences(tokens) if span[0] <= mention.start < span[1])
    if tokens.at(end) != "?" or not spec.asked:
        return False
    return len(spec.asked & set(content(" ".join(tokens.words[start:end])))) >= 0.6 * len(spec.asked)


def _standing(tokens: Tokens, found: list[Mention], silent: tuple[int, int]) -> list[Mention] | Verdict:
    """Return the mentions that stand against the last abstaining sentence, or the verdict where none does."""
    start, end = silent
    after = [mention for mention in found if mention.start >= end]
    if after:
        words = _sentence_of(tokens, after[0].start)
        if commits_after(words):
            return after
        if reports(words) or all(mention.label == "unknown" for mention in after):
            return Verdict.ABSTAIN
        return Verdict.HEDGED if end - start <= TERSE else after
    inside = [mention for mention in found if start <= mention.start]
    if inside:
        lead = " ".join(tokens.words[start : inside[0].start])
        if abstains(lead) and commits_after(lead, past_abstention=True):
            return inside
        if abstains(lead) and tokens.at(inside[0].start - 1) == "or":
            return Verdict.HEDGED
    before = [mention for mention in found if mention.end <= start]
    return before if before and side_issue(" ".join(tokens.words[start:end])) else Verdict.ABSTAIN


def _sentence_of(tokens: Tokens, i: int) -> str:
    start, end = next(span for span in sentences(tokens) if span[0] <= i < span[1])
    return " ".join(tokens.words[start:end])


def _read_abstention(tokens: Tokens, silent: list[tuple[int, int]], known: Known) -> Verdict | None:
    """Judge an answer to a question that has none: an abstention counts unless a guess goes with it."""
    first = silent[-1][0] if silent else 0
    if silent and side_issue(" ".join(tokens.words[slice(*silent[-1])])) and _asserts_before(tokens, first, known):
        return Verdict.OTHER
    for start, end in sentences(tokens):
        words = " ".join(tokens.words[start:end])
        if start < first or reports(words) or (silent and start == first and not with_guess(words)):
            continue
        part = Tokens(tokens.words[start:end], tokens.starts[start:end], tokens.ends[start:end])
        if scan(part) or any(holds(part, target, spec_of("x", None, "name")) for _, target in known):
            return Verdict.HEDGED if silent else Verdict.OTHER
    return Verdict.ABSTAIN if silent else None


def _asserts_before(tokens: Tokens, end: int, known: Known) -> bool:
    """Say whether a sentence before token `end` gives a listed value without reporting it: "Rex. I don't know exactly since when."."""
    for start, stop in sentences(tokens):
        part = Tokens(tokens.words[start:stop], tokens.starts[start:stop], tokens.ends[start:stop])
        if (
            stop <= end
            and not reports(" ".join(part.words))
            and any(holds(part, target, spec_of("x", None, "name")) for _, target in known)
        ):
            return True
    return False


def _with_stances(tokens: Tokens, found: list[Mention], spec: Spec) -> list[tuple[Mention, Stance]]:
    return list(zip(found, stances_of(tokens, [(m.start, m.end) for m in found], spec.echo), strict=True))


def _decide(tokens: Tokens, found: list[Mention], spec: Spec) -> Verdict:
    stances = _with_stances(tokens, found, spec)
    tied = _tied(tokens, found, 10 if spec.kind == "direction" else 4)
    for k in range(1, len(stances)):
        # "not A or B" denies both; "it used to be A (or 'a')" puts both in the past.
        before = stances[k - 1][1]
        if "or" in tokens.words[found[k - 1].end : found[k].start][:10] and (before == Stance.DENIED or found[k - 1].key == found[k].key):
            stances[k] = (found[k], before)
    if len({mention.key for mention, stance in stances if stance != Stance.DENIED}) > MAX_VALUES:
        return Verdict.HEDGED
    held = _held(stances, tied, spec.past)
    if not held:
        return Verdict.OTHER
    labels = {mention.label for mention in held}
    if len(labels) > 1 and _VARIES.search(" ".join(tokens.words[: held[0].start])):
        return Verdict.HEDGED
    if "gold" not in labels:
        if "stale" in labels:
            return Verdict.HEDGED if labels & {"other", "around"} else Verdict.STALE
        if "around" in labels:
            return Verdict.HEDGED
        return Verdict.OTHER
    if labels == {"gold"}:
        return Verdict.HEDGED if in_list(tokens, found, spec.kind == "name") else Verdict.CURRENT
    return Verdict.HEDGED if labels & {"stale", "other"} or has_rivals(tokens, held) else Verdict.CURRENT


def _held(found: list[tuple[Mention, Stance]], tied: set[int], past: bool) -> list[Mention]:
    """Return the mentions that the answer commits to; `tied` are those that stand as alternatives."""
    live = [(k, mention, stance) for k, (mention, stance) in enumerate(found) if stance != Stance.DENIED]
    if past:
        history = [m for _, m, stance in live if stance in (Stance.PAST, Stance.WEAK_PAST)]
        old = [m for k, m, stance in live if stance in (Stance.PLAIN, Stance.ASIDE) or k in tied]
        return history or old or [m for _, m, _ in live]
    firm = [(k, m, s) for k, m, s in live if s in (Stance.PLAIN, Stance.NOW) or k in tied]
    if not firm:
        return [m for _, m, stance in live if stance in (Stance.WEAK_PAST, Stance.ASIDE)]
    first_now = next((k for k, _, stance in firm if stance == Stance.NOW), 0)
    return [m for k, m, _ in firm if k >= first_now or k in tied]


def _tied(tokens: Tokens, found: list[Mention], reach: int) -> set[int]:
    """Return the places of mentions that "or" joins to a different one."""
    tied = set()
    for k, (a, b) in enumerate(itertools.pairwise(found)):
        between = tokens.words[a.end : b.start]
        if a.key != b.key and len(between) <= reach and any(word in OR and not is_per(tokens, a.end + i) for i, word in enumerate(between)):
            tied |= {k, k + 1}
    return tied


def _read_both(tokens: Tokens, found: list[Mention], silent: bool, spec: Spec) -> Verdict | None:
    """Judge an answer that must give the value before and the value now."""
    live = [(m, stance) for m, stance in _with_stances(tokens, found, spec) if stance != Stance.DENIED]
    labels = {mention.label for mention, _ in live}
    if not live or (silent and labels in ({"part 0"}, {"part 1"})):
        return Verdict.ABSTAIN if silent else None
    if labels == {"part 0", "part 1"}:
        order = [label for label, _ in itertools.groupby(mention.label for mention, _ in live)]
        before, now = ({stance for mention, stance in live if mention.label == label} for label in ("part 0", "part 1"))
        history = {Stance.PAST, Stance.WEAK_PAST}
        if any(stances & history and Stance.NOW in stances for stances in (before, now)):
            return Verdict.HEDGED
        if (before & history and now & history) or (Stance.NOW in before and Stance.NOW in now):
            return Verdict.HEDGED  # what is said of both tells them apart no longer
        if (before | now) & history:
            ordered = not now & history
        elif Stance.NOW in before | now:
            ordered = Stance.NOW in now
        elif len(order) > 2:
            return Verdict.HEDGED
        else:
            ordered = order[0] == "part 0"
        return Verdict.CURRENT if ordered else Verdict.STALE
    if labels <= {"part 0", "part 1", "stale"}:
        return Verdict.STALE
    return Verdict.HEDGED if labels >= {"part 0", "part 1"} else Verdict.OTHER


def _read_list(tokens: Tokens, found: list[Mention], spec: Spec) -> Verdict:
    """Judge an answer that must give every item and nothing else."""
    stances = _with_stances(tokens, found, spec)
    for k in range(len(stances) - 2, -1, -1):
        # "tarp and pegs now": both are.
        if stances[k][1] == Stance.PLAIN and tokens.words[found[k].end : found[k + 1].start] in (["and"], [","], [",", "and"]):
            stances[k] = (found[k], stances[k + 1][1])
    labels = {mention.label for mention in _held(stances, set(), spec.past)}
    items = {f"part {k}" for k in range(len(spec.parts))}
    if items <= labels and ("or" in tokens.words[found[0].end : found[-1].start] or more_items(tokens, found)):
        return Verdict.HEDGED
    if items <= labels:
        return Verdict.CURRENT if labels == items else Verdict.HEDGED
    return Verdict.STALE if "stale" in labels else Verdict.OTHER
