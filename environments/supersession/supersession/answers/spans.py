"""Which part of an answer states its conclusion."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

REACH = 1500
"""Characters of a conclusion that are read; a conclusion is short, and this bounds the work."""
SHORT = 320
"""Answers up to this many characters, in one paragraph, are conclusions as a whole."""
MAX_MARKED = 8
MAX_CONCLUSION = 700
"""A marker ("Answer:") that more than this follows opens a reasoning, not a conclusion."""

_THOUGHT = r"(?:think(?:ing)?|thoughts?|reasoning|scratchpad|analysis)"
_THINK = re.compile(rf"<{_THOUGHT}>.*?(?:</{_THOUGHT}>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*$|```", re.MULTILINE)
_BOXED = re.compile(r"\\boxed\s?\{([^{}\n]{0,200})\}")
_TAG = re.compile(r"<answer>(.{0,1500}?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
_MARKER = re.compile(
    r"\b(?:(final (?:and most recent )?answer|in conclusion)|(?:my |the |correct |short )?answer|conclusion)(?: is| would be)?[*_\" \t]*[:=]",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"^[*_\s]*total[*_ \t]*:", re.IGNORECASE | re.MULTILINE)
_ANSWER_HEADING = re.compile(r"^[#*_\s]*(?:final )?answer[*_#\s]*$", re.IGNORECASE | re.MULTILINE)
_CUE = re.compile(
    r"\b(?:therefore|thus|hence|in conclusion|in summary|to summarize|overall|i (?:can |would |will |must )?(?:confidently )?conclude|we can (?:confidently )?conclude|it can be concluded"
    r"|(?:the|my|correct) answer(?: to (?:the|your|this) question)?(?: \"[^\"\n]{0,300}\")? (?:is|would be|can be))\b",
    re.IGNORECASE,
)
_DRAWN = re.compile(
    r"(?:(?<=[.!?] )|^)(?:so|therefore|thus|hence)\b,? (?:the|my|your) (?:final |correct )?answer (?:is|would be)\b", re.IGNORECASE
)
_REASONING = re.compile(
    r"\W*(?:to (?:answer|determine|find)|let's|let us|here's|here is|here are|first|step|1|okay|ok|we need|i will|i need)\b", re.IGNORECASE
)
_TRANSCRIPT = re.compile(r"^(?:user|human): ", re.MULTILINE)
_FACT_LABEL = re.compile(r"(?:^|[\n;|])[ \t*_>-]*([^\W\d][\w' /-]{0,40}):[*_]{0,2} +[^\s]")
_HARMLESS_LABEL = re.compile(
    r"\b(?:previous\w*|current\w*|now|before|after|old|new|latest|earlier|original\w*|initial\w*|answer|note|total|explanation|reason\w*|source|session|step|date|conclusion"
    r"|assistant|user)\b",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\n\s*[*_(]*(?:note|please note|explanation|reasoning)\b[^\n]{0,1500}\Z", re.IGNORECASE)
_HEADED_NOTE = re.compile(
    r"\n\s*(?:#{1,6} *|\*\*)(?:explanation|reasoning|rationale|details|history|notes?|sources?|evidence)\b.{0,1500}\Z",
    re.DOTALL | re.IGNORECASE,
)
_KEYS = ("answer", "final_answer", "finalanswer", "final answer", "response", "value", "result", "output")


@dataclass(frozen=True, slots=True)
class Passage:
    """Texts that state one conclusion, and so must agree.

    `final` says that the answer itself marks it as such, so that nothing else may replace it. With `leads`, the first text answers
    and the others explain: they need only not contradict it.
    """

    texts: tuple[str, ...]
    final: bool
    leads: bool = False


def passages(answer: str) -> list[Passage]:
    """Return the passages of a normalised answer that may state its conclusion, the likeliest first; the first that says anything counts.

    An answer with several marked conclusions of one rank yields one passage with all of them: they must agree.
    """
    text = _unwrap(answer)
    if _TRANSCRIPT.search(text):
        return []
    if len(text) <= SHORT and "\n" not in text and ":" not in text and "<" not in text and "\\" not in text:
        return _in_one_piece(text)
    boxed = _BOXED.findall(text[-20 * REACH :])
    if boxed:
        return [Passage(tuple(dict.fromkeys(boxed))[:MAX_MARKED], True)]
    tagged = _TAG.findall(text[-20 * REACH :]) if "<answer>" in text.lower() else []
    if tagged:
        return [Passage(tuple(dict.fromkeys(tagged))[:MAX_MARKED], True)]
    return _marked(text) or _unmarked(text)


def _unwrap(answer: str) -> str:
    text = answer.strip()
    if "<" in text:
        # Some chat templates open the thoughts in the prompt, so that only their end stands in the reply.
        text = _THOUGHT_END.split(_THINK.sub(" ", text))[-1].strip()
    if "```" in text:
        text = _FENCE.sub("\n", text).strip()
    if text[:1] in ("{", "[") and len(text) <= 20 * REACH:
        try:
            return _from_json(json.loads(text))
        except (ValueError, RecursionError):
            return text
    return text


def _from_json(data: object) -> str:
    if isinstance(data, dict):
        answers = dict.fromkeys(_from_json(value) or "unknown" for key, value in data.items() if str(key).lower() in _KEYS)
        if answers:
            return "\n".join(answers)
        return "\n".join(f"{key}: {_from_json(value)}" for key, value in data.items())
    if isinstance(data, list):
        return ", ".join(_from_json(value) for value in data)
    if isinstance(data, bool):
        return "yes" if data else "no"
    return "" if data is None else str(data)


def _marked(text: str) -> list[Passage]:
    markers = list(_MARKER.finditer(text))
    final = [match for match in markers if match.group(1)]
    rank = final or markers
    rank = rank or list(_ANSWER_HEADING.finditer(text)) or list(_TOTAL.finditer(text))
    ends = [match.end() for match in rank]
    if not ends:
        return []
    starts, ends = [match.start() for match in rank[-MAX_MARKED:]], ends[-MAX_MARKED:]
    if len(text) - ends[-1] > MAX_CONCLUSION and not final:
        return []
    texts = []
    for k, end in enumerate(ends):
        if k + 1 < len(ends):
            rest = text[end : min(starts[k + 1], end + REACH)].lstrip('*_ \t\n"')
            texts.append(rest.split("\n", 1)[0])
        else:
            texts.append(_clip(text[end:]))
    texts = [piece for piece in texts if any(char.isalnum() for char in piece)]
    paragraphs = _paragraphs(texts[0]) if len(texts) == 1 else []
    if len(paragraphs) > 1 and not _opens_reasoning(paragraphs[0]):
        return [Passage((paragraphs[0], paragraphs[-1]), True, leads=True)]
    return [Passage(tuple(texts), True)] if texts else []


def _clip(text: str) -> str:
    text = text.strip()[:REACH]
    return _NOTE.sub("", _HEADED_NOTE.sub("", text))


def _unmarked(text: str) -> list[Passage]:
    if len(text) <= SHORT and "\n\n" not in text:
        return _in_one_piece(text)
    body = _NOTE.sub("", _HEADED_NOTE.sub("", text))
    tail = body[-REACH:]
    found = []
    cues = [match.start() for match in _CUE.finditer(tail)]
    if cues:
        found.append(Passage((tail[cues[-1] :],), False))
    paragraphs = _paragraphs(tail)
    if not cues and len(paragraphs) > 1 and len(body) <= REACH and not _opens_reasoning(paragraphs[0]):
        found.append(Passage((paragraphs[0], paragraphs[-1]), False, leads=True))
    found.extend(Passage((part,), False) for part in reversed(paragraphs[-4:]))
    return found


def _in_one_piece(text: str) -> list[Passage]:
    """Return a short text as its own conclusion, after the sentence that draws one ("So the answer is 17.")."""
    cues = [match.start() for match in _DRAWN.finditer(text)]
    drawn = [Passage((text[cues[-1] :],), False)] if cues and cues[-1] > 0 else []
    return [*drawn, Passage((text,), True)]


def _paragraphs(text: str) -> list[str]:
    return [part for part in text.split("\n\n") if any(char.isalnum() for char in part)]


def _opens_reasoning(paragraph: str) -> bool:
    """Say whether a first paragraph only leads to a conclusion: it opens a reasoning, or introduces a list."""
    return bool(_REASONING.match(paragraph)) or paragraph.split("\n", 1)[0].rstrip(" *_").endswith(":")


def lists_facts(text: str) -> bool:
    """Say whether a text is a list of labelled facts, such as notes copied out ("gym: Iron Temple; team: 5"), and so no answer."""
    labels = {match.group(1).strip().lower() for match in _FACT_LABEL.finditer(text) if not _HARMLESS_LABEL.search(match.group(1))}
    return len(labels) >= 2
