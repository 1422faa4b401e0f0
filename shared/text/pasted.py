"""Where in a message texts of others stand that nobody marked: letters, chats, tables, examples, things handed in.

Told by how their lines are made. What follows behind an empty line is the writer's again.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise

from shared.text.languages import speaks_of_self
from shared.text.words import word_set

LETTER = re.compile(
    r"^[*_ \t]*(?:from|to|subject|cc|sent|date|von|an|betreff|gesendet|datum|de|à|objet|envoyé|para|asunto|enviado|da|a"
    r"|oggetto|van|aan|onderwerp)[*_ \t]*:[*_ \t]*\S",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a letter's head."""
LAST_LABEL = re.compile(r"^[ \t]*[*_#]*[^\W\d_]\w*(?: \w+)?[*_]*[ \t]?[:：][*_]*[ \t]*$")
"""A label of one word or two with nothing behind it."""
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
_IS_SPOKEN = re.compile(rf"(?!{_SIGNED.pattern})[ \t]*\S", re.IGNORECASE)
_SPOKEN_LINE = re.compile(r"^[*_ \t]*([^\W\d_][\w.'’-]+(?: [^\W\d_][\w.'’-]*){0,2})[*_]*[ \t]?:[*_]*[ \t]+(\S.*)$")
_TO_SOMEBODY = re.compile(r"\b(?:you|your|du|dir|dein\w*|tu|te|vous|votre|je|jouw)\b|[?？]", re.IGNORECASE)
_FIELDS = re.compile(r"\t|;|,(?!\s)")
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
_LONGEST_HEADING = 8
_SIGNATURE = 4
"""Words of a letter's last line, at most."""


def pasted(lines: Sequence[str], keys: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield where such a text begins and ends; ``keys`` are lines with a label of the user's."""
    ends = [at for at, line in enumerate(lines, 1) if line.strip() and not "".join(lines[at : at + 1]).strip()]
    yield from _letters(lines, ends)
    spoken = [(number, found[1], found[2]) for number, line in enumerate(lines)
            if number not in keys and (found := _SPOKEN_LINE.match(line)) and not speaks_of_self(found[1])]  # fmt: skip
    # Whether lines with names before them answer each other; fields of a form ("Job: nurse") do not.
    names = Counter(name for _, name, _ in spoken)
    of_self = {number for number, _, text in spoken if speaks_of_self(text)}
    to_others = {number for number, _, text in spoken if _TO_SOMEBODY.search(text)}
    is_of_people = len(names) > 1 and not any(name[0].islower() for name in names) and bool(of_self | to_others)
    is_answered = bool(of_self and to_others and len(of_self | to_others) > 1)
    is_talk = is_of_people and (max(names.values()) > 1 or is_answered)
    for numbers in (
        [number for number, line in enumerate(lines) if _STAMPED.match(line)],
        [
            number
            for number, (line, below) in enumerate(pairwise(lines))
            if _SIGNED.match(line) and _IS_SPOKEN.match(below)
        ],
        [number for number, *_ in spoken] if is_talk else [],
    ):
        if len(numbers) > 1:
            yield numbers[0], next(end for end in ends if end > numbers[-1])
    yield from _tables(lines)
    # A text with its label before a last label, which waits for what a model says of it.
    if not keys and LAST_LABEL.match(lines[-1]) and not speaks_of_self(lines[-1]):
        labels = [number for number, (line, below) in enumerate(pairwise(lines))
                  if LAST_LABEL.match(line) and below.strip() and not speaks_of_self(line)]  # fmt: skip
        yield from ((number, len(lines)) for number in sorted([*(number for number, *_ in spoken), *labels])[:1])
    yield from _things(lines, ends[-2] if len(ends) > 1 else 0)


def _letters(lines: Sequence[str], paragraphs: Sequence[int]) -> Iterator[tuple[int, int]]:
    heads = [number for number, line in enumerate(lines) if LETTER.match(line)]
    if not any(number + 1 == following for number, following in pairwise(heads)):
        return
    start = heads[0]
    start -= start > 0 and lines[start - 1].startswith("---")
    # The heads' own paragraph, when nothing but them stands in it, is none of the letter's text.
    ends = [at for at in paragraphs if at > heads[-1] + 1]
    last = [lines[at - 1].rstrip() for at in ends]
    signed = [at for at, line in zip(ends, last, strict=True)
              if len(line.split()) <= _SIGNATURE and not line.endswith((".", "!", "?", ":"))]  # fmt: skip
    is_alone = not "".join(lines[:start]).strip()
    yield start, signed[-1] if signed else ends[-2] if is_alone and len(ends) > 1 else len(lines)


def _tables(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for separators, rows in groupby(range(len(lines)), key=lambda number: sorted(_FIELDS.findall(lines[number]))):
        start, *more = rows
        if (
            len(more) + 1 >= _FEWEST_ROWS
            and len(set(separators)) == 1
            and not re.match(r"[ \t]*[-*•+]", lines[start])
            and not speaks_of_self(lines[start])
            and all(0 < len(one.split()) <= _LONGEST_FIELD and ":" not in one for one in _FIELDS.split(lines[start]))
        ):
            yield start, more[-1] + 1


def _things(lines: Sequence[str], last: int) -> Iterator[tuple[int, int]]:
    """Yield what stands below a line that names a thing of somebody else, where something is asked behind it."""
    question = "\n".join(lines[last:])
    if not re.search(r"[?？]", question) and speaks_of_self(question):
        return
    for number, line in enumerate(lines[: max(last - 1, 0)]):
        words = re.findall(r"[^\W_]+", line.casefold())
        if (
            line.rstrip().endswith((":", "："))
            and len(words) <= _LONGEST_HEADING
            and (not _THINGS.isdisjoint(words) or (len(words) > 1 and not _ALSO_OWN.isdisjoint(words)))
            and not speaks_of_self(_FROM_THEIRS.sub(" ", line))
        ):
            yield number, last
            return
