"""The ways people state who they are: name, place, age, family, health, profession, belongings.

The first frame that fits decides, so the narrower stand before the wider.
"""

from __future__ import annotations

import re

from worker.agent.facts import words
from worker.agent.facts.grammar import (
    FEW,
    IDENTITY,
    MORE,
    NAME,
    PREFERENCE,
    REST,
    bare,
    capitalised,
    denied,
    habit,
    i_state,
    my_state,
    past,
    present,
)

_NUMBER = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|no|several|twin)"
_AGE = (
    r"(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven"
    r"|eight|nine))?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen)"
)
_OLD = r"(?:[- ](?:years?|months?|weeks?)(?:[- ]old| of age)?)?"
_PLACE = (
    r"(?P<rest>(?:(?:an?|the|my|downtown|northern|southern|eastern|western|central|rural|upstate) .+|(?-i:[A-Z]).+))"
)
_WHOSE = rf"(?P<kin>{words.KIN}(?:,? (?-i:[A-Z][a-z]+),?)?)"


def _work(found: re.Match[str], rest: str) -> str:
    how = found["how"].lower()
    if found["verb"].lower() == "work":
        return f"works {how} {rest}"
    before = "worked" if found["verb"].lower() == "worked" else "has worked"
    return f"{before} {how} {rest}" if how in ("as", "at", "for") else ""


PERSON = (
    my_state(rf"(?:\w+ )?name is {NAME}", "'s name is {rest}", IDENTITY),
    i_state(rf"(?:am called|go by|am named|am known as) {NAME}", "'s name is {rest}", IDENTITY),
    bare(
        rf"(?:please |just |you can |you may |everyone calls me |people call me "
        rf"|friends call me )+(?:just )?(?:call me )?{NAME}",
        lambda found, rest: f"is called {rest}" if "call" in found[0].lower() else "",
        IDENTITY,
    ),
    i_state(rf"am (?P<age>{_AGE})(?: years? old| years of age)?", "is {age} years old", IDENTITY),
    i_state(r"(?P<verb>turned) (?P<rest>(?:[1-9]\d|eighteen|twenty|thirty|forty|fifty|sixty)\b.*)", past, IDENTITY),
    my_state(
        r"(?P<what>birthday|(?:wedding )?anniversary|date of birth|email(?: address)?|phone number|nickname|surname"
        r"|mother tongue|(?:native|first) language|nationality|home ?town|blood type|star sign|zodiac sign|time ?zone"
        r"|job title|profession|occupation|job|major|degree|pronouns|religion) (?P<is>is|are) (?:on )?" + REST,
        "'s {what} {is} {rest}",
        IDENTITY,
    ),
    i_state(
        r"(?:live|reside|am living|am based|am located|have been living) (?P<at>in|near|on|at|outside|with|by"
        r"|close to)\s+(?!the moment|the present|fear|hope|harmony|peace)" + REST,
        "lives {at} {rest}",
        IDENTITY,
    ),
    i_state(rf"have lived (?P<at>in|near|on|at|outside|with)\s+{REST}", "has lived {at} {rest}", IDENTITY),
    i_state(r"live (?P<rest>alone|off-grid|by myself|on my own)", "lives {rest}", IDENTITY),
    i_state(rf"(?:am (?:originally )?|come )from\s+{_PLACE}", "is from {rest}", IDENTITY),
    i_state(rf"(?:was|were) born (?P<how>in|on|and raised in|near)\s+{REST}", "was born {how} {rest}", IDENTITY),
    i_state(rf"(?:grew up|was raised) (?P<how>in|on|near|with|by|speaking)\s+{REST}", "grew up {how} {rest}", IDENTITY),
    i_state(rf"moved (?:here |over )?(?P<how>to|from|into|in with|out of)\s+{REST}", "moved {how} {rest}", IDENTITY),
    i_state(
        rf"am (?P<rest>(?!engaged in|separated from){words.STATES}"
        r"(?:(?: to| with| for| since| from| in| and)\b.*)?)",
        "is {rest}",
        IDENTITY,
    ),
    i_state(
        rf"am (?P<rest>{words.FAITHS_AND_NATIONS}(?:(?: and| but| by| living| born| with)\b.*|[ -]American)?)",
        lambda _, rest: f"is {capitalised(rest)}",
        IDENTITY,
    ),
    i_state(
        r"have been (?P<rest>(?:happily )?(?:married|together|engaged|divorced)(?: to| with)? .*\bfor .+)",
        "has been {rest}",
        IDENTITY,
    ),
    i_state(r"(?:was|got|have been) (?P<rest>(?:engaged|married|divorced)\b.*)", "got {rest}", IDENTITY),
    i_state(
        rf"(?:can )?speak (?P<rest>(?:(?:some|a little|a bit of|fluent|basic|both|only|native) )?{words.TONGUES}\b.*)",
        lambda _, rest: f"speaks {capitalised(rest)}",
        IDENTITY,
    ),
    i_state(
        rf"am (?P<how>fluent in|a native speaker of)\s+(?P<rest>{words.TONGUES}\b.*)",
        lambda found, rest: f"is {found['how'].lower()} {capitalised(rest)}",
        IDENTITY,
    ),
    i_state(
        r"can (?P<verb>play|juggle|sing|knit|sew|code|ski|surf|swim|sail|cook) (?!it\b)" + REST,
        lambda found, rest: f"can {found['verb'].lower()} {rest}",
        IDENTITY,
    ),
)
HEALTH = (
    i_state(
        rf"am (?:a )?(?:strict(?:ly)? )?(?P<rest>{words.DIETS}(?:(?: for| since| and)\b.*)?)",
        "is {rest}",
        PREFERENCE,
    ),
    i_state(rf"have been (?P<rest>(?:a )?{words.DIETS} (?:for|since) .+)", "has been {rest}", PREFERENCE),
    i_state(rf"(?:became|went|turned) (?P<rest>{words.DIETS}\b.*)", "became {rest}", PREFERENCE),
    i_state(
        rf"am (?:severely |highly |badly |deathly )?(?P<how>allergic to|intolerant to|sensitive to)\s+{REST}",
        "is {how} {rest}",
        IDENTITY,
    ),
    i_state(
        rf"have (?P<rest>(?:an? |severe |chronic |mild |bad |terrible )*(?:{words.CONDITIONS}"
        r"|(?:[a-z]+ ){1,2}(?:allergy|allergies|intolerance))\b.*)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(rf"(?:was|were|have been|got) (?P<how>diagnosed with|born with)\s+{REST}", "was {how} {rest}", IDENTITY),
    i_state(rf"suffer from\s+{REST}", "suffers from {rest}", IDENTITY),
    i_state(rf"(?P<not>cannot) (?P<verb>eat|drink|swim|drive|tolerate|digest){MORE}", denied, IDENTITY),
)
OCCUPATION = (
    i_state(
        r"(?P<verb>work|worked|have been working|have worked) (?P<how>as|at|for|in|with|remotely|from|part[- ]time"
        r"|full[- ]time|night shifts|shifts)(?! (?:hours|days|ages|long)\b)" + MORE,
        _work,
        IDENTITY,
        the=True,
    ),
    i_state(rf"am (?:working|employed) (?P<how>as|at|for)\s+{REST}", "works {how} {rest}", IDENTITY),
    i_state(
        rf"am (?P<rest>(?:an?|the) {FEW}(?:[a-z-]+ ){{0,2}}{words.ROLES}"
        r"(?:(?: and|,| in| at| of| for| from| by| with| who| to| on| based| living| speciali[sz]ing| working)\b.*)?)",
        "is {rest}",
        IDENTITY,
        the=True,
    ),
    bare(rf"(?:as|being) (?P<rest>an? {FEW}{words.ROLES}(?:(?: at| in| from) .+)?)", "is {rest}", IDENTITY),
    i_state(
        rf"have (?:been|worked as) (?P<rest>an? {FEW}{words.ROLES}(?:(?: in| at| of| for| since)\b.*)?)",
        "has been {rest}",
        IDENTITY,
    ),
    i_state(
        r"am (?P<rest>(?:an? (?:active |founding |proud )?)?(?:member|part) of .+)", "is {rest}", IDENTITY, the=True
    ),
    i_state(
        r"(?P<verb>teach|coach|mentor|volunteer)(?:\s+(?P<rest>(?!for a)(?:at|in|for|with|as|on|my|an?|every|\w+).+))?",
        habit,
        IDENTITY,
        the=True,
    ),
    i_state(
        r"(?:study|am studying|major in|am majoring in) (?!for\b|hard\b|together\b|a lot\b|to\b|with\b)" + REST,
        "studies {rest}",
        IDENTITY,
    ),
    i_state(rf"graduated (?P<how>from|in|with|as)\s+{REST}", "graduated {how} {rest}", IDENTITY),
    i_state(
        r"(?:have|hold|got|earned) (?P<rest>(?:an? |my )(?:\w+ )?(?:degree|diploma|phd|master['’]?s|bachelor['’]?s"
        r"|doctorate|certificate|licen[cs]e) .+)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        r"(?:was|got|have been) (?P<rest>(?:promoted|hired|accepted|elected|laid off)\b.*)", "got {rest}", IDENTITY
    ),
    i_state(
        rf"(?P<verb>won|quit|lost|got|landed) (?P<rest>(?:my|an?|our|the) {FEW}(?:job|internship|role|race|marathon"
        r"|competition|tournament|contest|award|prize|scholarship|championship|game jam)\b.*)",
        past,
        IDENTITY,
    ),
)
FAMILY = (
    i_state(
        rf"have (?:got )?(?P<rest>{_NUMBER} {FEW}(?:{words.CHILDREN}|{words.ANIMALS})"
        r"(?:(?:,? (?:and|named|called|aged|who|from|together|of my own|in)\b|,).*)?)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(rf"(?P<verb>got) (?P<rest>(?:an?|two|three) {FEW}(?:{words.ANIMALS})\b.*)", past, IDENTITY),
    my_state(rf"{_WHOSE} (?P<is>passed away|died)(?:\s+(?P<rest>.+))?", "'s {kin} {is} {rest}", IDENTITY),
    i_state(
        rf"have had (?P<rest>(?:my|our|an?|two|three) {FEW}(?:{words.ANIMALS}|{words.THINGS}) for .+)",
        "has had {rest}",
        IDENTITY,
    ),
    my_state(rf"{_WHOSE} (?P<is>is|are) (?P<age>{_AGE}{_OLD})", "'s {kin} {is} {age}", IDENTITY),
    my_state(
        rf"{_WHOSE} (?P<is>is|are) (?P<rest>(?:an? {FEW}(?:[a-z-]+ )?{words.ROLES}|(?:named|called|from|allergic to"
        rf"|{words.STATES}|{words.DIETS}|{words.FAITHS_AND_NATIONS}))\b.*)",
        "'s {kin} {is} {rest}",
        IDENTITY,
    ),
    my_state(
        rf"{_WHOSE} (?P<is>lives?|works?|stud(?:ies|y)|plays?|loves?|likes?|hates?|speaks?|teaches|runs|has|owns?"
        rf"|attends?) {REST}",
        "'s {kin} {is} {rest}",
        IDENTITY,
    ),
    my_state(rf"(?P<kin>{words.KIN})['’]s name is {NAME}", "'s {kin} is named {rest}", IDENTITY),
)
BELONGINGS = (
    i_state(
        rf"(?:have(?: got)?|own) (?P<rest>(?:an?|two|three|four|my own|several) {FEW}{words.THINGS}"
        r"(?:(?: named| called| in| at| with| for| from| and| of my own| near| on)\b.*)?)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        rf"(?:run|own|manage|co-own) (?P<rest>(?:an?|my own|my|the|two) {FEW}(?:{words.COMPANY}|team)"
        r"(?:(?: named| called| in| at| with| for| from| and| that| selling| of)\b.*)?)",
        "runs {rest}",
        IDENTITY,
    ),
    i_state(r"(?P<verb>drive|ride) (?P<rest>an? .+)", present, IDENTITY),
    i_state(r"(?P<verb>adopted|rescued|bought|purchased) (?P<rest>(?:an?|two|three|my first) .+)", past, IDENTITY),
)

IDENTITIES = (*PERSON, *HEALTH, *OCCUPATION, *FAMILY, *BELONGINGS)
