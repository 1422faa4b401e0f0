"""Statements of users in German, French, Spanish and Japanese, kept whole and in the words they were said in.

Nothing is put in the third person there: a clause that opens as people speak of themselves, and of what lasts, stands
as a fact as it was said, negation and condition included. Questions, wishes, suppositions and the past are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.facts.categories import Category
from worker.agent.fact_grammar import capitalised, has_secret, own_words
from worker.agent.fact_words import SMALL_WORDS, language_of

_WORD = re.compile(r"[^\W\d_]+")
_KIN = {
    "de": (
        r"(?:mann|frau|partner(?:in)?|freund(?:in)?|sohn|tochter|kinder|bruder|schwester|mutter|mama|vater|papa|eltern"
        r"|oma|opa|schwieger\w+|große[rs]?"
        r"|kleine[rs]?|jüngste[rs]?|älteste[rs]?|hund|katzen?|kater|chef(?:in)?)"
    ),
    "fr": (
        r"(?:mari|femme|compagn(?:on|e)|copain|copine|fils|fille|enfants|frère|sœur|soeur|mère|père|maman|papa|parents"
        r"|grand-?mère|grand-?père|chien|chat|chatte|bébé)"
    ),
    "es": (
        r"(?:marido|esposo|esposa|mujer|pareja|novi[oa]|hij[oa]s?|herman[oa]s?|madre|padre|mamá|papá|padres"
        r"|abuel[oa]s?|suegr[oa]|perr[oa]s?|gat[oa]s?)"
    ),
}
_OWNED = {
    "de": (
        r"(?:\w*allergie|\w*unverträglichkeit|asthma|diabetes|migräne|hunde?|katzen?|kinder?|s[oö]hne?|t[oö]chter"
        r"|br[uü]der|schwestern?|geschwister|autos?|garten|haus|pferde?)"
    ),
    "fr": (
        r"(?:\d+ ans|(?:un|une|deux|trois|quatre|des) (?:\w+ )?(?:allergie|intolérance|chiens?|chats?|enfants?|fils"
        r"|filles?|frères?|sœurs?|voiture|jardin|maison)|de l['’]asthme|du diabète)"
    ),
    "es": (
        r"(?:\d+ años|(?:un|una|dos|tres|cuatro|alergia|asma|diabetes|intolerancia)(?: (?:\w+ )?(?:alergia|perr[oa]s?"
        r"|gat[oa]s?|hij[oa]s?|herman[oa]s?|coche|jardín|casa)| a\b|\b$))"
    ),
}
_STATES = {
    "de": (
        rf"(?:ich|wir) hab(?:e|en)? (?:\w+ ){{0,3}}?{_OWNED['de']}\b",
        r"ich bin (?:\w+ ){0,2}?(?:allergisch|vegan|veganer\w*|vegetari\w+|verheiratet|geschieden|schwanger|selbst"
        r"(?:st)?ändig\w*|rentner\w*|freiberuf\w+|alleinerziehend\w*|linkshänder\w*|laktoseintolerant"
        r"|gehörlos|schwerhörig|taub|blind|farbenblind|autistisch|\d+ jahre)\b",
        r"ich bin (?!in\b|am\b|im\b|auf\b|bei\b|zu\b|der\b|mir\b)(?:(?:ein|eine|gelernte[r]?|freie[r]?"
        r"|angestellte[r]?) )?(?-i:[A-ZÄÖÜ])\w{3,}\b",
        r"ich bin gegen \w+ allergisch\b",
        r"ich (?:heiße|wohne|lebe|arbeite|studiere|lerne|spreche|mag|liebe|hasse|esse|trinke|nehme|spiele|fahre"
        r"|rauche|besitze|vertrage|bevorzuge|vermeide|unterrichte|leite|trainiere|sammle|komme aus|ziehe)\b",
        r"wir (?:wohnen|leben|ziehen|renovieren|bauen|heiraten|erwarten|verkaufen)\b",
        r"(?:ziehen|renovieren|bauen|heiraten|erwarten|verkaufen|wohnen) wir\b",
        r"(?:wohne|lebe|arbeite|lerne|esse|trinke|nehme|mag|vertrage|spiele) ich\b",
        r"(?:will|möchte|mag) ich (?:nicht|kein\w*|nie)\b",
        rf"(?:mein|meine|unser|unsere) (?:\w+ )?{_KIN['de']}\b(?: \w+)? (?:ist|sind|hat|haben|heißt|heißen|wohnt"
        rf"|lebt|arbeitet|kommt|geht|wird|isst|mag|studiert|spielt|verträgt|darf (?:\w+ )?(?:kein\w*|nicht|nie))\b",
        r"ich darf (?:\w+ )?(?:kein\w*|nie)\b",
        rf"[A-ZÄÖÜ]\w+, mein\w* (?:\w+ )?{_KIN['de']}, (?:ist|hat|kommt|wohnt|lebt|geht|wird|arbeitet)\b",
        r"mein (?:budget|name|beruf|ziel|geburtstag|hobby) (?:ist|liegt)\b",
    ),
    "fr": (
        rf"(?:j['’] ?ai|nous avons|on a) {_OWNED['fr']}",
        r"je suis (?!\w+(?:é|ée|és)\b(?<!marié)(?<!mariée)(?<!retraité)(?<!retraitée)(?<!divorcé)(?<!salarié))\w+",
        r"(?:je(?: ne)?|j['’]|je n['’]) ?(?:habite|vis|travaille|étudie|apprends|parle|aime|adore|déteste|préfère"
        r"|mange|bois|prends|joue|fume|possède|supporte)\b",
        r"je m['’]appelle\b",
        r"(?:on|nous)(?: ne)? (?:refait|refaisons|rénov\w+|déménag\w+|habit\w+|viv\w+|construi\w+|attend\w* un"
        r"|se marie|nous marions|vend\w*)\b",
        rf"(?:mon|ma|mes|notre|nos|le) {_KIN['fr']}\b(?: (?-i:[A-ZÉÈ])\w+)? (?:est|sont|a|ont|s['’]appelle|habite"
        rf"|vit|travaille|arrive|va|aime|étudie|joue|mange)\b",
    ),
    "es": (
        rf"(?:no )?(?:tengo|tenemos) {_OWNED['es']}",
        r"(?:yo )?(?:no )?(?:soy|vivo|trabajo|estudio|aprendo|hablo|prefiero|odio|como|bebo|tomo|juego|toco|fumo"
        r"|colecciono|ceno|cocino|desayuno|corro|nado)\b",
        r"(?:a mí )?(?:no )?me (?:gustan?|encantan?|llamo|dedico|molestan?)\b",
        r"estoy (?:aprendiendo|estudiando|casad[oa]|jubilad[oa]|embarazada)\b",
        r"(?:nos mudamos|vivimos|nos casamos|esperamos un)\b",
        rf"(?:mi|mis|nuestr[oa]s?) {_KIN['es']}\b(?: (?-i:[A-ZÁÉÍÓÚ])\w+)? (?:es|son|tiene|tienen|se llama|vive"
        rf"|viven|trabaja|estudia|va|juega|come)\b",
        r"mi (?:presupuesto|nombre|cumpleaños|trabajo|meta|color favorito|comida favorita|dirección) (?:es|son)\b",
    ),
}
_WISHES = {
    "de": (
        r"(?:bitte )?(?:immer|nie(?:mals)?) (?:\w+ ){0,4}\w+en\b",
        r"(?:bitte )?(?:duz|siez|nenn|ruf|schreib|antworte|sprich)e? (?:mich|mir)\b.*\b(?:bitte|immer|weiter|nur"
        r"|lieber|nie)\b",
        r"(?:bitte )?(?:antworte|schreib|sprich|rede)e? (?:mir )?(?:immer|nur|bitte immer)\b",
        r".*\b(?:ab (?:jetzt|sofort|heute)|in zukunft|künftig|von nun an)\b",
    ),
    "fr": (
        r".*\b(?:désormais|dorénavant|à partir de maintenant|à l['’]avenir)\b",
        r"(?:s['’]il te plaît )?tutoie-moi\b",
        r"ne .* jamais .*s['’]il (?:te|vous) plaît",
    ),
    "es": (
        r".*\b(?:a partir de ahora|de ahora en adelante|en el futuro)\b",
        r"(?:por favor )?(?:siempre|nunca) \w+(?:me|nos)\b",
    ),
}
_NOT_MEANT = {
    "de": (
        r"\b(?:vielleicht|wenn|falls|könnte|würde|hätte|wäre|glaube|denke|hoffe|wollte|möglicherweise|angenommen"
        r"|früher|war|hatte|ob|heute|morgen|gerade dabei)\b"
        r"|\bich (?:mag|liebe|hasse|esse|trinke|nehme) (?:es|das|sie|ihn|dich)\b"
    ),
    "fr": (
        r"\b(?:peut-être|si|pourrais|voudrais|aimerais|crois|pense|espère|étais|avais|faudrait|serait|ça|cela|celui"
        r"|celle)\b"
        r"|\bsuis (?:très |trop |un peu |assez |pas )?(?:en train|d['’]accord|content|triste|perdu|sûre?|certain|là"
        r"|ici|heureu\w+|inqui\w+|malade|prête?|désolé)\b"
    ),
    "es": r"\b(?:quizás?|tal vez|si|podría|quisiera|gustaría|creo|pienso|espero|era|tenía|ojalá|eso|esto|ese|esa)\b",
}
_CUT = {
    "de": (
        r"\s*[;–—]\s*|\s+-\s+|,\s+(?=(?:aber|denn|weil|und (?:ich|wir|mein|das)|ich|wir|also|sondern|die \w+ \w+en"
        r"|das mach)\b)|\s+(?=und (?:ich|wir|mein\w*)\b)"
    ),
    "fr": (
        r"\s*[;–—]\s*|\s+-\s+|,\s+(?=(?:mais|car|parce que|donc|je|j['’]|on|nous|et (?:je|on|ça|nous)|le (?:bébé"
        r"|reste)|alors)\b)|\s+(?=et (?:je|j['’]|on|nous)\b)"
    ),
    "es": (
        r"\s*[;–—]\s*|\s+-\s+|,\s+(?=(?:pero|porque|así que|y (?:yo|mi|que|no)|yo|entonces|ya que)\b)|\s+(?=y (?:no me"
        r"|me|mi)\b)"
    ),
}
_LEAD = {
    "de": (
        r"^(?:(?:ja|nein|hallo|hi|guten \w+|moin|servus|also|und|aber|oh|äh|haha|dann|ok|okay|gut|übrigens|stimmt"
        r"|wichtig|dann noch|na ja|naja)\b[\s,!.:]*)+"
    ),
    "fr": r"^(?:(?:oui|non|bonjour|bonsoir|salut|alors|et|mais|oh|ok|bon|bien|au fait|du coup|super|donc)\b[\s,!.:]*)+",
    "es": (
        r"^(?:(?:sí|no,|hola|buenas|buenos días|pues|y|pero|ah|oh|bueno|vale|ok|además|por cierto|a ver)"
        r"(?![\wáéíóú])[\s,!.:¡]*)+"
    ),
}
_SENTENCE = re.compile(r"(?<=[!?…。！？])\s*|(?<=\.)(?<!\d\.)\s+|\n+")
_OPENS = {
    language: re.compile(rf"^(?:{'|'.join((*_STATES[language], *_WISHES[language]))})", re.IGNORECASE)
    for language in _STATES
}
_FRONT = {
    "de": (
        r"^(?:[\w.ÄÖÜäöüß%-]+ ){1,6}?(?=(?:ziehen|renovieren|bauen|heiraten|erwarten|verkaufen|kaufen) wir\b|(?:wohne"
        r"|lebe|arbeite|lerne|esse|trinke|nehme|mag|vertrage|spiele|will|möchte) ich\b)"
    ),
    "fr": r"^(?:en|à|depuis|dans|pour) (?:\w+ ){1,4}?(?:, )?(?=(?:je|j['’]|on|nous)\b)",
    "es": (
        r"^(?:en|desde|por|para|los|las) (?:\w+ ){1,4}?(?:, )?(?=(?:no |me |soy|trabajo|(?:solo )?tengo|vivo|cocino))"
    ),
}
_JAPANESE = re.compile(
    r"^(?!.*(?:かもしれ|と思い|たら|なら|でしょう|もし|たい|[?？]))(?P<said>.*(?:アレルギー(?:です|があります)|(?:が|は)(?:\w*に)?(?:大好き|好き|嫌い|大嫌い|苦手"
    r"|得意)(?:です|ではありません|じゃないです)?"
    r"|に住んでいます|で働いています|を勉強しています|を習っています|に勤めています|飼っています|が食べられません|が飲めません|という名前です|と申します|歳です))[。！!\s]*$"
)
_JAPANESE_CAUSE = re.compile(r"^(?P<said>[^、。?？]{0,30}アレルギー)(?:なので|があるので|だから|で(?=、))(?!.*[?？])")
_JAPANESE_SELF = re.compile(r"^私は(?!元気|大丈夫|幸せ|初めて|日本語|疲れ|嬉し|うれし)[^、。]{2,15}です[。！!\s]*$")
_JAPANESE_HABIT = re.compile(
    r"^(?!.*[?？]).{0,12}(?:いつも|必ず|毎回|これから(?:は|も)).*(?:ください|お願いします)[。！!\s]*$"
)
_SUPPOSED = re.compile(r"\b(?:wenn|falls|sofern|si|s['’]il (?!te|vous))\b", re.IGNORECASE)
"""A condition makes nothing of its sentence a plain statement."""
_LEAST_WORDS, _MOST_CHARACTERS = 3, 200


def statements_of(content: str) -> Iterator[tuple[str, Category]]:
    """Yield what a turn that is not in English states, as it was said, with what it is about."""
    for sentence in _SENTENCE.split(own_words(content)):
        language = language_of(sentence)
        if (
            not sentence.strip()
            or _SUPPOSED.search(sentence)
            or sentence.rstrip("\"'”’) ").endswith(("?", "？"))
            or has_secret(sentence)
        ):
            continue
        if language == "ja":
            said = sentence.strip()
            if any(form.match(said) for form in (_JAPANESE, _JAPANESE_SELF, _JAPANESE_HABIT)):
                yield said.strip("。！! "), Category.PREFERENCE
            elif cause := _JAPANESE_CAUSE.match(said):
                yield cause["said"], Category.IDENTITY
        elif language != "en":
            yield from _european(sentence, language)
        elif not SMALL_WORDS["en"].intersection(_WORD.findall(sentence.lower())):
            # Too short to tell by its small words: how it opens tells.
            yield from (found for other in _OPENS for found in _european(sentence, other))


_LIKING = re.compile(
    r"\b(?:mag|liebe|hasse|bevorzuge|will|möchte|aime|adore|déteste|préfère|gustan?|encantan?|molestan?|prefiero"
    r"|odio)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(r"^(?:aber|mais|pero|sondern) (?:nur|nicht|seulement|pas|solo|no)\b", re.IGNORECASE)


def _european(sentence: str, language: str) -> Iterator[tuple[str, Category]]:
    is_rule = any(one.startswith(".*") and re.match(one, sentence, re.IGNORECASE) for one in _WISHES[language])
    parts = [sentence] if is_rule else re.split(_CUT[language], sentence, flags=re.IGNORECASE)
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        said = re.sub(_LEAD[language], "", part, flags=re.IGNORECASE).strip(" ,.!:;…😊😅")
        if re.search(_NOT_MEANT[language], said, re.IGNORECASE) or _TAKEN_BACK.match(following):
            continue
        if not _OPENS[language].match(re.sub(_FRONT[language], "", said, flags=re.IGNORECASE)):
            continue
        if (len(_WORD.findall(said)) < _LEAST_WORDS and language != "es") or len(said) > _MOST_CHARACTERS:
            continue
        is_wish = any(re.match(one, said, re.IGNORECASE) for one in _WISHES[language])
        category = Category.PREFERENCE if is_wish or _LIKING.search(said) else Category.IDENTITY
        yield capitalised(said), category
