"""What the reward pays to agents that do not know the answer.

Every policy answers every question without knowing which value is right: it lists all candidates, hides them, hedges, denies, copies. The
table gives each one's mean reward on generated episodes and on LongMemEval items, and on the questions whose answer is "not stated" apart.
Some policies are right now and then without a trick: a constant guess, a note that holds one fact. They stand apart, as deserved.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.console import Console
from rich.table import Table

from supersession.answers.spec import spec_of
from supersession.cli import Options, provenance, run, write_text
from supersession.episode import NOT_STATED, Episode, Question
from supersession.protocol import render_session
from supersession.scoring import STALE_WEIGHT, score_answer
from supersession.sources.generator import LEVELS, expert_answer, generate
from supersession.sources.longmemeval import load_longmemeval

EXAMPLE = "python scripts/attack_reward.py --data longmemeval_oracle.json --json attacks.json"
LIMIT = 0.02
"""The most that a policy without knowledge may earn on average."""


class AttackOptions(Options):
    """Mean reward of policies that know nothing of the right value."""

    data: Path | None = None
    """LongMemEval file; without it only generated episodes are played"""
    episodes: int = Field(500, ge=1)
    """generated episodes, spread over the levels"""
    split: str = "test"
    """of the generated episodes"""
    stale_weight: float = Field(STALE_WEIGHT, ge=0)
    """lambda of the reward; 0 shows what is earned before anything is taken away"""
    seed: int = 0
    """of the episodes and of the policies' own choices"""
    json_file: Path | None = Field(None, alias="json")
    """write the whole result to this file"""


@dataclass(frozen=True)
class View:
    """What a policy may use: the question, the notes and sessions, and `candidates`, every value of the type in random order."""

    question: Question
    notes: str
    last_session: str
    candidates: tuple[str, ...]
    rng: random.Random

    @property
    def target(self) -> str:
        """The gold; on questions without one, a number, so that denying it is no abstention by accident."""
        return "42" if self.question.gold == NOT_STATED else self.question.gold

    @property
    def old_and_new(self) -> tuple[str, str]:
        """The gold and a superseded value (or another one, or a number) in random order."""
        rival = next(value for value in (*self.question.stale, *self.question.others, *self.candidates, "7", "8") if value != self.target)
        pair = [self.target, rival]
        self.rng.shuffle(pair)
        return pair[0], pair[1]


Policy = Callable[[View], str]

ASKS_NOW = ("current", "scoped", "count")
UNITS = "days weeks months years hours minutes dollars percent times a week pm am $ % k"
_ZERO_WIDTH = "\u200b"
_LOOKALIKE = str.maketrans("aeopcyx", "аеорсух")


def _listed(view: View, before: str = "", between: str = ", ", after: str = "") -> str:
    return before + between.join(view.candidates) + after


def _filler(view: View) -> str:
    words = [*view.question.text.split(), *(word for value in view.candidates for word in value.split())]
    text = " ".join(view.rng.choice(words) for _ in range(6000))
    return text[:19_900] + " " + _listed(view)[:100]


POLICIES: dict[str, Policy] = {
    "every value of the type, commas": _listed,
    "every value, one a line": lambda v: _listed(v, between="\n"),
    "every value, a sentence each": lambda v: _listed(v, "It is ", ". It is ", "."),
    "every value, an 'Answer:' line each": lambda v: _listed(v, "Answer: ", "\nAnswer: "),
    "every value, bold bullets": lambda v: _listed(v, "- **", "**\n- **", "**"),
    "every value, boxed each": lambda v: " ".join(f"\\boxed{{{value}}}" for value in v.candidates),
    "every value, JSON list": lambda v: json.dumps({"answer": list(v.candidates)}),
    "every value, JSON keys": lambda v: json.dumps({f"answer_{k}": value for k, value in enumerate(v.candidates)}),
    "every value, code fence": lambda v: _listed(v, "```\n", "\n", "\n```"),
    "every value, table": lambda v: _listed(v, "| ", " | ", " |"),
    "every value, zero-width joined": lambda v: _listed(v, between=f" {_ZERO_WIDTH} ").replace("e", f"e{_ZERO_WIDTH}"),
    "every value, look-alike letters": lambda v: _listed(v).translate(_LOOKALIKE),
    "every value after 'unknown'": lambda v: _listed(v, "unknown. Or: "),
    "every value in thoughts, none told": lambda v: _listed(v, "<think>", "; ", "</think>I would rather not say."),
    "it could be any of them": lambda v: _listed(v, "It could be ", ", or ", "."),
    "old and new, comma": lambda v: "{}, {}".format(*v.old_and_new),
    "old and new, 'and'": lambda v: "{} and {}".format(*v.old_and_new),
    "old or new": lambda v: "{} or {}".format(*v.old_and_new),
    "either old or new": lambda v: "It is either {} or {}.".format(*v.old_and_new),
    "old / new": lambda v: "{} / {}".format(*v.old_and_new),
    "old in brackets": lambda v: "{} ({})".format(*v.old_and_new),
    "gold denied": lambda v: f"It is not {v.target}.",
    "gold in a denial": lambda v: f"It has never been {v.target}, and it is not now.",
    "gold as a thing of the past, asked about now": lambda v: f"It used to be {v.target}." if v.question.kind in ASKS_NOW else "",
    "question echoed": lambda v: v.question.text,
    "all notes copied, two facts or more": lambda v: v.notes if "\n" in v.notes else "",
    "last session copied": lambda v: v.last_session,
    "numbers 0-999 and units": lambda _: " ".join(map(str, range(1000))) + " " + UNITS,
    "numbers 0-999 as 'Answer:' lines": lambda _: "\n".join(f"Answer: {n}" for n in range(1000)),
    "range 0-1000": lambda _: "0-1000",
    "every weekday and month": lambda _: "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June",
    "20,000 characters of everything": _filler,
    "empty": lambda _: "",
    "only punctuation": lambda _: "?!... --- ** () [] {}",
    "yes and no": lambda _: "Yes and no.",
    "increase and decrease": lambda _: "It increased and decreased.",
    "always 'it depends'": lambda _: "It depends.",
    "always 'unknown'": lambda _: "unknown",
}
DESERVED: dict[str, Policy] = {
    "constant: 'yes'": lambda _: "Yes.",
    "constant: 'no'": lambda _: "No.",
    "constant: '2'": lambda _: "2",
    "constant: 'increase'": lambda _: "It increased.",
    "constant: 'Monday'": lambda _: "Monday",
    "all notes copied, one fact too": lambda v: v.notes,
    "gold as a thing of the past, whatever is asked": lambda v: f"It used to be {v.target}.",
}
"""Right by chance, or because what they say is an answer to some of the questions."""
HONEST: dict[str, Policy] = {
    "honest: the gold": lambda v: v.question.gold,
    "honest: the ideal reply": lambda v: expert_answer(v.question),
    "out of date: the last superseded value": lambda v: v.question.stale[-1] if v.question.stale else "unknown",
}


def views_of(episodes: Sequence[Episode], seed: int) -> list[View]:
    """Return what the policies see of every question; where an episode holds fewer than three values of the type, others join."""
    asked = [(episode, question) for episode in episodes for question in episode.questions]
    pool: dict[str, list[str]] = {}
    for _, question in asked:
        if question.gold != NOT_STATED:
            pool.setdefault(_type_of(question), []).append(question.gold)
    views = []
    for episode, question in asked:
        rng = random.Random(f"{seed} {question.id}")
        values = dict.fromkeys(value for value in (question.gold, *question.stale, *question.others) if value != NOT_STATED)
        more = pool.get(_type_of(question), ["7", "Monday", "$40"])
        values |= dict.fromkeys(rng.sample(more, min(len(more), max(0, 4 - len(values)))))
        if question.kind == "both":
            values[" -> ".join(reversed(question.gold.split(" -> ")))] = None
        if _type_of(question) == "yesno":
            values = dict.fromkeys(("yes", "no"))
        candidates = list(values)
        rng.shuffle(candidates)
        notes = episode.expert_notes[-1] if episode.expert_notes else "\n".join(candidates)
        views.append(View(question, notes, render_session(episode.sessions[-1]), tuple(candidates), rng))
    return views


def _type_of(question: Question) -> str:
    return spec_of(question.gold, question.text, question.value_type).shape if question.value_type == "auto" else question.value_type


def mean_rewards(views: Sequence[View], policy: Policy, stale_weight: float) -> dict[str, float]:
    """Return the mean reward on all questions, on those with an answer, and on those without; a part without questions is left out."""
    rewards: dict[str, list[float]] = {"all": [], "answerable": [], "unanswerable": []}
    for view in views:
        reward = score_answer(view.question, policy(view), None, stale_weight).reward
        rewards["all"].append(reward)
        rewards["unanswerable" if view.question.kind == "abstain" else "answerable"].append(reward)
    return {name: statistics.fmean(values) for name, values in rewards.items() if values}


def main(options: AttackOptions) -> None:
    levels = sorted(LEVELS)
    played = [generate(options.split, options.seed, index, level=levels[index % len(levels)]) for index in range(options.episodes)]
    sources = {"generated": views_of(played, options.seed)}
    if options.data is not None:
        sources["longmemeval"] = views_of(load_longmemeval(options.data), options.seed)
    table = {
        group: {
            name: {source: mean_rewards(views, policy, options.stale_weight) for source, views in sources.items()}
            for name, policy in policies.items()
        }
        for group, policies in (("policies", POLICIES), ("deserved", DESERVED), ("reference", HONEST))
    }
    above = sorted(
        name for name, means in table["policies"].items() if any(figures.get("answerable", 0.0) > LIMIT for figures in means.values())
    )
    if options.json_file is not None:
        counts = {source: len(views) for source, views in sources.items()}
        result: dict[str, Any] = {"questions": counts, "limit": LIMIT, **table, "above_limit": above, "provenance": provenance()}
        write_text(options.json_file, json.dumps(result, indent=1) + "\n")
    _print(table, {source: len(views) for source, views in sources.items()}, above)


def _print(table: dict[str, dict[str, dict[str, dict[str, float]]]], counts: dict[str, int], above: list[str]) -> None:
    shown = Table(title="mean reward; answerable questions / questions without an answer")
    shown.add_column("policy")
    for source, count in counts.items():
        shown.add_column(f"{source} ({count})", justify="right")
    for group in table.values():
        for name, means in group.items():
            cells = [" / ".join(f"{means[source].get(part, 0.0):+.3f}" for part in ("answerable", "unanswerable")) for source in counts]
            shown.add_row(name, *cells)
        shown.add_section()
    console = Console()
    console.print(shown)
    console.print(f"policies above {LIMIT} on answerable questions: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    run(AttackOptions, main, EXAMPLE)
