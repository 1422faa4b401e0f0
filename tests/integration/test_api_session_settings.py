"""What holds for all sessions of an app and what a project says otherwise: set over HTTP, shown, and in effect."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

import pytest

from loop.steps.sessions import AgeSessions, ScanSessions, TendSessions
from shared.sessions.store import files_below
from tests.support.api import Api, open_api
from tests.support.composing import Shop
from tests.support.compressing import Press, long_talk
from tests.support.house import House
from tests.support.recordings import Shelf
from tests.support.transcripts import user, write

MEMORY = "/api/memory"
PATH = "/apps/chat/session-settings"
CHAT = {"appId": "chat"}
KITES, BOATS = "-home-me-kites", "-home-me-boats"
UNIFORM = {"mode": "uniform", "compactionRatio": 10, "aggressiveness": "moderate", "sessionDistance": 5}
"""Adds 0.10 * 5/10 to the base of 0.3: what weighs 0.35 survives, 0.34 does not."""
NOTHING_SET = {
    "storage": {"maxCacheSize": "1024MB", "compressionRetention": "all"},
    "defaults": {
        "compressionPreset": "standard", "keepitDecayEnabled": True, "autoRegisterSessions": False,
        "model": "extractive",
    },
    "keepitDecay": {
        "compressionBase": {"light": 0.1, "moderate": 0.3, "aggressive": 0.5}, "maxSessionDistance": 10,
        "pinnedWeight": 1.0,
    },
    "ui": {"defaultView": "timeline", "showTokenEstimates": True, "confirmDestructiveActions": True},
}  # fmt: skip


@pytest.fixture
def api(sqlite_api: Api) -> Api:
    """Over one database: what differs between them is tried with the promises."""
    sqlite_api.install("chat")
    sqlite_api.install("email")
    return sqlite_api


@pytest.fixture
def press(api: Api, sqlite_url: str, tmp_path: Path) -> Press:
    """A worker beside the interface; a session ``s1`` of the project about kites, ``s2`` of that about boats."""
    house = House(sqlite_url)
    house.clock = api.clock
    press = Press(house, tmp_path, Shelf(house, tmp_path, api.loop.store), "chat")
    for session_id, project_id in (("s1", KITES), ("s2", BOATS)):
        said = press.shelf.transcript(session_id)
        said.human("##keepit0.34## Kites fly.\n\n##keepit0.35## They are red.\n\n##keepit0.90## They are light.")
        press.shelf.add(long_talk(said, 20), project_id, "chat")
    return press


def change(api: Api, **wanted: Any) -> dict[str, Any]:
    changed: dict[str, Any] = api.ask("PATCH", PATH, json=wanted)
    return changed


def differ(api: Api, project_id: str = KITES, **wanted: Any) -> dict[str, Any]:
    path = f"{MEMORY}/projects/{project_id}"
    changed: dict[str, Any] = api.ask("PATCH", path, params=CHAT, json={"settings": wanted})
    return changed


def made(api: Api, press: Press, session_id: str = "s1", **wanted: Any) -> dict[str, Any]:
    """Have a version made and return it."""
    path = f"{MEMORY}/sessions/{session_id}/versions"
    version_id = api.ask("POST", path, 202, params=CHAT, json=wanted)["versionId"]
    press.work_off()
    version: dict[str, Any] = api.ask("GET", f"{path}/{version_id}", params=CHAT)
    return version


def kept(version: dict[str, Any]) -> list[str]:
    """Return which of the marked parts a version holds word for word, by its own markers' outcomes."""
    return [words for words in ("Kites fly.", "They are red.", "They are light.") if words in version["content"]]


def survivors(api: Api, session_id: str = "s1") -> list[float]:
    """Return the weights that the preview says survive ``UNIFORM``."""
    body = {"sessionId": session_id, "compressionRatio": 10, "aggressiveness": "moderate", "sessionDistance": 5}
    seen = api.ask("POST", f"{MEMORY}/decay/preview", params=CHAT, json=body)["markers"]
    return [one["weight"] for one in seen if one["survives"]]


def preserved(version: dict[str, Any]) -> int:
    count: int = version["version"]["keepitStats"]["preserved"]
    return count


def test_what_config_json_shows_is_what_is_in_force(api: Api, press: Press) -> None:
    assert api.ask("GET", PATH) == NOTHING_SET
    wanted = {
        "storage": {"maxCacheSize": "5MB", "compressionRetention": 3},
        "defaults": {"compressionPreset": "gentle", "autoRegisterSessions": True},
        "keepitDecay": {"compressionBase": {"moderate": 0.125}, "maxSessionDistance": 4, "pinnedWeight": 0.9},
        "ui": {"defaultView": "keepits", "confirmDestructiveActions": False},
    }
    changed = change(api, **wanted)
    assert changed["keepitDecay"]["compressionBase"] == {"light": 0.1, "moderate": 0.125, "aggressive": 0.5}
    assert changed["ui"] == {"defaultView": "keepits", "showTokenEstimates": True, "confirmDestructiveActions": False}
    shown = json.loads(api.loop.store.config("chat").read_text())
    assert shown.pop("version") == "1.0.0" and shown.pop("createdAt").endswith("Z")
    assert shown == changed == api.ask("GET", PATH)
    back = change(api, storage=None, defaults={"compressionPreset": None}, keepitDecay=None, ui={"defaultView": None})
    assert back["storage"] == NOTHING_SET["storage"] and back["keepitDecay"] == NOTHING_SET["keepitDecay"]
    assert back["defaults"]["autoRegisterSessions"] is True and back["ui"]["defaultView"] == "timeline"
    assert json.loads(api.loop.store.config("chat").read_text())["storage"] == NOTHING_SET["storage"]
    assert api.ask("GET", "/apps/email/session-settings") == NOTHING_SET


REFUSED = {
    "a view that is none": {"ui": {"defaultView": "cloud"}},
    "a base above 1": {"keepitDecay": {"compressionBase": {"light": 1.1}}},
    "a base of four digits": {"keepitDecay": {"compressionBase": {"light": 0.1234}}},
    "a base that is text": {"keepitDecay": {"compressionBase": {"light": "0.1"}}},
    "a distance of 0": {"keepitDecay": {"maxSessionDistance": 0}},
    "a pin of three digits": {"keepitDecay": {"pinnedWeight": 0.955}},
    "a pin of 0": {"keepitDecay": {"pinnedWeight": 0}},
    "tiers without a name": {"defaults": {"compressionPreset": "custom"}},
    "a model that is not set up": {"defaults": {"model": "ollama:nobody"}},
    "no version at all": {"storage": {"compressionRetention": 0}},
    "a retention in words": {"storage": {"compressionRetention": "some"}},
    "a size in words": {"storage": {"maxCacheSize": "large"}},
    "a size of nothing": {"storage": {"maxCacheSize": 1000}},
    "a cache larger than all": {"storage": {"maxCacheSize": "2GB"}},
    "an unknown group": {"other": {}},
    "an unknown value": {"ui": {"colour": "red"}},
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_set_is_refused_and_nothing_changes(api: Api, body: dict[str, Any]) -> None:
    assert api.refused(422, "PATCH", PATH, json=body | {"storage": {"compressionRetention": 2}} | body)["message"]
    assert api.ask("GET", PATH) == NOTHING_SET
    assert api.ask("GET", f"{PATH}/changes")["changes"] == []


def test_a_base_decides_at_its_exact_boundary_in_versions_and_in_the_preview(api: Api, press: Press) -> None:
    assert survivors(api) == [0.35, 0.9]
    before = made(api, press, **UNIFORM)
    assert preserved(before) == 2 and "They are red." in kept(before)
    change(api, keepitDecay={"compressionBase": {"moderate": 0.301}})
    assert survivors(api) == survivors(api, "s2") == [0.9]
    assert preserved(made(api, press, **UNIFORM)) == 1
    differ(api, keepitDecay={"compressionBase": {"moderate": 0.29}})
    assert survivors(api) == [0.34, 0.35, 0.9] and survivors(api, "s2") == [0.9]
    lower = made(api, press, **UNIFORM)
    assert preserved(lower) == 3 and kept(lower) == ["Kites fly.", "They are red.", "They are light."]
    assert preserved(made(api, press, "s2", **UNIFORM)) == 1
    assert lower["version"]["settings"]["decay"] == {
        "compressionBase": {"light": 0.1, "moderate": 0.29, "aggressive": 0.5},
        "maxSessionDistance": 10,
        "pinnedWeight": 1.0,
    }
    differ(api, keepitDecay=None)
    assert survivors(api) == [0.9]
    again = made(api, press, **lower["version"]["settings"])
    assert again["content"] == lower["content"], "what a version was made with makes it again"


def test_the_farthest_distance_and_what_is_pinned_decide_too(api: Api, press: Press) -> None:
    differ(api, keepitDecay={"maxSessionDistance": 5})
    assert survivors(api) == [0.9], "at 5 of 5 all of 0.10 is added, so 0.40 survives"
    assert preserved(made(api, press, **UNIFORM)) == 1
    differ(api, keepitDecay={"maxSessionDistance": 7, "pinnedWeight": 0.34})
    assert survivors(api) == [0.34, 0.35, 0.9] and survivors(api, "s2") == [0.35, 0.9]
    assert preserved(made(api, press, **UNIFORM)) == 3
    differ(api, keepitDecay={"pinnedWeight": None})
    assert survivors(api) == [0.9], "5/7 of 0.10 is more than 0.05"
    explicit = made(api, press, **UNIFORM, decay={"maxSessionDistance": 10})
    assert preserved(explicit) == 2, "what a request names goes before what the project says"


def test_defaults_of_versions_are_the_projects_the_apps_and_then_the_seeds(api: Api, press: Press) -> None:
    change(api, defaults={"compressionPreset": "gentle", "keepitDecayEnabled": False, "model": "extractive"})
    of_the_app = made(api, press)["version"]["settings"]
    assert (of_the_app["tierPreset"], of_the_app["keepitMode"]) == ("gentle", "preserve-all")
    shown = differ(api, defaultCompressionPreset="aggressive", keepitDecayEnabled=True)
    assert shown["ownSettings"] == {"defaultCompressionPreset": "aggressive", "keepitDecayEnabled": True}
    of_its_own = made(api, press)["version"]["settings"]
    assert (of_its_own["tierPreset"], of_its_own["keepitMode"]) == ("aggressive", "decay")
    assert made(api, press, "s2")["version"]["settings"]["tierPreset"] == "gentle"
    asked = made(api, press, tierPreset="standard", keepitMode="ignore")["version"]["settings"]
    assert (asked["tierPreset"], asked["keepitMode"]) == ("standard", "ignore")
    assert differ(api, defaultCompressionPreset=None)["settings"]["defaultCompressionPreset"] == "gentle"
    manifest = json.loads(api.loop.store.manifest("chat", KITES).read_text())
    assert manifest["settings"]["defaultCompressionPreset"] == "gentle"
    assert manifest["settings"]["keepitDecayEnabled"] is True


def test_the_model_of_an_app_or_a_project_compresses_unless_a_request_names_one(
    sqlite_url: str, tmp_path: Path
) -> None:
    with open_api(sqlite_url, tmp_path / "home", model="ollama:scripted") as api:
        api.install()
        house = House(sqlite_url)
        house.clock = api.clock
        press = Press(house, tmp_path, Shelf(house, tmp_path, api.loop.store), "chat")
        press.shelf.add(long_talk(press.shelf.transcript("s1"), 4), KITES, "chat")
        assert change(api)["defaults"]["model"] == "ollama:scripted"
        change(api, defaults={"model": "extractive"})
        path = f"{MEMORY}/sessions/s1/versions"
        for own, body, model in (
            (None, {}, "extractive"),
            ("ollama:scripted", {}, "ollama:scripted"),
            ("ollama:scripted", {"model": "extractive"}, "extractive"),
        ):
            differ(api, model=own)
            made_by = api.ask("POST", path, 202, params=CHAT, json=body)
            assert api.ask("GET", path, params=CHAT)["working"]["settings"]["model"] == model
            api.ask("POST", f"/jobs/{made_by['job']['jobId']}/cancel")
        error = api.refused(
            422, "PATCH", f"{MEMORY}/projects/{KITES}", params=CHAT, json={"settings": {"model": "ollama:other"}}
        )
        assert error["code"] == "unknown_model" and "ollama:scripted" in error["message"]


def test_an_app_keeps_so_many_versions_of_a_session_and_a_project_another_number(api: Api, tmp_path: Path) -> None:
    originals = tmp_path / "originals"
    originals.mkdir()
    shops = [Shop(cast(House, api.loop), api.loop.store, originals, "chat", name) for name in (KITES, BOATS)]
    for number, shop in enumerate(shops):
        shop.register(f"s{number}", 4)
        for tokens in (100, 200, 300):
            shop.version(f"s{number}", tokens)
    change(api, storage={"compressionRetention": 2})
    differ(api, BOATS, compressionRetention=1)
    assert api.ask("GET", f"{MEMORY}/projects/{KITES}/ageing", params=CHAT)["retention"]["count"] == 2
    assert api.ask("GET", f"{MEMORY}/projects/{BOATS}", params=CHAT)["settings"]["compressionRetention"] == 1
    loop = api.loop
    step = AgeSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings)
    for _ in ("shown", "done"):
        assert not step.run()
        api.clock.advance(86_400)
    assert [versions(api, f"s{number}") for number in (0, 1)] == [["v003", "v002"], ["v003"]]
    assert json.loads(loop.store.config("chat").read_text())["storage"]["compressionRetention"] == 2
    path = f"{MEMORY}/projects/{BOATS}/ageing"
    assert api.ask("PUT", path, params=CHAT, json={"retention": {"keep": "days", "days": 9}})["retention"]["days"] == 9
    assert json.loads(loop.store.manifest("chat", BOATS).read_text())["settings"]["compressionRetention"] == "9 days"
    assert api.ask("PUT", path, params=CHAT, json={"retention": None})["retention"]["count"] == 2
    assert api.ask("PUT", path, params=CHAT, json={"autoDecay": {"enabled": True}})["retention"]["count"] == 2


def versions(api: Api, session_id: str) -> list[str]:
    listed = api.ask("GET", f"{MEMORY}/sessions/{session_id}/versions", params=CHAT)["versions"]
    return [one["versionId"] for one in listed]


def test_old_sessions_get_a_version_of_the_preset_that_is_the_default(api: Api, press: Press) -> None:
    change(api, defaults={"compressionPreset": "gentle", "keepitDecayEnabled": False})
    path = f"{MEMORY}/projects/{KITES}/ageing"
    shown = api.ask("PUT", path, params=CHAT, json={"autoDecay": {"enabled": True}})
    assert shown["autoDecay"]["rules"]["createPreset"] == "gentle"
    api.clock.advance(10 * 86_400)
    for dry_run in (True, False):
        api.ask("POST", f"{path}/run", params=CHAT, json={"dryRun": dry_run})
    working = api.ask("GET", f"{MEMORY}/sessions/s1/versions", params=CHAT)["working"]["settings"]
    assert (working["tierPreset"], working["keepitMode"]) == ("gentle", "preserve-all")


def test_a_composition_compresses_moderately_and_as_its_project_says(api: Api, press: Press) -> None:
    differ(api, keepitDecay={"compressionBase": {"moderate": 0.2}})
    body = {"name": "start", "components": [{"sessionId": "s1"}], "totalTokenBudget": 230}
    api.ask("POST", f"{MEMORY}/projects/{KITES}/compositions", 202, params=CHAT, json=body)
    working = api.ask("GET", f"{MEMORY}/sessions/s1/versions", params=CHAT)["working"]["settings"]
    assert working["compactionRatio"] > 15, "which alone would be aggressive"
    assert working["aggressiveness"] == "moderate" and working["decay"]["compressionBase"]["moderate"] == 0.2


def test_a_composition_that_is_asked_for_again_leaves_unsaid_what_was_not_said(api: Api, press: Press) -> None:
    differ(api, keepitDecayEnabled=False)
    component = {"sessionId": "s1", "recompressSettings": {"mode": "uniform", "compactionRatio": 5}}
    body = {"name": "start", "components": [component], "totalTokenBudget": 4000}
    path = f"{MEMORY}/projects/{KITES}/compositions"
    asked = api.ask("POST", path, 202, params=CHAT, json=body)["composition"]
    assert asked["request"]["components"][0]["recompressSettings"] == component["recompressSettings"]
    working = api.ask("GET", f"{MEMORY}/sessions/s1/versions", params=CHAT)["working"]["settings"]
    assert working["keepitMode"] == "preserve-all"


def test_folders_are_looked_through_where_the_app_says_so_and_the_project_not_otherwise(
    api: Api, tmp_path: Path
) -> None:
    loop = api.loop
    for name in ("kites", "boats"):
        write(tmp_path / name / f"{name}.jsonl", user("Fly.", "1"))
        opened = {"originalPath": f"/home/me/{name}", "sourceFolder": str(tmp_path / name)}
        api.ask("POST", f"{MEMORY}/projects", 201, params=CHAT, json=opened)
    scan = ScanSessions(loop.database, loop.clock, loop.store, loop.registrar, 30, loop.metrics)

    def found() -> list[str]:
        scan.run()
        scan.drain(10)
        api.clock.advance(60)
        return [one["sessionId"] for one in api.ask("GET", f"{MEMORY}/sessions", params=CHAT)["sessions"]]

    assert found() == []
    change(api, defaults={"autoRegisterSessions": True})
    assert differ(api, BOATS, autoRegisterNewSessions=False)["settings"]["autoRegisterNewSessions"] is False
    assert found() == ["kites"]
    differ(api, BOATS, autoRegisterNewSessions=None)
    assert found() == ["boats", "kites"]


def test_the_cache_is_held_to_its_size_the_oldest_going_first(api: Api) -> None:
    loop = api.loop
    change(api, storage={"maxCacheSize": "2MB"})
    now = loop.clock.now().timestamp()
    for age in (600, 500, 400, 10):
        path = loop.store.cache("chat") / f"left-{age}"
        loop.store.write_text(path, ["x" * 2**20])
        os.utime(path, (now - age, now - age))
    TendSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings).run()
    assert [path.name for path in files_below(loop.store.cache("chat"))] == ["left-10", "left-400"]
    headers = {"Content-Type": "application/x-ndjson"}
    path = f"{MEMORY}/projects/{KITES}/sessions/s1"
    small = b'{"type":"user"}\n'
    error = api.refused(503, "POST", path, params=CHAT, content=small, headers=headers)
    assert "storage.maxCacheSize" in error["message"]
    error = api.refused(413, "POST", path, params=CHAT, content=b"x" * (2**21 + 1), headers=headers)
    assert error["details"]["limit"] == 2**21 and "storage.maxCacheSize" in error["message"]


def test_every_change_says_who_made_it_and_what_was_before_and_after(api: Api, press: Press) -> None:
    token = api.token()
    api.ask("PATCH", PATH, token=token, json={"ui": {"defaultView": "storage"}})
    change(api, ui={"defaultView": "storage"})
    change(api, ui=None, keepitDecay={"pinnedWeight": 0.95})
    last, first = api.ask("GET", f"{PATH}/changes", token=token)["changes"]
    assert first["actor"].startswith("token:") and (first["before"], first["after"]) == (
        {},
        {"ui": {"defaultView": "storage"}},
    )
    assert last["actor"] == "admin" and last["before"] == first["after"]
    assert last["after"] == {"keepitDecay": {"pinnedWeight": 0.95}}
    differ(api, keepitDecay={"pinnedWeight": 0.5})
    changes = api.ask("GET", f"{MEMORY}/projects/{KITES}/changes", params=CHAT)["changes"]
    assert changes[0]["before"]["settings"] == {}
    assert changes[0]["after"]["settings"] == {"keepitDecay": {"pinnedWeight": 0.5}}
    api.refused(403, "PATCH", PATH, token=api.token("email"), json={"ui": None})


def test_what_was_set_goes_with_the_apps_data(api: Api, press: Press) -> None:
    change(api, ui={"defaultView": "storage"})
    api.ask("DELETE", "/apps/chat/data")
    assert api.ask("GET", PATH) == NOTHING_SET and api.ask("GET", f"{PATH}/changes")["changes"] == []


def test_a_setting_of_the_service_that_changed_is_shown_after_a_restart(
    api: Api, press: Press, sqlite_url: str
) -> None:
    change(api, storage={"maxCacheSize": "500MB"})
    home = api.loop.settings.home
    with open_api(sqlite_url, home, sessions_cache_mb=100) as again:
        assert again.ask("GET", PATH)["storage"]["maxCacheSize"] == "100MB", "never more than all apps share"
        loop = again.loop
        TendSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings).run()
        assert json.loads(loop.store.config("chat").read_text())["storage"]["maxCacheSize"] == "100MB"
