"""Relative times rewritten as dates, so that what was said stays true when it is read later.

``yesterday`` said on 8 May 2023 becomes ``7 May 2023``. Times with more than one reading stay, and so do names, titles
and what is quoted.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from shared.text.words import MONTHS, NUMERALS, WEEKDAYS, word_set

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
