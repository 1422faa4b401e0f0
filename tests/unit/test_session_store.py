"""The store of sessions: files that are whole or not there, nothing outside its root, one writer at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from shared.base.errors import Invalid, Transient
from shared.sessions import store as locking
from shared.sessions.registry.projects import sanitise
from shared.sessions.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "root" / "sessions")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/etc", "a\0b", "a\nb", ".hidden", "a b", "a\\b", "~", "*"]
)
def test_no_name_leads_anywhere_else(store: Store, name: str) -> None:
    for way in (
        lambda: store.app(name), lambda: store.project_folder("chat", name), lambda: store.cache(name),
        lambda: store.original("chat", "p", name), lambda: store.original("chat", name, "s"),
        lambda: store.versions_folder("chat", "p", name), lambda: store.composition_folder("chat", "p", name),
    ):  # fmt: skip
        with pytest.raises(Invalid) as refused:
            way()
        assert refused.value.code == "bad_name"


def test_a_file_is_written_whole_for_the_owner_only_or_what_was_there_stays(store: Store) -> None:
    path = store.original("chat", "p", "s1")
    digest = store.write_text(path, ["é", "\n"])
    assert path.read_bytes() == "é\n".encode() and digest == sha256(path.read_bytes()).hexdigest()
    assert path.stat().st_mode & 0o777 == 0o600
    folders = [folder for folder in path.parents if folder.is_relative_to(store.root)]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}

    def breaks() -> Iterator[str]:
        yield "half"
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError):
        store.write_text(path, breaks())
    assert path.read_text("utf-8") == "é\n" and list(store.files("chat")) == [path]


def test_links_are_not_followed_and_nothing_outside_the_root_is_touched(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    store.make_folder(store.project_folder("chat", "p"))
    link = store.project_folder("chat", "p") / "originals"
    link.symlink_to(outside)
    for way in (
        lambda: store.write_text(store.original("chat", "p", "s1"), ["x"]),
        lambda: store.remove(store.original("chat", "p", "kept")), lambda: store.append(link / "kept.txt", 0, [b"x"]),
    ):  # fmt: skip
        with pytest.raises(Invalid) as refused:
            way()
        assert refused.value.code == "outside_store"
    assert list(store.files("chat")) == [link] and store.remove(store.app("chat")) == 1
    assert (outside / "kept.txt").read_text() == "kept" and not store.app("chat").exists()
    assert store.remove(store.app("chat")) == 0 and store.apps() == [] and list(store.files("chat")) == []
    for path in ("..", "../x", "chat/../../x", ""):
        for away in (store.remove, store.make_folder) if path else (store.remove,):
            with pytest.raises(Invalid):
                away(store.root / path)


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


def test_a_path_becomes_a_project_and_long_ones_are_cut_and_told_apart() -> None:
    names = {
        "/home/dac/github/myapp": "-home-dac-github-myapp", "/home/me/my.app_2": "-home-me-my-app-2", "/": "-",
        "C:\\work\\app": "C--work-app", "relative": "relative", "/home/jürgen": "-home-j-rgen",
    }  # fmt: skip
    assert {path: sanitise(path) for path in names} == names
    one, two = (sanitise("/" + "very/long/" * 40 + end) for end in "ab")
    assert one != two and len(one) <= 200 and one.startswith("-very-long-")
    for path in ("", "  ", "//", "é"):
        with pytest.raises(Invalid):
            sanitise(path)
