"""What a message takes back of what its user stated before: a wrong word, a wrong person, or the whole of it.

``no, 14 June i meant`` puts the right value in the place of the one of its kind. Where it is certain that a
statement is taken back and not what is right instead, the statement goes: better no fact than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from shared.text.words import MONTHS, NUMERALS, WEEKDAYS, content_stems
from worker.agent import fact_words as words
from worker.agent.fact_grammar import own_words
from worker.agent.protocol import PresentFact, Statement, TranscriptTurn

_MEANT = (
    r"(?:typo|correction|i (?:actually )?mean(?:t)?(?: to (?:say|write|type))?|i should have said|verschrieben"
    r"|tippfehler|ich mein(?:t?e)|mein(?:t?e) ich|je voulais dire|je veux dire|quise decir|quería decir|quiero decir)"
)
_REGRET = (
    r"(?:sorry(?: about that)?|oops|whoops|ups|my bad|my mistake|entschuldige|entschuldigung|pardon|désolée?|perdón"
    r"|perdona|lo siento)"
)
_TURNING = (
    r"(?:oh|ah|ach so|ach|äh|wait|hang on|actually|hmm|mince|ay|uy"
    r"|(?:no|nope|nah|nein|non)(?=\s*[,.!:–—-]|\s+(?:no|sorry|wait|i mean)\b))"
)
_LEAD = re.compile(rf"^\W{{0,5}}(?:(?:{_MEANT}|{_REGRET}|{_TURNING})(?!\w)[\s,.!:;…–—-]*)+", re.IGNORECASE)
_TAIL = re.compile(rf"(?:[\s,.!–—-]+(?:{_MEANT}|{_REGRET}))+[\s.!]*$", re.IGNORECASE)
_CERTAIN = re.compile(rf"(?<!\w){_MEANT}(?!\w)", re.IGNORECASE)
_SAID_WRONG = re.compile(rf"(?<!\w)(?:{_MEANT}|{_REGRET})(?!\w)", re.IGNORECASE)
_VALUE = r"[^\s,.;:!?](?:[^,;:!?\n]{0,40}?[^\s,;:!?])?"
_IS = r"(?:(?:it|that|he|she)(?:['’]?s| is)|i['’]?m|i am)"
_PAIRS = tuple(
    re.compile(rf"^{pattern}[\s.!]*$", re.IGNORECASE)
    for pattern in (
        rf"(?:{_IS} )?(?:not|nicht|pas) (?P<wrong>{_VALUE})"
        rf"(?:,? (?:but|sondern|mais|it['’]?s|sorry)|,) (?P<right>{_VALUE})",
        rf"no (?P<wrong>{_VALUE}),? sino (?P<right>{_VALUE})",
        rf"(?P<right>{_VALUE}),? (?:(?:and |und |et )?(?:not|nicht|pas)|y no) (?P<wrong>{_VALUE})",
    )
)
_BEFORE_VALUE = re.compile(
    r"^(?:(?:am|zum|zur|vom|im|in|on|at|since|from|to|the|a|an|for|by|until|of|seit|ab|bis|um|aus|nach|le|la|el|los|las"
    r"|en|à|a|de|du|desde|(?:it|he|she)(?:['’]?s| is)|i['’]?m|i am)\s+)+",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"^(?:(?:that|it|this)(?:['’]?s| is| was) (?:wrong|not (?:right|true|correct)|incorrect|a mistake)"
    r"|scratch that|forget that|das (?:stimmt (?:so )?nicht|war falsch|ist falsch)|c['’](?:est|était) faux"
    r"|(?:eso )?no es (?:cierto|verdad|así))[\s.!]*$",
    re.IGNORECASE,
)
_ANOTHERS = re.compile(
    r"^\W{0,5}(?:that|it)(?:['’]?s| is| was)(?: actually)? (?P<who>[^,.!?;]{2,40}?) (?:who|with|that) "
    r"(?P<what>[^,.!?;]+)(?P<not>,? not \w+)?[\s,.!?;]*",
    re.IGNORECASE,
)
"""It was so of somebody else: ``it's her cousin who has the allergy, not her``."""
_OF_EVERY = content_stems("allergy allergic intolerance one problem")
_MONTH_NAMES = "|".join(MONTHS) + (
    "|januar|jänner|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre"
    "|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre"
    "|diciembre"
)
_ENDS = re.compile(rf"[.!?]+(?=\s|$)(?!\s+(?:{_MONTH_NAMES}|nicht|sondern)\b)|\n", re.IGNORECASE)
"""Not after the number of a day: ``6. Juni``."""
_NUMBERS = "|".join(NUMERALS[1:]) + (
    "|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|deux|trois|quatre|cinq|sept|huit|neuf|dix|dos|tres|cuatro|cinco"
    "|seis|siete|ocho|nueve|diez"
)
_KINDS = tuple(
    re.compile(rf"(?<![\w.:]){pattern}(?!\w)", re.IGNORECASE)
    for pattern in (
        rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.|er)?(?: of| de)? (?:{_MONTH_NAMES})|(?:{_MONTH_NAMES}) \d{{1,2}}(?!\d))",
        rf"(?:{_MONTH_NAMES})",
        rf"(?:{'|'.join(WEEKDAYS)}|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lundi|mardi|mercredi|jeudi|vendredi"
        r"|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo)",
        rf"(?:\d+(?:[.,:]\d+)*|{_NUMBERS})",
    )
)
"""Values of one kind, the narrower first: a day, a month, a day of the week, a number."""
_NAMED = re.compile(r"(?<=[\w,] )[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*)*")
_A_NAME = re.compile(r"[^\W\d_][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*){0,2}")
_LEAST_LIKE = 0.7
"""A word that is this like another was mistyped for it, 0..1."""
_LONGEST = 200
"""Characters of a sentence that puts right at most."""
_MOST_WORDS = 6
"""Of a value that is put right; more say something of their own."""


@dataclass(frozen=True)
class _Correction:
    """What a message puts right."""

    right: str
    wrong: str
    certain: bool
    """Whether it was said that something else was meant, and not only regretted."""


def pieces(content: str) -> list[str]:
    """Cut a turn before each sentence that takes back what was said before it."""
    found, start = [], 0
    for gap in re.finditer(r"(?<=[.!?\n])\s+", content):
        following = content[gap.end() : gap.end() + _LONGEST]
        if _LEAD.match(following) and (_correction(following) or _anothers(following)):
            found.append(content[start : gap.start()])
            start = gap.end()
    return [*found, content[start:]]


def corrected(
    statements: list[Statement], piece: str, turn: TranscriptTurn, last: str, known: Sequence[PresentFact]
) -> tuple[list[Statement], str]:
    """Return statements of a user as a message leaves them, and what of the message is left to be read.

    ``last`` is the message before it.
    """
    said = own_words(piece)
    if one := _anothers(said):
        return _without_another(statements, one, turn, known, said)
    correction = _correction(said)
    if correction is None:
        return statements, piece
    rest = said[end.end() :] if (end := _ENDS.search(said)) else ""
    if correction.wrong:
        mended = _in_place(statements, correction, turn, known)
        return (statements, piece) if mended is None else (mended, rest)
    recent = [one for one in statements if {last, turn.message_id}.intersection(one.message_ids)]
    if not correction.right:
        taken = recent if len(recent) == 1 else []
        return [one for one in statements if one not in taken], rest
    changed = _of_kind(recent, correction)
    if changed is None:
        return statements, piece
    left = (_with_source(one, changed.get(one, one.text), turn) for one in statements)
    return [one for one in left if one is not None], rest


def _with_source(one: Statement, text: str | None, turn: TranscriptTurn) -> Statement | None:
    if text is None:
        return None
    if text == one.text:
        return one
    return replace(one, text=text, message_ids=tuple(dict.fromkeys((*one.message_ids, turn.message_id))))


def _correction(said: str) -> _Correction | None:
    end = _ENDS.search(said)
    sentence = said[: end.start()] if end else said
    if len(sentence) > _LONGEST:
        return None
    without_tail = _TAIL.sub("", sentence)
    body = _LEAD.sub("", without_tail).strip(" ,.!–—-")
    has_cue = body != sentence.strip(" ,.!–—-")
    if _TAKES_BACK.match(body) and has_cue:
        return _Correction("", "", True)
    for pair in _PAIRS:
        if met := pair.match(body):
            wrong = _BEFORE_VALUE.sub("", met["wrong"])
            right = _BEFORE_VALUE.sub("", met["right"])
            is_plain = has_cue or re.search(r"\b(?:but|sondern|sino|mais|it['’]?s|sorry)\b", body)
            if is_plain and right.lower() not in words.INTERJECTIONS:
                return _Correction(" ".join(right.split()[-len(wrong.split()) :]), wrong, True)
    if not _SAID_WRONG.search(sentence) or not has_cue:
        return None
    value = _BEFORE_VALUE.sub("", re.sub(r"^no ", "", body, flags=re.IGNORECASE))
    is_hollow = value.lower() in words.INTERJECTIONS or not content_stems(value) - content_stems("really tomorrow")
    if len(value.split()) > _MOST_WORDS or is_hollow or said.rstrip().endswith("?"):
        return None
    if value[0].islower() and without_tail != sentence and _A_NAME.fullmatch(value) and not _is_of_kind(value):
        value = value.capitalize()
    return _Correction(value, "", _CERTAIN.search(sentence) is not None)


def _is_of_kind(value: str) -> bool:
    return any(kind.match(value) for kind in _KINDS)


def _forms(value: str) -> Iterator[str]:
    yield re.escape(value)
    if value.lower() in NUMERALS:
        yield str(NUMERALS.index(value.lower()))
    if value.isdigit() and int(value) < len(NUMERALS):
        yield NUMERALS[int(value)]


def _in_place(
    statements: list[Statement], correction: _Correction, turn: TranscriptTurn, known: Sequence[PresentFact]
) -> list[Statement] | None:
    """Put the right value for the wrong one in the latest statements that hold it, or in the one known fact."""
    word = re.compile(rf"(?<![\w.])(?:{'|'.join(_forms(correction.wrong.rstrip('.')))})(?!\w)", re.IGNORECASE)
    right = correction.right.rstrip(".")
    holding = [one for one in statements if word.search(one.text)]
    if holding:
        latest = set(holding[-1].message_ids)
        return [
            replace(
                one,
                text=word.sub(lambda _: right, one.text),
                message_ids=tuple(dict.fromkeys((*one.message_ids, turn.message_id))),
            )
            if one in holding and latest.intersection(one.message_ids)
            else one
            for one in statements
        ]
    hit = [fact for fact in known if word.search(fact.statement)]
    if len(hit) != 1:
        return None
    text = word.sub(lambda _: right, hit[0].statement)
    return [*statements, Statement(text, hit[0].category, (turn.message_id,), hit[0].fact_id)]


def _of_kind(recent: Sequence[Statement], correction: _Correction) -> dict[Statement, str | None] | None:
    """Return what becomes of statements by a value without the one it replaces; None where it is about none of them.

    Where several values may be meant their statements go: None for a text.
    """
    value = correction.right.rstrip(".")
    for kind in _KINDS:
        given = kind.match(value)
        if given is None:
            continue
        unit = value[given.end() :].strip()
        places = [(one, met) for one in recent for met in kind.finditer(one.text)]
        if unit:
            places = [
                (one, met) for one, met in places if one.text[met.end() :].lstrip().lower().startswith(unit.lower()[:4])
            ]
        return _put(places, given[0])
    if not correction.certain or not _A_NAME.fullmatch(value):
        return None
    every = [(one, met) for one in recent for met in re.finditer(r"[^\W\d_][\w'’-]*", one.text)]
    alike = [place for place in every if _is_like(place[1][0], value)]
    named = [(one, met) for one in recent for met in _NAMED.finditer(one.text) if not _is_of_kind(met[0])]
    return _put(alike or (named if value[0].isupper() else []), value)


def _behind(one: Statement, met: re.Match[str]) -> str:
    return one.text[met.end() :].lstrip().lower()


def _is_like(one: str, other: str) -> bool:
    return SequenceMatcher(None, one.lower(), other.lower()).ratio() >= _LEAST_LIKE


def _put(places: Sequence[tuple[Statement, re.Match[str]]], value: str) -> dict[Statement, str | None] | None:
    if not places:
        return None
    if len(places) > 1:
        return {one: None for one, _ in places}
    one, met = places[0]
    text = one.text[: met.start()] + (value.capitalize() if met[0][0].isupper() else value) + one.text[met.end() :]
    return {one: text}


def _anothers(said: str) -> re.Match[str] | None:
    if said.rstrip().endswith("?"):
        return None
    lead = _LEAD.match(said[:_LONGEST])
    met = _ANOTHERS.match(said[lead.end() :] if lead else said)
    return met if met and (lead or met["not"] or " not " in met["what"]) else None


def _without_another(
    statements: list[Statement], met: re.Match[str], turn: TranscriptTurn, known: Sequence[PresentFact], said: str
) -> tuple[list[Statement], str]:
    """Leave out what was said of the wrong person; a known fact that said it is denied."""
    about, rest = content_stems(met["what"]) - _OF_EVERY, said[said.index(met[0]) + len(met[0]) :]
    who = content_stems(met["who"])

    def is_meant(text: str) -> bool:
        return bool(about & content_stems(text)) and not who & content_stems(text)

    meant = [one for one in statements if is_meant(one.text)]
    if meant:
        latest = set(meant[-1].message_ids)
        return [one for one in statements if not (one in meant and latest.intersection(one.message_ids))], rest
    hit = [fact for fact in known if is_meant(fact.statement)]
    denied = re.sub(r"\bis (?=allergic|intolerant|an?\b|\w+ing\b)", "is not ", hit[0].statement, count=1) if hit else ""
    if len(hit) != 1 or denied == hit[0].statement:
        return statements, rest
    return [*statements, Statement(denied, hit[0].category, (turn.message_id,), hit[0].fact_id)], rest


@dataclass(frozen=True)
class Ending:
    """What a clause says is over."""

    text: str
    """As the phrase of a statement; empty where the clause is left to state what it does."""
    ends: Callable[[str], bool]
    """Whether a statement made before is over by it."""
    alone: bool = True
    """Whether it states something where nothing was known to be over."""


_AGAIN = re.compile(r"^(?:i|we) (?:now )?(?:eat|drink|have) (?P<what>\w+)\b.*\bagain\b", re.IGNORECASE)
_DIETS = (
    (r"fish|seafood|salmon|tuna|sushi|prawns|shrimp", r"vegan|vegetarian"),
    (r"meat|chicken|beef|pork|steak|bacon|ham|lamb|turkey", r"vegan|vegetarian|pescatarian"),
    (r"dairy|cheese|eggs?|milk|butter|yogh?urt|honey", r"vegan"),
    (r"alcohol|wine|beer", r"teetotal"),
)
_OUTGREW = re.compile(
    rf"^(?P<who>(?:my|our) (?:{words.KIN})(?: [A-Z]\w+)?|i) (?:has |have )?(?P<how>outgrew|outgrown|grew out of) "
    r"(?P<whose>his|her|their|my|the|an?) (?P<what>[\w -]+)$",
    re.IGNORECASE,
)
_FELL_THROUGH = re.compile(
    r"^(?:the|our|my) (?P<what>(?:sale|purchase|move|trip|wedding|plan|deal)(?: (?:of|to|for) [\w -]+?)?)"
    r" (?P<how>fell through|was called off|is off|has fallen through|got cancell?ed|was cancell?ed)$",
    re.IGNORECASE,
)
_INTENDED = re.compile(r"\b(?:decided|plan\w*|sell\w*|buy\w*|mov\w+|wants?|going to|booked)\b", re.IGNORECASE)
_DIED = re.compile(r"^(?P<who>[A-Z][^\W\d_]+) (?:has )?(?:died|passed away)\b")
_NO_LONGER = re.compile(
    rf"^(?:my|our) (?P<who>{words.KIN}(?: [A-Z]\w+)?) (?:is|are) (?:no longer (?P<what>[\w -]+)"
    r"|not (?P<before>[\w -]+?) any ?(?:more|longer))$",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"^(?:my|our) (?P<what>[\w -]{3,30}?) (?:has |was |got )?(?:changed|switched) from (?P<old>[\w -]+?) to "
    r"(?P<new>[\w -]+)$",
    re.IGNORECASE,
)


def ending_of(clause: str) -> Ending | None:
    """Return what a clause says is over, or None."""
    if met := _AGAIN.match(clause):
        diets = "|".join(diet for foods, diet in _DIETS if re.fullmatch(foods, met["what"], re.IGNORECASE))
        over = re.compile(rf"^(?:\w+ )?(?:is|became|has been) (?:an? )?(?:strictly )?(?:{diets})\b", re.IGNORECASE)
        return Ending("", lambda text: over.match(text) is not None) if diets else None
    if met := _OUTGREW.match(clause):
        wanted, who = content_stems(met["what"]) - _OF_EVERY, content_stems(met["who"])
        subject = "" if met["who"].lower() == "i" else f"'s {re.sub(r'^(?:my|our) ', '', met['who'], flags=re.I)} "
        whose = "their" if met["whose"].lower() == "my" else met["whose"].lower()
        said = f"{subject}outgrew {whose} {met['what']}"
        return Ending(said, lambda text: bool(wanted) and wanted | who <= content_stems(text))
    if met := _FELL_THROUGH.match(clause):
        wanted = content_stems(re.sub(r"^\w+(?: (?:of|to|for))?", "", met["what"]))
        if not wanted:
            return None
        said = f"'s {met['what']} {met['how'].lower()}"
        return Ending(said, lambda text: _INTENDED.search(text) is not None and wanted <= content_stems(text))
    if met := _DIED.match(clause):
        alive = re.compile(rf"\b(?:called|named) {met['who']}$")
        return Ending(f"'s {clause}", lambda text: alive.search(text) is not None, alone=False)
    if met := _NO_LONGER.match(clause):
        what = met["what"] or met["before"]
        wanted, who = content_stems(what), content_stems(met["who"])
        said = f"'s {met['who']} is no longer {what}"
        return Ending(said, lambda text: bool(wanted) and wanted | who <= content_stems(text))
    if met := _CHANGED.match(clause):
        wanted = content_stems(met["old"])
        said = f"'s {met['what']} changed from {met['old']} to {met['new']}"
        return Ending(said, lambda text: bool(wanted) and wanted <= content_stems(text))
    return None
