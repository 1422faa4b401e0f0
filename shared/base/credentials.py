"""Secrets that an installation makes for itself and keeps in its home, readable by their owner only.

Several processes may ask for the same secret at the same moment; all of them get the one that was written first.
Checking a presented token is left to the HTTP interface.
"""

import os
import secrets
import stat
from pathlib import Path

from shared.base.errors import Configuration
from shared.base.settings import Settings

_ENTROPY_BYTES = 24


def read_or_make_admin_token(settings: Settings) -> str:
    """Return the admin token: the one set, else the one kept in the home, else a new one that is now kept there."""
    if settings.admin_token is not None:
        return settings.admin_token.get_secret_value()
    make_private_directory(settings.home)
    return read_or_make_secret(settings.home / "admin_token")


def read_or_make_secret(path: Path) -> str:
    """Return the secret in ``path``, writing a random one (mode 0600) first if there is none.

    Raises:
        Configuration: the file is empty or can be read by others.
    """
    if not path.exists():
        _write_unless_present(path, secrets.token_urlsafe(_ENTROPY_BYTES))
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise Configuration(f"{path} can be read by others; run: chmod 600 {path}")
    secret = path.read_text("utf-8").strip()
    if not secret:
        raise Configuration(f"{path} is empty; delete it and a new secret is made at the next start")
    return secret


def make_private_directory(path: Path) -> Path:
    """Create ``path`` with mode 0700; one that exists keeps the permissions its owner gave it.

    Raises:
        Configuration: there is a file in its place, or we may not write there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Configuration(
            f"{path} cannot be made a directory ({error.strerror}); set AFTERTHOUGHT_HOME to one you may write to."
        ) from None
    return path


def _write_unless_present(path: Path, secret: str) -> None:
    """Write aside and link into place, so that nobody ever reads half a secret and the first writer wins."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secret + "\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()
