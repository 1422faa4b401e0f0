"""Ties a process to its parent: when the parent dies, even by SIGKILL, the process gets a signal.

Only Linux offers this (``PR_SET_PDEATHSIG``); elsewhere the calls do nothing and lock files find what was left behind.
The kernel watches the *thread* that forked, so a process tied this way must be started from a thread that lasts
as long as the program, which in practice is the main one.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
# Loaded once here: after fork only async-signal-safe work is welcome, and loading a library is not.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(parent_pid: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send ``how`` to the calling process when its parent ends; exit now if ``parent_pid`` is gone."""
    if _LIBC is None:
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(how), 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


def tied_to_me(how: signal.Signals = signal.SIGKILL) -> Callable[[], None] | None:
    """Return a ``preexec_fn`` that ties a child to the calling process, or None where the system cannot."""
    if _LIBC is None:
        return None
    parent_pid = os.getpid()
    return lambda: die_with_parent(parent_pid, how)
