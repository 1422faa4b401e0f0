"""The clauses of a user's turn that may state something: their own words, meant as they stand.

Left out: code, quotations, pasted lists and records, questions, what is hedged or supposed, what somebody else is said
to have said, and whole turns that hand over a text to work on. What a clause states is left to ``rules``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from shared.text.sentences import sentences
from shared.text.words import MONTHS, WEEKDAYS
from worker.agent.clauses import clauses, plain
from worker.agent.dates import resolve
from worker.agent.facts.grammar import expand
from worker.agent.facts.words import FAITHS_AND_NATIONS

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
    rf"^(\W*(?i:hi|hello|hey|good \w+)\b[^\n]{{0,25}}?)\b(?i:i['’]m|i am) (?!(?i:{FAITHS_AND_NATIONS})\b)"
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
