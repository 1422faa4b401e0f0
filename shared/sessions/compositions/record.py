"""How the files of a composition are called, and by which endings their digests are known.

What stands in them is left to ``documents``; ``composition.json`` is written with the manifest.
Source: seed 004, "File Naming Conventions".
"""

from __future__ import annotations

MARKDOWN_FILE, LINES_FILE, RECORD_FILE = "composed.md", "composed.jsonl", "composition.json"
FILES = {"md": MARKDOWN_FILE, "jsonl": LINES_FILE}
