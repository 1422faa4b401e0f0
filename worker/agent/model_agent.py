"""The Memory Sub-Agent that asks a language model.

It decides what the model is shown and which answers are accepted. How a model is reached is the chat's; whether a
compaction decision may be carried out is ``shared.memories.compaction``'s; storing is the pipelines'.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shared.llm.calls import Meter, WorkKind
from shared.llm.chat import AnswerT, Question, ask_repairing
from shared.llm.tokens import most_tokens
from shared.memories.compaction import Action, Candidate, Decision, refusal
from shared.wording import clean, shorten
from worker.agent.model_answers import CompactionAnswer, CreationAnswer, NotesAnswer
from worker.agent.model_part import ModelPart
from worker.agent.model_prompts import Prompt, bullets, fill, listed
from worker.agent.model_reading import Line, fitting_parts, message_ids, spoken_lines, written
from worker.agent.protocol import Draft, MemoryAgent, NothingToRemember, Transcript
from worker.agent.room import room_beside

_ANSWER_TOKENS = 160
"""What an answer takes beside its text: keys, reason, tags. The text may take one token per character."""
_NOTE_CHARS = 160
_NOTE_TOKENS = 100
_TOKENS_FOR_A_NOTE = 1024
"""One note is asked for each so many tokens of window, so that small windows keep room to read."""
_MOST_NOTES = 8
_LEAST_ROOM = 200
"""Tokens of conversation below which a window is of no use."""
_LEAST_ROOM_FOR_NOTES = 500
_KNOWN_SHARE = 4
"""What is already remembered is shown in at most this fraction (a quarter) of the window."""
_MOST_TAGS = 3
_TAG_CHARS = 30


class ModelAgent(ModelPart, MemoryAgent):
    """Proposes what a chat answers. ``timeout_seconds`` is for one creation or compaction with its repair.

    A conversation that does not fit the window is read in parts first, and then that time is for each part.
    """

    def create(self, transcript: Transcript, limit: int, meter: Meter) -> Draft | NothingToRemember:
        lines, what = spoken_lines(transcript.turns), "conversation"
        if not lines:
            return NothingToRemember("Neither the user nor the assistant said anything.")
        room = room_beside(
            self._creation(transcript, (), "notes on the conversation", limit), self._context_tokens, _LEAST_ROOM
        )
        while len(parts := fitting_parts(lines, room)) > 1:
            lines, what = self._note(transcript, lines, what, meter), "notes on the conversation"
            if not lines:
                return NothingToRemember(f"None of its {len(parts)} parts holds anything worth keeping.")
        answer = self._ask(
            self._creation(transcript, lines, what, limit), meter, lambda a: _too_long(a, limit), lambda _: None
        )
        return _proposal(answer, transcript, limit, message_ids(lines))

    def compact(self, existing: Sequence[Candidate], new: Candidate, limit: int, meter: Meter) -> Decision:
        prompt = fill(
            "compact", mark=self._mark(), present="\n".join(map(listed, existing)), new=listed(new), limit=limit
        )
        question = _question(WorkKind.COMPACT, prompt, CompactionAnswer, limit + _ANSWER_TOKENS)
        answer = self._ask(
            question,
            meter,
            lambda a: refusal(a.decision(), existing, limit),
            lambda a: refusal(_cut(a, limit), existing, limit),
        )
        return _cut(answer, limit)

    def _ask(
        self,
        question: Question[AnswerT],
        meter: Meter,
        first: Callable[[AnswerT], str | None],
        last: Callable[[AnswerT], str | None],
    ) -> AnswerT:
        return ask_repairing(self._chat, question, self._timeout_seconds, meter, first, last)

    def _creation(
        self, transcript: Transcript, lines: Sequence[Line], what: str, limit: int
    ) -> Question[CreationAnswer]:
        known = _shown(transcript.known, self._context_tokens // _KNOWN_SHARE)
        prompt = fill(
            "create",
            mark=self._mark(),
            app=clean(transcript.app_name),
            ended=transcript.held_at.date().isoformat(),
            known=bullets(known),
            what=what,
            conversation=written(lines),
            limit=limit,
        )
        return _question(WorkKind.CREATE, prompt, CreationAnswer, limit + _ANSWER_TOKENS)

    def _note(self, transcript: Transcript, lines: Sequence[Line], what: str, meter: Meter) -> tuple[Line, ...]:
        """Return notes on the lines; those on a part fill at most a third of one, so notes on notes come to an end."""
        most = max(1, min(_MOST_NOTES, self._context_tokens // _TOKENS_FOR_A_NOTE))
        room = room_beside(self._notes(transcript, (), what, (0, 0), most), self._context_tokens, _LEAST_ROOM_FOR_NOTES)
        parts = fitting_parts(lines, room)
        taken: list[Line] = []
        for number, part in enumerate(parts, 1):
            question = self._notes(transcript, part, what, (number, len(parts)), most)
            answer = self._ask(question, meter, lambda a: _too_many(a, most), lambda _: None)
            taken += _within(_as_lines(answer.notes[:most], message_ids(part)), room // 3)
        return tuple(taken)

    def _notes(
        self, transcript: Transcript, lines: Sequence[Line], what: str, place: tuple[int, int], most: int
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
        return _question(WorkKind.CREATE, prompt, NotesAnswer, most * _NOTE_TOKENS)


def _question(kind: WorkKind, prompt: Prompt, answer: type[AnswerT], tokens: int) -> Question[AnswerT]:
    # The first line of what is shown holds the mark, so no server has cached anything behind it.
    return Question(kind, prompt.system, prompt.user, answer, tokens, fresh=prompt.user)


def _shown(known: Sequence[str], room: int) -> list[str]:
    shown = []
    for text in known:
        room -= most_tokens(text) + 2
        if room < 0:
            break
        shown.append(text)
    return shown


def _as_lines(notes: Sequence[str], ids: tuple[str, ...]) -> list[Line]:
    return [Line(f"- {shorten(note, _NOTE_CHARS)}", ids) for note in notes]


def _within(lines: Sequence[Line], room: int) -> list[Line]:
    """Return the first lines that fit; the most important note comes first, and notes must be shorter than the part."""
    kept = []
    for line in lines:
        room -= line.tokens
        if room < 0:
            break
        kept.append(line)
    return kept


def _too_long(answer: CreationAnswer, limit: int) -> str | None:
    length = len(clean(answer.memory))
    if not answer.remember or length <= limit:
        return None
    return f"the memory has {length} characters and may have at most {limit}"


def _too_many(answer: NotesAnswer, most: int) -> str | None:
    return f"it gives {len(answer.notes)} notes and may give at most {most}" if len(answer.notes) > most else None


def _proposal(
    answer: CreationAnswer, transcript: Transcript, limit: int, ids: tuple[str, ...]
) -> Draft | NothingToRemember:
    if not answer.remember:
        return NothingToRemember(shorten(answer.reason, limit))
    content = shorten(answer.memory, limit)
    if content.casefold() in {clean(known).casefold() for known in transcript.known}:
        return NothingToRemember("It only repeats what is already remembered.")
    return Draft(content, answer.importance, _tags(answer.tags), ids)


def _tags(raw: Sequence[str]) -> tuple[str, ...]:
    tags = (clean(tag).strip("#").lower() for tag in raw)
    return tuple(dict.fromkeys(tag for tag in tags if tag and len(tag) <= _TAG_CHARS))[:_MOST_TAGS]


def _cut(answer: CompactionAnswer, limit: int) -> Decision:
    decision = answer.decision()
    if decision.action is Action.DELETE or decision.new_content is None:
        return decision
    return Decision(
        decision.action, decision.target_id, decision.reason, shorten(decision.new_content, limit), decision.absorbed_id
    )
