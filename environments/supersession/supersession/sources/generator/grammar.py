"""Templates that can be said about the user or about somebody else.

`{I} {my} {me} {mine} {he} {his} {him} {himself}` stand for the subject, `[work/works]` for a verb that agrees with it. The
remaining `{slots}` are filled when a sentence is rendered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Voice = Literal["I", "you", "he", "she"]

_WORDS: dict[Voice, dict[str, str]] = {
    "I": {"I": "I", "my": "my", "me": "me", "mine": "mine", "he": "I", "his": "my", "him": "me", "himself": "myself"},
    "you": {"I": "you", "my": "your", "me": "you", "mine": "yours", "he": "you", "his": "your", "him": "you", "himself": "yourself"},
    "he": {"I": "{name}", "my": "{name}'s", "me": "{name}", "mine": "his", "he": "he", "his": "his", "him": "him", "himself": "himself"},
    "she": {"I": "{name}", "my": "{name}'s", "me": "{name}", "mine": "hers", "he": "she", "his": "her", "him": "her", "himself": "herself"},
}
_SUBJECT = re.compile(r"\{(I|my|me|mine|he|his|him|himself)\}")
_NAMED = re.compile(r"\{(I|my|me)\}")
_AGREES = re.compile(r"\[([^/\]]*)/([^\]]*)\]")


@dataclass(frozen=True)
class Template:
    """One phrasing. `voices` holds a format string per voice; `third` is False where nothing in it names another person."""

    voices: dict[Voice, str]
    third: bool
    uses_old: bool

    def render(self, voice: Voice, **slots: str) -> str:
        return self.voices[voice].format(**slots)


def compile_template(text: str) -> Template:
    """Compile a template; a verb pair gives its first form to "I" and "you" and its second to names, `[am/is]` gives "are" to "you"."""
    voices: dict[Voice, str] = {}
    for voice, words in _WORDS.items():
        said = _SUBJECT.sub(lambda found, words=words: words[found[1]], text)  # type: ignore[misc]
        voices[voice] = _AGREES.sub(lambda found, voice=voice: _verb(voice, found[1], found[2]), said)  # type: ignore[misc]
    return Template(voices, third=bool(_NAMED.search(text)), uses_old="{old}" in text)


_ARTICLE = re.compile(r"\b(a) (?=[aeio])(?!one\b)", re.IGNORECASE)


def article(text: str) -> str:
    """Return `text` with "an" where "a" stands before a vowel."""
    return _ARTICLE.sub(r"\1n ", text) if "a " in text else text


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _verb(voice: Voice, first: str, third: str) -> str:
    if voice in ("he", "she"):
        return third
    return "are" if voice == "you" and first == "am" else first
