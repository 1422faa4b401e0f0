"""A conversation that the loop answers with a model, seen on its page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from afterthought_client import Afterthought
from tests.support.browser import window
from tests.support.openai_server import OpenAiServer
from tests.support.services import EmbeddedRedis, start_system

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def test_what_the_loop_answers_appears_by_itself(
    browser: Browser, sqlite_url: str, own_redis: EmbeddedRedis, tmp_path: Path
) -> None:
    with OpenAiServer(models=("tiny",)) as model:
        env = {
            "AFTERTHOUGHT_MODEL": "openai:tiny", "AFTERTHOUGHT_OPENAI_BASE_URL": f"{model.url}/v1",
            "AFTERTHOUGHT_ANSWER_AFTER_SECONDS": "0",
        }  # fmt: skip
        with (
            start_system(tmp_path / "system", sqlite_url, own_redis.url, env=env) as system,
            Afterthought(system.url, system.admin_token, app="diary") as client,
            window(browser, system.url) as seen,
        ):
            client.install_app("diary", "Diary", answered_by="loop")
            seen.enter(system.admin_token)
            page = seen.open("/chat/diary")
            page.get_by_role("button", name="New conversation").click()
            page.get_by_role("textbox", name="Message").fill("What can I cook tonight?")
            page.get_by_role("button", name="Send").click()
            expect(page.get_by_role("log")).to_contain_text("You said: What can I cook tonight?")
            expect(page.get_by_text("Afterthought answers.")).to_be_visible()
            client.change_app(approve_answers=True)
            page = seen.open("/chat/diary")
            page.get_by_role("button", name="New conversation").click()
            expect(page.get_by_text("once a person has approved each answer")).to_be_visible()
            page.get_by_role("textbox", name="Message").fill("What can I bake tomorrow?")
            page.get_by_role("button", name="Send").click()
            expect(page.get_by_text("An answer waits to be approved.")).to_be_visible()
            page.get_by_role("link", name="Look at it").click()
            expect(page.get_by_label("Answer", exact=True)).to_have_value("You said: What can I bake tomorrow?")
