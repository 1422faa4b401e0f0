"""The clauses of a user's turn that may state something, the frames that recognise it, and the third person.

Only what users say in their own words and mean as it stands is read: no code, quotations, pasted lists and records,
questions, suppositions, what somebody else is said to have said, nor whole turns that hand over a text to work on. A
frame is one way people state something about themselves, with at most one free place, ``rest``; whether what stands
there is whole in itself is left to ``fact_rules``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from shared.facts.categories import Category
from shared.text.lines import clean
from shared.text.sentences import sentences
from shared.text.words import MONTHS, WEEKDAYS
from worker.agent import fact_words as words
from worker.agent.clauses import clauses, plain, resolve

_CONTRACTIONS = (
    (re.compile(r"\b(i)['’]?m\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(i)['’]?ve\b", re.IGNORECASE), "I have"),
    (re.compile(r"\bwe['’]re\b", re.IGNORECASE), "we are"),
    (re.compile(r"\bwe['’]ve\b", re.IGNORECASE), "we have"),
    (re.compile(r"\b(?:can['’]?t|can not)\b", re.IGNORECASE), "cannot"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|have|has|had)n['’]?t\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\bname['’]s\b", re.IGNORECASE), "name is"),
    (re.compile(r"\bfavou?rite\b", re.IGNORECASE), "favourite"),
    (re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
)
_TURNED = {
    "i am": "they are",
    "i was": "they were",
    "i have": "they have",
    "we are": "they are",
    "am i": "are they",
    "i": "they",
    "we": "they",
    "me": "them",
    "us": "them",
    "my": "their",
    "our": "their",
    "mine": "theirs",
    "ours": "theirs",
    "myself": "themselves",
    "ourselves": "themselves",
}
_PERSON = re.compile(r"\b(?:" + "|".join(sorted(_TURNED, key=len, reverse=True)) + r")\b(?!['’.]\w)", re.IGNORECASE)
_IRREGULAR = {"have": "has", "do": "does", "go": "goes", "am": "is", "are": "is", "get up": "gets up"}
_LONGEST_NAME = 40
_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}")
_NO_NAMES = frozenset({"user", "human", "me", "you", "customer", "client", "guest", "anonymous", "unknown"})


def expand(clause: str) -> str:
    """Write contractions out, so that each pattern needs one form only."""
    for pattern, written in _CONTRACTIONS:
        clause = pattern.sub(written, clause)
    return clause


def third_person(verb: str) -> str:
    """Return the present tense of a verb for one other person: ``play`` becomes ``plays``."""
    lowered = verb.lower()
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if lowered.endswith(("s", "x", "ch", "sh", "z")):
        return lowered + "es"
    if lowered.endswith("y") and lowered[-2:-1] not in "aeiou":
        return lowered[:-1] + "ies"
    return lowered + "s"


def turned(text: str) -> str:
    """Turn the first person into the third: ``my kids and me`` becomes ``their kids and them``."""
    return _PERSON.sub(_other_person, text)


def _other_person(match: re.Match[str]) -> str:
    # "US" and "ME" are places.
    named = match[0].isupper() and len(match[0]) == 2
    return match[0] if named else _TURNED[" ".join(match[0].lower().split())]


def capitalised(text: str) -> str:
    """Write the first letter large and leave the others."""
    return text[:1].upper() + text[1:]


def name_of(name: str | None) -> str | None:
    """Return a speaker's name where it can stand before a statement."""
    written = clean(name or "")
    if len(written) > _LONGEST_NAME or not _NAME.fullmatch(written) or written.lower() in _NO_NAMES:
        return None
    return written


def stated(phrase: str, name: str | None) -> str:
    """Write a phrase as a statement, with its subject where that has a name.

    A phrase begins with a verb in the third person, or with ``'s`` and what is the speaker's.
    """
    if name is not None:
        return f"{name}{phrase}" if phrase.startswith("'s ") else f"{name} {phrase}"
    bare = re.sub(r"^is (?=(?:\w+ly )?\w+ing\b)", "", phrase.removeprefix("'s "))
    return capitalised(bare)


Says = str | Callable[[re.Match[str], str], str]
"""The phrase, made of the pattern's groups and of what stands in the free place; an empty one states nothing."""


@dataclass(frozen=True)
class Frame:
    """One way to state something."""

    example: str
    """A clause of which this frame decides what it states."""
    pattern: re.Pattern[str]
    says: Says
    category: Category
    the: bool = False
    """Whether ``the …`` in the free place can be whole without more."""


ADVERBS = (
    r"(?:(?:really|also|still|currently|actually|just|now|absolutely|totally|definitely|truly|personally|particularly"
    r"|especially|primarily|generally|recently|finally|even|already|genuinely|simply|honestly|lately|both|all|so|very"
    r"|super|pretty|quite|deeply|extremely|mainly|busy|proudly)\s+)*"
)
FEW = r"(?:[a-z][\w-]*\s+){0,3}?"
"""Up to three adjectives."""
REST = r"(?P<rest>.+)"
MORE = r"(?:\s+(?P<rest>.+))?"
NAME = r"(?P<rest>(?-i:[A-Z])[\w'’-]*(?: (?-i:[A-Z])[\w'’-]*){0,3})"
PROJECT, PREFERENCE, IDENTITY = Category.PROJECT, Category.PREFERENCE, Category.IDENTITY


def i_state(example: str, pattern: str, says: Says, category: Category, the: bool = False) -> Frame:
    """Return a frame of what begins with ``I`` or ``we`` and perhaps an adverb."""
    return Frame(example, re.compile(rf"^(?:i|we)\s+{ADVERBS}{pattern}$", re.IGNORECASE), says, category, the)


def my_state(example: str, pattern: str, says: Says, category: Category) -> Frame:
    """Return a frame of what begins with ``my`` or ``our``."""
    return Frame(example, re.compile(rf"^(?:my|our)\s+{pattern}$", re.IGNORECASE), says, category, the=True)


def bare(example: str, pattern: str, says: Says, category: Category) -> Frame:
    """Return a frame of what names neither."""
    return Frame(example, re.compile(rf"^{pattern}$", re.IGNORECASE), says, category)


def present(found: re.Match[str], rest: str) -> str:
    """Say it in the present tense."""
    return f"{third_person(found['verb'])} {rest}"


def past(found: re.Match[str], rest: str) -> str:
    """Say it in the past tense, which is the same for all persons."""
    return f"{found['verb'].lower()} {rest}"


def denied(found: re.Match[str], rest: str) -> str:
    """Say that it is not so."""
    return f"{found['not'].lower()} {found['verb'].lower()} {rest}"


_FURTHER_VERB = re.compile(rf"(?:,|\band)\s+(?:and\s+)?(?:{words.DEEDS})\b")
"""It would have to be put in the third person too."""
_NO_OBJECT = re.compile(rf"(?:{words.REGULARLY}|for\b|with\b|at\b|in\b|on\b|together\b|$)")


def habit(found: re.Match[str], rest: str) -> str:
    """Say that it is a habit, unless what is done, or done besides, cannot be told."""
    if _FURTHER_VERB.search(rest):
        return ""
    if found["verb"].lower() in words.NEEDS_OBJECT and _NO_OBJECT.match(rest):
        return ""
    often = found.groupdict().get("often") or ""
    return f"{often.lower()} {third_person(found['verb'])} {rest}"


_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_LISTED = re.compile(r"^[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]+.*$", re.MULTILINE)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_RECORD = re.compile(
    r"^[ \t]*(?:[\[{}\]].*|\"[^\"]*\"\s*:.*|\d{4}-\d\d-\d\d[ T].*|\S{1,60}@\S{1,60}[:~].*|[$#%] .*|(?:user|assistant"
    r"|system|human|ai|bot)\s*:.*"
    r"|(?:from|to|subject|cc|sent):.*|(?:error|warning|info|debug|traceback)\b.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_QUOTATION = re.compile(
    r"[\"“](?=[^\"”]*(?:\b(?:i|i['’]\w+|my|me|we|our)\b|[.!?]\s))[^\"”]*(?:[\"”]|\Z)", re.IGNORECASE
)
_SPOKEN_QUOTE = re.compile(r"(?:^|(?<=\s))['‘](?=i\b|i['’]|my\b|we\b)[^\n]{0,400}?['’](?=[\s.,!?]|$)", re.IGNORECASE)
_MATERIAL = re.compile(
    r"^\W*(?:(?:please|can you|could you|would you|hey|hi|now|ok|okay)\W+)*"
    r"(?:translate|rewrite|rephrase|proofread|paraphrase|summari[sz]e|correct|fix|edit|improve|polish|write|draft"
    r"|compose|complete|continue|role-?play|act as|pretend|imagine|suppose|analy[sz]e|review|classify|extract"
    r"|explain)\b",
    re.IGNORECASE,
)
_FICTION = re.compile(
    r"^\W*you are an? |(?:^|[.!?\n])\W{0,8}(?:suppose|imagine|pretend|assume|hypothetically|let['’]?s (?:say|pretend"
    r"|imagine|assume)"
    r"|(?:as|for) an? (?:test|joke|demo|story|example)|act as|in (?:a|my) (?:dream|story|novel))\b",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(
    rf"^(\W*(?i:hi|hello|hey|good \w+)\b[^\n]{{0,25}}?)\b(?i:i['’]m|i am) (?!(?i:{words.FAITHS_AND_NATIONS})\b)"
    r"([A-Z][a-z]+(?: [A-Z][a-z]+)?)(?=\s*(?:[.,!]|$|and (?i:i)\b))"
)
"""Only behind a greeting is a name behind ``I'm`` sure to be one."""
_NOT_MEANT = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|might"
    r"|(?<!\bin )(?<!\bsince )(?<!\blast )(?<!\bnext )(?<!\bof )may(?! \d|\b\W*$)|could|would|should|shall"
    r"|i (?:\w+ )?(?:think|guess|suppose|believe"
    r"|assume|doubt|feel like|wish|hope|wonder|bet|heard|dreamed|dreamt)|not sure|unsure|hopefully|if|unless|whether"
    r"|used to|pretend(?:ing|ed)?|imagin\w+|hypothetical\w*|as if|suppose(?:d|dly)?|yeah right|in theory|considering"
    r"|thinking (?:of|about)|tempted|not really|kind of|sort of|kinda|sorta|almost|nearly|i['’]d|joking|just kidding|jk"
    r"|lol|/s)(?![\w'’])",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"^\W*(?:if|imagine|suppose|supposing|say|let['’]?s say|pretend|what if|assuming|unless|once|when(?:ever)?|until"
    r"|sometimes i (?:wish|feel)|(?:he|she|they|people|everyone|someone|somebody|my \w+|the \w+) (?:\w+ )?"
    r"(?:said|says|say|told|tells|asked|asks|thinks?|thought|claims?|believes?|wrote|jokes?|joked))\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"^(?:but|though|although|except|unless|however)?\W*(?:only\b|not\b|rarely|never|just when|except|unless|if\b"
    r"|though not"
    r"|i (?:no longer|stopped|quit|gave up|cannot|can['’]t|don['’]t|do not|haven['’]t|didn['’]t|used to|have to stop))",
    re.IGNORECASE,
)
_SHARED_SUBJECT = re.compile(
    r",?\s+and\s+(?=(?:also |now |currently |often |usually |always |never |really )?"
    r"(?:live|work|study|love|like|enjoy|prefer|hate|have|am|own|drive|play|speak|use|go|do|run|write|teach|volunteer"
    r"|cook|collect|paint|was|grew|moved|started|joined|adopted|bought|plan|want|need|got|make|take|try|read|watch)\s+"
    r"(?:a|an|the|my|our|in|at|as|for|to|with|on|two|three|four|five|both|every|\w+ing|[A-Z]\w+|going|not|from"
    r"|up|some|lots|all|it|about|tea|coffee)\b)"
)
_CORRECTING = re.compile(r"^(?:(?:no|sorry|oh|wait|well|and|but)\W+)*(?:actually|correction|in fact)\b", re.IGNORECASE)
_PASSING = re.compile(
    r"\b(?:today|tonight|this (?:morning|afternoon|evening|weekend)|tomorrow|later|soon)\b", re.IGNORECASE
)
_PREPOSITIONS = ("on", "in", "for", "by", "of", "since", "before", "after", "from", "the", "until", "about", "around")
_AFTER_NO_PREPOSITION = "".join(rf"(?<!\b{word} )" for word in _PREPOSITIONS) + "(?<!^)"
_MONTH = "|".join(MONTHS)
_AFTER_NO_MONTH = "".join(rf"(?<!{month} )" for month in MONTHS)
_DATES = (
    (re.compile(rf"{_AFTER_NO_PREPOSITION}\b(?:(?:{'|'.join(WEEKDAYS)}) )?\d{{1,2}} (?:{_MONTH}) \d{{4}}"), "on"),
    (re.compile(rf"{_AFTER_NO_PREPOSITION}(?<!\d )\b(?:{_MONTH}) \d{{4}}"), "in"),
    (re.compile(rf"{_AFTER_NO_PREPOSITION}\b(?:week|(?:few|couple) (?:days|weeks)) (?:before|after) \d"), "in the"),
    (re.compile(rf"{_AFTER_NO_PREPOSITION}\bweekend (?:before|after) \d"), "on the"),
    (re.compile(rf"{_AFTER_NO_PREPOSITION}\b(?:spring|summer|autumn|fall|winter) \d{{4}}"), "in"),
    (re.compile(rf"(?<=[a-z] ){_AFTER_NO_PREPOSITION}{_AFTER_NO_MONTH}(?:19|20)\d\d$"), "in"),
)
_LEFT_OUT = " \ufffc "
"""Stands where a quotation was, so that no clause is read across it."""
_FIRST_PERSON = re.compile(
    r"^(I|we)\s(?!(?:\w+\s)?(?:will|can|cannot|did|want|plan|try|need|like|love|hope|have) )", re.IGNORECASE
)
"""What follows some verbs may share more than the subject with them: ``I will rest and play``."""
_SPLICE = re.compile(
    r"(\S+\s+\S+\s+\S+),\s+(?=(?:the|my|this|that|there)\s(?:\w+\s){0,3}?(?:is|are|was|were|has|have|makes?)\b)",
    re.IGNORECASE,
)
_CAUSE = re.compile(r"\s['’]?cause\b", re.IGNORECASE)
_RELATIVE = re.compile(
    r"^(?:which|who|whom|that|where|when|than|as (?!an? )|like|what|until|till|while|after|before)\b", re.IGNORECASE
)
_ANOTHER_AND_I = re.compile(r"^my (?:\w+ ){1,2}and i\b", re.IGNORECASE)
_NOW = re.compile(
    r"^(?:and |but |so )?(?:now|nowadays|these days|currently|at present),? (?=(?:i|we|my|our)\b)", re.IGNORECASE
)
"""What stands before a statement of how things are now says nothing that it does not."""
_PICTOGRAM = re.compile(r"[\u2190-\u2bff\u2e80\ufe0f\U0001f000-\U0001faff]|[:;]-?[)(DPp](?!\w)")


@dataclass(frozen=True)
class Assertion:
    """One clause as it is matched."""

    text: str
    corrects: bool
    """Whether it was said to set something right: ``actually …``."""
    passing: bool
    """Whether it is about the day it was said on."""


def own_words(content: str) -> str:
    """Return what of a turn its user said themselves and just now."""
    if _MATERIAL.match(content) and (":" in content or "\n" in content.strip() or '"' in content):
        return ""
    if _FICTION.search(content):
        return ""
    content = _INTRODUCED.sub(r"\1my name is \2. ", content)
    for foreign in (_FENCE, _QUOTED_LINE, _LISTED, _RECORD):
        content = foreign.sub("\n", content)
    for quotation in (_QUOTATION, _SPOKEN_QUOTE):
        content = quotation.sub(_LEFT_OUT, content)
    return _PICTOGRAM.sub(" ", content)


def assertions(content: str, said_on: date, names: frozenset[str] = frozenset()) -> Iterator[Assertion]:
    """Yield the clauses that are meant as they stand, contractions written out and relative times as dates."""
    for sentence in sentences(own_words(content)):
        if not _SUPPOSED.match(sentence):
            yield from _stating(sentence, said_on, names)


def _stating(sentence: str, said_on: date, names: frozenset[str]) -> Iterator[Assertion]:
    parts = clauses(_SPLICE.sub(r"\1; ", _CAUSE.sub(" because", sentence)))
    passing = _PASSING.search(sentence) is not None
    for i, part in enumerate(parts):
        following = parts[i + 1].text if i + 1 < len(parts) else ""
        if part.asks or _LEFT_OUT.strip() in part.text or _NOT_MEANT.search(part.text) or _TAKEN_BACK.match(following):
            continue
        if _RELATIVE.match(part.text):
            continue
        corrects = _CORRECTING.match(part.text) is not None
        text = _NOW.sub("", _ANOTHER_AND_I.sub("we", expand(_dated(part.text, said_on, names))))
        yield from (Assertion(one, corrects, passing) for one in _with_subject(text))


def _dated(clause: str, said_on: date, names: frozenset[str]) -> str:
    """Write relative times as dates, with the prepositions that dates take, and leave out greeting and address."""
    resolved = resolve(clause, said_on)
    text = plain(resolved, names)
    if resolved == clause:
        return text
    for pattern, preposition in _DATES:
        text = pattern.sub(rf"{preposition} \g<0>", text)
    return text


def _with_subject(clause: str) -> Iterator[str]:
    """Cut ``I live in Rome and work as a nurse`` in two, each with its subject."""
    subject = _FIRST_PERSON.match(clause)
    if not subject:
        yield clause
        return
    first, *others = _SHARED_SUBJECT.split(clause)
    yield first
    yield from (f"{subject[1]} {other}" for other in others)
