"""How the pages ask the interface in their own process: an answer is whole, and who leaves is heard of."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx
from starlette.types import Receive, Scope, Send

from loop.ui.transport import InProcess

Answer = TypeVar("Answer")


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run it in a thread of its own: where tests of pages ran before, this one has a loop already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def test_an_answer_is_whole_though_it_ended_long_before_it_is_read() -> None:
    pieces = [f"piece {number};".encode() for number in range(15)]

    async def interface(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"end", "more_body": False})

    async def read() -> bytes:
        async with (
            httpx.AsyncClient(transport=InProcess(interface), base_url="http://here") as client,
            client.stream("GET", "/") as answer,
        ):
            await asyncio.sleep(0)
            return await answer.aread()

    assert run(read()) == b"".join([*pieces, b"end"])


def test_who_leaves_before_the_answer_begins_ends_what_works_at_it() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def interface(scope: Scope, receive: Receive, send: Send) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def leave() -> None:
        async with httpx.AsyncClient(transport=InProcess(interface), base_url="http://here") as client:
            asking = asyncio.create_task(client.get("/"))
            await began.wait()
            asking.cancel()
            await asyncio.wait_for(ended.wait(), 20)

    run(leave())
