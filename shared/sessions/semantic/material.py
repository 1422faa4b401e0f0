"""What is learnt from in a session: what its human prompts say, and the commands that were run again and again.

Words of tools, sub-agents and the assistant never become what the user prefers or decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shared.sessions.semantic.models import LearntKind
from shared.sessions.transcripts.turns import Turn, TurnKind
from shared.text.lines import clean

LONGEST = 300
"""Characters of a semantic memory."""
LONGEST_EXCERPT = 400
_LONGEST_PROMPT = 8_000
_LONGEST_COMMAND = 80
_LEAST_USES = 3
_MOST_COMMANDS = 5
_RUNNING = frozenset({"Bash", "shell", "run_command"})


@dataclass(frozen=True)
class Prompt:
    """Something a person asked for."""

    uuid: str
    text: str


@dataclass(frozen=True)
class Proposal:
    """Something that may be worth remembering of a project, and where it was found."""

    kind: LearntKind
    content: str
    uuid: str
    excerpt: str


@dataclass
class Material:
    """What one session offers."""

    prompts: list[Prompt] = field(default_factory=list)
    commands: dict[str, tuple[int, str]] = field(default_factory=dict)
    """How often each was run, and where first."""


def material_of(turns: Iterable[Turn]) -> Material:
    """Return what a session's turns offer."""
    material = Material()
    for turn in turns:
        if turn.is_sidechain:
            continue
        if turn.kind is TurnKind.HUMAN and turn.text.strip():
            material.prompts.append(Prompt(turn.uuid, turn.text[:_LONGEST_PROMPT]))
        elif turn.kind is TurnKind.TOOL_USE and turn.tool_name in _RUNNING:
            _count(material, turn)
    return material


def patterns_in(material: Material) -> Iterator[Proposal]:
    """Yield the commands that a session ran again and again, the most frequent first."""
    often = [(count, command, uuid) for command, (count, uuid) in material.commands.items() if count >= _LEAST_USES]
    for _, command, uuid in sorted(often, key=lambda one: (-one[0], one[1]))[:_MOST_COMMANDS]:
        yield Proposal(LearntKind.PATTERN, f"Runs `{command}`", uuid, command)


def _count(material: Material, turn: Turn) -> None:
    command = clean(str(turn.tool_input.get("command", "")))
    if 0 < len(command) <= _LONGEST_COMMAND:
        count, first = material.commands.get(command, (0, turn.uuid))
        material.commands[command] = (count + 1, first)
