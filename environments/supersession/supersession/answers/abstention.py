"""Honest "I was not told": when a sentence says that the answer is not known."""

from __future__ import annotations

import re

from supersession.answers.text import Tokens, sentences

_KNOW = r"(?:know|recall|remember|see|find|possess)"
_RECORD = r"(?:information|info|mention|record|records|details?|data|evidence|confirmation|indication|statement|answer|knowledge|reference|context|idea|clue|memory|access|ability|capability|notes?)"
_PLACE = r"(?:my|the|your|these|any) (?:notes?|memory|records?|sessions?|history|chats?|conversations?)"
_SAY = r"(?:mention|tell|told|provide|say|said|specif|state|contain|include|give|given|share|record|indicat|discuss|reveal|clarif|confirm|note|cover|list)"
_ABSTAIN = re.compile(
    r"\bunknown\b|\bunspecified\b|\bunclear\b|\bundisclosed\b|\bundetermined\b|\bn ?/ ?a\b|\bunsure\b|\bunaware\b"
    r"|\b(?:not|isn't|wasn't|aren't|weren't|never|hasn't been|haven't been|been|nowhere) (?:been |yet |explicitly |directly |clearly |specifically |actually |ever )*"
    r"(?:stated|mentioned|specified|provided|given|known|told|said|recorded|noted|available|disclosed|indicated|discussed|listed|shared|sure|certain|aware|clear|enough)\b"
    rf"|\b(?:do not|don't|does not|doesn't|did not|didn't|have not|haven't|has not|hasn't|had not|never) (?:\w+ ){{0,3}}?(?:{_KNOW}\b|{_SAY})"
    r"|\b(?:can not|cannot|can't|could not|couldn't|unable to|impossible to|not possible to|not able to|no way to|unfortunately , i) (?:\w+ ){0,2}?"
    r"(?:determine|answer|say|tell|know|provide|find|infer|give|confirm|conclude|identify|recall|estimate|calculate)"
    r"|\b(?:no|lack of|lacks?|without|insufficient|not enough|not any|any) (?:\w+ ){0,3}?(?:information|info|mention|record|records|details?|data|evidence|confirmation|indication|statement|answer|knowledge|reference|context|idea|clue)\b"
    rf"|\b(?:do not|don't|does not|doesn't|did not|didn't) (?:\w+ ){{0,2}}?have (?:\w+ ){{0,4}}?{_RECORD}\b"
    rf"|\bnothing (?:\w+ )?(?:about|on|regarding|in {_PLACE})\b|\b(?:not|isn't|aren't|wasn't|nowhere) (?:anywhere )?in {_PLACE}\b"
    r"|\b(?:not|never|hasn't|has not|didn't|did not) (?:come|came) up\b|\b(?:not|never|haven't|hasn't) (?:\w+ )?(?:talked|spoken|chatted) about\b"
    r"|\bhave no (?:information|record|idea|data|memory)\b|\bi have no\b|\bdepends on\b"
)
_BOILERPLATE = re.compile(
    r"\b(?:no|not|any|without|never|n't)\b[^.]{0,60}\b(?:(?<!every )other|conflict\w*|contradict\w*|further|additional|change[sd]?|changing|newer|update[sd]?|else|again|later|more recent|subsequent|new|difference|discrepanc\w*|reason|need|indicat\w+ (?:that|of) (?:\w+ ){0,5}(?:sold|changed))\b"
)
_WHOLE = frozenset(("empty", "none", "no answer", "nothing", "not stated", "no info", "not given", "null", "idk", "unanswerable", "?"))


_ATTRIBUTED = re.compile(
    r"\byou (?:\w+ ){0,2}(?:mention\w*|stated|said|discuss\w*|told|talked)|\bmentions?\b|\blast update\b|\bonly\b|\bstated\b|\byours\b|\byour own\b"
)
_COMMITS = re.compile(r"\b(?:but|however|likely|probably|perhaps|maybe|i think|i believe|guess|assum\w+|so|therefore|answer|appears)\b")
_GUESS = re.compile(r"\b(?:or|maybe|perhaps|probably|likely|but|guess|estimat\w+|approximately|about)\b")
_SIDE_ISSUE = re.compile(r"\b(?:when|why|whether|which|how (?:long|often|much)|exact(?:ly)?|specific)\b(?!.*\bhow many\b)")
_ASIDE = re.compile(r"\(([^()]{0,300})\)")


def abstains(sentence: str) -> bool:
    """Say whether one lower-case sentence says that its writer does not know."""
    if sentence.strip(" .!*\"'") in _WHOLE:
        return True
    return bool(_ABSTAIN.search(sentence)) and not _BOILERPLATE.search(sentence)


def silent_sentences(tokens: Tokens) -> list[tuple[int, int]]:
    """Return the token ranges of the sentences that abstain."""
    return [span for span in sentences(tokens) if abstains(" ".join(tokens.words[span[0] : span[1]]))]


def reports(sentence: str) -> bool:
    """Say whether a sentence only reports what was said, without answering and without drawing a conclusion."""
    return bool(_ATTRIBUTED.search(sentence)) and not _COMMITS.search(sentence)


def commits_after(sentence: str, past_abstention: bool = False) -> bool:
    """Say whether a sentence goes on to answer all the same ("but", "likely"); with `past_abstention`, after the words that abstain."""
    if past_abstention:
        words = _ABSTAIN.search(sentence)
        sentence = sentence[words.end() :] if words else sentence
    return bool(_COMMITS.search(sentence))


def with_guess(sentence: str) -> bool:
    """Say whether an abstaining sentence may hold a guess beside it."""
    return bool(_GUESS.search(sentence))


def side_issue(sentence: str) -> bool:
    """Say whether a sentence leaves open something else than a count: when, why, how exactly."""
    return bool(_SIDE_ISSUE.search(sentence))


def drop_silent_asides(text: str) -> str:
    """Return `text` without parentheses that only say that something was not mentioned."""
    if "(" not in text:
        return text
    return _ASIDE.sub(lambda aside: " " if abstains(aside.group(1).lower()) else aside.group(), text)
