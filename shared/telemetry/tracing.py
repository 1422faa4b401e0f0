"""Traces of requests, jobs and model calls, sent by OpenTelemetry; off unless its own variables name a collector.

Spans carry ids and figures, never text: addresses, queries and what an exception says are left out. The provider is
ours and not the process's, so that what libraries trace of themselves (a prompt, the body of a request) goes nowhere.
What sends them is imported only once they are on. While no collector answers, spans are dropped from a bounded queue.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dotenv import dotenv_values

from shared.base.installation import how_to_add
from shared.base.setting_groups import TracingSettings
from shared.llm.calls import EXTRACTIVE, CallOutcome, ModelCall, WorkKind
from shared.telemetry.logging import get_logger

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

Attributes = dict[str, str | int]
EXTRA = "tracing"
_TRACEPARENT = "traceparent"
_STOP_SECONDS = 1.0
"""How long a process that ends waits for its last spans to be sent."""
_QUEUE_LOG = logging.getLogger("opentelemetry.sdk._shared_internal")
_EXPORTER_LOG = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter")
_current: ContextVar[str | None] = ContextVar(_TRACEPARENT, default=None)


def current_traceparent() -> str | None:
    """Return the W3C ``traceparent`` of the span that this runs in; None where nothing is traced."""
    return _current.get()


class Role(Enum):
    """What a span is to the one it belongs to; named as OpenTelemetry names its kinds."""

    SERVER = auto()
    CONSUMER = auto()
    CLIENT = auto()


@dataclass
class Traced:
    """What is being traced; what is written here is sent once it has ended."""

    name: str
    attributes: Attributes
    failed: bool = False


@dataclass(frozen=True)
class Tracing:
    """Traces what a process does; without a provider it does nothing."""

    provider: TracerProvider | None = None

    @contextmanager
    def span(self, name: str, role: Role, parent: str | None, attributes: Attributes) -> Iterator[Traced]:
        """Trace the block as a part of what ``parent``, a ``traceparent`` of anybody's, stands for."""
        traced = Traced(name, attributes)
        if self.provider is None:
            yield traced
            return
        span = self._begin(name, role, parent, None, attributes)
        # Only here, where traces are on.
        from opentelemetry.context import Context
        from opentelemetry.trace import set_span_in_context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, set_span_in_context(span, Context()))
        token = _current.set(carrier[_TRACEPARENT])
        ended = False
        try:
            yield traced
            ended = True
        finally:
            _current.reset(token)
            span.update_name(traced.name)
            span.set_attributes(traced.attributes)
            _end(span, traced.failed or not ended)

    def record_call(self, call: ModelCall) -> None:
        """Trace a model call that has just ended, by OpenTelemetry's conventions for generative models."""
        if self.provider is None or call.model == EXTRACTIVE:
            return
        ended_at = time.time_ns()
        provider, _, model = call.model.partition(":")
        operation = "embeddings" if call.kind is WorkKind.EMBED else "chat"
        attributes: Attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": call.prompt_tokens,
            "gen_ai.usage.output_tokens": call.completion_tokens,
            "afterthought.work": call.kind.value,
        }
        failed = call.outcome is not CallOutcome.ANSWERED
        if failed:
            attributes["error.type"] = call.outcome.value
        began_at = ended_at - round(call.seconds * 1e9)
        _end(self._begin(f"{operation} {model}", Role.CLIENT, _current.get(), began_at, attributes), failed, ended_at)

    def stop(self) -> None:
        """Send what is left, for as long as a process that ends may wait for it."""
        if self.provider is not None:
            # It would wait for half a minute.
            stopping = threading.Thread(target=self.provider.shutdown, name="traces", daemon=True)
            stopping.start()
            stopping.join(_STOP_SECONDS)

    def _begin(self, name: str, role: Role, parent: str | None, began_at: int | None, attributes: Attributes) -> Span:
        # Only here, where traces are on.
        from opentelemetry.trace import SpanKind

        assert self.provider is not None
        tracer = self.provider.get_tracer("afterthought")
        kind = SpanKind[role.name]
        # Read a ``traceparent``, of which nothing is taken but what fits; without one a new trace begins.
        # Only here, where traces are on.
        from opentelemetry.context import Context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier = {} if parent is None else {_TRACEPARENT: parent}
        context = TraceContextTextMapPropagator().extract(carrier, Context())
        return tracer.start_span(name, context, kind, attributes, start_time=began_at)  # type: ignore[return-value]


def _end(span: Span, failed: bool, at: int | None = None) -> None:
    if failed:
        # Only here, where traces are on.
        from opentelemetry.trace import StatusCode

        span.set_status(StatusCode.ERROR)
    span.end(at)


def is_installed() -> bool:
    try:
        return all(map(find_spec, ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")))
    except ModuleNotFoundError:
        return False


def start_tracing(settings: TracingSettings, service: str) -> Tracing:
    """Return what traces this process; call it after a fork, as it starts the thread that sends."""
    if settings.collector is None:
        return Tracing()
    # The variables may be there for whatever runs on these machines: no reason not to serve.
    if not is_installed():
        get_logger().warning("traces_off", why="the libraries are not installed", mend=how_to_add(EXTRA))
        return Tracing()
    # Let OpenTelemetry, which reads the environment alone, find what of its own stands in ``.env``.
    for name, value in dotenv_values(".env").items():
        if name.startswith("OTEL_") and value:
            os.environ.setdefault(name, value)
    try:
        return Tracing(_provider(service, host_of(settings.collector)))
    except (ValueError, RuntimeError) as error:
        get_logger().warning("traces_off", why=str(error), mend="Correct the variables OTEL_*.")
        return Tracing()


def _provider(service: str, host: str) -> TracerProvider:
    """Return a provider as OpenTelemetry's variables want it. Raises: ValueError, RuntimeError."""
    # Only here, where traces are on: it takes a third of a second.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    # As above.
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {"service.name": service, **OTELResourceDetector().detect().attributes}
    # Not at exit, where it would wait for half a minute: `stop` sends what is left.
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    exporter = _TellingExporter(OTLPSpanExporter(), host)
    provider.add_span_processor(BatchSpanProcessor(exporter))  # type: ignore[arg-type]
    return provider


def host_of(collector: str) -> str:
    """Return a collector's host and port: its address may hold a password, or a key."""
    return urlsplit(collector).netloc.rpartition("@")[2]


@dataclass
class _TellingExporter:
    """Says once that no span can be sent, and once that they can be again; the SDK would say it for every batch."""

    exporter: SpanExporter
    host: str
    is_heard: bool = True

    def __post_init__(self) -> None:
        _EXPORTER_LOG.setLevel(logging.CRITICAL)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self.exporter.export(spans)
        is_heard = result.name == "SUCCESS"
        # That the queue is full then is no news.
        _QUEUE_LOG.setLevel(logging.NOTSET if is_heard else logging.CRITICAL)
        if is_heard and not self.is_heard:
            get_logger().info("traces_sent_again", host=self.host)
        elif self.is_heard and not is_heard:
            get_logger().warning("traces_not_sent", host=self.host, why="the collector does not take them")
        self.is_heard = is_heard
        return result

    def shutdown(self) -> None:
        self.exporter.shutdown()
