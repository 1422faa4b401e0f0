"""The TypeScript client: its own tests against a running service, its package, and its generated types."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from afterthought_client import Afterthought
from ops.client.typescript import SCHEMA, schema_module
from ops.client.writing import description_of_release
from tests.support.breaking_proxy import BreakingProxy, breaking_proxy
from tests.support.services import CHECKOUT, System

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(400),
    pytest.mark.skipif(shutil.which("npm") is None, reason="Node with npm is not installed"),
]
SOURCE = CHECKOUT / "clients/typescript"


def run(*command: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=os.environ | env, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client in a folder of its own, with what it needs installed, and compiled."""
    left_out = shutil.ignore_patterns("node_modules", "dist", "*.tgz")
    folder = shutil.copytree(SOURCE, tmp_path_factory.mktemp("typescript") / "client", ignore=left_out)
    # What is installed in the checkout serves, too: the versions are exact.
    if (SOURCE / "node_modules").exists():
        shutil.copytree(SOURCE / "node_modules", folder / "node_modules", symlinks=True)
    done = run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--package-lock=false", cwd=folder)
    if "ENOTFOUND" in done.stderr or "EAI_AGAIN" in done.stderr or "ECONNREFUSED" in done.stderr:
        pytest.skip("npm reaches no registry to install openapi-fetch from")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def proxy(system: System) -> Iterator[BreakingProxy]:
    with breaking_proxy("127.0.0.1", int(system.url.rsplit(":", 1)[1])) as running:
        yield running


@pytest.fixture(scope="module")
def control(system: System, proxy: BreakingProxy) -> Iterator[str]:
    def lose(count: str) -> None:
        proxy.answers_to_lose = int(count)

    def kill() -> None:
        system.kill(system.loop)
        system.loop.start()

    actions: dict[str, Callable[..., Any]] = {
        "lose": lose, "lost": lambda: proxy.lost, "break": proxy.break_all, "kill": kill,
    }  # fmt: skip

    class Control(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            name, *arguments = self.path.strip("/").split("/")
            answer = json.dumps(actions[name](*arguments)).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    # Of one thread for all calls: what it starts ends with it.
    server = HTTPServer(("127.0.0.1", 0), Control)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_its_own_tests_pass(project: Path, system: System, proxy: BreakingProxy, control: str) -> None:
    env = {"AFTERTHOUGHT_URL": system.url, "ADMIN_TOKEN": system.admin_token, "PROXY_URL": proxy.url}
    done = run("npm", "test", cwd=project, CONTROL_URL=control, **env)
    system.wait_ready()
    assert done.returncode == 0, done.stdout + done.stderr
    [passed] = re.findall(r"# pass (\d+)", done.stdout) or re.findall(r"pass (\d+)", done.stdout)
    assert int(passed) == len(
        re.findall(r'^test\("', (SOURCE / "test/client.test.ts").read_text("utf-8"), re.MULTILINE)
    )


def test_the_package_runs_the_readmes_program(project: Path, system: System, tmp_path: Path) -> None:
    packed = run("npm", "pack", "--pack-destination", tmp_path, cwd=project)
    assert packed.returncode == 0, packed.stderr
    [package] = tmp_path.glob("*.tgz")
    home = tmp_path / "program"
    home.mkdir()
    (home / "package.json").write_text('{"private": true}')
    # From what the fixture fetched.
    installed = run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", package, cwd=home)
    assert installed.returncode == 0, installed.stderr
    with Afterthought(system.url, system.admin_token) as admin:
        admin.install_app("chat", "Chat", answered_by="app")
        token = admin.issue_token(app_id="chat").token
    [program] = re.findall(r"```js\n(.*?)```", (SOURCE / "README.md").read_text("utf-8"), re.DOTALL)
    (home / "program.mjs").write_text(program)
    done = run("node", "program.mjs", cwd=home, AFTERTHOUGHT_URL=system.url, AFTERTHOUGHT_TOKEN=token)
    assert done.returncode == 0, done.stderr
    assert "Lisbon" in done.stdout


def test_its_types_are_those_of_this_release(project: Path) -> None:
    made = schema_module(description_of_release(), project)
    assert made == (SOURCE / SCHEMA).read_text("utf-8"), (
        "run npm install in clients/typescript, then python -m ops.client"
    )
