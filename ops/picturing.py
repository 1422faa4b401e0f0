"""Takes the pictures of the README: ``./ops/pictures``."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from afterthought_client import Afterthought
from tests.support.browser import Window, chromium, window
from tests.support.services import start_redis, start_system
from tests.support.waiting import wait_until

PICTURES = Path(__file__).parents[1] / "docs/pictures"
_SAID = (
    ("The move", "I moved to Lisbon in May, and I am allergic to peanuts.", "Noted. I will keep recipes free of nuts."),
    ("The boat", "I restore an old sailing boat called Heron; the mast has to be in by June.", "A good deadline."),
    ("Running", "I run ten kilometres on Sundays, please remind me to stretch.", "I will."),
    ("Work", "At work I prefer short reports with a table first.", "Short, and the table first."),
)


def main() -> None:
    """Start a service, tell it some days of somebody's life, and take the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        redis = start_redis(Path(folder, "redis"))
        try:
            env = {"AFTERTHOUGHT_TICK_SECONDS": "0.1"}
            url = f"sqlite:///{folder}/afterthought.db"
            with (
                start_system(Path(folder, "system"), url, redis.url, env=env) as system,
                Afterthought(system.url, system.admin_token, app="diary") as client,
                chromium() as browser,
                window(browser, system.url, width=1280, height=760) as seen,
            ):
                _live(client)
                seen.log_in(system.admin_token)
                _take(seen)
        finally:
            redis.stop()


def _live(client: Afterthought) -> None:
    client.install_app("diary", "Diary", answered_by="app")
    began = datetime.now(UTC) - timedelta(days=20)
    for day, (title, user, assistant) in enumerate(_SAID):
        name = client.start_conversation(user_id="ada", metadata={"title": title}).conversation_id
        at = (began + timedelta(days=5 * day)).isoformat()
        said = [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
        client.add_messages(name, [one | {"createdAt": at} for one in said])
        client.end_conversation(name)
    wait_until(lambda: len(client.list_memories(user_id="ada").memories) == len(_SAID), 120, "the memories")
    client.start_conversation(conversation_id="dinner", user_id="ada", metadata={"title": "Dinner with guests"})


def _take(seen: Window) -> None:
    PICTURES.mkdir(exist_ok=True)
    page = seen.open("/chat/diary?conversation=dinner")
    page.get_by_role("textbox", name="Message").fill("What can I cook for my guests tonight?")
    page.get_by_role("button", name="Send").click()
    recalled = page.get_by_role("complementary", name="What was recalled")
    recalled.get_by_text("free of nuts").wait_for()
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / "chat.png")
    page = seen.open("/memory/diary")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / "memory.png")


if __name__ == "__main__":
    main()
