"""The transport that ends a request at a fixed moment, for clients of httpx2; see ``transport`` for all it does."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar

import httpx2

from shared.llm.transport import EndingStream, LimitedTransport


class _Stream(EndingStream, httpx2.SyncByteStream):
    late = httpx2.ReadTimeout


class Httpx2DeadlineTransport(LimitedTransport, httpx2.BaseTransport):
    """The transport for clients of httpx2."""

    http: ClassVar[ModuleType] = httpx2
    stream_type = _Stream
