"""Whether a process of this machine still runs, and processes that end with their parent.

A process id means something only inside the namespace it was given in, so a name that is to be judged by others holds
the machine, its boot and that namespace. Where the system does not tell these, nothing is said to be gone.
Ending with the parent, even by SIGKILL, is offered by Linux only (``PR_SET_PDEATHSIG``); elsewhere the calls do nothing
and lock files find what was left behind. Work whose result nobody waits for any more is given up.
"""

import ctypes
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from shared.base.errors import AfterthoughtError

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


def is_gone(owner: str, node: str) -> bool:
    """Whether the owner ``node/pid`` was a process of this node on this machine and runs no more."""
    name, _, pid = owner.rpartition("/")
    if name != node or not pid.isdigit():
        return False
    try:
        # No signal is sent by 0; it only tells whether there is such a process.
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        # There is one, of another user; or the number is larger than any process can have.
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


_PR_SET_PDEATHSIG = 1
# Loaded once here: after fork only async-signal-safe work is welcome, and loading a library is not.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


# The kernel watches the thread that forked, so a process tied this way must be started from a thread that lasts as
# long as the program: in practice the main one.
def die_with_parent(parent_pid: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send ``how`` to the calling process when its parent ends; exit now if ``parent_pid`` is gone."""
    if _LIBC is None:
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(how), 0, 0, 0)
    # It may have ended before the kernel was asked to watch it.
    if os.getppid() != parent_pid:
        os._exit(1)


def tied_to_me(how: signal.Signals = signal.SIGKILL) -> Callable[[], None] | None:
    """Return a ``preexec_fn`` that ties a child to the calling process, or None where the system cannot."""
    if _LIBC is None:
        return None
    parent_pid = os.getpid()
    return lambda: die_with_parent(parent_pid, how)


WHEN_TOLD = "--when-told"


def wait_until_told() -> None:
    """Where this process was started with ``--when-told``, wait until its standard input is closed.

    So it can be loaded while what it needs is still being made ready.
    """
    if WHEN_TOLD in sys.argv:
        sys.stdin.buffer.read()


_GIVES_WAY = 10


def lower_thread_priority() -> None:
    """Have the calling thread, for good, give way to others; where a thread has no priority of its own do nothing."""
    if sys.platform == "linux":
        try:
            # Whoever else wakes up runs at once; threads that are only nice finish their turn first. Measured with both
            # cores at work: 1 in 20 answers of 1.5 ms took 8 ms and more beside nice threads, 1.6 ms beside these.
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        except OSError:
            # Forbidden, or unknown to the C library (musl) or to a sandbox (gVisor).
            # On Linux a niceness is the thread's own, unlike POSIX's.
            os.nice(_GIVES_WAY)


ABANDONED = "abandoned"


class Abandoned(AfterthoughtError):
    """Who asked for it has left."""

    code = ABANDONED


@dataclass
class Client:
    """Who asked for something. Threads that work for it see what the loop's own thread notes."""

    has_left: bool = False
    was_given_up: bool = False
    """Whether something was not finished for that."""


_client: ContextVar[Client | None] = ContextVar("client", default=None)


@contextmanager
def working_for(client: Client) -> Iterator[None]:
    """Have everything within, threads that are given the context too, done for a client."""
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def give_up_if_abandoned() -> None:
    """Go on where somebody waits, or nobody is known to have asked. Raises: Abandoned."""
    client = _client.get()
    if client is not None and client.has_left:
        client.was_given_up = True
        raise Abandoned("Who asked for this has left.")
