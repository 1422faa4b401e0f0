"""The two commands as scripts: what they say when they cannot go on, and that their exit status is honest."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_TOOLS = ("ruff", "lint-imports", "mypy", "python", "afterthought")
_NEEDED = ("bash", "cat", "cksum", "dirname", "env", "find", "flock", "grep", "mkdir", "rm", "timeout")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "ops").mkdir()
    for name in ("ops/up", "ops/test", "ops/bootstrap.sh", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def prepared(checkout: Path) -> Path:
    """The same with an environment whose tools only say that they ran; a file named failing-TOOL makes one fail."""
    programs = checkout / ".venv" / "bin"
    programs.mkdir(parents=True)
    for tool in _TOOLS:
        script = programs / tool
        script.write_text(f'#!/bin/sh\necho "ran {tool} $*"\n[ ! -e "{checkout}/failing-{tool}" ]\n')
        script.chmod(0o755)
    stamp = 'source "$1/ops/bootstrap.sh"; for one in test engine; do fingerprint $one > "$1/.venv/.stamp-$one"; done'
    subprocess.run(["bash", "-c", stamp, "stamp", str(checkout)], check=True)
    return checkout


def _run(
    checkout: Path, command: str, *arguments: str, path: str = os.environ["PATH"]
) -> subprocess.CompletedProcess[str]:
    env = {"PATH": path, "HOME": str(checkout)}
    return subprocess.run(
        [str(checkout / command), *arguments], env=env, cwd="/", capture_output=True, text=True, timeout=60
    )


def test_up_hands_its_arguments_to_the_program_from_any_directory(prepared: Path) -> None:
    result = _run(prepared, "ops/up", "--port", "9000")
    assert result.stdout == "ran afterthought up --port 9000\n"
    assert result.returncode == 0


def test_test_runs_every_check_and_hands_its_arguments_to_pytest(prepared: Path) -> None:
    result = _run(prepared, "ops/test", "--long", "-k", "energy")
    ran = {line.split()[1]: line for line in result.stdout.splitlines()}
    assert list(ran) == ["ruff", "lint-imports", "python", "mypy"]
    assert ran["python"].endswith("--long -k energy")
    assert result.returncode == 0


def test_the_engine_is_installed_for_the_long_tests_once_and_for_no_others(prepared: Path) -> None:
    (prepared / ".venv" / ".stamp-engine").unlink()
    installed = [
        _run(prepared, "ops/test", *asked).stdout.count("[engine]") for asked in ((), ("--long",), ("--long",))
    ]
    assert installed == [0, 1, 0]


@pytest.mark.parametrize("tool", ["ruff", "lint-imports", "mypy", "python"])
def test_one_failing_check_is_named_and_fails_the_whole_after_the_others_ran(tool: str, prepared: Path) -> None:
    (prepared / f"failing-{tool}").touch()
    result = _run(prepared, "ops/test")
    assert result.returncode == 1
    assert len(result.stdout.splitlines()) == 4
    names = {"ruff": "ruff", "lint-imports": "import-linter", "mypy": "mypy", "python": "pytest"}
    assert names[tool] in result.stderr.splitlines()[-1]
    assert "FAILED" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["ops/up", "ops/test"])
def test_without_a_new_enough_python_it_says_what_to_install(command: str, checkout: Path) -> None:
    programs = checkout / "programs"
    programs.mkdir()
    for name in _NEEDED:
        found = shutil.which(name)
        if found:
            (programs / name).symlink_to(found)
    (programs / "python3").write_text("#!/bin/sh\nexit 1\n")
    (programs / "python3").chmod(0o755)
    result = _run(checkout, command, path=str(programs))
    assert result.returncode == 1
    assert "Python 3.11 or newer" in result.stderr
    assert "python3-venv" in result.stderr


def test_changed_pins_make_the_environment_be_prepared_again(prepared: Path) -> None:
    (prepared / "constraints.txt").write_text("nothing==1\n")
    check = 'source "$1/ops/bootstrap.sh"; is_prepared test'
    assert subprocess.run(["bash", "-c", check, "check", str(prepared)]).returncode == 1
