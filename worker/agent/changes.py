"""Which known fact is over once somebody tells a change, where next to no word says "change": "sold the bike".

The classifier says whether a statement is worth a place; here stands, in the languages people are likely to write, what
ends a thing ("quit", "nicht mehr"), swaps it, moves a date or a dose, or gives the new value of what there is one of: a
home, a job, a name to be called by, a language to answer in. Only one known fact may be meant, and what states a harm
gives way only to words that surely end it. What none of these says ("studio rent is 700 from may") is told by
``replacement``, from what it has seen.
"""

import re
from collections.abc import Mapping, Sequence

from shared.text.classifier import states_harm
from shared.text.words import MONTHS, WEEKDAYS, stem, word_set
from worker.agent.protocol import PresentFact
from worker.agent.replacement import keys_of, likeliest_over, words_of

_OVER = (
    r"no longer|not? (?:\w+ ){0,6}any ?more|(?:don|doesn|didn|isn|aren|wasn|can|won)['’]?t (?:\w+ ){0,6}any ?more"
    r"|(?:ain|don|didn|isn|aren)['’]?t (?:\w+ ){0,6}no more|no more"
    r"|outgrew|outgrown|grown out of|(?:is|are|was|were) (?:all )?(?:gone|over|cured)|came off|coming off|stopped"
    r"|swapped"
    r"|switched|replaced|all clear|nicht mehr|kein\w* (?:\w+ ){0,3}mehr|abgesetzt|umgestellt|ersetzt|geheilt|weg ist"
    r"|ne (?:\w+ ){1,4}plus|arrêté|remplacé|guéri\w*|fini\w* avec|ya no|dej[óoé]|dejado de|sustitui\w+|cambi[éó]"
    r"|non (?:\w+ ){1,4}più|smesso|sostitui\w+|guarit\w+|já não|não (?:\w+ ){1,4}mais|pare[i]|parou|larguei|troquei"
    r"|niet meer|geen (?:\w+ ){0,3}meer|gestopt|vervangen|już nie|nie (?:\w+ ){1,4}już|odstawi\w+|przesta\w+|zamieni\w+"
    r"|artık (?:\w+ ){0,6}\w*(?:m[ıiuü]yor|m[ae]z|m[ıi]yom|yok)\w*|bırakt\w+|больше не|уже не|бросил\w*|перестал\w*"
    r"|заменил\w*"
)
_ENDED = (
    r"sold|quit|left|retired from|died|passed away|(?:broke|broken|split) up|gave up|given up|cancell?ed|dropped"
    r"|ditched"
    r"|put (?:\w+ ){0,2}(?:down|to sleep)|paid (?:\w+ ){0,3}off|got rid of|(?:gave|given) (?:\w+ ){0,3}(?:away|to)"
    r"|lost|ended"
    r"|fell through|scrap(?:ped|ping)?|called off|threw (?:\w+ ){0,2}out|rehomed|divorced|packed in"
    r"|packed (?:\w+ ){0,3}in|done with"
    r"|finished with|traded|changed from|moved from|had to let (?:\w+ )?go|passed on|not (?:\w+ ){0,5}after all"
    r"|verkauft|gekündigt|verlassen|gestorben|getrennt|aufgehört|aufgegeben|abgesagt|abgemeldet|vendu\w*|quitté\w*"
    r"|démissionné|mort\w*|séparé\w*|annulé\w*|vendí|vendimos|vendido|renuncié|murió|rompimos|cancel\w+|venduto"
    r"|lasciato"
    r"|mort[oa]|annullat\w+|disdett\w+|vendi|vendemos|morreu|terminamos|cancelei|verkocht|opgezegd|overleden|uit elkaar"
    r"|afgezegd|sprzeda\w+|rzuci\w+|zmar\w+|zdech\w+|rozsta\w+|odwoła\w+|sattı\w+|ayrıldı\w+|öldü|iptal|продал\w*"
    r"|уволил\w*"
    r"|умер\w*|расстал\w*|отменил\w*|отменяется|отпадает|gestrichen|fällt (?:\w+ ){0,3}(?:aus|flach)"
    r"|laisse tomber|tombée? à l['’]eau|abandonn\w+|olv[ií]da\w*|descart\w+|lascia(?:mo)? perdere|saltat[oa]"
    r"|esquece|desist\w+|laat (?:\w+ ){0,3}maar|gaat (?:\w+ ){0,3}niet door|odpada|nie wypali\w+|vazgeçt\w+"
)
_PARTED = re.compile(
    r"died|passed|up$|divorced|gestorben|getrennt|mort|séparé|murió|rompimos|morreu|terminamos|overleden|elkaar"
    r"|zmar|rozsta"
    r"|ayrıl|öldü|умер|расстал",
    re.IGNORECASE,
)
_OVER_FIND = re.compile(rf"\b(?:{_OVER})\b", re.IGNORECASE)
_ENDED_FIND = re.compile(rf"\b(?:{_ENDED})\b", re.IGNORECASE)
_SHIFTED = re.compile(
    r"\b(?:moved|pushed|postponed|brought forward|rescheduled|delayed|changed|upped|raised|bumped|doubled|halved"
    r"|lowered"
    r"|reduced|increased|(?:went|gone|goes|going|put|is|are|now) (?:\w+ )?(?:up|down|back)|(?:is|are|it['’]s|at"
    r"|on) (?:\S+ ){0,4}now"
    r"|verschoben|erhöht|verlegt|gesenkt|reduziert|repoussé\w*|reporté\w*|décalé\w*|avancé\w*|augmenté\w*|baissé\w*"
    r"|aplaz\w+|pospus\w+|movieron|cambiaron|subi[óo]\w*|baj[óo]\w*|aument\w+|spostat\w+|rimandat\w+|rinviat\w+"
    r"|adiad\w+"
    r"|remarc\w+|mudaram|verplaatst|verzet|verhoogd|verlaagd|przesuni\w+|przełoż\w+|podni[eo]s\w+|zmniejsz\w+|ertele\w+"
    r"|artır\w+|düşür\w+|перенес\w+|увеличил\w*|снизил\w*)\b",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"\b(?:moved|relocated|moving|shifted)(?: \w+){0,2} (?:in)?to (?-i:[^\W\d_a-z])|\b(?:umgezogen|gezogen)\b"
    r"|\bdéménag\w+"
    r"|\b(?:me|nos) mud[éa]\w*|\btrasferit\w+|\bmud(?:ei|amos)\b|\bverhuisd\b|\bprzeprowadz\w+|taşınd\w+"
    r"|\bпереехал\w*|引っ越し|搬到|搬去",
    re.IGNORECASE,
)
_HOME = re.compile(
    r"\b(?:lives?|living|based|wohn\w+|lebe?t?|habite\w*|vi[st]|vivo|vive|vivimos|abit[oa]|moro|mora|moramos|woon\w*"
    r"|mieszka\w*|жив[уеё]\w*)\b|yaşıyor|oturuyor|住",
    re.IGNORECASE,
)
_NEW_JOB = re.compile(
    r"\b(?:start(?:ed|ing)?(?: work\w*| a (?:new )?job)? (?:at|as|with)|new job|got the job|(?:i['’]?m|am|is) (?:at"
    r"|with) (?:\w+ ){1,3}now"
    r"|neue\w* (?:job|stelle|arbeit)|nouveau (?:job|boulot|poste|travail)|nuevo trabajo|nuovo lavoro|novo emprego"
    r"|nieuwe baan|now\w+ prac\w+|yeni iş\w*|нов\w+ работ\w+)\b",
    re.IGNORECASE,
)
_JOB = re.compile(
    r"\b(?:works? (?:at|for|as|in)|arbeite\w* (?:bei|als|in)|travaille\w* (?:chez|comme|à)|trabaj[oa] (?:en|como|de)"
    r"|lavor[oa] (?:in|come|da|per)|trabalh[oa] (?:em|na|no|como)|werkt?e? (?:bij|als)|pracuj\w+ (?:w|jako)"
    r"|работа\w+ (?:в|на))\b",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"\b(?:call (?:me|them|him|her)|nenn(?:t)? mich|appelle[sz]?[- ]moi|llám[ae]me|chiam(?:ami|atemi)|me chame|noem me"
    r"|mów mi|зови\w* меня)\b",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(
    r"\b(?:english|german|french|spanish|italian|portuguese|dutch|polish|turkish|russian|japanese|chinese|arabic|korean"
    r"|finnish|swedish|danish|czech|greek|englisch|deutsch|französisch|spanisch|italienisch|français|anglais|allemand"
    r"|espagnol|español|inglés|francés|alemán|italiano|inglese|francese|tedesco|português|inglês|francês|nederlands"
    r"|engels|duits|polsku|angielsku|niemiecku|türkçe|ingilizce|almanca)\b|日本語|英語|中文|英文|по-русски|по-английски",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"\b(?:answer\w*|reply|replies|respond\w*|writ(?:e|ing)|speak|talk|comments?|antwort\w*|schreib\w*|répond\w*"
    r"|écri\w+"
    r"|respond\w+|contest\w+|rispond\w+|antwoord\w*|odpowiada\w*|pisz\w*|cevap\w*|yaz\w*|отвеча\w*|пиши\w*|again"
    r"|from now on)\b",
    re.IGNORECASE,
)
_EATS_AGAIN = re.compile(r"\beat(?:ing|s)? (?:everything|meat|fish|dairy|eggs)\b.*\b(?:now|again)\b", re.IGNORECASE)
_EATS_NONE = re.compile(r"\b(?:vegan|vegetarian|veggie|pescatarian|plant[- ]based)\b", re.IGNORECASE)
_BABY = re.compile(
    r"\b(?:lost (?:the|my|our) baby|miscarr\w+|gave birth|had (?:the|my|our) baby|(?:baby|she|he)(?: is|['’]s"
    r"| was) (?:here|born)"
    r"|fehlgeburt|entbunden|fausse couche|accouché|perd(?:í|imos|i|emos) (?:el |al |o )?beb[éê]|aborto espontáneo"
    r"|di a luz|dei à luz|perso il bambino|partorito|poroni\w+|urodzi\w+|miskraam|bevallen|missfall"
    r"|düşük yaptım|doğum yaptım|выкидыш|родила)\b|流産|流产|出産しました",
    re.IGNORECASE,
)
_EXPECTS = re.compile(
    r"\b(?:pregnan\w+|expecting|schwanger\w*|enceinte|embarazada|grávida|incinta|w ciąży|zwanger|gravid|hamile\w*"
    r"|беременн\w+)\b|妊娠|怀孕|懷孕",
    re.IGNORECASE,
)
_ONLY_THOUGHT = re.compile(
    r"\b(?:if|might|may|maybe|perhaps|nearly|almost|never|thinking|considering|want\w* to|wish\w*|hop(?:e|ing)"
    r"|plan(?:s|ning)? to"
    r"|going to|gonna|should|would|could|about to|didn['’]?t|haven['’]?t|hasn['’]?t|not yet|wenn|falls|vielleicht"
    r"|will|möchte"
    r"|si|peut-être|veux|quisiera|quiero|quizás?|tal vez|se|forse|vorrei|voglio|talvez|quero|als|misschien|wil"
    r"|jeśli|może|chc\w+"
    r"|eğer|belki|istiyorum|если|может|хочу)\b",
    re.IGNORECASE,
)
_VALUE = re.compile(r"\d|" + "|".join(rf"\b{day}\w*" for day in (*WEEKDAYS, *MONTHS)), re.IGNORECASE)
_CLAUSE = re.compile(r"[,;.!?:]\s+|\s+(?:and|but|because|so)\s+")
_LEAST_OF_FACT, _LEAST_OF_HARM = 0.12, 0.2
"""Of what a fact names, so much is named by what ends it: more of it is not over by the end of one thing in it."""
_KIN = word_set(
    "mother mum mom mam father dad wife husband sister brother daughter son girlfriend boyfriend partner aunt"
    " uncle grandma"
    " grandmother grandpa grandfather niece nephew cousin friend boss kid kids child children mutter vater frau mann"
    " schwester bruder tochter sohn freund freundin mère père femme mari soeur sœur frère fille fils copain copine"
    " madre padre"
    " mujer esposa marido hermana hermano hija hijo novia novio moglie marito sorella fratello figlia figlio mãe"
    " pai esposa"
    " irmã irmão filha filho moeder vader vrouw man zus broer dochter zoon mama tata żona mąż siostra brat córka syn"
)
_KIN_STEMS = frozenset(map(stem, _KIN))


def replaced_by(text: str, known: Sequence[PresentFact]) -> int | None:
    """Return the one known fact that is over by what somebody tells; None where none is, or several may be."""
    # What is told again ends nothing.
    others = [fact for fact in known if fact.statement.casefold() != text.casefold()]
    for way in (_ended, _shifted, _of_one_place):
        found = way(text, others)
        if len(found) == 1:
            return found[0].fact_id
    is_thought = text.rstrip().endswith("?") or _ONLY_THOUGHT.search(text)
    return None if is_thought else likeliest_over(text, others)


def tells_change(text: str) -> bool:
    """Whether a statement tells that something is over, or otherwise than it was."""
    return any(
        _told(pattern, text) is not None for pattern in (_OVER_FIND, _ENDED_FIND, _SHIFTED, _BABY, _MOVED, _NEW_JOB)
    )


def _ended(text: str, known: Sequence[PresentFact]) -> list[PresentFact]:
    """Return the facts that have most of what ends here, if that is told of nothing else."""
    is_over = _told(_OVER_FIND, text)
    ends = is_over or _told(_ENDED_FIND, text)
    if ends is None:
        return []
    keys = keys_of(_clause_of(text, ends)) - keys_of(ends[0])
    if not _PARTED.search(ends[0]):
        # "I sold my mother a piano" says nothing of where she lives.
        keys -= _KIN_STEMS
    standing = known if is_over else [fact for fact in known if not states_harm(fact.statement)]
    return _sharing(keys, standing)


def _shifted(text: str, known: Sequence[PresentFact]) -> list[PresentFact]:
    """Return the facts whose day, dose or price is another one now."""
    if _told(_SHIFTED, text) is None or not _VALUE.search(text):
        return []
    return _sharing(keys_of(text), [fact for fact in known if _VALUE.search(fact.statement)])


def _of_one_place(text: str, known: Sequence[PresentFact]) -> list[PresentFact]:
    """Return the facts that give the former value of what there is one of."""
    kin = _kin(text)
    # What somebody is called is asked for by the speaker alone.
    for told, stands, has_owner in (
        (_BABY, _EXPECTS, True), (_MOVED, _HOME, True), (_NEW_JOB, _JOB, True), (_CALLED, _CALLED, False),
        (_EATS_AGAIN, _EATS_NONE, True),
    ):  # fmt: skip
        if _told(told, text) is not None:
            found = (one for one in known if stands.search(one.statement))
            return [one for one in found if not has_owner or _kin(one.statement) == kin]
    languages = {one.casefold() for one in _LANGUAGE.findall(text)}
    if len(languages) == 1 and len(text) <= 80 and _ANSWERS.search(text):
        wishes = (one for one in known if _ANSWERS.search(one.statement))
        others = ((one, {word.casefold() for word in _LANGUAGE.findall(one.statement)}) for one in wishes)
        return [one for one, words in others if len(words) == 1 and words != languages]
    return []


def _told(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return where a pattern says what is so, and no plan, wish or question."""
    found = pattern.search(text)
    if found is None or text.rstrip().endswith("?"):
        return None
    before = _CLAUSE.split(text[: found.start()])[-1]
    return None if _ONLY_THOUGHT.search(before) else found


def _clause_of(text: str, found: re.Match[str]) -> str:
    """Return the clause in which something stands, so that what else is told is not taken for what it is about."""
    starts = [cut.end() for cut in _CLAUSE.finditer(text, 0, found.start())]
    end = _CLAUSE.search(text, found.end())
    return text[starts[-1] if starts else 0 : end.start() if end else len(text)]


def _sharing(keys: frozenset[str], known: Sequence[PresentFact]) -> list[PresentFact]:
    """Return the facts that name most of what a change names, where that is no mere part of what they say."""
    named = {fact.fact_id: keys_of(fact.statement) for fact in known}
    most = max((len(keys & own) for own in named.values()), default=0)
    return [fact for fact in known if most and len(keys & named[fact.fact_id]) == most and _is_about(keys, fact, named)]


def _is_about(keys: frozenset[str], fact: PresentFact, named: Mapping[int, frozenset[str]]) -> bool:
    least = _LEAST_OF_HARM if states_harm(fact.statement) else _LEAST_OF_FACT
    return len(keys & named[fact.fact_id]) >= least * len(named[fact.fact_id])


def _kin(text: str) -> frozenset[str]:
    return _KIN.intersection(words_of(text))
