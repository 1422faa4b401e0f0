"""Who "he" and "she" are in what somebody tells, so that a statement can stand alone. English; all else stays as said.

"Mam has me up again. She's on warfarin" becomes "Mam's on warfarin": kept without it, it would be nobody's, or in the
wrong hands anybody's. Whom a talk is about is followed from one message to the next; where two may be meant, or
somebody who was never named, the words stay as they are: a wrong name is worse than none.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from shared.text.languages import ENGLISH, language_of
from shared.text.persons_and_places import is_place
from shared.text.words import MONTHS, WEEKDAYS, word_set

_SHE = (
    "mother|mum|mom|mam|mama|mammy|mummy|wife|missus|sister|daughter|girlfriend|aunt(?:ie|y)?|grandmother|grandma|gran"
    "|granny|nan|nana|niece|stepmother|stepmum|stepdaughter|fiancée|landlady|midwife|girl|woman|lady|lass|lassie|actress"
)
_HE = (
    "father|dad|daddy|papa|husband|hubby|brother|son|boyfriend|uncle|grandfather|grandpa|grandad|granddad|nephew"
    "|stepfather|stepdad|stepson|fiancé|landlord|boy|man|guy|bloke|lad|actor"
)
_RELATED = (
    "partner|spouse|ex|friend|best friend|mate|cousin|boss|manager|supervisor|colleague|coworker|neighbou?r|roommate"
    "|flatmate|housemate|therapist|child|kid|baby|toddler|eldest|oldest|youngest|twin|stepchild|grandchild|godchild|pet"
    "|dog|cat|puppy|pup|kitten|horse|pony|rabbit|bird|parrot|hamster|TA"
)
_OF_A_TRADE = (
    "nurse|doctor|gp|dentist|vet|teacher|tutor|coach|trainer|nanny|babysitter|childminder|carer|caregiver|cleaner"
    "|lawyer|solicitor|consultant|surgeon|physio|counsellor|priest|builder|plumber|person|somebody|someone|student|pupil"
    "|client|customer|patient|employee|intern|singer|author|parent|relative"
)
_ANYBODY = f"(?P<she>{_SHE})|(?P<he>{_HE})|{_RELATED}|{_OF_A_TRADE}"
_NAME = r"[A-Z][a-zà-ÿ]+(?:-[A-Z][a-zà-ÿ]+)?"
_DOES = (
    "is|was|has|had|will|would|can|can['’]?t|cannot|could|won['’]?t|does|doesn['’]?t|did|didn['’]?t|isn['’]?t|wasn['’]?t"
    "|hasn['’]?t|said|says|told|wants|needs|likes|loves|hates|thinks|knows|goes|went|got|gets|lives|works|takes|took"
    "|starts|started|turned|turns|came|comes|keeps|plays|eats|called|rang|asked|moved|left|died|must|should|never|always"
    "|and I|and me"
)
_MENTION = re.compile(
    rf"\b(?P<whose>(?i:my|our|me|the|an?|his|her|their|your|\w+['’]s))\s+(?P<what>(?:[a-z-]+\s+)?(?i:{_ANYBODY})(?:-in-law)?)(?P<many>s?)\b"
    rf"(?:,?\s+(?P<called>{_NAME}))?(?!\s+of\b)"
    rf"|\b(?P<bare>(?i:mam|mum|mom|mummy|mammy|mama|gran|granny|grandma|nan|nana))s?\b"
    rf"|\b(?P<bare_he>(?i:dad|daddy|grandad|granddad|grandpa))s?\b"
    rf"|\b(?P<title>(?P<mrs>(?i:mrs|ms|miss|sister|aunt(?:ie)?))|(?P<mr>(?i:mr|brother|uncle))|(?i:dr|br|sr|prof))"
    rf"\.?\s+(?P<titled>{_NAME}|(?<=(?i:mr|rs|ms|dr)\s)[a-z]{{4,}})"
    rf"|(?P<acts>\b{_NAME}(?=['’]s\b|\s+(?:{_DOES})\b))"
    rf"|(?P<beside>(?<=\bme and )\b{_NAME}|(?<=\bcalled ){_NAME}|(?<=\bnamed ){_NAME}"
    rf"|(?:(?<=\b[Dd]id )|(?<=\b[Dd]oes )|(?<=\b[Hh]as )|(?<=\b[Ii]s )|(?<=\b[Ww]ill )|(?<=\b[Cc]an )){_NAME}(?= \w))"
    rf"|(?P<name>\b{_NAME})"
)
_PRONOUN = re.compile(
    r"\b(?:(?P<who>he|she)(?P<short>['’](?:s|d|ll))?|(?P<joined>hes|shes)|(?P<of>(?:^|(?<=and )|(?<=but ))(?:his|her)))"
    r"(?=\s)(?! (?:or|and) s?he\b)(?!/)",
    re.IGNORECASE,
)
_BEHIND_PLACE = re.compile(
    r"\b(?:in(?:to)?|at|near|from|to|on|since|until|of|speaks?|the)\s+(?:(?-i:[A-Z])[\w-]*[.,]?\s+)*$|\bSt\.?\s+$",
    re.IGNORECASE,
)
_OF_A_PERSON = re.compile(
    r"\s+(?:said|says|told|wants|likes|loves|hates|thinks|knows|lives|rang|asked|died|and I)\b"
    r"|.{0,80}?\b(?:he|she|his|her|hers|him)\b|['’]s an? (?:\w+ )?(?:lad|lass|boy|girl|man|woman|friend|mate)\b"
)
"""What follows a name that is a person's: any word has a capital at the beginning."""
_NOWHERE_ELSE = re.compile(r"\b(?:shes?|he['’]s|hes)\b", re.IGNORECASE)
"""Words of no other language: what is typed as it is spoken may look like German."""
_YOUR = re.compile(r"\byour ", re.IGNORECASE)
_MANY = re.compile(r"\s+(?:are|were|have|both|all|and|don['’]?t|do)\b", re.IGNORECASE)
"""Follows several; with any other word the apostrophe is only left out: "my sons school"."""
_NAME_ALONE = re.compile(rf"\W*(?P<name>{_NAME})\W*")
_OWN = word_set("my our me")
_NO_NAMES = word_set(
    "i i'm i've i'll i'd he she it we you they the this that these those there here yes no ok okay hi hey hello thanks"
    " thank please sorry oh well so and but or also then now what who when where why how which can could do does did is"
    " are was were will would should have has had my our your his her its their if as at in on to for of not just only"
    " monday tuesday wednesday thursday friday saturday sunday christmas easter god mr mrs ms dr everyone everybody"
    " nobody someone something anything nothing one two three both all some any each every today tomorrow yesterday"
) | {word.lower() for word in (*MONTHS, *WEEKDAYS)}
_HAS = re.compile(r"\s+(?:just |already |never |always |also )?(?:got|been|had|gone|done|lost|moved|started|become)\b")
_HAD = re.compile(r"\s+(?:an?|the|to|no|been|had)\b")
_SPOKEN_OF_BEFORE = re.compile(
    r"(?!.*\b(?:i|i['’]?m|i['’]?ve|you|we|it|that['’]?s|my)\b)(?:\S+\s+){3,}(?:and|but|or|so|because|cos|if|when|as|that|then|till|until)\s+",
    re.IGNORECASE | re.DOTALL,
)
"""Somebody else is spoken of first: "jude won't touch chickpeas but he'll eat lentils"."""
_IS = re.compile(
    r"\b(?:is|was|as|am|are|be|been|being|i['’]?m|s|not|becom(?:es?|ing)|became)\s+(?:now |just |only )?$",
    re.IGNORECASE,
)
"""Before a trade: "Tom is a nurse" speaks of one, not of two."""
_GOES_ON = re.compile(
    r"(?P<joint>(?:and|but|also|so|plus) )?(?:is|has|eats|drinks|lives|works|takes|drives|goes|likes|loves|hates"
    r"|plays|sleeps|speaks|keeps|comes|turns|gets|doesn['’]?t|does not)"
    r" (?=\w)(?!(?:it|this|that|there|he|she|you|i|we|they|any|your|my)\b)",
    re.IGNORECASE,
)
"""Says no "I", and of a speaker it would be "eat"; what anybody could say of themselves is not among them."""
_FORGOTTEN = 12
"""Statements after which somebody is no longer meant."""


@dataclass(eq=False)
class _Person:
    called: str
    """As it goes in place of the pronoun; empty for somebody of whom only "he" or "she" is known, or "a girl"."""
    genders: frozenset[str]
    last: int
    """The statement in which they were last spoken of."""
    name: str = ""
    is_told: bool = False
    """Whether it is surely somebody, and no "a girl" or a word with a capital."""
    opens: bool = False
    """Whether the statement in which they were last spoken of begins with them."""
    times: int = 1

    def meant(self, gender: str, at: int) -> None:
        """Take down that they are "he" or "she" in a statement."""
        self.genders, self.last, self.times = frozenset({gender}), at, self.times + 1


class Antecedents:
    """Follows whom one speaker tells of, statement by statement."""

    def __init__(self, speakers: Collection[str]) -> None:
        """``speakers``: names of those who talk, who are no third person."""
        self._no_names = _NO_NAMES | {word.lower() for name in speakers for word in name.split()}
        self._persons: list[_Person] = []
        self._at = 0

    def named(self, statement: str) -> str:
        """Return the next statement with somebody who was told of in place of the first "he" or "she" that is them."""
        self._at += 1
        if language_of(statement) != ENGLISH and not _NOWHERE_ELSE.search(statement):
            return statement
        alone = _NAME_ALONE.fullmatch(statement)
        if alone is not None and self._persons and self._is_name(alone["name"]) and not self._persons[-1].name:
            self._call(self._persons[-1], alone["name"])
            return statement
        went_on = self._with_person_before(statement)
        if went_on != statement:
            return went_on
        told, begins, is_known = "", 0, False
        found = sorted(
            (*_PRONOUN.finditer(statement), *_MENTION.finditer(statement)),
            key=lambda one: (one.start(), one.re is _MENTION),
        )
        for one in found:
            if one.re is _MENTION:
                is_known |= self._note(statement, one)
                continue
            gender = "she" if one[0].lower() in ("her", "shes") or one[0][:1].lower() == "s" else "he"
            here = [person for person in self._persons if person.last == self._at and gender in person.genders]
            if is_known or here:
                is_known = True
                if len(here) == 1:
                    here[0].meant(gender, self._at)
                continue
            is_known = True
            person = self._meant(gender)
            if person is not None and person.called and not _SPOKEN_OF_BEFORE.fullmatch(statement[: one.start()]):
                told += statement[begins : one.start()] + _in_place(person.called, one, statement)
                begins = one.end()
        return told + statement[begins:]

    def hear(self, question: str) -> None:
        """Take down whom the speaker is asked about: "Did Tara move out?", "How is your mum?"."""
        if language_of(question) == ENGLISH:
            for one in _MENTION.finditer(_YOUR.sub("my ", question)):
                self._note(one.string, one)

    def _with_person_before(self, statement: str) -> str:
        """Return a statement that goes on without a subject with the one person of the statement before."""
        opening = _GOES_ON.match(statement)
        before = [one for one in self._persons if one.last == self._at - 1 and one.is_told]
        if opening is None or len(before) != 1 or not before[0].called:
            return statement
        before[0].last = self._at
        before[0].times += 1
        return (
            f"{opening['joint'] or ''}{before[0].called} {statement[opening.end('joint') if opening['joint'] else 0 :]}"
        )

    def _note(self, statement: str, found: re.Match[str]) -> bool:
        """Take down that somebody is mentioned; whether it is a person, as far as can be told."""
        genders = frozenset({"he", "she"})
        if found["what"] is not None:
            if found["she"] or found["he"]:
                genders = frozenset({"she" if found["she"] else "he"})
            whose = found["whose"].lower()
            if whose in ("a", "an") and _IS.search(statement[: found.start()]):
                return False
            # "A girl" and "his mum" are somebody else's, and "the girl" of the next sentence may be another.
            is_told = whose in _OWN or (whose == "the" and " " not in found["what"])
            if whose in ("his", "her"):
                self._meant("he" if whose == "his" else "she")
            is_told &= not (found["many"] and _MANY.match(statement, found.end()))
            called = f"{found['whose'].lower()} {found['what']}" if is_told else ""
            name = found["called"] if found["called"] and self._is_name(found["called"]) else ""
        elif found["bare"] or found["bare_he"]:
            called, name = found["bare"] or found["bare_he"], ""
            genders = frozenset({"she" if found["bare"] else "he"})
        elif found["title"]:
            called = name = found[0]
            if found["mrs"] or found["mr"]:
                genders = frozenset({"she" if found["mrs"] else "he"})
        else:
            name, before = found[0], statement[: found.start()]
            is_first = not before.strip(" \"'(-*")
            if not self._is_name(name) or (not found["beside"] and _BEHIND_PLACE.search(before)):
                return False
            is_told = found["acts"] and (not is_first or _OF_A_PERSON.match(statement, found.end()))
            if is_first and not is_told:
                return False
            called = name if is_told or found["beside"] else ""
        known = next((one for one in self._persons if self._is_same(one, called, name)), None)
        if known is None:
            known = _Person(called, genders, self._at, is_told=bool(called))
            if name and called != name:
                self._call(known, name)
            known.name = name
        else:
            self._persons.remove(known)
            known.times += 1
            known.called, known.is_told = known.called or called, known.is_told or bool(called)
        known.last, known.opens = self._at, not statement[: found.start()].strip()
        self._persons.append(known)
        return True

    def _is_same(self, one: _Person, called: str, name: str) -> bool:
        return bool((name and one.name == name) or (called and one.called.lower() == called.lower()))

    def _is_name(self, name: str) -> bool:
        return name.lower() not in self._no_names and not is_place(name)

    def _call(self, person: _Person, name: str) -> None:
        person.name = name
        person.called = f"{person.called} {name}" if person.called else name

    def _meant(self, gender: str) -> _Person | None:
        """Return the one who is meant; None where it may be several, or somebody who was not named."""
        may_be = [one for one in self._persons if gender in one.genders and self._at - one.last <= _FORGOTTEN]
        last = max((one for one in may_be if one.is_told), key=lambda one: one.last, default=None)
        if last is None:
            self._persons.append(_Person("", frozenset({gender}), self._at, is_told=True))
            return None
        begins = last.opens and last.last == self._at - 1
        for one in may_be:
            if one is last:
                continue
            if one.is_told:
                is_other = one.last >= last.last or (one.times >= last.times and not (begins and one.called))
            else:
                is_other = one.last >= self._at - 1 or (one.last >= last.last - 1 and last.times == 1)
            if is_other:
                # Somebody who was never named may well still be the one.
                for unnamed in (person for person in may_be if person.is_told and not person.called):
                    unnamed.times += 1
                return None
        last.meant(gender, self._at)
        return last


def _in_place(called: str, pronoun: re.Match[str], statement: str) -> str:
    begins = not statement[: pronoun.start()].strip() and pronoun[0][:1].isupper()
    who = called[:1].upper() + called[1:] if begins else called
    if pronoun["of"]:
        return f"{who}'s"
    short = (pronoun["short"] or "")[1:].lower()
    if pronoun["joined"] or short == "s":
        return f"{who} {'has' if _HAS.match(statement, pronoun.end()) else 'is'}"
    if short == "d" and _HAD.match(statement, pronoun.end()):
        return f"{who} had"
    return f"{who} will" if short == "ll" else who + (pronoun["short"] or "")
