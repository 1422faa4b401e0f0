"""What goes into a version: all that could, sorted by what comes first, and one fill of each budget.

A candidate goes in whole or not at all: a prompt with the question it answers, a statement, a call. A fill goes through
the sorted candidates once and puts in what fits; what found no room in the share of its rank comes again further down,
by itself. All of it is by order alone, so the same input always gives the same version. Source: decision 42.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby
from operator import attrgetter

from shared.sessions.blocks import Block, BlockKind, RecordedToolCall, fill_budget, heading_of, markdown_of
from shared.sessions.compress.plan import (
    DECIDES,
    HOLDS_FOR_GOOD,
    TAKES_BACK,
    TELLS_OF_A_CAUSE,
    TELLS_OF_A_FAILURE,
    TELLS_WHAT_IS_OPEN,
    BlockPiece,
    CompressionPlan,
    Rank,
    is_answer,
    is_request,
    is_rule,
    is_spoken,
)
from shared.sessions.compress.sources import (
    CHANGING,
    DIGESTS,
    RUNNING,
    call_text,
    failure_line,
    has_failed,
    is_answered_by_user,
    is_done,
    open_tasks,
    shorten_result,
    undone_changes,
    without_passes,
)
from shared.sessions.compress.write import FAILURE_CHARS, QUESTION_CHARS, WHOLE, Parts, Selection
from shared.sessions.text import NameRanking, names_in
from shared.sessions.transcripts.typed import NOTE, NOTICE

SHARES = {
    Rank.OPEN_END: (0.10, 120), Rank.NOTE: (0.10, 160), Rank.RULE: (0.10, 360), Rank.REPLY: (0.70, 0),
    Rank.ATTEMPT: (0.10, 160), Rank.DECISION: (0.10, 160), Rank.MORE_RULES: (0.19, 0), Rank.FAILURE: (0.15, 160),
    Rank.DONE: (0.15, 0), Rank.PROMPT: (0.65, 0), Rank.ANSWER: (0.10, 0),
}  # fmt: skip
"""The most of a budget that a rank takes, and the characters that it may take in any case. Measured with
``ops.bench.retaining``: with more for prompts, calls fall below what they were at 30:1, and the other way round."""
_ALWAYS = (Rank.LAST_REQUEST, Rank.OUTCOME, Rank.ENDING)
"""These go in whatever they take: they were cut to their own share of the whole."""
_REQUEST_SHARE, _CUT_SHARE, _OUTCOME_SHARE, _FIRST_SHARE = 4, 8, 6, 12
"""What was asked last stands whole where it takes at most a quarter of the whole, else its ends take an eighth; how it
came out takes a sixth, what was asked first a twelfth."""
_LEAST_REQUEST, _LEAST_ENDS = 160, 120
_LATE, _LATE_SHARE = 6, 4
"""What is yet to be done is looked for in the last quarter of the messages, or in the last six."""
_LEAST_FAILURE, _REFUSED_CHARS = 80, 100
_SHORT_REQUEST, _SHORT_REPLY, _BARE_REPLY = 40, 80, 12
"""Characters of a last request, of a reply to a question, and of any reply, that say too little by themselves."""
_WHOLE_REQUEST = 600
"""Characters up to which a prompt is kept whole or, at first, not at all."""
_LIKELY = 60
"""Characters below which being shorter is no merit."""
_GREETING = 20
_LEAST_THOUGHT = 40
"""Characters below which a thought that names nothing fills room and says nothing."""
_HEADING = re.compile(r"\s*#{1,6}\s[^\n]*\s*")
_DOUBTED, _FOR_GOOD = 0.25, 2.0
_RESULT_STEPS = {Rank.RESULT: (300, 1_200), Rank.LONG_RESULT: (5_000, WHOLE)}
"""Characters of a call's input and result that are shown, step by step."""
_PAIR, _LEAST_SHOWN, _LEAST_ROOM = 60, 80, 8
"""What a call with its result takes beside their text, about; characters below which neither says anything, and in
which nothing at all finds room."""

NAMES_SHARE = 0.05
"""The most of a version that names take."""
_NAMES_LABEL = 14
_NO_NAME = re.compile(r"[\d.,:%-]+|[A-Za-z]+/[A-Za-z]+|\W+|true|false|null|nil|none|yes|no", re.IGNORECASE)
"""Shaped like a name, and says nothing in a list: measured numbers, either/or, signs, values."""
_NAMES_WORTH = {BlockKind.HUMAN: 5.0, BlockKind.ASSISTANT: 2.0, **dict.fromkeys(DIGESTS, 2.0)}
_LONG_PROMPT = 2_000
"""Characters from which on most of a prompt is pasted."""
_SHORT_TEXT = 400_000
"""Characters up to which a name is looked for within others as well."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What goes in together or not at all."""

    rank: Rank
    worth: float
    tier: int
    # A session has as many as statements and calls, and most have no turn: only then is it found what stands beside it.
    pieces: Sequence[BlockPiece] = ()
    """Statements of one block, uncut."""
    parts: Parts = ()
    """What is no statement, or may be cut."""


def candidates_of(selection: Selection, first: Rank, last: Rank) -> list[Candidate]:
    """Return all that could go in with ranks from the first to the last, sorted."""
    finders = (_last_request, _ends, _open_ends, _replies, _prompts, _answers, _statements, _failures, _calls)
    found = chain.from_iterable(finder(selection) for finder in finders)
    return sorted_by_rank(one for one in found if first <= one.rank <= last)


def sorted_by_rank(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates by rank and worth; of equal ones the first in the session comes first."""
    # Sorting keeps the order of equals, in which finders yield; twice, as one key of both takes memory for each.
    found = sorted(candidates, key=attrgetter("worth"), reverse=True)
    found.sort(key=attrgetter("rank"))
    return found


def fill(selection: Selection, candidates: Iterable[Candidate], budget: int) -> None:
    """Put in, in one pass, what fits a budget, each rank within its share; ``candidates``: sorted."""
    left = budget
    for rank, group in groupby(candidates, lambda one: one.rank):
        share, least = SHARES.get(rank, (1.0, 0))
        free = min(left, max(int(budget * share), least))
        for one in group:
            # Nothing finds room in less; to try it all the same took half of the time of a long session.
            if free < (_LEAST_SHOWN if rank in _RESULT_STEPS else _LEAST_ROOM) and rank not in _ALWAYS:
                break
            cost = selection.add(parts_of(selection, one), WHOLE if rank in _ALWAYS else free)
            if not cost and rank in _RESULT_STEPS and one.parts[0][1] > (free - _PAIR) // 2 >= _LEAST_SHOWN:
                # A call and its result take at most as many characters each: of the last one what there is room for.
                cost = selection.add(((one.parts[0][0], (free - _PAIR) // 2),), free)
            free, left = free - cost, left - cost


def tier_budgets(selection: Selection, free: int) -> list[int]:
    """Return the characters each tier may yet take: of what is free by what it lacks of its share."""
    budgets, free = selection.plan.budgets, max(0, free)
    total = free + sum(selection.tier_chars)
    shares = (total * share // max(1, sum(budgets)) for share in budgets)
    # A tier that has taken more than its share already gives nothing back: the others share what is free.
    lacking = [max(0, own - taken) for own, taken in zip(shares, selection.tier_chars, strict=True)]
    return [free * own // max(1, sum(lacking)) for own in lacking]


def whole(selection: Selection, rank: Rank, worth: float, pieces: Sequence[BlockPiece]) -> Candidate:
    """Return statements of a block, uncut, that go in with what they need beside them to be understood."""
    return Candidate(rank, worth, selection.plan.blocks[pieces[0].block].tier, tuple(pieces))


def parts_of(selection: Selection, candidate: Candidate) -> Parts:
    """Return what a candidate puts in: its statements come with what they need beside them to be understood."""
    if not candidate.pieces:
        return candidate.parts
    return _companions_of(selection, candidate.pieces[0].block) + _uncut(candidate.pieces)


def _uncut(pieces: Iterable[BlockPiece]) -> Parts:
    return tuple((piece.key, WHOLE) for piece in pieces)


def _companions_of(selection: Selection, position: int) -> Parts:
    """Return what a person's words need beside them: what was asked and the rest of the answer; what they refused."""
    plan, blocks = selection.plan, selection.plan.blocks
    if position in plan.replied_to:
        begin, end = position, position + 1
        while begin > 0 and _are_of_one_reply(blocks[begin - 1], blocks[position]):
            begin -= 1
        while end < len(blocks) and _are_of_one_reply(blocks[end], blocks[position]):
            end += 1
        question, call = blocks[max(0, begin - 1)], blocks[plan.replied_to[position]].call
        if question.kind is BlockKind.QUESTION and question.sources == blocks[position].sources:
            others = (piece for at in range(begin, end) if at != position for piece in selection.pieces_at(at))
            return (((begin - 1, 0), WHOLE), *_uncut(others))
        return (((plan.replied_to[position], 0), _REFUSED_CHARS),) if call and is_answered_by_user(call) else ()
    if position in selection.taken_back:
        # What somebody asked for and took back is no wish of theirs, unless both stand there.
        later = selection.taken_back[position]
        return (*_companions_of(selection, later), *_uncut(selection.pieces_at(later)))
    if not is_request(blocks[position]) or len(blocks[position].text) > _SHORT_REPLY:
        return ()
    before = next((at for at in range(position - 1, -1, -1) if is_spoken(blocks[at])), None)
    last = [] if before is None or is_request(blocks[before]) else selection.pieces_at(before)[-1:]
    # "6" or "go on" says nothing by itself, whether it was asked for or not.
    is_bare = len(blocks[position].text.strip()) <= _BARE_REPLY
    return tuple((one.key, QUESTION_CHARS) for one in last if is_bare or one.text.rstrip("*_ ").endswith(("?", "？")))


def _are_of_one_reply(one: Block, other: Block) -> bool:
    return one.kind is BlockKind.HUMAN and one.sources == other.sources


def _ends_of(selection: Selection, rank: Rank, pieces: Sequence[BlockPiece], most: int) -> Candidate:
    """Return whole statements from the beginning and from the end, all where they fit; or part of the first."""
    tier = selection.plan.blocks[pieces[0].block].tier
    head = _first_of(pieces, most * 3 // 5) or pieces[:1]
    left = most - sum(len(piece.text) + 2 for piece in head)
    if left < 0:
        return Candidate(rank, 0, tier, parts=((pieces[0].key, most),))
    tail = _first_of(pieces[len(head) :][::-1], left)
    return Candidate(rank, 0, tier, parts=_uncut((*head, *tail)))


def _first_of(pieces: Sequence[BlockPiece], most: int) -> Sequence[BlockPiece]:
    lengths = list(accumulate(len(piece.text) + 2 for piece in pieces))
    return pieces[: bisect_left(lengths, most + 1)]


def _last_request(selection: Selection) -> Iterator[Candidate]:
    """Yield what was asked last, whole or its ends, and where it is short what it replies to; then the rest of it."""
    plan, blocks, target = selection.plan, selection.plan.blocks, selection.plan.target_chars
    pieces = [piece for position in sorted(plan.last_request) for piece in selection.pieces_at(position)]
    if not pieces:
        return
    length, most = sum(len(piece.text) + 2 for piece in pieces), max(_LEAST_REQUEST, target // _REQUEST_SHARE)
    most = most if length <= most else max(_LEAST_REQUEST, target // _CUT_SHARE)
    yield _ends_of(selection, Rank.LAST_REQUEST, pieces, most)
    if length < _SHORT_REQUEST:
        before, most = range(pieces[0].block - 1, -1, -1), max(_LEAST_ENDS, target // _CUT_SHARE)
        requests = (at for at in before if is_request(blocks[at]) and len(blocks[at].text.strip()) >= _SHORT_REQUEST)
        answers = (at for at in before if is_answer(blocks[at]))
        for found, part in ((requests, slice(0, 1)), (answers, slice(-1, None))):
            for piece in selection.pieces_at(next(found, 0))[part]:
                yield _ends_of(selection, Rank.LAST_REQUEST, [piece], most)
    tier = blocks[pieces[0].block].tier
    for nth, piece in enumerate(pieces):
        # From both ends on, as its ends are shown: so what is shown of it stays in one piece at either.
        yield Candidate(Rank.MORE_OF_LAST_REQUEST, -min(nth, len(pieces) - 1 - nth), tier, parts=_uncut([piece]))


def _ends(selection: Selection) -> Iterator[Candidate]:
    """Yield what was asked first, how it came out at last, and what stands behind the last words."""
    plan, blocks, target = selection.plan, selection.plan.blocks, selection.plan.target_chars
    calls = [(position, call) for position, call in calls_of(plan) if is_done(call)]
    first = next((at for at, block in enumerate(blocks) if is_request(block) and selection.pieces_at(at)), None)
    if first is not None and first not in plan.last_request:
        most, pieces = max(_LEAST_ENDS, target // _FIRST_SHARE), selection.pieces_at(first)
        # Greetings say nothing of what was asked.
        begins = next((nth for nth, one in enumerate(pieces) if len(one.text) > _GREETING), 0)
        yield _ends_of(selection, Rank.FIRST_REQUEST, pieces[begins:], most)
    since = max(plan.last_request, default=0)
    behind = (at for at in range(len(blocks) - 1, since - 1, -1) if is_answer(blocks[at]) and selection.pieces_at(at))
    if (answer := next(behind, None)) is not None:
        worded = [one for one in selection.pieces_at(answer) if one.rank is not Rank.ASIDE] or selection.pieces_at(
            answer
        )
        yield _ends_of(selection, Rank.OUTCOME, worded, max(_LEAST_ENDS, target // _OUTCOME_SHARE))
    else:
        yield from (_call(Rank.OUTCOME, 0, plan, at) for at, _ in [one for one in calls if one[0] >= since][-3:])
    last = next((at for at in range(len(blocks) - 1, -1, -1) if is_spoken(blocks[at])), -1)
    yield from (_call(Rank.ENDING, 0, plan, at) for at, _ in [one for one in calls if one[0] > last][-2:])
    notices = [at for at in range(last + 1, len(blocks)) if blocks[at].label == NOTICE and selection.pieces_at(at)]
    yield from (whole(selection, Rank.ENDING, 0, selection.pieces_at(at)) for at in notices[-1:])


def _open_ends(selection: Selection) -> Iterator[Candidate]:
    """Yield what is yet to be done: the last list of tasks where some are open, and what was said of it at the end."""
    plan = selection.plan
    lists = [(position, call) for position, call in calls_of(plan) if call.name == "TodoWrite"]
    for position, call in lists[-1:]:
        if open_tasks(call.input):
            yield _call(Rank.OPEN_END, len(selection.pieces), plan, position)
    since = plan.blocks[-1].message - max(_LATE, plan.messages // _LATE_SHARE) if plan.blocks else 0
    for late, piece in enumerate(selection.open_pieces()):
        block = plan.blocks[piece.block]
        is_late = block.message > since and is_spoken(block) and piece.rank is Rank.SPOKEN
        if is_late and TELLS_WHAT_IS_OPEN.search(piece.text):
            yield whole(selection, Rank.OPEN_END, late, [piece])


def _replies(selection: Selection) -> Iterator[Candidate]:
    """Yield what people typed when they refused or answered something, whole; the shorter first, so most stays."""
    blocks = selection.plan.blocks
    for position in selection.plan.replied_to:
        if pieces := selection.pieces_at(position):
            yield whole(selection, Rank.REPLY, position / len(blocks) - len(blocks[position].text), pieces)


def _prompts(selection: Selection) -> Iterator[Candidate]:
    """Yield what was asked for: prompts whole, the later and the shorter first; of the long ones how they begin.

    The first one of a tier, and what takes back something, come before others.
    """
    plan, seen = selection.plan, set[int]()
    for position, block in enumerate(plan.blocks):
        pieces = [one for one in selection.pieces_at(position) if one.rank in (Rank.RULE, Rank.SPOKEN)]
        if block.kind is not BlockKind.HUMAN or position in plan.last_request or not pieces:
            continue
        most = min(_WHOLE_REQUEST, int(plan.tier_chars[block.tier] * SHARES[Rank.PROMPT][0]))
        if sum(len(piece.text) + 2 for piece in pieces) > most:
            pieces = [piece for piece in pieces if piece is pieces[0] or piece.rank is Rank.RULE]
        # By what a character of it is worth; the last of a session is worth half as much again as the first.
        recency = 1.0 + 0.5 * position / len(plan.blocks)
        worth = recency / max(_LIKELY, sum(len(piece.text) for piece in pieces))
        is_first = block.tier not in seen or TAKES_BACK.search(block.text) is not None
        seen.add(block.tier)
        yield whole(selection, Rank.PROMPT, worth + is_first, pieces)


def _answers(selection: Selection) -> Iterator[Candidate]:
    """Yield of what came of each prompt the statement that tells most, so that no prompt stands without its answer."""
    blocks, is_answered = selection.plan.blocks, False
    # From the end: the last words before a person speaks again say how it came out.
    for position in range(len(blocks) - 1, -1, -1):
        pieces = selection.pieces_at(position) if is_answer(blocks[position]) and not is_answered else []
        is_answered = not is_request(blocks[position]) and (is_answered or bool(pieces))
        if worded := [piece for piece in pieces if piece.rank is not Rank.ASIDE]:
            best = max(worded, key=lambda piece: piece.worth * min(1.0, len(piece.text) / _LIKELY))
            yield whole(selection, Rank.ANSWER, position, understandable(selection, best) or [best])


def _statements(selection: Selection) -> Iterator[Candidate]:
    """Yield each statement by itself; what has a rank of its own there as well."""
    plan, blocks = selection.plan, selection.plan.blocks
    # Where what was asked last is cut, a rule in its middle holds as any other, and so does what it takes back.
    asked = (piece for position in sorted(plan.last_request) for piece in selection.pieces_at(position))
    standing = [one for one in asked if one.rank is Rank.RULE or TAKES_BACK.search(one.text)]
    standing += (one for one in selection.open_pieces() if one.rank is Rank.RULE)
    for piece in standing:
        # What was typed in answer to something stands whole.
        own = selection.pieces_at(piece.block) if piece.block in plan.replied_to else [piece]
        # By what a character of it is worth, so that one of many words leaves room for several; and what the
        # classifier takes for rules are fewer rules than what patterns do.
        is_sure = is_rule(piece.text, is_judged=False) or TAKES_BACK.search(piece.text)
        worth = piece.worth * (1 if is_sure else _DOUBTED) * (_FOR_GOOD if HOLDS_FOR_GOOD.search(piece.text) else 1)
        worth /= max(_LIKELY, sum(len(one.text) for one in own))
        yield whole(selection, Rank.RULE, worth, own)
        yield whole(selection, Rank.MORE_RULES, worth, own)
    for late, piece in enumerate(selection.open_pieces()):
        block = blocks[piece.block]
        if block.label == NOTE:
            yield whole(selection, Rank.NOTE, late, [piece])
        is_told = piece.rank is Rank.SPOKEN and block.kind not in (BlockKind.HUMAN, BlockKind.FAILURE)
        if is_told and TELLS_OF_A_FAILURE.search(piece.text):
            yield whole(selection, Rank.ATTEMPT, late, [piece])
        elif is_told and (DECIDES.search(piece.text) or TELLS_OF_A_CAUSE.search(piece.text)):
            yield whole(selection, Rank.DECISION, late, [piece])
        if together := understandable(selection, piece):
            yield whole(selection, max(piece.rank, Rank.SPOKEN), piece.worth, together)


def understandable(selection: Selection, piece: BlockPiece) -> Sequence[BlockPiece]:
    """Return a statement with what it says nothing without: an image's words, what a heading leads to; or nothing."""
    blocks, at, own = selection.plan.blocks, piece.block, selection.pieces_at(piece.block)
    if piece.text.lstrip().startswith("#") and _HEADING.fullmatch(piece.text):
        return own[piece.nth : piece.nth + 2] if piece.nth + 1 < len(own) else ()
    if piece.rank is not Rank.REST:
        return [piece]
    if blocks[at].kind is BlockKind.HUMAN:
        is_sent_with = at > 0 and blocks[at - 1].sources == blocks[at].sources
        return [*(selection.pieces_at(at - 1)[-1:] if is_sent_with else ()), piece]
    is_crumb = blocks[at].kind is BlockKind.THINKING and len(piece.text) < _LEAST_THOUGHT and not names_in(piece.text)
    return () if is_crumb else [piece]


def _failures(selection: Selection) -> Iterator[Candidate]:
    """Yield failed attempts in a line each, the last ones first; shorter, where there are too many."""
    plan = selection.plan
    # What was refused in so many words stands with these; what was refused without a word is a failure like others.
    apart = {*plan.replied_to.values()}
    failed = [
        (position, block.call)
        for position, block in enumerate(plan.blocks)
        if block.call is not None and position not in apart and not block.is_sidechain and has_failed(block.call)
    ]
    for tier, budget in enumerate(plan.tier_chars):
        calls = [(position, call) for position, call in failed if plan.blocks[position].tier == tier]
        # So many characters each that all of them would find room, within what a line can say.
        most = int(budget * SHARES[Rank.FAILURE][0]) // max(1, len(calls))
        most = max(_LEAST_FAILURE, min(FAILURE_CHARS, most))
        # What failed again in the same way is told once, the last time.
        for position in {failure_line(call, most): position for position, call in calls}.values():
            yield _call(Rank.FAILURE, position, plan, position, most)
            yield _call(Rank.MORE_FAILURES, position, plan, position, FAILURE_CHARS)


def _calls(selection: Selection) -> Iterator[Candidate]:
    """Yield calls in a few words each, what changed something first, then what ran; and with their results."""
    plan, known, shown = selection.plan, set[tuple[str, int]](), list[tuple[float, int]]()
    requests = [position for position, block in enumerate(plan.blocks) if is_request(block)]
    calls = list(calls_of(plan))
    undone = undone_changes(calls)
    for position, call in calls:
        if position in undone:
            continue
        worth = 3.0 if call.name in (*CHANGING, "ExitPlanMode") else 2.0 if call.name in RUNNING else 1.0
        late, block = position / len(plan.blocks), plan.blocks[position]
        text = (call_text(call), bisect_left(requests, position))
        # What is done again for the same prompt is told once.
        if is_done(call) and text not in known:
            known.add(text)
            yield _call(Rank.DONE, worth, plan, position)
            yield _call(Rank.MORE_DONE, worth + late, plan, position)
        if not block.is_sidechain:
            shown.append((worth + 2 * has_failed(call) + late, position))
    # More of them than this find no room; to list them all took a tenth of the memory of a long session.
    most_shown = plan.target_chars // (_PAIR + _LEAST_SHOWN) + 1
    for order, position in sorted(shown, reverse=True)[:most_shown]:
        for rank, steps in _RESULT_STEPS.items():
            for nth, most in enumerate(steps):
                # All calls a little before any of them at length.
                yield _call(rank, order - 10 * nth, plan, position, most)


def _call(rank: Rank, worth: float, plan: CompressionPlan, position: int, most: int = 1) -> Candidate:
    return Candidate(rank, worth, plan.blocks[position].tier, parts=(((position, 0), most),))


def calls_of(plan: CompressionPlan) -> Iterator[tuple[int, RecordedToolCall]]:
    """Yield the calls with their positions; not those that a person's answer tells."""
    for position, block in enumerate(plan.blocks):
        if block.call is not None and not is_answered_by_user(block.call):
            yield position, block.call


def names_of(blocks: Sequence[Block]) -> list[str]:
    """Return the names in all that was said and done, the most important first."""
    ranking = NameRanking()
    for block in blocks:
        for text, factor in _named_texts(block):
            ranking.add(text, factor * (0.3 if block.is_sidechain else 1.0))
    return ranking.best_first()


def has_names(blocks: Sequence[Block]) -> bool:
    """Whether there is any name; to have all of them costs memory that the list of candidates needs first."""
    texts = (text for block in blocks for text, _ in _named_texts(block))
    return any(not name.isdecimal() for text in texts for name in names_in(text))


def present_names(names: Sequence[str], blocks: Sequence[Block]) -> set[str]:
    """Return which names stand in blocks; of a long text only those that stand there by themselves."""
    text = "".join(map(markdown_of, blocks))
    found, is_short = names_in(text), len(text) <= _SHORT_TEXT
    return {name for name in names if name in found or (is_short and name in text)}


def _named_texts(block: Block) -> Iterator[tuple[str, float]]:
    call = block.call
    if call is None:
        is_pasted = block.kind is BlockKind.HUMAN and len(block.text) > _LONG_PROMPT
        yield block.text, 1.5 if is_pasted else _NAMES_WORTH.get(block.kind, 0.7)
        return
    is_change = call.name in CHANGING
    yield call_text(call), 4.0 if is_change else 3.0 if call.name in RUNNING else 1.5
    yield from ((str(value), 1.2 if is_change else 0.8) for value in call.input.values() if isinstance(value, str))
    yield shorten_result(without_passes(call.result or ""), 2_000), 3.0 if has_failed(call) else 0.5


def _each_file_once(names: Iterable[str]) -> Iterator[str]:
    """Yield names, of the same file's paths only the first: ``src/a.py`` and ``/home/me/src/a.py``."""
    before: dict[str, list[str]] = defaultdict(list)
    for name in names:
        others = before[name.rsplit("/", 1)[-1]]
        if not any(one.endswith(f"/{name}") or name.endswith(f"/{one}") for one in others):
            others.append(name)
            yield name


def names_to_list(selection: Selection, missing: Iterable[str]) -> list[str]:
    """Return those of the names that stand nowhere that a version lists, as far as their share of the whole goes."""
    named = _each_file_once(name for name in missing if not _NO_NAME.fullmatch(name))
    # The heading may yet become shorter, so it does not count for what they are a share of.
    share = int(NAMES_SHARE * (selection.chars - len(heading_of(selection.heading))))
    most = min(share, selection.plan.target_chars - selection.chars) - _NAMES_LABEL
    return list(fill_budget(named, lambda name: len(name) + 2, most, least=4))
