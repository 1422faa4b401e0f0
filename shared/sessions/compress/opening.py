"""What of a session is chosen before an agent is asked.

What must not be lost comes first: what was asked last and how that came out, what was asked first, what a person typed
when they refused or answered something, how they want things done. Then what tells most for its length. All of it is
greedy and by order alone, so the same input always gives the same draft.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence

from shared.sessions.blocks import BlockKind, Heading, fill_budget
from shared.sessions.compress.draft import (
    Draft,
    by_worth,
    calls_of,
    failed,
    importance,
    is_answer,
    is_spoken,
    keep_pieces,
    open_pieces,
    opening_cost,
    tier_budgets,
)
from shared.sessions.compress.plan import (
    BlockPiece,
    CompressionPlan,
    Rank,
    is_asked,
    takes_back,
    tells_what_failed,
    tells_what_is_open,
)
from shared.sessions.compress.sources import call_text, failure_line, is_done, open_tasks
from shared.sessions.text import cut
from shared.sessions.transcripts.typed import NOTE, NOTICE

_REQUEST_SHARE, _CUT_SHARE, _OUTCOME_SHARE, _FIRST_SHARE = 4, 8, 6, 12
"""What was asked last stands whole where it takes at most a quarter of the whole, else its ends take an eighth; how it
came out takes a sixth."""
_LEAST_REQUEST, _LEAST_OUTCOME = 160, 120
_OPEN_SHARE, _LATE, _LATE_SHARE = 10, 6, 4
"""What is yet to be done takes at most a tenth, and is looked for in the last quarter of the messages."""
_LAST_CALLS, _NOTES_SHARE = 2, 10
_REPLIES = 0.45
"""The most of the whole that goes to what people typed when they refused or answered something."""
_RULES, _FAILURES, _TOLD_FAILURES, _REQUESTS, _ANSWERS, _CALLS = 0.15, 0.12, 0.06, 0.50, 0.12, 0.10
"""The most of a tier's budget that goes to each before an agent is asked."""
_FAILURE_CHARS, _FAILED_LABEL = 200, 12
_SHORT_REQUEST = 40
"""So few characters ask for nothing without what was said before."""
_WHOLE_REQUEST = 600
"""Characters up to which a prompt is kept whole or, at first, not at all."""
_LIKELY = 60


def open_draft(plan: CompressionPlan, heading: Heading) -> Draft:
    """Return a draft with all that is chosen before an agent is asked."""
    draft = Draft(plan, heading)
    keep_last_request(draft)
    _keep_outcome(draft)
    _keep_open_ends(draft)
    # Keep what stands behind the last words: calls, and that a person interrupted the assistant.
    blocks = draft.plan.blocks
    last = next((at for at in range(len(blocks) - 1, -1, -1) if is_spoken(blocks[at])), -1)
    behind = [(position, call) for position, call in calls_of(draft) if position > last]
    draft.last_calls.update(position for position, call in behind[-_LAST_CALLS:] if is_done(call))
    draft.mentioned |= draft.last_calls
    notices = [at for at in range(last + 1, len(blocks)) if blocks[at].label == NOTICE]
    _keep_always(draft, (one.number for at in notices[-1:] for one in draft.pieces_at(at) if one.number is not None))
    # Keep what somebody told the tool to remember, the later before the earlier.
    noted = [one.number for one in reversed(draft.pieces) if draft.plan.blocks[one.block].label == NOTE]
    most = max(_LEAST_REQUEST, draft.plan.target_chars // _NOTES_SHARE)
    keep_pieces(draft, (number for number in noted if number is not None), most)
    _keep_replies(draft)
    for tier, budget in enumerate(tier_budgets(draft)):
        keep_pieces(draft, by_worth(draft, open_pieces(draft, [Rank.RULE], tier)), int(budget * _RULES))
        keep_failures(draft, tier, max(int(budget * _FAILURES), min(_FAILURE_CHARS, budget)))
        # Keep what the assistant told of attempts that came to nothing, the last ones first.
        told = [
            number for number in open_pieces(draft, [Rank.WORDS], tier) if tells_what_failed(draft.pieces[number].text)
        ]
        keep_pieces(draft, reversed(told), max(int(budget * _TOLD_FAILURES), min(_FAILURE_CHARS, budget)))
        _keep_requests(draft, tier, int(budget * _REQUESTS))
        _keep_answers(draft, tier, int(budget * _ANSWERS))
        _keep_calls(draft, tier, int(budget * _CALLS))
    _keep_first_request(draft)
    return draft


def keep_last_request(draft: Draft, more: int = 0) -> int:
    """Keep what was asked last, whole or its two ends; return how many characters it takes more than before.

    ``more``: characters it may take beside its share.
    """
    plan = draft.plan
    positions = sorted(plan.last_request - plan.kept)
    if not positions:
        return 0
    pieces = [piece for position in positions for piece in draft.pieces_at(position)]
    before = sum(len(draft.text_of(position)) for position in positions)
    share = max(_LEAST_REQUEST, plan.target_chars // _REQUEST_SHARE) + more
    if sum(len(plan.blocks[position].text) for position in positions) <= share:
        chosen = {piece.number for piece in pieces if piece.number is not None}
        _keep_always(draft, chosen)
    elif not before or more:
        _keep_ends(draft, pieces, max(_LEAST_REQUEST, plan.target_chars // _CUT_SHARE) + more)
    if not before and sum(len(draft.text_of(position)) for position in positions) < _SHORT_REQUEST:
        _keep_what_it_replies_to(draft, positions[0])
    return sum(len(draft.text_of(position)) for position in positions) - before


def _keep_always(draft: Draft, numbers: Iterable[int]) -> None:
    for number in numbers:
        draft.kept.add(number)
        draft.must.add(number)
        draft.cuts.pop(number, None)


def _keep_ends(draft: Draft, pieces: Sequence[BlockPiece], budget: int) -> None:
    """Keep whole statements from the beginning, and from the end, as far as a budget goes; or part of the first."""
    head = _run_of(pieces, budget * 3 // 5) or pieces[:1]
    tail = _run_of(pieces[len(head) :][::-1], budget - sum(piece.cost for piece in head))
    _keep_always(draft, (piece.number for piece in (*head, *tail) if piece.number is not None))
    if head[0].cost > budget and head[0].number is not None:
        draft.cuts[head[0].number] = budget


def _run_of(pieces: Sequence[BlockPiece], budget: int) -> list[BlockPiece]:
    """Return the pieces from the first on that a budget goes for."""
    run: list[BlockPiece] = []
    for piece in pieces:
        budget -= piece.cost
        if budget < 0:
            break
        run.append(piece)
    return run


def _keep_what_it_replies_to(draft: Draft, position: int) -> None:
    """Keep the end of what the assistant said before a short reply, and what had been asked for before that."""
    plan = draft.plan
    said = next((at for at in range(position - 1, -1, -1) if is_answer(plan.blocks[at])), None)
    asked = next(
        (
            at
            for at in range(position - 1, -1, -1)
            if is_asked(plan.blocks[at]) and len(plan.blocks[at].text.strip()) >= _SHORT_REQUEST
        ),
        None,
    )
    share = max(_LEAST_OUTCOME, plan.target_chars // _CUT_SHARE)
    for at, pieces in ((asked, slice(0, 1)), (said, slice(-1, None))):
        if at is not None and at not in plan.kept and (found := draft.pieces_at(at)[pieces]):
            if found[0].cost <= share:
                _keep_always(draft, (piece.number for piece in found if piece.number is not None))
            else:
                _keep_ends(draft, found, share)


def _keep_outcome(draft: Draft) -> None:
    """Keep how it came out: of the last words behind the last request the beginning and the end."""
    plan = draft.plan
    behind = range(max(plan.last_request, default=0), len(plan.blocks))
    said = next((at for at in reversed(behind) if is_answer(plan.blocks[at]) and draft.pieces_at(at)), None)
    share = max(_LEAST_OUTCOME, plan.target_chars // _OUTCOME_SHARE)
    if said is not None and said not in plan.kept:
        pieces = draft.pieces_at(said)
        worded = [piece for piece in pieces if piece.rank is not Rank.ASIDE] or pieces
        _keep_ends(draft, worded, share)
    elif said is None:
        done = [position for position, call in calls_of(draft) if position in behind and is_done(call)]
        draft.mentioned.update(done[-3:])


def _keep_open_ends(draft: Draft) -> None:
    """Keep what is yet to be done: the last list of tasks where some are open, and what was said of it at the end."""
    plan = draft.plan
    listed = [(position, call) for position, call in calls_of(draft) if call.name == "TodoWrite"]
    draft.mentioned.update(position for position, call in listed[-1:] if open_tasks(call.input))
    since = plan.blocks[-1].message - max(_LATE, plan.messages // _LATE_SHARE) if plan.blocks else 0
    told = [
        piece.number
        for piece in reversed(draft.pieces)
        if piece.number is not None
        and plan.blocks[piece.block].message > since
        and is_spoken(plan.blocks[piece.block])
        and piece.rank in (Rank.REQUEST, Rank.WORDS)
        and tells_what_is_open(piece.text)
    ]
    most = max(_LEAST_OUTCOME, plan.target_chars // _OPEN_SHARE)
    _keep_always(draft, fill_budget(told, lambda number: draft.pieces[number].cost, most))


def _keep_first_request(draft: Draft) -> None:
    """Keep the two ends of what was asked first, where there was no room for it."""
    plan = draft.plan
    first = next((at for at, block in enumerate(plan.blocks) if is_asked(block) and draft.pieces_at(at)), None)
    if first is not None and first not in plan.kept and not draft.chosen_of(first):
        _keep_ends(draft, draft.pieces_at(first), max(_LEAST_OUTCOME, plan.target_chars // _FIRST_SHARE))


def _keep_replies(draft: Draft) -> None:
    """Keep what people typed when they refused or answered something, whole, the shorter first: so most of it stays."""
    replies = [
        position for position in draft.calls_of_replies if position not in draft.plan.kept and draft.pieces_at(position)
    ]

    def cost(position: int) -> int:
        return len(draft.plan.blocks[position].text) + opening_cost(draft, position)

    budget = int(max(0, draft.plan.target_chars - draft.chars()) * _REPLIES / (1 - 1 / _REQUEST_SHARE))
    for position in fill_budget(sorted(replies, key=lambda one: (cost(one), -one)), cost, budget):
        draft.kept.update(piece.number for piece in draft.pieces_at(position) if piece.number is not None)


def _keep_requests(draft: Draft, tier: int, budget: int) -> None:
    """Keep what was asked for: prompts whole, the later and the shorter first; of the long ones how they begin.

    What takes back something comes before what it takes back.
    """
    blocks = draft.plan.blocks
    open_ones = defaultdict[int, list[int]](list)
    for number in open_pieces(draft, [Rank.RULE, Rank.REQUEST], tier):
        if blocks[draft.pieces[number].block].kind is BlockKind.HUMAN:
            open_ones[draft.pieces[number].block].append(number)
    first = min(open_ones, default=-1)

    def wanted(position: int) -> list[int]:
        whole = open_ones[position]
        length = sum(draft.pieces[number].cost for number in whole)
        if length <= min(_WHOLE_REQUEST, budget):
            return whole
        return [number for number in whole if number == whole[0] or draft.pieces[number].rank is Rank.RULE]

    def cost(position: int) -> int:
        return sum(draft.pieces[number].cost for number in wanted(position)) + opening_cost(draft, position)

    def order(position: int) -> tuple[bool, float]:
        recency = 1.0 + 0.5 * position / max(1, len(blocks))
        return position != first and not takes_back(blocks[position].text), -recency / max(_LIKELY, cost(position))

    for position in fill_budget(sorted(open_ones, key=order), cost, budget):
        draft.kept.update(wanted(position))


def _keep_answers(draft: Draft, tier: int, budget: int) -> None:
    """Keep of what came of each prompt the statement that tells most, so that no prompt stands without its answer."""
    blocks, last = draft.plan.blocks, None
    best: list[int] = []
    for position in range(len(blocks) - 1, -1, -1):
        if is_asked(blocks[position]):
            last = None
        elif last is None and is_answer(blocks[position]) and (pieces := draft.pieces_at(position)):
            last = position
            pieces = [piece for piece in pieces if piece.rank is not Rank.ASIDE]
            if pieces and blocks[position].tier == tier and not draft.chosen_of(position):
                best.append(
                    max(pieces, key=lambda piece: piece.worth * min(1.0, len(piece.text) / _LIKELY)).number or 0
                )
    keep_pieces(draft, best, budget)


def keep_failures(draft: Draft, tier: int | None, budget: int) -> int:
    """Tell failed attempts in a line each, the last ones first; shorter, where there are too many.

    Returns how many characters that takes. ``tier``: of all unless said.
    """
    told = {*draft.calls_of_replies.values(), *draft.failures, *draft.pairs}
    calls = [
        (position, block.call)
        for position, block in enumerate(draft.plan.blocks)
        if block.call is not None
        and tier in (None, block.tier)
        and position not in told
        and not block.is_sidechain
        and failed(block.call)
    ][::-1]
    most = max(80, min(_FAILURE_CHARS, budget // max(1, len(calls))))
    lines: dict[str, int] = {}
    for position, call in calls:
        lines.setdefault(cut(failure_line(call.name, call.input, call.result or "", most), most), position)
    fitting = list(fill_budget(lines, lambda line: len(line) + _FAILED_LABEL, budget + _FAILED_LABEL))
    known = set(draft.failures.values())
    draft.failures.update((lines[line], line) for line in fitting if line not in known)
    return sum(len(line) + _FAILED_LABEL for line in fitting if line not in known)


def _keep_calls(draft: Draft, tier: int, budget: int) -> None:
    """Tell calls in a few words each: first what changed something, then what ran, then what only looked."""
    open_calls = [(position, call) for position, call in calls_of(draft, tier) if is_done(call)]
    asked = [position for position, block in enumerate(draft.plan.blocks) if is_asked(block)]
    # What is done again for the same prompt is told once.
    texts: dict[tuple[str, int], int] = {}
    for position, call in sorted(open_calls, key=lambda one: (-importance(one[1]), one[0])):
        texts.setdefault((call_text(call), bisect_left(asked, position)), position)
    draft.mentioned.update(texts[one] for one in fill_budget(texts, lambda one: len(one[0]) + 2, budget))
