"""What a statement is to whoever comes back: a limit, a wish that stands, a change, a decision, or only talk.

Told by phrases, one table for each language; in a language without one every statement is plain. What its words are
worth is left to ``pieces``. Source: decisions, "What is worth keeping".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from shared.text.harms import HARMS
from shared.text.phrases import PhraseTable


class Sort(StrEnum):
    """What a statement is; where it is several, the first of these."""

    TALK = "talk"
    """Greetings, thanks, praise, moods of the moment, and nothing beside."""
    HARM = "harm"
    """What harms if it is forgotten: an allergy, an illness, a medicine, a diet."""
    LIMIT = "limit"
    """What is not possible or not wanted: a budget, a deadline, a dislike."""
    WISH = "wish"
    """How something is to be done from now on."""
    CHANGE = "change"
    """A correction, or what is no longer as it was."""
    DECISION = "decision"
    EVENT = "event"
    """What somebody is or lives through: a job, a family, a birth, a move."""
    QUESTION = "question"
    REQUEST = "request"
    """What is asked for once."""
    PLAIN = "plain"


FACTORS: Mapping[Sort, float] = {
    Sort.HARM: 1.6,
    Sort.LIMIT: 1.5,
    Sort.WISH: 1.4,
    Sort.CHANGE: 1.25,
    Sort.DECISION: 1.25,
    Sort.EVENT: 1.15,
    Sort.PLAIN: 1.0,
    Sort.REQUEST: 0.5,
    Sort.QUESTION: 0.3,
    Sort.TALK: 0.05,
}
"""How much more or less than its words a statement counts; kept round, checked by ops/bench/keeping.py."""
BONUS: Mapping[Sort, float] = {
    Sort.HARM: 4.0,
    Sort.LIMIT: 1.5,
    Sort.WISH: 1.5,
    Sort.CHANGE: 0.8,
    Sort.DECISION: 0.8,
    Sort.EVENT: 0.5,
}
"""What it counts for being what it is, however few its words."""
IMPORTANCE: Mapping[Sort, int] = {
    Sort.HARM: 10,
    Sort.LIMIT: 8,
    Sort.WISH: 8,
    Sort.CHANGE: 7,
    Sort.DECISION: 7,
    Sort.EVENT: 6,
    Sort.PLAIN: 5,
    Sort.REQUEST: 4,
    Sort.QUESTION: 3,
    Sort.TALK: 1,
}
_WHOLE = r"\A\W*", r"\W*\Z"
_OPENING = r"\A\W*(?:(?:and|so|but|ok|okay|hi|hey|hello|also|then|now|oh|well|hm+)[ ,!]+)*(?:[\w'’ ]{1,20}, )?", r""
PHRASES: Mapping[str, Mapping[Sort, PhraseTable]] = {
    "en": {
        Sort.TALK: PhraseTable(
            {
                "Thanks a lot, bye": r"(?:(?:ok|great|perfect|many|no|nah)\W+)*(?:thank(?:s| you)|thx|cheers)\b.{0,40}",
                "Good morning!": r"(?:hi+|hello+|hey+|hiya|good (?:morning|afternoon|evening|night|day)|morning|night"
                r"|bye+|dear diary)\b(?:[ ,]+\w+){0,2}",
                "How are you today?": r"how (?:are|r) (?:you|u|things)\b.*|what['’]?s up\b.*",
                "I can't complain, bored": r"(?:i )?can['’]?t complain\b.*"
                r"|(?:i['’]m )?(?:so )?(?:bored|fine|okay|good|tired)(?:,? (?:and|but) .{0,20})?",
                "Wonderful, perfect": r"(?:ok(?:ay)?|great|perfect|wonderful|nice|cool|lovely|super|awesome|yes|yep"
                r"|no|nah"
                r"|sure|fine|right|good (?:point|catch)|makes sense|got it|sounds good|exactly|done|love (?:it|that)"
                r"|worth a try|wow|(?:ha)+|lol|hmm+|oh+|ah+|aww+|well)(?:[ ,!]+[\w'’]+){0,2}",
                "That's all for today": r"that['’]?s (?:it|all|great|nice|good|funny|terrible)\b.*|done for today"
                r"|back to work|going to bed|see you\b.*|talk (?:later|soon)\b.*",
                "gotta run, ttyl": r"(?:gotta|got to|have to) (?:run|go)\b.{0,20}|ttyl|brb|cya|nite|mornin\w*"
                r"|just had (?:my|a|some) \w+\b.{0,30}|nothing much\b.{0,30}|its? so (?:hot|cold|late|early)\b.{0,15}",
                "That was painless.": r"(?:that|it) (?:was|is|sounds|looks) (?:so |very |really )?\w+",
            },
            *_WHOLE,
        ),
        Sort.HARM: HARMS["en"],
        Sort.LIMIT: PhraseTable(
            {
                "The budget is 2,000 euros": r"budget|at most|no more than|max(?:imum)?|(?:her|his|my|our|the) limit"
                r"|up to \d|can(?:not|['’]?t) (?:spend|afford|walk|climb|drive|fly|work)",
                "It has to be here before Friday": r"ha(?:s|ve|d) to be|must(?:n['’]?t| not)?|deadline"
                r"|due (?:on|by|in)|(?:by|before) (?:the )?\d|needs? to be",
                "I can't stand coriander": r"can['’]?t stand|phobia|afraid of (?!that|not)",
            }
        ),
        Sort.WISH: PhraseTable(
            {
                "Always warn me first": r"(?:always|never) (?!(?:on|in|been|had|the|was|were|mind|again|a|an|said"
                r"|knew)\b)"
                r"|from (?:now|here) on|in (?:the )?future|next time|every time|by default|going forward",
                "Please no small talk": r"(?:please|pls) (?:no|don['’]?t|do not|never|always|only|use|call|keep)\b",
                "Don't ever call me": r"(?:do not|don['’]?t|dont) (?:ever|call|send|use|ask|tell|write|page|suggest"
                r"|contact"
                r"|mail|put|touch|remind|say)\b",
                "I prefer tea to coffee": r"prefer\w*|i['’]d rather|rather than|instead of",
                "please dont give me tips": r"(?:please|pls) do(?:n['’]?t| not) \w+|no \w+ please",
                "Mail me when the disk is full": r"(?:warn|page|mail|email|text|ping|notify|remind|wake|call) (?:me|us)"
                r"(?: \w+)? (?:if|when|about|only|before|for|at|on|instead|by)|ask me (?:again|first|before)",
                "No coriander, ever": r"\bno \w+\b.{0,30}\bever|\A\W*(?:\w+[,:] )?no \w+ (?:before|after|on|in|at"
                r"|for|with|until|please)\b|(?:not|nothing|no)\b.{0,30} without (?:my|asking)|warn at \d"
                r"|only (?:use|send|call|write)",
                "Use exactly this format": r"use (?:exactly )?this (?:format|style)|keep (?:it|them"
                r"|answers?) (?:short|brief)"
                r"|call me [A-Z]\w+",
            }
        ),
        Sort.CHANGE: PhraseTable(
            {
                "I no longer run": r"no longer|not? (?:\w+ ){0,4}any ?more|n['’]?t (?:\w+ ){0,5}any ?more|used to"
                r"|stopped \w+ing|gave up",
                "sorry typo, 75 not 57": r"typo|i meant|no,? i said|not \d+|that was wrong|my mistake",
                "We moved to Lyon": r"moves? to|moved|switched|migrated|new (?:address|adress|number|job|phone"
                r"|one is|email)",
                "We ripped out the cache": r"ripped out|replaced (?:it|the|our|with)|got rid of|(?:is|are) gone",
                "heads up, it starts later": r"heads up|change of plan|as of|(?:is|are|['’]re|['’]m) .{0,60}\bnow"
                r"|(?:i['’]?m|we['’]?re|i am|we are) (?:now )?(?:on|at|in) .{0,30}\b(?:now|since)",
            }
        ),
        Sort.DECISION: PhraseTable(
            {
                "We decided on oak": r"decid\w+|decision|agreed?|chose|chosen|settled on|the plan is",
                "Bohinj it is!": r"\w+ it is(?=\W*\Z)|(?:going|go|went) with|do it like that"
                r"|\A\W*[A-Z]\w+(?: \w+)? then(?=\W*\Z)|exchange please",
                "Root cause: a full pool": r"root cause|the (?:fix|cause|reason|solution) (?:is|was)|fix ?=|turned out"
                r"|fixed (?:it|by)",
                "The hall is booked": r"booked|scheduled|cancel+ed|signed|ordered|bought",
                "I'll take the alert myself": r"(?:i|we)(?:['’]ll| will) (?:take|use|bring|send|buy|drive|pick|pay"
                r"|map|write)",
            }
        ),
        Sort.EVENT: PhraseTable(
            {
                "Our cat died on Tuesday": r"died|passed away|funeral|born|expecting (?:a|our)|gave birth",
                "She is getting married in June": r"married|marry(?:ing)?|marries|wedding|engaged|divorc\w+",
                "I started a new job": r"new job|laid off|hired|promot\w+|retir\w+|graduat\w+"
                r"|i (?:now )?(?:work|catalogue|teach|study) (?:as|at|for|in|nights?|days?)"
                r"|i(?:['’]?m| am|['’]?ve been| have been) an? \w+(?:er|or|ist|ian|ant|se|ect)\b",
                "We live here since May": r"(?:i|we) live|moving (?:in|out|here|house|to)|bought (?:a|our) (?:house"
                r"|flat|car)",
                "I have surgery on the 22nd": r"surger\w+|hospital|tooth|broke my|accident|exam|visa",
                "I'm building a small tool": r"(?:i['’]?m|we['’]?re|i am|i['’]?ve (?:been|started)"
                r"|i (?:have )?started) "
                r"(?:building|writing|working on|learning|studying|training for)",
                "My sister Anouk rang": r"my (?:\w+ )?(?:wife|husband|partner|girlfriend|boyfriend|son|daughter|kids?"
                r"|children|mother|father|mum|mom|dad|sister|brother|boss|dog|cat|friend|grandma|mother-in-law"
                r"|father-in-law)",
            }
        ),
        Sort.QUESTION: PhraseTable(
            {
                "whats the difference": r"(?:what|how|why|who|where|when|which)(?:['’]?s|['’]?re| is| are| was| do"
                r"| does"
                r"| did| can| should| would| about| much| many| far| long| hot| old)\b",
                "is there another lake": r"(?:is|are|was|were|does|do|did|has|should|can) (?:there|it|this|that"
                r"|these|you|i"
                r"|we|they|he|she)\b",
            },
            *_OPENING,
        ),
        Sort.REQUEST: PhraseTable(
            {
                "Can you help me?": r"(?:can|could|would|will) (?:you|u)\b",
                "Help me plan a week in Rome": r"help\b|please\b",
                "Tell me a joke": r"(?:tell|give|show|send|write|draft|make|explain|list|find|suggest|recommend"
                r"|translate"
                r"|fix|check|read|let|look|compare|describe|create|generate|summari[sz]e|condense|answer|play)"
                r" (?:me|us|it|this|that|these|them|the|a|an|some|one|up|at)\b",
                "A list of the papers": r"i need (?:to know|help|you to)\b|a (?:list|summary|overview|joke)\b"
                r"|one more\b",
            },
            *_OPENING,
        ),
    },
    "de": {
        Sort.TALK: PhraseTable(
            {
                "Danke dir, ich meld mich": r"(?:(?:vielen|super|ok)\W+)*dank\w*\b.{0,40}|ich meld\w* mich\b.{0,20}",
                "Guten Morgen!": r"(?:hallo|hi|hey|moin|servus|guten (?:morgen|tag|abend)|gute nacht|tschüss?"
                r"|bis (?:dann|morgen"
                r"|bald))\b(?:[ ,]+\w+){0,2}",
                "guter Punkt": r"(?:guter punkt|gut so|passt(?: so)?|stimmt|oh mist|alles klar|genau|perfekt|super"
                r"|ok(?:ay)?"
                r"|ja|nein|haha+|äh+m?|klar)(?:[ ,]+\w+){0,2}",
            },
            *_WHOLE,
        ),
        Sort.HARM: HARMS["de"],
        Sort.LIMIT: PhraseTable(
            {
                "Höchstens 300 Euro": r"höchstens|maximal|budget|nicht mehr als|muss\b.{0,40}\b(?:bis|vor|liegen"
                r"|sein|fertig)|frist\w*"
                r"|deadline|darf (?:nicht|kein)\w*",
                "Ich esse kein Fleisch": r"(?:esse|trinke|vertrage)n? kein\w*",
            }
        ),
        Sort.WISH: PhraseTable(
            {
                "Bitte nie anrufen": r"bitte (?:nicht|nie|kein\w*|immer|nur|weiter)|immer|nie(?:mals)?\b"
                r"|ab (?:jetzt|sofort|heute)"
                r"|in zukunft|nächstes mal|künftig|weiterhin",
                "Duz mich bitte": r"duz\w*|siez\w*|lieber\b|statt\b|will ich nicht|möchte ich nicht|fang\b.{0,20} nicht"
                r"|erinner\w* mich",
            }
        ),
        Sort.CHANGE: PhraseTable(
            {
                "Ich arbeite nicht mehr dort": r"nicht mehr|kein\w* mehr|doch nicht|statt ?dessen|umgezogen"
                r"|neue (?:adresse|nummer)"
                r"|gekündigt|gewechselt|tippfehler|ich meinte",
            }
        ),
        Sort.DECISION: PhraseTable(
            {
                "Wir haben uns entschieden": r"entschieden|beschlossen|entscheidung|abgemacht|unterschrieben"
                r"|gebucht|bestellt"
                r"|gekauft|verkauf\w+|mach(?:e)? ich ab jetzt|nehmen wir|zuerst\b",
            }
        ),
        Sort.EVENT: PhraseTable(
            {
                "Wir ziehen nach Kassel": r"zieh\w* (?:\w+ ){0,4}nach|geheiratet|heirate\w*|hochzeit|gestorben"
                r"|geboren|baby|scheidung",
                "Ich bin selbständige Malerin": r"ich (?:bin|arbeite|wohne|lerne|studiere)\b|(?:bin ich|arbeite ich"
                r"|wohne ich)",
                "Mein Sohn kommt in die Schule": r"mein\w* (?:\w+ )?(?:sohn|tochter|kind\w*|frau|mann|partner\w*|mutter"
                r"|vater|schwester|bruder|chef\w*|hund|katze|großer?|große)|kredit|miete",
            }
        ),
        Sort.REQUEST: PhraseTable(
            {
                "Kannst du mir helfen": r"(?:kannst|könntest|würdest) du\b|(?:hilf|sag|zeig|gib|schreib|erklär)\b"
                r"|ich brauche? (?:mal )?(?:jemanden|hilfe)",
            },
            *_OPENING,
        ),
    },
    "fr": {
        Sort.TALK: PhraseTable(
            {
                "Merci, bonne soirée !": r"(?:super|parfait|ok)?\W*merci\b.{0,40}|bonne (?:soirée|journée"
                r"|nuit)\b.{0,20}",
                "Bonjour !": r"(?:bonjour|bonsoir|salut|coucou|à (?:bientôt|demain))\b(?:[ ,]+\w+){0,2}",
                "je sais pas du tout": r"je (?:ne )?sais pas\b.{0,20}|(?:super|parfait|d['’]accord|ok|oui"
                r"|non)(?:[ ,]+\w+){0,2}",
            },
            *_WHOLE,
        ),
        Sort.HARM: HARMS["fr"],
        Sort.LIMIT: PhraseTable(
            {
                "Maximum 500 €": r"maximum|au plus|pas plus de|budget|avant (?:le |la |fin )?\w+|au plus tard"
                r"|il faut que"
                r"|doit être|porteur",
            }
        ),
        Sort.WISH: PhraseTable(
            {
                "Ne m'appelle jamais": r"jamais|toujours|désormais|dorénavant|à partir de maintenant"
                r"|la prochaine fois|plutôt que"
                r"|je préfère|s['’]il (?:te|vous) plaît,? (?:ne|pas)|rappelle[- ]?(?:le|moi)|me (?:le )?rappelle\w*",
            }
        ),
        Sort.CHANGE: PhraseTable(
            {
                "Je n'habite plus ici": r"n['’e]\s?\w+ plus\b|au lieu de|laisse tomber|déménagé"
                r"|nouvelle (?:adresse)|en fait"
                r"|je voulais dire",
            }
        ),
        Sort.DECISION: PhraseTable(
            {
                "On garde le frigo, décidé": r"décid\w+|choisi\w*|on garde|on ne \w+ pas|réservé\w*|commandé\w*"
                r"|acheté\w*|acompte"
                r"|payé\w*",
            }
        ),
        Sort.EVENT: PhraseTable(
            {
                "On refait la cuisine": r"on refait|mari(?:age|é\w*)|bébé|naissance|décéd\w+|mort\w*|divorc\w+"
                r"|emménag\w+",
                "Je suis infirmière": r"je suis (?:un |une )?\w+|je travaille|j['’]habite|j['’]apprends",
                "Mon frère vient": r"m(?:on|a|es) (?:frère|sœur|fils|fille|mari|femme|mère|père|enfants?|ami\w*"
                r"|chien|chat\w*)",
            }
        ),
        Sort.REQUEST: PhraseTable(
            {"Tu peux m'aider ?": r"(?:tu peux|peux-tu|pourrais-tu|pouvez-vous|aide|donne|explique|écris|montre)\b"},
            *_OPENING,
        ),
    },
    "es": {
        Sort.TALK: PhraseTable(
            {
                "¡Gracias, buenas noches!": r"(?:muchas )?gracias\b.{0,40}|buen[oa]s (?:días|tardes|noches)\b.{0,20}",
                "hola": r"(?:hola+|adiós|hasta (?:luego|mañana)|vale|perfecto|genial|sí|no)(?:[ ,!]+\w+){0,2}",
            },
            *_WHOLE,
        ),
        Sort.HARM: HARMS["es"],
        Sort.LIMIT: PhraseTable(
            {
                "Máximo 50 euros": r"máximo|como mucho|presupuesto|no más de|antes del?|tiene que (?:ser|estar)"
                r"|solo (?:tengo|puedo)",
            }
        ),
        Sort.WISH: PhraseTable(
            {
                "No me llames nunca": r"nunca|siempre|a partir de ahora|de ahora en adelante|la próxima vez"
                r"|prefiero|en vez de"
                r"|por favor,? no|no me gusta\w*|que se pueda",
            }
        ),
        Sort.CHANGE: PhraseTable(
            {"Ya no vivo allí": r"ya no|me (?:he )?mud\w+|cambi(?:é|ado)|nueva dirección|quise decir"}
        ),
        Sort.DECISION: PhraseTable(
            {"Hemos decidido pintar": r"decid\w+|decisión|reserv(?:é|ado)|compr(?:é|ado)|quedamos en"}
        ),
        Sort.EVENT: PhraseTable(
            {
                "Soy enfermera y vivo sola": r"soy \w+|trabajo (?:de|en|como|por)|vivo (?:en|con|sol\w)|me (?:caso"
                r"|casé)|boda|bebé"
                r"|murió|divorci\w+|aprend\w+",
                "Mi hermana viene": r"mi (?:herman[ao]|hij[ao]|mujer|marido|madre|padre|pareja|novi[ao]|perr[ao]"
                r"|gat[ao]|jef[ae])",
            }
        ),
        Sort.REQUEST: PhraseTable(
            {"¿Puedes ayudarme?": r"(?:a ver si )?(?:me )?(?:puedes|podrías)|ayúdame|dime|dame|explica|escribe"},
            *_OPENING,
        ),
    },
    "ja": {
        Sort.TALK: PhraseTable(
            {
                "こんばんは。": r"こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?"
                r"|ありがとう(?:ございま(?:す|した))?"
                r"|おやすみ(?:なさい)?"
                r"|また(?:明日|今度|ね)|はい|いいえ|よろしく.{0,10}|お疲れ.{0,8}|あ、.{1,8}",
            },
            *_WHOLE,
        ),
        Sort.HARM: HARMS["ja"],
        Sort.LIMIT: PhraseTable(
            {"月までに必要です。予算": r"苦手|できません|まで(?=。|$)|予算"},
            r"",
            r"",
        ),
        Sort.WISH: PhraseTable(
            {"短くお願いします": r"お願いします|(?:て|で)ください|(?:て|で)ほしい|いつも|必ず|ないで|今後"}, r"", r""
        ),
        Sort.CHANGE: PhraseTable(
            {"もう住んでいません": r"もう.{1,12}(?:ません|ない)|引っ越し|変わりました|やめました"}, r"", r""
        ),
        Sort.DECISION: PhraseTable({"京都に決めました": r"決め(?:ました|た)|予約し|買いました|にします"}, r"", r""),
        Sort.EVENT: PhraseTable(
            {"スペイン語を勉強しています": r"勉強してい|働いてい|住んでい|結婚|生まれ|亡くな|受ける|行く(?:ので|予定)"},
            r"",
            r"",
        ),
    },
}


_NAMED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»")
"""What is quoted is spoken of, and says nothing of the speaker."""


_PLEADS = re.compile(r"\bplease\b|\bdo(?:n['’]?t| not)\b.+\bok(?:ay)?\W*\Z", re.IGNORECASE)


def sort_of(text: str, asks: bool, language: str) -> Sort:
    """Return what a clause is; ``asks`` where its sentence is a question."""
    tables = PHRASES.get(language, {})
    text = _NAMED.sub(" ", text)

    def is_one(sort: Sort) -> bool:
        return sort in tables and tables[sort].is_in(text)

    # Too short to tell their language by, and said in others too.
    if any(each[Sort.TALK].is_in(text) for each in PHRASES.values()):
        return Sort.TALK
    if asks or is_one(Sort.QUESTION):
        # "Can you mail me instead of calling?" asks in form only.
        return Sort.WISH if is_one(Sort.WISH) and (is_one(Sort.REQUEST) or _PLEADS.search(text)) else Sort.QUESTION
    stands = (Sort.HARM, Sort.LIMIT, Sort.WISH, Sort.CHANGE, Sort.DECISION, Sort.EVENT, Sort.REQUEST)
    return next((sort for sort in stands if is_one(sort)), Sort.PLAIN)
