"""``python -m loop``: the central process, until it is stopped."""

from __future__ import annotations

import ctypes
import gc

# What is loaded stays: looking through it for garbage again and again is a sixth of the start.
gc.disable()

import socket
import sys

from loop.serving import serve
from loop.wiring import wire
from shared.base.errors import AfterthoughtError, Configuration
from shared.base.process import wait_until_told
from shared.base.settings import Settings, read_settings
from shared.telemetry.exposition import use_files, wipe
from shared.telemetry.logging import configure_logging

SWITCH_SECONDS = 0.0001
_COLLECTED_AFTER = (5_000, 20, 20)
_MALLOC_OPTIONS = {-8: 2, -3: 256 * 1024, -1: 8 * 2**20}
"""Of glibc, by their numbers: most arenas, what is mapped by itself, what is given back from the end of the heap."""


def main() -> int:
    """Run the loop; 2 means that a setting is wrong."""
    # Have what large requests took given back to the system: by default each of the threads keeps a heap of its own.
    # Measured over a minute of searches, long messages and transcripts: 646 MB and rising before, 508 MB and level
    # since.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for option, value in _MALLOC_OPTIONS.items():
            mallopt(option, value)
    try:
        settings = read_settings()
        configure_logging(settings.log_level, settings.log_format, "loop")
        use_files(settings.metrics_path, lambda: "loop")
        wipe(settings.metrics_path, "loop")
        wait_until_told()
        listener = _listen(settings)
        loop = wire(settings)
    except AfterthoughtError as error:
        print(error.message, file=sys.stderr)  # noqa: T201
        return 2
    # Nor is it looked through while requests wait. A search makes some ten thousand objects, nearly all of which go by
    # themselves: with the default of 700 it was interrupted dozens of times to look for the others.
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)
    gc.enable()
    # A thread that works hard (a search, a transcript) keeps the others from going on for so long each time they want
    # to: the ticker once a job, a short request several times. The default is 5 ms.
    sys.setswitchinterval(SWITCH_SECONDS)
    loop.start()
    try:
        serve(loop, listener)
    finally:
        loop.stop()
    return 0


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named outright: asyncio turns Nagle's delay off only for sockets that say they are TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise Configuration(
            f"AFTERTHOUGHT_HOST and AFTERTHOUGHT_PORT: cannot listen on {settings.host}:{settings.port} "
            f"({error.strerror}); stop what is there or choose another port."
        ) from None
    return listener


if __name__ == "__main__":
    sys.exit(main())
