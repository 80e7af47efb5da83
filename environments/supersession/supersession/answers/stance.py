"""How a text stands to a value that it mentions: asserted, as history, as new, denied, or one of several alternatives."""

from __future__ import annotations

import re
from enum import Enum

from supersession.answers.text import SENTENCE_ENDS, Tokens


class Stance(Enum):
    PLAIN = "plain"
    NOW = "now"
    PAST = "past"
    WEAK_PAST = "weak past"
    """History beside another value ("7:30 before the change"), an ordinary statement where it stands alone."""
    DENIED = "denied"


_CHANGE = r"(?:up|down|away|changed|moved|switched|went|gone|going|increased|decreased|rose|risen|raised|dropped|fell|improved|upgraded|grew|grown|cut|reduced|lowered|updated|shifted|relocated|transitioned|progressed|increase|decrease|change|move|switch|upgrade|improvement)"
# The run of words between a cue and its value stays inside one clause.
_GAP = r"(?: (?!but |now |and |currently |is |are )[^\s,;:()]+)"
_REACH = r"(?: (?!but )[^\s,;:()]+)"
_DENIED_LEFT = re.compile(
    rf"(?:\bnot|n't|\bnever|\bno longer|\brather than|\binstead of|\bother than|\bneither|\bnor|\bwithout|\bnot counting|\bdoesnt|\bdont|\bisnt)"
    rf"(?! only| just| sure){_GAP}{{0,4}} $"
)
_PAST_LEFT = re.compile(
    rf"(?:\b(?:previously|formerly|originally|initially|earlier|before|prior|at first|in the past|used to|former|previous|old|outdated|older|"
    rf"started (?:out )?(?:with|at|as)|began (?:with|at)|starting (?:from|at|with)|replac(?:ed|es|ing)|compared (?:to|with)|beat(?:en|ing)?|as opposed to|ex)\b(?: ?[,:])?{_GAP}{{0,6}} "
    rf"|\b{_CHANGE} (?:it |that |this )?from{_GAP}{{0,3}} |[(] ?(?:was|were) |\b(?:had been|than) (?:about |around )?)$"
)
_FROM_LEFT = re.compile(rf"\bfrom{_GAP}{{0,3}} $")
_TO_RIGHT = re.compile(r"^(?: [^\s,;:()]+){0,2} (?:to|->|until) ")
_NOW_LEFT = re.compile(
    rf"(?:\b(?:now|currently|current|latest|most recent|most recently|recently|new|newest|updated|today|these days|actually|correction|rather|since then|has since|nowadays|at present)\b(?: ?[,:])?{_REACH}{{0,7}} "
    rf"|\b{_CHANGE}(?: [^\s,;:()]+){{0,6}} to{_GAP}{{0,3}} |\bbut{_GAP}{{0,5}} |-> ?|\bno , (?:it 's |it is |it's )?|\bwait ,? )$"
)
_NOW_RIGHT = re.compile(r"^(?: [^\s,;:()]+){0,3} (?:now|currently|instead|these days|today|at the moment|at present|nowadays)\b")
_PAST_RIGHT = re.compile(r"^(?: [^\s,;:()]+){0,3} (?:previously|earlier|originally|initially|formerly|no longer|in the past|at first|in the beginning)\b")
_WEAK_PAST_RIGHT = re.compile(r"^(?: [^\s,;:()]+){0,4} (?:before|until|prior to|when you (?:first )?started)\b| ?->")
_LABEL_LEFT = re.compile(r"\b(?:was|old|before|previous|past|prior|ex|previously|formerly|earlier) ?[:=] $")


def stance_of(tokens: Tokens, start: int, end: int) -> Stance:
    """Return how the sentence around the tokens `start`..`end` stands to what they say."""
    left, right = _around(tokens, start, end)
    if left and _DENIED_LEFT.search(left):
        return Stance.DENIED
    past = left and (_PAST_LEFT.search(left) or _LABEL_LEFT.search(left))
    now = left and _NOW_LEFT.search(left)
    if past and now:
        # The nearer cue decides: "previously 4 but now 5", "now 5, previously 4".
        return Stance.PAST if past.start() > now.start() else Stance.NOW
    if past:
        return Stance.PAST
    if right:
        if left and _FROM_LEFT.search(left) and _TO_RIGHT.match(right):
            return Stance.PAST
        if _NOW_RIGHT.match(right):
            return Stance.NOW
        if not now and _PAST_RIGHT.match(right):
            return Stance.PAST
        if not now and _WEAK_PAST_RIGHT.match(right):
            return Stance.WEAK_PAST
    return Stance.NOW if now else Stance.PLAIN


def _around(tokens: Tokens, start: int, end: int, reach: int = 10) -> tuple[str, str]:
    """Return the words before and after, each with single spaces, inside the sentence."""
    words = tokens.words
    i = start
    while i > 0 and start - i < reach and words[i - 1] not in SENTENCE_ENDS:
        i -= 1
    j = end
    while j < len(words) and j - end < reach and words[j] not in SENTENCE_ENDS:
        j += 1
    quiet = ("*", '"', "_", "`", "$")
    left = " ".join(word for word in words[i:start] if word not in quiet)
    right = " ".join(word for word in words[end:j] if word not in quiet)
    return left + " " if left else "", " " + right if right else ""
