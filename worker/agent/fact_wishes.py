"""What users want done from now on, and what they have decided: sentences that are kept as they were said.

A wish lasts where it says so: ``always``, ``never``, ``from now on``, ``for next time``; what is asked for once is not
one. A decision is one where it is called so.
"""

from __future__ import annotations

import re

from shared.facts.categories import Category
from shared.text.words import MONTHS, content_stems
from worker.agent import fact_words as words
from worker.agent.fact_grammar import expand, turned

_ASSISTANT_DOES = (
    r"(?:answer|reply|respond|page|e-?mail|warn|remind|notify|suggest|recommend|propose|include|mention|explain"
    r"|ask|address|use"
    r"|call|write|translate|format|touch|delete|remove|commit|push|deploy|restart|merge|schedule|round"
    r"|(?:tell|give|send|show|keep|put|say|check|contact|ring|phone|text|ping|mail|speak|talk|start|end|add|list"
    r"|order|book"
    r"|deliver|ship|leave|cook|serve|assume|offer|correct|log|run|apply)\b(?=.*\b(?:me|my|us|our|i|we)\b))"
)
_FROM_NOW_ON = (
    r"(?:from (?:now|here|today) on(?:wards?)?|going forward|by default|for next time|for the next (?:ones?|times?)"
    rf"|from (?:{'|'.join(MONTHS)}) on(?:wards?)?|for all (?:further|future|the next) \w+|every (?:single )?time you)"
)
_AT_A_BOUNDARY = r"(?:^|[:;,–—-]\s+|\b(?:and|so|but|also|oh|ok|pls)\s+)"
_WISHES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # "always warn me first", "please never page me for staging"
        rf"(?:{_AT_A_BOUNDARY}(?=please|pls)|^|: )(?P<wish>(?:please |pls )?(?:always|never) "
        rf"(?:please )?{_ASSISTANT_DOES}\b(?!ed).+)",
        r"(?:^|: )(?P<wish>(?:please |pls )?(?:always|never) (?!mind|again|give|stop|know|ever|been|had|seen"
        r"|trust|thought|forget)[a-z]+(?<!ed) .*\b(?:without|unless|before|after)\b.*)",
        # "please no emojis in code", "no mushrooms, ever", "no more small talk"
        rf"{_AT_A_BOUNDARY}(?P<wish>(?:please|pls),? no (?!problem|worries|need|idea|\w+ing\b)\S{{3,}}.*)",
        rf"{_AT_A_BOUNDARY}(?P<wish>(?:please |pls )?no (?:more )?(?!one\b|way\b|idea\b|matter\b)\w+"
        rf"(?: \w+){{0,3}},? (?:ever|under any circumstances|whatsoever)\b.*)",
        rf"{_AT_A_BOUNDARY}(?P<wish>(?:please |pls )?no more (?!than\b|of (?:this|that)\b)\w+.* please)$",
        # "do not ever …", "please stop calling me sir"
        rf"{_AT_A_BOUNDARY}(?P<wish>(?:please |pls )?(?:do not|stop) (?:ever {_ASSISTANT_DOES}"
        rf"|{_ASSISTANT_DOES}\b(?=.*\b(?:ever|any ?more|again)\b)).+)",
        r"^(?:please |pls )?(?P<wish>keep (?:your |the )?(?:answers|replies|explanations|it) (?:short|brief"
        r"|simple)\b.*)",
        r"^(?:please |pls )(?P<wish>(?:stop|keep|don't|do not) (?:calling|addressing|using|sending|suggesting"
        r"|your (?:answers|replies)|(?:it|answers|replies) (?:short|brief|simple)).*)",
        # "answer in Danish, please", "short answers please"
        rf"(?P<wish>^(?:please |pls |always )+(?:answer|reply|respond|write|talk|speak)\b.*\bin {words.TONGUES}\b.*)",
        r"^(?P<wish>(?:short|brief|long|detailed|formal|informal|simple|plain) (?:answers|replies|explanations)"
        r"(?:,? (?:please|pls|only)).*)",
        # "can you mail me instead of calling", "call me only after five"
        r"^(?:can|could|would|will) you (?:please )?(?P<wish>(?:e-?mail|mail|text|call|ring|phone|contact|message"
        r"|page|write|address) (?:to )?(?:me|us)\b.* (?:instead|rather than|in future|from now on)\b.*?)\?*$",
        r"^(?:please |pls )?(?P<wish>(?:e-?mail|mail|text|call|ring|phone|contact|message|page) (?:me|us) (?:only"
        r"|instead|always)\b.+)",
        r"^(?P<wish>(?:calls?|calling|phoning|e-?mails?|mails?|texting|texts?) (?:is|are) (?:fine|ok|okay|best"
        r"|better|no good|not ok)\b[^,;]*)",
    )
)
CONDITIONAL = re.compile(
    rf"^(?P<wish>when(?:ever)? (?:i|we) (?:am|are|feel|get|have|ask|say|write|do) [^?,]{{2,60}}?,? (?:please |pls )?"
    rf"(?:do not|never|always) (?:please )?{_ASSISTANT_DOES}\b.*[^?])$",
    re.IGNORECASE,
)
"""A wish for every time that something is so: ``when I am low, never send me lists``."""
_ANNOUNCES = re.compile(
    r"^(?:(?:here are|the|these|those|some|our|my|a few) )*(?:new |following )?(?:rules?|instructions?|guidelines"
    r"|preferences)\b.*\b(?:them|these|those|this|it)\b",
    re.IGNORECASE,
)
_LASTS = re.compile(
    rf"^(?!.*\bi['’]ll\b|.*\b(?:i|we|they|you|it|everything|things|life) (?:will|can|am|are|have|feel|is)\b)"
    rf".*\b{_FROM_NOW_ON}\b"
    rf"|^(?:please |pls )?(?:no|do not|{_ASSISTANT_DOES})\b.*\bin (?:the )?future\b",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"(?:^|\b(?:one|the|my|our|that['’]?s the|that is the|so the) )(?:(?:then )?decided|decision|rule)\b(?! (?:to"
    r"|on|that|against)\b)[^:.,!?]{0,25}:\s*(?P<what>.+)",
    re.IGNORECASE,
)
_POINTS = re.compile(r"\b(?:it|that|this|these|those|them|ones?|here|there)\b", re.IGNORECASE)
_LEAST_SAID = 2
"""Words of weight a wish must have; one that points at what was said before, twice as many."""
_NO_WISH = re.compile(
    r"\b(?:just this once|for now|only today|this time|i (?:think|guess|wish|hope)|would|could|should|might|maybe"
    r"|perhaps|my (?:boss|mother|father"
    r"|wife|husband) (?:says|said|told)|(?:he|she|they) (?:says?|said|told))\b|^if\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:oh|ah|ok|okay|and|but|so|also|well|nice|great|perfect|cool|right|thx|thanks|last one|one more thing"
    r"|btw|by the way|fyi"
    r"|heads up|for next time)\b[,:!.]*\s*)+(?=\S)",
    re.IGNORECASE,
)
_ASKED_OF_YOU = re.compile(r"^\W*(?:can|could|would|will) you\b", re.IGNORECASE)
_PLEASE = re.compile(r"^(?:please|pls),?\s+", re.IGNORECASE)
_TAIL = re.compile(r"(?:[\s,.!]|\b(?:please|pls|thx|thanks|thank you|ok)\b)+$", re.IGNORECASE)


def wish_of(sentence: str) -> tuple[str, Category] | None:
    """Return what a sentence wants from now on or decides, in the third person, or None where it does neither."""
    decided = _DECIDED.search(sentence)
    if decided and not sentence.endswith("?"):
        return f"decided: {_as_said(decided['what'])}", Category.PROJECT
    if _NO_WISH.search(_ASKED_OF_YOU.sub("", sentence)):
        return None
    said = _OPENING.sub("", expand(sentence))
    if said.endswith("?") and "you" not in said[:12].lower():
        return None
    wish = next((found["wish"] for one in (CONDITIONAL, *_WISHES) if (found := one.search(said))), None)
    if wish is None and _LASTS.search(expand(sentence)) and not sentence.endswith("?"):
        wish = _OPENING.sub("", expand(sentence)) if len(said) > 12 else None
    if wish is None or _ANNOUNCES.match(wish):
        return None
    if not stands_alone(wish):
        return None
    return f"wants: {_as_said(wish)}", Category.PREFERENCE


def stands_alone(statement: str) -> bool:
    """Whether a statement says enough to be understood without what was said before it."""
    least = 2 * _LEAST_SAID if _POINTS.search(statement) else _LEAST_SAID
    return len(content_stems(statement)) >= least


def _as_said(text: str) -> str:
    said = turned(_TAIL.sub("", _PLEASE.sub("", text)))
    return said[:1].lower() + said[1:] if said[1:2].islower() else said
