"""The Celery configuration both sides use; registers no task.

Jobs live in the database and are resent when lost, so results are not kept, due times are not Celery's (an ETA beyond
the visibility timeout runs more than once), and Redis may lose everything. Source: stack, "Celery over Redis".
"""

import contextlib
from urllib.parse import urlsplit

import kombu.exceptions
import redis
import redis.exceptions
from celery import Celery
from kombu.entity import Exchange
from kombu.entity import Queue as CeleryQueue

from shared.base.errors import Configuration, Transient
from shared.base.settings import Settings
from shared.contracts.jobs import JobMessage, Queue

NOTICES = "afterthought.notices"
"""Redis channel on which whoever has news wakes the loop; best effort, never the only record."""
EVENTS_NEWS = "events:"
"""Begins the news that events were placed; the newest position follows."""
WORKERS = "afterthought.workers"
"""Redis sorted set of worker names by when each was last heard."""
SOCKET_SECONDS = 5.0
_VISIBILITY_MARGIN = 30
BROKER_ERRORS = (redis.exceptions.RedisError, kombu.exceptions.OperationalError, OSError)


def make_celery(settings: Settings) -> Celery:
    """Return a Celery application on the Redis of the settings. Raises: Configuration."""
    app = Celery("afterthought", broker=broker_url(settings), set_as_current=False)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        result_backend=None,
        # A job whose process is killed comes back at once; its fence keeps two from finishing it.
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        # Celery tries nothing again: the job's row says when it is sent anew.
        task_acks_on_failure_or_timeout=True,
        task_soft_time_limit=settings.soft_limit_seconds,
        task_time_limit=settings.hard_limit_seconds,
        task_queues=[make_queue(queue.value) for queue in Queue],
        task_default_queue=Queue.MEMORY.value,
        task_default_priority=5,
        task_create_missing_queues=True,
        # No worker holds back a job that another could begin.
        worker_prefetch_multiplier=1,
        worker_concurrency=settings.worker_concurrency,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_enable_remote_control=False,
        worker_soft_shutdown_timeout=settings.drain_seconds,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=SOCKET_SECONDS,
        broker_transport_options={
            # Beyond the hard limit: what still runs must not be delivered a second time.
            "visibility_timeout": int(settings.hard_limit_seconds) + _VISIBILITY_MARGIN,
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            # Redis knows no priorities: Kombu keeps a list for each step, and looks into them in order.
            "queue_order_strategy": "priority",
            "priority_steps": list(range(10)),
            "sep": ":",
            "socket_timeout": SOCKET_SECONDS * 2,
            "socket_connect_timeout": SOCKET_SECONDS,
            "socket_keepalive": True,
            "health_check_interval": 10,
            "retry_on_timeout": True,
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0.1,
            "interval_max": 0.5,
        },
    )
    return app


def make_queue(name: str) -> CeleryQueue:
    """Return a queue with an exchange of its own: by default all would be bound to one, under one key."""
    return CeleryQueue(name, Exchange(name, type="direct"), routing_key=name)


def broker_url(settings: Settings) -> str:
    """Return the Redis address in force. Raises: Configuration."""
    if settings.redis_url is None:
        raise Configuration("REDIS_URL is not set; start everything with `afterthought up`, or name a Redis.")
    return settings.redis_url


def connect_redis(settings: Settings) -> redis.Redis:
    """Return a client with explicit timeouts, for notices, health and erasure checks."""
    return redis.Redis.from_url(
        broker_url(settings).replace("redis+socket://", "unix://"),
        socket_timeout=SOCKET_SECONDS,
        socket_connect_timeout=SOCKET_SECONDS,
        health_check_interval=10,
    )


def send(app: Celery, task: str, queue: Queue, message: JobMessage, priority: int) -> None:
    """Put one job on its queue. Raises: Transient when the broker does not take it."""
    try:
        app.send_task(
            task, kwargs=message.model_dump(), queue=queue.value, priority=priority, ignore_result=True, retry=False
        )
    except BROKER_ERRORS as error:
        address = urlsplit(str(app.conf.broker_url))
        where = f"{address.hostname or address.path}:{address.port or ''}".rstrip(":")
        raise Transient(f"Redis at {where} did not take a job: {type(error).__name__}.") from error


def notify(client: redis.Redis, news: str) -> bool:
    """Wake the loop and the live page; False when Redis could not be reached."""
    try:
        client.publish(NOTICES, news)
    except BROKER_ERRORS:
        return False
    return True


def announce_worker(client: redis.Redis, node: str, now: float) -> bool:
    """Note that a worker hears its queue at ``now`` (Unix seconds); False when Redis could not be reached."""
    try:
        client.zadd(WORKERS, {node: now})
    except BROKER_ERRORS:
        return False
    return True


def workers_heard(client: redis.Redis, since: float) -> list[str]:
    """Return the workers heard of since then (Unix seconds), forgetting the others. Raises: any of BROKER_ERRORS."""
    client.zremrangebyscore(WORKERS, "-inf", f"({since}")
    names = client.zrange(WORKERS, 0, -1)
    return sorted(name.decode() for name in names if isinstance(name, bytes))


def withdraw_worker(client: redis.Redis, node: str) -> None:
    """Forget a worker that stops; one that cannot say so is forgotten a little later."""
    with contextlib.suppress(*BROKER_ERRORS):
        client.zrem(WORKERS, node)
