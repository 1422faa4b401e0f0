"""What a request costs the database, counted in statements: what an app does all the time must stay cheap."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from loop.api import guard
from shared.apps.tokens import revoke
from tests.support.api import Api


@contextmanager
def statements(api: Api) -> Iterator[list[str]]:
    """Note every statement of the block but those that begin and end transactions."""
    said: list[str] = []

    def hear(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith("BEGIN"):
            said.append(" ".join(statement.split()))

    engine = api.loop.database.engine
    sa.event.listen(engine, "before_cursor_execute", hear)
    try:
        yield said
    finally:
        sa.event.remove(engine, "before_cursor_execute", hear)


def test_a_message_is_added_in_few_statements_and_its_conversation_written_once(api: Api) -> None:
    path, token = api.install(), api.token()
    talk = f"{path}/conversations/c1/messages"
    api.converse(path, "c1", "Good morning.")
    api.ask("GET", path, token=token)
    for role, most in (("user", 7), ("assistant", 8)):
        with statements(api) as said:
            api.ask("POST", talk, token=token, json={"role": role, "content": "I keep bees behind the house."})
        assert len(said) <= most, said
        assert sum(one.startswith("UPDATE conversations") for one in said) == 1, said


def test_who_holds_a_token_is_not_looked_up_for_every_request(sqlite_api: Api) -> None:
    path, token = sqlite_api.install(), sqlite_api.token()
    with statements(sqlite_api) as said:
        for _ in range(5):
            sqlite_api.ask("GET", path, token=token)
    assert 1 <= sum("FROM tokens" in one for one in said) < 5


def test_a_token_revoked_here_opens_nothing_from_then_on(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    token = str(sqlite_api.ask("POST", f"{path}/tokens", json={"grants": ["tokens"]})["token"])
    for _ in range(20):
        issued = sqlite_api.ask("POST", f"{path}/tokens")
        sqlite_api.ask("GET", path, token=issued["token"])
        sqlite_api.ask("DELETE", f"{path}/tokens/{issued['tokenId']}", token=token)
        sqlite_api.refused(401, "GET", path, token=issued["token"])


def test_a_token_revoked_by_another_loop_is_refused_once_it_is_looked_up_again(
    sqlite_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sqlite_api.install()
    issued = sqlite_api.ask("POST", f"{path}/tokens")
    sqlite_api.ask("GET", path, token=issued["token"])
    with sqlite_api.loop.database.write() as session:
        revoke(session, "chat", issued["tokenId"], sqlite_api.clock.now())
    monkeypatch.setattr(guard, "REMEMBERED_SECONDS", 0.0)
    sqlite_api.refused(401, "GET", path, token=issued["token"])
