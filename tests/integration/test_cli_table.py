"""Each command of the table once, against the interface in process: its operation is carried out, its columns shown."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typer.models import ArgumentInfo

from afterthought_client import Afterthought
from loop.api.openapi import operation_id
from loop.cli.program import COMMANDS
from loop.cli.table import Command, Invocation, flags_of, snake
from shared.base.settings import Settings, environment_names
from shared.conversations import answers, queries
from shared.conversations.answers import AnswerDraft
from tests.support.api import ADMIN, Api, open_api
from tests.support.command_line import run, served
from tests.support.composing import PROJECT, Shop, transcript
from tests.support.house import House
from tests.support.transcripts import user, write

CHECKOUT = Path(__file__).resolve().parents[2]
BY_NAME = {one.name: one for one in COMMANDS}
ELSEWHERE = {
    "doctor": "test_cli_doctor",
    "import": "test_cli_import",
    "events follow": "test_api_webhooks",
    "sessions confirm": "test_cli_recorded: what is learnt",
    "sessions reject": "test_cli_recorded: what is learnt",
}
"""Programs, and what needs more than one call."""
MORE = {
    "apps update": "--daily-budget none",
    "users update": "--time-zone Europe/Lisbon",
    "memories edit": "--content Tea --pin",
    "tuning set": "--no-chunking",
    "jobs replay": "JOB",
    "sessions search": "tea",
    "sessions compress": "--no-wait",
    "sessions compose": "--preview",
    "sessions compose-again": "--name again --no-wait",
    "sessions learn": "--no-wait",
    "sessions prune": "--unused",
}
"""What is given beside the arguments a command needs."""
EMPTY = {"summaries list", "profile audit", "sessions learnt", "events list", "sessions jobs"}
"""Listings in which nothing stands yet: they say so in words."""


class Seen:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.operations: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and "route" in scope:
                self.operations.append(snake(scope["route"].operation_id or operation_id(scope["route"])))
            await send(message)

        await self._app(scope, receive, note)


@dataclass
class World:
    """A service with whatever a command can be about, made as it is named, each time in an app of its own."""

    api: Api
    url: str
    seen: Seen
    house: House
    folder: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    app: str = ""

    def words(self, command: Command) -> list[str]:
        self.app = f"app{next(self._numbers)}"
        self.path = self.api.install(self.app)
        self.shop = Shop(self.house, self.api.loop.store, self.folder, app_id=self.app)
        words = command.name.split()
        for one in command.parameters:
            info = next(iter(getattr(one.annotation, "__metadata__", ())), None)
            if one.default is inspect.Parameter.empty and info is not None:
                flag = [] if isinstance(info, ArgumentInfo) else flags_of(info)[:1]
                words += [*flag, self.file() if flag == ["-o"] else self.value(one.name, command.name)]
            if one.name == "yes":
                words.append("--yes")
        for word in MORE.get(command.name, "").split():
            words.append(self.cancelled() if word == "JOB" else word)
        return words

    def value(self, name: str, command: str) -> str:
        made: Callable[[], str] = {
            "app_id": lambda: f"{self.app}b" if command == "apps install" else self.app,
            "answer_id": self.answer, "conversation_id": self.conversation, "user_id": self.user,
            "memory_id": lambda: str(self.api.remember(self.path, "Likes tea.")[0]), "fact_id": self.fact,
            "ids": self.fact, "job_id": self.job, "token_id": self.token, "webhook_id": self.webhook,
            "project_id": self.other_project if command.startswith("sessions link") else self.project,
            "session_id": self.session, "session_ids": self.session,
            "sessions": self.session, "files": self.transcript, "file": self.archive, "marker_id": self.marker,
            "version_id": self.version, "with_": lambda: "v001", "composition_id": self.composition,
            "source_session": self.session, "source_project": lambda: PROJECT, "link_id": self.link,
            "category": lambda: "project", "address": lambda: "http://127.0.0.1:9/hook", "weight": lambda: "0.5",
            "original_path": lambda: "/home/me/app", "name": lambda: "start",
        }.get(name, lambda: "Likes tea.")  # fmt: skip
        return made()

    def post(self, path: str, **body: Any) -> Any:
        return self.api.ask("POST", path, json=body)

    def conversation(self) -> str:
        self.api.converse(self.path, "c1", "Hello there.")
        return "c1"

    def user(self) -> str:
        self.post(f"{self.path}/facts", fact="Likes tea", userId="ann")
        return "ann"

    def fact(self) -> str:
        return str(self.post(f"{self.path}/facts", fact="Likes tea")["id"])

    def job(self) -> str:
        self.conversation()
        return str(self.post(f"{self.path}/conversations/c1/end")["jobs"][0]["jobId"])

    def cancelled(self) -> str:
        job = self.job()
        self.post(f"/jobs/{job}/cancel")
        return job

    def answer(self) -> str:
        self.conversation()
        with self.api.loop.database.write() as session:
            conversation = queries.lock_conversation(session, self.app, "c1")
            draft = AnswerDraft("Hello.", conversation.message_count - 1, "ollama:m")
            return answers.give(session, conversation, draft, True, self.api.clock.now()).answer_id

    def token(self) -> str:
        return str(self.post(f"{self.path}/tokens")["tokenId"])

    def webhook(self) -> str:
        return str(self.post(f"{self.path}/webhooks", url="http://127.0.0.1:9/hook")["webhookId"])

    def session(self) -> str:
        if not self.api.ask("GET", f"/api/memory/sessions?appId={self.app}")["sessions"]:
            self.shop.take_in("s1", transcript("s1", 6, marked="##keepit0.80## Keep it"))
        return "s1"

    def project(self) -> str:
        self.session()
        return PROJECT

    def transcript(self) -> str:
        return str(write(self.folder / self.app / "s2.jsonl", user("Tea", "1", cwd="/home/me/app")))

    def marker(self) -> str:
        listed = self.api.ask("GET", f"/api/memory/sessions/{self.session()}/keepits?appId={self.app}")
        return str(listed["keepits"][0]["markerId"])

    def version(self) -> str:
        self.session()
        self.shop.version("s1", 300, settings={"mode": "tiered", "tierPreset": "standard"})
        return "v001"

    def composition(self) -> str:
        self.session()
        self.shop.ask("start", "s1", budget=20_000)
        self.shop.work_off()
        return "start"

    def other_project(self) -> str:
        self.session()
        if len(self.api.ask("GET", f"/api/memory/projects?appId={self.app}")["projects"]) == 1:
            self.post(f"/api/memory/projects?appId={self.app}", originalPath="/home/me/app")
        return "-home-me-app"

    def link(self) -> str:
        self.other_project()
        body = {"sourceProject": PROJECT, "sourceSession": "s1", "reason": "tea"}
        return str(self.post(f"/api/memory/projects/-home-me-app/links?appId={self.app}", **body)["linkId"])

    def file(self) -> str:
        return str(self.folder / f"{self.app}.zip")

    def archive(self) -> str:
        self.project()
        packed = self.api.send("GET", f"/api/memory/projects/{PROJECT}/export?appId={self.app}").content
        Path(self.file()).write_bytes(packed)
        self.post(f"/api/memory/sessions/delete?appId={self.app}", sessionIds=["s1"])
        self.api.ask("DELETE", f"/api/memory/projects/{PROJECT}?appId={self.app}")
        return self.file()

    def consent(self) -> None:
        self.api.ask("PUT", "/api/memory/consent", json={"appId": self.app, "userId": "", "consent": True})

    def fill(self, command: Command, words: list[str]) -> None:
        made = {
            "tokens": self.token, "memories": lambda: self.api.remember(self.path, "Likes tea."), "facts": self.fact,
            "users": self.user, "jobs": self.job, "conversations": self.conversation, "answers": self.answer,
            "webhooks": self.webhook, "links": self.link, "versions": self.version, "compositions": self.composition,
            "fact_changes": self.fact, "memory_changes": lambda: self.api.remember(self.path, "Likes tea."),
            "projects": self.session, "sessions": self.session,
            "jobs replay": lambda: None,
            "facts undo": lambda: self.api.ask("DELETE", f"{self.path}/facts/{words[-1]}"),
            "facts undo-clear": lambda: [self.fact(), self.api.ask("DELETE", f"{self.path}/facts")],
            "facts clear": self.fact,
            "memories restore": lambda: self.api.ask("DELETE", f"{self.path}/memories/{words[-1]}"),
            "profile set": self.consent, "profile clear": self.consent,
        }  # fmt: skip
        _, _, what = command.operation.partition("_")
        (made.get(command.name) or made.get(what, lambda: None))()


@pytest.fixture(scope="module")
def service(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("table")
    for part in sqlite_template.parent.iterdir():
        (folder / part.name).write_bytes(part.read_bytes())
    url = f"sqlite:///{folder / 'template.db'}"
    with open_api(url, folder / "home", webhook_internal_hosts="127.0.0.1") as api:
        seen = Seen(api.client.app)
        house = House(url)
        house.clock = api.clock
        with served(seen) as address:
            yield World(api, address, seen, house, folder)
        house.database.dispose()


@pytest.fixture
def world(service: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """The service, and a shell that has its address and the admin's token."""
    for name in itertools.chain.from_iterable(map(environment_names, Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AFTERTHOUGHT_HOME", str(tmp_path / "cli-home"))
    monkeypatch.setenv("AFTERTHOUGHT_URL", service.url)
    monkeypatch.setenv("AFTERTHOUGHT_TOKEN", ADMIN)
    monkeypatch.chdir(tmp_path)
    return service


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - ELSEWHERE))
def test_a_command_carries_out_its_operation_and_shows_its_columns(
    name: str, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    command = BY_NAME[name]
    for as_json in (False, True):
        words = world.words(command)
        world.fill(command, words)
        world.seen.operations.clear()
        ran = run(capsys, *words, *(["--json"] if as_json else []))
        assert command.operations & set(world.seen.operations), world.seen.operations
        is_listing = bool(command.nothing or command.rows)
        if as_json:
            assert isinstance(ran.json, list) == is_listing or name.endswith("keepits"), ran.json
            row = (ran.json or [None])[0] if is_listing else ran.json
            # A changed app is shown by the same card, without what it holds.
            shown = (command.columns or command.card or {}).values() if row and name != "apps update" else ()
            fields = [getattr(one, "name", one) for one in shown if not inspect.isfunction(one)]
            assert [one for one in fields if one.split(".")[0] not in row] == [], row
        elif name in EMPTY:
            assert len(ran.out.splitlines()) == 1
        elif is_listing and command.columns:
            title, *rows = ran.out.splitlines()
            assert [one for one in command.columns if one not in title] == [] and rows, ran.out
        elif command.card:
            shown = [one for one in command.card if any(line.startswith(f"{one} ") for line in ran.out.splitlines())]
            assert shown and len(ran.out.splitlines()) >= len(shown)
        else:
            assert ran.out.strip()


def test_a_row_fits_the_client_it_is_carried_out_with() -> None:
    for one in COMMANDS:
        assert [name for name in one.operations if not hasattr(Afterthought, name)] == [], one.name
        if one.prepare is dict:
            methods = (getattr(Afterthought, name) for name in one.operations)
            taken = {name for method in methods for name in inspect.signature(method).parameters}
            assert {argument.name for argument in one.arguments} <= taken, one.name


def named_operations() -> Iterator[tuple[str, set[str]]]:
    """Yield which operations errors say would help, with the arguments that are known of them."""
    for path in [*(CHECKOUT / "shared").rglob("*.py"), *(CHECKOUT / "loop" / "api").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Operation" and node.args:
                known = node.args[1].keys if len(node.args) > 1 else []  # type: ignore[attr-defined]
                yield ast.literal_eval(node.args[0]), {ast.literal_eval(one) for one in known if one is not None}


def test_every_operation_that_an_error_names_is_known_to_the_interface_and_has_a_command(service: World) -> None:
    paths = service.api.ask("GET", "/openapi.json")["paths"]
    described = {one["operationId"]: (path, method, one) for path, of in paths.items() for method, one in of.items()}
    named = list(named_operations())
    assert len(named) > 20
    for name, known in named:
        path, method, operation = described[name]
        details = {"operation": {"id": name, "arguments": {}, "route": f"{method.upper()} {path}"}}
        told = Invocation(commands=COMMANDS).in_commands(f"Do {method.upper()} {path}.", details)
        assert told.startswith("Do `afterthought "), (name, told)
        assert known <= {one["name"] for one in operation.get("parameters", ())} | {"userId", "appId", "consent"}, name


@pytest.mark.parametrize(
    ("request_of", "told"),
    [
        (("GET", "/apps/nobody"), "install it with `afterthought apps install APP`."),
        (("GET", "/apps/chat/facts/7"), "`afterthought facts list chat` lists those it has."),
        (("GET", "/api/memory/projects/p1?appId=chat"), "list them with `afterthought sessions projects chat`."),
        (("DELETE", "/api/memory/links/l1?appId=chat"), "with `afterthought sessions links chat --project PROJECT`."),
        (("GET", "/api/memory/sessions/s9?appId=chat"), "with `afterthought sessions register chat FILE`."),
        (("PUT", "/apps/chat/profile?userId=A da"), "`afterthought profile consent chat --user 'A da' --give`."),
        (("GET", "/apps/chat/answers/a1/approve"), ""),
    ],
    ids=["open-id", "known-id", "under", "option", "positional", "quoted-and-flag", "no-operation"],
)
def test_an_error_is_told_with_the_command_that_does_what_would_help(
    request_of: tuple[str, str], told: str, service: World
) -> None:
    if service.api.send("GET", "/apps/chat").status_code == 404:
        service.api.install()
    method, path = request_of
    body = {"json": {"preferences": {}, "context": {}, "freeformNotes": "x"}} if method == "PUT" else {}
    error = service.api.send(method, path, **body).json()["error"]
    words = Invocation(commands=COMMANDS).in_commands(error["message"], error["details"])
    assert words.endswith(told), words
    if told:
        operation = error["details"]["operation"]
        assert set(operation) == {"id", "arguments", "route"}
        assert operation["route"].split()[1].split("?")[0] in error["message"]
        assert "/" not in words.partition("`")[2], words
    else:
        assert words == error["message"]
