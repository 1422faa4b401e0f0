"""The client for asyncio. Generated: `python -m ops.client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from afterthought_client import models
from afterthought_client.async_transport import AsyncTransport, Content
from afterthought_client.calls import (
    OMIT,
    Call,
    Omit,
    json_body,
    json_of,
    path_of,
    query_of,
    read,
    typed,
    write_headers,
)
from afterthought_client.events import ServerSentEvent


class AsyncAfterthought(AsyncTransport):
    """Everything the service does; a method is named as its operation in ``/openapi.json``.

    Give ``app`` once, or ``app_id`` with a call; an app's token opens only what belongs to its app.
    """

    async def start_conversation(
        self,
        *,
        conversation_id: str | Omit | None = OMIT,
        user_id: str | Omit | None = OMIT,
        energy_budget: float | Omit | None = OMIT,
        metadata: Mapping[str, Any] | Omit = OMIT,
        end_after_minutes: int | Omit | None = OMIT,
        time_zone: str | Omit | None = OMIT,
        memory: Literal["on", "read", "off"] | Omit = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ConversationDetails:
        """Open a conversation.

        Open a conversation; without an id it is given one.

        Args:
            end_after_minutes: It ends by itself once nothing was said for so long; without it, only when it is told
                to.
            time_zone: Whose days are meant in it, an IANA name; without it the user's, or what its messages came
                with.
            memory: on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/conversations", appId=self._app(app_id)),
            content=json_body(
                conversationId=conversation_id,
                userId=user_id,
                energyBudget=energy_budget,
                metadata=metadata,
                endAfterMinutes=end_after_minutes,
                timeZone=time_zone,
                memory=memory,
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ConversationDetails)

    async def list_conversations(
        self,
        *,
        user_id: str | None = None,
        ended: bool | None = None,
        unanswered: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.ConversationList:
        """List conversations.

        List an app's conversations, newest first.

        Args:
            ended: Only ended, or only open ones.
            unanswered: Only those that wait for an answer, or that do not.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/conversations", appId=self._app(app_id)),
            query=query_of(userId=user_id, ended=ended, unanswered=unanswered, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.ConversationList)

    async def iter_conversations(
        self,
        *,
        user_id: str | None = None,
        ended: bool | None = None,
        unanswered: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.ConversationAnswer]:
        """Iterate over what ``list_conversations`` lists, page by page; ``limit`` is the length of a page.

        Args:
            ended: Only ended, or only open ones.
            unanswered: Only those that wait for an answer, or that do not.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_conversations(
                user_id=user_id, ended=ended, unanswered=unanswered, limit=limit, cursor=cursor, app_id=app_id
            )
            for one in page.conversations:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_conversation(self, conversation_id: str, *, app_id: str | None = None) -> models.ConversationDetails:
        """Show a conversation.

        Show where a conversation stands, what it has cost and what it gave rise to.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
        )
        response = await self._send(call)
        return read(response, models.ConversationDetails)

    async def change_conversation(
        self,
        conversation_id: str,
        *,
        time_zone: str | Omit | None = OMIT,
        memory: Literal["on", "read", "off"] | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ConversationAnswer:
        """Change a conversation.

        Change an open conversation's time zone, or what it has to do with memory, which holds for all that was said.

        Args:
            time_zone: Whose days are meant in it, an IANA name; without it the user's, or what its messages came
                with.
            memory: on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither.
                What was drawn from it before stays.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            content=json_body(timeZone=time_zone, memory=memory),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ConversationAnswer)

    async def erase_conversation(
        self, conversation_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Erased:
        """Erase one.

        Erase a conversation and everything derived from it.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Erased)

    async def add_messages(
        self,
        conversation_id: str,
        messages: Sequence[models.AddMessage | Mapping[str, Any]],
        *,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.StoredMessages:
        """Add messages.

        Add one message, or several in order. A messageId that is already there is not added again.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}/messages",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            content=json_body(messages=messages),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.StoredMessages)

    async def list_messages(
        self,
        conversation_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        before: int | None = None,
        around: str | None = None,
        app_id: str | None = None,
    ) -> models.MessageList:
        """List messages.

        List a conversation's messages in order: after a cursor, before a position, or around one of them.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            before: The last ones before this position.
            around: Those around this messageId, as many as limit.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}/messages",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            query=query_of(limit=limit, cursor=cursor, before=before, around=around),
        )
        response = await self._send(call)
        return read(response, models.MessageList)

    async def iter_messages(
        self,
        conversation_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        before: int | None = None,
        around: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[Any]:
        """Iterate over what ``list_messages`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            before: The last ones before this position.
            around: Those around this messageId, as many as limit.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_messages(
                conversation_id=conversation_id, limit=limit, cursor=cursor, before=before, around=around, app_id=app_id
            )
            for one in page.messages:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def end_conversation(
        self,
        conversation_id: str,
        *,
        reason: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.EndedConversation:
        """End a conversation.

        End a conversation and ask for its memory; it never waits for one. Ending it again answers the same jobs.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}/end",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            content=json_body(reason=reason),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.EndedConversation)

    async def extract_facts(
        self, conversation_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.RequestedJob:
        """Extract facts now.

        Ask for the facts of what was said since they were last extracted; while a job is under way, answer that one.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}/extract",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.RequestedJob)

    async def snooze_conversation(
        self, conversation_id: str, minutes: int, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.ConversationAnswer:
        """Snooze a conversation.

        Hide an open conversation for a number of minutes.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}/snooze",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            content=json_body(minutes=minutes),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ConversationAnswer)

    async def search_messages(
        self,
        query: str,
        *,
        conversation_id: str | Omit | None = OMIT,
        user_id: str | Omit | None = OMIT,
        limit: int | Omit = OMIT,
        filters: models.SearchFilters | Mapping[str, Any] | Omit = OMIT,
        explain: bool | Omit = OMIT,
        app_id: str | None = None,
    ) -> models.SearchAnswer:
        """Search old messages.

        Find messages, and passages of long ones, by their words and their meaning; never any of another app.

        Where neither a user nor a conversation is named, all of the app's are searched, and each result says whose it
        is.

        Args:
            conversation_id: Looked in first, and its user's others, or those that name nobody if it does, only where
                it has fewer than three results.
            user_id: Only this user's conversations, and those that name nobody where the app shares these (empty:
                only those that name nobody); without it and without a conversation, all of the app's.
            limit: Most results.
            explain: Whether each result says how its score came about.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/search", appId=self._app(app_id)),
            content=json_body(
                query=query,
                conversationId=conversation_id,
                userId=user_id,
                limit=limit,
                filters=filters,
                explain=explain,
            ),
            headers=typed("application/json"),
        )
        response = await self._send(call)
        return read(response, models.SearchAnswer)

    async def compose_context(
        self,
        *,
        conversation_id: str | Omit | None = OMIT,
        user_id: str | Omit | None = OMIT,
        message: str | Omit | None = OMIT,
        messages: Sequence[models.ContextMessage | Mapping[str, Any]] | Omit | None = OMIT,
        model: str | Omit | None = OMIT,
        context_window: int | Omit | None = OMIT,
        reserve: int | Omit | None = OMIT,
        token_budget: int | Omit | None = OMIT,
        placement: Literal["two", "one"] | Omit = OMIT,
        app_id: str | None = None,
    ) -> models.ContextAnswer:
        """Compose a context.

        Compose the messages to send to a model: what was said, and what is recalled beside it, as fits.

        Costs no energy but for the vector of what is said now.

        Args:
            user_id: Who speaks, where no conversation is named: that is its own user's, and no other may be named.
            message: What the user says now; comes last.
            model: The model whose tokens are meant, as PROVIDER:NAME or NAME; lengths are reckoned as it counts.
            context_window: The model's window, tokens; the context is compacted so that it fits.
            reserve: Tokens of the window to leave for the answer; 1000 when not given.
            token_budget: Most tokens for what is recalled.
            placement: two: what is recalled whatever is said behind the leading system messages, the same from
                question to question, and what was chosen for this question before the last user message. one: all of
                it first.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/context", appId=self._app(app_id)),
            content=json_body(
                conversationId=conversation_id,
                userId=user_id,
                message=message,
                messages=messages,
                model=model,
                contextWindow=context_window,
                reserve=reserve,
                tokenBudget=token_budget,
                placement=placement,
            ),
            headers=typed("application/json"),
        )
        response = await self._send(call)
        return read(response, models.ContextAnswer)

    async def show_app_energy(self, *, app_id: str | None = None) -> models.AppEnergy:
        """Show what an app has spent.

        Show what an app has spent in all and lately, and its budgets.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/energy", appId=self._app(app_id)))
        response = await self._send(call)
        return read(response, models.AppEnergy)

    async def erase_app_data(self, *, app_id: str | None = None, idempotency_key: str | None = None) -> models.Erased:
        """Erase everything of an app.

        Erase everything an app ever held, in every store. The app itself stays, empty.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE", path_of("/apps/{appId}/data", appId=self._app(app_id)), headers=write_headers(idempotency_key)
        )
        response = await self._send(call)
        return read(response, models.Erased)

    async def export_app(self, *, user_id: str | None = None, app_id: str | None = None) -> models.Archive:
        """Export an app.

        Take an app out as one JSON document, or what it holds of one user.

        By a user's own token without the app's config and budgets.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/export", appId=self._app(app_id)), query=query_of(userId=user_id))
        response = await self._send(call)
        return read(response, models.Archive)

    async def import_app(
        self,
        archive: models.Archive | Mapping[str, Any],
        *,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ImportedAnswer:
        """Import an app.

        Put an exported document into an app, whole or not at all. An admin token may name an app that is not there.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/import", appId=self._app(app_id)),
            content=json_of(archive),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ImportedAnswer)

    async def list_memories(
        self,
        *,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.MemoryList:
        """List memories.

        List the memories of an app, or of one of its users, last updated first. Costs no energy.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/memories", appId=self._app(app_id)),
            query=query_of(userId=user_id, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.MemoryList)

    async def iter_memories(
        self,
        *,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.MemoryAnswer]:
        """Iterate over what ``list_memories`` lists, page by page; ``limit`` is the length of a page.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_memories(user_id=user_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.memories:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def write_memory(
        self,
        content: str,
        *,
        importance: int | Omit = OMIT,
        tags: Sequence[str] | Omit = OMIT,
        pinned: bool | Omit = OMIT,
        user_id: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.WrittenMemory:
        """Write a memory by hand.

        Write a memory by hand. At the cap the least important that is not pinned goes for it; the answer says which.

        Args:
            user_id: Whose it is; without it, nobody's in particular.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/memories", appId=self._app(app_id)),
            content=json_body(content=content, importance=importance, tags=tags, pinned=pinned, userId=user_id),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.WrittenMemory)

    async def purge_memories(
        self, *, user_id: str | None = None, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.PurgedMemories:
        """Purge all memories.

        Remove all memories of an app, or of one user, with the text of their history, and stop memory work that was
        asked for before. The answer says what else still remembers, and how to erase it.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}/memories", appId=self._app(app_id)),
            query=query_of(userId=user_id),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.PurgedMemories)

    async def list_memory_changes(
        self,
        *,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.ChangeList:
        """List what happened to an app's memories.

        List every change to the memories of an app, or of one user, newest first: which went, why, and by whom.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/memories/changes", appId=self._app(app_id)),
            query=query_of(userId=user_id, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.ChangeList)

    async def iter_memory_changes(
        self,
        *,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.ChangeAnswer]:
        """Iterate over what ``list_memory_changes`` lists, page by page; ``limit`` is the length of a page.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_memory_changes(user_id=user_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.changes:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_memory(self, memory_id: int, *, app_id: str | None = None) -> models.MemoryAnswer:
        """Show a memory.

        Show one memory.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/memories/{memory_id}", memory_id=memory_id, appId=self._app(app_id)))
        response = await self._send(call)
        return read(response, models.MemoryAnswer)

    async def edit_memory(
        self,
        memory_id: int,
        *,
        content: str | Omit | None = OMIT,
        importance: int | Omit | None = OMIT,
        tags: Sequence[str] | Omit | None = OMIT,
        pinned: bool | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.EditedMemory:
        """Change a memory.

        Change a memory by hand; what it was stays in its history.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/apps/{appId}/memories/{memory_id}", memory_id=memory_id, appId=self._app(app_id)),
            content=json_body(content=content, importance=importance, tags=tags, pinned=pinned),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.EditedMemory)

    async def delete_memory(
        self,
        memory_id: int,
        *,
        erase: bool | None = None,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.DeletedMemory:
        """Delete a memory.

        Delete a memory. Its history can bring it back, unless it is erased.

        Args:
            erase: Also empty the text of its history, for good.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}/memories/{memory_id}", memory_id=memory_id, appId=self._app(app_id)),
            query=query_of(erase=erase),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.DeletedMemory)

    async def show_memory_history(
        self, memory_id: int, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.ChangeList:
        """Show a memory's history.

        Show everything that happened to a memory, oldest first, whether it still stands or not.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/memories/{memory_id}/history", memory_id=memory_id, appId=self._app(app_id)),
            query=query_of(limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.ChangeList)

    async def iter_memory_history(
        self, memory_id: int, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.ChangeAnswer]:
        """Iterate over what ``show_memory_history`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.show_memory_history(memory_id=memory_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.changes:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def restore_memory(
        self,
        memory_id: int,
        *,
        change_id: int | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.RestoredMemory:
        """Take back a change.

        Take back the latest change of a memory, or the one named; one that was removed gets a place again.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/memories/{memory_id}/restore", memory_id=memory_id, appId=self._app(app_id)),
            content=json_body(changeId=change_id),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.RestoredMemory)

    async def install_app(
        self,
        app_id: str,
        name: str,
        *,
        config: Mapping[str, Any] | Omit = OMIT,
        answered_by: Literal["loop", "app"] | Omit | None = OMIT,
        approve_answers: bool | Omit | None = OMIT,
        weight: int | Omit | None = OMIT,
        shared_memory: bool | Omit | None = OMIT,
        time_zone: str | Omit | None = OMIT,
        idempotency_key: str | None = None,
    ) -> models.AppAnswer:
        """Install an app.

        Install an app; one that was uninstalled comes back with what it remembered.

        Args:
            config: The app's own notes: kept and returned, and read by nothing here. No key in it changes what the
                service does.
            answered_by: Who answers its conversations: the loop, when a model is set, or the app itself.
            approve_answers: Whether a person approves each answer of the loop's before it is sent.
            shared_memory: Whether what names no user (memories, facts, old messages) is recalled for every user of
                the app.
            time_zone: Whose days are meant where neither conversation, user nor message says, an IANA name; null:
                UTC's.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            "/apps",
            content=json_body(
                appId=app_id,
                name=name,
                config=config,
                answeredBy=answered_by,
                approveAnswers=approve_answers,
                weight=weight,
                sharedMemory=shared_memory,
                timeZone=time_zone,
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.AppAnswer)

    async def list_apps(
        self,
        *,
        search: str | None = None,
        counted: bool | None = None,
        approving: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.AppList:
        """List apps.

        List apps by id, the uninstalled ones too.

        Args:
            search: Only those whose id or name has this in it, in either case.
            counted: Count what each holds as well, which takes longer.
            approving: Only those of which an answer waits for a person's approval.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
        """
        call = Call(
            "GET",
            "/apps",
            query=query_of(search=search, counted=counted, approving=approving, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.AppList)

    async def iter_apps(
        self,
        *,
        search: str | None = None,
        counted: bool | None = None,
        approving: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncIterator[models.ListedApp]:
        """Iterate over what ``list_apps`` lists, page by page; ``limit`` is the length of a page.

        Args:
            search: Only those whose id or name has this in it, in either case.
            counted: Count what each holds as well, which takes longer.
            approving: Only those of which an answer waits for a person's approval.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
        """
        while True:
            page = await self.list_apps(search=search, counted=counted, approving=approving, limit=limit, cursor=cursor)
            for one in page.apps:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_app(self, *, app_id: str | None = None) -> models.AppDetails:
        """Show an app.

        Show an app and how much it holds; by a user's own token how much of theirs, without config and budgets.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}", appId=self._app(app_id)))
        response = await self._send(call)
        return read(response, models.AppDetails)

    async def change_app(
        self,
        *,
        name: str | Omit | None = OMIT,
        config: Mapping[str, Any] | Omit | None = OMIT,
        hourly_budget: float | Omit | None = OMIT,
        daily_budget: float | Omit | None = OMIT,
        answered_by: Literal["loop", "app"] | Omit | None = OMIT,
        approve_answers: bool | Omit | None = OMIT,
        weight: int | Omit | None = OMIT,
        shared_memory: bool | Omit | None = OMIT,
        time_zone: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.AppAnswer:
        """Change an app.

        Change an app's name, config and who answers, or (with an admin token) its energy budgets and weight.

        Args:
            config: The app's own notes: kept and returned, and read by nothing here. No key in it changes what the
                service does.
            answered_by: Who answers its conversations: the loop, when a model is set, or the app itself.
            approve_answers: Whether a person approves each answer of the loop's before it is sent.
            shared_memory: Whether what names no user (memories, facts, old messages) is recalled for every user of
                the app.
            time_zone: Whose days are meant where neither conversation, user nor message says, an IANA name; null:
                UTC's.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/apps/{appId}", appId=self._app(app_id)),
            content=json_body(
                name=name,
                config=config,
                hourlyBudget=hourly_budget,
                dailyBudget=daily_budget,
                answeredBy=answered_by,
                approveAnswers=approve_answers,
                weight=weight,
                sharedMemory=shared_memory,
                timeZone=time_zone,
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.AppAnswer)

    async def uninstall_app(
        self, *, purge_memories: bool | None = None, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Uninstalled:
        """Uninstall an app.

        Uninstall an app and revoke its tokens. What it remembers stays unless a purge is asked for.

        An app's token needs the grant `uninstall`.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}", appId=self._app(app_id)),
            query=query_of(purgeMemories=purge_memories),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Uninstalled)

    async def issue_token(
        self,
        *,
        label: str | Omit = OMIT,
        grants: Sequence[Literal["tokens", "uninstall", "answers"]] | Omit = OMIT,
        user_id: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.IssuedToken:
        """Issue a token.

        Make a token that opens this app alone, or what one of its users has in it. It is shown this once.

        An app's token needs the grant `tokens` for it, grants only what it was granted itself, and takes along what
        it issued when it is revoked.

        Args:
            grants: What it may do beside working with the app's data: tokens (issue and revoke them), uninstall,
                answers (who).
            user_id: Whose own it is to be: it opens what is this user's in the app and nothing else, and has no
                grants. It goes when everything of theirs is erased.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/tokens", appId=self._app(app_id)),
            content=json_body(label=label, grants=grants, userId=user_id),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.IssuedToken)

    async def list_tokens(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.TokenList:
        """List an app's tokens.

        List an app's tokens, the revoked ones too, without the tokens themselves.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET", path_of("/apps/{appId}/tokens", appId=self._app(app_id)), query=query_of(limit=limit, cursor=cursor)
        )
        response = await self._send(call)
        return read(response, models.TokenList)

    async def iter_tokens(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.TokenAnswer]:
        """Iterate over what ``list_tokens`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_tokens(limit=limit, cursor=cursor, app_id=app_id)
            for one in page.tokens:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def revoke_token(
        self, token_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Success:
        """Revoke a token.

        Make a token, and all it issued, useless from now on. But for itself, an app's token needs the grant `tokens`.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}/tokens/{token_id}", token_id=token_id, appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Success)

    async def list_erasure_receipts(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.ReceiptList:
        """List an app's erasure receipts.

        List what was purged and erased, newest first.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/erasures", appId=self._app(app_id)),
            query=query_of(limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.ReceiptList)

    async def iter_erasure_receipts(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.Receipt]:
        """Iterate over what ``list_erasure_receipts`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_erasure_receipts(limit=limit, cursor=cursor, app_id=app_id)
            for one in page.erasures:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def list_answers(
        self,
        *,
        state: Literal["pending", "sent", "rejected", "superseded"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.AnswerList:
        """List answers.

        List what the loop answered or would answer in an app, newest first.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/answers", appId=self._app(app_id)),
            query=query_of(state=state, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.AnswerList)

    async def iter_answers(
        self,
        *,
        state: Literal["pending", "sent", "rejected", "superseded"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.AnswerAnswer]:
        """Iterate over what ``list_answers`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_answers(state=state, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.answers:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def approve_answer(
        self,
        answer_id: str,
        *,
        content: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.AnswerAnswer:
        """Approve an answer.

        Send an answer that waits, as it is or in other words. Approving it again changes nothing.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/answers/{answer_id}/approve", answer_id=answer_id, appId=self._app(app_id)),
            content=json_body(content=content),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.AnswerAnswer)

    async def reject_answer(
        self,
        answer_id: str,
        *,
        reason: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.AnswerAnswer:
        """Reject an answer.

        Refuse an answer that waits; the loop thinks again, and after three rejections leaves the message alone.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/answers/{answer_id}/reject", answer_id=answer_id, appId=self._app(app_id)),
            content=json_body(reason=reason),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.AnswerAnswer)

    async def list_compactions(
        self, *, days: int | None = None, user_id: str | None = None, app_id: str | None = None
    ) -> models.CompactionDays:
        """Count compactions by day.

        Count how often room was made for a memory, day by day (UTC) and by what went. Costs no energy.

        Args:
            days: So many days, today the last.
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/compactions", appId=self._app(app_id)),
            query=query_of(days=days, userId=user_id),
        )
        response = await self._send(call)
        return read(response, models.CompactionDays)

    async def show_fact_eviction(
        self, *, user_id: str | None = None, more: int | None = None, app_id: str | None = None
    ) -> models.EvictionAnswer:
        """Show which facts would go.

        Show which facts would go if more came, with their scores, and which expire next. Nothing is changed.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            more: As if so many new facts of each user came.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/facts/eviction", appId=self._app(app_id)),
            query=query_of(userId=user_id, more=more),
        )
        response = await self._send(call)
        return read(response, models.EvictionAnswer)

    async def list_facts(
        self,
        *,
        state: Literal["standing", "replaced", "deleted"] | None = None,
        category: Literal["project", "preference", "identity"] | None = None,
        pinned: bool | None = None,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.FactList:
        """List facts.

        List facts: pinned ones first, then by category, confidence and how lately they were said. Costs no energy.

        Args:
            state: Which facts to list.
            category: Only of this category.
            pinned: Only pinned ones, or only others.
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/facts", appId=self._app(app_id)),
            query=query_of(state=state, category=category, pinned=pinned, userId=user_id, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.FactList)

    async def iter_facts(
        self,
        *,
        state: Literal["standing", "replaced", "deleted"] | None = None,
        category: Literal["project", "preference", "identity"] | None = None,
        pinned: bool | None = None,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.FactAnswer]:
        """Iterate over what ``list_facts`` lists, page by page; ``limit`` is the length of a page.

        Args:
            state: Which facts to list.
            category: Only of this category.
            pinned: Only pinned ones, or only others.
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_facts(
                state=state,
                category=category,
                pinned=pinned,
                user_id=user_id,
                limit=limit,
                cursor=cursor,
                app_id=app_id,
            )
            for one in page.facts:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def write_fact(
        self,
        fact: str,
        *,
        category: Literal["project", "preference", "identity"] | Omit | None = OMIT,
        pinned: bool | Omit = OMIT,
        user_id: str | Omit | None = OMIT,
        said_at: datetime | str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.WrittenFact:
        """Write a fact by hand.

        Write a fact by hand. One that says the same already is said again instead, and answered with 200.

        Args:
            category: Left out: found by its words.
            said_at: When it was said, which orders facts about one thing; left out: now.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/facts", appId=self._app(app_id)),
            content=json_body(fact=fact, category=category, pinned=pinned, userId=user_id, saidAt=said_at),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.WrittenFact)

    async def clear_facts(
        self, *, user_id: str | None = None, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.ClearedFacts:
        """Clear all facts.

        Delete all facts, or all of one user's. For some seconds that can be taken back; then they are erased.

        A receipt says so.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}/facts", appId=self._app(app_id)),
            query=query_of(userId=user_id),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.ClearedFacts)

    async def undo_clearing_facts(
        self, *, user_id: str | None = None, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.RestoredFacts:
        """Take back clearing all facts.

        Bring back everything the last clear of the app's facts, or of that user's, deleted, as it was.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/facts/undo", appId=self._app(app_id)),
            query=query_of(userId=user_id),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.RestoredFacts)

    async def change_facts(
        self,
        action: Literal["delete", "move", "pin", "unpin"],
        ids: Sequence[int],
        *,
        category: Literal["project", "preference", "identity"] | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ChangedFacts:
        """Change many facts.

        Delete, move, pin or unpin many facts, all or none.

        Args:
            category: Where to; needed to move, and only then.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/facts/bulk", appId=self._app(app_id)),
            content=json_body(action=action, ids=ids, category=category),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ChangedFacts)

    async def list_fact_changes(
        self,
        *,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.FactChangeList:
        """List what happened to an app's facts.

        List every change to facts, newest first: which went, why, and by whom.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/facts/changes", appId=self._app(app_id)),
            query=query_of(userId=user_id, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.FactChangeList)

    async def iter_fact_changes(
        self,
        *,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.FactChangeAnswer]:
        """Iterate over what ``list_fact_changes`` lists, page by page; ``limit`` is the length of a page.

        Args:
            user_id: Only of this user (empty: only what names nobody); without it, of all of the app's.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_fact_changes(user_id=user_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.changes:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_fact(self, fact_id: int, *, app_id: str | None = None) -> models.FactAnswer:
        """Show a fact.

        Show one fact, whether it stands, was replaced, or was deleted a moment ago.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/facts/{fact_id}", fact_id=fact_id, appId=self._app(app_id)))
        response = await self._send(call)
        return read(response, models.FactAnswer)

    async def edit_fact(
        self,
        fact_id: int,
        *,
        fact: str | Omit | None = OMIT,
        category: Literal["project", "preference", "identity"] | Omit | None = OMIT,
        pinned: bool | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ChangedFact:
        """Change a fact.

        Change a fact by hand; what it was stays in its history.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/apps/{appId}/facts/{fact_id}", fact_id=fact_id, appId=self._app(app_id)),
            content=json_body(fact=fact, category=category, pinned=pinned),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ChangedFact)

    async def delete_fact(
        self, fact_id: int, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.DeletedFact:
        """Delete a fact.

        Delete a fact. For a while that can be taken back; then it is gone with the text of its history.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}/facts/{fact_id}", fact_id=fact_id, appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.DeletedFact)

    async def pin_fact(
        self, fact_id: int, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.ChangedFact:
        """Pin a fact.

        Exempt a fact from eviction and expiry; at most ten of a user are.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/facts/{fact_id}/pin", fact_id=fact_id, appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.ChangedFact)

    async def unpin_fact(
        self, fact_id: int, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.ChangedFact:
        """Unpin a fact.

        Let a fact be evicted and expire again.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/facts/{fact_id}/unpin", fact_id=fact_id, appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.ChangedFact)

    async def undo_deleting_fact(
        self, fact_id: int, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.ChangedFact:
        """Take back a deletion.

        Bring back a fact that was deleted a moment ago.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/facts/{fact_id}/undo", fact_id=fact_id, appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.ChangedFact)

    async def show_fact_history(
        self, fact_id: int, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.FactChangeList:
        """Show a fact's history.

        Show everything that happened to a fact, oldest first, whether it still stands or not.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/facts/{fact_id}/history", fact_id=fact_id, appId=self._app(app_id)),
            query=query_of(limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.FactChangeList)

    async def iter_fact_history(
        self, fact_id: int, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.FactChangeAnswer]:
        """Iterate over what ``show_fact_history`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.show_fact_history(fact_id=fact_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.changes:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def list_users(
        self,
        *,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.UserList:
        """List users.

        List everybody an app holds something of, with how much.

        Args:
            search: Only those whose id or name has this in it, in either case.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/users", appId=self._app(app_id)),
            query=query_of(search=search, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.UserList)

    async def iter_users(
        self,
        *,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.UserAnswer]:
        """Iterate over what ``list_users`` lists, page by page; ``limit`` is the length of a page.

        Args:
            search: Only those whose id or name has this in it, in either case.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_users(search=search, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.users:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_user(self, user_id: str, *, app_id: str | None = None) -> models.UserAnswer:
        """Show a user.

        Show how much an app holds of a user; of one of whom it holds nothing there is nothing to show.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/users/{user_id}", user_id=user_id, appId=self._app(app_id)))
        response = await self._send(call)
        return read(response, models.UserAnswer)

    async def change_user(
        self,
        user_id: str,
        *,
        time_zone: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.UserAnswer:
        """Change what is set for a user.

        Set a user's time zone, or take it back with null. They need not have said anything yet.

        Args:
            time_zone: Whose days are meant by what they say, an IANA name; null: the days of what their messages came
                with.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/apps/{appId}/users/{user_id}", user_id=user_id, appId=self._app(app_id)),
            content=json_body(timeZone=time_zone),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.UserAnswer)

    async def erase_user_data(
        self, user_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Erased:
        """Erase everything of a user.

        Erase everything an app ever held of one user, in every store, and stop what is being thought about them.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}/users/{user_id}/data", user_id=user_id, appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Erased)

    async def show_retrieval_metrics(
        self, *, hours: float | None = None, app_id: str | None = None
    ) -> models.RetrievalMetrics:
        """Show how retrievals went.

        Add up the retrievals of the last hours: how often they found something, how long they took, from where.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", "/api/memory/metrics", query=query_of(hours=hours, appId=app_id or self.app))
        response = await self._send(call)
        return read(response, models.RetrievalMetrics)

    async def debug_retrieval(
        self,
        q: str,
        *,
        conversation_id: str | None = None,
        user_id: str | None = None,
        limit: int | None = None,
        app_id: str | None = None,
    ) -> models.DebugAnswer:
        """Take a retrieval apart.

        Search as a context would, and say of each result where it came from and how its score came about.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            "/api/memory/debug/retrieval",
            query=query_of(q=q, conversationId=conversation_id, userId=user_id, limit=limit, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.DebugAnswer)

    async def show_retrieval_stats(
        self, *, user_id: str | None = None, app_id: str | None = None
    ) -> models.RetrievalStats:
        """Show how much there is to retrieve.

        Count what there is of one app, or of all. Looks at each row.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", "/api/memory/debug/stats", query=query_of(userId=user_id, appId=app_id or self.app))
        response = await self._send(call)
        return read(response, models.RetrievalStats)

    async def rebuild_word_index(self, *, idempotency_key: str | None = None) -> models.Rebuilt:
        """Make the word index anew.

        Make the word index of the whole installation anew; until an app is filled in, its old words are not found.

        Args:
            idempotency_key: Made anew for each call unless given.
        """
        call = Call("POST", "/api/memory/rebuild", headers=write_headers(idempotency_key))
        response = await self._send(call)
        return read(response, models.Rebuilt)

    async def show_indexes(self, *, app_id: str | None = None) -> models.IndexAnswer:
        """Show how complete an app's indexes are.

        Show how many of an app's messages are in its indexes, and how far what is under way has come.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/indexes", appId=self._app(app_id)))
        response = await self._send(call)
        return read(response, models.IndexAnswer)

    async def backfill_indexes(
        self, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.JobAnswer:
        """Index an app's old messages.

        Bring messages into the indexes that are not there yet; again while it is under way: the same job.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/indexes/backfill", appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.JobAnswer)

    async def list_summaries(
        self, conversation_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.SummaryList:
        """List summaries.

        List a conversation's summaries, newest first. Costs no energy.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}/summaries",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            query=query_of(limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.SummaryList)

    async def iter_summaries(
        self, conversation_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.SummaryItem]:
        """Iterate over what ``list_summaries`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_summaries(conversation_id=conversation_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.summaries:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def make_summary(
        self, conversation_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.RequestedJob:
        """Summarise now.

        Ask for a summary of what was said since the last; while one is under way, answer its job.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of(
                "/apps/{appId}/conversations/{conversation_id}/summaries",
                conversation_id=conversation_id,
                appId=self._app(app_id),
            ),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.RequestedJob)

    async def show_consent(self, *, user_id: str | None = None, app_id: str | None = None) -> models.ConsentAnswer:
        """Show a consent.

        Show whether a user agrees to having a profile.

        Args:
            user_id: A user of the app; leave it out for an app that names none.
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", "/api/memory/consent", query=query_of(userId=user_id, appId=app_id or self.app))
        response = await self._send(call)
        return read(response, models.ConsentAnswer)

    async def change_consent(
        self,
        consent: bool,
        *,
        user_id: str | Omit = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ConsentAnswer:
        """Give or take back a consent.

        Say whether a user agrees to having a profile. Taking consent back erases the profile at once.

        Args:
            user_id: A user of the app; empty for an app that names none.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PUT",
            "/api/memory/consent",
            content=json_body(appId=app_id or self.app, userId=user_id, consent=consent),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ConsentAnswer)

    async def show_profile(self, *, user_id: str | None = None, app_id: str | None = None) -> models.ProfileAnswer:
        """Show a profile.

        Show a user's profile; without their consent there is none.

        Args:
            user_id: A user of the app; leave it out for an app that names none.
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/profile", appId=self._app(app_id)), query=query_of(userId=user_id))
        response = await self._send(call)
        return read(response, models.ProfileAnswer)

    async def write_profile(
        self,
        *,
        preferences: models.Preferences | Mapping[str, Any] | Omit = OMIT,
        context: models.Context | Mapping[str, Any] | Omit = OMIT,
        freeform_notes: str | Omit = OMIT,
        user_id: str | None = None,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ProfileAnswer:
        """Write a profile.

        Write a user's profile in the place of what it said. Without their consent that is refused.

        Args:
            user_id: A user of the app; leave it out for an app that names none.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PUT",
            path_of("/apps/{appId}/profile", appId=self._app(app_id)),
            query=query_of(userId=user_id),
            content=json_body(preferences=preferences, context=context, freeformNotes=freeform_notes),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ProfileAnswer)

    async def erase_profile(
        self, *, user_id: str | None = None, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Erased:
        """Erase a profile.

        Erase a user's profile; their consent stays as it is.

        Args:
            user_id: A user of the app; leave it out for an app that names none.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}/profile", appId=self._app(app_id)),
            query=query_of(userId=user_id),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Erased)

    async def list_profile_changes(
        self,
        *,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.AuditList:
        """Show what became of profiles.

        List who agreed, wrote, used, was refused and erased, newest first.

        Args:
            user_id: Only of this user.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/profile/audit", appId=self._app(app_id)),
            query=query_of(userId=user_id, limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.AuditList)

    async def iter_profile_changes(
        self,
        *,
        user_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.AuditLine]:
        """Iterate over what ``list_profile_changes`` lists, page by page; ``limit`` is the length of a page.

        Args:
            user_id: Only of this user.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_profile_changes(user_id=user_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.audit:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def search_sessions(
        self,
        *,
        text: str | Omit | None = OMIT,
        files: Sequence[str] | Omit | None = OMIT,
        topics: Sequence[str] | Omit | None = OMIT,
        date_range: models.DateRange | Mapping[str, Any] | Omit | None = OMIT,
        keepit_weight: models.WeightRange | Mapping[str, Any] | Omit | None = OMIT,
        kinds: Sequence[Literal["original", "version"]] | Omit | None = OMIT,
        limit: int | Omit = OMIT,
        cursor: str | Omit | None = OMIT,
        app_id: str | None = None,
    ) -> models.FoundSessions:
        """Search all sessions of an app.

        Find sessions and versions by what they say, the files they touched, topics, dates and marked parts.

        Args:
            files: Files it touched, whole paths or the ends of such.
            kinds: Originals, versions, or both, each found place by itself; unless given, a session is found once,
                where most of the words stand. With a text.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "POST",
            "/api/memory/sessions/search",
            query=query_of(appId=app_id or self.app),
            content=json_body(
                text=text,
                files=files,
                topics=topics,
                dateRange=date_range,
                keepitWeight=keepit_weight,
                kinds=kinds,
                limit=limit,
                cursor=cursor,
            ),
            headers=typed("application/json"),
        )
        response = await self._send(call)
        return read(response, models.FoundSessions)

    async def search_project(
        self,
        project_id: str,
        *,
        text: str | Omit | None = OMIT,
        files: Sequence[str] | Omit | None = OMIT,
        topics: Sequence[str] | Omit | None = OMIT,
        date_range: models.DateRange | Mapping[str, Any] | Omit | None = OMIT,
        keepit_weight: models.WeightRange | Mapping[str, Any] | Omit | None = OMIT,
        kinds: Sequence[Literal["original", "version"]] | Omit | None = OMIT,
        limit: int | Omit = OMIT,
        cursor: str | Omit | None = OMIT,
        app_id: str | None = None,
    ) -> models.FoundSessions:
        """Search a project's sessions.

        Find sessions and versions of a project, and those linked to it.

        Args:
            files: Files it touched, whole paths or the ends of such.
            kinds: Originals, versions, or both, each found place by itself; unless given, a session is found once,
                where most of the words stand. With a text.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/search", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(
                text=text,
                files=files,
                topics=topics,
                dateRange=date_range,
                keepitWeight=keepit_weight,
                kinds=kinds,
                limit=limit,
                cursor=cursor,
            ),
            headers=typed("application/json"),
        )
        response = await self._send(call)
        return read(response, models.FoundSessions)

    async def suggest_sessions(
        self,
        project_id: str,
        *,
        working_dir: str | Omit | None = OMIT,
        files: Sequence[str] | Omit = OMIT,
        topics: Sequence[str] | Omit = OMIT,
        text: str | Omit | None = OMIT,
        token_budget: int | Omit = OMIT,
        app_id: str | None = None,
    ) -> models.Suggestions:
        """Suggest sessions for the work at hand.

        Say which sessions would help, in which form, within a token budget. Nothing is made.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/suggest", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(workingDir=working_dir, files=files, topics=topics, text=text, tokenBudget=token_budget),
            headers=typed("application/json"),
        )
        response = await self._send(call)
        return read(response, models.Suggestions)

    async def list_links(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.LinkList:
        """List a project's links.

        List the sessions of other projects that this one may use, the oldest link first.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}/links", project_id=project_id),
            query=query_of(limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.LinkList)

    async def iter_links(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.LinkItem]:
        """Iterate over what ``list_links`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_links(project_id=project_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.links:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def make_link(
        self,
        project_id: str,
        source_project: str,
        source_session: str,
        reason: str,
        *,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.LinkItem:
        """Link a session.

        Let this project use a session of another project of the same app.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/links", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(sourceProject=source_project, sourceSession=source_session, reason=reason),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.LinkItem)

    async def remove_link(
        self, link_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Success:
        """Take a link away.

        Take a link away; refused while a composition of the project uses the session.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/api/memory/links/{link_id}", link_id=link_id),
            query=query_of(appId=app_id or self.app),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Success)

    async def show_session_settings(self, *, app_id: str | None = None) -> models.SessionsConfiguration:
        """Show the settings of an app's sessions.

        Show what is in force for all of an app's projects, unless they say otherwise.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/session-settings", appId=self._app(app_id)))
        response = await self._send(call)
        return read(response, models.SessionsConfiguration)

    async def change_session_settings(
        self,
        *,
        storage: models.ChangeStorageConfiguration | Mapping[str, Any] | Omit | None = OMIT,
        defaults: models.ChangeDefaultsConfiguration | Mapping[str, Any] | Omit | None = OMIT,
        keepit_decay: models.ChangeKeepitDecay | Mapping[str, Any] | Omit | None = OMIT,
        ui: models.ChangeBrowserConfiguration | Mapping[str, Any] | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.SessionsConfiguration:
        """Change the settings of an app's sessions.

        Change what holds for all of an app's projects, at once; versions that are there stay as they are.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/apps/{appId}/session-settings", appId=self._app(app_id)),
            content=json_body(storage=storage, defaults=defaults, keepitDecay=keepit_decay, ui=ui),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.SessionsConfiguration)

    async def list_session_settings_changes(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.SessionChangeList:
        """Show who changed the settings of an app's sessions.

        List who changed what holds for all of an app's projects, newest first: what was set before and after.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/session-settings/changes", appId=self._app(app_id)),
            query=query_of(limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.SessionChangeList)

    async def iter_session_settings_changes(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.ChangeLine]:
        """Iterate over what ``list_session_settings_changes`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_session_settings_changes(limit=limit, cursor=cursor, app_id=app_id)
            for one in page.changes:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def list_semantic_memories(
        self,
        project_id: str,
        *,
        type: Literal["pattern", "decision", "preference", "fact"] | None = None,
        verdict: Literal["proposed", "confirmed", "rejected"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.SemanticList:
        """List semantic memories.

        List what was learnt from a project's sessions, newest first, with where it was found.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}/semantic", project_id=project_id),
            query=query_of(type=type, verdict=verdict, limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.SemanticList)

    async def iter_semantic_memories(
        self,
        project_id: str,
        *,
        type: Literal["pattern", "decision", "preference", "fact"] | None = None,
        verdict: Literal["proposed", "confirmed", "rejected"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.SemanticItem]:
        """Iterate over what ``list_semantic_memories`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_semantic_memories(
                project_id=project_id, type=type, verdict=verdict, limit=limit, cursor=cursor, app_id=app_id
            )
            for one in page.memories:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def learn_from_project(
        self, project_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.RequestedLearning:
        """Learn from sessions.

        Ask for what a project's sessions teach; while a job is at it, answer that one.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/semantic/learn", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.RequestedLearning)

    async def show_semantic_memory(self, semantic_id: str, *, app_id: str | None = None) -> models.SemanticItem:
        """Show a semantic memory.

        Show one semantic memory with where it was found.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/semantic/{semantic_id}", semantic_id=semantic_id),
            query=query_of(appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.SemanticItem)

    async def judge_semantic_memory(
        self,
        semantic_id: str,
        *,
        verdict: Literal["proposed", "confirmed", "rejected"] | Omit | None = OMIT,
        content: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.SemanticItem:
        """Judge a semantic memory.

        Confirm or reject a memory, or put it in other words. A rejected one is not proposed again.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/api/memory/semantic/{semantic_id}", semantic_id=semantic_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(verdict=verdict, content=content),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.SemanticItem)

    async def remove_semantic_memory(
        self, semantic_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Success:
        """Remove a semantic memory.

        Remove a memory; found again, it is proposed again, unlike a rejected one.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/api/memory/semantic/{semantic_id}", semantic_id=semantic_id),
            query=query_of(appId=app_id or self.app),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Success)

    async def show_tuning(self) -> models.TuningAnswer:
        """Show the retrieval settings of all apps.

        Show what is in force for apps that have nothing of their own.
        """
        call = Call("GET", "/api/memory/settings")
        response = await self._send(call)
        return read(response, models.TuningAnswer)

    async def tune_all(
        self,
        *,
        hybrid: bool | Omit | None = OMIT,
        chunking: bool | Omit | None = OMIT,
        token_budget: int | Omit | None = OMIT,
        summary_frequency: int | Omit | None = OMIT,
        formula: Literal["signals", "weighted"] | Omit | None = OMIT,
        alpha: float | Omit | None = OMIT,
        beta: float | Omit | None = OMIT,
        gamma: float | Omit | None = OMIT,
        metrics_days: int | Omit | None = OMIT,
        idempotency_key: str | None = None,
    ) -> models.TuningAnswer:
        """Change the retrieval settings of all apps.

        Change how retrieval works for all apps, at once and without a restart. Numbers out of bounds are clamped.

        Args:
            hybrid: Whether words are searched beside vectors. null takes the change back.
            chunking: Whether long messages are searched and handed out in passages. null takes the change back.
            token_budget: Most tokens of retrieved messages in a context (100 to 5000). null takes the change back.
            summary_frequency: Messages of the assistant after which a conversation is summarised; 0: only on demand
                (0 to 100). null takes the change back.
            formula: How results are ranked: by several signals, or by the weighted sum of the next three. null takes
                the change back.
            alpha: Weight of the vectors' likeness in the weighted sum; the three weights add up to 1 (0 to 1). null
                takes the change back.
            beta: Weight of the words in the weighted sum (0 to 1). null takes the change back.
            gamma: Weight of code identifiers in the weighted sum (0 to 1). null takes the change back.
            metrics_days: How long figures of single retrievals are kept, days (1 to 365). null takes the change back.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            "/api/memory/settings",
            content=json_body(
                hybrid=hybrid,
                chunking=chunking,
                tokenBudget=token_budget,
                summaryFrequency=summary_frequency,
                formula=formula,
                alpha=alpha,
                beta=beta,
                gamma=gamma,
                metricsDays=metrics_days,
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.TuningAnswer)

    async def show_app_tuning(self, *, app_id: str | None = None) -> models.TuningAnswer:
        """Show an app's retrieval settings.

        Show what is in force for an app, and where each value comes from.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", path_of("/apps/{appId}/retrieval-settings", appId=self._app(app_id)))
        response = await self._send(call)
        return read(response, models.TuningAnswer)

    async def tune_app(
        self,
        *,
        hybrid: bool | Omit | None = OMIT,
        chunking: bool | Omit | None = OMIT,
        token_budget: int | Omit | None = OMIT,
        summary_frequency: int | Omit | None = OMIT,
        formula: Literal["signals", "weighted"] | Omit | None = OMIT,
        alpha: float | Omit | None = OMIT,
        beta: float | Omit | None = OMIT,
        gamma: float | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.TuningAnswer:
        """Change an app's retrieval settings.

        Change how retrieval works for an app, at once and without a restart. Numbers out of bounds are clamped.

        Args:
            hybrid: Whether words are searched beside vectors. null takes the change back.
            chunking: Whether long messages are searched and handed out in passages. null takes the change back.
            token_budget: Most tokens of retrieved messages in a context (100 to 5000). null takes the change back.
            summary_frequency: Messages of the assistant after which a conversation is summarised; 0: only on demand
                (0 to 100). null takes the change back.
            formula: How results are ranked: by several signals, or by the weighted sum of the next three. null takes
                the change back.
            alpha: Weight of the vectors' likeness in the weighted sum; the three weights add up to 1 (0 to 1). null
                takes the change back.
            beta: Weight of the words in the weighted sum (0 to 1). null takes the change back.
            gamma: Weight of code identifiers in the weighted sum (0 to 1). null takes the change back.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/apps/{appId}/retrieval-settings", appId=self._app(app_id)),
            content=json_body(
                hybrid=hybrid,
                chunking=chunking,
                tokenBudget=token_budget,
                summaryFrequency=summary_frequency,
                formula=formula,
                alpha=alpha,
                beta=beta,
                gamma=gamma,
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.TuningAnswer)

    async def export_project(self, project_id: str, *, app_id: str | None = None) -> bytes:
        """Export a project.

        Pack a project with its sessions, versions, compositions and history into one file.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}/export", project_id=project_id),
            query=query_of(appId=app_id or self.app),
        )
        response = await self._send(call)
        return response.content

    def export_project_in_pieces(self, project_id: str, *, app_id: str | None = None) -> AsyncIterator[bytes]:
        """As ``export_project``, piece by piece as it comes.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}/export", project_id=project_id),
            query=query_of(appId=app_id or self.app),
        )
        return self._pieces(call)

    async def import_project(
        self,
        content: Content,
        *,
        project_id: str | None = None,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ImportedProject:
        """Import a project.

        Take in what export packed, sent as the body: checked whole first, and never over what is there.

        Args:
            content: The file, as application/zip.
            project_id: Another name for it.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            "/api/memory/projects/import",
            query=query_of(projectId=project_id, appId=app_id or self.app),
            content=content,
            headers=write_headers(idempotency_key, "application/zip"),
        )
        response = await self._send(call)
        return read(response, models.ImportedProject)

    async def list_projects(
        self,
        *,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.ProjectList:
        """List projects.

        List an app's projects, newest first.

        Args:
            search: Only those whose id or name has this in it, in either case.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            "/api/memory/projects",
            query=query_of(search=search, limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.ProjectList)

    async def iter_projects(
        self,
        *,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.ProjectItem]:
        """Iterate over what ``list_projects`` lists, page by page; ``limit`` is the length of a page.

        Args:
            search: Only those whose id or name has this in it, in either case.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_projects(search=search, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.projects:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def open_project(
        self,
        original_path: str,
        *,
        display_name: str | Omit | None = OMIT,
        source_folder: str | Omit | None = OMIT,
        settings: models.ChangeProjectSettings | Mapping[str, Any] | Omit = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ProjectItem:
        """Open a project.

        Open a project for a folder; registering a session of one that is not there opens it as well.

        Args:
            original_path: The folder that was worked in; it need not be on this machine.
            source_folder: A folder of transcripts; only an admin may name one.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            "/api/memory/projects",
            query=query_of(appId=app_id or self.app),
            content=json_body(
                originalPath=original_path, displayName=display_name, sourceFolder=source_folder, settings=settings
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ProjectItem)

    async def show_project(self, project_id: str, *, app_id: str | None = None) -> models.ProjectDetail:
        """Show a project.

        Show a project with its sessions, what it takes in the store, and files that could not be taken in.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}", project_id=project_id),
            query=query_of(appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.ProjectDetail)

    async def change_project(
        self,
        project_id: str,
        *,
        display_name: str | Omit | None = OMIT,
        source_folder: str | Omit | None = OMIT,
        settings: models.ChangeProjectSettings | Mapping[str, Any] | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ProjectItem:
        """Change a project.

        Change a project's name, settings or folder.

        Args:
            source_folder: null forgets it; only an admin may name one.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/api/memory/projects/{project_id}", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(displayName=display_name, sourceFolder=source_folder, settings=settings),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ProjectItem)

    async def remove_project(
        self,
        project_id: str,
        *,
        force: bool | None = None,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.Unregistered:
        """Remove a project.

        Remove a project that is empty. Originals outside of the store are never touched.

        Args:
            force: With its sessions, where no composition uses one.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/api/memory/projects/{project_id}", project_id=project_id),
            query=query_of(force=force, appId=app_id or self.app),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Unregistered)

    async def scan_project(
        self,
        project_id: str,
        *,
        dry_run: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ScanAnswer:
        """Look through a project's folder.

        Register what is new in a project's folder and sync what is known, some files at a time.

        With `dryRun` only say which files would be registered, and what is in them.

        Args:
            dry_run: Only say what would come of it.
            limit: Most files a dry run reads; it may read fewer.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/scan", project_id=project_id),
            query=query_of(dryRun=dry_run, limit=limit, cursor=cursor, appId=app_id or self.app),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.ScanAnswer)

    async def list_project_changes(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.SessionChangeList:
        """Show what was done to a project.

        List who did what to a project and what belongs to it, newest first; also of one that was removed.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}/changes", project_id=project_id),
            query=query_of(limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.SessionChangeList)

    async def iter_project_changes(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.ChangeLine]:
        """Iterate over what ``list_project_changes`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_project_changes(project_id=project_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.changes:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def list_project_sessions(
        self,
        project_id: str,
        *,
        order: Literal["registered", "time"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.SessionList:
        """List a project's sessions.

        List the sessions of a project, those registered last first, or those that went on last.

        Args:
            order: Those that were registered, or went on, last come first.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}/sessions", project_id=project_id),
            query=query_of(order=order, limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.SessionList)

    async def iter_project_sessions(
        self,
        project_id: str,
        *,
        order: Literal["registered", "time"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.SessionItem]:
        """Iterate over what ``list_project_sessions`` lists, page by page; ``limit`` is the length of a page.

        Args:
            order: Those that were registered, or went on, last come first.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_project_sessions(
                project_id=project_id, order=order, limit=limit, cursor=cursor, app_id=app_id
            )
            for one in page.sessions:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def list_sessions(
        self,
        *,
        project_id: str | None = None,
        file: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        marked: bool | None = None,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.SessionList:
        """List sessions.

        List an app's sessions, those registered last first.

        Args:
            file: Only those that touched this file.
            since: Only those that went on then or later.
            until: Only those that had begun then.
            marked: Only those with, or without, marked parts.
            search: Only those whose id or name has this in it, in either case.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            "/api/memory/sessions",
            query=query_of(
                projectId=project_id,
                file=file,
                since=since,
                until=until,
                marked=marked,
                search=search,
                limit=limit,
                cursor=cursor,
                appId=app_id or self.app,
            ),
        )
        response = await self._send(call)
        return read(response, models.SessionList)

    async def iter_sessions(
        self,
        *,
        project_id: str | None = None,
        file: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        marked: bool | None = None,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.SessionItem]:
        """Iterate over what ``list_sessions`` lists, page by page; ``limit`` is the length of a page.

        Args:
            file: Only those that touched this file.
            since: Only those that went on then or later.
            until: Only those that had begun then.
            marked: Only those with, or without, marked parts.
            search: Only those whose id or name has this in it, in either case.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_sessions(
                project_id=project_id,
                file=file,
                since=since,
                until=until,
                marked=marked,
                search=search,
                limit=limit,
                cursor=cursor,
                app_id=app_id,
            )
            for one in page.sessions:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_session(self, session_id: str, *, app_id: str | None = None) -> models.SessionDetail:
        """Show a session.

        Show a session, with the files it touched most.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/sessions/{session_id}", session_id=session_id),
            query=query_of(appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.SessionDetail)

    async def register_session(
        self,
        project_id: str,
        session_id: str,
        *,
        content: Content | None = None,
        path: str | Omit = OMIT,
        dry_run: bool | None = None,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.SessionItem | models.SessionForeseen:
        """Register a session.

        Register a session: its transcript as the body, or as JSON the path of a file, which only an admin may give.

        The file is copied and never written. A project that is not there is opened. With `dryRun` only say what the
        transcript holds.

        Args:
            content: The file itself, as application/x-ndjson.
            path: An absolute path on the machine of the service.
            dry_run: Only say what would come of it.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of(
                "/api/memory/projects/{project_id}/sessions/{session_id}", project_id=project_id, session_id=session_id
            ),
            query=query_of(dryRun=dry_run, appId=app_id or self.app),
            content=content if content is not None else json_body(path=path),
            headers=write_headers(
                idempotency_key, "application/x-ndjson" if content is not None else "application/json"
            ),
        )
        response = await self._send(call)
        if response.status_code == 201:
            return read(response, models.SessionItem)
        return read(response, models.SessionForeseen)

    async def unregister_session(
        self, project_id: str, session_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Unregistered:
        """Unregister a session.

        Take a session out of the registry, with its versions; refused while a composition uses it.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of(
                "/api/memory/projects/{project_id}/sessions/{session_id}", project_id=project_id, session_id=session_id
            ),
            query=query_of(appId=app_id or self.app),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Unregistered)

    async def sync_session(
        self,
        session_id: str,
        content: Content | None = None,
        *,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.Synced:
        """Take in what was added to a session.

        Take in what was added to a session's original, or to the whole transcript that is sent as the body.

        Args:
            content: The file, as application/x-ndjson.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/sessions/{session_id}/sync", session_id=session_id),
            query=query_of(appId=app_id or self.app),
            content=content,
            headers=write_headers(idempotency_key, "application/x-ndjson" if content is not None else None),
        )
        response = await self._send(call)
        return read(response, models.Synced)

    async def delete_sessions(
        self, session_ids: Sequence[str], *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.DeletedSessions:
        """Unregister several sessions.

        Take several sessions out of the registry and say of each what became of it.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            "/api/memory/sessions/delete",
            query=query_of(appId=app_id or self.app),
            content=json_body(sessionIds=session_ids),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.DeletedSessions)

    async def list_keepits(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.MarkerList:
        """List marked parts.

        List a session's marked parts in their order, and what is wrong with those that are not well written.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/sessions/{session_id}/keepits", session_id=session_id),
            query=query_of(limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.MarkerList)

    async def weigh_keepit(
        self,
        session_id: str,
        marker_id: str,
        *,
        weight: float | Omit | None = OMIT,
        preset: Literal["PINNED", "CRITICAL", "IMPORTANT", "NOTABLE", "MINOR", "HINT"] | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.MarkerItem:
        """Weigh a marked part.

        Put another weight in the place of the one that is written, or take it back. No file is changed.

        Versions that are there stay as they are; those made from now on go by it.

        Args:
            weight: Two digits behind the point, as 0.80.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PUT",
            path_of(
                "/api/memory/sessions/{session_id}/keepits/{marker_id}", session_id=session_id, marker_id=marker_id
            ),
            query=query_of(appId=app_id or self.app),
            content=json_body(weight=weight, preset=preset),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.MarkerItem)

    async def preview_decay(
        self,
        session_id: str,
        compression_ratio: int,
        aggressiveness: Literal["light", "minimal", "moderate", "aggressive"],
        session_distance: int,
        *,
        app_id: str | None = None,
    ) -> models.DecayPreview:
        """Preview decay.

        Say which marked parts of a session a compression would keep word for word.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "POST",
            "/api/memory/decay/preview",
            query=query_of(appId=app_id or self.app),
            content=json_body(
                sessionId=session_id,
                compressionRatio=compression_ratio,
                aggressiveness=aggressiveness,
                sessionDistance=session_distance,
            ),
            headers=typed("application/json"),
        )
        response = await self._send(call)
        return read(response, models.DecayPreview)

    async def read_original(
        self,
        session_id: str,
        *,
        message_uuid: str | None = None,
        version_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.OriginalPage:
        """Read a session's original.

        Read what was said in a session, at most 200,000 characters at once. To begin to read it counts as a use.

        Args:
            message_uuid: Begin with this message, as a search names it.
            version_id: Say of each message how much of it this version holds.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/sessions/{session_id}/messages", session_id=session_id),
            query=query_of(
                messageUuid=message_uuid, versionId=version_id, limit=limit, cursor=cursor, appId=app_id or self.app
            ),
        )
        response = await self._send(call)
        return read(response, models.OriginalPage)

    async def iter_original(
        self,
        session_id: str,
        *,
        message_uuid: str | None = None,
        version_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.OriginalMessage]:
        """Iterate over what ``read_original`` lists, page by page; ``limit`` is the length of a page.

        Args:
            message_uuid: Begin with this message, as a search names it.
            version_id: Say of each message how much of it this version holds.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.read_original(
                session_id=session_id,
                message_uuid=message_uuid,
                version_id=version_id,
                limit=limit,
                cursor=cursor,
                app_id=app_id,
            )
            for one in page.messages:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    def follow_app(
        self,
        *,
        after: int | None = None,
        kinds: str | None = None,
        conversation_id: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[ServerSentEvent]:
        """Follow an app's events.

        Stream what happens in an app. Resume with `Last-Event-ID` or `after`; without either it begins now.

        Each event has its position as `id`, its kind as `event`, and as `data` a JSON object with position, kind,
        appId, conversationId, subject, details, at and, for kinds about a text, content. An event `gap` says what was
        lost to age.

        Args:
            after: Only events after this position; else from now on.
            kinds: Only these kinds, by commas, of: answer.sent, answer.pending, answer.rejected, conversation.ended,
                conversation.snoozed, conversation.woken, memory.created, memory.changed, memory.removed,
                memories.purged, fact.created, fact.changed, fact.removed, profile.changed, webhook.disabled,
                job.deferred, job.finished.
            conversation_id: Only events of this conversation.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/stream", appId=self._app(app_id)),
            query=query_of(after=after, kinds=kinds, conversationId=conversation_id),
        )
        return self._follow(call)

    def follow_all(self, *, after: int | None = None, kinds: str | None = None) -> AsyncIterator[ServerSentEvent]:
        """Follow everything.

        Stream what happens in every app, and the energy as it changes. Needs the admin token.

        Args:
            after: Only events after this position; else from now on.
            kinds: Only these kinds, by commas, of: answer.sent, answer.pending, answer.rejected, conversation.ended,
                conversation.snoozed, conversation.woken, memory.created, memory.changed, memory.removed,
                memories.purged, fact.created, fact.changed, fact.removed, profile.changed, webhook.disabled,
                job.deferred, job.finished.
        """
        call = Call("GET", "/stream", query=query_of(after=after, kinds=kinds))
        return self._follow(call)

    async def poll_events(
        self,
        *,
        after: int | None = None,
        wait: float | None = None,
        kinds: str | None = None,
        conversation_id: str | None = None,
        limit: int | None = None,
        app_id: str | None = None,
    ) -> models.EventList:
        """Wait for an app's events.

        List an app's events after a position; when there are none, wait for one. Without `after`: from now on.

        Args:
            after: Only events after this position; else from now on.
            wait: Seconds to wait for an event.
            kinds: Only these kinds, by commas, of: answer.sent, answer.pending, answer.rejected, conversation.ended,
                conversation.snoozed, conversation.woken, memory.created, memory.changed, memory.removed,
                memories.purged, fact.created, fact.changed, fact.removed, profile.changed, webhook.disabled,
                job.deferred, job.finished.
            conversation_id: Only events of this conversation.
            limit: Most items to return.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/events", appId=self._app(app_id)),
            query=query_of(after=after, wait=wait, kinds=kinds, conversationId=conversation_id, limit=limit),
        )
        response = await self._send(call)
        return read(response, models.EventList)

    async def add_webhook(
        self,
        url: str,
        *,
        kinds: Sequence[
            Literal[
                "answer.sent",
                "answer.pending",
                "answer.rejected",
                "conversation.ended",
                "conversation.snoozed",
                "conversation.woken",
                "memory.created",
                "memory.changed",
                "memory.removed",
                "memories.purged",
                "fact.created",
                "fact.changed",
                "fact.removed",
                "profile.changed",
                "webhook.disabled",
                "job.deferred",
                "job.finished",
            ]
        ]
        | Omit = OMIT,
        secret: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.AddedWebhook:
        """Add a webhook.

        Have an address told of an app's events. The secret that signs what is sent is shown this once.

        Args:
            kinds: Kinds of events; empty means all.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/webhooks", appId=self._app(app_id)),
            content=json_body(url=url, kinds=kinds, secret=secret),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.AddedWebhook)

    async def list_webhooks(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.WebhookList:
        """List webhooks.

        List an app's webhooks, the disabled ones too, and how the last delivery to each of them went.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/apps/{appId}/webhooks", appId=self._app(app_id)),
            query=query_of(limit=limit, cursor=cursor),
        )
        response = await self._send(call)
        return read(response, models.WebhookList)

    async def iter_webhooks(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.WebhookAnswer]:
        """Iterate over what ``list_webhooks`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_webhooks(limit=limit, cursor=cursor, app_id=app_id)
            for one in page.webhooks:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_webhook(self, webhook_id: str, *, app_id: str | None = None) -> models.WebhookAnswer:
        """Show a webhook.

        Show a webhook and how the last delivery to it went.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET", path_of("/apps/{appId}/webhooks/{webhook_id}", webhook_id=webhook_id, appId=self._app(app_id))
        )
        response = await self._send(call)
        return read(response, models.WebhookAnswer)

    async def change_webhook(
        self,
        webhook_id: str,
        *,
        url: str | Omit | None = OMIT,
        kinds: Sequence[
            Literal[
                "answer.sent",
                "answer.pending",
                "answer.rejected",
                "conversation.ended",
                "conversation.snoozed",
                "conversation.woken",
                "memory.created",
                "memory.changed",
                "memory.removed",
                "memories.purged",
                "fact.created",
                "fact.changed",
                "fact.removed",
                "profile.changed",
                "webhook.disabled",
                "job.deferred",
                "job.finished",
            ]
        ]
        | Omit
        | None = OMIT,
        enabled: bool | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.WebhookAnswer:
        """Change a webhook.

        Change what a webhook is told and where, disable it, or enable it again.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PATCH",
            path_of("/apps/{appId}/webhooks/{webhook_id}", webhook_id=webhook_id, appId=self._app(app_id)),
            content=json_body(url=url, kinds=kinds, enabled=enabled),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.WebhookAnswer)

    async def remove_webhook(
        self, webhook_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.Success:
        """Remove a webhook.

        Remove a webhook with its secret; what was to be sent there is not.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/apps/{appId}/webhooks/{webhook_id}", webhook_id=webhook_id, appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.Success)

    async def try_webhook(
        self, webhook_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.JobAnswer:
        """Try a webhook.

        Send an event of kind webhook.test now; the job says how it went.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/apps/{appId}/webhooks/{webhook_id}/test", webhook_id=webhook_id, appId=self._app(app_id)),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.JobAnswer)

    async def list_jobs(
        self,
        *,
        state: Literal["pending", "deferred", "queued", "running", "retrying", "done", "nothing", "dead", "cancelled"]
        | None = None,
        kind: Literal[
            "create_memory",
            "extract_facts",
            "summarise",
            "embed_messages",
            "index_messages",
            "compress_session",
            "compose_context",
            "learn_from_sessions",
            "end_conversation",
            "deliver_webhook",
        ]
        | None = None,
        reason: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.JobList:
        """List jobs.

        List jobs, newest first. An app's token must name its own app.

        Args:
            reason: Part of their reason, in any case of letters.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            "/jobs",
            query=query_of(state=state, kind=kind, reason=reason, limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.JobList)

    async def iter_jobs(
        self,
        *,
        state: Literal["pending", "deferred", "queued", "running", "retrying", "done", "nothing", "dead", "cancelled"]
        | None = None,
        kind: Literal[
            "create_memory",
            "extract_facts",
            "summarise",
            "embed_messages",
            "index_messages",
            "compress_session",
            "compose_context",
            "learn_from_sessions",
            "end_conversation",
            "deliver_webhook",
        ]
        | None = None,
        reason: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.JobAnswer]:
        """Iterate over what ``list_jobs`` lists, page by page; ``limit`` is the length of a page.

        Args:
            reason: Part of their reason, in any case of letters.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_jobs(
                state=state, kind=kind, reason=reason, limit=limit, cursor=cursor, app_id=app_id
            )
            for one in page.jobs:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_job(self, job_id: str) -> models.JobDetails:
        """Show a job.

        Show one job, and the calls it made.
        """
        call = Call("GET", path_of("/jobs/{job_id}", job_id=job_id))
        response = await self._send(call)
        return read(response, models.JobDetails)

    async def replay_jobs(
        self,
        *,
        kind: Literal[
            "create_memory",
            "extract_facts",
            "summarise",
            "embed_messages",
            "index_messages",
            "compress_session",
            "compose_context",
            "learn_from_sessions",
            "end_conversation",
            "deliver_webhook",
        ]
        | Omit
        | None = OMIT,
        reason: str | Omit | None = OMIT,
        dry_run: bool | Omit = OMIT,
        cursor: str | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ReplayAnswer:
        """Replay dead letters.

        Run dead letters again with fresh attempts, by app, by kind, by reason, or all, oldest first, 100 at a time.

        Args:
            reason: Part of their reason, in any case of letters.
            dry_run: Only count them.
            cursor: Goes on where a former round ended.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            "/jobs/replay",
            content=json_body(appId=app_id or self.app, kind=kind, reason=reason, dryRun=dry_run, cursor=cursor),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.ReplayAnswer)

    async def replay_job(self, job_id: str, *, idempotency_key: str | None = None) -> models.JobAnswer:
        """Replay a job.

        Run a dead or cancelled job again, with fresh attempts.

        Args:
            idempotency_key: Made anew for each call unless given.
        """
        call = Call("POST", path_of("/jobs/{job_id}/replay", job_id=job_id), headers=write_headers(idempotency_key))
        response = await self._send(call)
        return read(response, models.JobAnswer)

    async def cancel_job(self, job_id: str, *, idempotency_key: str | None = None) -> models.JobAnswer:
        """Cancel a job.

        Stop a job that has not finished; one that is being worked on can write nothing any more.

        Args:
            idempotency_key: Made anew for each call unless given.
        """
        call = Call("POST", path_of("/jobs/{job_id}/cancel", job_id=job_id), headers=write_headers(idempotency_key))
        response = await self._send(call)
        return read(response, models.JobAnswer)

    async def list_compositions(
        self,
        project_id: str,
        *,
        state: Literal["working", "ready", "failed"] | None = None,
        session_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.CompositionList:
        """List compositions.

        List a project's compositions, newest first, those under way and those that failed included.

        Args:
            state: Only those that stand so.
            session_id: Only those with this session.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}/compositions", project_id=project_id),
            query=query_of(state=state, sessionId=session_id, limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.CompositionList)

    async def iter_compositions(
        self,
        project_id: str,
        *,
        state: Literal["working", "ready", "failed"] | None = None,
        session_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> AsyncIterator[models.CompositionAnswer]:
        """Iterate over what ``list_compositions`` lists, page by page; ``limit`` is the length of a page.

        Args:
            state: Only those that stand so.
            session_id: Only those with this session.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_compositions(
                project_id=project_id, state=state, session_id=session_id, limit=limit, cursor=cursor, app_id=app_id
            )
            for one in page.compositions:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def make_composition(
        self,
        project_id: str,
        components: Sequence[models.ComponentRequest | Mapping[str, Any]],
        total_token_budget: int,
        name: str,
        *,
        strategy: Literal["equal", "proportional", "recent-first", "custom"] | Omit = OMIT,
        output_format: Literal["markdown", "jsonl", "both"] | Omit = OMIT,
        order: Literal["as-given", "oldest-first"] | Omit = OMIT,
        min_freshness: int | Omit | None = OMIT,
        model: str | Omit | None = OMIT,
        replace: bool | Omit = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.CompositionMade:
        """Compose a context.

        Ask for a context made of several sessions within a token budget; versions it lacks are made first.

        Args:
            total_token_budget: Never exceeded.
            name: Unique in its project; also its folder's name.
            min_freshness: 1: versions must cover all there is now; 10: any version will do.
            model: Who compresses where that is needed.
            replace: Whether one of that name makes way; it is removed at once.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/compositions", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(
                components=components,
                totalTokenBudget=total_token_budget,
                strategy=strategy,
                outputFormat=output_format,
                order=order,
                minFreshness=min_freshness,
                model=model,
                name=name,
                replace=replace,
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.CompositionMade)

    async def preview_composition(
        self,
        project_id: str,
        components: Sequence[models.ComponentRequest | Mapping[str, Any]],
        total_token_budget: int,
        *,
        strategy: Literal["equal", "proportional", "recent-first", "custom"] | Omit = OMIT,
        output_format: Literal["markdown", "jsonl", "both"] | Omit = OMIT,
        order: Literal["as-given", "oldest-first"] | Omit = OMIT,
        min_freshness: int | Omit | None = OMIT,
        model: str | Omit | None = OMIT,
        name: str | Omit | None = OMIT,
        app_id: str | None = None,
    ) -> models.CompositionForeseen:
        """Foresee a composition.

        Say what each session would get, as which version, and what would have to be compressed. Nothing is written.

        Args:
            total_token_budget: Never exceeded.
            min_freshness: 1: versions must cover all there is now; 10: any version will do.
            model: Who compresses where that is needed.
            name: Stands above it, so that a long one takes a few tokens.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/compositions/preview", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(
                components=components,
                totalTokenBudget=total_token_budget,
                strategy=strategy,
                outputFormat=output_format,
                order=order,
                minFreshness=min_freshness,
                model=model,
                name=name,
            ),
            headers=typed("application/json"),
        )
        response = await self._send(call)
        return read(response, models.CompositionForeseen)

    async def show_composition(self, composition_id: str, *, app_id: str | None = None) -> models.CompositionAnswer:
        """Show a composition.

        Show what a composition is made of, or hand out what it says.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/compositions/{composition_id}", composition_id=composition_id),
            query=query_of(appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.CompositionAnswer)

    async def show_composition_text(
        self, composition_id: str, format: Literal["markdown", "jsonl"], *, app_id: str | None = None
    ) -> str:
        """Show a composition.

        Show what a composition is made of, or hand out what it says.

        Args:
            format: `json`: what it is made of. The others: what it says, which counts as a use.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/compositions/{composition_id}", composition_id=composition_id),
            query=query_of(format=format, appId=app_id or self.app),
        )
        response = await self._send(call)
        return response.text

    async def remove_composition(
        self, composition_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.CompositionRemoved:
        """Remove a composition.

        Remove a composition with its documents, and stop its job; its sessions and versions stay.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of("/api/memory/compositions/{composition_id}", composition_id=composition_id),
            query=query_of(appId=app_id or self.app),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.CompositionRemoved)

    async def use_composition(
        self, composition_id: str, session_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.CompositionAnswer:
        """Say who used it.

        Say that a session began with a composition; a session is noted once.

        Args:
            session_id: It need not be registered.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/compositions/{composition_id}/used", composition_id=composition_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(sessionId=session_id),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.CompositionAnswer)

    async def compose_again(
        self,
        composition_id: str,
        *,
        name: str | Omit | None = OMIT,
        replace: bool | Omit = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.CompositionMade:
        """Compose again.

        Ask for the same over what there is now, under a new name or in this one's place.

        Args:
            name: Of the new one; unless said, it takes this one's place.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/compositions/{composition_id}/again", composition_id=composition_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(name=name, replace=replace),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.CompositionMade)

    async def list_versions(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.VersionList:
        """List versions.

        List the versions of a session that are whole, newest first, and the one that is being made.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/sessions/{session_id}/versions", session_id=session_id),
            query=query_of(limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.VersionList)

    async def iter_versions(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.VersionAnswer]:
        """Iterate over what ``list_versions`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_versions(session_id=session_id, limit=limit, cursor=cursor, app_id=app_id)
            for one in page.versions:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def make_version(
        self,
        session_id: str,
        *,
        mode: Literal["uniform", "tiered"] | Omit = OMIT,
        compaction_ratio: int | Omit | None = OMIT,
        aggressiveness: Literal["minimal", "moderate", "aggressive"] | Omit | None = OMIT,
        tier_preset: Literal["gentle", "standard", "aggressive", "custom"] | Omit | None = OMIT,
        custom_tiers: Sequence[models.Tier | Mapping[str, Any]] | Omit | None = OMIT,
        model: str | Omit | None = OMIT,
        skip_first_messages: int | Omit = OMIT,
        keepit_mode: Literal["decay", "preserve-all", "ignore"] | Omit = OMIT,
        session_distance: int | Omit = OMIT,
        decay: models.KeepitDecay | Mapping[str, Any] | Omit | None = OMIT,
        source_version: str | Omit | None = OMIT,
        reason: str | Omit = OMIT,
        dry_run: bool | Omit = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.VersionMade:
        """Compress a session.

        Ask for a version of a session, or with `dryRun` only for what would come of it.

        Args:
            compaction_ratio: Of the uniform mode; 10 unless said.
            aggressiveness: Of the uniform mode; by the ratio unless said.
            tier_preset: Of the tiered mode; standard unless said.
            custom_tiers: Ascending, the last ends at 100.
            model: Who compresses: `extractive`, or the model of the settings; that unless said.
            skip_first_messages: Messages at the beginning to leave out.
            session_distance: 1: the latest session; 10 and more: an old one.
            decay: What is left out is as the project says.
            source_version: The version to make it from; the original unless said.
            reason: Kept with the version.
            dry_run: Only say what would come of it.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/sessions/{session_id}/versions", session_id=session_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(
                mode=mode,
                compactionRatio=compaction_ratio,
                aggressiveness=aggressiveness,
                tierPreset=tier_preset,
                customTiers=custom_tiers,
                model=model,
                skipFirstMessages=skip_first_messages,
                keepitMode=keepit_mode,
                sessionDistance=session_distance,
                decay=decay,
                sourceVersion=source_version,
                reason=reason,
                dryRun=dry_run,
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.VersionMade)

    async def read_version(
        self, session_id: str, version_id: str, *, app_id: str | None = None
    ) -> models.VersionContent:
        """Read a version.

        Read what a version says: as Markdown, or as a transcript that tools can go on with; these count as a use.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of(
                "/api/memory/sessions/{session_id}/versions/{version_id}", session_id=session_id, version_id=version_id
            ),
            query=query_of(appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.VersionContent)

    async def read_version_text(
        self, session_id: str, version_id: str, format: Literal["markdown", "jsonl"], *, app_id: str | None = None
    ) -> str:
        """Read a version.

        Read what a version says: as Markdown, or as a transcript that tools can go on with; these count as a use.

        Args:
            format: `json`: the version with its Markdown; `jsonl`: as a transcript.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of(
                "/api/memory/sessions/{session_id}/versions/{version_id}", session_id=session_id, version_id=version_id
            ),
            query=query_of(format=format, appId=app_id or self.app),
        )
        response = await self._send(call)
        return response.text

    async def remove_version(
        self, session_id: str, version_id: str, *, app_id: str | None = None, idempotency_key: str | None = None
    ) -> models.VersionRemoved:
        """Remove a version.

        Remove a version that nothing uses, with its files; the session and its other versions stay.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "DELETE",
            path_of(
                "/api/memory/sessions/{session_id}/versions/{version_id}", session_id=session_id, version_id=version_id
            ),
            query=query_of(appId=app_id or self.app),
            headers=write_headers(idempotency_key),
        )
        response = await self._send(call)
        return read(response, models.VersionRemoved)

    async def list_session_jobs(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> models.SessionJobList:
        """List jobs about sessions.

        List an app's compressions, compositions and the like, newest first, each with how far it has come.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call("GET", "/api/memory/jobs", query=query_of(limit=limit, cursor=cursor, appId=app_id or self.app))
        response = await self._send(call)
        return read(response, models.SessionJobList)

    async def iter_session_jobs(
        self, *, limit: int | None = None, cursor: str | None = None, app_id: str | None = None
    ) -> AsyncIterator[models.SessionJobAnswer]:
        """Iterate over what ``list_session_jobs`` lists, page by page; ``limit`` is the length of a page.

        Args:
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        while True:
            page = await self.list_session_jobs(limit=limit, cursor=cursor, app_id=app_id)
            for one in page.jobs:
                yield one
            cursor = page.cursor
            if cursor is None:
                return

    async def show_session_job(self, job_id: str, *, app_id: str | None = None) -> models.SessionJobAnswer:
        """Show a job about sessions.

        Show how far a compression or a composition has come.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET", path_of("/api/memory/jobs/{job_id}", job_id=job_id), query=query_of(appId=app_id or self.app)
        )
        response = await self._send(call)
        return read(response, models.SessionJobAnswer)

    async def compare_versions(
        self,
        session_id: str,
        version_id: str,
        with_: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        app_id: str | None = None,
    ) -> models.VersionComparison:
        """Compare two versions.

        Say what a version has that another lacks, by kind and count, and which texts differ, page by page.

        Args:
            with_: The other version's id.
            limit: Most items to return.
            cursor: Goes on where a former page ended.
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of(
                "/api/memory/sessions/{session_id}/versions/{version_id}/comparison",
                session_id=session_id,
                version_id=version_id,
            ),
            query=query_of(with_=with_, limit=limit, cursor=cursor, appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.VersionComparison)

    async def prune_versions(
        self,
        project_id: str,
        *,
        unused: bool | Omit = OMIT,
        superseded: bool | Omit = OMIT,
        older_than_days: int | Omit | None = OMIT,
        session_ids: Sequence[str] | Omit = OMIT,
        dry_run: bool | Omit = OMIT,
        versions: Sequence[models.NamedVersion | Mapping[str, Any]] | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.Pruned:
        """Prune versions.

        Remove versions nobody needs, or say which would go; what a composition uses is never removed.

        Args:
            unused: Never used, in any composition or otherwise.
            superseded: A newer one was made with the same settings of the same, and of no less.
            older_than_days: Neither made nor used since.
            session_ids: Only versions of these; of all where none is named.
            dry_run: Only says what would go.
            versions: These, instead of rules; one that is in use is refused.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/prune", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(
                unused=unused,
                superseded=superseded,
                olderThanDays=older_than_days,
                sessionIds=session_ids,
                dryRun=dry_run,
                versions=versions,
            ),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.Pruned)

    async def show_ageing(self, project_id: str, *, app_id: str | None = None) -> models.AgeingAnswer:
        """Show how versions age.

        Show the rules of a project, and what the last run did or would have done.

        Args:
            app_id: The app, where it is not that of the client.
        """
        call = Call(
            "GET",
            path_of("/api/memory/projects/{project_id}/ageing", project_id=project_id),
            query=query_of(appId=app_id or self.app),
        )
        response = await self._send(call)
        return read(response, models.AgeingAnswer)

    async def change_ageing(
        self,
        project_id: str,
        *,
        retention: models.Retention | Mapping[str, Any] | Omit | None = OMIT,
        auto_decay: models.AutoDecay | Mapping[str, Any] | Omit | None = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.AgeingAnswer:
        """Change how versions age.

        Change the rules. The first run after that only shows what it would do; the next one does it.

        Args:
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "PUT",
            path_of("/api/memory/projects/{project_id}/ageing", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(retention=retention, autoDecay=auto_decay),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.AgeingAnswer)

    async def run_ageing(
        self,
        project_id: str,
        *,
        dry_run: bool | Omit = OMIT,
        app_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.AgeingDone:
        """Age versions now.

        Follow the rules now: write the plan down, or carry it out; versions to be made are asked for as jobs.

        Args:
            dry_run: Only writes the plan down; rules that changed must be run so first.
            app_id: The app, where it is not that of the client.
            idempotency_key: Made anew for each call unless given.
        """
        call = Call(
            "POST",
            path_of("/api/memory/projects/{project_id}/ageing/run", project_id=project_id),
            query=query_of(appId=app_id or self.app),
            content=json_body(dryRun=dry_run),
            headers=write_headers(idempotency_key, "application/json"),
        )
        response = await self._send(call)
        return read(response, models.AgeingDone)

    async def show_token(self) -> models.TokenRights:
        """Show what your token opens.

        Show what the token of this request opens.
        """
        call = Call("GET", "/token")
        response = await self._send(call)
        return read(response, models.TokenRights)

    async def make_login(self, *, idempotency_key: str | None = None) -> models.LoginMade:
        """Log in.

        Make a login: a secret that is sent like the token of this request, and opens the same for as long as that
        does.

        It is for a browser, which need not keep the token itself. It ends after a week, or when it is ended. A login
        makes no other one, and a token has at most its newest fifty.

        Args:
            idempotency_key: Made anew for each call unless given.
        """
        call = Call("POST", "/logins", headers=write_headers(idempotency_key))
        response = await self._send(call)
        return read(response, models.LoginMade)

    async def end_login(self, *, idempotency_key: str | None = None) -> models.Success:
        """Log out.

        End the login that this request was sent with.

        Args:
            idempotency_key: Made anew for each call unless given.
        """
        call = Call("DELETE", "/logins", headers=write_headers(idempotency_key))
        response = await self._send(call)
        return read(response, models.Success)

    async def show_energy(self) -> models.EnergyAnswer:
        """Show the energy.

        Show the energy level and what it holds back.
        """
        call = Call("GET", "/energy")
        response = await self._send(call)
        return read(response, models.EnergyAnswer)

    async def show_energy_history(self, *, hours: int | None = None) -> models.EnergyHistory:
        """Show the energy of the last hours.

        Show by hours (UTC) how low the level went and what was spent, by kind and app. Needs the admin token.

        Costs no energy.
        """
        call = Call("GET", "/energy/history", query=query_of(hours=hours))
        response = await self._send(call)
        return read(response, models.EnergyHistory)

    async def show_storage(self) -> models.Storage:
        """Show what the tables take.

        Show rows and bytes by table, and how far back each reaches. Needs the admin token; on SQLite it reads it all.
        """
        call = Call("GET", "/storage")
        response = await self._send(call)
        return read(response, models.Storage)

    async def show_findings(self) -> models.DoctorFindings:
        """Look at the installation.

        Look at the service's machine, its settings, stores and models, as `afterthought doctor` does.

        Needs the admin token; asks the model's server and Redis, and takes up to some seconds.
        """
        call = Call("GET", "/doctor")
        response = await self._send(call)
        return read(response, models.DoctorFindings)

    async def show_liveness(self) -> models.Live:
        """Whether the process answers.

        Answer. Asks nothing of anything; needs no token.
        """
        call = Call("GET", "/health/live")
        response = await self._send(call)
        return read(response, models.Live)

    async def show_readiness(self) -> models.Ready:
        """Whether the loop can serve.

        Look at each dependency. Needs no token.
        """
        call = Call("GET", "/health/ready")
        response = await self._send(call)
        return read(response, models.Ready)

    async def show_metrics(self) -> str:
        """Metrics for Prometheus.

        Add up what all processes counted, and read the present state. Needs the admin token, or that for metrics.

        Totals are up to a minute old, or more where counting them takes seconds; `afterthought_totals_age_seconds`
        says.
        """
        call = Call("GET", "/metrics")
        response = await self._send(call)
        return response.text
