"""A service, a browser and a window for the tests of the pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext

from afterthought_client import Afterthought
from shared.db.engine import Database
from tests.support.browser import Window, chromium, visitor, window
from tests.support.services import System, run_service

_READ_TOKEN = "reads-and-changes-nothing"


@pytest.fixture
def read_token(system: System) -> str:
    """A token of the running service that reads everything and changes nothing."""
    return _READ_TOKEN


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser, one for each process of the tests."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[System]:
    """A loop with its pages and a worker, without a model. After the browser, so that nothing starts where none is."""
    folder = tmp_path_factory.mktemp("pages")
    # A minute is short on a machine that has other work.
    env = {
        "AFTERTHOUGHT_TICK_SECONDS": "0.1",
        "AFTERTHOUGHT_READ_TOKEN": _READ_TOKEN,
        "AFTERTHOUGHT_FACT_UNDO_SECONDS": "600",
    }
    with run_service(folder, env) as running:
        yield running
        # What fails after a page was sent is only found there.
        assert "/loop/ui/" not in running.loop.log, running.loop.log[-4000:]


@pytest.fixture
def app_id(system: System, request: pytest.FixtureRequest) -> str:
    """An app of the test's own, named like it; several files may have a test of that name."""
    named = f"{request.node.path.stem}-{request.node.name}".replace("test_", "")
    name = re.sub(r"[^a-z0-9]+", "-", named)[:60].strip("-")
    with Afterthought(system.url, system.admin_token) as admin:
        admin.install_app(name, name.capitalize(), answered_by="app")
    return name


@pytest.fixture
def client(system: System, app_id: str) -> Iterator[Afterthought]:
    """A client of the test's own app, as the admin."""
    with Afterthought(system.url, system.admin_token, app=app_id) as opened:
        yield opened


@pytest.fixture(scope="session")
def admin(browser: Browser, system: System) -> Iterator[BrowserContext]:
    """The admin's browser, logged in: to load everything again for each test is most of the work."""
    with visitor(browser) as own, window(own, system.url) as opened:
        opened.log_in(system.admin_token)
        # No page of its own stays open beside those of the tests.
        opened.page.wait_for_function("window.did_handshake")
        opened.page.goto("about:blank")
        yield own


@pytest.fixture(scope="session")
def warm_browser(browser: Browser, system: System) -> Iterator[BrowserContext]:
    """Somebody else's browser, which has loaded the scripts of the pages once: that takes seconds each time."""
    with visitor(browser) as own:
        yield own


@pytest.fixture
def guest(warm_browser: BrowserContext) -> Iterator[BrowserContext]:
    """A browser in which nobody has logged in, and no page is open."""
    warm_browser.clear_cookies()
    yield warm_browser
    warm_browser.set_offline(False)
    for page in warm_browser.pages:
        page.close()


@pytest.fixture
def at(admin: BrowserContext, system: System) -> Iterator[Window]:
    with window(admin, system.url) as opened:
        yield opened


@pytest.fixture
def phone(admin: BrowserContext, system: System) -> Iterator[Window]:
    """A narrow, dark window of the admin's."""
    with window(admin, system.url, width=390, height=844, dark=True) as opened:
        yield opened


@pytest.fixture
def database(system: System) -> Iterator[Database]:
    """The database, for what no outside can bring about."""
    opened = Database(system.database_url, pool_size=1)
    yield opened
    opened.dispose()
