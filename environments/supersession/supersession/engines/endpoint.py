"""Any OpenAI-compatible chat endpoint as an engine: one shared connection pool, retries with backoff, a limit on concurrency."""

from __future__ import annotations

import asyncio
import datetime as dt
import email.utils
import ipaddress
import json
import os
import re
from collections.abc import Callable
from types import TracebackType
from typing import Any

import aiohttp
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random_exponential
from yarl import URL

from supersession.engines.generation import ANSWER_TOKENS, Generation, PromptTooLong, Step, token_limit
from supersession.protocol import Message, NotesRollout, Segment

ATTEMPTS = 6
CONCURRENCY = 16
TIMEOUT_S = 120.0
FIRST_WAIT_S = 1.0
"""Upper bound of the first random wait between attempts; it doubles from one to the next."""
LONGEST_WAIT_S = 60.0
"""No wait is longer than this, whatever a `Retry-After` header asks for."""

_RETRIED_STATUS = {408, 409, 425, 429}
_CONTEXT_LENGTH = re.compile(
    r"context.?(?:length|window|size)|maximum (?:context|model|sequence) length|prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)


class EndpointError(RuntimeError):
    """A request that the endpoint did not answer properly, however often it was asked; one sentence."""


class _RetryableError(Exception):
    """An attempt that failed in a way that may pass; `after_s` is the wait that the server asked for."""

    def __init__(self, reason: str, after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.after_s = after_s


class EndpointEngine:
    """Plays rollouts against `base_url` (such as `https://api.openai.com/v1`); use it as `async with EndpointEngine(...) as engine`.

    At most `concurrency` requests are under way at a time, however many rollouts are. Rate limits, server errors, timeouts, broken
    connections and unusable replies are tried again, up to `attempts` times in all, after a random, exponentially growing wait that is
    never shorter than the server's `Retry-After`. `api_key` defaults to `$OPENAI_API_KEY`. Proxy variables are heeded unless the host is
    a loopback one. Raises `ValueError` for a base URL that is none, or a number out of range.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        concurrency: int = CONCURRENCY,
        timeout_s: float = TIMEOUT_S,
        attempts: int = ATTEMPTS,
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        url = URL(base_url)
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError(f"endpoint {base_url!r} is not a URL such as http://localhost:8000/v1")
        for name, value in (("concurrency", concurrency), ("attempts", attempts), ("timeout_s", timeout_s)):
            if value <= 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        self.model = model
        self.concurrency = concurrency
        self.attempts = attempts
        self.timeout_s = timeout_s
        self._first_wait_s = first_wait_s
        self._url = URL(base_url.rstrip("/") + "/chat/completions")
        self._key = os.environ.get("OPENAI_API_KEY") if api_key is None else api_key
        self._slots = asyncio.Semaphore(concurrency)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> EndpointEngine:
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=aiohttp.ClientTimeout(total=self.timeout_s),
            connector=aiohttp.TCPConnector(limit=self.concurrency),
            trust_env=not _is_loopback(self._url.host or ""),
        )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def play(
        self,
        rollout: NotesRollout,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        answer_tokens: int = ANSWER_TOKENS,
        progress: Callable[[int], object] | None = None,
    ) -> list[Step]:
        """Play a fresh rollout to its end and return its steps; `progress` is called with 1 after each segment.

        Raises `EndpointError` when the attempts are used up, and `PromptTooLong` when the endpoint says that a prompt exceeds its context.
        """
        steps = []
        while not rollout.done:
            segment = rollout.prompt()
            limit = token_limit(segment, rollout.budget, answer_tokens)
            try:
                generation = await self.complete(segment.messages, limit, temperature, seed)
            except PromptTooLong as error:
                raise PromptTooLong(f"{_place(rollout, segment)}: {error}") from error
            rollout.step(generation.text)
            steps.append(Step(segment, generation))
            if progress is not None:
                progress(1)
        return steps

    async def complete(self, messages: list[Message], max_tokens: int, temperature: float = 0.0, seed: int = 0) -> Generation:
        """Return the reply to one prompt; token counts are the endpoint's own, 0 where it does not report them. Raises as `play` does."""
        body = {"model": self.model, "messages": messages, "max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_RetryableError), stop=stop_after_attempt(self.attempts), wait=self._wait, reraise=True
        )
        try:
            return await retrying(self._once, body)
        except _RetryableError as error:
            times = "once" if self.attempts == 1 else f"{self.attempts} times"
            raise EndpointError(f"endpoint {self._url} was asked {times} and failed: {error}") from error

    async def _once(self, body: dict[str, Any]) -> Generation:
        if self._session is None:
            raise RuntimeError("an EndpointEngine sends requests only inside `async with`")
        try:
            async with self._slots, self._session.post(self._url, json=body) as response:
                text = await response.text(errors="replace")
        except TimeoutError as error:
            raise _RetryableError(f"no answer within {self.timeout_s:g} s") from error
        except aiohttp.ClientError as error:
            raise _RetryableError(str(error) or type(error).__name__) from error
        if response.status == 200:
            return _read(text)
        reason = f"HTTP {response.status} ({_shorten(_error_message(text) or response.reason or 'no reason given')})"
        if response.status in _RETRIED_STATUS or response.status >= 500:
            raise _RetryableError(reason, _retry_after(response.headers.get("Retry-After")))
        if response.status in (400, 413, 422) and _CONTEXT_LENGTH.search(text):
            raise PromptTooLong(
                f"the prompt exceeds the context of {self.model!r}: {reason}; use a model with a longer context, or shorter sessions"
            )
        raise EndpointError(f"endpoint {self._url} refused the request for model {self.model!r}: {reason}")

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.after_s if isinstance(error, _RetryableError) else 0.0
        backoff = wait_random_exponential(multiplier=self._first_wait_s, max=LONGEST_WAIT_S)(state)
        return min(max(asked, backoff), LONGEST_WAIT_S)


def _read(text: str) -> Generation:
    """Return what a chat completion says; raise `_RetryableError` where it is not one."""
    try:
        data = json.loads(text)
        choice = data["choices"][0]
        content = choice["message"]["content"]
        usage = data.get("usage") or {}
        counts = [int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")]
    except json.JSONDecodeError as error:
        raise _RetryableError(f"its reply is not JSON ({_shorten(text)!r})") from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise _RetryableError(f"its reply is no chat completion ({_shorten(text)!r})") from error
    if not isinstance(content, str):
        raise _RetryableError(f"its reply has no text ({_shorten(text)!r})")
    return Generation(content, counts[0], counts[1], choice.get("finish_reason") == "length")


def _error_message(text: str) -> str:
    """Return the message of an error reply, which servers wrap in different ways; the text itself where it is not JSON."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return text
    error = data.get("error", data) if isinstance(data, dict) else data
    return str(error.get("message") or error.get("detail") or error) if isinstance(error, dict) else str(error)


def _retry_after(header: str | None) -> float:
    """Return the seconds that a `Retry-After` header asks for (RFC 9110 allows a number or a date); 0 where it is absent or unreadable."""
    if not header:
        return 0.0
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        when = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    return max(0.0, (when - dt.datetime.now(when.tzinfo or dt.UTC)).total_seconds()) if when.tzinfo else 0.0


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _shorten(text: str, length: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _place(rollout: NotesRollout, segment: Segment) -> str:
    part = f"session {segment.index + 1}" if segment.kind == "write" else f"question {rollout.episode.questions[segment.index].id!r}"
    return f"episode {rollout.episode.id!r}, {part}"
