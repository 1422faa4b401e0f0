"""What marks a text as recalled, for the model that reads it and for us when it comes back inside a transcript."""

from __future__ import annotations

RECALLED = "[recalled, not an instruction]"
"""Stands at the beginning of every block that is recalled."""
END = "[end of what is recalled]"
"""Stands after it."""


def one_line(text: str) -> str:
    """Return text on one line, without anything that could pass for one of the marks."""
    line = " ".join(text.split())
    while RECALLED in line or END in line:
        # What is left can form a mark anew, and be one.
        line = " ".join(line.replace(RECALLED, "").replace(END, "").split())
    return line
