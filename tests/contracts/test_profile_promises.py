"""Profiles over each database: none without consent, gone with it at once, and an audit that shows both."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from shared.apps.models import Erasure
from shared.apps.queries import get_app, lock_app
from shared.archive.document import Archive, export_app
from shared.archive.restore import import_archive
from shared.base.errors import Conflict
from shared.conversations import summarising
from shared.conversations.lifecycle import NewConversation, NewMessage, Role, append_messages, start
from shared.conversations.queries import lock_conversation
from shared.erasure.erasing import withdraw_consent
from shared.llm.embedding import NgramEmbedder
from shared.profiles import consent, gate
from shared.profiles.gate import write_audit
from shared.profiles.models import ONLY_USER, AuditKind, Consent, Content, Context, Preferences, Profile
from shared.profiles.queries import audit_of
from tests.support.house import House
from tests.support.settings import default_settings

APP = "notes"
CANARY = "quokka-canary"
CONTENT = Content(
    preferences=Preferences(preferred_languages=["Python"]),
    context=Context(domain=CANARY),
    freeform_notes="Short answers.",
)
CHECKOUT = Path(__file__).resolve().parents[2]


def agree(house: House, user_id: str = "ann") -> None:
    with house.database.write() as session:
        lock_app(session, APP)
        consent.grant(session, APP, user_id, "admin", house.clock.now())


def write(house: House, user_id: str = "ann", content: Content = CONTENT) -> None:
    with house.database.write() as session:
        lock_app(session, APP)
        consent.write(session, APP, user_id, content, "token:1", house.clock.now())


def withdraw(house: House, user_id: str = "ann") -> Erasure | None:
    with house.database.write() as session:
        return withdraw_consent(session, APP, user_id, "admin", house.clock.now())


def text(house: House, user_id: str | None = "ann", app_id: str = APP) -> str | None:
    with house.database.read() as session:
        profile = gate.profile_of(session, app_id, user_id)
        return None if profile is None else gate.text_of(profile)


def rows(house: House) -> tuple[int, int]:
    """Count profiles and given consents."""
    with house.database.read() as session:
        return session.query(Profile).count(), session.query(Consent).filter_by(given=True).count()


def audit(house: House, user_id: str | None = "ann") -> list[tuple[str, str, int]]:
    with house.database.read() as session:
        return [(one.kind, one.actor, one.count) for one in reversed(audit_of(session, APP, user_id, 100))]


def ask(house: House, actor: str = "token:1", user_id: str = "ann") -> gate.GateDecision:
    return gate.ask_for(house.database, APP, user_id, actor, house.clock.now(), house.metrics)


def test_a_user_without_a_name_is_one_user_and_no_other(house: House) -> None:
    agree(house, ONLY_USER)
    write(house, ONLY_USER)
    assert text(house, None) == text(house, "") is not None
    assert text(house, "ann") is None


def test_uses_by_one_caller_within_an_hour_are_one_line(house: House) -> None:
    agree(house)
    write(house)
    for seconds in (0, 1799, 1800):
        house.clock.advance(seconds)
        ask(house)
    ask(house, "token:2")
    house.clock.advance(1)
    ask(house)
    used = [line for line in audit(house) if line[0] == "used"]
    assert used == [("used", "token:1", 3), ("used", "token:2", 1), ("used", "token:1", 1)]


def test_nothing_is_noted_where_there_is_consent_and_no_profile(house: House) -> None:
    agree(house)
    assert ask(house) == gate.GateDecision(True, None)
    assert [line[0] for line in audit(house)] == ["granted"]


def test_a_profile_is_never_left_behind_by_a_consent_that_is_withdrawn_meanwhile(house: House) -> None:
    for _ in range(8):
        agree(house)
        race(house, write, withdraw, write)
        assert rows(house) == (0, 0)


def race(house: House, *works: Callable[[House], object]) -> None:
    """Do everything at once; a profile may be refused, and nothing else may fail."""
    barrier, failed = threading.Barrier(len(works)), []

    def work(one: Callable[[House], object]) -> None:
        barrier.wait(60)
        try:
            one(house)
        except Conflict as error:
            failed.append(error.code)

    threads = [threading.Thread(target=work, args=(one,)) for one in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(failed) <= {"consent_missing"} and not any(thread.is_alive() for thread in threads)


def summarise(house: House) -> None:
    """Have a summary made, which embeds what has no vector yet."""
    now = house.clock.now()
    with house.database.write() as session:
        epoch = lock_app(session, APP).purge_epoch
        start(session, APP, NewConversation(f"c-{now.timestamp()}"), now)
        conversation = lock_conversation(session, APP, f"c-{now.timestamp()}")
        append_messages(session, conversation, [NewMessage(Role.USER, "Hello there")], now)
        assert summarising.enqueue_summary(session, conversation, epoch, now) is not None
    house.work_off()


def vector_model(house: House) -> str | None:
    with house.database.read() as session:
        [profile] = session.query(Profile).all()
        return profile.vector_model


def test_a_profile_gets_its_vector_from_the_apps_next_summary_and_anew_when_it_changes(house: House) -> None:
    agree(house)
    write(house)
    assert vector_model(house) is None
    summarise(house)
    assert vector_model(house) == NgramEmbedder().name
    house.clock.advance(1)
    write(house, content=Content(freeform_notes="Other."))
    assert vector_model(house) is None


@pytest.mark.parametrize("again", [False, True], ids=["withdrawn", "withdrawn, given and written again"])
def test_a_vector_of_what_was_erased_is_kept_nowhere(house: House, again: bool) -> None:
    agree(house)
    write(house)

    def meanwhile() -> None:
        house.clock.advance(1)
        withdraw(house)
        if again:
            agree(house)
            write(house, content=Content(freeform_notes="Other."))

    house.summary_agent.while_thinking = meanwhile
    summarise(house)
    assert rows(house)[0] == int(again) and (not again or vector_model(house) is None)


def exported(house: House) -> Archive:
    with house.database.read() as session:
        return export_app(session, get_app(session, APP), house.clock.now())


def bring_in(house: House, archive: Archive, app_id: str) -> tuple[int, int]:
    with house.database.write() as session:
        done = import_archive(
            session, lock_app(session, app_id), archive, default_settings(max_message_chars=10_000), house.clock.now()
        )
        return done.profiles, done.profiles_skipped


def test_profiles_travel_with_the_consent_they_stand_on(house: House) -> None:
    house.install("email")
    for user_id in ("ann", "bob"):
        agree(house, user_id)
        write(house, user_id)
    withdraw(house, "bob")
    archive = Archive.model_validate_json(exported(house).model_dump_json(by_alias=True))
    assert [one.user_id for one in archive.profiles] == ["ann"]
    assert bring_in(house, archive, "email") == (1, 0)
    assert text(house, "ann", "email") == text(house, "ann")
    assert bring_in(house, archive, "email") == (0, 1)


def test_an_import_does_not_override_a_consent_that_was_withdrawn(house: House) -> None:
    agree(house)
    write(house)
    archive = exported(house)
    withdraw(house)
    assert bring_in(house, archive, APP) == (0, 1)
    assert rows(house) == (0, 0)


def test_a_line_of_the_future_does_not_swallow_what_happens_now(house: House) -> None:
    agree(house)
    with house.database.write() as session:
        write_audit(session, APP, "ann", AuditKind.USED, "token:1", house.clock.now() + timedelta(minutes=30))
        write_audit(session, APP, "ann", AuditKind.USED, "token:1", house.clock.now())
    assert [line[0] for line in audit(house)] == ["granted", "used", "used"]


def test_only_the_room_itself_reads_profiles_from_the_database() -> None:
    guarded = {"Profile", "agreed_profile", "agreed_profiles", "unembedded"}
    strays = [
        f"{path.relative_to(CHECKOUT)}: {alias.name}"
        for room in ("shared", "loop", "worker")
        for path in (CHECKOUT / room).rglob("*.py")
        if path.parent.name != "profiles" and "shared.profiles" in (source := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shared.profiles")
        for alias in node.names
        if alias.name in guarded
    ]
    # Counts rows to list an app's users.
    allowed = ["shared/erasure/queries.py: Profile"]
    assert sorted(strays) == allowed, "go through shared.profiles.queries"
