"""The Memory Sub-Agent that asks a language model.

It decides what the model is shown and which answers are accepted. How a model is reached is the chat's; whether a
compaction decision may be carried out is ``shared.memories.compaction``'s; storing is the pipelines'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import Question
from shared.memories.compaction import NEW, Action, CompactionCandidate, Decision, refusal
from shared.text.gate import unlooped
from shared.text.lines import clean, shorten
from worker.agent.gates import judge_merged, memory_gate
from worker.agent.prompt import (
    ModelPart,
    PromptLine,
    Worded,
    fill,
    first_fitting,
    fitting_parts,
    masked,
    message_ids,
    spoken_lines,
    worded,
    written,
)
from worker.agent.protocol import MemoryAgent, MemoryDraft, NothingToRemember, Transcript
from worker.agent.statements import NOT_TO_BE_LOST, WORTH_KEEPING, left_out, vital

_ANSWER_TOKENS = 160
"""What an answer takes beside its text: keys, reason, tags. The text may take one token per character."""
_NOTE_CHARS = 160
_NOTE_TOKENS = 100
_TOKENS_FOR_A_NOTE = 1024
"""One note is asked for each so many tokens of window, so that small windows keep room to read."""
_MOST_NOTES = 8
_LEAST_BUDGET = 200
"""Tokens of conversation below which a window is of no use."""
_LEAST_BUDGET_FOR_NOTES = 500
_KNOWN_SHARE = 4
"""What is already remembered is shown in at most this fraction (a quarter) of the window."""
_MOST_TAGS = 3
_TAG_CHARS = 30


class ModelAgent(ModelPart, MemoryAgent):
    """Proposes what a chat answers. ``timeout_seconds`` is for one creation or compaction with its repair.

    A conversation that does not fit the window is read in parts first, and then that time is for each part.
    """

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> MemoryDraft | NothingToRemember:
        lines, what = spoken_lines(transcript.turns), "conversation"
        if not lines:
            return NothingToRemember("Neither the user nor the assistant said anything.")
        budget = self.budget_beside(self._creation(transcript, (), "notes on the conversation", limit), _LEAST_BUDGET)
        while len(parts := fitting_parts(lines, budget)) > 1:
            lines, what = self._note(transcript, lines, what, meter), "notes on the conversation"
            if not lines:
                return NothingToRemember(f"None of its {len(parts)} parts holds anything worth keeping.")

        gate = memory_gate(transcript)

        def refused(answer: CreationAnswer) -> str | None:
            why = gate.complaint([answer.content]) if answer.remember else None
            return f"the memory {why}" if why else None

        def complaint(answer: CreationAnswer) -> str | None:
            return _too_long(answer, limit) or refused(answer) or _forgetful(answer, transcript, limit)

        question = self._creation(transcript, lines, what, limit)
        answer = self.ask(question, meter, complaint, refused)
        return _proposal(answer, transcript, limit, message_ids(lines))

    def compact(
        self, existing: Sequence[CompactionCandidate], new: CompactionCandidate, limit: int, meter: Meter
    ) -> Decision:
        prompt = fill(
            "compact", mark=self._mark(), present="\n".join(map(listed, existing)), new=listed(new), limit=limit
        )

        def unfit(decision: Decision) -> str | None:
            verdict = judge_merged(decision, existing, new)
            wrong = None if verdict is None else f"the rewritten memory {verdict.words}"
            return refusal(decision, existing, new, limit) or wrong

        answer = self.ask(
            prompt.question(WorkKind.COMPACT, CompactionAnswer, limit + _ANSWER_TOKENS),
            meter,
            lambda a: unfit(a.decision()),
            lambda a: unfit(_cut(a, limit)),
        )
        return _cut(answer, limit)

    def _creation(
        self, transcript: Transcript, lines: Sequence[PromptLine], what: str, limit: int
    ) -> Question[CreationAnswer]:
        known = (PromptLine(f"- {masked(text)}", ()) for text in transcript.known)
        shown = first_fitting(known, self._context_tokens // _KNOWN_SHARE)
        prompt = fill(
            "create",
            mark=self._mark(),
            app=clean(transcript.app_name),
            ended=transcript.held_at.date().isoformat(),
            known="\n".join(line.text for line in shown) or "(nothing yet)",
            what=what,
            conversation=written(lines),
            limit=limit,
        )
        return prompt.question(WorkKind.CREATE, CreationAnswer, limit + _ANSWER_TOKENS)

    def _note(
        self, transcript: Transcript, lines: Sequence[PromptLine], what: str, meter: Meter
    ) -> tuple[PromptLine, ...]:
        """Return notes on the lines; those on a part fill at most a third of one, so notes on notes come to an end."""
        most = max(1, min(_MOST_NOTES, self._context_tokens // _TOKENS_FOR_A_NOTE))

        def too_many(answer: NotesAnswer) -> str | None:
            given = len(answer.notes)
            return f"it gives {given} notes and may give at most {most}" if given > most else None

        budget = self.budget_beside(self._notes(transcript, (), what, (0, 0), most), _LEAST_BUDGET_FOR_NOTES)
        parts = fitting_parts(lines, budget)
        taken: list[PromptLine] = []
        for number, part in enumerate(parts, 1):
            question = self._notes(transcript, part, what, (number, len(parts)), most)
            answer = self.ask(question, meter, too_many)
            # The most important note comes first, and notes must be shorter than the part.
            notes = (PromptLine(f"- {shorten(note, _NOTE_CHARS)}", message_ids(part)) for note in answer.notes[:most])
            taken += first_fitting(notes, budget // 3)
        return tuple(taken)

    def _notes(
        self, transcript: Transcript, lines: Sequence[PromptLine], what: str, place: tuple[int, int], most: int
    ) -> Question[NotesAnswer]:
        prompt = fill(
            "notes",
            mark=self._mark(),
            app=clean(transcript.app_name),
            part=place[0],
            parts=place[1],
            what=what,
            conversation=written(lines),
            most=most,
            limit=_NOTE_CHARS,
        )
        return prompt.question(WorkKind.CREATE, NotesAnswer, most * _NOTE_TOKENS)


def _too_long(answer: CreationAnswer, limit: int) -> str | None:
    length = len(answer.content)
    if not answer.remember or length <= limit:
        return None
    return f"the memory has {length} characters and may have at most {limit}"


def _forgetful(answer: CreationAnswer, transcript: Transcript, limit: int) -> str | None:
    """Say what an answer forgets that the user said; as far as a memory has room for it."""
    if not answer.remember:
        is_nothing = not vital(transcript.turns, WORTH_KEEPING)
        return None if is_nothing else "it says there is nothing worth keeping, and the user stated something that is"
    missing = left_out(answer.content, vital(transcript.turns, NOT_TO_BE_LOST))
    if not missing or len(answer.content) + len(missing[0].text) > limit:
        return None
    return "the memory leaves out what must not be forgotten: a harm, a limit, or a wish that stands"


def _proposal(
    answer: CreationAnswer, transcript: Transcript, limit: int, ids: tuple[str, ...]
) -> MemoryDraft | NothingToRemember:
    if not answer.remember:
        return NothingToRemember(shorten(answer.reason, limit))
    content = shorten(answer.content, limit)
    if content.casefold() in {clean(known).casefold() for known in transcript.known}:
        return NothingToRemember("It only repeats what is already remembered.")
    tags = (clean(tag).strip("#").lower() for tag in answer.tags)
    distinct = dict.fromkeys(tag for tag in tags if tag and len(tag) <= _TAG_CHARS)
    return MemoryDraft(content, answer.importance, tuple(distinct)[:_MOST_TAGS], ids)


def _cut(answer: CompactionAnswer, limit: int) -> Decision:
    decision = answer.decision()
    if decision.action is Action.DELETE or decision.new_content is None:
        return decision
    return Decision(
        decision.action, decision.target_id, decision.reason, shorten(decision.new_content, limit), decision.absorbed_id
    )


def _no_truth(value: object) -> object:
    """Refuse true and false, which would otherwise pass as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    return value


Whole = Annotated[int, BeforeValidator(_no_truth)]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class CreationAnswer(_Answer):
    """One memory, or the reason why there is none."""

    reason: str
    remember: bool
    memory: str
    # Bounds that stand behind a check of our own would be missing in the schema that servers are shown.
    importance: Annotated[int, Field(ge=0, le=10), BeforeValidator(_no_truth)]
    tags: list[str]

    @model_validator(mode="after")
    def _says_something(self) -> CreationAnswer:
        worded(self.memory if self.remember else self.reason)
        return self

    @property
    def content(self) -> str:
        """The memory as one line, up to where it repeats itself."""
        return unlooped(clean(self.memory))


class NotesAnswer(_Answer):
    """What one part of a long conversation holds; an empty list is an answer."""

    notes: list[Worded]


class CompactionAnswer(_Answer):
    """How room is made; whether it may be is judged by ``shared.memories.compaction``."""

    reason: Worded
    action: Action
    target_id: Whole
    absorbed_id: Whole
    new_content: str

    def decision(self) -> Decision:
        """Return it as a decision, with cleaned text."""
        merged = self.action is Action.EDIT
        return Decision(
            self.action,
            self.target_id,
            clean(self.reason),
            clean(self.new_content) if merged else None,
            self.absorbed_id if merged else NEW,
        )


def listed(memory: CompactionCandidate) -> str:
    """Return a memory as compaction's prompt shows it."""
    day = memory.updated_at.date().isoformat()
    pinned = ", pinned" if memory.pinned else ""
    return f"[{memory.id}] {day}, importance {memory.importance}{pinned}: {masked(memory.content)}"
