"""Episodes to rows through both engines: the same figures, and failures that stay where they happen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.rows import Row
from eval.runner import Settings, _chunks, evaluate
from supersession.answers import Verdict
from supersession.engines.endpoint import EndpointEngine
from supersession.engines.generation import Generation, token_limit
from supersession.engines.local import LocalEngine
from supersession.episode import Episode, Turn
from supersession.protocol import CONDITIONS, Segment, write_prompt
from tests.chat_server import Fault, gym_agent, serve
from tests.conftest import make_episode

EPISODES = [make_episode(f"gym{i}", sessions=2 + i % 3) for i in range(7)]


@pytest.fixture(scope="module")
def engine(tiny_model_dir: Path) -> LocalEngine:
    return LocalEngine.load(str(tiny_model_dir))


def remote(url: str, **options: Any) -> EndpointEngine:
    return EndpointEngine(url, "scripted", **({"first_wait_s": 0.01, "attempts": 2, "concurrency": 3} | options))


def with_session(episode: Episode, index: int, text: str) -> Episode:
    sessions = list(episode.sessions)
    sessions[index] = sessions[index].model_copy(update={"turns": (Turn(role="user", content=text),)})
    return episode.model_copy(update={"sessions": tuple(sessions), "timeline": ()})


def timeless(rows: list[Row]) -> list[Row]:
    return [row.model_copy(update={"seconds": 0.0}) for row in rows]


def test_an_endpoint_run_is_scored() -> None:
    with serve(gym_agent) as server:
        rows = evaluate(remote(server.url), EPISODES, progress=False)
    assert [row.episode_id for row in rows] == [episode.id for episode in EPISODES]
    assert {(row.verdict, row.correct, row.T, row.C) for row in rows} == {(Verdict.CURRENT, True, True, False)}
    assert {(row.reward, row.error) for row in rows} == {(1.0, None)}
    row = rows[1]
    assert row.notes == ("gym: Iron Temple", "gym: Fit Barn", "gym: Fit Barn")
    assert row.overflow == (0, 0, 0)
    assert [(size.kind, size.index) for size in row.segments] == [("write", 0), ("write", 1), ("write", 2), ("answer", 0)]
    assert all(size.prompt_tokens == size.prompt_chars for size in row.segments)


@pytest.mark.parametrize(("condition", "segments", "correct"), [("full", 1, True), ("none", 1, False)])
def test_the_other_conditions_ask_once(condition: Any, segments: int, correct: bool) -> None:
    with serve(gym_agent) as server:
        (row,) = evaluate(remote(server.url), EPISODES[:1], condition=condition, progress=False)
    assert (len(row.segments), row.correct, row.T, row.notes) == (segments, correct, None, ())


@pytest.mark.parametrize(("condition", "held", "notes"), [("expert", True, 3), ("append", True, 3), ("last", None, 0)])
def test_notes_that_nobody_wrote_are_kept_and_measured(condition: Any, held: bool | None, notes: int) -> None:
    with serve(gym_agent) as server:
        (row,) = evaluate(remote(server.url), EPISODES[1:2], condition=condition, progress=False)
    assert (len(row.segments), row.correct, row.T, row.C, len(row.notes)) == (1, bool(held), held, held, notes)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_condition_runs_locally_in_chunks(engine: LocalEngine, condition: Any) -> None:
    small = LocalEngine(engine.model, engine.tokenizer, 600)
    rows = evaluate(small, EPISODES[:3], condition=condition, budget=40, answer_tokens=2, progress=False)
    assert [(row.condition, row.error) for row in rows] == [(condition, None)] * 3


def test_several_questions_share_their_writes() -> None:
    question = EPISODES[0].questions[0]
    before = {"id": "second", "text": "And before?", "kind": "previous", "gold": "Iron Temple", "stale": ("Fit Barn",)}
    second = question.model_copy(update=before)
    with serve(gym_agent) as server:
        rows = evaluate(remote(server.url), [EPISODES[0].model_copy(update={"questions": (question, second)})], progress=False)
    assert [(row.question_id, row.verdict) for row in rows] == [(question.id, Verdict.CURRENT), ("second", Verdict.STALE)]
    assert [[(size.kind, size.index) for size in row.segments] for row in rows] == [
        [("write", 0), ("write", 1), ("answer", 0)],
        [("write", 0), ("write", 1), ("answer", 1)],
    ]


def test_what_failed_is_a_row_and_is_asked_again(tmp_path: Path) -> None:
    broken = with_session(make_episode("broken"), 0, "My gym is Cursed Cave.")

    def script(body: dict[str, Any], number: int) -> str | Fault:
        return Fault(500, "out of order") if "Cursed Cave" in body["messages"][1]["content"] else gym_agent(body)

    with serve(script) as server:
        rows = evaluate(remote(server.url), [broken, *EPISODES], out=tmp_path, progress=False)
    assert [row.episode_id for row in rows if row.error] == ["broken"]
    assert "was asked 2 times and failed: HTTP 500 (out of order)" in str(rows[0].error)
    assert rows[0].verdict is None
    with serve(gym_agent) as server:
        again = evaluate(remote(server.url), [broken, *EPISODES], out=tmp_path, progress=False)
        assert len(server.requests) == 3
    assert [row.error for row in again] == [None] * 8
    assert timeless(again[1:]) == timeless(rows[1:])


def test_a_prompt_beyond_the_endpoints_context_is_a_row() -> None:
    with serve(lambda body, number: Fault(400, "maximum context length is 100 tokens")) as server:
        (row,) = evaluate(remote(server.url), EPISODES[:1], progress=False)
    assert "episode 'gym0', session 1: the prompt exceeds the context" in str(row.error)


def test_both_engines_give_the_same_rows(engine: LocalEngine) -> None:
    replies: dict[str, str] = {}

    class Recorded(LocalEngine):
        def play(self, rollouts: Any, **options: Any) -> Any:
            steps = super().play(rollouts, **options)
            replies.update({str(step.segment.messages): step.generation.text for life in steps for step in life})
            return steps

    local = evaluate(Recorded(engine.model, engine.tokenizer), EPISODES, budget=12, answer_tokens=8, progress=False)
    with serve(lambda body, number: replies[str(body["messages"])]) as server:
        distant = evaluate(remote(server.url), EPISODES, budget=12, answer_tokens=8, progress=False)

    def sizeless(rows: list[Row]) -> list[Row]:
        return [row.model_copy(update={"segments": ()}) for row in timeless(rows)]

    assert sizeless(local) == sizeless(distant)
    assert all(row.notes and row.error is None for row in local)


def test_a_session_beyond_the_local_context_fails_alone(engine: LocalEngine) -> None:
    long = with_session(make_episode("long"), 0, "x" * 5000)
    rows = evaluate(engine, [long, *EPISODES[:2]], budget=12, answer_tokens=4, progress=False)
    assert [row.error is None for row in rows] == [False, True, True]
    assert "episode 'long', session 1: the prompt has 5" in str(rows[0].error)


def test_notes_that_make_a_prompt_too_long_fail_alone(engine: LocalEngine) -> None:
    class Wordy(LocalEngine):
        def generate(self, prompts: Any, limits: Any, temperature: float = 0.0) -> list[Generation]:
            return [Generation("n" * 80, len(prompt), limit, True) for prompt, limit in zip(prompts, limits, strict=True)]

    tight = make_episode("tight")
    prompt = write_prompt("", tight.sessions[1], 90)
    room = engine.context - len(engine.encode(prompt)) - token_limit(Segment("write", 1, prompt), 90)
    tight = with_session(tight, 1, tight.sessions[1].turns[0].content + "y" * room)
    rows = evaluate(Wordy(engine.model, engine.tokenizer), [tight, *EPISODES[:2]], budget=90, answer_tokens=4, progress=False)
    assert [row.error is None for row in rows] == [False, True, True]
    assert "episode 'tight', session 2" in str(rows[0].error)


def test_an_interrupt_loses_only_the_chunk_under_way(engine: LocalEngine, tmp_path: Path) -> None:
    class Interrupted(LocalEngine):
        calls = 0

        def play(self, rollouts: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt
            return super().play(rollouts, **options)

    small = 600
    with pytest.raises(KeyboardInterrupt):
        evaluate(Interrupted(engine.model, engine.tokenizer, small), EPISODES, budget=12, answer_tokens=4, out=tmp_path, progress=False)
    kept = len((tmp_path / "rows.jsonl").read_text().splitlines())
    assert 0 < kept < len(EPISODES)
    rows = evaluate(LocalEngine(engine.model, engine.tokenizer, small), EPISODES, budget=12, answer_tokens=4, out=tmp_path, progress=False)
    undisturbed = evaluate(engine, EPISODES, budget=12, answer_tokens=4, progress=False)
    assert timeless(rows) == timeless(undisturbed)


def test_chunks_hold_every_episode_once_the_longest_first() -> None:
    episodes = [with_session(make_episode(str(n)), 0, "x" * n) for n in (40, 9000, 300, 4000, 60)]
    chunks = list(_chunks(episodes, Settings(), batch_tokens=3000))
    assert [[episode.id for episode in chunk] for chunk in chunks] == [["9000"], ["4000", "300"], ["60", "40"]]


def test_ids_must_differ(engine: LocalEngine) -> None:
    with pytest.raises(ValueError, match="two episodes have the id 'gym'"):
        evaluate(engine, [make_episode(), make_episode()])


def test_a_folder_of_other_settings_is_refused(engine: LocalEngine, tmp_path: Path) -> None:
    run: Callable[..., list[Row]] = lambda budget: evaluate(engine, [], budget=budget, out=tmp_path)  # noqa: E731
    run(40)
    with pytest.raises(ValueError, match="holds results with budget 40, this run has 50"):
        run(50)
