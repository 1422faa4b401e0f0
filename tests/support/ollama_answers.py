"""What the test server answers when no test tells it otherwise: the same for the same question, and valid.

It reads this project's prompts, by the schema that is sent along.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any

_SAID_BY_USER = re.compile(r"^user(?: \([^)]*\))?: (.+)$", re.MULTILINE)
_STATED = re.compile(r"^user(?: \([^)]*\))?: I (.+?)\.?$", re.MULTILINE)
_SPOKEN = re.compile(r"^\[\d+\] (?:user|assistant)(?: \([^)]*\))?: (.+)$", re.MULTILINE)
_PIECE = re.compile(r"^\[(\d+)\] (?:User|Assistant[a-z ]*|Tool): (.*\w.*)$", re.MULTILINE)
_COMPLAINT = "This answer cannot be used"
_MEMORY = re.compile(r"^\[(\d+)\] (\d{4}-\d\d-\d\d), importance \d+(, pinned)?: ", re.MULTILINE)
_LIMIT = re.compile(r"at most (\d+) characters")
_DIMENSIONS = 32


def sensible_answer(body: dict[str, Any]) -> dict[str, Any] | str:
    """Return an answer that fits the schema in ``body``; a short sentence where there is none."""
    schema = body.get("format")
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    prompt = asked(body)
    if "memory" in properties:
        return _reading(prompt)
    if "short" in properties:
        return {"short": [line.removeprefix("- ") for line in prompt.splitlines()]}
    if "points" in properties:
        return {"points": _first_sentences(_SPOKEN.findall(prompt))}
    if "lines" in properties:
        return _condensed(prompt)
    if "target_id" in properties:
        return _compaction(prompt)
    if "text" in properties:
        return _choice(prompt, properties)
    return "All is well."


def sensible_tools(body: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the tools a thinking model would use: an answer where somebody waits for one, else a thought."""
    prompt = str(body["messages"][1]["content"])
    if "somebody waits for an answer" in prompt:
        return (("respond", {"text": _reply(prompt)}),)
    return (("think", {"thoughts": "Nothing needs to be done."}),)


def asked(body: Mapping[str, Any]) -> str:
    """Return the question: the last thing that the user says, but for complaints about an answer."""
    said = [str(one["content"]) for one in body["messages"] if one["role"] == "user"]
    return next((text for text in reversed(said) if not text.startswith(_COMPLAINT)), "")


def _reply(prompt: str) -> str:
    return "You said: " + prompt.partition("\nEND ")[0].splitlines()[-1]


def _choice(prompt: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Do the same as with tools, as a model without any."""
    if "action" not in properties:
        return {"text": _reply(prompt)}
    shown = properties.get("conversationId", {})
    one_of_them = {"conversationId": shown.get("const") or shown["enum"][0]} if shown else {}
    return {"action": "think", "minutes": 1, "text": "Nothing needs to be done.", **one_of_them}


def _reading(prompt: str) -> dict[str, Any]:
    limit = int(_LIMIT.findall(prompt)[-1])
    said = _SAID_BY_USER.findall(prompt)
    if not said:
        return {"memory": "", "facts": []}
    words = " ".join(re.split(r"(?<=[.!?])\s", text)[0] for text in said).split()
    while len(" ".join(words)) > limit:
        words.pop()
    facts = [{"fact": text[0].upper() + text[1:], "sort": "identity"} for text in _STATED.findall(prompt)]
    return {"memory": " ".join(words), "facts": facts}


def _condensed(prompt: str) -> dict[str, Any]:
    room = int(_LIMIT.findall(prompt)[-1])
    lines = []
    for number, text in _PIECE.findall(prompt):
        room -= len(text) + 1
        if room < 0:
            break
        lines.append({"text": text, "from": [int(number)]})
    return {"lines": lines}


def _first_sentences(texts: list[str]) -> list[str]:
    return [re.split(r"(?<=[.!?])\s", text)[0] for text in texts[:1]]


def _compaction(prompt: str) -> dict[str, Any]:
    free = [(day, int(i)) for i, day, pinned in _MEMORY.findall(prompt) if not pinned and int(i) != 0]
    oldest = min(free)[1] if free else 0
    return {
        "action": "delete",
        "target_id": oldest,
        "absorbed_id": 0,
        "new_content": "",
    }


def embedding(text: str) -> list[float]:
    vector = [0.0] * _DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        vector[hashlib.sha256(word.encode()).digest()[0] % _DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]
