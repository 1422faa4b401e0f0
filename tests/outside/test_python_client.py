"""The Python client against a running service: memories, errors, broken connections, streams and tenants."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from afterthought_client import (
    Afterthought,
    AsyncAfterthought,
    Conflict,
    ConnectionFailed,
    Invalid,
    NotFound,
    RetryPolicy,
    Unauthenticated,
)
from tests.support.breaking_proxy import BreakingProxy, breaking_proxy
from tests.support.services import CHECKOUT, System, free_port
from tests.support.wheels import unpack_wheel

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
SAID = [
    {"role": "user", "content": "I moved to Lisbon in May and started to restore an old sailing boat."},
    {"role": "assistant", "content": "Lisbon suits you."},
]
PATIENT = RetryPolicy(retries=40, longest_wait_seconds=1.0)


@pytest.fixture(scope="module")
def admin(system: System) -> Iterator[Afterthought]:
    with Afterthought(system.url, system.admin_token) as client:
        yield client


@pytest.fixture
def token(admin: Afterthought, request: pytest.FixtureRequest) -> str:
    """The token of an app that is the test's own, and named like it."""
    app = _app(request)
    admin.install_app(app, app)
    return admin.issue_token(app_id=app).token


@pytest.fixture
def client(system: System, token: str, request: pytest.FixtureRequest) -> Iterator[Afterthought]:
    with Afterthought(system.url, token, app=_app(request)) as opened:
        yield opened


@pytest.fixture
def proxy(system: System) -> Iterator[BreakingProxy]:
    with breaking_proxy("127.0.0.1", int(system.url.rsplit(":", 1)[1])) as running:
        yield running


def _app(request: pytest.FixtureRequest) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", str(request.node.name))[:90]


def test_a_conversation_becomes_a_memory(client: Afterthought) -> None:
    conversation = client.start_conversation(user_id="ada", metadata={"from": "a test"})
    client.add_messages(conversation.conversation_id, SAID)
    [job, *_] = client.end_conversation(conversation.conversation_id).jobs
    assert (job.kind, job.conversation_id) == ("create_memory", conversation.conversation_id)
    event = next(client.follow_app(after=0, kinds="memory.created"))
    [memory] = client.list_memories(user_id="ada").memories
    assert "Lisbon" in memory.content and event.data["content"] == memory.content
    assert client.list_messages(conversation.conversation_id).messages[0]["content"] == SAID[0]["content"]
    context = client.compose_context(user_id="ada", message="Where do I live?")
    assert memory.content in context.system_prompt and context.messages[-1]["content"] == "Where do I live?"


def test_a_refusal_is_an_error_of_its_kind_with_its_code(
    admin: Afterthought, client: Afterthought, system: System
) -> None:
    with pytest.raises(Conflict) as twice:
        admin.install_app(str(client.app), "again")
    assert (twice.value.code, twice.value.status) == ("already_installed", 409)
    with pytest.raises(NotFound) as absent:
        client.show_memory(12345)
    assert absent.value.code == "not_found" and "12345" in str(absent.value)
    with pytest.raises(Invalid) as wrong:
        client.write_memory("")
    assert wrong.value.details["fields"][0]["field"] == "content"
    with pytest.raises(Unauthenticated), Afterthought(system.url, "not-a-token", app="chat") as stranger:
        stranger.list_memories()


def test_no_method_that_names_a_user_returns_what_another_said(client: Afterthought, system: System) -> None:
    for user, plant in (("ann", "quillwort"), ("bob", "zyzzogeton"), (None, "spleenwort")):
        _tell_everything(client, user, f"I keep a plant, a {plant}.")
    needed = {"message": "What do I keep, a plant?", "query": "keep a plant", "q": "keep a plant", "consent": True}
    # What erases comes last, and is taken back while that goes.
    named = sorted(
        (name for name, method in inspect.getmembers(client, inspect.ismethod)
         if "user_id" in inspect.signature(method).parameters and not name.startswith(("_", "write_", "start_"))),
        key=lambda name: " clear undo erase purge".find(" " + name.partition("_")[0]),
    )  # fmt: skip
    found = {}
    # Some are an admin's alone.
    with Afterthought(system.url, system.admin_token, app=client.app) as admin:
        for name in named:
            found[name] = _asked(getattr(admin, name), needed)
    assert {name for name, answer in found.items() if "zyzzogeton" in answer or "spleenwort" in answer} == set()
    holding = {name for name, answer in found.items() if "quillwort" in answer}
    assert holding >= {
        "compose_context",
        "search_messages",
        "list_memories",
        "iter_facts",
        "show_profile",
        "export_app",
    }


def _asked(method: Callable[..., Any], needed: dict[str, Any]) -> str:
    given = {key: value for key, value in needed.items() if key in inspect.signature(method).parameters}
    answer = method(user_id="ann", **given)
    return repr(list(answer) if isinstance(answer, Iterator) else answer)


def _tell_everything(client: Afterthought, user: str | None, said: str) -> None:
    client.write_memory(said, user_id=user)
    client.write_fact(said, user_id=user)
    if user is not None:
        client.change_consent(consent=True, user_id=user)
        client.write_profile(freeform_notes=said, user_id=user)
    conversation = client.start_conversation(user_id=user).conversation_id
    client.add_messages(conversation, [{"role": "user", "content": said}])


def test_a_write_whose_answer_was_lost_is_done_once(client: Afterthought, proxy: BreakingProxy, token: str) -> None:
    with Afterthought(proxy.url, token, app=client.app) as broken:
        proxy.answers_to_lose = 2
        written = broken.write_memory("Ada flies kites.")
    assert proxy.lost == 2
    assert [one.id for one in client.iter_memories()] == [written.id]


def test_two_calls_are_two_writes_unless_they_have_one_key(client: Afterthought) -> None:
    first, second = (client.write_memory("The same.") for _ in range(2))
    third, again = (client.write_memory("The same.", idempotency_key="mine") for _ in range(2))
    assert len({first.id, second.id, third.id, again.id}) == 3 and third.id == again.id


def test_nobody_there_is_said_after_so_many_tries() -> None:
    nobody = Afterthought(f"http://127.0.0.1:{free_port()}", "secret-token", app="chat", retry=RetryPolicy(retries=1))
    with nobody, pytest.raises(ConnectionFailed, match=r"did not answer in 2 tries") as failed:
        nobody.list_memories()
    assert "secret-token" not in repr(failed.value) + repr(nobody) + repr(vars(nobody))


def test_a_listing_is_iterated_over_page_by_page(client: Afterthought) -> None:
    for number in range(4):
        client.write_memory(f"Memory {number}.", tags=["kept"], pinned=True)
    for limit in (1, 2, 200):
        contents = [one.content for one in client.iter_memories(limit=limit)]
        assert contents == ["Memory 3.", "Memory 2.", "Memory 1.", "Memory 0."]


def test_a_stream_goes_on_where_it_broke_off(client: Afterthought, proxy: BreakingProxy, token: str) -> None:
    with Afterthought(proxy.url, token, app=client.app, retry=PATIENT) as listener:
        events = listener.follow_app(after=0, kinds="memory.created")
        client.write_memory("First.")
        client.write_memory("Second.")
        told = [next(events).data["content"] for _ in range(2)]
        proxy.break_all()
        client.write_memory("Third.")
        told.append(next(events).data["content"])
        events.close()  # type: ignore[attr-defined]
    assert told == ["First.", "Second.", "Third."]


def test_a_stream_with_asyncio_goes_on_where_it_broke_off(
    client: Afterthought, proxy: BreakingProxy, token: str
) -> None:
    async def listen() -> list[str]:
        told: list[str] = []
        async with AsyncAfterthought(proxy.url, token, app=client.app, retry=PATIENT) as listener:
            await listener.write_memory("First.")
            async for event in listener.follow_app(after=0, kinds="memory.created"):
                told.append(event.data["content"])
                if len(told) == 2:
                    break
                proxy.break_all()
                await listener.write_memory("Second.")
        return told

    assert asyncio.run(listen()) == ["First.", "Second."]


def test_the_wheel_runs_the_readmes_program_beside_nothing_but_httpx_and_pydantic(
    system: System, token: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    installed = unpack_wheel("clients/python", tmp_path)
    _link_what_it_needs(installed)
    [program, *_] = re.findall(
        r"```python\n(.*?)```", (CHECKOUT / "clients/python/README.md").read_text("utf-8"), re.DOTALL
    )
    program = f"import sys\nsys.path.append({str(installed)!r})\n" + program.replace('"chat"', repr(_app(request)))
    env = {"AFTERTHOUGHT_URL": system.url, "AFTERTHOUGHT_TOKEN": token, "PATH": ""}
    # Isolated and without the packages of this environment.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Lisbon" in done.stdout


def _link_what_it_needs(installed: Path) -> None:
    """Put links to the wheel's requirements, and theirs, beside it."""
    [here] = installed.glob("*.dist-info")
    todo, known = list(metadata.PathDistribution(here).requires or ()), set[str]()
    while todo:
        requirement = Requirement(todo.pop())
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if not applies or canonicalize_name(requirement.name) in known:
            continue
        known.add(canonicalize_name(requirement.name))
        needed = metadata.distribution(requirement.name)
        todo += needed.requires or ()
        for part in {Path(str(file)).parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
            (installed / part).symlink_to(str(needed.locate_file(part)))


def test_calls_and_streams_outlive_a_killed_loop(system: System, client: Afterthought, token: str) -> None:
    with Afterthought(system.url, token, app=client.app, retry=PATIENT) as patient:
        events = patient.follow_app(after=0, kinds="memory.created")
        patient.write_memory("Before.")
        told = [next(events).data["content"]]
        system.kill(system.loop)
        system.loop.start()
        written = patient.write_memory("After.")
        told.append(next(events).data["content"])
        events.close()  # type: ignore[attr-defined]
    system.wait_ready()
    assert told == ["Before.", "After."]
    assert [one.content for one in client.iter_memories()] == ["After.", "Before."] and written.id
