"""Messages cut into clauses, clauses shortened as in a telegram, and relative times rewritten as dates.

``I've been really enjoying the jazz classes`` becomes ``enjoying jazz classes``; ``yesterday`` said on 8 May 2023
becomes ``7 May 2023``, so that a memory stays true when it is read later. Negations and everything that carries meaning
stay, and so do times with more than one reading. What a clause is worth is left to ``pieces``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from shared.text.sentences import sentences
from shared.text.words import COMMON, EMPTY, MONTHS, NUMERALS, VAGUE, WEEKDAYS, word_set

_CLAUSE = re.compile(
    r"\s+[-–—]+\s+|\s*[;—]\s*"
    r"|,?\s+(?=but\s+(?:now\s+|then\s+)?(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|the|my|this|that)\s)"
    r"|,?\s+(?=(?:because|since|although|though)\s+(?:i|i['’]\w+|we|we['’]\w+|he|she|they|it|it['’]s|my|the|you"
    r"|that)\b)|,\s+(?=which\s)(?!which\s+(?:is|was|are)\s+(?:\S+\s*){1,3}$)"
    # "So" joins clauses only where it begins one: not in "were so kind".
    r"|,\s+(?=so\s)|\s+(?=so\s+(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|they['’]\w+|you|that)\s)"
    r"|,?\s+(?=and\s+(?!i\s+(?:are|were|both)\b)(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|they['’]\w+|my|that|that['’]s|now|then|you)\s)"
    r"|,\s+(?=(?:i|i['’]\w+|we|we['’]\w+|it|it['’]s|he|she|they|you)\s)"
    r"|,\s+(?:und\s+)?(?=(?:ich|wir|er|sie|es)\s+\w+)|,?\s+et\s+(?=(?:je|on|nous|il|elle|ça)\s|j['’]|c['’])"
    r"|,\s+(?=(?:je|on|nous)\s|j['’])"
    r"|,\s+(?=así\s+que\s)|,?\s+y\s+(?=(?:en|mi|no|me)\s)",
    re.IGNORECASE,
)
_HANGS = re.compile(
    # A condition in front, or who said it: what follows stays with it.
    r"^(?:(?:and|but|so|or)\s+)?(?:if|when|whenever|unless|until|once|while|as long as|in case|before|after|had"
    r"|wenn|falls|sobald"
    r"|solange|bevor|si|quand|lorsque|tant que|cuando|mientras|hasta que)\b"
    r"|\b(?:says?|said|told|tells?|thinks?|thought|claims?|heard|asked|believes?|swears?|sagt|sagte|meint|dit|dice"
    r"|dijo)"
    r"(?:\s+(?:me|us|him|her|them|that|dass|que))*\s*$",
    re.IGNORECASE,
)
_STOP = re.compile(r",\s+|\s+(?=\()|\s+(?=(?:because|since|which|although|though|weil|obwohl|parce que|porque)\s)")
_BOUND = re.compile(
    # What takes back, limits or sets a condition for the words before it is not left behind.
    r"^\W*(?:and\s+|or\s+|und\s+|et\s+|y\s+)?(?:but|except|unless|if|only|not|never|no|nor|without|until"
    r"|at\s+(?:most|least)|which"
    r"|or|aber|außer|wenn|falls|nur|nicht|kein\w*|ohne|sondern|mais|sauf|si|sans|seulement|pas|pero|salvo|sin|sino"
    r"|solo|excepto|nada)\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 3
_OPENING = re.compile(
    # Interjections go as they are; a word that may carry meaning ("no coffee", "since May") only before a comma.
    r"^(?:(?:oh|ah|aww?|oof|wow|whoa|woah|woo|mm+|hmm+|hey|hi+|hello|yeah|yep|yup|nah|uh|um|and|but|or|plus|also"
    r"|anyway|ok|okay"
    r"|thanks|thank you|congrats|haha|lol|gee|btw|by the way|actually|honestly|basically|recently|unfortunately"
    r"|fortunately"
    r"|luckily|absolutely|definitely|totally|of course|for example|you know|i mean|i think|i guess|i believe"
    r"|i feel like"
    r"|in fact|the fact is|guess what|please remember(?: that)?|remember(?: that)?|just so you know|fyi|heads up"
    r"|one more thing"
    r"|(?:since )?we last (?:spoke|talked|chatted)|i wanted to (?:tell|let) you(?: know)?(?: that)?|und|ach"
    r"|übrigens|et|y"
    r"|ah y)\b(?!['’])[,!:.]?\s*"
    r"|(?:well|so|then|because|'?cause|sure|right|great|cool|yes|no|man|though|as for me)\b(?!['’])[,!:.]+\s*"
    r"|(?:well|so|then|'?cause)\s+(?=(?:i|we|my|it|she|he|they|the|that|let['’]?s|no|please)\b))+",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^(?:i['’]m|i am|(?:i|we)(?:['’]ve| have) been(?= \w+ing\b)|i['’]ve|we['’]ve|i['’]ll|i['’]d|i was|we['’]re|it['’]s"
    r"|it is|it was|that['’]s|there['’]s|there is|there are|here['’]s|i|we)\s+(?!['’])",
    re.IGNORECASE,
)
_KEPT_OF_SUBJECT = {"i'll": "will ", "i'd": "would ", "i was": "was "}
_PHRASE = re.compile(
    r"\b(?:kind of|sort of|a (?:little )?bit(?: of)?|a lot(?: of)?|lots of|as well|you know|in order(?= to)"
    r"|at the moment|right now|these days|of course|for sure|and (?:stuff|so on|everything)"
    r"|(?:have|has|had) been(?= \w+ing\b)|for me|to me|with me|for us)\b",
    re.IGNORECASE,
)
_FILLERS = word_set(
    """
    a an the really very just quite actually totally definitely super pretty absolutely truly simply basically
    honestly literally certainly some too also already still even that's it's there's being
    is are am was were
    being lately currently recently
    """
)
_ARTICLE_OF_A_TIME = re.compile(
    r"\b(the|an?) (?=(?:day|week|weekend|fortnight|few \w+|couple of \w+) (?:before|after|of) \d)"
)
_TIDY = re.compile(r"\s+(?=[,.;:!?](?:\s|$))|^[\s,.;:!?–—-]+|[\s,.;:!。।۔–—-]+$")
_AND = re.compile(r",?\s+and\s+", re.IGNORECASE)
_SPOKEN_TO = re.compile(r",\s*(?:my\s+)?(\w+(?: companion)?)\s*[.!]*$")
_ADDRESSED = re.compile(r"^(?:[\w']+\s+){0,2}?(\w+(?: companion)?)[,!.]\s*")
_ADDRESSES = frozenset(["friend", "buddy", "dude", "man", "guys", "everyone", "ai companion", "companion"])


_DAY = rf"(?:(?:(?:the|an?) )?\w+ before )?(?:(?:{'|'.join(WEEKDAYS)}) )?\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}"
_LEADING_DATE = re.compile(rf"^(?:on )?({_DAY}),?\s+(.+)$")
_IN_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_LOWERED = EMPTY | VAGUE | COMMON


@dataclass(frozen=True)
class Clause:
    """A part of a sentence that can stand alone."""

    text: str
    asks: bool
    """The sentence it belongs to is a question."""


def clauses(content: str) -> list[Clause]:
    """Cut a message into clauses that can stand alone, in the order they were said."""
    found = []
    for sentence in sentences(content):
        asks = sentence.rstrip("\"'”’) ").endswith(("?", "？", "؟"))
        found += [Clause(part, asks) for part in _parts(sentence) if part.strip(" ,.!?")]
    return found


def _parts(sentence: str) -> Iterator[str]:
    start = 0
    for cut in _CLAUSE.finditer(sentence):
        part = sentence[start : cut.start()]
        # "Priya and I broke up" has one subject.
        joins = sentence[cut.end() :].lower().startswith("and i ") and len(part.split()) < _LEAST_WORDS
        if part.strip(" ,") and not _HANGS.search(part) and not joins:
            yield part.strip(" ,")
            start = cut.end()
    yield sentence[start:].strip(" ,")


def beginnings(text: str) -> tuple[str, ...]:
    """Return the beginnings of a clause that can stand alone, the longest first."""
    found = []
    for cut in _STOP.finditer(text):
        head, rest = text[: cut.start()], text[cut.end() :]
        whole = head.count("(") == head.count(")") and head.count('"') % 2 == 0
        if whole and len(head.split()) >= _LEAST_WORDS and not _BOUND.match(rest) and not _HANGS.search(head):
            found.append(head)
    return tuple(reversed(found))


def plain(text: str, names: frozenset[str] = frozenset()) -> str:
    """Return the clause without greeting and address, otherwise as it was said.

    ``names`` are the speakers', left out where they are merely addressed.
    """
    # Directions as ``[shares a photo]`` go, and ``[1]`` stays.
    text = _IN_BRACKETS.sub(lambda match: "" if " " in match[1] else match[0], text)
    text = _tidy(_OPENING.sub("", _without_address(text, names)))
    return _LEADING_DATE.sub(r"\2 \1", _tidy(_OPENING.sub("", _without_address(text, names))))


def telegram(text: str) -> str:
    """Return a plain clause as a telegram."""
    text = _SUBJECT.sub(lambda match: _KEPT_OF_SUBJECT.get(match[0].strip().lower().replace("’", "'"), ""), text)
    text = _ARTICLE_OF_A_TIME.sub("\\1\u2063", _PHRASE.sub("", text))
    words = [word for word in text.split() if word.strip(",.!").lower() not in _FILLERS]
    text = _AND.sub(" & ", _tidy(" ".join(words))).replace("\u2063", " ")
    first = text.split(" ", 1)[0]
    ordinary = first.lower() in _LOWERED or first.endswith(("ing", "ed"))
    return text[:1].lower() + text[1:] if ordinary and first not in MONTHS and first != "I" else text


def _without_address(text: str, names: frozenset[str]) -> str:
    found = _SPOKEN_TO.search(text)
    if found and _is_name(found[1], names):
        text = text[: found.start()]
    found = _ADDRESSED.match(text)
    return text[found.end() :] if found and _is_name(found[1], names) else text


def _is_name(word: str, names: frozenset[str]) -> bool:
    """Say whether a word is a speaker's name or a short form of one."""
    return word.lower() in _ADDRESSES or (len(word) > 1 and any(name.startswith(word) for name in names))


def _tidy(text: str) -> str:
    return " ".join(_TIDY.sub("", text.replace(";", ",")).split())


_COUNTS = {"a": 1, "an": 1} | {word: number for number, word in enumerate(NUMERALS[:11]) if number}
_COUNT = r"\d{1,2}|" + "|".join(_COUNTS)
_PART_OF_DAY = r"(?:\s+(?:morning|afternoon|evening|night))?"
_SEASONS = ("spring", "summer", "autumn", "fall", "winter")
_RELATIVE = re.compile(
    # Not within a path, an assignment, a call or a compound, and a possessive stays as it was said.
    rf"""(?<![\w./@\#$=&<-])(?<!=\s)(?P<lead>(?:on|in)\s+)?(?P<said>
      (?P<day>(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow)|yesterday{_PART_OF_DAY}|last\s+night
        |today|tonight|this\s+(?:morning|afternoon|evening)|tomorrow{_PART_OF_DAY})
     |(?:the\s+(?=\w+\s+week))?(?P<side>last|this\s+past|this\s+coming|next)
        \s+(?P<unit>{"|".join(WEEKDAYS)}|weekend|week|month|year|{"|".join(_SEASONS)})
     |this\s+(?P<now>month|year|weekend)
     |(?P<count>{_COUNT})\s+(?P<units>day|week|fortnight|month|year)s?
        (?:\s+(?P<ago>ago)(?P<exact>\s+today)?|(?P<from>\s+from\s+(?:now|today))
          |(?(lead)(?:s?['’]s?|s)?(?:\s+time)?|(?!)))
     |(?P<vague>(?:a\s+)?few|(?:a\s+)?couple(?:\s+of)?)\s+(?P<vague_units>days|weeks)\s+ago
    )(?![\w(=@/-]|\.\w|['’]s\b|\s*=)""",
    re.IGNORECASE | re.VERBOSE,
)
_OTHERS_WORDS = re.compile(
    r"`+[^`]*`+|\{.*\}|\"[^\"]*\"|“[^”“]*”|„[^“”]*[“”]|«[^»]*»|»[^«]*«|‹[^›]*›|「[^」]*」|『[^』]*』"
    r"|(?<!\w)['‘‚](?!(?:cause|til|till|em|tis|twas|n|bout|\d\ds?)\b)(?:[^'’‘\n]|(?<=\w)['’](?=\w))+['’‘](?!\w)"
    # Of a quotation that was cut with its sentence only one mark is there.
    r"|(?<![\w\"])[\"“„].*\Z|\A[^\"“„]*(?:(?<=[^\s\d])\"(?!\w)|”)",
    re.DOTALL,
)
"""Quotations, code and data: nothing in them is said by whoever writes."""
_SENTENCE_BEGINS = re.compile(r"(?:\A|[.!?:;…—–\n*•>(\[\"“]|\s-)\s*\Z")
_NAMED = re.compile(
    r"(?:\b(?:entitled|titled|nicknamed|named|a\.?k\.?a\.?|known\s+as)|(?<=\bis\s)called|(?<=\bare\s)called"
    r"|(?<=['’]s\s)called|\b(?:app|band|song|album|book|novel|film|movie|show|series|play|poem|game|company|startup"
    r"|start-up|firm|shop|store|café|cafe|bar|club|magazine|paper|newspaper|newsletter|podcast|channel|blog|site"
    r"|website|project|product|team|brand|boat|cat|dog|horse)\s+called)\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
_ONCE_NAMED = re.compile(r"\b(?:was|were|been|got|be)\s+(?:nick)?named\s+\Z", re.IGNORECASE)
_NOUN = re.compile(r"\b(?:the|an?|my|our|your|his|their|every)\s+\Z", re.IGNORECASE)
_OF_A_NAME = re.compile(
    r"\s+(?:Ltd|Limited|Inc|LLC|LLP|GmbH|AG|Corp|Corporation|Co|PLC|plc|Group|Labs?|Studios?|Records|Media|Magazine|FM"
    r"|TV|Show|Tonight|Today)\b|\s+by\s+(?:the\s+|The\s+)?[A-Z]"
    r"|\s+(?:is|was)\s.*\b(?:song|band|album|book|novel|film|movie|app|company|employer|newspaper|magazine|show"
    r"|podcast|newsletter|brand)\b"
)
_AND_ALWAYS = re.compile(r"\s*(?:,|&|\band\b)\s*(?:and\s+)?(?:every|each|all|always|forever|any)\b", re.IGNORECASE)
_ALWAYS_AND = re.compile(
    r"\b(?:every|each)\s+(?:single\s+)?\w+\s*(?:,|&|\band\b|\bincluding\b|\beven\b)\s*"
    r"(?:(?:and|including|also|even)\s+)*\Z",
    re.IGNORECASE,
)
_COMES = re.compile(
    r"\b(?:will|shall|going\s+to|gonna|is|are|am|due|leaves?|fly|flies|moves?|starts?|begins?|ends?|expires?|arrives?"
    r"|returns?|opens?|closes?|launch(?:es)?|marry|turns?|retires?|graduates?|travels?|comes?|meets?|visit"
    r"|runs?\s+out|have\s+(?:an?|my|our)|[\w]+['’](?:ll|m|re))\b"
    r"|\b(?:he|she|it|that|there|here)['’]s\b",
    re.IGNORECASE,
)
_TAKES = re.compile(
    r"\b(?:was|were|did|had|has|been|can|could|would|might|once|twice|times|every|each|usually|always|often|never|first"
    r"|only|within|done|built|lost|made|read|ran|\w{2,}ed)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Beside these ``in two days`` is how long something takes."""
_BEFORE_A_YEAR = word_set(
    "of in on since from until till by for before after during to than around about between through throughout into as"
    " like over under early late mid all whole this the that is was are were be been since\u2027 half"
) | {*_SEASONS, *(month.lower() for month in MONTHS)}
_YEAR_DOES = re.compile(r"\W*\Z|\s+(?:is|was|has|had|will|were|brought|began|started|ended|felt|seems?|looks?)\b")


def resolve(text: str, said_on: date) -> str:
    """Return ``text`` with its relative times as dates, seen from the day it was said.

    Names and titles stay, and so does what is quoted.
    """
    quoted = [found.span() for found in _OTHERS_WORDS.finditer(text)]

    def dated(match: re.Match[str]) -> str:
        before, behind = text[: match.start()], text[match.end() :]
        if any(start <= match.start("said") < end for start, end in quoted) or _is_no_time(match, before, behind):
            return match[0]
        return _preposition(_dated(match, said_on), match, before, behind)

    return _RELATIVE.sub(dated, text)


def _is_no_time(match: re.Match[str], before: str, behind: str) -> bool:
    """Say whether relative words are a name here, or say how long or how often."""
    first, *others = match["said"].split()
    before_all = before + (match["lead"] or "")
    if _NAMED.search(before_all) and not _ONCE_NAMED.search(before_all):
        return True
    if _NOUN.search(before_all) or before_all.lower().endswith("half "):
        return True
    is_now = match["now"] or first.lower() in ("today", "tonight")
    if is_now and (_AND_ALWAYS.match(behind) or _ALWAYS_AND.search(before_all)):
        return True
    if match["count"] and not (match["ago"] or match["from"]) and not _lies_ahead(before, behind):
        return True
    return _is_title(first, others, before_all, behind)


def _is_title(first: str, others: list[str], before: str, behind: str) -> bool:
    if (before + behind).upper() == before + behind and first.isupper():
        return re.search(r"\w", before + behind) is None and first != first.upper()
    capital = first[0].isupper()
    is_capital = any(word[0].isupper() and word.capitalize() not in WEEKDAYS for word in others)
    if is_capital and (capital or first == "the"):
        return not first.isupper() or len(first) == 1
    if not capital:
        return False
    if len(first) > 1 and first.isupper():
        # Loud, unless it goes on a name.
        words = before.split()
        return bool(words) and words[-1][0].isupper() and len(words[-1]) > 1
    if _OF_A_NAME.match(behind):
        return True
    if before.rstrip().endswith(":"):
        return not behind.strip(" .!?\n")
    return _SENTENCE_BEGINS.search(before) is None


def _lies_ahead(before: str, behind: str) -> bool:
    """Say whether ``in two days`` is a time that comes, by the rest of its sentence."""
    sentence = re.split(r"[.!?\n]\s", before)[-1] + " " + re.split(r"[.!?\n](?:\s|$)", behind)[0]
    return bool(_COMES.search(sentence)) and not _TAKES.search(sentence)


def _preposition(meant: str, match: re.Match[str], before: str, behind: str) -> str:
    """Put before a date what it needs there: a year after a verb, and any date after a number."""
    words = before.split()
    last = words[-1].lower() if words else ""
    if last == "\u2063":
        last = words[-2].lower() if len(words) > 1 else ""
    after_a_day = len(words) > 1 and words[-2].strip(",.").capitalize() in MONTHS
    if meant.isdigit():
        if _SENTENCE_BEGINS.search(before):
            return meant if _YEAR_DOES.match(behind) else f"{'In' if match[0][0].isupper() else 'in'} {meant}"
        return meant if last in _BEFORE_A_YEAR or after_a_day else f"in {meant}"
    if last[-1:].isdigit() and not after_a_day and match["day"] is None and meant.split()[0] not in ("the", "a"):
        return f"{'on' if meant.split()[0] in WEEKDAYS or meant[0].isdigit() else 'in'} {meant}"
    if last[-1:].isdigit() and match["day"]:
        return f"on {meant}"
    return meant


def written(day: date) -> str:
    """Return a day as ``7 May 2023``."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def month_of(day: date) -> str:
    """Return a day's month as ``May 2023``."""
    return f"{MONTHS[day.month - 1]} {day.year}"


def _dated(match: re.Match[str], said_on: date) -> str:
    if match["day"]:
        return _day(match["day"].lower(), said_on)
    if match["unit"]:
        return _neighbour(" ".join(match["side"].lower().split()), match["unit"].lower(), said_on)
    if match["now"]:
        if match["now"].lower() == "weekend":
            # Until Sunday is over it is the one at hand.
            return f"the weekend of {written(said_on + timedelta(days=5 - said_on.weekday()))}"
        return month_of(said_on) if match["now"].lower() == "month" else str(said_on.year)
    if match["count"]:
        return _distant(match, said_on)
    amount = "couple of" if "couple" in match["vague"].lower() else "few"
    return f"a {amount} {match['vague_units'].lower()} before {written(said_on)}"


def _day(phrase: str, said_on: date) -> str:
    if " before " in " ".join(phrase.split()):
        return written(said_on - timedelta(days=2))
    if " after " in " ".join(phrase.split()):
        return written(said_on + timedelta(days=2))
    if phrase.startswith(("yesterday", "last")):
        return written(said_on - timedelta(days=1))
    return written(said_on + timedelta(days=1) if phrase.startswith("tomorrow") else said_on)


def _neighbour(side: str, unit: str, said_on: date) -> str:
    ahead = side in ("next", "this coming")
    if unit == "month":
        return _months_from(said_on, 1 if ahead else -1)
    if unit == "year":
        return str(said_on.year + (1 if ahead else -1))
    if unit in ("week", "weekend"):
        return f"the {unit} {'after' if ahead else 'before'} {written(said_on)}"
    weekday = unit.capitalize()
    if weekday in WEEKDAYS:
        distance = (WEEKDAYS.index(weekday) - said_on.weekday()) % 7 or 7
        return f"{weekday} {written(said_on + timedelta(days=distance if ahead else (distance - 7 or -7)))}"
    # The nearest such season that lies wholly on the named side of the day.
    first_month = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[unit]
    if ahead:
        return f"{unit} {said_on.year if said_on.month < first_month else said_on.year + 1}"
    return f"{unit} {said_on.year if said_on.month >= first_month + 3 else said_on.year - 1}"


def _distant(match: re.Match[str], said_on: date) -> str:
    count, unit = match["count"].lower(), match["units"].lower()
    number = (_COUNTS.get(count) or int(count)) * (-1 if match["ago"] else 1)
    if unit == "day":
        return written(said_on + timedelta(days=number))
    if unit in ("week", "fortnight"):
        if match["exact"]:
            return written(said_on + timedelta(weeks=number * (2 if unit == "fortnight" else 1)))
        plural = "s" if abs(number) != 1 else ""
        return f"{count} {unit}{plural} {'before' if number < 0 else 'after'} {written(said_on)}"
    return _months_from(said_on, number) if unit == "month" else str(said_on.year + number)


def _months_from(day: date, months: int) -> str:
    index = day.year * 12 + day.month - 1 + months
    return f"{MONTHS[index % 12]} {index // 12}"
