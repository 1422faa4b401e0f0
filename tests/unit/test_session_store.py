"""The store of sessions: names that are checked, files that are whole or not there, and nothing outside its root."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from shared.base.errors import Invalid, Transient
from shared.sessions import store as locking
from shared.sessions.registry.projects import sanitise, with_hash
from shared.sessions.store import Store

_BAD_NAMES = ["", ".", "..", "../x", "a/b", "/etc", "a\0b", "a\nb", ".hidden", "a b", "é", "x" * 201, "a\\b", "~", "*"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "root" / "sessions")


@pytest.mark.parametrize("name", _BAD_NAMES, ids=repr)
def test_no_name_leads_anywhere_else(store: Store, name: str) -> None:
    for way in (
        lambda: store.app(name), lambda: store.project_folder("chat", name), lambda: store.cache(name),
        lambda: store.original("chat", "p", name), lambda: store.original("chat", name, "s"),
        lambda: store.versions_folder("chat", "p", name), lambda: store.composition_folder("chat", "p", name),
    ):  # fmt: skip
        with pytest.raises(Invalid) as refused:
            way()
        assert refused.value.code == "bad_name"


def test_the_layout_is_the_seeds(store: Store) -> None:
    root = store.root / "chat" / "projects" / "-home-me-app"
    assert store.original("chat", "-home-me-app", "abc123") == root / "originals" / "abc123.jsonl"
    assert store.versions_folder("chat", "-home-me-app", "abc123") == root / "summaries" / "abc123"
    assert store.composition_folder("chat", "-home-me-app", "feature-x") == root / "composed" / "feature-x"
    assert store.manifest("chat", "-home-me-app") == root / "manifest.json"
    assert store.config("chat") == store.root / "chat" / "config.json"


def test_a_file_is_written_whole_for_the_owner_only(store: Store) -> None:
    path = store.original("chat", "p", "s1")
    digest = store.write_text(path, ["é", "\n"])
    assert path.read_bytes() == "é\n".encode() and digest == sha256(path.read_bytes()).hexdigest()
    assert path.stat().st_mode & 0o777 == 0o600
    folders = [folder for folder in path.parents if folder.is_relative_to(store.root)]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    store.write_json(path, {"a": "é"})
    assert path.read_text("utf-8") == '{\n  "a": "é"\n}\n'


def test_a_writing_that_fails_leaves_what_was_there_and_nothing_else(store: Store) -> None:
    path = store.original("chat", "p", "s1")
    store.write_text(path, ["before"])

    def breaks() -> Iterator[str]:
        yield "half"
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError):
        store.write_text(path, breaks())
    assert path.read_text() == "before" and list(store.files("chat")) == [path]


def test_a_tail_takes_the_place_of_what_a_broken_sync_left(store: Store) -> None:
    path = store.original("chat", "p", "s1")
    store.write_text(path, ["known", "left over, and longer than what comes"])
    store.append(path, 5, [b" and", b" new"])
    assert path.read_text() == "known and new"


def test_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    store.make_folder(store.project_folder("chat", "p"))
    link = store.project_folder("chat", "p") / "originals"
    link.symlink_to(outside)
    for way in (
        lambda: store.write_text(store.original("chat", "p", "s1"), ["x"]),
        lambda: store.remove(store.original("chat", "p", "kept")),
        lambda: store.append(link / "kept.txt", 0, [b"x"]),
    ):
        with pytest.raises(Invalid) as refused:
            way()
        assert refused.value.code == "outside_store"
    assert list(store.files("chat")) == [link]
    assert store.remove(store.app("chat")) == 1
    assert (outside / "kept.txt").read_text() == "kept" and not store.app("chat").exists()


@pytest.mark.parametrize("path", ["..", "../x", "chat/../../x", ""])
def test_nothing_outside_the_root_is_removed_or_made(store: Store, path: str) -> None:
    for way in (store.remove, store.make_folder) if path else (store.remove,):
        with pytest.raises(Invalid):
            way(store.root / path)


def test_removing_what_is_not_there_is_nothing(store: Store) -> None:
    assert store.remove(store.original("chat", "p", "s1")) == 0
    assert store.remove(store.app("chat")) == 0 and store.apps() == [] and list(store.files("chat")) == []


def test_one_works_on_a_session_at_a_time_and_nobody_while_the_app_is_held(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "_PATIENCE_SECONDS", 0.05)
    ready, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with store.session_lock("chat", "s1"):
            ready.set()
            go_on.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert ready.wait(60)
    try:
        with store.session_lock("chat", "s2"), store.app_lock("email"):
            pass
        for lock in (store.session_lock("chat", "s1"), store.app_lock("chat")):
            with pytest.raises(Transient), lock:
                pass
    finally:
        go_on.set()
        holder.join()
    with store.app_lock("chat"):
        pass


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/dac/github/myapp", "-home-dac-github-myapp"),
        ("/home/me/my.app_2", "-home-me-my-app-2"),
        ("C:\\work\\app", "C--work-app"),
        ("/", "-"),
        ("relative", "relative"),
        ("/home/jürgen", "-home-j-rgen"),
    ],
)
def test_a_path_becomes_a_project(path: str, name: str) -> None:
    assert sanitise(path) == name


def test_long_paths_are_cut_and_told_apart() -> None:
    one, two = (sanitise("/" + "very/long/" * 40 + end) for end in "ab")
    assert one != two and len(one) <= 200 and one.startswith("-very-long-")
    assert with_hash("-a-b", "/a/b") != with_hash("-a-b", "/a_b")
    for path in ("", "  ", "//", "é"):
        with pytest.raises(Invalid):
            sanitise(path)
