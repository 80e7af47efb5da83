"""What each condition shows at the question; the bounded prompts, word for word."""

from __future__ import annotations

import pytest

from supersession.episode import Episode, EpisodeError, Turn
from supersession.protocol import CONDITIONS, Condition, NotesRollout, render_session
from supersession.scoring import score
from tests.conftest import make_episode

EPISODE = make_episode(sessions=3)
HISTORY = "\n\n".join(render_session(session) for session in EPISODE.sessions)
ASKED = "Date: 2025/03/24 (Mon) 18:30\nQuestion: Which gym do I go to?"


def user_message(condition: Condition, budget: int = 300, episode: Episode = EPISODE) -> str:
    return NotesRollout(episode, budget, condition).prompt().messages[1]["content"]


def answered(condition: Condition, budget: int = 300, answer: str = "Fit Barn") -> NotesRollout:
    rollout = NotesRollout(EPISODE, budget, condition)
    rollout.step(answer)
    return rollout


def test_the_bounded_prompts_are_these_to_the_letter() -> None:
    rollout = NotesRollout(EPISODE, 60)
    assert rollout.prompt().messages == [
        {
            "role": "system",
            "content": "You keep notes about the user from one chat session to the next. You see each session once; later questions are "
            "answered from your notes alone. Reply with the complete new notes, at most 60 characters: each fact as it is now and, where "
            "it changed, what it was before.",
        },
        {"role": "user", "content": "Notes:\n(empty)\n\nSession of 2025/03/03 (Mon) 18:30:\nuser: My gym is Iron Temple."},
    ]
    for notes in ("gym: Iron Temple", "gym: Fit Barn", "gym: Fit Barn"):
        rollout.step(notes)
    assert rollout.prompt().messages == [
        {
            "role": "system",
            "content": "Answer the user's question from your notes. Reply with the answer only. If your notes do not say, reply: unknown.",
        },
        {"role": "user", "content": f"Notes:\ngym: Fit Barn\n\n{ASKED}"},
    ]
    assert rollout.segments == 4


@pytest.mark.parametrize("condition", [condition for condition in CONDITIONS if condition != "bounded"])
def test_the_others_have_no_write_turn(condition: Condition) -> None:
    rollout = NotesRollout(EPISODE, 60, condition)
    assert (rollout.segments, rollout.prompt().kind, rollout.done) == (1, "answer", False)
    rollout.step("Fit Barn")
    assert (rollout.done, score(rollout).reward) == (True, 1.0)


def test_expert_asks_as_if_the_agent_had_written_the_expert_notes() -> None:
    agent = NotesRollout(EPISODE)
    for notes in EPISODE.expert_notes:
        agent.step(notes)
    expert = NotesRollout(EPISODE, condition="expert")
    assert (expert.prompt(), expert.notes_history, expert.overflow) == (agent.prompt(), agent.notes_history, agent.overflow)


def test_expert_notes_are_shown_whole_whatever_the_budget() -> None:
    assert user_message("expert", budget=5) == user_message("expert")


def test_expert_refuses_an_episode_without_expert_notes() -> None:
    with pytest.raises(EpisodeError, match="episode 'gym' has no expert notes to show; choose another condition"):
        NotesRollout(make_episode().model_copy(update={"expert_notes": ()}), condition="expert")


@pytest.mark.parametrize("budget", [1, 40, 100, len(HISTORY) - 1, len(HISTORY), 5000])
def test_append_shows_the_end_of_the_history_as_notes(budget: int) -> None:
    assert user_message("append", budget) == f"Notes:\n{HISTORY[-budget:]}\n\n{ASKED}"
    rollout = NotesRollout(EPISODE, budget, "append")
    assert (len(rollout.notes_history), len(rollout.overflow)) == (3, 3)
    assert sum(rollout.overflow) == max(0, len(HISTORY) - budget)


def test_last_shows_what_full_shows_of_the_last_session_alone() -> None:
    alone = EPISODE.model_copy(update={"sessions": EPISODE.sessions[-1:], "timeline": (), "expert_notes": ()})
    last, full = NotesRollout(EPISODE, condition="last"), NotesRollout(alone, condition="full")
    assert last.prompt() == full.prompt()
    assert "It rained all day." in user_message("last")
    assert "gym is" not in user_message("last")


def test_what_the_notes_hold_is_measured_where_there_are_notes() -> None:
    found = {condition: score(answered(condition)).metrics() for condition in ("expert", "append", "full", "last", "none")}
    assert [(found[name]["T"], found[name]["C"]) for name in ("expert", "append")] == [(1.0, 1.0), (1.0, 1.0)]
    assert all("T" not in found[name] and "C" not in found[name] for name in ("full", "last", "none"))
    cut = score(answered("append", budget=60)).metrics()
    assert (cut["T"], cut["C"], cut["notes_length"], cut["overflow"]) == (0.0, 0.0, 60, len(HISTORY) - 60)


def test_a_long_session_pushes_the_earlier_ones_out() -> None:
    rain = EPISODE.sessions[2].model_copy(update={"turns": (Turn(role="user", content="rain " * 100),)})
    episode = EPISODE.model_copy(update={"sessions": (*EPISODE.sessions[:2], rain)})
    assert "Fit Barn" not in user_message("append", 300, episode)
    assert "Fit Barn" in user_message("append", 1000, episode)
