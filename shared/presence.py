"""Whether a process of this machine still runs, told by its id and by which machine its id is of.

A process id means something only inside the namespace it was given in, so a name that is to be judged by others holds
the machine, its boot and that namespace. Where the system does not tell these, nothing is said to be gone.
"""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


def is_gone(owner: str, node: str) -> bool:
    """Whether the owner ``node/pid`` was a process of this node on this machine and runs no more."""
    name, _, pid = owner.rpartition("/")
    if name != node or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def machine() -> str | None:
    """Return what tells this machine, boot and process namespace from any other; None where that cannot be told."""
    try:
        boot = _BOOT.read_text("ascii").strip()
        namespace = _NAMESPACE.stat().st_ino
    except OSError:
        return None
    return f"{socket.gethostname()}.{boot[:13]}.{namespace}"


def my_name() -> str:
    """Return ``machine/pid/random``: who this process is, unlike any other and any former one."""
    return f"{machine() or socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"


def has_died(name: str) -> bool:
    """Whether a process that was named so certainly runs no more."""
    here = machine()
    return here is not None and is_gone(name.rpartition("/")[0], here)
