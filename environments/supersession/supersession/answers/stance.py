"""How a text stands to a value that it mentions: asserted, as history, as new, denied, or as commentary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from supersession.answers.text import SENTENCE_ENDS, Tokens


class Stance(Enum):
    PLAIN = "plain"
    NOW = "now"
    PAST = "past"
    WEAK_PAST = "weak past"
    """History beside another value ("7:30 before the change"), an ordinary statement where it stands alone."""
    ASIDE = "aside"
    """Commentary: a sentence in parentheses after another one."""
    DENIED = "denied"


_REACH_TOKENS = 12
_QUIET = frozenset(("*", '"', "_", "`", "$"))

_ADJECTIVES = frozenset("old older new newest previous former current original initial past latest recent".split())

# Cues are matched on the words of one sentence, joined by single spaces, each sign a word of its own; the bounded runs below keep the
# time linear. A run never leaves its clause.
_WORD = r"(?: [^\s,;:()|/]+)"
_RUN = r"(?: (?!but )[^\s,;:()|/]+)"
_SAME_STATEMENT = r"(?: (?!but |now |and |currently |is |are )[^\s,;:()|/]+)"
_OBJECT = r"(?: (?!but |now |and |currently |is |are |for |with |by |to )[^\s,;:()|/]+)"
_CLAUSE = r"(?: (?!and |but |before )[^\s,;:()|/]+)"
_LEAVING = (
    r"(?:left|leaving|quit|quitting|sold|selling|traded in|trading in|swapped|swapping|gave up|giving up|resigned from|got rid of|took over from|taking over from"
    r"|laid off from|superseding|succeeded|succeeding)"
)
_CHANGED = (
    r"(?:up|down|away|changed?|moved?|switch(?:ed)?|went|gone|going|increased?|decreased?|rose|risen|raised|dropped|fell|improve[d]?|upgraded?|grew|grown"
    r"|cut|reduced|lowered|updated|shifted|relocated|transitioned|progressed|improvement)"
)

_FRESH = r"(?:now|currently|current|latest|most recent(?:ly)?|recently|new|newest|updated|today|these days|nowadays|actually|correction|since then|has since|at present)"

_DENIED = re.compile(
    rf"(?:\b(?:not|never|no longer|rather than|instead of|other than|except|neither|nor|without|isnt|dont|doesnt|ignore|disregard)|n't)(?! only| just| sure){_SAME_STATEMENT}{{0,4}} $"
)
_PAST = re.compile(
    "(?:"
    + "|".join(
        (
            rf"\b(?:previous(?:ly)?|former(?:ly)?|original(?:ly)?|initial(?:ly)?|(?<!minutes )(?<!hours )(?<!hour )(?<!days )(?<!day )(?<!weeks )(?<!week )earlier|prior|at first|in the past|used to|old|older|outdated|ex)\b(?: ?[,:])?{_SAME_STATEMENT}{{0,8}} ",
            rf"(?<!recently )(?<!just )(?<!now )(?<!have )\b(?:started|began|starting)(?: out| off)? (?:with|at|as|from){_SAME_STATEMENT}{{0,4}} ",
            rf"\b(?:replac(?:ed|es|ing)|{_LEAVING}){_OBJECT}{{0,4}} ",
            rf"\b(?:beat(?:en|ing)?|compared (?:to|with)|as opposed to){_SAME_STATEMENT}{{0,4}} ",
            r"(?:^before(?: [,:])?|\bbefore|\bbefore (?:that|this|then|it)(?: [,:])?)(?: it)?(?: was| were)?(?: about| around)? ",
            rf"\b{_CHANGED}(?: it| that| this)? from{_OBJECT}{{0,3}} ",
            r"[(] ?(?:was|were) ",
            r"\b(?:had been|than)(?: about| around)? ",
            r"\b(?:was|past) ?[:=] ",
        )
    )
    + ")$"
)
_NOW = re.compile(
    "(?:"
    + "|".join(
        (
            rf"\b{_FRESH}\b(?: ?:)?{_RUN}{{0,7}} ",
            rf"(?:^|\b(?:and|but|so|as of|right|until|for) ){_FRESH} ,{_RUN}{{0,7}} ",
            rf"\b{_CHANGED}{_WORD}{{0,6}} to{_SAME_STATEMENT}{{0,3}} ",
            rf"\b(?:replac(?:ed|es|ing)|{_LEAVING}){_WORD}{{0,5}} (?:for|with|by){_SAME_STATEMENT}{{0,3}} ",
            r"[^-=<>] = ",
            r"\bbefore(?! that\b| this\b| then\b| it\b)(?: (?!but |was |were |is )[^\s,;:()|/]+){1,7} ",
            rf"\bbut{_SAME_STATEMENT}{{0,5}} ",
            rf"\b(?:brings?|bringing|brought)(?: it| that| the total| the count)? to{_SAME_STATEMENT}{{0,2}} ",
            rf"\btotal ?[:=]?{_SAME_STATEMENT}{{0,2}} ",
            r"[-=]{1,3}> ",
            r"[^ ] (?:no|wait) ,(?: it 's| it is| it's)? ",
        )
    )
    + ")$"
)
_FROM = re.compile(rf"\bfrom{_SAME_STATEMENT}{{0,3}} $")
_FOLLOWED_BY_TO = re.compile(rf"^{_WORD}{{0,2}} (?:to|->|until) ")
_NOW_AFTER = re.compile(
    rf"^(?: \()?{_CLAUSE}{{0,3}} (?:now|currently|instead|these days|today|at the moment|at present|nowadays)\b|^ is (?:the|your|my) (?:current|latest|newest|new)\b"
)
_PAST_AFTER = re.compile(
    rf"^{_CLAUSE}{{0,3}} (?:previously|earlier|originally|initially|formerly|no longer|in the past|at first|in the beginning)\b"
    r"|^ (?:is|was) (?:the |your |my |an )?(?:old|older|previous|former|outdated|original|earlier)\b|^(?: but)? (?:that's|that is|which is) (?:old|outdated|wrong|no longer)\b"
    r"|^ (?:was|were|got|has been|have been) replaced by\b"
)
_WEAK_PAST_BEFORE = re.compile(
    r"\b(?:was|were|had|lived|worked|paid|weighed)(?: (?!but |now |currently |is |are |have |has |for |with |by |to )[^\s,;:()|/]+){0,7} $"
)
_WEAK_PAST_AFTER = re.compile(rf"^{_WORD}{{0,4}} (?:before|until|prior to|when you (?:first )?started)\b|^ [-=]{{1,3}}>")


def stances_of(tokens: Tokens, places: Sequence[tuple[int, int]], echo: frozenset[tuple[str, str]] = frozenset()) -> list[Stance]:
    """Return how the text stands to each value that it mentions between two tokens.

    `echo` are the question's own pairs of words ("old sneakers"), which say nothing about the value; nor do words inside a value
    ("The Old Post").
    """
    words = list(tokens.words)
    for start, end in places:
        if end - start < _REACH_TOKENS:
            words[start:end] = ["value"] * (end - start)
    masked = Tokens(words, tokens.starts, tokens.ends)
    stances = [_stance(masked, start, end, echo) for start, end in places]
    for k in range(1, len(places)):
        # "used to be Tuesday and Thursday": what "and" joins stands alike.
        joint = tokens.words[places[k - 1][1] : places[k][0]]
        if stances[k] == Stance.PLAIN and stances[k - 1] in (Stance.DENIED, Stance.PAST) and joint in (["and"], ["&"], ["/"]):
            stances[k] = stances[k - 1]
    return stances


def _stance(tokens: Tokens, start: int, end: int, echo: frozenset[tuple[str, str]]) -> Stance:
    left, right = _around(tokens, start, end, echo)
    if _DENIED.search(left):
        return Stance.DENIED
    if _in_aside(tokens, start):
        return Stance.ASIDE
    past, now = _PAST.search(left), _NOW.search(left)
    if past and now:
        # The nearer cue decides: "previously 4 but now 5", "now 5, previously 4".
        return Stance.PAST if past.start() >= now.start() else Stance.NOW
    if past or (_FROM.search(left) and _FOLLOWED_BY_TO.match(right)):
        return Stance.PAST
    if _NOW_AFTER.match(right):
        return Stance.NOW
    if now:
        return Stance.NOW
    if _PAST_AFTER.match(right):
        return Stance.PAST
    return Stance.WEAK_PAST if _WEAK_PAST_AFTER.match(right) or _WEAK_PAST_BEFORE.search(left) else Stance.PLAIN


def _around(tokens: Tokens, start: int, end: int, echo: frozenset[tuple[str, str]]) -> tuple[str, str]:
    """Return the words before and after inside the sentence, as "a b " and " c d"."""
    words = tokens.words
    i = start
    while i > 0 and start - i < _REACH_TOKENS and words[i - 1] not in SENTENCE_ENDS:
        i -= 1
    j = end
    while j < len(words) and j - end < _REACH_TOKENS and words[j] not in SENTENCE_ENDS:
        j += 1
    left = "".join(
        word + " "
        for k, word in enumerate(words[i:start], start=i)
        if word not in _QUIET and not (word in _ADJECTIVES and (word, tokens.at(k + 1)) in echo)
    )
    right = "".join(" " + word for word in words[end:j] if word not in _QUIET)
    return left, right


def _in_aside(tokens: Tokens, start: int, reach: int = 40) -> bool:
    """Say whether the token stands in parentheses that open a sentence of their own."""
    for i in range(start - 1, max(-1, start - reach), -1):
        if tokens.words[i] == ")":
            return False
        if tokens.words[i] == "(":
            return i > 0 and tokens.words[i - 1] in SENTENCE_ENDS
    return False
