"""Which facts a context needs, in which order, and which of them give way when the window is full.

Pure rules over values. Identity matters when a message speaks of persons or places. How many facts fit is decided where
they are written down. Source: seed 000, "Memory Organization" and "Context Compaction"; seed 001, task 1.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from shared.base.choices import Category
from shared.text.classifier import states_harm
from shared.text.words import word_set

SURE = 0.8
"""A preference has to be surer than this to stay in a full window."""
# Singular and plural meet and no other forms: with the stems of the index, choosing among 150 facts took twice as long,
# and that is felt in every context.
_WORD = re.compile(r"[^\W_]{3,}")
_EMPTY = word_set("""
the and for are was were has have had not but can could would should will shall did does done this that these those
with from into onto over under about what when where which who whom whose why how all any some more most than then
there here its our ours your yours her hers his him she they them their theirs you get got let use uses user used
please help need want like just also very much many make makes give tell show
""")
_ORDER = {category: place for place, category in enumerate(Category)}


@dataclass(frozen=True, slots=True)
class SelectableFact:
    """A fact as far as choosing and showing it needs it."""

    fact_id: int
    statement: str
    category: Category
    confidence: float
    last_seen: datetime
    pin: int | None = None
    """Its place among the pinned ones."""
    states_harm: bool = field(init=False, compare=False)
    """Whether it states a harm or a limit."""

    def __post_init__(self) -> None:
        """Read the statement once: that takes longer than all else of choosing."""
        object.__setattr__(self, "states_harm", states_harm(self.statement))


def standing_order(facts: Iterable[SelectableFact]) -> tuple[SelectableFact, ...]:
    """Return the facts in the order that holds whatever is said: all of them, identity last."""
    return tuple(sorted(facts, key=lambda fact: _rank(fact, frozenset())))


def lifted(facts: Iterable[SelectableFact], message: str | None) -> tuple[SelectableFact, ...]:
    """Return the facts that a message asks for: by a word of theirs, identity where it speaks of persons or places."""
    words = _asked_words(message)
    return in_order(
        (one for one in facts if one.category is Category.IDENTITY or words & _words_of(one.statement)), message
    )


def in_order(facts: Iterable[SelectableFact], message: str | None) -> tuple[SelectableFact, ...]:
    """Return the facts a context with this message may show, the most needed first.

    Pinned ones in the order of their places; what states a harm or a limit, whatever the message; then project,
    preference, identity, each by the words it shares with the message, by confidence, by how lately it was heard. Other
    identity only when the message speaks of persons or places.
    """
    candidates = list(facts)
    identity = [fact.statement for fact in candidates if fact.category is Category.IDENTITY]
    if not (message and identity and speaks_of_persons_or_places(message, identity)):
        candidates = [fact for fact in candidates if fact.category is not Category.IDENTITY or always_told(fact)]
    words = _asked_words(message)
    return tuple(sorted(candidates, key=lambda fact: _rank(fact, words)))


def reduced(shown: Sequence[SelectableFact]) -> tuple[SelectableFact, ...]:
    """Return which of the facts shown stay in a full window.

    Pinned ones, projects, and what states a harm or a limit do, other identity does not, and of the other preferences
    the sure ones, at most half.
    """
    preferences = [fact for fact in shown if fact.category is Category.PREFERENCE and not always_told(fact)]
    sure = [fact for fact in preferences if fact.confidence > SURE][: len(preferences) // 2]
    staying = {fact.fact_id for fact in sure}
    return tuple(
        fact for fact in shown if fact.category is Category.PROJECT or fact.fact_id in staying or always_told(fact)
    )


def always_told(fact: SelectableFact) -> bool:
    """Whether it is told whatever the message says: pinned, or a harm or a limit of the user's."""
    return fact.pin is not None or fact.states_harm


def _rank(fact: SelectableFact, words: frozenset[str]) -> tuple[float, ...]:
    if fact.pin is not None:
        return (-1, fact.pin, fact.fact_id)
    shared = len(words & _words_of(fact.statement)) if words else 0
    own = (-shared, -fact.confidence, -fact.last_seen.timestamp(), fact.fact_id)
    # Harms before all others, so that they have a place where not all fit.
    return (0 if fact.states_harm else 1, _ORDER[fact.category], *own)


def _asked_words(message: str | None) -> frozenset[str]:
    """Return the words of a message that say something, in singular and plural."""
    said = {word.removesuffix("s") for word in _words_of(message or "") - _EMPTY}
    return frozenset(said | {f"{word}s" for word in said})


def _words_of(text: str) -> set[str]:
    """Return the words of a text that are not very short."""
    return set(_WORD.findall(text.lower()))


_NAME_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_PRONOUNS = word_set(
    # English, with what apostrophes join to it cut off; "it" stands for things.
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her "
    "hers herself they them their theirs themselves "
    # German, French, Spanish, Italian, Portuguese; words that mean something else in English are left out.
    "ich mich mir mein meine meinen meinem meiner wir uns unser unsere dich dir dein deine ihr ihre je moi mon ma "
    "nous notre nos vous votre vos toi tes elle elles ils leur leurs yo mí mi mis nosotros nosotras nuestro nuestra "
    "tú tus usted ellos ellas mio mia miei mie noi nostro nostra lui lei loro eu meu minha meus minhas nós nosso "
    "nossa ele ela eles"
)
_PLACE_WORDS = word_set(
    "where here nearby near abroad home hometown homeland address street neighbourhood neighborhood city town "
    "village country district suburb downtown location located restaurant hotel airport weather timezone travel "
    "traveling travelling trip flight commute wo woher wohin stadt adresse où ville pays dónde ciudad país dove "
    "città onde cidade"
)
_NAMES = word_set(
    # Countries and regions
    "Afghanistan Africa Albania Algeria America Andorra Angola Antarctica Argentina Armenia Asia Australia Austria "
    "Azerbaijan Bahamas Bahrain Bangladesh Barbados Belarus Belgium Belize Benin Bhutan Bolivia Bosnia Botswana "
    "Brazil Britain Brunei Bulgaria Burundi Cambodia Cameroon Canada Chile China Colombia Congo Croatia Cuba Cyprus "
    "Czechia Denmark Djibouti Dominica Ecuador Egypt England Eritrea Estonia Eswatini Ethiopia Europe Fiji Finland "
    "France Gabon Gambia Germany Ghana Greece Greenland Grenada Guatemala Guinea Guyana Haiti Honduras Hungary "
    "Iceland India Indonesia Iran Iraq Ireland Israel Italy Jamaica Japan Kazakhstan Kenya Kosovo Kuwait Kyrgyzstan "
    "Laos Latvia Lebanon Lesotho Liberia Libya Liechtenstein Lithuania Luxembourg Madagascar Malawi Malaysia "
    "Maldives Mali Malta Mauritania Mauritius Mexico Moldova Monaco Mongolia Montenegro Morocco Mozambique Myanmar "
    "Namibia Nepal Netherlands Nicaragua Niger Nigeria Norway Oman Pakistan Palestine Panama Paraguay Peru "
    "Philippines Poland Portugal Qatar Romania Russia Rwanda Samoa Scandinavia Scotland Senegal Serbia Seychelles "
    "Singapore Slovakia Slovenia Somalia Spain Sudan Suriname Sweden Switzerland Syria Taiwan Tajikistan Tanzania "
    "Thailand Togo Tonga Tunisia Turkey Turkmenistan Uganda Ukraine Uruguay Uzbekistan Vanuatu Vatican Venezuela "
    "Vietnam Wales Yemen Zambia Zimbabwe Alaska Arizona California Colorado Florida Hawaii Illinois Massachusetts "
    "Michigan Minnesota Montana Nevada Ohio Oregon Pennsylvania Quebec Texas Utah Bavaria Catalonia Tuscany "
    "Brittany Normandy Andalusia "
    # Cities
    "Accra Adelaide Amsterdam Ankara Antwerp Athens Atlanta Auckland Baghdad Bangalore Bangkok Barcelona Basel "
    "Beijing Beirut Belfast Belgrade Berlin Bern Bogotá Bogota Bordeaux Boston Bratislava Brisbane Bristol Brussels "
    "Bucharest Budapest Cairo Calgary Caracas Casablanca Chicago Cologne Copenhagen Dakar Dallas Damascus Delhi "
    "Denver Detroit Dhaka Dubai Dublin Düsseldorf Edinburgh Florence Frankfurt Geneva Glasgow Göteborg Gothenburg "
    "Hamburg Hanoi Havana Helsinki Houston Istanbul Jakarta Jerusalem Johannesburg Karachi Kathmandu Kiev Kyiv "
    "Kyoto Lagos Lahore Leeds Leipzig Lima Lisbon Liverpool Ljubljana London Lyon Madrid Manchester Manhattan "
    "Brooklyn Manila Marseille Melbourne Miami Milan Montreal Moscow Mumbai Munich Nairobi Naples Oslo Osaka Ottawa "
    "Oxford Paris Philadelphia Porto Prague Reykjavik Riga Rome Rotterdam Santiago Seattle Seoul Seville Shanghai "
    "Shenzhen Sofia Stockholm Stuttgart Sydney Tallinn Tampa Tehran Tokyo Toronto Toulouse Turin Valencia Vancouver "
    "Venice Vienna Vilnius Warsaw Washington Zagreb Zurich Zürich"
)
_TWO_WORDS = re.compile(
    r"\b(?:New (?:York|Zealand|Delhi|Orleans|Jersey|Mexico)|Los Angeles|San (?:Francisco|Diego|José|Jose|Antonio)"
    r"|Las Vegas|Hong Kong|Tel Aviv|Buenos Aires|Rio de Janeiro|São Paulo|Sao Paulo|Cape Town|Costa Rica|El Salvador"
    r"|Sri Lanka|Saudi Arabia|(?:North|South) (?:Korea|Africa|America|Carolina|Dakota)|United (?:Kingdom|States)"
    r"|Kuala Lumpur|Saint Petersburg|St\. Petersburg|Puerto Rico|Abu Dhabi|Ho Chi Minh)\b"
)
_ABBREVIATED = re.compile(r"\b(?:U\.?S\.?A?|U\.?K|EU|UAE|NYC)\b")
_WRITTEN_WITHOUT_SPACES = re.compile("[我你您他她们們]|私|僕|俺|あなた|彼|나는|저는|내가|제가|哪里|哪裡|どこ|어디")


def speaks_of_persons_or_places(message: str, names: Iterable[str] = ()) -> bool:
    """Whether a personal pronoun or a place is in the message; ``names``: statements whose names count as places too.

    So that a small town counts where it is known that the user lives there.
    """
    if _TWO_WORDS.search(message) or _WRITTEN_WITHOUT_SPACES.search(message) or _ABBREVIATED.search(message):
        return True
    words = set(_NAME_WORD.findall(message))
    if not words.isdisjoint(_NAMES):
        return True
    lowered = {re.split("['’]", word.lower(), maxsplit=1)[0] for word in words}
    if lowered & _PRONOUNS or lowered & _PLACE_WORDS:
        return True
    # The words with a capital that do not only stand at a beginning.
    inner_names = {word for text in names for word in _capitalised(_NAME_WORD.findall(text)[1:])}
    return not _capitalised(words).isdisjoint(inner_names)


def _capitalised(words: Iterable[str]) -> set[str]:
    return {word for word in words if word[:1].isupper()}
