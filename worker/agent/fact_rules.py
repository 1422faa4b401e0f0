"""The built-in agent's part that extracts facts: no model, no network, the same answer every time.

Some forms it knows and puts in the third person: what users say of themselves and theirs in so many words
(``fact_predicates``), what they want from now on and have decided (``fact_wishes``), and a few other languages
(``fact_languages``). What has no such form, in whatever language, is a fact where the classifier is sure of it
(``statements``), in the user's own words. Turns of assistants, quotations and what was only recalled are no source.
What is said to set right a known fact updates it only where one known fact is meant. Source: decisions, "Facts and
context".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shared.facts.categories import Category, category_of, contradict
from shared.llm.calls import EXTRACTIVE, Meter, Prospect, WorkKind, metered
from shared.llm.tokens import estimate_tokens
from shared.telemetry.metrics import RefusedFact
from shared.text.languages import ENGLISH, language_of
from shared.text.likeness import differ, normal, oppose
from shared.text.lines import clean
from shared.text.words import EMPTY, MONTHS, VAGUE, WORD, content_stems
from worker.agent import fact_words as words
from worker.agent.classifier import StatementSort
from worker.agent.fact_corrections import corrected, ending_of, pieces
from worker.agent.fact_grammar import (
    Assertion,
    assertions,
    has_secret,
    name_of,
    people_of,
    stated,
    third_person,
    turned,
)
from worker.agent.fact_languages import statements_of
from worker.agent.fact_predicates import ADVERBS, Predicate
from worker.agent.fact_preferences import PREDICATES
from worker.agent.fact_wishes import wish_of
from worker.agent.persons import in_third_person
from worker.agent.protocol import Extraction, ExtractionRequest, FactAgent, PresentFact, Statement
from worker.agent.statements import is_change, read_statements


class ExtractiveFactAgent(FactAgent):
    """Extracts what clauses of certain forms state."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    def extract(self, segment: ExtractionRequest, meter: Meter) -> Extraction:
        prompt = sum(estimate_tokens(turn.content) for turn in segment.turns)
        # No statement is longer than what it was made of, but for the name before it.
        return metered(
            meter,
            Prospect(WorkKind.EXTRACT, EXTRACTIVE, prompt, 2 * prompt),
            lambda: _extracted(segment),
            lambda extraction: sum(estimate_tokens(one.text) for one in extraction.statements),
        )


@dataclass(frozen=True)
class FormsFound:
    """What was found by its form."""

    statements: tuple[Statement, ...]
    taken_back: tuple[Statement, ...]
    """What was found first and then corrected or ended."""
    refused: Counter[RefusedFact]


def _extracted(segment: ExtractionRequest) -> Extraction:
    place = {turn.message_id: i for i, turn in enumerate(segment.turns)}
    found = stated_in_form(segment)
    every = sorted((*found.statements, *_told(segment, found)), key=lambda one: place[one.message_ids[0]])
    return Extraction(once_each(every), len(segment.turns), found.refused)


def stated_in_form(segment: ExtractionRequest) -> FormsFound:
    """Find what is stated in a form that is known, in the order it was said."""
    refused: Counter[RefusedFact] = Counter()
    made: dict[str | None, list[Statement]] = {}
    ever: list[Statement] = []
    last: dict[str | None, str] = {}
    names = frozenset(turn.name for turn in (*segment.before, *segment.turns) if turn.name)
    users = [turn for turn in (*segment.before, *segment.turns) if turn.role == "user"]
    people = people_of((turn.content for turn in users), (fact.statement for fact in segment.known))
    for turn in segment.turns:
        if turn.role != "user":
            continue
        content, repeated = without_known(turn.content, segment.known)
        refused[RefusedFact.RECALLED] += repeated
        own = made.setdefault(turn.name, [])
        for piece in pieces(content):
            own[:], left = corrected(own, piece, turn, last.get(turn.name, ""), segment.known)
            said = assertions(left, turn.created_at.date(), people, names)
            phrases = [phrase for one in said if (phrase := phrase_of(one, segment.known)) is not None]
            phrases += [Phrase(text, category) for text, category in statements_of(left)]
            for phrase in settled(phrases, segment.known):
                standing = [one for one in own if phrase.over is None or not phrase.over(one.text)]
                if not phrase.alone and phrase.updates is None and len(standing) == len(own):
                    continue
                own[:] = standing
                text = stated(phrase.text, name_of(turn.name))
                if len(text) <= LONGEST:
                    own.append(Statement(text, phrase.category, (turn.message_id,), phrase.updates))
                    ever.append(own[-1])
        last[turn.name] = turn.message_id
    place = {turn.message_id: i for i, turn in enumerate(segment.turns)}
    kept = sorted((one for own in made.values() for one in own), key=lambda one: place[one.message_ids[0]])
    return FormsFound(tuple(kept), tuple(one for one in ever if one not in kept), +refused)


_SURE = 0.5
"""From this probability a statement is a fact. Source: ``ops.train --validate``, statements of writers left out."""
_SURE_BESIDE_FORMS = 0.55
"""The same in English, whose forms are known: what has none is seldom stated outright."""
_SAID_SHARE = 0.5
"""Of a statement's words, so many stand in a fact where both say the same."""
_CATEGORIES = {
    Category.IDENTITY: (StatementSort.HARM, StatementSort.IDENTITY, StatementSort.RELATIVE),
    Category.PREFERENCE: (StatementSort.WISH, StatementSort.LIKE),
    Category.PROJECT: (StatementSort.PLAN, StatementSort.DECISION, StatementSort.NEED),
}


def _told(segment: ExtractionRequest, found: FormsFound) -> Iterator[Statement]:
    """Yield what the classifier takes for facts beside those, in any language; nothing that was taken back."""
    turns = [replace(turn, content=without_known(turn.content, segment.known)[0]) for turn in segment.turns]
    for one in read_statements(turns, segment.before):
        is_english = one.text.isascii() and language_of(one.text) == ENGLISH
        if one.judged.fact < (_SURE_BESIDE_FORMS if is_english else _SURE):
            continue
        beside = [each for each in (*found.statements, *found.taken_back) if one.turn.message_id in each.message_ids]
        if any(_say_the_same(one.text, each) for each in beside):
            continue
        text = clean(in_third_person(one.text, name_of(one.turn.name) or ""))
        if len(text) <= LONGEST and not has_secret(text):
            sorts = one.judged.sorts
            category = max(_CATEGORIES, key=lambda each: sum(sorts[sort] for sort in _CATEGORIES[each]))
            updates = _changed(text, segment.known) if is_change(one) else None
            yield Statement(text, category, (one.turn.message_id,), updates)


_ALIKE = 0.5
"""Of the words of the shorter of two statements, so many stand in both where one changes the other."""


def _changed(text: str, known: Sequence[PresentFact]) -> int | None:
    """Return the one known fact that a change is about; None where it may be none, or several."""
    words = content_stems(text)
    alike = [
        fact
        for fact in known
        if len(words & (others := content_stems(fact.statement))) >= max(1, _ALIKE * min(len(words), len(others)))
        and differ(fact.statement, text)
    ]
    return _only(alike)


def _say_the_same(said: str, fact: Statement) -> bool:
    words, others = content_stems(said), content_stems(fact.text)
    return not words or len(words & others) >= _SAID_SHARE * min(len(words), len(others) or 1)


LONGEST = 200
"""Characters of a statement at most; a longer one is not made, because cutting changes meaning."""
_MARKER = re.compile(r"^[ \t]*(?:[-*•+>]|\d{1,2}[.)])?[ \t]*")


def without_known(content: str, known: Sequence[PresentFact]) -> tuple[str, int]:
    """Leave out the lines that a known fact says word for word, and count them."""
    recalled = {normal(fact.statement) for fact in known}
    lines = content.splitlines()
    own = [line for line in lines if normal(_MARKER.sub("", line)) not in recalled]
    return "\n".join(own), len(lines) - len(own)


def once_each(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Give each statement once, with the messages of every time; of two that contradict each other, the later."""
    kept: dict[str, Statement] = {}
    for new in statements:
        key = normal(new.text)
        if key not in kept:
            kept = {k: old for k, old in kept.items() if not _is_over(old, new)}
        old = kept.get(key)
        if old is None:
            kept[key] = new
            continue
        ids = tuple(dict.fromkeys((*old.message_ids, *new.message_ids)))
        kept[key] = replace(old, message_ids=ids, updates=old.updates if new.updates is None else new.updates)
    return tuple(kept.values())


def _is_over(old: Statement, new: Statement) -> bool:
    """Say whether the newer of two statements takes the place of the older one."""
    same = old.updates is not None and old.updates == new.updates
    return same or contradict(old.text, new.text) or oppose(old.text, new.text)


_ONCE = r"(?:(?:just|recently|have|finally|now) )*"
_STOPPED = re.compile(r"^(?:I|we) (?:no longer|stopped) (?P<verb>\w+)(?: (?P<rest>.+))?$", re.IGNORECASE)
_NOT_ANY_MORE = re.compile(
    r"^(?:I|we) (?:do not|cannot) (?:\w+ly )?(?P<verb>\w+)(?: (?P<rest>.+?))? (?:any ?more|any longer)$", re.IGNORECASE
)
_NOT_BEING_ANY_MORE = re.compile(
    r"^(?:I|we) (?:am|are) (?:not (?P<rest>.+?) (?:any ?more|any longer)|no longer (?P<what>.+))$", re.IGNORECASE
)
_WHEN = (
    r"(?:(?:(?:back )?(?:in|on|since|during)|last|this|at the (?:start|beginning|end) of) (?:the |early |late |last )?"
    rf"(?:{'|'.join(MONTHS)}|spring|summer|autumn|fall|winter|weekend|week|month|year|\d+)\b.*|.{{1,20}} ago"
    r"|recently|yesterday|today)"
)
_MOVED = re.compile(
    # When it was is no part of the place, in which somebody lives from then on.
    rf"^(?:I|we) {_ONCE}moved from (?P<old>.+?) to (?P<new>(?-i:[A-Z])[^,]*?)(?: {_WHEN})?$",
    re.IGNORECASE,
)
_SWITCHED = re.compile(
    rf"^(?:I|we) {_ONCE}(?:switched|changed|migrated) from (?P<old>.+?) to (?P<new>.+)$", re.IGNORECASE
)
_PLANS = re.compile(r"(?:plans|is planning|is going|wants|aims|is looking|decided)\b")
_OUTING = re.compile(
    r"\b(?:walk|stroll|movie|film|dinner|lunch|breakfast|picnic|nap|shower|rest|shopping|coffee"
    r"|drink)\b(?!.*\b20\d\d\b)|\bgo (?:out|home|to bed|back)\b",
    re.IGNORECASE,
)
SINGLE_VALUES = {
    example: re.compile(pattern, re.IGNORECASE)
    for example, pattern in {
        "Lives in Oslo": r"\b(?:lives|living|is based|based|resides) (?:in|near|on|at|outside)\b",
        "Works as a nurse": r"\bworks as\b",
        "Works at Lego": r"\bworks (?:at|for)\b",
        "Name is Sam": r"\b(?:name is|is called|is named)\b",
        "Is 42 years old": r"\byears old\b",
        "Birthday is 3 March": r"\bbirthday is\b",
        "Email is sam@example.org": r"\bemail(?: address)? is\b",
        "Phone number is 555 0101": r"\bphone number is\b",
        "Is from Ghent": r"\bis from\b",
    }.items()
}
"""What a person has one of at a time, each under an example by which it is named too."""
_FAVOURITE = re.compile(r"\bfavou?rite (.+?) (?:is|are)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Phrase:
    """What a clause states, and the known fact it sets right."""

    text: str
    """Begins with a verb in the third person, or with ``'s`` and what is the speaker's."""
    category: Category
    updates: int | None = None
    ends: bool = False
    """Whether it only says that something is no longer so."""
    over: Callable[[str], bool] | None = None
    """Whether a statement made before is over by it."""
    alone: bool = True
    """Whether it states something where nothing was known to be over."""


def phrase_of(said: Assertion, known: Sequence[PresentFact]) -> Phrase | None:
    """Return what a clause states, with the one known fact it explicitly corrects."""
    if said.whole:
        wish = wish_of(said.text)
        return None if wish is None else Phrase(*wish)
    explicit = _moved(said.text, known) or _switched(said.text, known) or _ended(said.text, known)
    if explicit:
        return explicit
    phrase, ending = framed(said.text), ending_of(_ENDING_BUT_AGAIN.sub("", said.text))
    if ending is not None:
        is_framed = phrase is not None and not ending.alone
        if ending.text and not is_framed:
            phrase = Phrase(ending.text, category_of(ending.text.removeprefix("'s ")), alone=ending.alone)
        hit = _only([fact for fact in known if ending.ends(fact.statement)])
        return None if phrase is None else replace(phrase, updates=hit, over=ending.ends)
    if phrase is not None and phrase.text.endswith("is allergic"):
        # To what stands in the clause before it: "no nuts please, my niece is allergic".
        is_said = any(word.lower() not in words.INTERJECTIONS for word in WORD.findall(said.before))
        what = turned(said.before) if is_said else ""
        phrase = replace(phrase, text=f"{phrase.text}: {what}") if what else None
    if phrase is None:
        return None
    if said.passing and phrase.text.startswith("'s favourite "):
        return None
    # A plan for the day it is told on, or for an outing, is over before it is of use.
    if _PLANS.match(phrase.text) and (said.passing or _OUTING.search(phrase.text)):
        return None
    return replace(phrase, updates=_same_slot(phrase.text, known)) if said.corrects else phrase


def settled(phrases: Sequence[Phrase], known: Sequence[PresentFact]) -> list[Phrase]:
    """Let what is so now take the place of what is said to be over: ``not at A any more, at B``."""
    kept = list(phrases)
    for over in [one for one in phrases if one.ends and one.updates is not None]:
        before = next(fact for fact in known if fact.fact_id == over.updates)
        slot = slot_of(before.statement)
        instead = next((one for one in kept if not one.ends and slot and slot_of(one.text) == slot), None)
        if instead is not None:
            kept[kept.index(instead)] = replace(instead, updates=over.updates)
            kept.remove(over)
    return kept


def slot_of(statement: str) -> str | None:
    """Name what a statement gives the one value of, or None where there can be several."""
    favourite = _FAVOURITE.search(statement)
    if favourite:
        return f"favourite {favourite[1].lower()}"
    return next((example for example, slot in SINGLE_VALUES.items() if slot.search(statement)), None)


def _same_slot(phrase: str, known: Sequence[PresentFact]) -> int | None:
    slot = slot_of(phrase)
    return _only([fact for fact in known if slot is not None and slot_of(fact.statement) == slot])


def _only(facts: Sequence[PresentFact]) -> int | None:
    return facts[0].fact_id if len(facts) == 1 else None


def _moved(clause: str, known: Sequence[PresentFact]) -> Phrase | None:
    move = _MOVED.match(clause)
    if not move or not is_whole(move["new"]):
        return None
    phrase = f"lives in {turned(move['new'])}"
    return Phrase(phrase, Category.IDENTITY, _same_slot(phrase, known))


def _switched(clause: str, known: Sequence[PresentFact]) -> Phrase | None:
    switch = _SWITCHED.match(clause)
    if not switch or not (is_whole(switch["old"]) and is_whole(switch["new"])):
        return None
    phrase = f"switched from {turned(switch['old'])} to {turned(switch['new'])}"
    return Phrase(phrase, Category.PREFERENCE, _only(_naming(switch["old"], known)))


def _ended(clause: str, known: Sequence[PresentFact]) -> Phrase | None:
    if being := _NOT_BEING_ANY_MORE.match(clause):
        rest = being["rest"] or being["what"]
        if _POINTING.search(rest) or not content_stems(rest):
            return None
        text = f"is no longer {turned(rest)}"
        return Phrase(text, Category.IDENTITY, _only(_naming(rest, known)), ends=True, over=_over(rest))
    end = _STOPPED.match(clause) or _NOT_ANY_MORE.match(clause)
    if not end:
        return None
    rest = end["rest"] or ""
    before = framed(f"I {end['verb']} {rest}".strip())
    if before is None:
        return None
    is_able = "cannot" in clause[:12].lower()
    verb = f"can no longer {end['verb']}" if is_able else f"no longer {third_person(end['verb'])}"
    phrase = f"{verb} {turned(rest)}".strip()
    said = f"{end['verb']} {rest.split(',')[0]}"
    return Phrase(phrase, before.category, _only(_naming(said, known)), ends=True, over=_over(said))


def _over(text: str) -> Callable[[str], bool]:
    wanted = content_stems(text)
    return lambda stated: bool(wanted) and all(_stands(one, content_stems(stated)) for one in wanted)


_SAME_BEGINNING = 5
"""Letters from which ``garden`` and ``gardener`` are of one root."""


def _naming(text: str, known: Sequence[PresentFact]) -> list[PresentFact]:
    """Return the known facts in which every word of weight in ``text`` stands."""
    is_named = _over(text)
    return [fact for fact in known if is_named(fact.statement)]


def _stands(word: str, others: frozenset[str]) -> bool:
    return word in others or any(
        len(word) >= _SAME_BEGINNING and other[:_SAME_BEGINNING] == word[:_SAME_BEGINNING] for other in others
    )


_WE_ARE = re.compile(r"^we are\b", re.IGNORECASE)
_AFTER_VERB = re.compile(rf"^((?:i|we) (?:am|have been|have|do not)) {ADVERBS}", re.IGNORECASE)
_ENDING = re.compile(
    r"(?:[\s,.!;:…]+|\b(?:too|as well|though|lately|these days|right now|at the moment|a lot|so much|very much|nowadays"
    r"|currently|actually|haha\w*|you know|and all|and stuff|for now|again|anyway|honestly|though|already|now|also"
    r"|really|by the way|btw|to be honest|tbh|and so on|etc|at all|recently|next|do not (?:laugh|judge|ask)"
    r"|as of late|sometimes|for me"
    r"|for us)\b)+$",
    re.IGNORECASE,
)
_ENDING_BUT_AGAIN = re.compile(
    r"[\s,.!;:…]+$|,? (?:now|by the way|btw|though|unfortunately|sadly)[.!]*$", re.IGNORECASE
)
_POINTING = re.compile(
    r"\b(?:it|its|this|these|those|they|them|their|theirs|he|him|she|here|ones|one(?=\s*(?:$|[,.]|(?:for|that|with"
    r"|too|and|or|in|on|best|better)\b))|such(?! as)|same|others?|another|else|you|your|yours|you['’]\w+"
    r"|yourself|ur|u|latter|former|things?|stuff)\b(?!['’]s day)"
    r"|\b(?:last|past|coming|next) \w+|\blater\b"
    r"|\b(?<!every )(?<!each )(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?! \d)"
    r"|\band (?:also|now|often|usually|always|never|really|then|sometimes)\b"
    r"|,\s*(?:and|or)\b.*\b(?:can|is|are|will|was|were|has|have|makes?)\b"
    r"|,\s*(?:that|and it|this)\b|\bfeel(?:s|ing)? (?:like|that)\b"
    r"|\bthat\b(?=\s*(?:$|[,.]|and\b|or\b|way\b|kind\b|sort\b|one\b|too\b|is\b|was\b|\w+\s*$))"
    r"|\bthere\b(?! (?:is|are|was|were)\b)|\b(?:her|his)\b",
    re.IGNORECASE,
)
_PLAIN_THERE = re.compile(r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|his|her|he|she|him)\b", re.IGNORECASE)
"""What points at nothing where a week or another person is spoken of."""
_HANGING_START = re.compile(
    r"(?:to (?:think|say|see|know|hear|be|thank|have|ask|believe)\b|the (?:idea|thought|look|fact|concept|point|rest"
    r"|part) of|how(?! to)|what|why|when|where|who|that|if|as|so|more|less|any|anything|everything|everyone"
    r"|something|someone|somewhere|nothing|nobody|seeing|hearing|saying|telling|than|better|not|no\b(?! longer)|and"
    r"|or|but|like|out|up|down|off|back|away|over|around|along|through)\b",
    re.IGNORECASE,
)
_HANGING_END = re.compile(
    r"\b(?:to|of|in|for|with|and|or|the|an?|my|our|about|at|on|than|as|from|by|very|so|into|like|because"
    r"|(?<!\ba )while|when|where|which|who|what|how|that|is|are|was|were|be|(?<!\d )am|not|if|more|some|any|every"
    r"|his|her|no"
    r"|i|we|together|few|lot|lots|ton|tons|bit|much|many|new)$",
    re.IGNORECASE,
)
_SHARED = re.compile(words.LIKED_WITH_THE + r"(?:$|,| (?:and|or|of|in|at|on|with)\b)", re.IGNORECASE)
_THE = re.compile(r"^(?:all )?the\s+(.*)$", re.IGNORECASE)
_UNFIT = re.compile(
    r"(?<!\w)@|@(?!\w)|:(?!\w)|[{}<>=\\|#^~\[\]()?*_\ufffc]|\.\.|…|--|\b(?:haha|lol|omg|btw)\b", re.IGNORECASE
)
_MOST_WORDS = 24
_HOLLOW = EMPTY | VAGUE | words.HOLLOW


def framed(clause: str) -> Phrase | None:
    """Return what a clause states, or None where it states nothing lasting, or not the whole of it."""
    decided = predicate_of(clause)
    return None if decided is None else Phrase(decided[1], decided[0].category)


def predicate_of(clause: str) -> tuple[Predicate, str] | None:
    """Return the first predicate that fits a clause, with the phrase it makes of it."""
    clause = _AFTER_VERB.sub(r"\1 ", _WE_ARE.sub("we am", _ENDING.sub("", clause).strip()))
    if _UNFIT.search(clause) or len(clause.split()) > _MOST_WORDS:
        return None
    for predicate in PREDICATES:
        found = predicate.pattern.match(clause)
        if found and (phrase := _phrase(predicate, found)):
            return predicate, phrase
    return None


def _phrase(predicate: Predicate, found: re.Match[str]) -> str | None:
    rest = _ENDING.sub("", found.groupdict().get("rest") or "").strip(" ,")
    if rest and not is_whole(rest, predicate.the, predicate.wide):
        return None
    if not isinstance(predicate.says, str):
        return clean(predicate.says(found, turned(rest)))
    groups = {key: value or "" for key, value in found.groupdict().items()}
    if "kin" in groups:
        groups["kin"] = turned(groups["kin"])
    verb = groups.get("verb", "")
    return clean(predicate.says.format(**{**groups, "rest": turned(rest), "v": third_person(verb) if verb else ""}))


def is_whole(rest: str, the: bool = False, wide: bool = False) -> bool:
    """Say whether what stands in the free place means something without what was said around it."""
    if (
        _POINTING.search(_PLAIN_THERE.sub("", rest) if wide else rest)
        or _HANGING_START.match(rest)
        or _HANGING_END.search(rest)
    ):
        return False
    definite = _THE.match(rest)
    if definite:
        # What follows "the" must mean the same to everyone.
        named = definite[1]
        is_shared = _SHARED.match(named) or named[:1].isupper() or " of " in named
        if not is_shared and not (the and len(named.split()) > 1):
            return False
    for word in WORD.findall(rest):
        plain = re.split(r"['’]", word.lower())[0]
        if (word.isupper() and len(word) > 1) or plain not in _HOLLOW:
            return True
    return False
