"""Transcripts as others' recorders and crashes leave them, each through a running service, told by readers of our own.

The smallest ones lie beside the checkout; the large ones are made here with every oddity at once.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.odd_recorder import OddTranscript, without_marks
from tests.support.odd_transcripts import odd_transcript
from tests.support.services import CHECKOUT, System
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
CASES = CHECKOUT.parent / "shared" / "data" / "cases" / "cases.jsonl"
APP = {"appId": "cases"}
_ZEROS = re.compile(rb"<NUL\*(\d+)>\n?")


COUNTED: dict[str, dict[str, int]] = {
    "public-01": {}, "public-01b": {}, "public-02": {}, "public-02b": {}, "public-02d": {}, "public-03": {},
    "public-04": {"repeatedRecords": 2, "badLines": 0, "humanPrompts": 2}, "public-04c": {"repeatedRecords": 1},
    "public-05": {"cutOff": 1, "badLines": 1}, "public-06": {"zeroByteRuns": 1, "badLines": 0},
}  # fmt: skip
"""By the case how often what is passed over."""
REWOUND, MARKED = "public-02d", "public-04c"


@pytest.fixture(scope="module")
def service(system: System) -> Iterator[httpx.Client]:
    with system.client(timeout=120) as client:
        client.post("/apps", json={"appId": "cases", "name": "Cases"}).raise_for_status()
        yield client


def register(service: httpx.Client, path: Path) -> dict[str, Any]:
    route = f"/api/memory/projects/own/sessions/{path.stem}"
    return dict(service.post(route, params=APP, json={"path": str(path)}).raise_for_status().json())


def read(service: httpx.Client, session_id: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        params = APP | {"limit": "200"} | ({"cursor": cursor} if cursor else {})
        page = service.get(f"/api/memory/sessions/{session_id}/messages", params=params).raise_for_status().json()
        messages, cursor = messages + page["messages"], page["cursor"]
    return messages


def version(service: httpx.Client, session_id: str) -> str:
    route = f"/api/memory/sessions/{session_id}/versions"
    asked = {"mode": "uniform", "compactionRatio": 10, "sessionDistance": 3}
    name = service.post(route, params=APP, json=asked).raise_for_status().json()["versionId"]

    def whole() -> httpx.Response | None:
        answer = service.get(f"{route}/{name}", params=APP | {"format": "markdown"})
        return answer if answer.status_code == 200 else None

    return str(wait_until(whole, 60, "the version").text)


def compose(service: httpx.Client, name: str, sessions: list[str], budget: int) -> tuple[dict[str, Any], str]:
    """Compose sessions and return what the composition is made of, and its Markdown."""
    asked = {"name": name, "components": [{"sessionId": one} for one in sessions], "totalTokenBudget": budget}
    made = service.post("/api/memory/projects/own/compositions", params=APP, json=asked).raise_for_status().json()
    route = f"/api/memory/compositions/{made['composition']['compositionId']}"

    def ended() -> dict[str, Any] | None:
        shown = service.get(route, params=APP).raise_for_status().json()
        return dict(shown) if shown["state"] != "working" else None

    shown = wait_until(ended, 60, "the composition")
    return shown, service.get(route, params=APP | {"format": "markdown"}).raise_for_status().text


@pytest.mark.parametrize("name", COUNTED)
def test_a_case_is_read_as_it_was_said(name: str, service: httpx.Client, tmp_path: Path) -> None:
    if not CASES.exists():
        pytest.skip(f"needs {CASES}, beside the checkout")
    case = next(one for one in map(json.loads, CASES.read_text().splitlines()) if one["id"] == name)
    text = "".join(f"{line}\n" for line in case["input"]).encode()
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(_ZEROS.sub(lambda found: b"\0" * int(found[1]), text))
    made, messages = register(service, path), read(service, name)
    said, prompts, calls = counted(path.read_bytes())
    if name == REWOUND:
        del said[2:4]
    assert [one["text"] for one in messages if one["kind"] in ("human", "assistant")] == said
    assert [one["toolUseId"] for one in messages if one["kind"] == "tool_use"] == calls
    assert sum(one["kind"] == "tool_result" for one in messages) == len(calls)
    assert sum(one["kind"] == "left" for one in messages) == (name == REWOUND)
    assert {key: made["counts"][key] for key in COUNTED[name]} == COUNTED[name]
    keepits = service.get(f"/api/memory/sessions/{name}/keepits", params=APP).raise_for_status().json()["keepits"]
    assert len(keepits) == made["markers"] == (name == MARKED)
    written = version(service, name)
    assert written.count("Rewound") == (name == REWOUND) and prompts[-1].rpartition("## ")[2] in written


# Large transcripts with every oddity at once.


def line(record: dict[str, Any], parent: str | None = None) -> bytes:
    """Return a record as a line whose first name is the parent's, as recorders write it."""
    own = {name: value for name, value in record.items() if name != "parentUuid"}
    text = json.dumps({"parentUuid": parent or record.get("parentUuid")} | own, ensure_ascii=False)
    return text.encode()


def damaged(records: list[dict[str, Any]], seed: int) -> bytes:
    """Return records as lines after hooks, copies, crashes and retries; nothing that was said is taken away."""
    chance, written, hooks = random.Random(seed), list[bytes](), 0
    for record in records:
        if not record.get("uuid"):
            written.append(line(record) + b"\n")
            continue
        parent, what = record.get("parentUuid"), chance.random()
        if what < 0.15 and parent and record["type"] == "assistant":
            # A record of the recorder's own comes between, and what is said goes on behind that.
            hooks += 1
            kind = chance.choice(("progress", "attachment", "system"))
            hook = {"type": kind, "uuid": f"hook-{seed}-{hooks}", "isSidechain": False, "parentUuid": parent}
            written.append(line(hook | {"subtype": "stop_hook_summary", "data": {"type": "hook_progress"}}) + b"\n")
            parent = hook["uuid"]
        own = line(record, str(parent) if parent else None)
        if 0.15 <= what < 0.2:
            cut = json.dumps({"parentUuid": parent, "type": "user", "message": {"content": [{"type": "text"}]}})
            own = cut[: chance.randrange(3, len(cut) - 1)].encode() + own
        elif 0.2 <= what < 0.25:
            own = b"\0" * chance.randrange(1, 5_000) + own + b"\0" * chance.randrange(1, 9)
        elif 0.25 <= what < 0.28:
            own = b'{"parentUuid": null, "type": "user", "message": {"content": "caf\xc3' + own
        written.append(own + (b"" if 0.28 <= what < 0.32 else b"\n"))
        if 0.32 <= what < 0.4:
            written.append(line({**record, "parentUuid": None}) + b"\n")
    copies = [line({**one, "parentUuid": None}) + b"\n" for one in records[:40] if one.get("uuid")]
    spam = [line({"type": "queue-operation", "operation": "enqueue", "content": "run it again"}) + b"\n"] * 500
    return b"".join([*written, *copies, *spam])


def counted(content: bytes) -> tuple[list[str], list[str], list[str]]:
    """Return what was said, the prompts of it, and the ids of calls: wherever a record begins it is read, each once."""
    decoder, found = json.JSONDecoder(), dict[str, dict[str, Any]]()
    text = content.replace(b"\0", b"").decode("utf-8", "replace")
    for begin in re.finditer(r'\{"parentUuid": ', text):
        try:
            record, _ = decoder.raw_decode(text, begin.start())
        except ValueError:
            continue
        found.setdefault(record.get("uuid") or f"at {begin.start()}", record)
    said, prompts, calls = list[str](), list[str](), list[str]()
    for record in found.values():
        blocks = (record.get("message") or {}).get("content") or []
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        calls += [one["id"] for one in blocks if one["type"] == "tool_use"]
        is_result = any(one["type"] == "tool_result" for one in blocks)
        if is_result or any(record.get(one) for one in ("isMeta", "isCompactSummary", "isSidechain")):
            continue
        texts = [one["text"] for one in blocks if one["type"] == "text"]
        said += texts
        if record["type"] == "user":
            prompts += [one for one in texts if not one.startswith(("<", "[", "Caveat:", "Base directory"))]
    return said, prompts, calls


LARGE = [odd_transcript(seed, shallow=True) for seed in range(3)]


@pytest.mark.parametrize(("seed", "odd"), [*enumerate(LARGE)], ids=[one.name for one in LARGE])
def test_a_large_damaged_transcript_keeps_every_prompt_and_every_call(
    seed: int, odd: OddTranscript, service: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / f"damaged-{seed}.jsonl"
    path.write_bytes(damaged([dict(one) for one in odd.records], seed))
    made, messages = register(service, path), read(service, path.stem)
    _, prompts, calls = counted(path.read_bytes())
    typed = [one["text"] for one in messages if one["kind"] == "human"]
    left = [without_marks(branch.spoken[0].text) for branch in odd.labels.left]
    known = {*left, *map(without_marks, typed)}
    assert len(prompts) > 3 and [one for one in prompts if without_marks(one) not in known] == []
    assert [one["toolUseId"] for one in messages if one["kind"] == "tool_use"] == calls and len(calls) > 20
    assert sum(one["kind"] == "left" for one in messages) == len(left), "who went back, and nobody else"
    assert [one["speaker"] for one in messages if one["text"] == "run it again"] == ["User, not sent, 500 times"]
    assert all(made["counts"][name] for name in ("cutOff", "zeroByteRuns", "repeatedRecords"))
    assert typed[-2] in version(service, path.stem), "what was asked last"
    copy = service.get(f"/api/memory/sessions/{path.stem}", params=APP).raise_for_status().json()
    assert copy["sizeBytes"] == path.stat().st_size


# What is told of several sessions.


def talk(number: int, last: str, **more: Any) -> list[dict[str, Any]]:
    """Return a session that begins as all of these do and goes on in its own way."""
    said = [("user", "Plan the harbour fair. ##keepit0.90## The crane is closed on Mondays.")]
    said += [("assistant", "The fair needs 40 stalls and a permit. " * 30), ("user", "Book the brass band.")]
    said += [("assistant", "The brass band comes at noon. " * 30), ("user", last), ("assistant", f"Done: {last}")]
    records, parent = [], None
    for place, (kind, text) in enumerate(said):
        uuid = f"shared-{place}" if place < 4 else f"own-{number}-{place}"
        message = {"id": f"m{uuid}", "role": kind, "model": "m", "content": [{"type": "text", "text": text}]}
        at = f"2026-03-0{number}T10:00:0{place}Z"
        records.append({"parentUuid": parent, "type": kind, "uuid": uuid, "timestamp": at, "message": message} | more)
        parent = uuid
    return records


def test_sessions_that_begin_alike_stand_once_in_a_composition(service: httpx.Client, tmp_path: Path) -> None:
    origin = talk(1, "Print the posters in blue.")
    branch = talk(2, "Rent twelve tents from the scouts.")
    for one in branch[:4]:
        one["forkedFrom"], one["uuid"] = {"sessionId": "fair-1", "messageUuid": one["uuid"]}, f"branch-{one['uuid']}"
    for before, after in pairwise(branch):
        after["parentUuid"] = before["uuid"]
    copy = talk(3, "Ask the ferry for a late boat.", sessionKind="bg")
    for number, records in enumerate((origin, branch, copy), 1):
        path = tmp_path / f"fair-{number}.jsonl"
        path.write_bytes(b"".join(line(one) + b"\n" for one in records))
        register(service, path)
    shown, text = compose(service, "fair", ["fair-1", "fair-2", "fair-3"], 1_200)
    for once in ("Plan the harbour fair", "crane is closed on Mondays", "Book the brass band", "Print the posters in",
                 "Rent twelve tents", "Ask the ferry"):  # fmt: skip
        assert text.count(f"{once}") == (1 if once[:4] not in ("Prin", "Rent", "Ask ") else 2), once
    assert text.count("what fair-1 says as well") == 2
    assert [one["versionId"] for one in shown["components"]] == ["original"] * 3, "each fits with what is its own"
    shown, text = compose(service, "small-fair", ["fair-3", "fair-1", "fair-2"], 500)
    assert shown["components"][0]["versionId"] != "original"
    assert text.count("crane is closed on Mondays") == 1 and text.count("brass band.") <= 1
    assert all(one in text for one in ("Print the posters", "Rent twelve tents", "Ask the ferry"))


def test_what_sub_agents_did_is_found_beside_their_session(service: httpx.Client, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    for name, records in {
        "fair-9": talk(4, "Count the stalls."),
        "fair-9/subagents/agent-1": [one | {"isSidechain": True, "agentId": "1"} for one in talk(5, "Look around.")],
        "fair-8/subagents/agent-1": [one | {"isSidechain": True, "agentId": "1"} for one in talk(6, "Look ahead.")],
    }.items():
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line(one) + b"\n" for one in records))
    opening = service.post("/api/memory/projects", params=APP, json={"originalPath": "/home/me/fair"})
    opened = opening.raise_for_status().json()
    project = f"/api/memory/projects/{opened['projectId']}"
    service.patch(project, params=APP, json={"sourceFolder": str(folder)}).raise_for_status()
    ids = ["fair-8.agent-1", "fair-9.agent-1", "fair-9"]
    seen = service.post(f"{project}/scan", params=APP | {"dryRun": "true"}).raise_for_status().json()
    assert sorted(one["sessionId"] for one in seen["foreseen"]) == sorted(ids)
    taken = service.post(f"{project}/scan", params=APP).raise_for_status().json()
    assert sorted(taken["registered"]) == sorted(ids) and taken["refused"] == []
    assert {one["speaker"] for one in read(service, ids[0])} == {"Order to a sub-agent", "Sub-agent"}
    path = folder / "fair-8" / "subagents" / "agent-1.jsonl"
    with path.open("ab") as file:
        file.write(b"\0" * 600 + line(talk(6, "And once more.")[4] | {"uuid": "later", "isSidechain": True}) + b"\n")
    again = service.post(f"{project}/scan", params=APP).raise_for_status().json()
    assert (again["synced"], again["unchanged"]) == ([ids[0]], 2)
    assert read(service, ids[0])[-1]["text"] == "And once more."
