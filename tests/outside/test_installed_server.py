"""The server as pip installs it: its wheel alone, in an empty folder with an empty home, beside no checkout."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import httpx
import pytest

from loop.embedded_redis import free_port
from tests.support.services import CHECKOUT
from tests.support.waiting import wait_until
from tests.support.wheels import build_wheel

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
SAID = "I moved to Lisbon in May, and I am allergic to peanuts."


class Installed:
    def __init__(self, folder: Path) -> None:
        environment = folder / "environment"
        self.programs = environment / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        python = str(self.programs / "python")
        install = ["pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([sys.executable, "-m", *install, build_wheel(".", folder)], check=True)
        # What it needs is had from here, as no test may depend on an index; what is editable there is not found so.
        [packages] = environment.glob("lib/python*/site-packages")
        (packages / "needed.pth").write_text(str(metadata.distribution("celery").locate_file("")))
        self.empty = folder / "empty"
        self.home = folder / "home"
        self.empty.mkdir()
        self.home.mkdir()
        self.port = free_port()

    @property
    def env(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "AFTERTHOUGHT_PORT": str(self.port), "COLUMNS": "400"}

    def run(self, *arguments: str) -> str:
        """Return what the command prints, whatever its status."""
        command = [self.programs / "afterthought", *arguments]
        done = subprocess.run(command, env=self.env, cwd=self.empty, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def up(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """``afterthought up``, and an admin's client of it."""
    output = tmp_path_factory.mktemp("printed") / "up.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [installed.programs / "afterthought", "up"],
            env=installed.env, cwd=installed.empty, stdout=file, stderr=subprocess.STDOUT,
        )  # fmt: skip
    with process:
        try:
            wait_until(lambda: "is ready" in output.read_text() or process.poll() is not None, 60, "the welcome")
            assert process.poll() is None, output.read_text()
            token = (installed.home / ".afterthought/admin_token").read_text().strip()
            url, headers = f"http://127.0.0.1:{installed.port}", {"Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=url, headers=headers, timeout=30) as client:
                yield client
        finally:
            process.terminate()


def test_the_code_that_runs_is_the_wheels(installed: Installed) -> None:
    where = subprocess.run(
        [installed.programs / "python", "-c", "import loop, shared, worker; print(loop, shared, worker)"],
        env=installed.env, cwd=installed.empty, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert where.count(str(installed.programs.parent)) == 3 and str(CHECKOUT / "loop") not in where


def test_a_conversation_becomes_a_memory(up: httpx.Client) -> None:
    up.post("/apps", json={"appId": "diary", "name": "Diary"}).raise_for_status()
    conversation = "/apps/diary/conversations/monday"
    up.post("/apps/diary/conversations", json={"conversationId": "monday"}).raise_for_status()
    up.post(f"{conversation}/messages", json={"role": "user", "content": SAID}).raise_for_status()
    up.post(f"{conversation}/end").raise_for_status()
    [memory] = wait_until(lambda: up.get("/apps/diary/memories").json()["memories"], 60, "the memory")
    assert "peanuts" in memory["content"]


def test_the_doctors_advice_fits_how_it_was_installed(installed: Installed, up: httpx.Client) -> None:
    assert "ops/up" not in installed.run("doctor")
    no_service = installed.run("apps", "list", "--url", f"http://127.0.0.1:{free_port()}")
    assert "afterthought up" in no_service and "ops/up" not in no_service


@pytest.mark.parametrize(
    ("extra", "asks"),
    [
        ("mcp", ["pip install", "'mcp<"]),
        ("openai", ["pip install", "'langchain-openai<", "'langchain-core<=1.7.2,>=1.7'"]),
        ("anthropic", ["pip install", "'langchain-anthropic<", "'langchain-core<=1.7.2,>=1.7'"]),
        ("embedding", ["pip install", "'onnxruntime<", "--no-deps --require-hashes -r "]),
    ],
)
def test_what_is_missing_is_brought_by_a_command_of_pip(installed: Installed, extra: str, asks: list[str]) -> None:
    program = f"from shared.base.installation import how_to_add; print(how_to_add({extra!r}))"
    told = subprocess.run(
        [installed.programs / "python", "-c", program],
        env=installed.env, cwd=installed.empty, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert all(one in told for one in asks), told
    if extra == "embedding":
        listed = Path(told.strip().rpartition(" ")[2])
        assert listed.is_relative_to(installed.programs.parent) and "--hash=sha256:" in listed.read_text("utf-8")
