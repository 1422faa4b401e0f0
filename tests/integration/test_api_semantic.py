"""What sessions teach is kept once with its sources, and a person's word about it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from shared.base.errors import Conflict, LeaseLost, Transient
from shared.llm.calls import Meter
from shared.sessions.models import SemanticKind
from shared.sessions.queries import find_session, lock_project
from shared.sessions.semantic.memories import SemanticProposal, SessionPrompt, save_proposals
from tests.support.recordings import Transcript
from tests.support.sessions import PROJECT, Sessions
from worker.agent.protocol import LearningAgent, SessionFindings
from worker.agent.session_rules import ExtractiveLearningAgent

RULE, BARE = "Always run make lint before a commit.", "Always run make lint before a commit"
JEST, PUSH = "The project uses Jest for testing", "Never push to main"
SEMANTIC = f"/projects/{PROJECT}/semantic"


class Reader(LearningAgent):
    """Learns one prompt at a time, as rules do; does what it is told before each."""

    name = "ollama:reader"

    def __init__(self, before: Callable[[int], None] = lambda _: None) -> None:
        self.seen: list[str] = []
        self._before = before

    def learn(self, prompts: Sequence[SessionPrompt], meter: Meter) -> SessionFindings:
        self._before(len(self.seen))
        self.seen.append(prompts[0].text)
        return ExtractiveLearningAgent().learn(prompts[:1], meter)


def add(sessions: Sessions, name: str, *said: str) -> Transcript:
    transcript = sessions.shelf.transcript(name)
    for text in said:
        transcript.human(text)
    sessions.shelf.add(transcript, PROJECT, "chat")
    return transcript


def ask(sessions: Sessions) -> str:
    return str(sessions.ask("POST", f"{SEMANTIC}/learn", 202)["job"]["jobId"])


def learn(sessions: Sessions) -> dict[str, Any]:
    """Have what is new learnt, and return what is known then."""
    ask(sessions)
    sessions.work_off()
    return memories(sessions)


def memories(sessions: Sessions, **wanted: str) -> dict[str, Any]:
    return {one["content"]: one for one in sessions.get(SEMANTIC, **wanted)["memories"]}


def sources(memory: Any) -> list[tuple[str, str]]:
    return [(one["sessionId"], one["messageUuid"]) for one in memory["sources"]]


def judge(sessions: Sessions, memory: Any, **body: str) -> Any:
    return sessions.ask("PATCH", f"/semantic/{memory['id']}", body=body)


def changes(sessions: Sessions, memory: Any) -> list[Any]:
    return [one for one in sessions.get(f"/projects/{PROJECT}/changes")["changes"] if one["subject"] == memory["id"]]


def test_what_several_sessions_say_is_one_memory_and_believed_more(sessions: Sessions) -> None:
    add(sessions, "one", f"{RULE} {JEST}.")
    add(sessions, "two", "always run make lint before commit. We use Redis for the queue.")
    add(sessions, "three", "For testing, as you know, the project uses Jest.")
    add(sessions, "four", "the project uses Jest for testing")
    found = learn(sessions)
    assert {content: one["confidence"] for content, one in found.items()} == {BARE: 0.75, JEST: 0.75}, (
        "what was said once, and not for good, is not proposed"
    )
    assert sources(found[BARE]) == [("one", "one-0"), ("two", "two-0")]
    assert sources(found[JEST]) == [("one", "one-0"), ("four", "four-0")]


def test_a_session_that_was_copied_says_nothing_twice_and_another_prompt_does(sessions: Sessions) -> None:
    transcript, copy = add(sessions, "one", f"{JEST}."), sessions.shelf.transcript("copy")
    copy.records.extend(transcript.records)
    sessions.shelf.add(copy, PROJECT, "chat")
    assert learn(sessions) == {}
    sessions.shelf.sync(transcript.human("As I said, the project uses Jest for testing.").human(f"{JEST}!"), "chat")
    (memory,) = learn(sessions).values()
    assert sources(memory) == [("one", "one-0"), ("one", "one-2"), ("copy", "one-0")]
    assert [one["kind"] for one in changes(sessions, memory)] == ["created"]


def branched(transcript: Transcript, record: dict[str, Any]) -> dict[str, Any]:
    origin = {"sessionId": transcript.session_id, "messageUuid": record["uuid"]}
    return record | {"uuid": f"branch-{record['uuid']}", "forkedFrom": origin}


def nameless(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("uuid", "parentUuid")}


@pytest.mark.parametrize("kind", ["copied", "branched off", "damaged, without ids"])
def test_what_stands_in_two_copies_of_a_talk_was_said_once(kind: str, sessions: Sessions) -> None:
    talk = sessions.shelf.transcript("talk").human("Look at the queue.").human(f"{RULE} {JEST}.")
    if kind == "damaged, without ids":
        talk.records = [nameless(one) for one in talk.records]
    sessions.shelf.add(talk, PROJECT, "chat")
    copy = sessions.shelf.transcript("copy")
    # Of the damaged one what stands first is gone, so all lines behind it have another number.
    begin = 1 if kind == "damaged, without ids" else 0
    copy.records = [branched(talk, one) if kind == "branched off" else one for one in talk.records[begin:]]
    sessions.shelf.add(copy, PROJECT, "chat")
    found = learn(sessions)
    assert {content: one["confidence"] for content, one in found.items()} == {BARE: 0.5}, "JEST was said once"
    for session_id, uuid in sources(found[BARE]):
        (read, *_) = sessions.get(f"/sessions/{session_id}/messages", messageUuid=uuid)["messages"]
        assert RULE in read["text"], "where it was found can be read"
    add(sessions, "other", RULE)
    assert learn(sessions)[BARE]["confidence"] == 0.75


def test_what_says_nothing_is_not_kept_and_only_what_is_new_changes_the_project(sessions: Sessions) -> None:
    add(sessions, "one", "Fly")
    blank, rule = (SemanticProposal(SemanticKind.DECISION, content, "one-0", "Fly") for content in (" \n", RULE))
    revisions = []
    for proposals in ([blank], [rule], [rule]):
        with sessions.house.database.write() as session:
            recorded = find_session(session, "chat", "one")
            assert recorded is not None
            project = lock_project(session, "chat", PROJECT)
            before = project.revision
            kept = save_proposals(session, project, recorded, proposals, "extractive", sessions.api.clock.now())
            revisions.append((kept, project.revision - before))
    assert revisions == [(0, 0), (1, 1), (0, 0)] and len(memories(sessions)) == 1


def test_a_project_is_learnt_from_once_until_something_new_is_there(sessions: Sessions) -> None:
    transcript = add(sessions, "one", RULE)
    assert ask(sessions) == ask(sessions), "one job at a time"
    sessions.work_off()
    assert sessions.refused(409, "POST", f"{SEMANTIC}/learn")["code"] == "nothing_new"
    sessions.shelf.sync(transcript.human("We decided to keep SQLite for tests."), "chat")
    sessions.press.learner = reader = Reader()
    assert len(learn(sessions)) == 2
    assert reader.seen == ["We decided to keep SQLite for tests."], "what was read is not read again"


def test_a_job_that_fails_goes_on_where_it_was(sessions: Sessions) -> None:
    add(sessions, "one", RULE, f"{PUSH}.", "Never use global state.")

    def fail_at_second(seen: int) -> None:
        if seen == 1:
            raise Transient("The model is away.")

    sessions.press.learner = Reader(fail_at_second)
    assert len(learn(sessions)) == 1
    sessions.press.learner = again = Reader()
    sessions.api.clock.advance(3600)
    sessions.work_off()
    assert again.seen == [f"{PUSH}.", "Never use global state."] and len(memories(sessions)) == 3


def test_a_job_gives_way_to_other_work_between_prompts(sessions: Sessions) -> None:
    add(sessions, "one", RULE, f"{PUSH}.")
    add(sessions, "two", "Never use global state.")
    ticks, slices = iter(range(0, 30_000, 30)), 0
    sessions.press.elapsed = lambda: float(next(ticks))
    sessions.press.learner = reader = Reader()
    ask(sessions)
    while sessions.press.attempt():
        slices += 1
    assert slices > 2 and sorted(reader.seen) == sorted([RULE, f"{PUSH}.", "Never use global state."])
    assert len(memories(sessions)) == 3 and sessions.house.jobs()[0].state == "done"


def test_a_rejected_memory_never_comes_back_and_a_removed_one_does(sessions: Sessions) -> None:
    add(sessions, "one", f"{RULE} {PUSH}.")
    found = learn(sessions)
    rejected = judge(sessions, found[PUSH], verdict="rejected")
    assert (rejected["verdict"], rejected["validatedByUser"], rejected["decidedBy"]) == ("rejected", False, "admin")
    sessions.ask("DELETE", f"/semantic/{found[BARE]['id']}")
    add(sessions, "two", f"{RULE} {PUSH}.")
    found = learn(sessions)
    assert {content: one["verdict"] for content, one in found.items()} == {BARE: "proposed", PUSH: "rejected"}
    assert [*memories(sessions, verdict="rejected")] == [PUSH] and memories(sessions, type="fact") == {}
    judged = changes(sessions, found[PUSH])[0]
    assert (judged["kind"], judged["actor"]) == ("judged", "admin")
    assert (judged["before"], judged["after"]) == ({"verdict": "proposed"}, {"verdict": "rejected", "reworded": False})


def test_without_its_last_session_only_what_a_person_confirmed_stays(sessions: Sessions) -> None:
    add(sessions, "one", f"{RULE} {PUSH}.")
    kept = judge(sessions, learn(sessions)[BARE], verdict="confirmed")
    assert kept["validatedByUser"]
    sessions.ask("DELETE", f"/projects/{PROJECT}/sessions/one")
    (left,) = memories(sessions).values()
    assert left["id"] == kept["id"] and left["sources"] == []


def test_a_memory_can_be_put_in_other_words_but_not_in_those_of_another(sessions: Sessions) -> None:
    add(sessions, "one", f"{RULE} {PUSH}.")
    memory = learn(sessions)[BARE]
    assert judge(sessions, memory, content="Lint before commits")["verdict"] == "proposed"
    assert "Lint before commits" in memories(sessions)
    error = sessions.refused(409, "PATCH", f"/semantic/{memory['id']}", {"content": "never push to the main."})
    assert error["code"] == "already_known"


def test_a_purge_forgets_them_and_stops_the_job(sessions: Sessions) -> None:
    add(sessions, "one", RULE)
    learn(sessions)
    add(sessions, "two", f"{PUSH}.")
    job_id = ask(sessions)
    (claim,) = sessions.house.claims()
    receipt = sessions.api.ask("DELETE", "/apps/chat/memories")["receipt"]
    assert (receipt["erased"]["semanticMemories"], receipt["left"]["semanticMemories"]) == (1, 0)
    with pytest.raises((LeaseLost, Conflict)):
        sessions.house.pipeline_of(claim.kind)(claim)
    assert memories(sessions) == {} and sessions.get("/sessions/one")["sessionId"] == "one"
    [job] = [one for one in sessions.house.jobs() if one.job_id == job_id]
    assert job.state == "cancelled"
