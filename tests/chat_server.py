"""A real OpenAI-compatible server on a loopback port, scripted by the test, in a thread so that other processes can call it too."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True)
class Fault:
    """An HTTP reply that is no proper completion."""

    status: int = 200
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


Script = Callable[[dict[str, Any], int], str | Fault]
"""From a request's body, and how many requests came before it, to the reply's text or a fault."""


@dataclass
class ChatServer:
    url: str
    requests: list[dict[str, Any]]
    headers: list[dict[str, str]]
    busy: int = 0
    peak: int = 0
    """The most requests that were under way at a time."""


@contextmanager
def serve(script: Script, delay_s: float = 0.0) -> Iterator[ChatServer]:
    """Serve until the block ends, each reply after `delay_s`."""
    server = ChatServer("", [], [])

    async def chat(request: web.Request) -> web.Response:
        body = await request.json()
        number = len(server.requests)
        server.requests.append(body)
        server.headers.append(dict(request.headers))
        server.busy += 1
        server.peak = max(server.peak, server.busy)
        await asyncio.sleep(delay_s)
        server.busy -= 1
        reply = script(body, number)
        if isinstance(reply, Fault):
            await asyncio.sleep(reply.delay_s)
            return web.Response(status=reply.status, text=reply.text, headers=reply.headers)
        message = {"role": "assistant", "content": reply}
        usage = {"prompt_tokens": sum(len(m["content"]) for m in body["messages"]), "completion_tokens": max(1, len(reply))}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        head = {"id": f"chat-{number}", "object": "chat.completion", "created": 0, "model": body["model"]}
        return web.json_response({**head, "choices": choices, "usage": usage | {"total_tokens": sum(usage.values())}})

    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def live() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(live(),), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)


def gym_agent(body: dict[str, Any], number: int = 0) -> str:
    """The agent that does right by `make_episode`: it notes the newest gym, and answers with it."""
    system, user = (message["content"] for message in body["messages"])
    said = re.findall(r"gym (?:is|to) ([A-Z]\w+ [A-Z]\w+)", user)
    noted = re.findall(r"^gym: (.+)$", user, re.MULTILINE)
    if system.startswith("You keep notes"):
        return f"gym: {said[-1]}" if said else "\n".join(f"gym: {value}" for value in noted)
    return said[-1] if said else noted[-1] if noted else "unknown"
