"""Relative times rewritten as dates, so that what was said stays true when it is read later.

``yesterday`` said on 8 May 2023 becomes ``7 May 2023``. Times with more than one reading stay, and so do names, titles
and what is quoted.
"""

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
    r"\b(?:entitled|titled|nicknamed|(?<!was )(?<!were )(?<!been )(?<!got )(?<!be )named|a\.?k\.?a\.?|known\s+as"
    r"|(?:is|are|s|app|band|song|album|book|novel|film|movie|show|series|play|game|company|shop|store|café|bar|club"
    r"|magazine|(?:news)?paper|newsletter|podcast|channel|blog|(?:web)?site|project|product|team|brand|boat|cat|dog|horse"
    r"|startup|firm|poem) called)\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
_NOUN = re.compile(r"\b(?:(?:the|an?|my|our|your|his|their|every)\s+|half )\Z", re.IGNORECASE)
_OF_A_NAME = re.compile(
    r"\s+(?:Ltd|Inc|LLC|GmbH|AG|Corp|Co|PLC|Group|Labs?|Studios?|Limited|Media|Magazine|TV|FM|Records|Show"
    r"|by\s+(?:the\s+)?[A-Z]\w*"
    r"|(?:is|was)\s+(?:my|our|an?|the)\s+(?:\w+\s+)?(?:song|band|album|book|novel|film|movie|app|company|show|podcast|magazine|brand))\b"
)
_AND_ALWAYS = re.compile(
    r"\0\s*(?:,|&|\band\b)\s*(?:and\s+)?(?:every|each|all|always|forever|any)\b"
    r"|\b(?:every|each)\s+(?:single\s+)?\w+\s*(?:,|&|\band\b|\bincluding\b|\beven\b)\s*(?:(?:and|also|even)\s+)*\0",
    re.IGNORECASE,
)
_COMES = re.compile(
    r"\b(?:will|shall|going\s+to|gonna|is|are|am|due|leaves?|fl(?:y|ies)|moves?|starts?|begins?|ends?|expires?|arrives?"
    r"|returns?|opens?|closes?|launch(?:es)?|marry|turns?|retires?|graduates?|travels?|comes?|meets?|visit"
    r"|runs?\s+out|have\s+(?:an?|my|our)|\w+['’](?:ll|m|re)|(?:he|she|it|that|there|here)['’]s)\b",
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
    " like over under early late mid all whole this the that is was are were be been half"
) | {*_SEASONS, *(month.lower() for month in MONTHS)}
_YEAR_DOES = re.compile(r"\W*\Z|\s+(?:is|was|has|had|will|were|brought|began|started|ended|felt|seems?|looks?)\b")
_ON_WEEKDAY = re.compile(
    rf"\bon\s+(?P<day>{'|'.join(WEEKDAYS)})\b(?!['’]?s\b)(?!\s*,?\s*(?:\d|the\s+\d|{'|'.join(MONTHS)}))", re.IGNORECASE
)
_HAPPENED = re.compile(
    r"\b(?:was|were|did|had|got|went|came|left|lost|broke|fell|met|saw|took|gave|told|said|found|bought|sold|began|flew|won"
    r"|quit|\w{2,}ed)\b[^.!?;,]*\Z",
    re.IGNORECASE,
)
_WILL_BE = re.compile(
    r"\b(?:will|shall|going\s+to|gonna|['’]ll|i['’]?m\s+\w+ing|we['’]?re\s+\w+ing)\b[^.!?;,]*\Z",
    re.IGNORECASE,
)
_AGAIN_AND_AGAIN = re.compile(
    r"\b(?:every|each|always|usually|often|never|used\s+to|would|normally|regularly|weekly)\b", re.IGNORECASE
)
_STEPS = {"before": -2, "after": 2, "yesterday": -1, "last": -1, "tomorrow": 1}


def resolve(text: str, said_on: date) -> str:
    """Return ``text`` with its relative times as dates, seen from the day it was said.

    Names and titles stay, and so does what is quoted.
    """
    quoted = [found.span() for found in _OTHERS_WORDS.finditer(text)]

    def dated(match: re.Match[str]) -> str:
        before, behind = text[: match.start()], text[match.end() :]
        if any(start <= match.start("said") < end for start, end in quoted) or _is_no_time(match, before, behind):
            return match[0]
        # Put before a date what it needs there: a year after a verb, and any date after a number.
        meant = _dated(match, said_on)
        *_, day, last = ("", "", *before.lower().split())
        length = len(meant.split())
        is_year, begins = length == 1, _SENTENCE_BEGINS.search(before)
        if is_year and begins:
            return meant if _YEAR_DOES.match(behind) else f"{'In' if match[0][0].isupper() else 'in'} {meant}"
        if not match["day"] and day.strip(",.").capitalize() in MONTHS:
            return meant
        is_bare = last not in _BEFORE_A_YEAR if is_year else last[-1:].isdigit() and length < 5
        return f"{'on' if length > 2 else 'in'} {meant}" if is_bare else meant

    return _with_weekdays(_RELATIVE.sub(dated, text), said_on)


def _with_weekdays(text: str, said_on: date) -> str:
    """Return a text with the day of "on Tuesday", where its verb says whether that is behind or ahead."""
    quoted = [found.span() for found in _OTHERS_WORDS.finditer(text)]

    def dated(match: re.Match[str]) -> str:
        before = text[: match.start()]
        is_ahead = _WILL_BE.search(before) is not None
        away = (WEEKDAYS.index(match["day"].capitalize()) - said_on.weekday()) % 7
        # Said on that day it may be a week ago as well.
        if not away or not (is_ahead or _HAPPENED.search(before)):
            return match[0]
        if any(start <= match.start() < end for start, end in quoted) or _AGAIN_AND_AGAIN.search(text):
            return match[0]
        return f"{match[0]} {written(said_on + timedelta(days=away if is_ahead else away - 7))}"

    return _ON_WEEKDAY.sub(dated, text)


def _is_no_time(match: re.Match[str], before: str, behind: str) -> bool:
    """Say whether relative words are a name here, or say how long or how often."""
    before_all = before + (match["lead"] or "")
    is_now = match["now"] or match["said"].lower() in ("today", "tonight")
    return bool(
        # Letters that only pass for those of the words.
        re.search("[ſıİ\u212a]", match[0])
        or _NAMED.search(before_all)
        or _NOUN.search(before_all)
        # The NUL stands where the words stood.
        or (is_now and _AND_ALWAYS.search(f"{before_all}\0{behind}"))
        or (match["count"] and not (match["ago"] or match["from"]) and not _lies_ahead(before, behind))
        or _is_title(*match["said"].split(), before=before_all, behind=behind)
    )


def _is_title(first: str, *others: str, before: str, behind: str) -> bool:
    # Where all is in capitals they tell nothing.
    if first.isupper() and (before + behind).upper() == before + behind:
        return False
    if first.isupper() and len(first) > 1:
        # Loud, unless it goes on a name.
        return not others and re.search(r"(?:^|\s)[^\W\d_a-z]\S+\s+\Z", before) is not None
    if any(word[0].isupper() and word.capitalize() not in WEEKDAYS for word in others):
        return first[0].isupper() or first == "the"
    return first[0].isupper() and not (_SENTENCE_BEGINS.search(before) and not _OF_A_NAME.match(behind))


def _lies_ahead(before: str, behind: str) -> bool:
    """Say whether ``in two days`` is a time that comes, by the rest of its sentence."""
    sentence = re.split(r"[.!?\n]\s", before)[-1] + " " + re.split(r"[.!?\n](?:\s|$)", behind)[0]
    return bool(_COMES.search(sentence)) and not _TAKES.search(sentence)


def written(day: date) -> str:
    """Return a day as ``7 May 2023``."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _dated(match: re.Match[str], said_on: date) -> str:
    found = {group: " ".join((value or "").lower().split()) for group, value in match.groupdict().items()}
    unit = found["unit"] or found["now"] or found["units"]
    ahead = found["side"] in ("next", "this coming") or not (found["side"] or found["ago"])
    count = found["count"]
    # Where no number is said it is 1 ("next week"), and 0 for "this".
    number = (_COUNTS.get(count) or int(count or not found["now"])) * (1 if ahead else -1)
    seen_from = f"{'after' if ahead else 'before'} {written(said_on)}"
    if found["day"]:
        step = next((_STEPS[word] for word in found["day"].split() if word in _STEPS), 0)
        return written(said_on + timedelta(days=step))
    if found["vague"]:
        amount = "couple of" if "couple" in found["vague"] else "few"
        return f"a {amount} {found['vague_units']} before {written(said_on)}"
    if unit == "day":
        return written(said_on + timedelta(days=number))
    if unit == "year":
        return str(said_on.year + number)
    if unit == "month":
        year, month = divmod(said_on.year * 12 + said_on.month - 1 + number, 12)
        return f"{MONTHS[month]} {year}"
    if found["now"]:
        # Until Sunday is over it is the weekend at hand.
        return f"the weekend of {written(said_on + timedelta(days=5 - said_on.weekday()))}"
    if found["exact"]:
        return written(said_on + timedelta(weeks=number * (2 if unit == "fortnight" else 1)))
    if count:
        return f"{count} {unit}{'s' if abs(number) != 1 else ''} {seen_from}"
    if unit in ("week", "weekend"):
        return f"the {unit} {seen_from}"
    if unit not in _SEASONS:
        # Never the day itself: "next Monday", said on a Monday, is a week ahead.
        distance = (WEEKDAYS.index(unit.capitalize()) - said_on.weekday()) % 7 or 7
        return f"{unit.capitalize()} {written(said_on + timedelta(days=distance if ahead else (distance - 7 or -7)))}"
    # The nearest such season that lies wholly on the named side of the day.
    first_month = {"spring": 3, "summer": 6, "winter": 12}.get(unit, 9)
    is_other_year = said_on.month >= first_month if ahead else said_on.month < first_month + 3
    return f"{unit} {said_on.year + number * is_other_year}"
