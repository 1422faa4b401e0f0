"""``python -m worker``: one Celery worker with this installation's settings."""

from __future__ import annotations

import sys

from shared.contracts.jobs import Queue
from shared.errors import Configuration


def main(arguments: list[str]) -> int:
    """Run a worker until it is stopped; 2 means that a setting is wrong."""
    try:
        # Reads the settings when imported, as Celery's own command does.
        from worker.celery_app import app, node
        from worker.lifecycle import private_queue
    except Configuration as error:
        print(error.message, file=sys.stderr)  # noqa: T201
        return 2
    queues = ",".join([*(queue.value for queue in Queue), private_queue(node)])
    app.worker_main(
        ["worker", "--loglevel=WARNING", f"--hostname={node}", f"--queues={queues}", "--without-gossip",
         "--without-mingle", "--without-heartbeat", *arguments]
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
