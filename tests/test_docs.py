"""What is generated from the code is what the code would write now, and what is written by hand names what there is."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from ops import reference
from shared.base.settings import Settings, environment_name, environment_names, read_settings

_FOLDERS = ("*.md", "docs/**/*.md", "ops/*.md", "clients/*/*.md")
_PAGES = sorted(page for places in _FOLDERS for page in reference.ROOT.glob(places))
in_every_page = pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(reference.ROOT)))


@cache
def commands() -> set[str]:
    return set(re.findall(r"^## afterthought (.+)$", reference.command_line_page(), re.MULTILINE))


@in_every_page
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@in_every_page
def test_every_module_that_is_to_be_run_exists(page: Path) -> None:
    named = set(re.findall(r"(?:python -m |`)(ops\.[a-z_.]+[a-z])", page.read_text("utf-8")))
    if page.name == "CHANGELOG.md":
        # What was measured is told there; its bench may have gone since.
        named = {name for name in named if not name.startswith("ops.bench.")}
    assert [name for name in named if importlib.util.find_spec(name) is None] == []


@in_every_page
def test_every_command_that_is_named_exists(page: Path) -> None:
    known = commands()
    named = re.findall(r"(?:^|`)afterthought ([a-z]+(?: [a-z]+)?)", page.read_text("utf-8"), re.MULTILINE)
    assert [name for name in named if name not in known and name.split()[0] not in known] == []


@pytest.mark.parametrize("place", reference.PAGES)
def test_the_reference_says_what_the_code_says(place: str) -> None:
    path = reference.ROOT / place
    assert path.exists(), f"run: python -m ops.reference (makes {place})"
    assert path.read_text("utf-8") == reference.PAGES[place](), "run: python -m ops.reference"


@pytest.mark.parametrize("place", [".env.example", "docs/reference/settings.md"])
def test_every_setting_is_in_the_reference(place: str) -> None:
    page = reference.PAGES[place]()
    assert [name for name in map(environment_name, Settings.model_fields) if name not in page] == []


def test_every_setting_has_a_description() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_no_setting_is_without_effect() -> None:
    definitions = {f"    {name}: " for name in Settings.model_fields}
    lines = [
        line
        for folder in ("shared", "loop", "worker")
        for path in (reference.ROOT / folder).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if not line.startswith(tuple(definitions))
    ]
    code = "\n".join(lines)
    read = {name for of in ("settings", "self", "tuning", r"\)") for name in re.findall(rf"{of}\.(\w+)", code)}
    read |= {name for line in lines if "_setting = " in line for name in re.findall(r"\"(\w+)\"", line)}
    assert Settings.model_fields.keys() - read == set()


def test_the_example_environment_in_force_is_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in chain.from_iterable(map(environment_names, Settings.model_fields)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    defaults = read_settings()
    lines = reference.example_environment().splitlines()
    in_force = [line[1:] for line in lines if line.startswith("#") and not line.startswith("# ")]
    assert len(in_force) == len(Settings.model_fields)
    (tmp_path / ".env").write_text("\n".join(in_force))
    assert read_settings() == defaults


def test_every_command_and_option_is_explained() -> None:
    rows = [line.split(" | ") for line in reference.command_line_page().splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows if not row[-1].strip(" |")] == []
