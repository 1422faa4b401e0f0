"""The Memory Sub-Agent that asks a language model.

It decides what the model is shown and which answers are accepted. How a model is reached is the chat's; whether a
compaction decision may be carried out is ``shared.memories.compaction``'s; storing is the pipelines'.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from shared.llm.calls import Meter, WorkKind
from shared.memories.compaction import Action, CompactionCandidate, Decision, refusal
from shared.text.gate import unlooped
from shared.text.lines import clean, shorten
from worker.agent import prompt
from worker.agent.gates import judge_merged, spoken_gate
from worker.agent.prompt import Answer, ModelPart, PromptLine, Worded
from worker.agent.protocol import MemoryDraft, NothingToRemember, Transcript
from worker.agent.statements import NOT_TO_BE_LOST, WORTH_KEEPING, left_out, vital

_NOTED = "notes on the conversation"
_NOTE_CHARS = 160
_NOTE_TOKENS = 100
_TOKENS_FOR_A_NOTE = 1024
_MOST_NOTES = 8
_LEAST_BUDGET_FOR_NOTES = 500
_MOST_TAGS = 3
_TAG_CHARS = 30


class ModelAgent(ModelPart):
    """Proposes what a chat answers. ``timeout_seconds`` is for one creation or compaction with its repair.

    A conversation that does not fit the window is read in parts first, and then that time is for each part.
    """

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> MemoryDraft | NothingToRemember:
        lines, what = prompt.spoken_lines(transcript.turns), "conversation"
        if not lines:
            return NothingToRemember("Neither the user nor the assistant said anything.")
        known = (f"- {prompt.masked(text)}" for text in transcript.known)
        fitting = prompt.first_fitting(known, self.context_tokens // prompt.SHARE, prompt.line_tokens)
        shown = {"app": clean(transcript.app_name), "known": "\n".join(fitting) or "(nothing yet)", "limit": limit}
        tokens = limit + prompt.ANSWER_TOKENS
        creating = partial(self.question, "create", WorkKind.CREATE, CreationAnswer, tokens, **shown)
        creating = partial(creating, ended=transcript.held_at.date().isoformat())
        budget = self.budget_beside(creating(what=_NOTED, conversation=""))
        while len(parts := prompt.fitting_parts(lines, budget)) > 1:
            lines, what = self._notes(transcript, lines, what, meter), _NOTED
            if not lines:
                return NothingToRemember(f"None of its {len(parts)} parts holds anything worth keeping.")
        gate = spoken_gate(transcript)

        def refused(answer: CreationAnswer) -> str | None:
            why = gate.complaint([answer.content]) if answer.remember else None
            return f"the memory {why}" if why else None

        def complaint(answer: CreationAnswer) -> str | None:
            length = len(answer.content)
            if answer.remember and length > limit:
                return f"the memory has {length} characters and may have at most {limit}"
            return refused(answer) or _forgotten(answer, transcript, limit)

        answer = self.ask(creating(what=what, conversation=prompt.written(lines)), meter, complaint, refused)
        return answer.proposal(transcript.known, limit, prompt.message_ids(lines))

    def compact(
        self, existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int, meter: Meter
    ) -> Decision:
        def unfit(decision: Decision) -> str | None:
            verdict = judge_merged(decision, existing, new)
            wrong = None if verdict is None else f"the rewritten memory {verdict.words}"
            return refusal(decision, existing, new, limit) or wrong

        shown = {"present": "\n".join(map(_listed, existing)), "new": _listed(new), "limit": limit}
        question = self.question("compact", WorkKind.COMPACT, CompactionAnswer, limit + prompt.ANSWER_TOKENS, **shown)
        answer = self.ask(question, meter, lambda a: unfit(a.decision()), lambda a: unfit(a.decision(limit)))
        return answer.decision(limit)

    def _notes(self, transcript: Transcript, lines: Sequence[PromptLine], what: str, meter: Meter) -> list[PromptLine]:
        """Return notes on the lines; those on a part fill at most a third of one, so notes on notes come to an end."""
        most = self.most(_MOST_NOTES, _TOKENS_FOR_A_NOTE)
        shown = {"app": clean(transcript.app_name), "what": what, "most": most, "limit": _NOTE_CHARS}
        noting = partial(self.question, "notes", WorkKind.CREATE, NotesAnswer, most * _NOTE_TOKENS, **shown)

        def too_many(answer: NotesAnswer) -> str | None:
            given = len(answer.notes)
            return f"it gives {given} notes and may give at most {most}" if given > most else None

        budget = self.budget_beside(noting(part=0, parts=0, conversation=""), _LEAST_BUDGET_FOR_NOTES)
        parts = prompt.fitting_parts(lines, budget)
        taken: list[PromptLine] = []
        for number, part in enumerate(parts, 1):
            question = noting(part=number, parts=len(parts), conversation=prompt.written(part))
            # The most important note comes first, and notes must be shorter than the part.
            notes = [f"- {shorten(note, _NOTE_CHARS)}" for note in self.ask(question, meter, too_many).notes[:most]]
            fitting = prompt.first_fitting(notes, budget // 3, prompt.line_tokens)
            taken += (PromptLine(note, prompt.message_ids(part)) for note in fitting)
        return taken


def _forgotten(answer: CreationAnswer, transcript: Transcript, limit: int) -> str | None:
    """Say what an answer forgets that the user said; as far as a memory has room for it."""
    if not answer.remember:
        is_nothing = not vital(transcript.turns, WORTH_KEEPING)
        return None if is_nothing else "it says there is nothing worth keeping, and the user stated something that is"
    missing = left_out(answer.content, vital(transcript.turns, NOT_TO_BE_LOST))
    if not missing or len(answer.content) + len(missing[0].text) > limit:
        return None
    return "the memory leaves out what must not be forgotten: a harm, a limit, or a wish that stands"


def _listed(memory: CompactionCandidate) -> str:
    day = memory.updated_at.date().isoformat()
    pinned = ", pinned" if memory.pinned else ""
    return f"[{memory.id}] {day}, importance {memory.importance}{pinned}: {prompt.masked(memory.content)}"


def _no_truth(value: object) -> object:
    """Refuse true and false, which would otherwise pass as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    return value


_Whole = Annotated[int, BeforeValidator(_no_truth)]


class CreationAnswer(Answer):
    """One memory, or the reason why there is none."""

    reason: str
    remember: bool
    memory: str
    # Bounds that stand behind a check of our own would be missing in the schema that servers are shown.
    importance: Annotated[int, Field(ge=0, le=10), BeforeValidator(_no_truth)]
    tags: list[str]

    @model_validator(mode="after")
    def _says_something(self) -> CreationAnswer:
        prompt.worded(self.memory if self.remember else self.reason)
        return self

    @property
    def content(self) -> str:
        """The memory as one line, up to where it repeats itself."""
        return unlooped(clean(self.memory))

    def proposal(self, known: Iterable[str], limit: int, ids: tuple[str, ...]) -> MemoryDraft | NothingToRemember:
        """Return what is proposed; nothing where it is known."""
        if not self.remember:
            return NothingToRemember(shorten(self.reason, limit))
        content = shorten(self.content, limit)
        if content.casefold() in {clean(text).casefold() for text in known}:
            return NothingToRemember("It only repeats what is already remembered.")
        tags = (clean(tag).strip("#").lower() for tag in self.tags)
        distinct = dict.fromkeys(tag for tag in tags if tag and len(tag) <= _TAG_CHARS)
        return MemoryDraft(content, self.importance, tuple(distinct)[:_MOST_TAGS], ids)


class NotesAnswer(Answer):
    """What one part of a long conversation holds; an empty list is an answer."""

    notes: list[Worded]


class CompactionAnswer(Answer):
    """How room is made; whether it may be is judged by ``shared.memories.compaction``."""

    reason: Worded
    action: Action
    target_id: _Whole
    absorbed_id: _Whole
    new_content: str

    def decision(self, limit: int | None = None) -> Decision:
        """Return it as a decision with cleaned text, cut to the limit where there is one."""
        reason = clean(self.reason)
        if self.action is not Action.EDIT:
            return Decision(self.action, self.target_id, reason)
        content = clean(self.new_content) if limit is None else shorten(self.new_content, limit)
        return Decision(self.action, self.target_id, reason, content, self.absorbed_id)
