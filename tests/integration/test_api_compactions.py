"""How often room was made among an app's memories, counted from their history."""

from __future__ import annotations

from shared.memories.compaction import NEW, Action, Decision
from tests.support.api import Api
from tests.support.house import House


def remember(api: Api, house: House, user: str, *said: str) -> None:
    """Have conversations of a user remembered, one after another, as a worker would."""
    for text in said:
        house.clock.advance(1)
        conversation = api.ask("POST", "/apps/chat/conversations", json={"userId": user})["conversationId"]
        path = f"/apps/chat/conversations/{conversation}"
        api.ask("POST", f"{path}/messages", json={"role": "user", "content": text})
        api.ask("POST", f"{path}/end")
        house.work_off()


def test_room_is_counted_by_day_and_by_what_went(api: Api) -> None:
    path = api.install()
    house = House(api.loop.settings.database_url)
    house.clock = house.pipeline.clock = api.clock
    remember(api, house, "ann", *(f"Fact {i}" for i in range(10)))
    house.scripted.decides = [
        lambda present, _: Decision(Action.DELETE, present[0].id, "stale"),
        lambda present, new: Decision(Action.EDIT, present[0].id, "alike", f"{present[0].content} {new.content}", NEW),
        lambda present, _: Decision(
            Action.EDIT, present[0].id, "alike", f"{present[0].content} {present[1].content}", present[1].id
        ),
        Decision(Action.DELETE, NEW, "little"),
        Decision(Action.DELETE, 10**6, "no such memory"),
    ]
    remember(api, house, "ann", *(f"More {i}" for i in range(3)))
    api.clock.advance(86400)
    remember(api, house, "ann", "Later 1", "Later 2")
    removed = api.ask("GET", f"{path}/memories", params={"userId": "ann"})["memories"][0]["id"]
    api.ask("DELETE", f"{path}/memories/{removed}")
    remember(api, house, "bob", "Of bob")
    shown = api.ask("GET", f"{path}/compactions", params={"days": 3})
    none = {"deleted": 0, "merged": 0, "oldest_went": 0, "least_went": 0, "new_gave_way": 0}
    assert [(day["compactions"], day["outcomes"]) for day in shown["days"]] == [
        (0, none),
        (3, none | {"deleted": 1, "merged": 2}),
        (2, none | {"deleted": 1, "merged": 1}),
    ]
    assert (shown["compactions"], shown["days"][-1]["day"]) == (5, api.clock.now().date().isoformat())
    assert api.ask("GET", f"{path}/compactions", params={"userId": "bob"})["compactions"] == 0
    assert api.ask("GET", f"{path}/compactions", params={"userId": "ann", "days": 1})["compactions"] == 2
    assert len(api.ask("GET", f"{path}/compactions")["days"]) == 30
    house.database.dispose()


def test_compactions_of_no_sensible_time_or_app_are_refused(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    for days in ("0", "366", "x"):
        sqlite_api.refused(422, "GET", f"{path}/compactions", params={"days": days})
    sqlite_api.refused(404, "GET", "/apps/nobody/compactions")
