"""Writes the generated files of ``clients/python``, and says which have changed: ``python -m ops.client``."""

from __future__ import annotations

import sys

from ops.client.writing import outdated, write

if __name__ == "__main__":
    for place, text in outdated().items():
        write(place, text)
        print(f"wrote {place}")
    sys.exit(0)
