"""The Celery application of a worker: ``celery -A worker.celery_app worker``.

Settings are read here, before anything is counted; what a pool process needs is built in it after the fork.
"""

import logging
import os
import time
from typing import Any

import billiard
from celery import Celery, signals
from celery.worker import state as worker_state
from prometheus_client import start_http_server

from shared import broker
from shared.base.clock import SystemClock
from shared.base.process import die_with_parent
from shared.base.settings import read_settings
from shared.contracts.jobs import CANARY_TASK
from shared.db.engine import Database
from shared.jobs.ownership import release_node
from shared.llm.calls import EXTRACTIVE
from shared.llm.providers import embedder_name
from shared.telemetry.exposition import gathered, use_files, wipe
from shared.telemetry.logging import configure_logging, get_logger
from worker.lifecycle import GAVE_UP, HeartbeatMonitor, Watchdog, private_queue, use_tolerant_transport
from worker.tasks import WorkerProcess, register_tasks
from worker.wiring import make_metrics, node_name, wire

_CONSUMERS = ("celery.worker.consumer.consumer", "celery.worker.consumer", "celery.worker.strategy")
_REFUSALS = {
    "Received unregistered task": "no task of that name",
    "Received invalid task message": "not a message of Celery's, or of a content type that is not accepted",
    "Received and deleted unknown message": "not a message of Celery's",
    "Can't decode message body": "its body cannot be decoded",
}


class WithoutMessages(logging.Filter):
    """Stops lines of Celery's log that print a whole message, which may be private, and logs why it was refused."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether Celery's own line may be printed."""
        template = str(record.msg)
        why = next((why for beginning, why in _REFUSALS.items() if template.startswith(beginning)), None)
        if why is None:
            return True
        get_logger().error("queue_message_refused", why=why)
        return False


settings = read_settings()
node = node_name(settings)
configure_logging(settings.log_level, settings.log_format, node)
for consumer in _CONSUMERS:
    logging.getLogger(consumer).addFilter(WithoutMessages())
log = get_logger()


def slot() -> str:
    """Return the name this process's metric files carry: by place in the pool, so that they stay few."""
    index = getattr(billiard.current_process(), "index", None)
    return f"{node}-main" if index is None else f"{node}-p{index}"


use_files(settings.metrics_path, slot)
use_tolerant_transport()
app: Celery = broker.make_celery(settings)
app.set_current()
app.conf.task_queues = [*app.conf.task_queues, broker.make_queue(private_queue(node))]
process = WorkerProcess()
news = broker.connect_redis(settings)
monitor = HeartbeatMonitor(settings.worker_silence_seconds)
register_tasks(app, process)


def _send_canary() -> bool:
    try:
        # Without retries: the watchdog has to come back to look at the tasks in hand.
        app.send_task(CANARY_TASK, queue=private_queue(node), priority=0, retry=False)
    except broker.BROKER_ERRORS:
        return False
    return True


def _give_up(why: str) -> None:
    log.error("worker_gives_up", why=why)
    # Not sys.exit: this is the watchdog's thread, and the main one may be the very one that is stuck.
    os._exit(GAVE_UP)


watch = Watchdog(
    monitor,
    _send_canary,
    # A copy first: the consumer changes the set from its own thread.
    lambda: [request.id for request in list(worker_state.reserved_requests)],
    _give_up,
    # Celery itself kills a task at the hard limit; only where that fails is the worker ended.
    settings.hard_limit_seconds + settings.worker_silence_seconds,
    lambda: broker.announce_worker(news, node, time.time()),
)


@signals.celeryd_init.connect(weak=False)
def _take_over(**_: Any) -> None:
    """Wipe a former worker's metric files and take back at once what it was running."""
    wipe(settings.metrics_path, f"{node}-")
    database = Database(settings.database, pool_size=1)
    with database.write() as session:
        # It has the same name after a restart, so nothing that ran under it runs any more.
        released = release_node(session, node, SystemClock().now(), settings)
    # Before the pool is forked: its processes must not share a connection.
    database.dispose()
    log.info("worker_started", released_jobs=released, agent=settings.model or EXTRACTIVE)


@signals.worker_ready.connect(weak=False)
def _listen(**_: Any) -> None:
    if settings.worker_metrics_port:
        start_http_server(settings.worker_metrics_port, registry=gathered(settings.metrics_path))
    watch.start()


@signals.task_received.connect(weak=False)
def _hear(**_: Any) -> None:
    monitor.note_heartbeat()


@signals.worker_shutting_down.connect(weak=False)
def _stop_watching(**_: Any) -> None:
    watch.stop()
    broker.withdraw_worker(news, node)


@signals.worker_process_shutdown.connect(weak=False)
def _send_last_traces(**_: Any) -> None:
    if process.prepared is not None:
        process.prepared.tracing.stop()


@signals.worker_process_init.connect(weak=False)
def _build(**_: Any) -> None:
    # Celery's parent may be killed without a word to its pool; a process left over would go on holding leases.
    die_with_parent(os.getppid())
    # Only now, after the fork: connections and metric files must not be shared with the parent.
    process.prepared = wire(settings, make_metrics(), node)
    log.info("worker_process_started", embedding=embedder_name(settings.embedding))
