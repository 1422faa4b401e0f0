"""The sentences and clauses of a user's turn that may state something, and the third person.

Only what users say in their own words and mean as it stands is read: no code, quotations, pasted lists, records and
documents, questions, suppositions, what somebody else is said to have said, nothing said in a role, nor whole turns
that hand over a text to work on. What a clause states is left to ``fact_predicates``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

from shared.text.lines import clean
from shared.text.secrets import has_secret as has_secret
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
    (re.compile(r"\b(he|she)['’]s (?=got\b|been\b|had\b)", re.IGNORECASE), r"\1 has "),
    (re.compile(r"\b(he|she)['’]s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\bthey['’]re\b", re.IGNORECASE), "they are"),
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
    return _PERSON.sub(_other_person, _ALONE.sub(", alone", text))


def _other_person(match: re.Match[str]) -> str:
    # "US" and "ME" are places.
    named = match[0].isupper() and len(match[0]) == 2
    return match[0] if named else _TURNED[" ".join(match[0].lower().split())]


def capitalised(text: str) -> str:
    """Write the first letter large and leave the others."""
    return text[:1].upper() + text[1:]


_ALONE = re.compile(r",\s*(?:(?:just|only) )?me$", re.IGNORECASE)
"""The speaker at the end of a list of circumstances, who would read as somebody else in the third person."""


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


_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_LISTED = re.compile(r"^[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]+.*$", re.MULTILINE)
_FEW_ITEMS = 6
"""A list that is longer was pasted."""
_DOCUMENT = re.compile(r"^#{1,4} \S.*\Z|^\S+:\n.*\Z", re.MULTILINE | re.DOTALL)
_IN_A_ROLE = re.compile(r"(?:^|\s)\*[a-z][^*\n]*\s[^*\n]+\*(?:\s|$)")
_TO_THE_MACHINE = re.compile(
    r"\b(?:system (?:notice|prompt|message)|(?:ignore|disregard|forget) (?:all|any|your|the|previous)\b"
    r"|(?:note|notice|message|instructions?) (?:to|for) (?:the |all |any )?(?:ai|assistants?|chatbots?|llms?)\b"
    r"|(?:store|save|remember|keep) (?:this |it )?(?:permanently|in your (?:long-term )?memory))",
    re.IGNORECASE,
)
"""What is worded for a machine's memory and not as somebody's own statement."""
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_RECORD = re.compile(
    r"^[ \t]*(?:[\[{}\]].*|\"[^\"]*\"\s*:.*|\d{4}-\d\d-\d\d[ T].*|\S{1,60}@\S{1,60}[:~].*|[$#%] .*|(?:user|assistant"
    r"|system|human|ai|bot)\s*:.*"
    r"|(?:from|to|subject|cc|sent):.*|(?:error|warning|info|debug|traceback)\b.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_QUOTATION = re.compile(r"[\"“][^\"”]*[\"”]|(?<![^\s(])[\"“][^\"”]*\Z")
_OF_SOMEBODY = re.compile(r"\b(?:i|i['’]\w+|my|me|we|our)\b|[.!?]\s", re.IGNORECASE)
"""What makes a quotation more than a title or a word."""
_SPOKEN_QUOTE = re.compile(r"(?:^|(?<=\s))['‘](?=i\b|i['’]|my\b|we\b)[^\n]{0,400}?['’](?=[\s.,!?]|$)", re.IGNORECASE)
_MATERIAL = re.compile(
    r"^\W*(?:(?:please|can you|could you|would you|hey|hi|now|ok|okay)\W+)*"
    r"(?:translate|rewrite|rephrase|proofread|paraphrase|summari[sz]e|correct|fix|edit|improve|polish|write|draft"
    r"|compose|complete|continue|role-?play|act as|pretend|imagine|suppose|analy[sz]e|review|classify|extract"
    r"|explain|condense|shorten|convert|(?:spell-?|grammar-?)?check)\b",
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
    r"|(?<!\bin )(?<!\bsince )(?<!\blast )(?<!\bnext )(?<!\bof )(?<!\bon )(?<!\d )(?<!\d\w\w )may(?! \d|\b\W*$)"
    r"|could|would|should|shall"
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
_WHEN_WISHED = re.compile(
    r"^when(?:ever)? (?:i|i['’]?m|we|we['’]?re)\b.*\b(?:do not|don['’]?t|never|always)\b", re.IGNORECASE
)
"""May want something whenever something is so; all else in such a sentence is supposed."""
_TAKEN_BACK = re.compile(
    r"^(?:but|though|although|except|unless|however)?\W*(?:only\b|not\b|rarely|never|just when|except|unless|if\b"
    r"|though not"
    r"|i (?:no longer|stopped|quit|gave up|cannot|can['’]t|don['’]t|do not|haven['’]t|didn['’]t|used to|have to stop))",
    re.IGNORECASE,
)
_SHARED_SUBJECT = re.compile(
    r",?\s+and\s+(?=(?:also |now |currently |often |usually |always |never |really )?"
    r"(?:live|work|study|love|like|enjoy|prefer|hate|have|am|own|drive|play|speak|use|go|do|run|write|teach|volunteer"
    r"|cook|collect|paint|carry|wear|was|grew|moved|started|joined|adopted|bought|plan|want|need|got|make|take|try|read|watch)\s+"
    r"(?:a|an|the|my|our|in|at|as|for|to|with|on|two|three|four|five|both|every|\w+ing|[A-Z]\w+|going|not|from"
    r"|up|some|lots|all|it|about|tea|coffee)\b)"
)
_CORRECTING = re.compile(
    r"^(?:(?:no|sorry|oh|wait|well|and|but)\W+)*(?:actually|correction|in fact)\b|^(?:i|we)\b[^,]* now\b", re.IGNORECASE
)
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
    (re.compile(rf"{_AFTER_NO_PREPOSITION}\bthe week (?:before|after) \d"), "in"),
    (re.compile(rf"{_AFTER_NO_PREPOSITION}\bthe weekend (?:before|after|of) \d"), "on"),
    (re.compile(rf"{_AFTER_NO_PREPOSITION}\b(?:spring|summer|autumn|fall|winter) \d{{4}}"), "in"),
    (re.compile(rf"(?<=[a-z] ){_AFTER_NO_PREPOSITION}{_AFTER_NO_MONTH}(?:19|20)\d\d$"), "in"),
)
_ELLIPSIS_IN_BRACKETS = re.compile(r"\[(?:\.\.\.|…)\]")
"""No sentence ends there."""
_LEFT_OUT = " \ufffc "
"""Stands where a quotation was, so that no clause is read across it."""
_FIRST_PERSON = re.compile(
    r"^(I|we)\s(?!(?:\w+\s)?(?:will|can|cannot|did|want|plan|try|need|like|love|hope|have) )", re.IGNORECASE
)
"""What follows some verbs may share more than the subject with them: ``I will rest and play``."""
_SPLICE = re.compile(
    r"(\S+(?:\s+\S+){1,2}),\s+(?=(?:the|my|our|this|that|there)\s(?:\w+\s){0,3}?(?:is|are|was|were|has|have|makes?)\b"
    r"|there['’]s\b|s?he['’]s\b|your\s\w+\s\w+)",
    re.IGNORECASE,
)
_AND_SHE = re.compile(
    r",? and (?=s?he['’]?s (?:\w+ly )?(?:an?|allergic|\w+ing|in|at|from|\d+|got|been)\b)", re.IGNORECASE
)
_CAUSE = re.compile(r"\s['’]?cause\b", re.IGNORECASE)
_RELATIVE = re.compile(
    r"^(?:which|who|whom|that|where|when|than|as (?!an? )|like|what|until|till|while|after|before)\b", re.IGNORECASE
)
_LEFT_OUT_SUBJECT = re.compile(
    r"^(?:(?P<am>allergic to|intolerant to|based in|originally from)|(?:(?:just|recently|finally) )?(?:moved to"
    r"|bought an?|adopted|grew up in|was born in))\s",
    re.IGNORECASE,
)
_ANOTHER_AND_I = re.compile(r"^my (?:\w+ ){1,2}and i\b", re.IGNORECASE)
_NOW = re.compile(
    r"^(?:and |but |so )?(?:now|nowadays|these days|currently|at present),? (?=(?:i|we|my|our)\b)", re.IGNORECASE
)
"""What stands before a statement of how things are now says nothing that it does not."""
_PICTOGRAM = re.compile(
    # With what joins several to one; elsewhere joiners belong to how some scripts are written.
    r"(?:[0-9#*]\ufe0f?\u20e3"
    r"|[\u2190-\u2bff\u2e80\ufe0f\U0001f000-\U0001faff][\u200d\ufe0f\u20e3\U000e0020-\U000e007f]*)+"
    r"|[:;]-?[)(DPp](?!\w)"
)


@dataclass(frozen=True)
class Assertion:
    """One clause as it is matched."""

    text: str
    corrects: bool
    """Whether it was said to set something right: ``actually …``."""
    passing: bool
    """Whether it is about the day it was said on."""
    before: str = ""
    """The clause before it in the sentence."""
    whole: bool = False
    """Whether it is the sentence as it was said, for what only a whole sentence can state."""


def own_words(content: str) -> str:
    """Return what of a turn its user said themselves and just now."""
    if _MATERIAL.match(content) and (":" in content or "\n" in content.strip() or '"' in content):
        return ""
    if _FICTION.search(content):
        return ""
    if _IN_A_ROLE.search(content) or _TO_THE_MACHINE.search(content):
        return ""
    content = _INTRODUCED.sub(r"\1my name is \2. ", content)
    for foreign in (_FENCE, _DOCUMENT, _QUOTED_LINE, _RECORD):
        content = foreign.sub("\n", content)
    items = _LISTED.findall(content)
    if len(items) > _FEW_ITEMS:
        content = _LISTED.sub("\n", content)
    content = _QUOTATION.sub(lambda met: _LEFT_OUT if _OF_SOMEBODY.search(met[0]) else met[0], content)
    content = _SPOKEN_QUOTE.sub(_LEFT_OUT, content)
    return _PICTOGRAM.sub(" ", _ELLIPSIS_IN_BRACKETS.sub("[\u2026\u2060]", content))


def assertions(content: str, said_on: date, people: Mapping[str, str], names: frozenset[str]) -> Iterator[Assertion]:
    """Yield the clauses of a turn that are meant as they stand, in one form of each.

    Contractions are written out, relative times are dates, and whoever of the user's own ``people`` (a name, and what
    they are to the user) is spoken of is named with both: ``my aunt Brid is getting married``.
    """
    spoken_of: str | None = None
    for sentence in sentences(own_words(content)):
        if _WHEN_WISHED.match(sentence) and not has_secret(sentence):
            yield Assertion(sentence, corrects=False, passing=False, whole=True)
        if _SUPPOSED.match(sentence) or has_secret(sentence) or words.language_of(sentence) != "en":
            spoken_of = None
            continue
        yield Assertion(sentence, corrects=False, passing=False, whole=True)
        for one in _stating(sentence, said_on, names):
            text, spoken_of = _with_person(one.text, people, spoken_of)
            yield replace(one, text=text)
        if not _OF_ANOTHER.search(sentence) and not _person_in(sentence, people):
            spoken_of = None


def _stating(sentence: str, said_on: date, names: frozenset[str]) -> Iterator[Assertion]:
    spliced = _SPLICE.sub(r"\1; ", _AND_SHE.sub("; ", _CAUSE.sub(" because", _LABEL.sub("", sentence))))
    parts = clauses(_SINCE_WHEN.sub("since\u2027 ", _FRONTED.sub(_to_the_end, spliced)))
    passing = _PASSING.search(sentence) is not None
    for i, part in enumerate(parts):
        following = parts[i + 1].text if i + 1 < len(parts) else ""
        if part.asks or _LEFT_OUT.strip() in part.text or _NOT_MEANT.search(part.text) or _TAKEN_BACK.match(following):
            continue
        if _RELATIVE.match(part.text):
            continue
        corrects = _CORRECTING.search(part.text) is not None
        text = _NOW.sub("", _ANOTHER_AND_I.sub("we", expand(_dated(part.text, said_on, names))))
        before = expand(parts[i - 1].text) if i else ""
        yield from (Assertion(one, corrects, passing, before) for one in _with_subject(text))


_LABEL = re.compile(
    r"^(?!.*\b(?:example|sentence|text|title|quote|letter|cv|resume|résumé|essay|draft|bio|e-?mail|post|prompt"
    r"|says?|said|wrote|user)\b[^:]*:)[^:,.!?]{2,40}:\s+"
    r"(?=(?:i|i['’]?m|i['’]ve|we|we['’]re|we['’]ve|my|our)\b)",
    re.IGNORECASE,
)
"""What a statement is announced with: ``some background: I am building …``."""
_FRONTED = re.compile(
    r"(?:^|(?<=[,;] )|(?<=\band ))(?P<front>(?:since|every|each|in|on|at|during|after|before)(?: [\w.-]+){1,3}),? "
    r"(?P<said>(?:i|i['’]?m|we|we['’]?re) [^;]+?)(?=(?:[,;] )?\b(?:so|but|because|and (?:i|we|the|my))\b|[;.!]|$)",
    re.IGNORECASE,
)
_SINCE_WHEN = re.compile(
    rf"\bsince (?=\d|the \d|i was \d|last|early|late|{'|'.join(MONTHS)}|christmas|easter|spring|summer|autumn|winter)",
    re.IGNORECASE,
)
"""No clause begins with such a ``since``."""
_NO_FRONT = re.compile(
    r"(?:at (?:first|last|least|the moment|this point)|in (?:fact|short|theory|case|general|that|this|my "
    r"(?:opinion|mind"
    r"|view))|on (?:the other|top|a side)|after (?:all|that|this)|before (?:that|this)|every time|each time)\b",
    re.IGNORECASE,
)


def _to_the_end(match: re.Match[str]) -> str:
    """Put a time or place that stands before its statement behind it."""
    if _NO_FRONT.match(match["front"]):
        return match[0]
    return f"; {match['said'].rstrip()} {match['front'][0].lower()}{match['front'][1:]}"


_SPOUSE_TO_BOSS = rf"(?:{words.KIN}|{words.ACQUAINTANCE})"
_INTRODUCES = re.compile(
    rf"\b(?i:my|our) (?P<kin>(?:[a-z-]+ )?{_SPOUSE_TO_BOSS}),? (?P<name>[A-Z][a-zà-ÿ]+)\b"
    rf"|\b(?P<before>[A-Z][a-zà-ÿ]+)\b[^.!?\n]{{0,20}}, my (?P<after>(?:[a-z-]+ )?{_SPOUSE_TO_BOSS})\b"
)
_KNOWN_PERSON = re.compile(rf"^(?P<kin>(?:[A-Z][a-z]+ )?(?i:{_SPOUSE_TO_BOSS})) (?P<name>[A-Z][a-zà-ÿ]+)\b")
_MENTIONS = re.compile(rf"\b(?i:my|our) (?:[a-z-]+ )?{_SPOUSE_TO_BOSS}(?: [A-Z][a-zà-ÿ]+)?\b")
_OF_A_NAME = re.compile(r"^[^\W\d_]{3,} (?:is|has|cannot|does not|lives|works)\b")
"""A name may be written small where it cannot be another word."""
_OF_ONE = re.compile(r"(?P<who>he|she) ", re.IGNORECASE)
_OF_ANOTHER = re.compile(r"\b(?:he|she|his|her|him)\b", re.IGNORECASE)


def people_of(contents: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return who is somebody of the user's own by name, with what they are: ``{"Brid": "great aunt"}``."""
    found: dict[str, str] = {}
    for statement in known:
        if met := _KNOWN_PERSON.match(statement):
            found.setdefault(met["name"], met["kin"][0].lower() + met["kin"][1:])
    for content in contents:
        for met in _INTRODUCES.finditer(own_words(content)):
            found[met["name"] or met["before"]] = met["kin"] or met["after"]
    return found


def _with_person(clause: str, people: Mapping[str, str], spoken_of: str | None) -> tuple[str, str | None]:
    """Name the person a clause begins with by name or pronoun; return the one that it leaves to be spoken of."""
    first = clause.split(" ", 1)[0]
    name = first if first in people else first.capitalize() if _OF_A_NAME.match(clause) else ""
    if name in people:
        spoken_of = f"my {people[name]} {name}"
        return f"{spoken_of}{clause[len(first) :]}", spoken_of
    if (pronoun := _OF_ONE.match(clause)) and spoken_of is not None and _fits(pronoun["who"], spoken_of):
        return f"{spoken_of} {clause[pronoun.end() :]}", spoken_of
    return clause, _person_in(clause, people) or spoken_of


def _person_in(clause: str, people: Mapping[str, str]) -> str | None:
    """Return the one person of the user's own that is spoken of in a clause."""
    named = [f"my {people[name]} {name}" for name in people if re.search(rf"\b{name}\b", clause)]
    mentioned = named or _MENTIONS.findall(clause)
    return mentioned[0] if len(mentioned) == 1 else None


def _fits(pronoun: str, person: str) -> bool:
    other = words.MEN if pronoun.lower() == "she" else words.WOMEN
    return re.search(rf"\b{other}\b", person) is None


def _dated(clause: str, said_on: date, names: frozenset[str]) -> str:
    """Write relative times as dates, with the prepositions that dates take, and leave out greeting and address."""
    apart = _AFTER_A_NUMBER.sub(_HELD_APART, _ASIDE.sub("", clause))
    resolved = resolve(apart, said_on)
    text = plain(resolved, names)
    if resolved != apart:
        for pattern, preposition in _DATES:
            text = pattern.sub(rf"{preposition} \g<0>", text)
    return text.replace(_HELD_APART, " ").replace("since\u2027", "since")


_HELD_APART = " \u2063 "
_ASIDE = re.compile(r"\s*\((?![^()]*\b(?:not|no|never|if|joking|kidding|maybe)\b)[^()]*\)", re.IGNORECASE)
"""A remark in brackets that changes nothing of what is stated."""
_AFTER_A_NUMBER = re.compile(r"(?<=\d) (?=(?:last|next|this|in|on)\b)", re.IGNORECASE)
"""A house number before ``last month`` is no day of it."""


def _with_subject(clause: str) -> Iterator[str]:
    """Cut ``I live in Rome and work as a nurse`` in two, each with its subject."""
    clause = _LEFT_OUT_SUBJECT.sub(lambda met: f"I am {met[0]}" if met["am"] else f"I {met[0]}", clause)
    subject = _FIRST_PERSON.match(clause)
    if not subject:
        yield clause
        return
    first, *others = _SHARED_SUBJECT.split(clause)
    yield first
    yield from (f"{subject[1]} {other}" for other in others)
