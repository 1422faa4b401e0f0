"""A headless Chromium that looks at the pages: Debian's, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from afterthought_client import Afterthought

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Nothing of its own is asked for from outside.
_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


_PATIENCE_MILLISECONDS = 60_000


@dataclass
class Window:
    """One window of the browser; what went wrong in it is found in ``troubles``."""

    page: Page
    url: str
    troubles: list[str] = field(default_factory=list)

    def log_in(self, token: str) -> None:
        self.open("/login")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(lambda address: not address.endswith("/login"))

    def enter(self, token: str) -> None:
        """Be logged in without a visit to the page for it, where that is not what is looked at."""
        with Afterthought(self.url, token) as client:
            login = client.make_login().login
        assert login is not None
        self.page.context.add_cookies([{"name": "afterthought_login", "value": login, "url": self.url}])

    def open(self, path: str) -> Page:
        """Go to a page, and return it when it answers to clicks."""
        self.page.goto(self.url + path)
        self.page.wait_for_function("window.did_handshake")
        return self.page


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser. Skips where there is none; fails in continuous integration."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is not installed")
        pytest.skip("Chromium is not installed: apt-get install chromium")
    # A busy machine is slow, and not wrong.
    expect.set_options(timeout=_PATIENCE_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(_PATIENCE_MILLISECONDS)
    try:
        yield context
    finally:
        context.close()


@contextmanager
def window(
    of: Browser | BrowserContext, url: str, *, width: int = 1440, height: int = 900, dark: bool = False
) -> Iterator[Window]:
    """Open a window, of a visitor or of one of its own; fails where a script failed, or something outside was asked."""
    if isinstance(of, Browser):
        with visitor(of) as own, window(own, url, width=width, height=height, dark=dark) as opened:
            yield opened
        return
    page = of.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if dark else "light")
    opened = Window(page, url)
    page.on("pageerror", lambda error: opened.troubles.append(f"script: {error}"))
    page.on("console", lambda said: _is_forbidden(said.text) and opened.troubles.append(f"policy: {said.text}"))
    page.on("request", lambda asked: None if _is_inside(asked.url, url) else opened.troubles.append(asked.url))
    try:
        yield opened
        assert opened.troubles == [], opened.troubles
    finally:
        page.close()


def _is_forbidden(said: str) -> bool:
    return "Content Security Policy" in said or "Content-Security-Policy" in said


def _is_inside(address: str, url: str) -> bool:
    return address.startswith((url, url.replace("http", "ws", 1), "data:", "blob:"))
