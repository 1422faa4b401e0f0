"""Where in a message texts of others stand that nobody marked: letters, chats, tables, examples, things handed in.

Told by how their lines are made. What follows behind an empty line is the writer's again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from shared.text.languages import words_of_self
from shared.text.words import word_set

_LETTER = re.compile(
    r"^[*_ \t]*(?:from|to|subject|cc|sent|date|von|an|betreff|gesendet|datum|de|à|objet|envoyé|para|asunto|enviado|da|a"
    r"|oggetto|van|aan|onderwerp)[*_ \t]*:[*_ \t]*\S",
    re.IGNORECASE,
)
_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[ \u202f]?[AP]\.?M\.?)?"
_STAMPED = re.compile(
    rf"^[\u200e \t]*[\[(]?(?:\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},?[ \u202f]+)?{_TIME}[\])]?[ \t]*(?:[-–—][ \t]*)?"
    r"(?:[^\n:]{1,40}:|<[^<>\n]{1,40}>)[ \t]",
    re.IGNORECASE,
)
"""A line of an exported chat: a time, who, and what they said."""
_SIGNED = re.compile(
    rf"^[^\W\d_][^\n:]{{0,40}}[ \t]+\[?(?:(?:today|yesterday)[ \t]+)?(?:at[ \t]+)?{_TIME}\]?[ \t]*$", re.IGNORECASE
)
"""A line of a copied chat: who, and a time; what they said stands below."""
_SAID = re.compile(r"^[*_ \t]*([^\W\d_][\w.'’-]+(?: [^\W\d_][\w.'’-]*){0,2})[*_]*[ \t]?:[*_]*[ \t]+(\S.*)$")
_LAST_LABEL = re.compile(r"^[ \t]*[*_#]*[^\W\d_]\w*(?: \w+)?[*_]*[ \t]?[:：][*_]*[ \t]*$")
_TO_SOMEBODY = re.compile(r"\b(?:you|your|du|dir|dein\w*|tu|te|vous|votre|je|jouw)\b|[?？]", re.IGNORECASE)
_FIELDS = re.compile(r"\t|;|,(?!\s)")
_LIST = re.compile(r"^[ \t]*[-*•+]")
_LONGEST_FIELD = 4
_FEWEST_ROWS = 3
_THINGS = word_set(
    "ticket email mail message review report transcript log logs article post comment application complaint contract"
    " agreement listing abstract excerpt chapter minutes patient candidate applicant customer client tenant memo"
    " statement testimony interview bewerbung nachricht vertrag rezension bericht protokoll artikel correo mensaje"
    " informe contrato reseña artículo courriel rapport contrat"
)
_ALSO_OWN = word_set("cv resume résumé lebenslauf essay story poem letter brief carta lettre profile bio")
"""Things that people head so when they are theirs; somebody else's have a name beside them."""
_FROM_THEIRS = re.compile(r"\b(?:from|by|of|for|to) (?:my|our)\b", re.IGNORECASE)
_SELF = frozenset().union(*(words_of_self(one) for one in ("en", "de", "fr", "es", "it", "pt", "nl"))) - (
    word_set("on ho soy eu ma")
)
"""Without those that are words of English too."""
_LONGEST_HEADING = 8
_SIGNATURE = 4
"""Words of a letter's last line, at most."""


def pasted(lines: Sequence[str], keys: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield where such a text begins and ends; ``keys`` are lines with a label of the user's."""
    yield from _letters(lines, _ends(lines))
    yield from _chats(lines, keys)
    yield from _tables(lines)
    yield from _examples(lines, keys)
    yield from _things(lines, _ends(lines))


def speaks_of_self(text: str) -> bool:
    """Whether words stand in it with which speakers mean themselves."""
    return not _SELF.isdisjoint(re.findall(r"[^\W_]+", text.casefold()))


def _end(lines: Sequence[str], place: int) -> int:
    """Return where the paragraph of a line ends."""
    return next((at for at in range(place, len(lines)) if not lines[at].strip()), len(lines))


def _ends(lines: Sequence[str]) -> list[int]:
    """Return where the paragraphs end."""
    return [at for at, line in enumerate(lines, 1) if line.strip() and not "".join(lines[at : at + 1]).strip()]


def _letters(lines: Sequence[str], paragraphs: Sequence[int]) -> Iterator[tuple[int, int]]:
    heads = [place for place, line in enumerate(lines) if _LETTER.match(line)]
    if not any(place + 1 == following for place, following in pairwise(heads)):
        return
    start = heads[0]
    while start and lines[start - 1].startswith("---"):
        start -= 1
    ends = [at for at in paragraphs if at > heads[-1]]
    # The heads' own paragraph, when nothing but them stands in it, is none of the letter's text.
    signed = [at for at in ends if len(lines[at - 1].split()) <= _SIGNATURE and lines[at - 1].rstrip()[-1] not in ".!?:"
              and not _LETTER.match(lines[at - 1])]  # fmt: skip
    is_alone = not any(line.strip() for line in lines[:start])
    least = 3 if _LETTER.match(lines[ends[0] - 1] if ends else "") else 2
    if signed:
        yield start, signed[-1]
    elif is_alone and len(ends) >= least:
        yield start, ends[-2]
    else:
        yield start, len(lines)


def _chats(lines: Sequence[str], keys: Collection[int]) -> Iterator[tuple[int, int]]:
    stamped = [place for place, line in enumerate(lines) if _STAMPED.match(line)]
    signed = [
        place for place, line in enumerate(lines[:-1])
        if _SIGNED.match(line) and lines[place + 1].strip() and not _SIGNED.match(lines[place + 1])
    ]  # fmt: skip
    said = [(place, found[1], found[2]) for place, line in enumerate(lines)
            if place not in keys and (found := _SAID.match(line)) and not speaks_of_self(found[1])]  # fmt: skip
    names = Counter(name for _, name, _ in said)
    # Fields of a form ("Job: nurse") have each name once, and nobody answers to them.
    of_self = {place for place, _, text in said if speaks_of_self(text)}
    to_others = {place for place, _, text in said if _TO_SOMEBODY.search(text)}
    answers = of_self and to_others and len(of_self | to_others) > 1
    is_talk = len(names) > 1 and all(not name[0].islower() for name in names) and (
        answers or (max(names.values()) > 1 and (of_self or to_others))
    )  # fmt: skip
    for places in (stamped, signed, [place for place, *_ in said] if is_talk else []):
        if len(places) > 1:
            yield places[0], _end(lines, places[-1])


def _tables(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(lines):
        separators = sorted(_FIELDS.findall(lines[start]))
        end = start + 1
        while separators and end < len(lines) and sorted(_FIELDS.findall(lines[end])) == separators:
            end += 1
        head = _FIELDS.split(lines[start])
        if (
            end - start >= _FEWEST_ROWS
            and len(set(separators)) == 1
            and not _LIST.match(lines[start])
            and not speaks_of_self(lines[start])
            and all(0 < len(field.split()) <= _LONGEST_FIELD and ":" not in field for field in head)
        ):
            yield start, end
        start = end


def _examples(lines: Sequence[str], keys: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield a text with its label before a last label that waits for what a model says of it."""
    if keys or not lines or not _LAST_LABEL.match(lines[-1]) or speaks_of_self(lines[-1]):
        return
    for place, line in enumerate(lines[:-1]):
        found = _SAID.match(line)
        if (found and not speaks_of_self(found[1])) or (
            _LAST_LABEL.match(line) and not speaks_of_self(line) and lines[place + 1].strip()
        ):
            yield place, len(lines)
            return


def _things(lines: Sequence[str], paragraphs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield what stands below a line that names a thing of somebody else, where something is asked behind it."""
    last = paragraphs[-2] if len(paragraphs) > 1 else 0
    asked = "\n".join(lines[last:])
    if not re.search(r"[?？]", asked) and speaks_of_self(asked):
        return
    for place, line in enumerate(lines[: max(last - 1, 0)]):
        words = re.findall(r"[^\W_]+", line.casefold())
        if not line.rstrip().endswith((":", "：")) or not 0 < len(words) <= _LONGEST_HEADING:
            continue
        is_thing = not _THINGS.isdisjoint(words) or (len(words) > 1 and not _ALSO_OWN.isdisjoint(words))
        if not is_thing or speaks_of_self(_FROM_THEIRS.sub(" ", line)):
            continue
        yield place, last
        return
