"""People's own words as statements: what was said, by whom, when, in answer to what, and what it is.

Memories, facts and summaries without a model are chosen from these. Left out is what the speaker only passed on
(``shared.text``), and what is sent over and over, which is a template's. Words stay the speaker's: only relative
times become dates, a bare answer is joined to what was asked, and a "she" gives way to who that is (``antecedents``).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from shared.facts.models import single_value
from shared.text.classifier import ASKS, Judgement, StatementType, asks, judge, with_harm_of_another
from shared.text.gate import Gate
from shared.text.lines import clean, shorten
from shared.text.sentences import sentences, sets_role, without_markup
from shared.text.words import word_set
from worker.agent.antecedents import Antecedents
from worker.agent.changes import tells_change
from worker.agent.corrections import (
    LASTS,
    SURELY,
    is_repair,
    may_spell_name,
    opens_with_repair,
    put_right,
    repaired,
    with_name_as_spelt,
)
from worker.agent.dates import resolve
from worker.agent.persons import in_third_person
from worker.agent.protocol import TranscriptTurn

_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}")
_NO_NAMES = word_set("user human me you customer client guest anonymous unknown")


def name_of(name: str | None) -> str:
    """Return a speaker's name where it can stand before a statement, else nothing."""
    written = clean(name or "")
    fits = len(written) <= 40 and _NAME.fullmatch(written) and written.lower() not in _NO_NAMES
    return written if fits else ""


KEPT = 0.4
"""From this probability a statement is worth a place. Source: ``ops.train --validate``, writers left out."""
WORTH_KEEPING = 5
"""Importance from which on a talk that says it is not nothing."""
NOT_TO_BE_LOST = 8
"""Importance from which on a memory has to say it: what harms if it is forgotten, a limit, a wish that stands."""
_LONG = 160
"""Characters from which a sentence is cut into its clauses."""
_LEAST_CLAUSE = 30
_MOST_CLAUSES = 6
_LEAST_WORDS = 3
_CLAUSE = re.compile(r"\s*[;；]\s*|\s+[-–—]+\s+|(?<=[,،])\s+|(?<=[，、])|\s+(?=\()")
_JOINT = re.compile(
    # Who dictates says no comma.
    r"\s+(?=(?:and|but|so|cos|cause|because|then|plus|und|aber|weil|denn|et|mais|donc|car|y|pero|porque|e|ma|perché|mas"
    r"|então|en|maar|want|dus|och|men|i|ale|bo|więc|ve|ama|çünkü|и|но|а|потому)\s+(?:i|i['’]?m|we|he|she|they|it|its|my"
    r"|our|his|her|the|that|there|you|ich|wir|er|sie|es|mein\w*|unser\w*|der|die|das|je|j['’]\w+|nous|il|elle|on|mon"
    r"|ma|mes|le|la|les|yo|me|mi|mis|él|ella|el|los|io|noi|mio|mia|lui|lei|eu|meu|minha|ele|ela|o|a|ik|wij|hij|zij"
    r"|mijn|de|het|jag|vi|han|hon|min|ja|mój|moja|ona|ben|biz|benim|я|мы|он|она|мой|моя|у)\s)",
    re.IGNORECASE,
)
"""Where somebody goes on with another clause, in the languages with words for it that are likely here."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_LETTERS_OF_WORD = 3
"""Of scripts without spaces, about."""
_QUESTION = re.compile(r"[^.!?。！？؟\n]*[?？؟]")
_SHORT_ANSWER = 40
"""Characters of an answer that says little without its question, and is not cut."""
_FEW_WORDS = 4
_LONGEST_QUESTION = 80
_TEMPLATE_TIMES = 3
"""A message said so often in one talk is a template's."""
_PLAYS = re.compile(r"(?:^|\s)\*[^*\n]+\*(?:\s|$)")
_EMOJI = re.compile("[\u200d\ufe0f\u2600-\u27bf\U0001f000-\U0001faff\U000e0020-\U000e007f]+")
_TALK = 0.2
"""Up to this probability an opening clause is none of what is said; "ash" of "ash, not oak" has a little more."""
_STATEMENT_END = " .!。！।۔"
_OPENING = re.compile(r"([^,،，、]+)([,،](?=\s)|[，、])\s*(.+)", re.DOTALL)
_HEADING = re.compile(
    r"(?:\w+ ){0,3}(?:about (?:me|myself)|background|context|facts?|info(?:rmation)?|notes?|profile|pros?"
    r"|cons?)(?: \w+){0,2}: +",
    re.IGNORECASE,
)
_ASKED_NEXT = re.compile(
    r"\s+(?:so|and|but|then)\s+(?=(?:can|could|should|may|is|are|do|does|will|would|what|how)\s)", re.IGNORECASE
)
"""Where a question begins that has no mark before it."""
_ASKED_IN_A_HURRY = re.compile(
    r".{4,60}?(\s+(?:(?:so|and|but)\s+)?)(?:what\s+|how\s+)?(?:can|could|should|may)\s+(?:i|we|he|she|they)\s.{2,40}",
    re.IGNORECASE | re.DOTALL,
)
"""A question that has none behind it either."""
_ORDER = re.compile(r"(?:please |pls |so |and )*help\s+(?:me|us)\b", re.IGNORECASE)
_PRESENTS = re.compile(
    r"(?:here|this|these|below|hier|dies\w*|voici|voilà|aqu[íi]|est[ea]|ecco|quest[oa])\b", re.IGNORECASE
)
"""Begins what presents a text that is asked about."""
_CONDITION = re.compile(
    r"(?:and |but |so |und |et |y |e )?(?:if|when|unless|suppose|say|imagine|wenn|falls|si|quand|cuando|se|quando|als"
    r"|indien|wanneer|jeśli|jeżeli|gdy|jak|если|когда|eğer|om|när|hvis|když|pokud|dacă|ha)\b|如果|要是|もし|만약",
    re.IGNORECASE,
)
_TOLD = 0.65
"""From this probability of "keep" or of "fact" on it is told, and no mere opening of the question."""
_RELATIVE = re.compile(r"(?:who|whose|whom|which|qui|dont|quien|cui)\b", re.IGNORECASE)
"""Opens a clause about what stands before it."""
_SPEAKER = re.compile(r"i(?:['’](?:m|ve|ll|d))?\s", re.IGNORECASE)
_INTERJECTIONS = re.compile(
    r"(?:(?:oh|ah|um|hm+|well|yes|yeah|yep|no|nope|nah|actually|right|sure|ok(?:ay)?)\b[,!.:]*\s+)+", re.IGNORECASE
)
_OPENERS = re.compile(
    # Of one letter or with a meaning in another language, as Polish "i" and Swedish "men", they stay.
    r"(?:(?:(?:and|also|but|plus|oh|ah|um+|uh+|hm+|erm?|ok(?:ay)?|anyways?|btw|by the way|lol|haha+|basically|und|aber"
    r"|ach|übrigens|et|mais|alors|au fait|pero|pues|bueno|allora|comunque|então|aliás|maar|trouwens|och|ale|ama"
    r"|bu arada|и|но|ну|кстати)\b[,:!.…]*|(?:well|so|right|like|y|e)[,:]"
    r"|so(?= (?:i|i['’]?m|my|we|our|he|she|they)\b))\s+)+",
    re.IGNORECASE,
)
_ENDINGS = re.compile(
    r"(?:[\s,;:.…!]+(?:lol|lmao|haha+|hehe+|btw|tho|xx+|thx|ty|thanks|please|pls|plz|:[)(dp]|;[)p]|\^\^|jaja+|mdr))+[\s.!…]*$",
    re.IGNORECASE,
)
"""What somebody begins and ends with, and says nothing by."""
_ECHO = re.compile(
    r"i(?:['’]m|\s+(?:am|do|did|have|would|will|can|could|was|had|should))(?:\s+not|n['’]t)?"
    r"(?:[,\s]+(?:thanks|thank you|sometimes|too|please))?[.!\s]*",
    re.IGNORECASE,
)
"""Says no more than yes or no."""
_POINTS_BACK = re.compile(r"\b(?:it|that|this|those|these|them|one|ones|there|so)\b", re.IGNORECASE)
_HEADING_ENDS = (":", "：")
_LONGEST_NAME = 20


@dataclass(frozen=True)
class SpokenStatement:
    """One thing somebody said."""

    text: str
    """In the speaker's words, relative times as dates, without the full stop."""
    turn: TranscriptTurn
    position: int
    """Among all statements of the talk."""
    judged: Judgement
    is_whole: bool = False
    """Whether it is not to be cut: it is joined to what was asked, or to what takes it back."""

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return asks(self.text)

    @property
    def is_plain(self) -> bool:
        """Whether all it says is where the speaker lives or works, or another value of what there is one of."""
        # Of a rare town's name the classifier may think anything.
        return self.judged.keep >= KEPT and single_value(in_third_person(self.text)) is not None

    @property
    def is_short(self) -> bool:
        """Whether it has room for little but a correction."""
        return len(self.text) <= _SHORT_ANSWER

    @property
    def is_brief(self) -> bool:
        """Whether it may be nothing but a correction."""
        return len(self.text) <= 2 * _SHORT_ANSWER

    def parts(self, least_words: int = _LEAST_WORDS) -> Iterator[tuple[str, Judgement]]:
        """Yield whole clauses of it, one or several in a row, that may stand for it, with what each is taken for."""
        cuts = [] if self.is_whole else _cuts(self.text)[: _MOST_CLAUSES - 1]
        starts, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(self.text)]
        for first, start in enumerate(starts):
            for end in ends[first:]:
                part = self.text[start:end].strip(" ,，、،")
                is_whole = len(part.strip()) >= len(self.text.strip())
                if not is_whole and word_count(part) >= least_words and part.count("(") == part.count(")"):
                    yield part, judge(part)


def word_count(text: str) -> int:
    """Return of how many words a text is, about."""
    return max(len(text.split()), len(_UNSPACED.findall(text)) // _LETTERS_OF_WORD)


def is_user(turn: TranscriptTurn) -> bool:
    """Whether a user speaks."""
    return turn.role == "user"


def read_statements(
    turns: Sequence[TranscriptTurn],
    before: Sequence[TranscriptTurn] = (),
    speaks: Callable[[TranscriptTurn], bool] = is_user,
) -> list[SpokenStatement]:
    """Return what was said in ``turns``, in order, by those of whom ``speaks`` is true.

    ``before``: what stood before them.
    """
    times = Counter(turn.content for turn in turns)
    in_fiction = any(_PLAYS.search(turn.content) or sets_role(turn.content) for turn in (*before, *turns))
    names = {turn.name for turn in (*before, *turns) if turn.name}
    addressed = _address_of(names)
    told: defaultdict[str | None, Antecedents] = defaultdict(lambda: Antecedents(names))
    for turn in filter(speaks, before):
        for sentence in sentences(turn.content):
            told[turn.name].named(sentence)
    found: list[SpokenStatement] = []
    question = _question_of(before[-1]) if before and not is_user(before[-1]) else ""
    for turn in turns:
        if speaks(turn) and times[turn.content] > 0:
            own = replace(turn, content=addressed.sub("", turn.content)) if addressed else turn
            # Behind the last that is kept: a number stands for one statement, and not all of a repeated turn are kept.
            start = found[-1].position + 1 if found else 0
            statements = list(_read_turn(own, question, in_fiction, start, told[turn.name]))
            if times[turn.content] >= _TEMPLATE_TIMES:
                # Or somebody was not heard, as when errors answered: what would harm them if it were forgotten is kept.
                times[turn.content] = 0
                harms = (one for one in statements if one.judged.sort is StatementType.HARM)
                statements = vital(harms, NOT_TO_BE_LOST)
            found += statements
        question = "" if is_user(turn) else _question_of(turn)
    return _corrected(found)


def vital(statements: Iterable[SpokenStatement], least: int) -> list[SpokenStatement]:
    """Return those of an importance of at least ``least`` (0..10), in their order."""
    return [one for one in statements if one.judged.importance >= least and _is_sure(one.judged)]


def _is_sure(judged: Judgement) -> bool:
    if judged.importance < NOT_TO_BE_LOST:
        return judged.keep >= _SURE
    # Among several sorts the one that matters most is taken, however unlikely: too little to refuse a model's memory.
    leads = max(judged.sorts[StatementType.HARM], judged.sorts[StatementType.WISH]) >= _SURE_OF_VITAL
    return leads and judged.keep >= _SURE_OF_VITAL


_SURE, _SURE_OF_VITAL = 0.9, 0.7
"""From this probability on a model is asked again for what it left out. Of 86 right memories three are refused so."""


def left_out(text: str, statements: Sequence[SpokenStatement]) -> list[SpokenStatement]:
    """Return the statements of which less than half of the words of weight stand in a text.

    It is enough if a part holds that is as important: of "celiac, diagnosed in 2014 in Vigo" the illness.
    """
    gate = Gate([text])
    return [
        one
        for one in statements
        if not gate.holds(one.text)
        and not any(gate.holds(part) for part, judged in one.parts(2) if judged.importance >= one.judged.importance)
    ]


def speaker_name(turn: TranscriptTurn) -> str:
    """Return the name under which what a turn says is kept; its role where it has none."""
    name = shorten((turn.name or "").replace(":", " ").replace(";", " "), _LONGEST_NAME).strip(" .")
    return name or turn.role.capitalize()


def _address_of(names: Collection[str]) -> re.Pattern[str] | None:
    """Return what finds speakers' names, and their beginnings, where they are merely addressed: "I agree, Mel!"."""
    forms = "|".join(re.escape(name[:end]) for name in names for end in range(len(name), 2, -1))
    behind, before = rf",\s*(?:{forms})(?=\s*(?:[.!?,]|$))", rf"(?:^|(?<=[.!?] ))(?:{forms})\s*[,!]\s*"
    return re.compile(f"{behind}|{before}", re.IGNORECASE | re.MULTILINE) if forms else None


def _read_turn(
    turn: TranscriptTurn, question: str, in_fiction: bool, start: int, told: Antecedents
) -> Iterator[SpokenStatement]:
    position = start
    if question:
        told.hear(question)
    found = _headed([repaired(one) for one in sentences(turn.content)])
    cut = (
        ([" ".join(found)] if found else [])
        if question and sum(map(len, found)) <= _SHORT_ANSWER
        else [clause for sentence in found for part in _told_and_asked(sentence) for clause in _clauses(part)]
    )
    for number, line in enumerate(map(told.named, cut)):
        line_text = _without_heading(_EMOJI.sub("", line).strip())
        answers = question if number == 0 else ""
        dated = resolve(line_text, turn.created_at.date())
        text = _without_fillers(_without_greeting(dated)).strip(_STATEMENT_END)
        if word_count(text) == 0:
            continue
        judged = judge(line_text, bool(answers), in_fiction)
        is_goodbye = judged.sort is StatementType.TALK and judged.keep < _TALK
        # A date makes a plan of a goodbye: "that's all for today". Few lines have one, and to judge takes longest.
        if dated != line_text and not is_goodbye:
            judged = judge(dated, bool(answers), in_fiction)
        joined = bool(answers) and _needs_question(line_text)
        if joined:
            text = f"{answers} {dated.strip(_STATEMENT_END)}"
            reading = judge(f"{answers} {line_text if is_goodbye else dated}", True, in_fiction)
            # A "yes" says nothing by itself, and all where it was asked for an allergy.
            is_harm = reading.sort is StatementType.HARM and reading.is_sure_harm
            judged = reading if is_harm else judged.combined_with(reading)
        yield SpokenStatement(text, turn, position, _with_harm_within(text, judged), joined)
        position += 1


def _with_harm_within(text: str, judged: Judgement) -> Judgement:
    """Return what a statement is taken for: a harm where one clause of it surely is."""
    judged, clauses = with_harm_of_another(text, judged), clauses_of(text)
    if len(clauses) == 1 or judged.is_sure_harm:
        return judged
    found = (with_harm_of_another(clause, judge(clause)) for clause in clauses)
    harm = next((one.sorts for one in found if one.is_sure_harm), None)
    return Judgement(judged.keep, judged.fact, harm) if harm else judged


def _without_greeting(line: str) -> str:
    """Return what is said behind "Merhaba, ..." or "oh well, ...": a word or two of talk, in any language."""
    found = _OPENING.fullmatch(line)
    opening, comma, rest = found.groups() if found else ("", "", "")
    if not comma or word_count(opening) >= _LEAST_WORDS or word_count(rest) < _LEAST_WORDS:
        return line
    judged = judge(opening)
    return rest if judged.keep < _TALK and judged.sorts[StatementType.TALK] > 0.5 else line


def _without_fillers(line: str) -> str:
    """Return what is said between "oh and" and "lol"."""
    own = _ENDINGS.sub("", _OPENERS.sub("", line, count=1) if _OPENERS.match(line) else line)
    return own if word_count(own) >= _LEAST_WORDS else line


def _without_heading(line: str) -> str:
    """Return what "About me: I am a nurse" says, where the heading says that it is the speaker's own."""
    heading = _HEADING.match(line)
    rest = line[heading.end() :] if heading else line
    return rest if in_third_person(rest) != rest else line


def _needs_question(answer: str) -> bool:
    """Whether an answer says little without what was asked: it is short, and says nothing of the speaker by itself."""
    opening, own = re.split(r"[.!,，、،。]", answer, maxsplit=1)[0], _INTERJECTIONS.sub("", answer)
    is_of_self = _SPEAKER.match(own) is not None and not _ECHO.fullmatch(own) and not _POINTS_BACK.search(own)
    return len(answer) <= _SHORT_ANSWER and word_count(opening) <= _FEW_WORDS and not is_of_self


def _headed(found: Sequence[str]) -> list[str]:
    """Put short lines below a heading behind it: "My allergies:" and its list are one statement."""
    lines: list[str] = []
    is_list = False
    for one in found:
        is_list = is_list and len(one) <= _SHORT_ANSWER and not any(mark in one for mark in (*_HEADING_ENDS, *ASKS))
        if is_list and len(lines[-1]) + len(one) <= _LONG:
            lines[-1] += f"{' ' if lines[-1].endswith(_HEADING_ENDS) else ', '}{one}"
            continue
        lines.append(one)
        is_list = one.endswith(_HEADING_ENDS) and len(one) <= _SHORT_ANSWER
    return lines


def _told_and_asked(sentence: str) -> list[str]:
    """Part what somebody tells from what they ask about it: "I'm pregnant, can I have sushi?"."""
    if _CONDITION.match(sentence) or _PRESENTS.match(sentence):
        return [sentence]
    if asks(sentence):
        cuts = [cut.span() for cut in (*_cuts(sentence), *_ASKED_NEXT.finditer(sentence))]
    else:
        hurried = _ASKED_IN_A_HURRY.fullmatch(sentence)
        cuts = [cut.span() for cut in _cuts(sentence) if _ORDER.match(sentence, cut.end())]
        cuts += [hurried.span(1)] if hurried else []
    # From the end: all that is told stays together.
    for start, end in sorted(cuts, reverse=True):
        told, asked = sentence[:start].rstrip(" ,，、،"), sentence[end:]
        judged = judge(told)
        is_told = judged.keep >= KEPT and max(judged.keep, judged.fact) >= _TOLD and not _RELATIVE.match(asked)
        if is_told and (_ORDER.match(asked) or judge(f"{asked.rstrip(' .?')}?").sort is StatementType.QUESTION):
            return [told, asked]
    return [sentence]


def _clauses(sentence: str) -> list[str]:
    """Return a sentence, or where it is long its clauses, none of them so short that it hangs."""
    if len(sentence) <= _LONG:
        return [sentence]
    found = [""]
    is_open = False
    for clause in (part for one in clauses_of(sentence) for part in (_JOINT.split(one) if len(one) > _LONG else [one])):
        is_beside = _RELATIVE.match(clause) is not None
        if len(found[-1]) < _LEAST_CLAUSE or is_beside or is_open:
            found[-1] = f"{found[-1]} {clause}".strip()
        else:
            found.append(clause)
        # "My daughter, who is four, must not have sesame": what comes behind goes on with whom it is about.
        is_open = is_beside
    if len(found) > 1 and len(found[-1]) < _LEAST_CLAUSE:
        found[-2:] = [f"{found[-2]} {found[-1]}"]
    return [one.strip(" ,，、،") for one in found]


def clauses_of(text: str) -> list[str]:
    """Return all clauses of a text, in order."""
    cuts = _cuts(text)
    starts, ends = (0, *(cut.end() for cut in cuts)), (*(cut.start() for cut in cuts), len(text))
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _cuts(text: str) -> list[re.Match[str]]:
    """Return where a text may be cut into clauses: nowhere that what takes something back is parted from it."""
    cuts = list(_CLAUSE.finditer(text))
    bounds = [0, *(cut.end() for cut in cuts), len(text), len(text)]
    # "samedi, non pardon, dimanche" is cut neither before nor behind the "non pardon".
    repairs = [any(is_repair(text[bounds[at] : end].rstrip(" ,，、،")) for end in bounds[at + 1 : at + 3])
               for at in range(1, len(cuts) + 1)]  # fmt: skip
    short = [word_count(text[start:end]) < _LEAST_WORDS for start, end in pairwise(bounds[1:-1])]
    glued = [is_one or (at > 0 and repairs[at - 1] and short[at - 1]) for at, is_one in enumerate(repairs)]
    return [cut for cut, is_one in zip(cuts, glued, strict=True) if not is_one]


def _question_of(turn: TranscriptTurn) -> str:
    """Return what a turn asks last; empty where that says no more than a sentence of its own would."""
    questions = _QUESTION.findall(without_markup(turn.content))
    return questions[-1].strip() if questions and len(questions[-1].strip()) <= _LONGEST_QUESTION else ""


def _corrected(found: Sequence[SpokenStatement]) -> list[SpokenStatement]:
    """Put right what a later statement takes back: "by the 14th" and then "not the 14th, the 12th"; a slip of a key.

    A short correction that was heeded says nothing more by itself, and is left out. One that was not stays with what
    was said before it, so that neither is read alone.
    """
    kept: list[SpokenStatement] = []
    turns = list(dict.fromkeys(one.turn.message_id for one in found))
    for later in found:
        is_heeded, is_sure = False, later.is_brief and later.judged.change >= CHANGED
        # Words are put right only in what was said in this turn and the one before.
        since = turns[max(0, turns.index(later.turn.message_id) - 1) :]
        if may_spell_name(later.text):
            kept = [
                one if one.turn.name != later.turn.name else replace(one, text=with_name_as_spelt(one.text, later.text))
                for one in kept
            ]
        for at, earlier in enumerate(kept if may_correct(later) else ()):
            if earlier.turn.name == later.turn.name:
                is_near = is_sure and later.is_short and earlier.turn.message_id in since
                is_next = is_near and earlier.position == later.position - 1 and is_surely_change(later)
                text = put_right(earlier.text, later.text, is_surely_change(later), is_near, is_next)
                is_heeded |= text != earlier.text
                kept[at] = replace(earlier, text=text)
        if later.is_brief and is_heeded:
            continue
        if kept and later.is_brief and _takes_back(later) and kept[-1].turn.name == later.turn.name:
            kept[-1] = replace(kept[-1], text=f"{kept[-1].text}, {later.text}", is_whole=True)
            continue
        kept.append(later)
    return kept


def may_correct(statement: SpokenStatement) -> bool:
    """Whether a statement may give another value of what was said; a short one has only to hint at it."""
    return statement.judged.change >= (_HINTS if statement.is_short else 2 * _HINTS)


def is_surely_change(statement: SpokenStatement) -> bool:
    """Whether a statement is short and nothing but a correction or a change."""
    return statement.is_short and statement.judged.change >= SURELY


def _takes_back(statement: SpokenStatement) -> bool:
    """Whether a statement takes back what was said before it, and tells nothing by itself that lasts."""
    # "Sorry, late" puts nothing right; of so few words the classifier is less sure.
    least = KEPT if word_count(statement.text) >= _LEAST_WORDS else _SHORT_SAYS
    says = statement.judged.keep >= least or any(map(str.isdigit, statement.text))
    # What is over by its own words is told by itself: "I moved to Marketing last month".
    is_repair = is_surely_change(statement) and statement.judged.fact < LASTS
    return says and not tells_change(statement.text) and (is_repair or opens_with_repair(statement.text))


_SHORT_SAYS = 0.6
CHANGED = 0.3
"""From this share of "change" on a statement corrects something, or says that it has changed."""
_HINTS = 0.1
