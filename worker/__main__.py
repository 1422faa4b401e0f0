"""``python -m worker``: one Celery worker with this installation's settings."""

import gc
import sys

from shared.base.errors import Configuration
from shared.base.process import wait_until_told


def main() -> int:
    """Run a worker until it is stopped; 2 means that a setting is wrong."""
    # What is loaded stays: looking through it for garbage again and again is a sixth of the start.
    gc.disable()
    try:
        # Reads the settings when imported, as Celery's own command does.
        from worker.celery_app import app, node
    except Configuration as error:
        print(error.message, file=sys.stderr)  # noqa: T201
        return 2
    # Nor is it looked through in the pool's processes, which share its pages.
    gc.freeze()
    gc.enable()
    wait_until_told()
    # Workers need nothing of each other: who lives says so in Redis (``broker.announce_worker``).
    worker = app.Worker(
        hostname=node, loglevel="WARNING", quiet=True, without_gossip=True, without_mingle=True, without_heartbeat=True
    )
    worker.start()
    return int(worker.exitcode or 0)


if __name__ == "__main__":
    sys.exit(main())
