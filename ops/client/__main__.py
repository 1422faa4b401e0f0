"""Writes the generated files of the clients, and says which have changed: ``python -m ops.client``."""

from __future__ import annotations

import sys

from ops.client.typescript import SCHEMA, schema_module
from ops.client.writing import ROOT, description_of_release, outdated, write

_TYPESCRIPT = "clients/typescript"

if __name__ == "__main__":
    changed = outdated()
    place = f"{_TYPESCRIPT}/{SCHEMA}"
    try:
        text = schema_module(description_of_release(), ROOT / _TYPESCRIPT)
        if text != (ROOT / place).read_text("utf-8"):
            changed[place] = text
    except FileNotFoundError as error:
        print(f"left as it is: {place} ({error})", file=sys.stderr)
    for place, text in changed.items():
        write(place, text)
        print(f"wrote {place}")
