"""Whether a message speaks of persons or places: by pronouns, words for places, and the names of the best known ones.

English first; of other languages the pronouns and the words for places. Names are matched as they are written.
"""

import re
from collections.abc import Iterable

from shared.text.words import word_set

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


def is_place(name: str) -> bool:
    """Whether a name is that of a well-known place."""
    return name in _NAMES


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
