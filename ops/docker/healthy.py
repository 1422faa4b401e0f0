"""Exit with 0 if the address given answers 200, else with 1 and the reason: the container's health check."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

_TIMEOUT_SECONDS = 4.0


def main(arguments: list[str]) -> int:
    """Ask the one address in ``arguments`` without any proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(arguments[0], timeout=_TIMEOUT_SECONDS):
            return 0
    except urllib.error.HTTPError as error:
        with error:
            print(f"{error.code}: {error.read(500).decode(errors='replace')}")
    except OSError as error:
        print(error)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
