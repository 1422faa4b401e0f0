"""What holds for all sessions of an app and what a project says otherwise: set over HTTP, shown, and in effect."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from loop.steps.sessions import ScanSessions, TendSessions
from shared.sessions.store import files_below
from tests.support.api import open_api
from tests.support.compressing import long_talk
from tests.support.sessions import Sessions, open_sessions
from tests.support.transcripts import user, write

PATH = "/apps/chat/session-settings"
KITES, BOATS = "-home-me-kites", "-home-me-boats"
FOLDERS = ("-gulls", "-terns")
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
def sessions(sessions: Sessions) -> Sessions:
    """A session ``s1`` of the project about kites, and ``s2`` of that about boats."""
    for session_id, project_id in (("s1", KITES), ("s2", BOATS)):
        said = sessions.shelf.transcript(session_id)
        said.human("##keepit0.34## Kites fly.\n\n##keepit0.35## They are red.\n\n##keepit0.90## They are light.")
        sessions.shelf.add(long_talk(said, 20), project_id, "chat")
    return sessions


def change(sessions: Sessions, **wanted: Any) -> dict[str, Any]:
    changed: dict[str, Any] = sessions.api.ask("PATCH", PATH, json=wanted)
    return changed


def config(sessions: Sessions) -> Any:
    return json.loads(sessions.store.config("chat").read_text())


def differ(sessions: Sessions, project_id: str = KITES, **wanted: Any) -> dict[str, Any]:
    path = f"/projects/{project_id}"
    changed: dict[str, Any] = sessions.ask("PATCH", path, body={"settings": wanted})
    return changed


def kept(version: dict[str, Any]) -> list[str]:
    """Return which of the marked parts a version holds word for word, by its own markers' outcomes."""
    return [words for words in ("Kites fly.", "They are red.", "They are light.") if words in version["content"]]


def survivors(sessions: Sessions, session_id: str = "s1") -> list[float]:
    body = {"sessionId": session_id, "compressionRatio": 10, "aggressiveness": "moderate", "sessionDistance": 5}
    seen = sessions.ask("POST", "/decay/preview", body=body)["markers"]
    return [one["weight"] for one in seen if one["survives"]]


def preserved(version: dict[str, Any]) -> int:
    count: int = version["version"]["keepitStats"]["preserved"]
    return count


def test_what_config_json_shows_is_what_is_in_force(sessions: Sessions) -> None:
    assert sessions.api.ask("GET", PATH) == NOTHING_SET
    wanted = {
        "storage": {"maxCacheSize": "5MB", "compressionRetention": 3},
        "defaults": {"compressionPreset": "gentle", "autoRegisterSessions": True},
        "keepitDecay": {"compressionBase": {"moderate": 0.125}, "maxSessionDistance": 4, "pinnedWeight": 0.9},
        "ui": {"defaultView": "keepits", "confirmDestructiveActions": False},
    }
    changed = change(sessions, **wanted)
    assert changed["keepitDecay"]["compressionBase"] == {"light": 0.1, "moderate": 0.125, "aggressive": 0.5}
    assert changed["ui"] == {"defaultView": "keepits", "showTokenEstimates": True, "confirmDestructiveActions": False}
    shown = config(sessions)
    assert shown.pop("version") == "1.0.0" and shown.pop("createdAt").endswith("Z")
    assert shown == changed == sessions.api.ask("GET", PATH)
    back = change(
        sessions, storage=None, defaults={"compressionPreset": None}, keepitDecay=None, ui={"defaultView": None}
    )
    assert back["storage"] == NOTHING_SET["storage"] and back["keepitDecay"] == NOTHING_SET["keepitDecay"]
    assert back["defaults"]["autoRegisterSessions"] is True and back["ui"]["defaultView"] == "timeline"
    assert config(sessions)["storage"] == NOTHING_SET["storage"]
    assert sessions.api.ask("GET", "/apps/email/session-settings") == NOTHING_SET


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


def test_what_cannot_be_set_is_refused_and_nothing_changes(sessions: Sessions) -> None:
    for name, body in REFUSED.items():
        sent = {"storage": {"compressionRetention": 2}} | body
        assert sessions.api.refused(422, "PATCH", PATH, json=sent)["message"], name
    assert sessions.api.ask("GET", PATH) == NOTHING_SET
    assert sessions.api.ask("GET", f"{PATH}/changes")["changes"] == []


def test_a_base_decides_at_its_exact_boundary_in_versions_and_in_the_preview(sessions: Sessions) -> None:
    assert survivors(sessions) == [0.35, 0.9]
    before = sessions.compress(**UNIFORM)
    assert preserved(before) == 2 and "They are red." in kept(before)
    change(sessions, keepitDecay={"compressionBase": {"moderate": 0.301}})
    assert survivors(sessions) == survivors(sessions, "s2") == [0.9]
    assert preserved(sessions.compress(**UNIFORM)) == 1
    differ(sessions, keepitDecay={"compressionBase": {"moderate": 0.29}})
    assert survivors(sessions) == [0.34, 0.35, 0.9] and survivors(sessions, "s2") == [0.9]
    lower = sessions.compress(**UNIFORM)
    assert preserved(lower) == 3 and kept(lower) == ["Kites fly.", "They are red.", "They are light."]
    assert preserved(sessions.compress("s2", **UNIFORM)) == 1
    assert lower["version"]["settings"]["decay"] == {
        "compressionBase": {"light": 0.1, "moderate": 0.29, "aggressive": 0.5},
        "maxSessionDistance": 10,
        "pinnedWeight": 1.0,
    }
    differ(sessions, keepitDecay=None)
    assert survivors(sessions) == [0.9]
    again = sessions.compress(**lower["version"]["settings"])
    assert again["content"] == lower["content"], "what a version was made with makes it again"


def test_the_farthest_distance_and_what_is_pinned_decide_too(sessions: Sessions) -> None:
    differ(sessions, keepitDecay={"maxSessionDistance": 5})
    assert survivors(sessions) == [0.9], "at 5 of 5 all of 0.10 is added, so 0.40 survives"
    assert preserved(sessions.compress(**UNIFORM)) == 1
    differ(sessions, keepitDecay={"maxSessionDistance": 7, "pinnedWeight": 0.34})
    assert survivors(sessions) == [0.34, 0.35, 0.9] and survivors(sessions, "s2") == [0.35, 0.9]
    assert preserved(sessions.compress(**UNIFORM)) == 3
    differ(sessions, keepitDecay={"pinnedWeight": None})
    assert survivors(sessions) == [0.9], "5/7 of 0.10 is more than 0.05"
    explicit = sessions.compress(**UNIFORM, decay={"maxSessionDistance": 10})
    assert preserved(explicit) == 2, "what a request names goes before what the project says"


def test_defaults_of_versions_are_the_projects_the_apps_and_then_the_seeds(sessions: Sessions) -> None:
    change(sessions, defaults={"compressionPreset": "gentle", "keepitDecayEnabled": False, "model": "extractive"})
    of_the_app = sessions.compress()["version"]["settings"]
    assert (of_the_app["tierPreset"], of_the_app["keepitMode"]) == ("gentle", "preserve-all")
    shown = differ(sessions, defaultCompressionPreset="aggressive", keepitDecayEnabled=True)
    assert shown["ownSettings"] == {"defaultCompressionPreset": "aggressive", "keepitDecayEnabled": True}
    of_its_own = sessions.compress()["version"]["settings"]
    assert (of_its_own["tierPreset"], of_its_own["keepitMode"]) == ("aggressive", "decay")
    assert sessions.compress("s2")["version"]["settings"]["tierPreset"] == "gentle"
    asked = sessions.compress(tierPreset="standard", keepitMode="ignore")["version"]["settings"]
    assert (asked["tierPreset"], asked["keepitMode"]) == ("standard", "ignore")
    assert differ(sessions, defaultCompressionPreset=None)["settings"]["defaultCompressionPreset"] == "gentle"
    manifest = sessions.manifest()
    assert manifest["settings"]["defaultCompressionPreset"] == "gentle"
    assert manifest["settings"]["keepitDecayEnabled"] is True


def test_the_model_of_an_app_or_a_project_compresses_unless_a_request_names_one(
    sqlite_url: str, tmp_path: Path
) -> None:
    with (
        open_api(sqlite_url, tmp_path / "home", model="ollama:scripted") as api,
        open_sessions(api, sqlite_url, tmp_path) as sessions,
    ):
        sessions.shelf.add(long_talk(sessions.shelf.transcript("s1"), 4), KITES, "chat")
        assert change(sessions)["defaults"]["model"] == "ollama:scripted"
        change(sessions, defaults={"model": "extractive"})
        path = "/sessions/s1/versions"
        for own, body, model in (
            (None, {}, "extractive"), ("ollama:scripted", {}, "ollama:scripted"),
            ("ollama:scripted", {"model": "extractive"}, "extractive"),
        ):  # fmt: skip
            differ(sessions, model=own)
            made_by = sessions.ask("POST", path, 202, body)
            assert sessions.get(path)["working"]["settings"]["model"] == model
            api.ask("POST", f"/jobs/{made_by['job']['jobId']}/cancel")
        error = sessions.refused(422, "PATCH", f"/projects/{KITES}", {"settings": {"model": "ollama:other"}})
        assert error["code"] == "unknown_model" and "ollama:scripted" in error["message"]


def test_old_sessions_get_a_version_of_the_preset_that_is_the_default(sessions: Sessions) -> None:
    change(sessions, defaults={"compressionPreset": "gentle", "keepitDecayEnabled": False})
    path = f"/projects/{KITES}/ageing"
    shown = sessions.ask("PUT", path, body={"autoDecay": {"enabled": True}})
    assert shown["autoDecay"]["rules"]["createPreset"] == "gentle"
    sessions.api.clock.advance(10 * 86_400)
    for dry_run in (True, False):
        sessions.ask("POST", f"{path}/run", body={"dryRun": dry_run})
    working = sessions.get("/sessions/s1/versions")["working"]["settings"]
    assert (working["tierPreset"], working["keepitMode"]) == ("gentle", "preserve-all")


def test_a_composition_compresses_moderately_and_as_its_project_says(sessions: Sessions) -> None:
    differ(sessions, keepitDecay={"compressionBase": {"moderate": 0.2}})
    body = {"name": "start", "components": [{"sessionId": "s1"}], "totalTokenBudget": 230}
    sessions.ask("POST", f"/projects/{KITES}/compositions", 202, body)
    working = sessions.get("/sessions/s1/versions")["working"]["settings"]
    assert working["compactionRatio"] > 15, "which alone would be aggressive"
    assert working["aggressiveness"] == "moderate" and working["decay"]["compressionBase"]["moderate"] == 0.2


def test_a_composition_that_is_asked_for_again_leaves_unsaid_what_was_not_said(sessions: Sessions) -> None:
    differ(sessions, keepitDecayEnabled=False)
    component = {"sessionId": "s1", "recompressSettings": {"mode": "uniform", "compactionRatio": 5}}
    body = {"name": "start", "components": [component], "totalTokenBudget": 4000}
    path = f"/projects/{KITES}/compositions"
    asked = sessions.ask("POST", path, 202, body)["composition"]
    assert asked["request"]["components"][0]["recompressSettings"] == component["recompressSettings"]
    working = sessions.get("/sessions/s1/versions")["working"]["settings"]
    assert working["keepitMode"] == "preserve-all"


def test_folders_are_looked_through_where_the_app_says_so_and_the_project_not_otherwise(
    sessions: Sessions, tmp_path: Path
) -> None:
    loop = sessions.api.loop
    for name in ("gulls", "terns"):
        write(tmp_path / name / f"{name}.jsonl", user("Fly.", "1"))
        opened = {"originalPath": f"/{name}", "sourceFolder": str(tmp_path / name)}
        sessions.ask("POST", "/projects", 201, opened)
    scan = ScanSessions(loop.database, loop.clock, loop.store, loop.registrar, 30, loop.metrics)

    def found() -> list[str]:
        scan.run()
        scan.drain(10)
        sessions.api.clock.advance(60)
        return [one["sessionId"] for one in sessions.get("/sessions")["sessions"] if one["projectId"] in FOLDERS]

    assert found() == []
    change(sessions, defaults={"autoRegisterSessions": True})
    assert differ(sessions, FOLDERS[1], autoRegisterNewSessions=False)["settings"]["autoRegisterNewSessions"] is False
    assert found() == ["gulls"]
    differ(sessions, FOLDERS[1], autoRegisterNewSessions=None)
    assert found() == ["terns", "gulls"]


def test_the_cache_is_held_to_its_size_the_oldest_going_first(sessions: Sessions) -> None:
    loop = sessions.api.loop
    change(sessions, storage={"maxCacheSize": "2MB"})
    now = loop.clock.now().timestamp()
    for age in (600, 500, 400, 10):
        path = loop.store.cache("chat") / f"left-{age}"
        loop.store.write_text(path, ["x" * 2**20])
        os.utime(path, (now - age, now - age))
    TendSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings).run()
    assert [path.name for path in files_below(loop.store.cache("chat"))] == ["left-10", "left-400"]
    path = f"/projects/{KITES}/sessions/s9"
    error = sessions.refused(503, "POST", path, b'{"type":"user"}\n')
    assert "storage.maxCacheSize" in error["message"]
    error = sessions.refused(413, "POST", path, b"x" * (2**21 + 1))
    assert error["details"]["limit"] == 2**21 and "storage.maxCacheSize" in error["message"]


def test_every_change_says_who_made_it_and_what_was_before_and_after(sessions: Sessions) -> None:
    token = sessions.api.token()
    sessions.api.ask("PATCH", PATH, token=token, json={"ui": {"defaultView": "storage"}})
    change(sessions, ui={"defaultView": "storage"})
    change(sessions, ui=None, keepitDecay={"pinnedWeight": 0.95})
    last, first = sessions.api.ask("GET", f"{PATH}/changes", token=token)["changes"]
    assert first["actor"].startswith("token:") and (first["before"], first["after"]) == (
        {},
        {"ui": {"defaultView": "storage"}},
    )
    assert last["actor"] == "admin" and last["before"] == first["after"]
    assert last["after"] == {"keepitDecay": {"pinnedWeight": 0.95}}
    differ(sessions, keepitDecay={"pinnedWeight": 0.5})
    changes = sessions.get(f"/projects/{KITES}/changes")["changes"]
    assert changes[0]["before"]["settings"] == {}
    assert changes[0]["after"]["settings"] == {"keepitDecay": {"pinnedWeight": 0.5}}
    sessions.api.refused(403, "PATCH", PATH, token=sessions.api.token("email"), json={"ui": None})


def test_what_was_set_goes_with_the_apps_data(sessions: Sessions) -> None:
    change(sessions, ui={"defaultView": "storage"})
    sessions.api.ask("DELETE", "/apps/chat/data")
    assert sessions.api.ask("GET", PATH) == NOTHING_SET and sessions.api.ask("GET", f"{PATH}/changes")["changes"] == []


def test_a_setting_of_the_service_that_changed_is_shown_after_a_restart(sessions: Sessions, api_url: str) -> None:
    change(sessions, storage={"maxCacheSize": "500MB"})
    home = sessions.api.loop.settings.home
    with open_api(api_url, home, sessions_cache_mb=100) as again:
        assert again.ask("GET", PATH)["storage"]["maxCacheSize"] == "100MB", "never more than all apps share"
        loop = again.loop
        TendSessions(loop.database, loop.clock, loop.store, loop.metrics, loop.settings).run()
        assert json.loads(loop.store.config("chat").read_text())["storage"]["maxCacheSize"] == "100MB"
