"""Traces from outside: a request, the jobs it asked for and their model calls are one trace, and hold no text."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.support.model_server import Act
from tests.support.openai_server import OpenAiServer
from tests.support.services import EmbeddedRedis, System, free_port, start_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
CANARY = "xylophone-canary"
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{CALLER}-01"
END = "POST /apps/{appId}/conversations/{conversationId}/end"
QUICK = {
    "AFTERTHOUGHT_RETRY_BASE_SECONDS": "0.1",
    "AFTERTHOUGHT_RETRY_MAX_SECONDS": "0.2",
    "AFTERTHOUGHT_TICK_SECONDS": "0.1",
    "AFTERTHOUGHT_THINKING": "false",
    "AFTERTHOUGHT_FACTS": "false",
    "AFTERTHOUGHT_EMBEDDING": "ngrams",
    "OTEL_BSP_SCHEDULE_DELAY": "50",
    "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
}


@dataclass
class Seen:
    service: str
    span: Span

    @property
    def name(self) -> str:
        return self.span.name

    @property
    def trace(self) -> str:
        return self.span.trace_id.hex()

    @property
    def failed(self) -> bool:
        return self.span.status.code == Status.STATUS_CODE_ERROR

    def __getitem__(self, key: str) -> Any:
        for one in self.span.attributes:
            if one.key == key:
                return getattr(one.value, one.value.WhichOneof("value"))
        raise KeyError(key)


@dataclass
class Collector:
    """Takes OTLP over HTTP, and reads it with OpenTelemetry's own classes."""

    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    @property
    def spans(self) -> list[Seen]:
        found = []
        for body in list(self.bodies):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                about = {one.key: one.value.string_value for one in resource.resource.attributes}
                found += [Seen(about["service.name"], span) for scope in resource.scope_spans for span in scope.spans]
        return found

    def named(self, name: str, trace: str = TRACE) -> list[Seen]:
        """Return the spans of a name in a trace, in the order they began."""
        mine = [one for one in self.spans if one.name == name and one.trace == trace]
        return sorted(mine, key=lambda one: one.span.start_time_unix_nano)

    def wait_for(self, name: str, count: int = 1, trace: str = TRACE) -> list[Seen]:
        wait_until(
            lambda: len(self.named(name, trace)) >= count,
            30,
            f"{count} spans {name} in {trace}",
        )
        return self.named(name, trace)


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.headers.append({"path": self.path, **self.headers})
            collector.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Service:
    """A running system, its admin's client and the model it asks."""

    system: System
    client: httpx.Client
    model: OpenAiServer

    def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = self.client.request(method, path, **more)
        assert answer.status_code < 400, answer.text
        return answer.json()

    def end_conversation(self, name: str = "c1", traceparent: str = TRACEPARENT) -> dict[str, Any]:
        """Say something and end it, as a part of the app's own trace; return the job of its memory."""
        self.client.post("/apps", json={"appId": "diary", "name": "Diary"})
        path = f"/apps/diary/conversations/{name}"
        self.ask("POST", "/apps/diary/conversations", json={"conversationId": name, "userId": f"{CANARY}-user"})
        said = {"role": "user", "content": f"I keep a {CANARY} called {name} in the shed."}
        self.ask("POST", f"{path}/messages", json={"messages": [said]})
        jobs = self.ask("POST", f"{path}/end", headers={"traceparent": traceparent})["jobs"]
        return next(job for job in jobs if job["kind"] == "create_memory")

    def wait_for(self, job: dict[str, Any], state: str = "done") -> dict[str, Any]:
        def now() -> dict[str, Any]:
            return dict(self.ask("GET", f"/jobs/{job['jobId']}"))

        wait_until(lambda: now()["state"] == state, 60, f"{job} to be {state}: {now()}")
        return now()


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture
def start(tmp_path: Path, sqlite_url: str, own_redis: EmbeddedRedis) -> Iterator[Any]:
    with ExitStack() as stack:

        def begin(*command: str, **env: str) -> Service:
            """Start a system; ``command`` stands between the interpreter and its module."""
            model = stack.enter_context(OpenAiServer())
            asked = {"AFTERTHOUGHT_MODEL": "openai:tiny", "AFTERTHOUGHT_OPENAI_BASE_URL": f"{model.url}/v1"}
            chosen = {**QUICK, **asked, **env}
            system = stack.enter_context(start_system(tmp_path, sqlite_url, own_redis.url, env=chosen, loop=False))
            for process in system.processes:
                process.argv = (sys.executable, *command, *process.argv[1:])
                process.start()
            system.wait_ready()
            return Service(system, stack.enter_context(system.client()), model)

        yield begin


def test_one_trace_goes_from_the_apps_request_over_the_job_to_the_models_answer(
    start: Any, collector: Collector
) -> None:
    service = start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    job = service.wait_for(service.end_conversation())
    [request], [worked], [asked] = map(collector.wait_for, (END, "job create_memory", "chat tiny"))
    assert (request.service, worked.service, asked.service) == (
        "afterthought-loop", "afterthought-worker", "afterthought-worker",
    )  # fmt: skip
    assert request.span.parent_span_id.hex() == CALLER
    assert worked.span.parent_span_id == request.span.span_id
    assert asked.span.parent_span_id == worked.span.span_id
    kinds = (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CONSUMER, Span.SPAN_KIND_CLIENT)
    assert tuple(one.span.kind for one in (request, worked, asked)) == kinds
    assert (request["http.route"], request["http.request.method"]) == (END.removeprefix("POST "), "POST")
    assert (request["http.response.status_code"], request["afterthought.app.id"]) == (202, "diary")
    assert (worked["afterthought.job.id"], worked["afterthought.app.id"]) == (job["jobId"], "diary")
    assert (worked["afterthought.job.attempt"], worked["afterthought.job.outcome"]) == (1, "done")
    assert (asked["gen_ai.operation.name"], asked["gen_ai.provider.name"]) == ("chat", "openai")
    assert asked["gen_ai.request.model"] == "tiny"
    assert asked["gen_ai.usage.input_tokens"] > asked["gen_ai.usage.output_tokens"] > 0
    began, ended = worked.span.start_time_unix_nano, worked.span.end_time_unix_nano
    assert began <= asked.span.start_time_unix_nano < asked.span.end_time_unix_nano <= ended
    assert job["traceId"] == TRACE
    assert not any(one.failed for one in (request, worked, asked))


def test_no_text_no_token_and_no_name_of_a_user_is_in_what_is_sent(start: Any, collector: Collector) -> None:
    service = start(
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{collector.url}/own/path",
        OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20of-the-collector",
    )
    service.wait_for(service.end_conversation())
    [memory] = service.ask("GET", "/apps/diary/memories", params={"userId": f"{CANARY}-user"})["memories"]
    assert CANARY in memory["content"]
    service.ask("POST", "/apps/diary/search", json={"query": CANARY, "userId": f"{CANARY}-user"})
    for path in (f"/{CANARY}", f"/apps/diary/memories?q={CANARY}&limit={CANARY}", f"/apps/{CANARY}?q={CANARY}"):
        assert service.client.get(path, headers={"tracestate": f"v={CANARY}", "baggage": f"b={CANARY}"}).is_client_error
    for path in ("/health/live", "/health/ready", "/metrics"):
        service.client.get(path)
    # What was asked last is there, and so is all that was asked before.
    service.ask("GET", "/jobs", headers={"traceparent": TRACEPARENT})
    collector.wait_for("GET /jobs")
    collector.wait_for("chat tiny")
    assert {headers["path"] for headers in collector.headers} == {"/own/path"}
    assert {headers["authorization"] for headers in collector.headers} == {"Bearer of-the-collector"}
    sent = b"".join(collector.bodies)
    assert CANARY.encode() not in sent and service.system.admin_token.encode() not in sent
    assert b"/health" not in sent and b"/metrics" not in sent
    logs = "".join(process.log for process in service.system.processes)
    assert "of-the-collector" not in logs


@pytest.mark.long
def test_what_another_protocol_does_inside_belongs_to_its_request(start: Any, collector: Collector) -> None:
    service = start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    service.ask("POST", "/apps", json={"appId": "diary", "name": "Diary"})
    body = {"model": "tiny", "messages": [{"role": "user", "content": f"I keep a {CANARY}."}]}
    about = {"X-App-Id": "diary", "X-User-Id": f"{CANARY}-user", "traceparent": TRACEPARENT}
    service.ask("POST", "/v1/chat/completions", json=body, headers=about)
    [request], [asked] = collector.wait_for("POST /v1/chat/completions"), collector.wait_for("chat tiny")
    recorded = collector.wait_for("POST /apps/{appId}/conversations/{conversationId}/messages")
    assert {one.span.parent_span_id for one in (asked, *recorded)} == {request.span.span_id}
    assert CANARY.encode() not in b"".join(collector.bodies)


def test_every_attempt_at_a_job_is_a_part_of_the_same_trace(start: Any, collector: Collector) -> None:
    service = start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    service.model.will(Act(status=500))
    service.wait_for(service.end_conversation())
    [request], attempts, calls = (
        collector.wait_for(END), collector.wait_for("job create_memory", 2), collector.wait_for("chat tiny", 2)
    )  # fmt: skip
    assert {one.span.parent_span_id for one in attempts} == {request.span.span_id}
    assert [one["afterthought.job.outcome"] for one in attempts] == ["retrying", "done"]
    assert [one.failed for one in attempts] == [True, False] == [one.failed for one in calls]
    assert [one.span.parent_span_id for one in calls] == [one.span.span_id for one in attempts]
    assert calls[0]["error.type"] == "unavailable"


@pytest.mark.long
def test_a_job_whose_worker_was_killed_is_seen_again_in_the_same_trace(start: Any, collector: Collector) -> None:
    service = start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    service.model.will(Act(stall=True))
    job = service.end_conversation()
    service.model.wait_for_chats(1, 60)
    [worker] = service.system.workers
    service.system.kill(worker)
    service.model.go_on()
    worker.start()
    service.wait_for(job)
    [request], [again] = collector.wait_for(END), collector.wait_for("job create_memory")
    assert again.span.parent_span_id == request.span.span_id
    assert (again["afterthought.job.attempt"], again["afterthought.job.outcome"]) == (2, "done")


def test_a_traceparent_is_heeded_as_far_as_it_is_one(start: Any, collector: Collector) -> None:
    service = start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    for name, traceparent in (("c1", "nonsense"), ("c2", f"00-{'0' * 32}-{CALLER}-01")):
        trace = service.wait_for(service.end_conversation(name, traceparent))["traceId"]
        assert len(trace) == 32 and set(trace) != {"0"}
        [request] = collector.wait_for(END, trace=trace)
        assert request.span.parent_span_id == b""
    # What the app does not sample is not sent, though the job knows its trace.
    assert service.wait_for(service.end_conversation("c3", f"00-{TRACE}-{CALLER}-00"))["traceId"] == TRACE
    service.wait_for(service.end_conversation("c4", f"00-{'1' * 32}-{CALLER}-01"))
    collector.wait_for("job create_memory", trace="1" * 32)
    assert collector.named("job create_memory") == collector.named(END) == []


def test_where_nothing_is_traced_nothing_that_sends_is_loaded(start: Any) -> None:
    # Each import is written to standard error as it is made.
    service = start("-X", "importtime")
    assert service.wait_for(service.end_conversation())["traceId"] is None
    for process in service.system.processes:
        assert f" {process.argv[-1]}.wiring\n" in process.log, "what is loaded is not told"
        # FastAPI and redis-py load the rest of it where it is there.
        assert "opentelemetry.exporter" not in process.log


@pytest.mark.long
def test_without_a_collector_everything_works_and_each_process_says_it_once(start: Any) -> None:
    service = start(
        AFTERTHOUGHT_LOG_FORMAT="json",
        AFTERTHOUGHT_WORKER_CONCURRENCY="1",
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://ada:s3cret@127.0.0.1:{free_port()}",
        OTEL_BSP_MAX_QUEUE_SIZE="4",
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE="2",
    )
    for name in ("c1", "c2", "c3"):
        service.wait_for(service.end_conversation(name))
    processes = service.system.processes
    for process in processes:
        wait_until(lambda process=process: "traces_not_sent" in process.log, 30, f"it to be said by {process.name}")  # type: ignore[misc]
    service.wait_for(service.end_conversation("c4"))
    assert [process.stop() for process in processes] == [0, 0]
    for process in processes:
        assert process.log.count("traces_not_sent") == 1
        # The queue, of four, has been full ever since.
        assert "Queue full" not in process.log.partition("traces_not_sent")[2] and "Transient" not in process.log
        assert "s3cret" not in process.log and "loop_stopped_unfinished" not in process.log


@pytest.mark.long
def test_what_was_traced_last_is_sent_before_a_process_ends(start: Any, collector: Collector) -> None:
    service = start("-X", "importtime", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_BSP_SCHEDULE_DELAY="60000")
    service.wait_for(service.end_conversation())
    assert collector.bodies == []
    service.system.stop()
    assert all("opentelemetry.exporter" in process.log for process in service.system.processes)
    assert len(collector.named(END)) == len(collector.named("job create_memory")) == 1


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"PYTHONPATH": "hidden"}, "ops/up"),
        ({"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4", "OTEL_BSP_MAX_QUEUE_SIZE": "2"}, "max_export_batch_size"),
    ],
    ids=["no libraries", "a wrong variable"],
)
def test_where_nothing_can_be_traced_the_service_works_and_says_why(
    start: Any, tmp_path: Path, env: dict[str, str], why: str
) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/sitecustomize.py").write_text("import sys; sys.modules['opentelemetry.sdk'] = None\n")
    paths = {
        name: f"{tmp_path / value}:{Path(__file__).parents[2]}" for name, value in env.items() if value == "hidden"
    }
    service = start(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1", **(env | paths))
    service.wait_for(service.end_conversation())
    for process in service.system.processes:
        assert "traces_off" in process.log and why in process.log
