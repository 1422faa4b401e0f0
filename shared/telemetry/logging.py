"""Log lines: a constant event name with fields; ids, never message text."""

from __future__ import annotations

import logging
import sys
from typing import Any

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
        structlog.processors.format_exc_info,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(
        level=max(number, logging.WARNING), stream=sys.stderr, format="%(levelname)s %(name)s %(message)s"
    )


def get_logger() -> Any:
    """Return the logger; its methods take an event name and fields."""
    return structlog.get_logger()
