"""Log lines: a constant event name with fields; ids, never message text.

An exception is told by its type and its frames. What it says is left out: it may quote what people said.
"""

import io
import logging
import sys
import traceback
from typing import Any, TextIO

import structlog


def configure_logging(level: str, form: str, process: str) -> None:
    """Send every log line of this process to standard error, as text or as JSON lines."""
    number = getattr(logging, level.upper())

    def name_process(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        return {**event, "process": process}

    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        name_process,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        frames_only,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=LossyStream(sys.stderr)),
        cache_logger_on_first_use=False,
    )
    # Of libraries nothing below a warning, whatever is set: some of them log there what they send.
    logging.basicConfig(
        level=max(number, logging.WARNING), stream=sys.stderr, format="%(levelname)s %(name)s %(message)s"
    )


class LossyStream(io.StringIO):
    """A stream that loses lines while nothing takes them, as on a full disk, and says so once something does again.

    Whoever writes a log line is in the middle of work that must not end for want of it.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lost = 0

    def write(self, text: str) -> int:
        """Write a text, or count it as lost."""
        try:
            if self._lost:
                self._stream.write(f"log_lines_lost count={self._lost}\n")
                self._lost = 0
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._lost += 1
        return len(text)

    def flush(self) -> None:
        """Do nothing: each text was handed on as it came."""


def frames_only(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Replace ``exc_info`` by the types and frames of the exception and of those that led to it."""
    given = event.pop("exc_info", None)
    error = given if isinstance(given, BaseException) else sys.exception() if given else None
    frames: list[str] = []
    while error is not None:
        frames.append("".join(traceback.format_tb(error.__traceback__)) + type(error).__qualname__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return {**event, "exception": "\nafter:\n".join(frames)} if frames else event


def get_logger() -> Any:
    """Return the logger; its methods take an event name and fields."""
    return structlog.get_logger()
