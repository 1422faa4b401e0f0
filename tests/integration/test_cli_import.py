"""A file of chats becomes conversations of an app, once, however often and however far it was sent before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import open_api
from tests.support.command_line import Terminal, run, typing_at
from tests.support.services import EmbeddedRedis, start_system


def talk(number: int, *said: str, **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(said or ("Hello.", "Hi."))]
    return {"id": f"t{number}", "messages": messages, **more}


def single(conversation: str, content: str) -> dict[str, Any]:
    return {"conversation_id": conversation, "role": "user", "content": content}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chats.jsonl"


def write(file: Path, *values: Any) -> str:
    file.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in values))
    return str(file)


def messages(terminal: Terminal, conversation: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = terminal.json("conversations", "show", "chat", conversation, "--messages")["messages"]
    return found


def test_each_conversation_is_opened_filled_and_ended_in_an_app_that_is_installed(
    terminal: Terminal, file: Path
) -> None:
    dated = talk(2, "Bye.", created_at="2026-03-01T10:00:00Z", user_id="ada")
    done = terminal.json("import", "chats", write(file, talk(1), dated), "--app", "chat", "--yes")
    assert done["conversations"] == {"imported": 2, "skipped": 0}
    assert done["messages"] == {"imported": 3, "skipped": 0}
    assert done["badLines"] == []
    listed = terminal.json("conversations", "list", "chat")
    assert {one["conversationId"]: (one["state"], one["userId"]) for one in listed} == {
        "t1": ("ended", None), "t2": ("ended", "ada"),
    }  # fmt: skip
    assert [one["createdAt"] for one in messages(terminal, "t2")] == ["2026-03-01T10:00:00Z"]
    asked = [(one["conversationId"], one["kind"]) for one in terminal.json("jobs", "list", "--app", "chat")]
    assert sorted(asked) == [(name, kind) for name in ("t1", "t2") for kind in ("create_memory", "extract_facts")]


def test_messages_with_parts_and_calls_of_tools_are_kept_as_the_file_has_them(terminal: Terminal, file: Path) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    said = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": ""},
        {"role": "assistant", "content": "A heron."},
    ]
    values = [{"id": "t1", "messages": said}]
    for count in (4, 0):
        done = terminal.json("import", "chats", write(file, *values), "--app", "chat", "--yes")
        assert (done["messages"]["imported"], done["badLines"]) == (count, [])
    kept = [{key: one[key] for key in one if key in said[i]} for i, one in enumerate(messages(terminal, "t1"))]
    assert kept == said
    shown = terminal.run("conversations", "show", "chat", "t1", "--messages").out
    assert "What is this?" in shown and "(image_url)" in shown and "(calls look({}))" in shown


@pytest.mark.parametrize(
    "values",
    [
        [talk(1), talk(2)],
        [single("a", "1"), single("b", "2"), single("a", "3")],
        [{"conversations": [{"from": "human", "value": "Hello."}]}],
    ],
    ids=["conversations", "single-messages", "without-ids"],
)
@pytest.mark.parametrize("end", ["--end", "--no-end"])
def test_the_same_file_again_adds_nothing(terminal: Terminal, file: Path, values: list[Any], end: str) -> None:
    command = ("import", "chats", write(file, *values), "--app", "chat", "--yes", end)
    first = terminal.json(*command)
    again = terminal.json(*command)
    assert again["conversations"] == {"imported": 0, "skipped": first["conversations"]["imported"]}
    assert again["messages"] == {"imported": 0, "skipped": first["messages"]["imported"]}


def test_a_run_that_was_cut_off_is_taken_up_where_it_ended(terminal: Terminal, file: Path) -> None:
    terminal.run("import", "chats", write(file, talk(1, "a", "b")), "--app", "chat", "--yes", "--no-end")
    done = terminal.json("import", "chats", write(file, talk(1, "a", "b", "c"), talk(2)), "--app", "chat", "--yes")
    assert done["conversations"] == {"imported": 2, "skipped": 0}
    assert done["messages"] == {"imported": 3, "skipped": 2}
    assert [one["content"] for one in messages(terminal, "t1")] == ["a", "b", "c"]


def test_messages_of_conversations_that_alternate_end_where_they_belong(terminal: Terminal, file: Path) -> None:
    said = [single(f"c{n % 3}", f"message {n}") for n in range(350)]
    done = terminal.json("import", "chats", write(file, *said), "--app", "chat", "--yes")
    assert done["conversations"]["imported"] == 3
    assert done["messages"]["imported"] == 350
    assert [one["content"] for one in messages(terminal, "c1")] == [f"message {n}" for n in range(1, 350, 3)]


def test_bad_lines_are_named_and_the_rest_is_ingested(terminal: Terminal, file: Path) -> None:
    ran = terminal.run(
        "import", "chats", write(file, talk(1), "{", {"x": 1}, talk(2)), "--app", "chat", "--yes", "--json", status=1
    )
    assert ran.json["conversations"]["imported"] == 2
    assert [one["where"] for one in ran.json["badLines"]] == ["line 2", "line 3"]
    assert "line 3: has neither" in ran.err


def test_strict_sends_nothing_when_a_line_is_bad(terminal: Terminal, file: Path) -> None:
    ran = terminal.run("import", "chats", write(file, talk(1), "{"), "--app", "chat", "--yes", "--strict", status=1)
    assert "line 2" in ran.err
    terminal.run("apps", "show", "chat", status=1)


def test_an_id_that_stands_for_something_else_is_not_written_over(terminal: Terminal, file: Path) -> None:
    path = terminal.api.install()
    terminal.api.converse(path, "t1", "A live conversation.")
    done = terminal.json("import", "chats", write(file, talk(1), talk(2)), "--app", "chat", "--yes", status=1)
    assert [one["where"] for one in done["badLines"]] == ["line 1"]
    assert done["conversations"]["imported"] == 1
    assert [one["content"] for one in messages(terminal, "t1")] == ["A live conversation."]
    assert terminal.json("conversations", "show", "chat", "t1")["state"] == "open"


def test_nothing_is_kept_of_a_conversation_that_is_refused(
    sqlite_url: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        open_api(sqlite_url, tmp_path / "home", max_message_chars=1000) as api,
        typing_at(api, monkeypatch, capsys) as terminal,
    ):
        said = ["fine"] * 150 + ["x" * 2000]
        done = terminal.json(
            "import", "chats", write(file, talk(1, *said), talk(2)), "--app", "chat", "--yes", status=1
        )
        assert [one["where"] for one in done["badLines"]] == ["line 1"]
        assert "1000" in done["badLines"][0]["reason"]
        assert done["messages"]["imported"] == 2
        assert [one["conversationId"] for one in terminal.json("conversations", "list", "chat")] == ["t2"]


def test_batches_shrink_until_the_service_takes_them(
    sqlite_url: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        open_api(sqlite_url, tmp_path / "home", max_body_bytes=10_000) as api,
        typing_at(api, monkeypatch, capsys) as terminal,
    ):
        said = [f"{n} " + "x" * 900 for n in range(90)]
        done = terminal.json("import", "chats", write(file, talk(1, *said)), "--app", "chat", "--yes")
        assert done["messages"]["imported"] == 90
        assert [one["content"] for one in messages(terminal, "t1")] == said


def test_a_busy_service_is_asked_again(terminal: Terminal, file: Path) -> None:
    terminal.busy.n = 2
    done = terminal.json("import", "chats", write(file, talk(1), talk(2)), "--app", "chat", "--yes")
    assert done["messages"] == {"imported": 4, "skipped": 0}
    assert terminal.busy.refused > 4


def test_an_app_may_fill_itself_with_its_own_token(terminal: Terminal, file: Path) -> None:
    terminal.api.install()
    token = terminal.api.token()
    terminal.run("import", "chats", write(file, talk(1)), "--app", "chat", "--yes", "--token", token)
    refused = terminal.run(
        "import", "chats", write(file, talk(1)), "--app", "other", "--yes", "--token", token, status=1
    )
    assert "token" in refused.err


@pytest.mark.parametrize("per", ["day", "file"])
def test_what_becomes_one_conversation_can_be_chosen(terminal: Terminal, file: Path, per: str) -> None:
    said = [{"role": "user", "content": str(n), "timestamp": f"2026-03-0{1 + n // 2}T10:00:00Z"} for n in range(4)]
    command = ("import", "chats", write(file, *said), "--app", "chat", "--yes", "--conversation-per", per)
    assert terminal.json(*command)["conversations"]["imported"] == {"day": 2, "file": 1}[per]
    assert terminal.json(*command)["messages"] == {"imported": 0, "skipped": 4}


@pytest.mark.integration
def test_waiting_ends_when_every_conversation_was_thought_over_and_the_doctor_finds_all_well(
    sqlite_url: str, own_redis: EmbeddedRedis, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    said = ["I moved to Lisbon in May and adopted a cat named Miso.", "Lovely!"]
    with start_system(tmp_path / "system", sqlite_url, own_redis.url, 1) as system:
        for name, value in system.loop.env.items():
            if name.startswith(("AFTERTHOUGHT_", "REDIS_URL", "DATABASE_URL")):
                monkeypatch.setenv(name, value)
        values = [talk(n, f"{said[0]} That was day {n}.", said[1]) for n in range(4)] + [talk(99, "Hello.", "Hi.")]
        command = ("import", "chats", write(file, *values), "--app", "chat", "--yes", "--wait", "--timeout", "60")
        done = run(capsys, *command, "--json").json
        assert sum(done["jobs"].values()) == 2 * len(values)
        assert set(done["jobs"]) <= {"done", "nothing"}
        assert 1 <= len(run(capsys, "memories", "list", "chat", "--json").json) <= len(values)
        findings = run(capsys, "doctor", "--json").json["findings"]
        assert {one["health"] for one in findings if one["what"] not in {"disk", "embedding"}} == {"ok"}, findings


def test_a_file_without_a_conversation_is_said_to_be_empty(terminal: Terminal, file: Path) -> None:
    assert (
        "holds no conversations"
        in terminal.run("import", "chats", write(file, ""), "--app", "chat", "--yes", status=1).err
    )
