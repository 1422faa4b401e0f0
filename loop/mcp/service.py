"""What the tools ask: the service's own HTTP interface, for one app and one user, fixed before a tool is called.

A tool never names a user, so a model cannot reach another's memory by asking for it. What is named by its id is looked
up first, and its owner compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from mcp.server.mcpserver.exceptions import ToolError
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_random_exponential

from shared.base.ids import new_token
from shared.conversations.models import MemoryMode

_MOST_LISTED = 200
_PATIENCE_SECONDS = 12.0
"""A loop that was killed is back by then; an agent's own patience is a minute, as a rule."""
_SINGULAR = {"memories": "memory", "facts": "fact", "conversations": "conversation"}


class ServiceRefusal(ToolError):
    """The service refused, with this status and in these words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class MemoryService:
    """The service as one user of one app sees it; ``user_id`` None stands for what names nobody."""

    http: httpx.AsyncClient
    app_id: str
    user_id: str | None = None
    memory: MemoryMode | None = None
    """What the connection is to have to do with memory; None where it does not say."""

    def recalls(self) -> None:
        """Raises: ToolError, where nothing is to be recalled."""
        if self.memory is MemoryMode.OFF:
            raise ToolError("Memory is off for this connection (X-Memory: off): nothing is recalled or kept.")

    def keeps(self) -> None:
        """Raises: ToolError, where nothing is to be kept."""
        self.recalls()
        if self.memory is MemoryMode.READ:
            raise ToolError("Memory is only read on this connection (X-Memory: read): nothing is kept.")

    async def call(self, method: str, *path: str | int, body: Any = None, **parameters: str | int) -> dict[str, Any]:
        """Return the answer of an operation of the app. Raises: ToolError, in the words of the service."""
        address = "/".join(("/apps", *(quote(str(part), safe="") for part in (self.app_id, *path))))
        headers = {} if method == "GET" else {"Idempotency-Key": new_token()}
        try:
            answer = await self._request(method, address, json=body, params=parameters, headers=headers)
        except httpx.TransportError as error:
            raise ToolError(
                f"Afterthought at {self.http.base_url} does not answer ({type(error).__name__}). Whether anything was "
                "changed is not known; try again in a moment."
            ) from error
        if not answer.is_success:
            raise ServiceRefusal(answer.status_code, _problem(answer))
        content: dict[str, Any] = answer.json()
        return content

    # An agent that is told to try again would do it under another key, and write twice what was written.
    @retry(
        retry=retry_if_exception_type(httpx.TransportError),
        wait=wait_random_exponential(0.2, max=2.0),
        stop=stop_after_delay(_PATIENCE_SECONDS),
        reraise=True,
    )
    async def _request(self, method: str, address: str, **more: Any) -> httpx.Response:
        return await self.http.request(method, address, **more)

    async def ask_for_user(self, *path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a post whose body names the user, where there is one."""
        named = {} if self.user_id is None else {"userId": self.user_id}
        return await self.call("POST", *path, body=body | named)

    async def listing(self, what: str) -> list[dict[str, Any]]:
        """Return all of the user's memories or facts, and nobody else's."""
        rows: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            # An empty user is what names nobody; to leave it out would list everybody's.
            page = await self.call("GET", what, userId=self.user_id or "", limit=_MOST_LISTED, **cursor)
            rows += page[what]
            if page["cursor"] is None:
                return rows
            cursor = {"cursor": page["cursor"]}

    async def own(self, what: str, name: str) -> dict[str, Any]:
        """Return one thing of the user's. Raises: ToolError, in the same words for another's as for one unknown."""
        try:
            found = await self.call("GET", what, name)
        except ServiceRefusal as error:
            # 422: what cannot be an id.
            if error.status not in (404, 422):
                raise
            found = None
        if found is None or found["userId"] != self.user_id:
            raise ToolError(f"This user has no {_SINGULAR[what]} {name}.")
        return found

    async def own_to_write(self, conversation_id: str) -> None:
        """Have a conversation of the user's be as strict as the connection, before more of it is kept.

        Raises: ToolError.
        """
        found = await self.own("conversations", conversation_id)
        mode = MemoryMode.strictest(self.memory or MemoryMode.ON, found["memory"])
        if mode != found["memory"] and found["endedAt"] is None:
            await self.call("PATCH", "conversations", conversation_id, body={"memory": mode})


def _problem(answer: httpx.Response) -> str:
    try:
        message: str = answer.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return f"Something answered with status {answer.status_code} that is not Afterthought; check the address."
    return message
