"""The speaker in the third person: ``I live in Ghent`` becomes ``Lives in Ghent``. English; all else stays as it is."""

import re

from shared.text.languages import ENGLISH, empty_words, language_of
from shared.text.words import EMPTY, WORD, word_set

_SELF_OPENING = re.compile(
    r"^(?:(?:oh|ah|and|so|but|well|also|plus|btw|by the way|hi|hey|hello|ok(?:ay)?|actually|anyway|um|yes|yeah|no)\b"
    r"(?:[,!.:]+\s*|\s+(?=(?:i|my)\b)))+",
    re.IGNORECASE,
)
_SHORT_FORMS = {"m": "am", "ve": "have", "ll": "will", "d": "would"}
# Without its apostrophe too, where that is no word of its own.
_SHORT = re.compile(r"\b(i)(?:['’](m|ve|ll|d)|(m|ve))\b", re.IGNORECASE)
_BEGINS = re.compile(r"(?P<who>I|my)\s+(?P<rest>\S.*)", re.IGNORECASE | re.DOTALL)
_ADVERBS = word_set(
    "always never also just really usually often only still currently now both mostly already no longer"
)
_VERBS = {
    "am": "is", "are": "is", "have": "has", "do": "does", "were": "was", "don't": "does not", "can't": "cannot",
    "haven't": "has not", "go": "goes", "gotta": "has to", "wanna": "wants to", "gonna": "is going to",
}  # fmt: skip
_VERBS |= {word.replace("'", ""): turned for word, turned in _VERBS.items() if "'" in word}
_UNCHANGED = word_set(
    "will would can cannot could should must may might shall had did was won't wouldn't couldn't went got made took"
    " came saw knew thought felt found left lost told gave kept ran ate drank drove wrote read spoke bought brought met"
    " sat stood slept paid sent heard held began became broke chose fell forgot grew led understood won sold spent said"
    " put set cut hit let quit wore swam sang taught lent dealt fed fought fled flew hid hung laid lay lit rode rang"
    " rose shot shut stole stuck tore threw woke bent blew drew hurt meant spread caught swept bred dug spun"
    " wont wouldnt couldnt shouldnt mustnt didnt wasnt hadnt aint"
)
"""Verbs that are the same in the third person: helping ones, and past forms without "ed"."""
_PERSONS = {"me": "them", "my": "their", "mine": "theirs", "myself": "themselves"}
_PERSONS |= {"us": "them", "our": "their", "ours": "theirs"}
_PERSON = re.compile(rf"\b(?:{'|'.join(_PERSONS)})\b", re.IGNORECASE)
_AGAIN = re.compile(
    r"\b(?:i|we)\b|^(?:and|or)\b|\b(?:and|but|or|so) (?:always |never |also |often |then |just )?(?:am|have|do|work"
    r"|live|own|run|like|love|hate|need|want|prefer|study|teach|play|keep|use|speak|write|read|make|go|eat|drink|sleep"
    r"|drive|ride|help|know|can['’]?t)\b",
    re.IGNORECASE,
)
"""Where the speaker does a second thing: two verbs would have to be turned, and it stays as it was said."""
_EXPLAINS = re.compile(r"(?:mean|guess|think|suppose|wish|hope|bet|swear|said|say|told you|wonder)\b", re.IGNORECASE)
"""What follows is what is told, and stays as it was said: "I mean my sister's dog"."""
_LIKE_ENGLISH = ("it", "es", "fr", "pt", "nl", "pl", "de", "cs")


def in_third_person(text: str, name: str = "") -> str:
    """Return a statement as said of somebody: ``I live in Ghent`` becomes ``Lives in Ghent``, with a name before it.

    Only where it begins with the speaker, in English; any other stays in its words.
    """
    expanded = _SHORT.sub(
        lambda match: f"{match[1]} {_SHORT_FORMS[(match[2] or match[3]).lower()]}", _SELF_OPENING.sub("", text)
    )
    begins = _BEGINS.fullmatch(expanded)
    if begins is None or _EXPLAINS.match(begins["rest"]) or _AGAIN.search(begins["rest"]) or not _is_english(expanded):
        return text
    words = begins["rest"].split(" ")
    speaks = begins["who"].lower() == "i"
    if speaks:
        at = next((at for at, word in enumerate(words) if word.lower() not in _ADVERBS), 0)
        if _OTHER_ENGLISH.match(" ".join(words[at:])):
            return text
        words[at] = _verb(words[at])
    # "US" and "ME" are places.
    predicate = _PERSON.sub(
        lambda match: match[0] if match[0] in ("US", "ME", "MY") else _PERSONS[match[0].lower()], " ".join(words)
    )
    who = name if speaks else f"{name}'s"
    return f"{who} {predicate}" if name else predicate[:1].upper() + predicate[1:]


_OTHER_ENGLISH = re.compile(
    r"(?:be|been|dey|don|fit|wan|sabi|go (?:call|come|do|see|buy|take|give|tell|find|send|try|collect|pay))\b",
    re.IGNORECASE,
)
"""Verbs of pidgin and of dialects, which have other forms: "I be chairman", "I go call am"."""


def _is_english(text: str) -> bool:
    words = {word.lower() for word in WORD.findall(text)} - EMPTY
    foreign = (words & empty_words(code) for code in _LIKE_ENGLISH)
    return language_of(text) == ENGLISH and text.isascii() and not any(len(found) > 1 for found in foreign)


def _verb(word: str) -> str:
    lowered = word.lower().replace("’", "'")
    if lowered in _VERBS:
        return _VERBS[lowered]
    if not lowered.isalpha() or lowered.endswith("ed") or lowered in _UNCHANGED:
        return word
    if lowered.endswith(("s", "x", "ch", "sh", "z", "o")):
        return word + "es"
    return word[:-1] + "ies" if lowered.endswith("y") and lowered[-2:-1] not in "aeiou" else word + "s"
