"""The ways people state who they are: name, place, age, family, health, profession, belongings.

The first frame that fits decides, so the narrower stand before the wider.
"""

from __future__ import annotations

import re

from worker.agent import fact_words as words
from worker.agent.fact_grammar import (
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
    my_state("my name is Sam", rf"(?:\w+ )?name is {NAME}", "'s name is {rest}", IDENTITY),
    i_state("I am called Tove", rf"(?:am called|go by|am named|am known as) {NAME}", "'s name is {rest}", IDENTITY),
    bare(
        "You can call me Tolli",
        rf"(?:please |just |you can |you may |everyone calls me |people call me "
        rf"|friends call me )+(?:just )?(?:call me )?{NAME}",
        lambda found, rest: f"is called {rest}" if "call" in found[0].lower() else "",
        IDENTITY,
    ),
    i_state("I am thirty-one", rf"am (?P<age>{_AGE})(?: years? old| years of age)?", "is {age} years old", IDENTITY),
    i_state(
        "I turned forty in March",
        r"(?P<verb>turned) (?P<rest>(?:[1-9]\d|eighteen|twenty|thirty|forty|fifty|sixty)\b.*)",
        past,
        IDENTITY,
    ),
    my_state(
        "My birthday is on 3 March",
        r"(?P<what>birthday|(?:wedding )?anniversary|date of birth|email(?: address)?|phone number|nickname|surname"
        r"|mother tongue|(?:native|first) language|nationality|home ?town|blood type|star sign|zodiac sign|time ?zone"
        r"|job title|profession|occupation|job|major|degree|pronouns|religion) (?P<is>is|are) (?:on )?" + REST,
        "'s {what} {is} {rest}",
        IDENTITY,
    ),
    i_state(
        "I live in Lyon",
        r"(?:live|reside|am living|am based|am located|have been living) (?P<at>in|near|on|at|outside|with|by"
        r"|close to)\s+(?!the moment|the present|fear|hope|harmony|peace)" + REST,
        "lives {at} {rest}",
        IDENTITY,
    ),
    i_state(
        "I have lived in Oslo since 2015",
        rf"have lived (?P<at>in|near|on|at|outside|with)\s+{REST}",
        "has lived {at} {rest}",
        IDENTITY,
    ),
    i_state("I live alone", r"live (?P<rest>alone|off-grid|by myself|on my own)", "lives {rest}", IDENTITY),
    i_state("I am originally from Ghent", rf"(?:am (?:originally )?|come )from\s+{_PLACE}", "is from {rest}", IDENTITY),
    i_state(
        "I was born in Ghana",
        rf"(?:was|were) born (?P<how>in|on|and raised in|near)\s+{REST}",
        "was born {how} {rest}",
        IDENTITY,
    ),
    i_state(
        "I grew up in a small village near Oporto",
        rf"(?:grew up|was raised) (?P<how>in|on|near|with|by|speaking)\s+{REST}",
        "grew up {how} {rest}",
        IDENTITY,
    ),
    i_state(
        "I moved to Bruges in May",
        rf"moved (?:here |over )?(?P<how>to|from|into|in with|out of)\s+{REST}",
        "moved {how} {rest}",
        IDENTITY,
    ),
    i_state(
        "I am married to Pia",
        rf"am (?P<rest>(?!engaged in|separated from){words.STATES}"
        r"(?:(?: to| with| for| since| from| in| and)\b.*)?)",
        "is {rest}",
        IDENTITY,
    ),
    i_state(
        "I am Danish",
        rf"am (?P<rest>{words.FAITHS_AND_NATIONS}(?:(?: and| but| by| living| born| with)\b.*|[ -]American)?)",
        lambda _, rest: f"is {capitalised(rest)}",
        IDENTITY,
    ),
    i_state(
        "I have been happily married for ten years",
        r"have been (?P<rest>(?:happily )?(?:married|together|engaged|divorced)(?: to| with)? .*\bfor .+)",
        "has been {rest}",
        IDENTITY,
    ),
    i_state(
        "I got engaged in Paris",
        r"(?:was|got|have been) (?P<rest>(?:engaged|married|divorced)\b.*)",
        "got {rest}",
        IDENTITY,
    ),
    i_state(
        "I speak Danish and some Polish",
        rf"(?:can )?speak (?P<rest>(?:(?:some|a little|a bit of|fluent|basic|both|only|native) )?{words.TONGUES}\b.*)",
        lambda _, rest: f"speaks {capitalised(rest)}",
        IDENTITY,
    ),
    i_state(
        "I am fluent in Danish",
        rf"am (?P<how>fluent in|a native speaker of)\s+(?P<rest>{words.TONGUES}\b.*)",
        lambda found, rest: f"is {found['how'].lower()} {capitalised(rest)}",
        IDENTITY,
    ),
    i_state(
        "I can play chess",
        r"can (?P<verb>play|juggle|sing|knit|sew|code|ski|surf|swim|sail|cook) (?!it\b)" + REST,
        lambda found, rest: f"can {found['verb'].lower()} {rest}",
        IDENTITY,
    ),
)
HEALTH = (
    i_state(
        "I am vegan",
        rf"am (?:a )?(?:strict(?:ly)? )?(?P<rest>{words.DIETS}(?:(?: for| since| and)\b.*)?)",
        "is {rest}",
        PREFERENCE,
    ),
    i_state(
        "I have been vegan for ten years",
        rf"have been (?P<rest>(?:a )?{words.DIETS} (?:for|since) .+)",
        "has been {rest}",
        PREFERENCE,
    ),
    i_state(
        "I became vegan in 2019",
        rf"(?:became|went|turned) (?P<rest>{words.DIETS}\b.*)",
        "became {rest}",
        PREFERENCE,
    ),
    i_state(
        "I am allergic to peanuts",
        rf"am (?:severely |highly |badly |deathly )?(?P<how>allergic to|intolerant to|sensitive to)\s+{REST}",
        "is {how} {rest}",
        IDENTITY,
    ),
    i_state(
        "I have mild asthma",
        rf"have (?P<rest>(?:an? |severe |chronic |mild |bad |terrible )*(?:{words.CONDITIONS}"
        r"|(?:[a-z]+ ){1,2}(?:allergy|allergies|intolerance))\b.*)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        "I was diagnosed with celiac disease in 2019",
        rf"(?:was|were|have been|got) (?P<how>diagnosed with|born with)\s+{REST}",
        "was {how} {rest}",
        IDENTITY,
    ),
    i_state("I suffer from vertigo", rf"suffer from\s+{REST}", "suffers from {rest}", IDENTITY),
    i_state(
        "I cannot eat shellfish",
        rf"(?P<not>cannot) (?P<verb>eat|drink|swim|drive|tolerate|digest){MORE}",
        denied,
        IDENTITY,
    ),
)
OCCUPATION = (
    i_state(
        "I work as a nurse",
        r"(?P<verb>work|worked|have been working|have worked) (?P<how>as|at|for|in|with|remotely|from|part[- ]time"
        r"|full[- ]time|night shifts|shifts)(?! (?:hours|days|ages|long)\b)" + MORE,
        _work,
        IDENTITY,
        the=True,
    ),
    i_state(
        "I am employed at Lego", rf"am (?:working|employed) (?P<how>as|at|for)\s+{REST}", "works {how} {rest}", IDENTITY
    ),
    i_state(
        "I am a retired carpenter from Turku",
        rf"am (?P<rest>(?:an?|the) {FEW}(?:[a-z-]+ ){{0,2}}{words.ROLES}"
        r"(?:(?: and|,| in| at| of| for| from| by| with| who| to| on| based| living| speciali[sz]ing| working)\b.*)?)",
        "is {rest}",
        IDENTITY,
        the=True,
    ),
    bare(
        "As a freelance translator",
        rf"(?:as|being) (?P<rest>an? {FEW}{words.ROLES}(?:(?: at| in| from) .+)?)",
        "is {rest}",
        IDENTITY,
    ),
    i_state(
        "I have been a teacher since 2010",
        rf"have (?:been|worked as) (?P<rest>an? {FEW}{words.ROLES}(?:(?: in| at| of| for| since)\b.*)?)",
        "has been {rest}",
        IDENTITY,
    ),
    i_state(
        "I am a member of a rowing club",
        r"am (?P<rest>(?:an? (?:active |founding |proud )?)?(?:member|part) of .+)",
        "is {rest}",
        IDENTITY,
        the=True,
    ),
    i_state(
        "I teach chemistry at a grammar school",
        r"(?P<verb>teach|coach|mentor|volunteer)(?:\s+(?P<rest>(?!for a)(?:at|in|for|with|as|on|my|an?|every|\w+).+))?",
        habit,
        IDENTITY,
        the=True,
    ),
    i_state(
        "I study marine biology in Bergen",
        r"(?:study|am studying|major in|am majoring in) (?!for\b|hard\b|together\b|a lot\b|to\b|with\b)" + REST,
        "studies {rest}",
        IDENTITY,
    ),
    i_state(
        "I graduated from Lund University",
        rf"graduated (?P<how>from|in|with|as)\s+{REST}",
        "graduated {how} {rest}",
        IDENTITY,
    ),
    i_state(
        "I have a degree in physics",
        r"(?:have|hold|got|earned) (?P<rest>(?:an? |my )(?:\w+ )?(?:degree|diploma|phd|master['’]?s|bachelor['’]?s"
        r"|doctorate|certificate|licen[cs]e) .+)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        "I was promoted to captain",
        r"(?:was|got|have been) (?P<rest>(?:promoted|hired|accepted|elected|laid off)\b.*)",
        "got {rest}",
        IDENTITY,
    ),
    i_state(
        "I won a prize for pottery",
        rf"(?P<verb>won|quit|lost|got|landed) (?P<rest>(?:my|an?|our|the) {FEW}(?:job|internship|role|race|marathon"
        r"|competition|tournament|contest|award|prize|scholarship|championship|game jam)\b.*)",
        past,
        IDENTITY,
    ),
)
FAMILY = (
    i_state(
        "I have a dog",
        rf"have (?:got )?(?P<rest>{_NUMBER} {FEW}(?:{words.CHILDREN}|{words.ANIMALS})"
        r"(?:(?:,? (?:and|named|called|aged|who|from|together|of my own|in)\b|,).*)?)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        "I got two kittens",
        rf"(?P<verb>got) (?P<rest>(?:an?|two|three) {FEW}(?:{words.ANIMALS})\b.*)",
        past,
        IDENTITY,
    ),
    my_state(
        "my grandmother passed away in 2019",
        rf"{_WHOSE} (?P<is>passed away|died)(?:\s+(?P<rest>.+))?",
        "'s {kin} {is} {rest}",
        IDENTITY,
    ),
    i_state(
        "I have had two cats for six years",
        rf"have had (?P<rest>(?:my|our|an?|two|three) {FEW}(?:{words.ANIMALS}|{words.THINGS}) for .+)",
        "has had {rest}",
        IDENTITY,
    ),
    my_state("My son Emil is six", rf"{_WHOSE} (?P<is>is|are) (?P<age>{_AGE}{_OLD})", "'s {kin} {is} {age}", IDENTITY),
    my_state(
        "My husband is a firefighter",
        rf"{_WHOSE} (?P<is>is|are) (?P<rest>(?:an? {FEW}(?:[a-z-]+ )?{words.ROLES}|(?:named|called|from|allergic to"
        rf"|{words.STATES}|{words.DIETS}|{words.FAITHS_AND_NATIONS}))\b.*)",
        "'s {kin} {is} {rest}",
        IDENTITY,
    ),
    my_state(
        "my sister lives in Porto",
        rf"{_WHOSE} (?P<is>lives?|works?|stud(?:ies|y)|plays?|loves?|likes?|hates?|speaks?|teaches|runs|has|owns?"
        rf"|attends?) {REST}",
        "'s {kin} {is} {rest}",
        IDENTITY,
    ),
    my_state(
        "my sister's name is Asta",
        rf"(?P<kin>{words.KIN})['’]s name is {NAME}",
        "'s {kin} is named {rest}",
        IDENTITY,
    ),
)
BELONGINGS = (
    i_state(
        "I have a piano",
        rf"(?:have(?: got)?|own) (?P<rest>(?:an?|two|three|four|my own|several) {FEW}{words.THINGS}"
        r"(?:(?: named| called| in| at| with| for| from| and| of my own| near| on)\b.*)?)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        "I run a small bakery in Leith",
        rf"(?:run|own|manage|co-own) (?P<rest>(?:an?|my own|my|the|two) {FEW}(?:{words.COMPANY}|team)"
        r"(?:(?: named| called| in| at| with| for| from| and| that| selling| of)\b.*)?)",
        "runs {rest}",
        IDENTITY,
    ),
    i_state("I drive an old Volvo", r"(?P<verb>drive|ride) (?P<rest>an? .+)", present, IDENTITY),
    i_state(
        "I adopted a parrot",
        r"(?P<verb>adopted|rescued|bought|purchased) (?P<rest>(?:an?|two|three|my first) .+)",
        past,
        IDENTITY,
    ),
)

IDENTITIES = (*PERSON, *HEALTH, *OCCUPATION, *FAMILY, *BELONGINGS)
