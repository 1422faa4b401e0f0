"""Which clauses state something lasting about the one who says them, and how that is put in the third person.

What stands where a frame leaves a place free must be whole in itself:
``it``, ``that one`` or ``the new one`` point at something that stays behind, so such a clause states nothing here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.facts.categories import Category
from shared.wording import clean
from worker.agent.facts import words
from worker.agent.facts.frames import FRAMES
from worker.agent.facts.framing import ADVERBS, Frame
from worker.agent.facts.wording import turned
from worker.agent.vocabulary import EMPTY, VAGUE, WORD

_WE_ARE = re.compile(r"^we are\b", re.IGNORECASE)
_AFTER_VERB = re.compile(rf"^((?:i|we) (?:am|have been|have|do not)) {ADVERBS}", re.IGNORECASE)
_ENDING = re.compile(
    r"(?:[\s,.!;:…]+|\b(?:too|as well|though|lately|these days|right now|at the moment|a lot|so much|very much|nowadays"
    r"|currently|actually|haha\w*|you know|and all|and stuff|for now|again|anyway|honestly|though|already|now|also"
    r"|really|by the way|btw|to be honest|tbh|and so on|etc|at all|recently|next|as of late|sometimes|for me"
    r"|for us)\b)+$",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:it|its|this|these|those|they|them|their|theirs|he|him|she|here|ones|one(?=\s*(?:$|[,.]|(?:for|that|with"
    r"|too|and|or|in|on|best|better)\b))|such(?! as)|same|others?|another|else|either|neither|you|your|yours|you['’]\w+"
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
_HANGING_START = re.compile(
    r"(?:to (?:think|say|see|know|hear|be|thank|have|ask|believe)\b|the (?:idea|thought|look|fact|concept|point|rest"
    r"|part) of|how(?! to)|what|why|when|where|who|that|if|as|so|more|less|any|anything|everything|everyone"
    r"|something|someone|somewhere|nothing|nobody|seeing|hearing|saying|telling|than|better|not|no\b(?! longer)|and"
    r"|or|but|like|out|up|down|off|back|away|over|around|along|through)\b",
    re.IGNORECASE,
)
_HANGING_END = re.compile(
    r"\b(?:to|of|in|for|with|and|or|the|an?|my|our|about|at|on|than|as|from|by|very|so|into|like|because"
    r"|(?<!\ba )while|when|where|which|who|what|how|that|is|are|was|were|be|am|not|if|more|some|any|every|his|her|no"
    r"|i|we|few|lot|lots|ton|tons|bit|much|many|new)$",
    re.IGNORECASE,
)
_SHARED = re.compile(words.LIKED_WITH_THE + r"(?:$|,| (?:and|or|of|in|at|on|with)\b)", re.IGNORECASE)
_THE = re.compile(r"^(?:all )?the\s+(.*)$", re.IGNORECASE)
_UNFIT = re.compile(
    r"(?<!\w)@|@(?!\w)|:(?!\w)|[{}<>=\\|#^~\[\]()?*_\ufffc]|\.\.|…|--|\b(?:haha|lol|omg|btw)\b", re.IGNORECASE
)
_MOST_WORDS = 24


@dataclass(frozen=True)
class Matched:
    """What a clause states."""

    phrase: str
    """Begins with a verb in the third person, or with ``'s`` and what is the speaker's."""
    category: Category


def matched(clause: str) -> Matched | None:
    """Return what a clause states, or None where it states nothing lasting, or not the whole of it."""
    clause = _AFTER_VERB.sub(r"\1 ", _WE_ARE.sub("we am", _ENDING.sub("", clause).strip()))
    if _UNFIT.search(clause) or len(clause.split()) > _MOST_WORDS:
        return None
    for frame in FRAMES:
        found = frame.pattern.match(clause)
        if found and (phrase := _phrase(frame, found)):
            return Matched(phrase, frame.category)
    return None


def _phrase(frame: Frame, found: re.Match[str]) -> str | None:
    rest = _ENDING.sub("", found.groupdict().get("rest") or "").strip(" ,")
    if rest and not is_whole(rest, frame.the):
        return None
    if not isinstance(frame.says, str):
        return clean(frame.says(found, turned(rest)))
    groups = {key: value or "" for key, value in found.groupdict().items()}
    return clean(frame.says.format(**{**groups, "rest": turned(rest)}))


def is_whole(rest: str, the: bool = False) -> bool:
    """Say whether what stands in the free place means something without what was said around it."""
    if _POINTING.search(rest) or _HANGING_START.match(rest) or _HANGING_END.search(rest):
        return False
    definite = _THE.match(rest)
    if definite and not _is_known(definite[1], the):
        return False
    return any(_says_something(word) for word in WORD.findall(rest))


def _is_known(named: str, the: bool) -> bool:
    """Say whether ``the`` and what follows it means the same to everyone."""
    if _SHARED.match(named) or named[:1].isupper() or " of " in named:
        return True
    return the and len(named.split()) > 1


def _says_something(word: str) -> bool:
    if word.isupper() and len(word) > 1:
        return True
    plain = re.split(r"['’]", word.lower())[0]
    return plain not in EMPTY and plain not in VAGUE and plain not in words.HOLLOW
