"""What people have from elsewhere goes in as it was there: exports of chats, and memories of other services."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict

from tests.support.command_line import Terminal

NOON = 1_772_366_400  # 2026-03-01T12:00:00Z


def write(folder: Path, value: Any, name: str = "export.json") -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def said(terminal: Terminal, conversation: str) -> list[tuple[str, str, str]]:
    shown = terminal.json("conversations", "show", "chat", conversation, "--messages")["messages"]
    return [(one["role"], one["content"], one["createdAt"]) for one in shown]


def chatgpt(**more: Any) -> dict[str, Any]:
    """A conversation whose second question was edited, so that it has two branches."""

    def node(name: str, parent: str | None, role: str, parts: list[Any], at: int, **other: Any) -> dict[str, Any]:
        content = {"content_type": "text", "parts": parts}
        message = {"id": name, "author": {"role": role}, "create_time": NOON + at, "content": content}
        message |= {"recipient": "all", "metadata": {}}
        return {"id": name, "parent": parent, "children": [], "message": message | other}

    thought = {"content_type": "thoughts", "thoughts": [{"content": "They want tiles."}]}
    nodes = [
        {"id": "root", "parent": None, "children": ["sys"], "message": None},
        node("sys", "root", "system", [""], 0, metadata={"is_visually_hidden_from_conversation": True}),
        node("q1", "sys", "user", ["Which tiles suit a small bathroom?"], 1),
        node("t1", "q1", "assistant", [], 2, content=thought),
        node("w1", "t1", "assistant", ["search('tiles')"], 3, recipient="web"),
        node("w2", "w1", "tool", ["ten results"], 4),
        node("a1", "w2", "assistant", ["Light, large ones."], 5),
        node("old", "a1", "user", ["And for the kitchen?"], 6),
        node("new", "a1", "user", [{"content_type": "image_asset_pointer"}, "My floor is oak."], 7),
        node("a2", "new", "assistant", ["Then warm greys."], 8),
    ]
    return {"title": "Tiles", "conversation_id": "tiles", "current_node": "a2", **more} | {
        "mapping": {one["id"]: one for one in nodes}
    }


SHOWN = [
    ("user", "Which tiles suit a small bathroom?", "2026-03-01T12:00:01Z"),
    ("assistant", "Light, large ones.", "2026-03-01T12:00:05Z"),
    ("user", "My floor is oak.", "2026-03-01T12:00:07Z"),
    ("assistant", "Then warm greys.", "2026-03-01T12:00:08Z"),
]


def test_of_a_chatgpt_export_the_branch_that_was_shown_comes_along_without_thoughts_and_tools(
    terminal: Terminal, tmp_path: Path
) -> None:
    done = terminal.json("import", "chatgpt", write(tmp_path, [chatgpt()]), "--app", "chat", "--user", "ada", "--yes")
    assert (done["conversations"]["imported"], done["messages"]["imported"], done["users"]) == (1, 4, 1)
    assert said(terminal, "tiles") == SHOWN
    again = terminal.json("import", "chatgpt", write(tmp_path, [chatgpt()]), "--app", "chat", "--user-id", "ada")
    assert again["messages"] == {"imported": 0, "skipped": 4}


def test_of_a_claude_export_the_branch_of_the_latest_message_comes_along(terminal: Terminal, tmp_path: Path) -> None:
    def one(name: str, parent: str, sender: str, minute: int, *blocks: dict[str, Any]) -> dict[str, Any]:
        at = f"2026-03-01T12:{minute:02}:00.000000Z"
        own = {"uuid": name, "parent_message_uuid": parent, "sender": sender, "created_at": at}
        return {**own, "text": "", "content": list(blocks)}

    def text(content: str) -> dict[str, Any]:
        return {"type": "text", "text": content}

    talk = {
        "uuid": "boat",
        "name": "Boat",
        "account": {"uuid": "me"},
        "chat_messages": [
            one("m1", "00000000", "human", 1, text("I bought a wooden boat.")),
            one("m2", "m1", "assistant", 2, {"type": "thinking", "thinking": "A boat!"}, text("Which sort?")),
            one("m3", "m2", "human", 3, text("A dinghy.")),
            one("m4", "m2", "human", 4, text("A cutter, from 1931.")),
            one("m5", "m4", "assistant", 5, {"type": "tool_use", "name": "web"}, text("Lovely.")),
        ],
    }
    terminal.json("import", "claude", write(tmp_path, [talk]), "--app", "chat", "--yes")
    assert said(terminal, "boat") == [
        ("user", "I bought a wooden boat.", "2026-03-01T12:01:00Z"),
        ("assistant", "Which sort?", "2026-03-01T12:02:00Z"),
        ("user", "A cutter, from 1931.", "2026-03-01T12:04:00Z"),
        ("assistant", "Lovely.", "2026-03-01T12:05:00Z"),
    ]


@pytest.mark.parametrize("written", [messages_to_dict, dumpd], ids=["messages_to_dict", "dumpd"])
def test_messages_that_langchain_wrote_keep_their_roles_and_calls(
    terminal: Terminal, tmp_path: Path, written: Callable[[Any], list[dict[str, Any]]]
) -> None:
    call = {"id": "c1", "name": "weather", "args": {"town": "Lisbon"}, "type": "tool_call"}
    messages = [
        SystemMessage("Be brief."),
        HumanMessage("Will it rain in Lisbon?", name="ada"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("No.", tool_call_id="c1"),
        AIMessage("It stays dry."),
    ]
    file = write(tmp_path, {"session_id": "rain", "messages": written(messages)})
    terminal.json("import", "langchain", file, "--app", "chat", "--yes")
    shown = terminal.json("conversations", "show", "chat", "rain", "--messages")["messages"]
    assert [one["role"] for one in shown] == ["system", "user", "assistant", "tool", "assistant"]
    assert shown[1]["name"] == "ada"
    assert shown[2]["tool_calls"][0]["function"]["name"] == "weather"
    assert shown[3]["tool_call_id"] == "c1"


def test_rows_of_a_chat_history_of_langchain_go_into_their_sessions(terminal: Terminal, tmp_path: Path) -> None:
    rows = [
        {"id": n, "session_id": f"s{n % 2}", "message": json.dumps(messages_to_dict([HumanMessage(f"Note {n}.")])[0])}
        for n in range(4)
    ]
    file = write(tmp_path, "\n".join(map(json.dumps, rows)), "rows.jsonl")
    done = terminal.json("import", "langchain", file, "--app", "chat", "--yes")
    assert done["conversations"]["imported"] == 2
    assert [content for _, content, _ in said(terminal, "s1")] == ["Note 1.", "Note 3."]


def test_memories_of_mem0_become_facts_of_their_users_said_when_they_were_said(
    terminal: Terminal, tmp_path: Path
) -> None:
    dump = {
        "results": [
            {"id": "1", "memory": "Lives in Porto", "user_id": "ada", "created_at": "2025-05-01T10:00:00-07:00"},
            {"id": "2", "memory": "Plays the viola", "user_id": "ben", "created_at": "2025-06-01T10:00:00+00:00"},
            {"id": "3", "hash": "no text"},
        ]
    }
    ran = terminal.run("import", "mem0", write(tmp_path, dump), "--app", "chat", "--yes", "--json", status=1)
    assert (ran.json["facts"], ran.json["users"]) == ({"imported": 2, "skipped": 0}, 2)
    assert [one["where"] for one in ran.json["badLines"]] == ["element 3"]
    [fact] = terminal.json("facts", "list", "chat", "--user", "ada")
    assert (fact["fact"], fact["saidAt"]) == ("Lives in Porto", "2025-05-01T17:00:00Z")
    again = terminal.run("import", "mem0", write(tmp_path, dump), "--app", "chat", "--json", status=1)
    assert again.json["facts"] == {"imported": 0, "skipped": 2}


def test_long_term_memories_of_agent_memory_server_come_along_and_its_messages_do_not(
    terminal: Terminal, tmp_path: Path
) -> None:
    rows = [
        {"id": text, "text": text, "user_id": "ada", "memory_type": kind, "created_at": NOON}
        for text, kind in (("User prefers aisle seats", "semantic"), ("user: hello", "message"))
    ]
    done = terminal.json("import", "agent-memory-server", write(tmp_path, {"memories": rows}), "--app", "chat", "--yes")
    assert (done["facts"], done["leftOut"]) == ({"imported": 1, "skipped": 0}, 1)


def test_a_dry_run_says_that_an_app_is_not_there(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    file = write(tmp_path, [chatgpt()])
    ran = terminal.run("import", "chatgpt", file, "--app", "chta", "--user", "ada", "--dry-run", status=1)
    assert "There is no app chta" in ran.err and "would be imported" in ran.out and "Warning" not in ran.err
    terminal.run("import", "chatgpt", file, "--app", "chta", "--dry-run", "--yes")


@pytest.mark.parametrize(("first", "there"), [((), "names nobody"), (("--user", "ada"), "is of user ada")])
def test_a_conversation_of_another_user_is_an_error_and_not_overwritten(
    terminal: Terminal, tmp_path: Path, first: tuple[str, ...], there: str
) -> None:
    file = write(tmp_path, [chatgpt()])
    told = terminal.run("import", "chatgpt", file, "--app", "chat", "--yes", *first).err
    assert ("not recalled for any user" in told and "--user" in told) == (not first)
    for dry_run in (["--dry-run"], []):
        ran = terminal.run("import", "chatgpt", file, "--app", "chat", "--user", "zed", "--json", *dry_run, status=1)
        assert ran.json["conversations"] == {"imported": 0, "skipped": 0}
        [bad] = ran.json["badLines"]
        assert all(one in bad["reason"] for one in ("conversation tiles", there, "user zed", "erase conversation"))
    assert said(terminal, "tiles") == SHOWN


def test_what_was_added_since_goes_into_a_conversation_that_goes_on(terminal: Terminal, tmp_path: Path) -> None:
    def export(count: int) -> str:
        rows = [
            {"uuid": f"m{n}", "sender": "human", "text": f"Note {n}.", "created_at": f"2026-03-0{n + 1}T12:00:00Z"}
            for n in range(count)
        ]
        return write(tmp_path, [{"uuid": "boat", "chat_messages": rows}])

    def send(count: int, *more: str) -> Any:
        return terminal.json("import", "claude", export(count), "--app", "chat", "--user", "ada", "--yes", *more)

    send(2)
    for number, count in ((2, 3), (3, 5)):
        for more in (["--dry-run"], []):
            done = send(count, *more)
            assert done["continued"] == [f"boat.{number}"]
            assert (done["badLines"], done["messages"]["skipped"]) == ([], count - done["messages"]["imported"])
        again = send(count)
        assert (again["continued"], again["messages"]["imported"]) == ([], 0)
    assert said(terminal, "boat.2") == [("user", "Note 2.", "2026-03-03T12:00:00Z")]
    assert [text for _, text, _ in said(terminal, "boat.3")] == ["Note 3.", "Note 4."]
    listed = terminal.json("conversations", "list", "chat")
    assert {(one["userId"], one["state"]) for one in listed} == {("ada", "ended")}


def test_an_empty_chat_is_skipped_and_marks_of_citations_are_taken_out(terminal: Terminal, tmp_path: Path) -> None:
    cited = chatgpt()
    cited["mapping"]["a2"]["message"]["content"]["parts"] = ["Warm greys \ue200cite\ue202turn0search1\ue201."]
    file = write(tmp_path, [cited, {"mapping": {}, "conversation_id": "empty"}])
    done = terminal.json("import", "chatgpt", file, "--app", "chat", "--yes", "--user-id", "ada")
    assert (done["conversations"], done["badLines"]) == ({"imported": 1, "skipped": 1}, [])
    assert said(terminal, "tiles")[-1][1] == "Warm greys."
    empty = write(tmp_path, [{"uuid": "none", "chat_messages": []}])
    assert terminal.json("import", "claude", empty, "--app", "chat")["conversations"]["skipped"] == 1


@pytest.mark.parametrize(
    ("format", "value"),
    [
        ("chatgpt", [{"chat_messages": []}]),
        ("claude", [{"mapping": {}}]),
        ("langchain", [{"type": "human"}]),
        ("langchain", [{"session_id": "s", "message": "no json"}]),
        ("mem0", [{"note": "x"}]),
    ],
)
def test_a_file_of_another_kind_is_refused_with_what_it_lacks(
    terminal: Terminal, tmp_path: Path, format: str, value: Any
) -> None:
    terminal.run("apps", "install", "chat")
    ran = terminal.run("import", format, write(tmp_path, value), "--app", "chat", status=1)
    assert "element 1: " in ran.err
