"""What a statement written by hand is about, by its words alone; needs no model. Source: seed 000.

Work in hand and plans are ``project``, who the user is ``identity``, and the rest ``preference``: a wish or a habit
wrongly called a preference lives longest and gives way last but one, so the doubt falls on that side.
"""

from __future__ import annotations

import re

from shared.facts.categories import Category
from shared.facts.normalising import normal
from shared.facts.single_values import single_value

_FIRST_PERSON = re.compile(r"^(?:i'm|i am|i've|i have|i|my|we're|we are|we|our) ")
_LIKING = re.compile(
    r"\b(?:prefers?|preferred|likes?|loves?|enjoys?|hates?|dislikes?|favou?rites?|fond of|can't stand|rather|avoids?"
    r"|always|never|usually|wants? (?:answers|replies|code|you|it|the assistant)|please|fan of|interested in)\b"
)
_WORK = re.compile(
    r"\b(?:projects?|deadlines?|milestones?|roadmap|sprint|release|launch(?:es|ing)?|prototype|thesis|dissertation"
    r"|goals?|plans?|planning|intends?|aims?|trying to|hopes? to|wants? to|needs? to|has to|must|due (?:on|by|in)"
    r"|working on|building|developing|writing (?:an?|the|his|her|their|my)|migrating|refactoring|implementing"
    r"|designing|preparing|renovating|organi[sz]ing|learning|studying for|training for|saving (?:up )?for"
    r"|going to|will|next (?:week|month|year|quarter)|tomorrow|by (?:monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december))\b"
)
_KIN = (
    r"(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|mother|father|mom|mum|dad|parents?|sisters?"
    r"|brothers?|siblings?|sons?|daughters?|kids?|child(?:ren)?|babys?|twins?|grandmother|grandfather|grandchildren"
    r"|aunt|uncle|cousins?|nephews?|nieces?|famil(?:y|ies)|dogs?|cats?|pets?)"
)
_SELF = re.compile(
    rf"\b(?:{_KIN}|names?|named|called|born|birthday|years? old|aged?|lives?|living|resides?|based in|moved (?:to|from)"
    r"|comes? from|grew up|native|nationality|citizen|married|divorced|single|engaged|widowed|allerg(?:y|ic|ies)"
    r"|intoleran(?:t|ce)|diabet(?:es|ic)|asthma|disabilit(?:y|ies)|diagnosed|pregnant|blood type|pronouns|e-?mail"
    r"|phone number|address|speaks|fluent|religio(?:n|us)|vegan|vegetarian|height|studied|graduated|degree"
    r"|works? (?:at|for|as|in)|employed|self-employed|freelancer?|retired|profession|occupation|job|career)\b"
)
_PROFESSION = re.compile(
    r"^(?:is )?(?:an? )(?:[\w-]+ ){0,3}(?:developer|engineer|programmer|designer|teacher|professor|nurse|doctor"
    r"|physician|surgeon|dentist|lawyer|attorney|accountant|architect|artist|musician|writer|author|journalist"
    r"|editor|chef|cook|student|scientist|researcher|analyst|consultant|manager|director|founder|carpenter|plumber"
    r"|electrician|mechanic|pilot|driver|farmer|translator|photographer|librarian|therapist|psychologist|pharmacist"
    r"|veterinarian|administrator|salesperson|parent|mother|father|widow|widower|man|woman)\b"
)


def category_of(statement: str) -> Category:
    """Return what a statement is about."""
    line = _FIRST_PERSON.sub("", normal(statement), count=1)
    if single_value(statement) is not None or _PROFESSION.match(line):
        return Category.IDENTITY
    if _LIKING.search(line):
        return Category.PREFERENCE
    if _WORK.search(line):
        return Category.PROJECT
    return Category.IDENTITY if _SELF.search(line) else Category.PREFERENCE
