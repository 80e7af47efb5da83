"""Plain text made comparable: one spelling of every character, and a flat list of tokens."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# Letters of other alphabets that look like Latin ones, so that a value cannot be disguised.
_LOOKALIKES = str.maketrans("АВЕКМНОРСТХІЈЅаеорсухіјѕԁɡΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEKMHOPCTXIJSaeopcyxijsdgABEZHIKMNOPTYXo")
_PUNCTUATION = str.maketrans("‘’‛′`“”„«»‐‑‒–—−•·、，；：", "'''''\"\"\"\"\"------**,,;:") | {ord("→"): "->", ord("⇒"): "->"}
_DOTTED = re.compile(r"\b([ap])\.\s?m\b\.?", re.IGNORECASE)
_FRACTIONS = str.maketrans({"½": " 1/2"})
_HALF = re.compile(r"(?<=\d) 1/2\b")
_MATH = re.compile(r"\$(\d[\d,.]*)\$")
_OR_SO = re.compile(r" or so\b", re.IGNORECASE)
_TOKEN = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|[^\W\d_]+(?:'[^\W\d_]+)*|-{1,3}>|={1,3}>|\n|[^\s\w]")

SENTENCE_ENDS = frozenset(".!?;\n")

STOP_WORDS = frozenset(
    """a an the of to in on at for from by with and or but is are was were be been being am do does did have has had i me my mine you your
    yours we our us they them their he his him she her it its this that these those there here as so now currently still just about around
    approximately roughly per each which who whom whose what when where how why if than then also too very all total""".split()
)


def normalise(text: str) -> str:
    """Return `text` with one spelling per character: no invisible characters, accents, typographic quotes or dashes; "a.m." as "am", no "or so"."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.translate(_FRACTIONS).translate(_PUNCTUATION)).translate(_LOOKALIKES)
        text = "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Mn", "Me", "Cs", "Co", "Cn"))
    if "$" in text:
        text = _MATH.sub(r"\1", text)
    if " 1/2" in text:
        text = _HALF.sub(".5", text)
    if " or so" in text:
        text = _OR_SO.sub("", text)
    return _DOTTED.sub(r"\1m", text) if "." in text else text


def stem(word: str) -> str:
    """Return a lower-case word without its possessive or plural ending."""
    word = word.removesuffix("'s").removesuffix("s'")
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The lower-case tokens of a text and where each starts and ends in it. Compared by identity, so that what is read from it can be kept."""

    words: list[str]
    starts: list[int]
    ends: list[int]

    def __len__(self) -> int:
        return len(self.words)

    def at(self, index: int) -> str:
        """Return the token at `index`, or "" outside the text."""
        return self.words[index] if 0 <= index < len(self.words) else ""

    def glued(self, index: int) -> bool:
        """Say whether nothing stands between token `index` and the one before it."""
        return 0 < index < len(self.words) and self.ends[index - 1] == self.starts[index]


def tokenise(text: str) -> Tokens:
    """Return the tokens of normalised `text`: numbers, words, line ends and single signs."""
    found = [(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text.lower())]
    words, starts, ends = zip(*found, strict=True) if found else ((), (), ())
    return Tokens(list(words), list(starts), list(ends))


def content(text: str) -> list[str]:
    """Return the stems of the words and numbers of normalised `text` that carry meaning, in order."""
    return [stem(word) for word in tokenise(text).words if word[0].isalnum() and word not in STOP_WORDS]


def sentences(tokens: Tokens) -> list[tuple[int, int]]:
    """Return the token ranges of the sentences and lines of a text."""
    spans, start = [], 0
    for i, word in enumerate(tokens.words):
        if word in SENTENCE_ENDS:
            if i > start:
                spans.append((start, i))
            start = i + 1
    if start < len(tokens):
        spans.append((start, len(tokens)))
    return spans
