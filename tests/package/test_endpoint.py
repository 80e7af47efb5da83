"""The endpoint engine against a real server that misbehaves."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

import pytest

from supersession.engines.endpoint import EndpointEngine, EndpointError, _retry_after
from supersession.engines.generation import PromptTooLong, Step
from supersession.protocol import NotesRollout
from tests.chat_server import Fault, Script, gym_agent, serve
from tests.conftest import make_episode

GARBAGE = [
    Fault(text='{"choices": [{"mess'),
    Fault(text="<html>busy</html>"),
    Fault(text='{"choices": []}'),
    Fault(text='{"choices": [{"message": {"content": null}}]}'),
    Fault(text="[]"),
]


def play(url: str, rollout: NotesRollout | None = None, **options: Any) -> list[Step]:
    async def live() -> list[Step]:
        options.setdefault("first_wait_s", 0.01)
        async with EndpointEngine(url, "scripted", **options) as engine:
            return await engine.play(rollout or NotesRollout(make_episode()))

    return asyncio.run(live())


def fault_first(*faults: Fault) -> Script:
    """Return a script whose first replies are these faults."""
    return lambda body, number: faults[number] if number < len(faults) else gym_agent(body)


def test_a_rollout_is_lived_to_its_end() -> None:
    rollout = NotesRollout(make_episode())
    with serve(gym_agent) as server:
        steps = play(server.url, rollout)
    assert rollout.notes_history == ["gym: Iron Temple", "gym: Fit Barn"]
    assert rollout.answers == ["Fit Barn"]
    assert [step.segment.kind for step in steps] == ["write", "write", "answer"]
    assert all(step.generation.prompt_tokens > 0 for step in steps)
    assert [body["max_tokens"] for body in server.requests] == [116, 116, 64]
    assert {body["temperature"] for body in server.requests} == {0.0}


def test_the_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    with serve(gym_agent) as server:
        play(server.url)
        play(server.url, api_key="given")
    assert server.headers[0]["Authorization"] == "Bearer from-the-environment"
    assert server.headers[-1]["Authorization"] == "Bearer given"


def test_a_proxy_is_not_asked_for_a_loopback_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serve(gym_agent) as server:
        assert len(play(server.url)) == 3


@pytest.mark.parametrize("fault", [*GARBAGE, Fault(500), Fault(503, "down"), Fault(429, "slow down"), Fault(408)])
def test_a_fault_that_passes_is_overcome(fault: Fault) -> None:
    with serve(fault_first(fault, fault)) as server:
        rollout = NotesRollout(make_episode())
        play(server.url, rollout)
    assert rollout.answers == ["Fit Barn"]
    assert len(server.requests) == 5


@pytest.mark.parametrize("fault", [*GARBAGE, Fault(500, '{"error": {"message": "out of order"}}')])
def test_a_fault_that_stays_is_one_sentence(fault: Fault) -> None:
    with serve(lambda body, number: fault) as server, pytest.raises(EndpointError, match="was asked 3 times and failed: ") as caught:
        play(server.url, attempts=3)
    assert len(server.requests) == 3
    assert "\n" not in str(caught.value)


def test_retry_after_is_honoured() -> None:
    with serve(fault_first(Fault(429, "slow down", {"Retry-After": "0.5"}))) as server:
        started = time.perf_counter()
        play(server.url)
    assert time.perf_counter() - started >= 0.5


def test_retry_after_may_be_a_date() -> None:
    assert _retry_after("Fri, 31 Dec 1999 23:59:59 GMT") == 0.0
    assert _retry_after("Fri, 31 Dec 2999 23:59:59 GMT") > 1e9
    assert _retry_after("soon") == 0.0
    assert _retry_after(None) == 0.0


def test_a_timeout_is_retried_and_then_reported() -> None:
    slow = Fault(text="{}", delay_s=0.6)
    with serve(fault_first(slow)) as server:
        assert len(play(server.url, timeout_s=0.2)) == 3
    with serve(lambda body, number: slow) as server, pytest.raises(EndpointError, match=r"no answer within 0\.2 s"):
        play(server.url, timeout_s=0.2, attempts=2)


def test_a_refused_connection_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(EndpointError, match="was asked 2 times"):
        play(url, attempts=2)


@pytest.mark.parametrize("status", [400, 413])
def test_a_prompt_beyond_the_context_is_named(status: int) -> None:
    message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    fault = Fault(status, json.dumps({"error": {"message": message, "code": "context_length_exceeded"}}))
    with serve(fault_first(fault)) as server, pytest.raises(PromptTooLong, match=r"episode 'gym', session 1: .*9000 tokens"):
        play(server.url)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "text"), [(400, "bad field"), (401, '{"error": {"message": "wrong key"}}'), (404, '{"detail": "no such model"}')]
)
def test_a_refusal_is_not_retried(status: int, text: str) -> None:
    with serve(lambda body, number: Fault(status, text)) as server, pytest.raises(EndpointError, match=f"HTTP {status} "):
        play(server.url)
    assert len(server.requests) == 1


def test_no_more_requests_than_slots_are_under_way() -> None:
    async def live(url: str) -> None:
        async with EndpointEngine(url, "scripted", concurrency=3) as engine:
            await asyncio.gather(*(engine.play(NotesRollout(make_episode(f"gym{i}"))) for i in range(12)))

    with serve(gym_agent, delay_s=0.01) as server:
        asyncio.run(live(server.url))
    assert len(server.requests) == 36
    assert server.peak == 3


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://host/v1", "", "http:///v1"])
def test_a_bad_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not a URL such as"):
        EndpointEngine(url, "scripted")


@pytest.mark.parametrize("option", ["concurrency", "attempts", "timeout_s"])
def test_a_zero_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be above 0, got 0"):
        EndpointEngine("http://localhost/v1", "scripted", **{option: 0})  # type: ignore[arg-type]
