"""Who sees the pages: with a token, for as long as it is good, and nothing beyond what it opens."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from prometheus_client.parser import text_string_to_metric_families

from afterthought_client import Afterthought
from tests.support.browser import Window, window
from tests.support.faulty_page import WHY
from tests.support.services import EmbeddedRedis, System, run_service, start_system

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
_LOGIN = re.compile(r"/login(\?|$)")


def test_nobody_sees_a_page_without_a_token(guest: BrowserContext, system: System) -> None:
    with window(guest, system.url) as stranger:
        stranger.page.goto(f"{system.url}/operations?view=jobs")
        expect(stranger.page).to_have_url(f"{system.url}/login?next=%2Foperations%3Fview%3Djobs")
        stranger.page.get_by_label("Token").fill("no-token-of-ours")
        stranger.page.get_by_role("button", name="Log in").click()
        # In words for people: nobody who looks at a page knows the routes of the interface.
        expect(stranger.page.get_by_text("unknown or revoked. Ask who runs the service")).to_be_visible()
        expect(stranger.page).to_have_url(_LOGIN)
        stranger.page.get_by_label("Token").fill(system.admin_token)
        stranger.page.get_by_role("button", name="Log in").click()
        expect(stranger.page).to_have_url(f"{system.url}/operations?view=jobs")


def test_a_page_of_no_app_leads_to_all_where_there_are_several(at: Window, client: Afterthought) -> None:
    client.install_app("one-more", "One more")
    page = at.open("/sessions")
    expect(page).to_have_url(f"{at.url}/")


@pytest.mark.parametrize("elsewhere", ["//elsewhere.example/", "/\\elsewhere.example", "/\t/elsewhere.example"])
def test_logging_in_leads_nowhere_else(guest: BrowserContext, system: System, elsewhere: str) -> None:
    with window(guest, system.url) as stranger:
        page = stranger.open(f"/login?next={quote(elsewhere, safe='')}")
        page.get_by_label("Token").fill(system.admin_token)
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(f"{system.url}/")


def test_an_apps_token_sees_its_app_only(guest: BrowserContext, system: System, client: Afterthought) -> None:
    token = client.issue_token(label="page").token
    client.install_app("of-others", "Of others")
    with window(guest, system.url) as own:
        own.enter(token)
        page = own.open(f"/memory/{client.app}")
        expect(page.get_by_role("link", name="Operations")).to_have_count(0)
        page = own.open("/memory/of-others")
        expect(page.get_by_text(f"This token opens only the app {client.app}.")).to_be_visible()
        for name in ("chat", "memory", "sessions", "composer"):
            expect(own.open(f"/{name}")).to_have_url(f"{own.url}/{name}/{client.app}")
        page = own.open("/operations")
        expect(page.get_by_text("Only the admin's token and a reader's open this page.")).to_be_visible()
        for address in ("/administration", f"/administration/{client.app}"):
            expect(own.open(address).get_by_text("Only the admin's token opens this page.")).to_be_visible()


def test_a_page_left_open_loses_its_rights_with_the_token(
    guest: BrowserContext, system: System, client: Afterthought
) -> None:
    issued = client.issue_token(label="page")
    with window(guest, system.url) as own:
        own.enter(issued.token)
        own.open(f"/memory/{client.app}")
        client.revoke_token(issued.token_id)
        # The second time, the page is not the one that found out.
        for _ in range(2):
            own.page.goto(f"{system.url}/memory/{client.app}")
            expect(own.page).to_have_url(_LOGIN)
            expect(own.page.get_by_text("your token is not accepted any more")).to_be_visible()


def test_who_logs_out_is_out_in_every_tab(guest: BrowserContext, system: System) -> None:
    with window(guest, system.url) as own:
        own.enter(system.admin_token)
        own.open("/")
        other = own.page.context.new_page()
        other.goto(own.url)
        own.page.get_by_role("button", name="Log out").click()
        expect(own.page).to_have_url(f"{own.url}/login")
        other.goto(own.url)
        expect(other).to_have_url(_LOGIN)


def test_what_is_asked_after_logging_out_elsewhere_leads_to_the_way_in(
    guest: BrowserContext, system: System, client: Afterthought
) -> None:
    client.open_project("/srv/ferry-desk")
    with window(guest, system.url) as own:
        own.enter(system.admin_token)
        page = own.open(f"/composer/{client.app}")
        # Not in a page, whose browser would lead this one away before it asks.
        own.page.request.delete(f"{system.url}/login")
        page.get_by_role("combobox", name="Session to add").fill("anything")
        expect(page).to_have_url(_LOGIN)
        expect(page.get_by_text("your token is not accepted any more")).to_be_visible()


def test_the_cookie_is_for_this_site_and_no_script_and_ends_with_the_login(
    guest: BrowserContext, system: System
) -> None:
    with window(guest, system.url) as own:
        own.log_in(system.admin_token)
        [cookie] = _logins(own)
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        # A week, as the page says.
        assert 6 < (cookie["expires"] - time.time()) / 86400 < 8
        assert system.admin_token not in str(cookie)
        former = {cookie["name"]: cookie["value"]}
        assert httpx.get(f"{system.url}/", cookies=former).status_code == 200
        own.page.get_by_role("button", name="Log out").click()
        expect(own.page).to_have_url(f"{own.url}/login")
        assert _logins(own) == []
        assert "/login" in httpx.get(f"{system.url}/", cookies=former).headers["location"]
        as_token = {"Authorization": f"Bearer {cookie['value']}"}
        assert httpx.get(f"{system.url}/apps", headers=as_token).status_code == 401
    headers = httpx.get(f"{system.url}/login").headers
    assert "set-cookie" not in headers and "frame-ancestors 'none'" in headers["content-security-policy"]


def test_a_page_that_fails_tells_nobody_why_but_the_log(guest: BrowserContext, tmp_path: Path) -> None:
    with run_service(tmp_path, workers=0, loop=False) as system:
        system.loop.argv = (sys.executable, "-m", "tests.support.faulty_page")
        system.loop.start()
        system.wait_ready()
        with window(guest, system.url) as own:
            own.enter(system.admin_token)
            answer = own.page.goto(f"{system.url}/")
            assert answer is not None and answer.status == 500 and WHY not in answer.text()
            expect(own.page.get_by_role("heading", name="Something went wrong here")).to_be_visible()
            expect(own.page.get_by_role("link", name="Go to the apps")).to_be_visible()
        assert WHY in system.loop.log


def test_a_script_that_came_in_with_a_text_does_not_run(guest: BrowserContext, system: System) -> None:
    with window(guest, system.url) as own:
        page = own.open("/login")
        for smuggled in ('<img src=x onerror="owned = true">', '<a href="javascript:owned = true" id="go">go</a>'):
            with page.expect_console_message(lambda said: "Content Security Policy" in said.text):
                page.evaluate("(html) => document.body.insertAdjacentHTML('beforeend', html)", smuggled)
                page.evaluate("() => document.getElementById('go')?.click()")
            assert page.evaluate("window.owned") is None
        own.troubles.clear()
    asked = [httpx.get(f"{system.url}/{path}", headers={"Accept": "text/html"}) for path in ("login", "login", "none")]
    policies = {answer.headers["content-security-policy"] for answer in asked}
    assert len(policies) == 3, "each answer has a word of its own"


@pytest.mark.parametrize("value", ['"a b"', "caf\xe9", '"\\000"', '"\\342\\202\\254"', "{token}"])
def test_a_cookie_that_is_no_login_locks_nobody_out(system: System, client: Afterthought, value: str) -> None:
    token = client.issue_token(label="cookie").token
    headers = {"Cookie": f"afterthought_login={value.format(token=token)}".encode("latin-1")}
    for page in ("/login", "/operations"):
        assert httpx.get(f"{system.url}{page}", headers=headers).status_code in (200, 307)
    assert "ended" not in httpx.get(f"{system.url}/operations", headers=headers).headers.get("location", "")
    dropped = httpx.delete(f"{system.url}/login", headers=headers)
    assert (dropped.status_code, "Max-Age=0" in dropped.headers["set-cookie"]) == (204, True)


def _logins(own: Window) -> list[Any]:
    return [one for one in own.page.context.cookies() if one["name"] == "afterthought_login"]


def test_nobody_is_logged_in_from_another_site(system: System) -> None:
    for origin in ({}, {"Origin": "http://evil.example"}):
        assert httpx.post(f"{system.url}/login/any", headers=origin).status_code == 403
    assert httpx.post(f"{system.url}/login/any", headers={"Origin": system.url}).status_code == 404


def test_a_tab_that_waits_at_the_way_in_follows_once_another_has_logged_in(
    guest: BrowserContext, system: System
) -> None:
    with window(guest, system.url) as own:
        own.open("/operations?view=jobs")
        other = own.page.context.new_page()
        other.goto(f"{system.url}/operations?view=doctor")
        expect(other).to_have_url(_LOGIN)
        other.wait_for_function("window.did_handshake")
        own.page.get_by_label("Token").fill(system.admin_token)
        own.page.get_by_role("button", name="Log in").click()
        expect(own.page).to_have_url(f"{system.url}/operations?view=jobs")
        expect(other).to_have_url(f"{system.url}/operations?view=doctor")
        # And is out with it, without a look at it.
        own.page.get_by_role("button", name="Log out").click()
        expect(other).to_have_url(_LOGIN)


def test_pages_of_other_sites_have_no_use_of_the_socket(system: System) -> None:
    address = f"{system.url}/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    foreign = httpx.get(address, headers={"Origin": "http://evil.example"})
    assert foreign.status_code == 400 and "access-control-allow-origin" not in foreign.headers
    assert httpx.get(address, headers={"Origin": system.url}).status_code == 200
    behind_a_proxy = {"Origin": "https://memory.example", "Host": "memory.example"}
    assert httpx.get(address, headers=behind_a_proxy).status_code == 200


@pytest.mark.parametrize("path", ["/nothing/here", "/apps", "/Login"])
def test_what_is_no_page_is_the_interfaces_and_needs_a_token(system: System, path: str) -> None:
    assert httpx.get(f"{system.url}{path}").status_code == 401


def test_a_page_that_is_not_there_says_so_and_leads_back(at: Window) -> None:
    for path in ("/sessions/a/b/c", "/nosuch"):
        answer = at.page.goto(f"{at.url}{path}")
        assert answer is not None and answer.status == 404
        expect(at.page.get_by_role("heading", name="There is no such page")).to_be_visible()
    at.page.get_by_role("link", name="Go to the apps").click()
    expect(at.page).to_have_url(f"{at.url}/")
    assert httpx.get(f"{at.url}/_nicegui/nothing").headers["content-type"] == "application/json"


def test_what_pages_answer_is_counted_like_all_that_is_answered(at: Window, system: System) -> None:
    def answered(route: str, status: str) -> float:
        counted = {"route": route, "method": "GET", "status": status}
        with system.client() as operator:
            families = text_string_to_metric_families(operator.get("/metrics").text)
            found = [
                one.value
                for each in families
                for one in each.samples
                if one.labels == counted and one.name.endswith("_total")
            ]
        return sum(found)

    before = answered("/administration", "2xx"), answered("unmatched", "4xx")
    at.open("/administration")
    httpx.get(f"{system.url}/nosuch", headers={"Accept": "text/html"})
    assert answered("/administration", "2xx") == before[0] + 1
    # By no name of a stranger's.
    assert answered("unmatched", "4xx") == before[1] + 1


def test_each_page_bears_the_mark_and_says_where_it_is_in_the_menu(at: Window) -> None:
    page = at.open("/administration")
    assert (page.locator("link[rel~=icon]").get_attribute("href") or "").startswith("data:image/svg+xml")
    expect(page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")).to_contain_text(
        "Administration"
    )
    page.get_by_role("link", name="Afterthought", exact=True).click()
    expect(page).to_have_url(f"{at.url}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Apps")


def test_light_and_dark_are_the_visitors_choice(guest: BrowserContext, system: System) -> None:
    with window(guest, system.url, dark=True) as own:
        own.log_in(system.admin_token)
        body = own.page.locator("body")
        expect(body).to_contain_class("body--dark")
        own.page.get_by_role("button", name="Light or dark").click()
        expect(body).not_to_contain_class("body--dark")


def test_a_loop_that_is_not_ready_says_so_and_one_that_is_asked_to_stop_waits_for_no_page(
    browser: Browser, sqlite_url: str, own_redis: EmbeddedRedis, tmp_path: Path
) -> None:
    env = {"AFTERTHOUGHT_DRAIN_SECONDS": "600"}
    with (
        start_system(tmp_path, sqlite_url, own_redis.url, workers=0, env=env) as system,
        window(browser, system.url) as seen,
    ):
        seen.log_in(system.admin_token)
        page = seen.open("/operations")
        expect(page.get_by_text(re.compile("^Ready, release"))).to_be_visible()
        own_redis.kill()
        page = seen.open("/operations")
        expect(page.get_by_text(re.compile("^Not ready, release"))).to_be_visible()
        needs = page.get_by_role("region", name="Each dependency and what to do about it")
        expect(needs.get_by_role("row", name=re.compile("^redis missing Redis does not answer"))).to_be_visible()
        assert system.loop.stop(timeout=120) == 0


def test_who_cannot_be_logged_out_is_told_so(guest: BrowserContext, system: System) -> None:
    with window(guest, system.url) as own:
        own.log_in(system.admin_token)
        own.page.context.set_offline(True)
        own.page.get_by_role("button", name="Log out").click()
        expect(own.page.get_by_text("Not logged out: the service does not answer.")).to_be_visible()
        own.page.context.set_offline(False)
        own.page.get_by_role("button", name="Log out").click()
        expect(own.page).to_have_url(f"{own.url}/login")
