"""Secrets in what was recorded: originals keep them, and nothing that is made of an original holds one.

A sentence that holds a secret, or a line of what a tool was given or gave back, is shown as a mark, in a marked part as
well. Marks are looked for in what was said, before it is masked: so ids of markers do not depend on this.
"""

import json
from dataclasses import replace
from typing import Any

from shared.sessions.blocks import Block, BlockKind
from shared.text.sentences import mask_secrets


def mask_value(value: Any, name: str = "") -> tuple[Any, int]:
    """Return what a tool was given under a name with its secrets masked, and how many there were."""
    if isinstance(value, str):
        # By itself a value is not always known for what it is: {"password": "hunter2"}.
        return mask_secrets(value, f"{name}:")
    if isinstance(value, dict):
        found = {key: mask_value(one, key) for key, one in value.items()}
        return {key: one for key, (one, _) in found.items()}, sum(times for _, times in found.values())
    if isinstance(value, list):
        entries = [mask_value(one, name) for one in value]
        return [one for one, _ in entries], sum(times for _, times in entries)
    return value, 0


def mask_block(block: Block) -> Block:
    """Return a block with its secrets masked and counted, the very same where it holds none."""
    call = block.call
    given, of_input = ({}, 0) if call is None else mask_value(call.input)
    result, of_result = (None, 0) if call is None or call.result is None else mask_secrets(call.result)
    text, of_text = block.text, 0
    if block.kind is not BlockKind.TOOL_USE:
        text, of_text = mask_secrets(text)
    elif of_input:
        text = json.dumps(given, ensure_ascii=False)  # It is the input once more.
    if not (masked := of_input + of_result + of_text):
        return block
    if call is not None:
        call = replace(call, input=given, result=result)
    return replace(block, text=text, call=call, masked=block.masked + masked)
