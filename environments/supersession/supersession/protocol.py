"""The bounded-memory protocol as a pure state machine.

The agent reads the sessions one at a time. Each write turn shows its current notes and one session, and the reply replaces the
notes, cut at `budget` characters. Each answer turn shows the notes and one question. Raw sessions are never shown twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypedDict, get_args

from supersession.episode import Episode, EpisodeError, Question, Session, format_date

Condition = Literal["bounded", "full", "none", "expert", "append", "last"]
"""What is in view at the question. `bounded`: the notes that the agent wrote; `full`: the whole history; `none`: nothing (the floor);
`expert`: the episode's expert notes, whole (the reader's ceiling); `append`: the last `budget` characters of all transcripts, as notes
(the memory that appends everything); `last`: the last session. Only `bounded` has write turns."""

CONDITIONS: tuple[Condition, ...] = get_args(Condition)

WRITE_SYSTEM = (
    "You keep notes about the user from one chat session to the next. You see each session once; later questions are answered "
    "from your notes alone. Reply with the complete new notes, at most {budget} characters: each fact as it is now and, where it "
    "changed, what it was before."
)
ANSWER_SYSTEM = "Answer the user's question from {source}. Reply with the answer only. If {source} do not say, reply: unknown."


class Message(TypedDict):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Segment:
    """One prompt that awaits a completion: `kind` is "write" (with its session's index) or "answer" (with its question's)."""

    kind: Literal["write", "answer"]
    index: int
    messages: list[Message]


@dataclass
class NotesRollout:
    """One agent living through one episode: call `prompt()`, pass the model's reply to `step()`, until `done`.

    `notes_history` holds the notes after each session, `answers` one reply per question, `overflow` the characters that were cut
    from each reply. Under `expert` and `append` the notes are there from the start, under `append` with what was cut from them. Pure and
    synchronous: no I/O, no randomness. Raises `ValueError` for a budget below 1 or an unknown condition, and `EpisodeError` under `expert`
    for an episode without expert notes.
    """

    episode: Episode
    budget: int = 300
    condition: Condition = "bounded"
    notes_history: list[str] = field(default_factory=list)
    overflow: list[int] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise ValueError(f"budget must be at least 1 character, got {self.budget}")
        if self.condition not in CONDITIONS:
            raise ValueError(f"condition {self.condition!r} is unknown; choose one of {', '.join(CONDITIONS)}")
        if self.condition == "expert":
            if not self.episode.expert_notes:
                raise EpisodeError(
                    f"episode {self.episode.id!r} has no expert notes to show; choose another condition, or generated episodes"
                )
            self.notes_history = list(self.episode.expert_notes)
            self.overflow = [0] * len(self.notes_history)
        elif self.condition == "append":
            for session in self.episode.sessions:
                text = "\n\n".join([*self.notes_history[-1:], render_session(session)])
                self.overflow.append(max(0, len(text) - self.budget))
                self.notes_history.append(text[-self.budget :])

    @property
    def notes(self) -> str:
        return self.notes_history[-1] if self.notes_history else ""

    @property
    def done(self) -> bool:
        return len(self.answers) == len(self.episode.questions)

    @property
    def segments(self) -> int:
        """How many prompts this rollout takes from start to end."""
        return self._writes + len(self.episode.questions)

    @property
    def _writes(self) -> int:
        return len(self.episode.sessions) if self.condition == "bounded" else 0

    def prompt(self) -> Segment:
        """Return the segment that is due. Raises `RuntimeError` when the rollout is done."""
        if self._writing():
            index = len(self.notes_history)
            return Segment("write", index, write_prompt(self.notes, self.episode.sessions[index], self.budget))
        index = len(self.answers)
        return Segment("answer", index, self._answer_prompt(self.episode.questions[index]))

    def step(self, completion: str) -> None:
        """Take the model's reply to the segment that is due. Raises `RuntimeError` when the rollout is done."""
        if self._writing():
            reply = completion.strip()
            self.overflow.append(max(0, len(reply) - self.budget))
            self.notes_history.append(reply[: self.budget].rstrip())
        else:
            self.answers.append(completion.strip())

    def _writing(self) -> bool:
        """Whether a write turn is due rather than an answer. Raises `RuntimeError` when the rollout is done."""
        if self.done:
            raise RuntimeError(f"the rollout of episode {self.episode.id!r} is done; read its answers")
        return len(self.notes_history) < self._writes

    def _answer_prompt(self, question: Question) -> list[Message]:
        asked = f"Date: {format_date(question.date)}\nQuestion: {question.text}"
        if self.condition == "none":
            return _messages(ANSWER_SYSTEM.format(source="what you know"), asked)
        if self.condition in ("full", "last"):
            shown = self.episode.sessions if self.condition == "full" else self.episode.sessions[-1:]
            history = "\n\n".join(render_session(session) for session in shown)
            return _messages(ANSWER_SYSTEM.format(source="the chat sessions"), f"{history}\n\n{asked}")
        return _messages(ANSWER_SYSTEM.format(source="your notes"), f"Notes:\n{self.notes or '(empty)'}\n\n{asked}")


def write_prompt(notes: str, session: Session, budget: int) -> list[Message]:
    """Return the messages that ask for new notes after `session`."""
    return _messages(WRITE_SYSTEM.format(budget=budget), f"Notes:\n{notes or '(empty)'}\n\n{render_session(session)}")


def render_session(session: Session) -> str:
    """Return a session as text: a line with its date, then one line per turn."""
    turns = "\n".join(f"{turn.role}: {turn.content}" for turn in session.turns)
    return f"Session of {format_date(session.date)}:\n{turns}"


def _messages(system: str, user: str) -> list[Message]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
