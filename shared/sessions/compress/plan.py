"""What a version is to hold, decided before anything is chosen: tiers, their budgets, markers, worth of statements.

Pure functions of what was read and of complete settings. A statement is kept whole or not at all; worth is what it
tells for its length and by where it stands.
Source: seed 004, "Weight Decay Calculation"; oracles, "Sessions"; decisions, "Recorded sessions".
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from shared.base.choices import KeepitMode
from shared.llm.calls import LAST_RESORT
from shared.sessions.blocks import Block, BlockKind, speaker_of
from shared.sessions.compress.settings import CompressionSettings
from shared.sessions.compress.sources import DIGESTS, message_count
from shared.sessions.markers import PINNED, survives
from shared.sessions.text import StatementSpan, names_in, statements_of
from shared.sessions.transcripts.typed import NOTE, OUTPUT
from shared.text.classifier import StatementType, judge


@dataclass(frozen=True)
class MarkerDecision:
    """What becomes of a marked part."""

    marker_id: str
    weight: int
    survived: bool


@dataclass(frozen=True)
class CompressionPlan:
    """What is compressed, and into what."""

    settings: CompressionSettings
    blocks: tuple[Block, ...]
    """Without what is skipped, but for marked parts in it that survive; each with its tier."""
    kept: frozenset[int]
    """Positions of the marked parts that survive."""
    decisions: tuple[MarkerDecision, ...]
    input_by_tier: tuple[int, ...]
    messages: int
    budgets: tuple[int, ...]
    """Tokens each tier may take."""
    last_request: frozenset[int]
    """Positions of what a person asked for last."""
    replied_to: Mapping[int, int]
    """Positions of what people typed in answer to a call, each with the call's."""

    @property
    def input_tokens(self) -> int:
        """What all tiers take before."""
        return sum(self.input_by_tier)

    @property
    def target_chars(self) -> int:
        """Characters the whole may take."""
        return LAST_RESORT.chars_in(max(1, sum(self.budgets)))

    @property
    def tier_chars(self) -> list[int]:
        """Characters each tier may take."""
        return [self.target_chars * tokens // max(1, sum(self.budgets)) for tokens in self.budgets]

    @property
    def target_ratio(self) -> float:
        """The ratio that all tiers together come to."""
        return self.input_tokens / max(1, sum(self.budgets))


def plan_compression(blocks: Sequence[Block], settings: CompressionSettings) -> CompressionPlan:
    """Decide on tiers, budgets and markers."""
    skipped, tiers = settings.skip_first_messages, settings.tiers
    messages = message_count(blocks) - skipped
    chosen: list[Block] = []
    kept: set[int] = set()
    decisions: list[MarkerDecision] = []
    by_tier = [0] * len(tiers)
    for block in blocks:
        # A message is of the tier that ends behind it, by how much of the session is over with it.
        over = 100 * (block.message - skipped + 1)
        at = next((n for n, tier in enumerate(tiers) if over <= tier.end_percent * messages), len(tiers) - 1)
        is_kept = False
        if block.weight is not None:
            weight, tier = block.weight, tiers[at]
            if settings.keepit_mode is KeepitMode.DECAY:
                is_kept = survives(
                    weight, tier.aggressiveness, tier.compaction_ratio, settings.session_distance, settings.decay
                )
            else:
                pinned = PINNED if settings.decay is None else settings.decay.pinned
                is_kept = settings.keepit_mode is KeepitMode.PRESERVE_ALL or weight >= pinned
            decisions.append(MarkerDecision(block.marker_ids[0], weight, is_kept))
        if block.message >= skipped:
            by_tier[at] += block.tokens
        elif not is_kept:
            continue
        if is_kept:
            kept.add(len(chosen))
        chosen.append(block if block.tier == at else replace(block, tier=at))
    requests = [block.message for block in chosen if is_request(block)]
    calls = {block.call.tool_use_id: position for position, block in enumerate(chosen) if block.call}
    return CompressionPlan(
        settings=settings,
        blocks=tuple(chosen),
        kept=frozenset(kept),
        decisions=tuple(decisions),
        input_by_tier=tuple(by_tier),
        messages=max(0, messages),
        budgets=tuple(tokens // tier.compaction_ratio for tokens, tier in zip(by_tier, tiers, strict=True)),
        last_request=frozenset(
            position for position, block in enumerate(chosen) if is_request(block) and block.message == requests[-1]
        ),
        replied_to={
            position: calls[block.replies_to]
            for position, block in enumerate(chosen)
            if block.kind is BlockKind.HUMAN and block.replies_to in calls
        },
    )


PartKey = tuple[int, int]
"""Where a part of a version stood in the session: the position of its block, and which statement of the block it is."""


class Rank(IntEnum):
    """What comes into a version before what; what found no room by its share comes again further down, by itself."""

    LAST_REQUEST = 0
    OUTCOME = 1
    ENDING = 2
    """What stands behind the last words: calls, and that a person interrupted the assistant."""
    OPEN_END = 3
    NOTE = 4
    RULE = 5
    REPLY = 6
    """What a person typed when they refused or answered something."""
    FIRST_REQUEST = 7
    ATTEMPT = 8
    """What the assistant told of attempts that came to nothing."""
    DECISION = 9
    """What the assistant told of one way being taken and another one not."""
    MORE_RULES = 10
    FAILURE = 11
    DONE = 12
    PROMPT = 13
    ANSWER = 14
    CONDENSED = 15
    """What an agent kept, or said in words of its own."""
    SPOKEN = 16
    MORE_FAILURES = 17
    MORE_DONE = 18
    RESULT = 19
    MORE_OF_LAST_REQUEST = 20
    REST = 21
    """Thinking, and what sub-agents said."""
    LONG_RESULT = 22
    ASIDE = 23
    """What only says that something follows ("Let me see."), and names nothing."""
    INSERTED = 24
    """Skills, templates, reminders and what the tool itself said: the tool has them still."""


def is_request(block: Block) -> bool:
    """Whether a person said it to the assistant; what they ran in a shell they did not."""
    return block.kind is BlockKind.HUMAN and not block.label


def is_answer(block: Block) -> bool:
    """Whether the assistant said it to a person."""
    return block.kind is BlockKind.ASSISTANT and not block.is_sidechain and bool(block.text.strip())


def is_spoken(block: Block) -> bool:
    """Whether a person or the assistant said it to the other."""
    return is_request(block) or is_answer(block)


_ASIDE = re.compile(
    r"^\W*(?:now,? |next,? |first,? |ok(?:ay)?,? |great[,!.]* |perfect[,!.]* |good[,!.]* )?"
    r"(?:let me|let['’]s|i['’]ll|i will|i am going to|i['’]m going to|i need to|i should)\b"
    r"|^\W*(?:great|perfect|excellent|good|done|sure|certainly|of course|i see|you['’]re (?:absolutely )?right)\b"
    r"[^.]{0,30}[.!]*$",
    re.IGNORECASE,
)
_INTERRUPTED = "[Request interrupted by user"
_OF_THE_TOOL = re.compile(
    r"\s*(?:<[a-z-]+>\s*)?(?:Caveat: The messages below|Whenever you read a file|Note: \S+ was (?:modified|read before)"
    r"|The (?:Todo\w*|task) tools? ha(?:s|ve)n['’]t been used|This is a reminder that your todo list"
    r"|Your todo list has|(?:Re-entering )?Plan mode |You are (?:in|now in) plan mode|The user (?:opened|selected) )",
    re.IGNORECASE,
)
"""What the tool tells the assistant of itself again and again; the next session is told it anew."""
_TELLS = re.compile(
    r"\b(?:because|root cause|caused by|due to|so that|fix(?:ed|es)?|decid\w+|instead of|rather than|switch\w*|chose"
    r"|must|never|always|important|problem|issue|bug|fail\w*|error|works?|passes|passed|todo|next step|remaining"
    r"|summary|changed|added|removed|renamed|replaced|created|updated|means|turns out|conclusion|however|but|only)\b",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"^\W*(?:(?:please|pls|and|also|but|so|btw|ok(?:ay)?|remember|note|important|rule|bitte"
    r"|y(?:es|eah|ep)|nope?|right|ja|nein|nee|sí|vale)[ ,:!.]+)*(?:(?:you|we|i)"
    r"(?: (?:must|should|want you to|need to|have to))? )?(?:always|never|avoid|stick (?:to|with)|prefer"
    r"|(?:make|be) sure|only (?:ever )?(?:use|write|run|commit|add|call|touch)"
    r"|(?:do not|don['’]?t) (?:ever )?(?:use|add|touch|commit|push|change|write|edit|remove|delete|rename|create"
    r"|put|mock|skip|mention|sign)|(?:keep your )?hands off|keep in mind|immer|nie(?:mals)?|finger weg|toujours|jamais"
    r"|siempre|nunca|sempre|altijd|nooit|никогда|всегда)\b"
    # Said to somebody: who tells what somebody does not do names who.
    r"|(?:^\W*|[.,;:(–—]\s*|\b(?:and|but|so|also|please|pls|btw)\s+)(?:you )?(?:never|only ever|(?:do not|don['’]?t)"
    r"(?: ever)? (?!know|mind|worry|think|see|understand|get|need|have|want|like|care|remember|forget|believe|be|work"
    r"|seem|look)\w)"
    r"|\b(?:from now on|in (?:the )?future|going forward|from here on|every time|by default|under no circumstances"
    r"|(?:without|no) exceptions?|until further notice|(?:must|may|shall) (?:never|not)"
    r"|(?:must|ha(?:s|ve) to) (?:always |still )?(?:keep|stay|remain|continue)|mustn['’]?t|not allowed"
    r"|off[- ]limits|forbidden|(?:is|are|stays?|remains?) (?:read[- ]only|frozen|untouched)"
    r"|leave [^.]{1,60} (?:alone|as (?:it is|they are))|stay away from"
    r"|before (?:you (?:tell|say|report|commit|push|merge)|(?:commit|push|merg)\w*ing)"
    r"|(?:ask|check with|tell) me (?:first|before)|needs? my \w+|whenever you"
    r"|when you [^.]{1,80}, (?:please )?(?:tell|ask|show|run|add|keep|write|use|check|update)"
    r"|(?:(?:must|have|has|needs?) to|should|shall) [^.]{1,60}\band not\b"
    r"|(?:never|always) again|(?:auf|in) keine[nm] fall|keinesfalls|unter keinen umständen|nur (?:mit|über|per|durch)"
    r"|ab (?:jetzt|sofort)|künftig|in zukunft|ohne ausnahme|(?:vor|nach|bei) jede[mrn]"
    r"|verboten|tabu|bleib(?:t|en) [^.]{0,30}(?:unberührt|unangetastet)"
    r"|(?:nicht|nichts|nie|bloß|nur ja) (?:\w+ )?(?:anfassen|ändern|löschen|entfernen|committen|pushen|installieren"
    r"|benutzen|verwenden|umbenennen|umstellen)"
    r"|no (?:lo |la |los |las |me )?(?:toques|toquéis|instales|hagas|uses|cambies|borres|añadas|pongas|modifiques|subas"
    r"|quites|olvides|crees|escribas)|en ningún caso|bajo ningun\w+ \w+|ne (?:touche|change|modifie|supprime|commit)\w*"
    r" (?:\w+ )?(?:pas|rien|plus)|en aucun cas|non (?:toccare|usare|cambiare|modificare|cancellare)|in nessun caso"
    r"|não (?:mexa|toque|use|mude|altere|apague|instale)|em nenhum caso|désormais|dorénavant|interdit\w*"
    r"|(?:avant|après) chaque|sans exception|ne [^.]{1,20} (?:jamais|rien)|a partir de ahora|prohibid\w+"
    r"|antes de cada|prima di ogni|voor elke|нельзя|обязательно)\b"
    r"|\b(?:use|keep|write|commit|run)\b[^.]{0,60}(?:,? (?:not|never)\b|\binstead of\b|\brather than\b|\bonly\b)"
    r"|必ず|常に|今後|絶対|禁止|必须|始终|永远|不要",
    re.IGNORECASE,
)
HOLDS_FOR_GOOD = re.compile(
    r"\b(?:from now on|going forward|from here on|in (?:the )?future|until further notice|under no circumstances"
    r"|always|never|ever|ab (?:jetzt|sofort)|künftig|immer|nie(?:mals)?|(?:auf|in) keine[nm] fall|toujours|jamais"
    r"|désormais|siempre|nunca|a partir de ahora|en ningún caso|sempre|mai|altijd|nooit|никогда|всегда)\b"
    r"|常に|今後|絶対|始终|永远",
    re.IGNORECASE,
)
"""What says of a rule itself that it outlasts what is being done."""
_LIKE_A_RULE = re.compile(
    r"\b(?:every|each|all|any|no(?!,| need)|nothing|nobody|everything|whatever|anything)\b[^.]{0,60}\b(?:must|may"
    r"|needs?|ha(?:s|ve) to|gets?|should|shall|stays?|belongs?|(?:is|are) to)\b|\b(?:before|after) (?:every|each|any)\b"
    r"|(?:^\W*|\bso )no (?!need|idea|problem|worr|rush|hurry|matter|longer|one|thank|way|wonder|doubt|reason|sense|clue"
    r"|luck|changes?|errors?|results?|output|it|that|this|i|not|such|differ)[\w`-]+|^\W*[\w@./-]+ only\b"
    r"|\b(?:is|are|gets?|goes?) (?:always|never)\b|\bi (?:do not|don['’]?t) want\b|, not (?:in|on|to|by|from|with)\b"
    r"|\b(?:nichts|keine?[nrs]?|niemand|alle[ns]?|jede[rsnm]?)\b[^.]{0,60}\b(?:darf|dürfen|muss|müssen|soll(?:en)?)\b"
    r"|\b(?:darf|dürfen|gehör(?:t|en)|bitte)\b[^.]{0,60}\b(?:nicht|nichts|keine?[nrs]?|nur)\b",
    re.IGNORECASE,
)
"""What tells a rule as often as what happens."""
_HAPPENS = re.compile(
    r"\b(?:fail\w*|error\w*|crash\w*|hang(?:s|ing)?|freez\w*|lost|broken|wrong|bugs?|found|shows?|prints?|returns?"
    r"|behaves?|fehler|kaputt|stürzt|hängt)\b",
    re.IGNORECASE,
)
_PASSED = re.compile(
    r"\b(?:(?<!make )(?<!be )sure|think|thought|was|were|had|did|happened|has (?:always|never)|why|seems?|right now"
    r"|(?:i|my) guess|i looked|for now|this time|in this step)\b",
    re.IGNORECASE,
)
_REASON = re.compile(r"[,;(–—]|\b(?:because|since|as|weil|denn|porque|parce que)\b", re.IGNORECASE)
_LONGEST_RULE, _LEAST_WISH = 200, 0.4
"""Measured on 87 rules and 353 other statements: patterns and the classifier know as many each, together a fifth more
of rules in words that neither was made with; of the others 3 % are taken for rules."""
_MOST_JUDGED = 40
"""Statements of a prompt from which on most of it was pasted, and the classifier, which takes time, is not asked."""
_LEADS_TO_RULES = re.compile(
    r"[^\n]*\b(?:rules?|conventions?|guidelines?|constraints?|preferences|do['’]?s and don['’]?ts|regeln|vorgaben"
    r"|règles|reglas|regole|regels|правила)\b[^\n]{0,60}[:：]\s*(?:\n|$)|[^\n]{0,60}(?:ルール|規則|规则)[^\n]{0,20}[:：]",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
DECIDES = re.compile(
    r"\b(?:(?:i|we)(?: have|['’]ve|['’]ll| will)? (?:decided|chose|chosen|opted|settled (?:on|for)|went (?:with|for)"
    r"|go (?:with|for)|agreed|picked|ruled out|stick|stay with|(?:keep|stay|leave|take|use)\b[^.]{1,60}\b(?:for now"
    r"|for later|and not|and leave|rather))|agreed|(?:the )?decision(?: is)?:|(?:is|are) (?:settled|decided|final)"
    r"|the plan is|(?:i|we) (?:suggest|propose|recommend)|(?:after |by )?weigh(?:ed|ing)|trade-?offs?|in favou?r of"
    r"|(?:chose|preferred|took|picked) [^.]{1,40} over"
    r"|(?:instead of|rather than) [^.]{1,80}\b(?:because|since|as|so that)"
    r"|(?:because|since) [^.]{1,80}\b(?:instead of|rather than)|entschieden|beschlossen|festgelegt|vereinbart"
    r"|(?:statt|anstelle) [^.]{1,60}\bweil|choisi|décidé|opté|au lieu d['e]|elegid[oa]|decidid[oa]|decidí|optado"
    r"|opt[éo] por|en (?:lugar|vez) de|abbiamo deciso|invece di|besloten|решили)\b|ことにし|に決め|决定|采用",
    re.IGNORECASE,
)
"""That one way was taken, and mostly that another one was not."""
TELLS_OF_A_CAUSE = re.compile(
    r"\b(?:(?:root )?(?:cause|culprit) (?:was|is|turned out)\b(?! (?:un|not )\w+)|(?:was|is|were|are) caused by"
    r"|(?:it )?turn(?:s|ed) out (?:that|to be)|ursache (?:war|ist)|es (?:lag|liegt) (?:am|an|daran)"
    r"|la causa (?:era|es)|se debía a|la cause (?:était|est)|causato da)\b|原因は",
    re.IGNORECASE,
)
"""Why something went wrong; what is learnt of it outlasts all that was tried."""
_PLACEHOLDER = re.compile(r"\s*\[\w+\]\s*")
"""Stands for an image or a file, and says nothing without the words beside it."""
TELLS_OF_A_FAILURE = re.compile(
    r"\b(?:i tried|tried to|(?:did|does|do)(?: not|n['’]t) (?:work|help|hold|fix|change)|no (?:effect|luck|help)"
    r"|rolled (?:it |that |this )?back|reverted|backed (?:it |that |this )?out|in vain|gave up|dead end|made it worse"
    r"|turned out (?:not|to fail|to be (?:wrong|slower|worse))|failed because|same error|abandoned|still fail\w*"
    r"|(?:is|are|was|were)(?: not|n['’]t) the (?:root )?(?:cause|culprit|reason|problem)"
    r"|(?:nicht die|no era la|pas la) (?:ursache|causa|cause)|changed nothing|(?:made|makes) no difference"
    r"|only (?:delayed|moved|hid|masked)|undid|to no avail|without success"
    r"|(?:funktionier|klapp|half)\w* (?:\w+ )?nicht|nicht (?:funktioniert|geklappt|geholfen)|zurückgenommen|vergeblich"
    r"|n['’]a (?:pas (?:marché|fonctionné)|rien changé)|no (?:funcionó|sirvió|ayudó)|hat nichts (?:geändert|gebracht)"
    r")\b|うまくいか|失敗し|元に戻し",
    re.IGNORECASE,
)
"""That an attempt came to nothing."""
SETS_BOUNDS = re.compile(
    r"\b(?:no|not|don['’]?t|never|only|without|keep|leave|ignore|except|must|unless|but|kein\w*|nicht|nie|nur|ohne|pas|jamais"
    r"|sans|sin|nunca|solo)\b|不要|しないで|だけ",
    re.IGNORECASE,
)
"""What a person does not want, or wants kept."""
TAKES_BACK = re.compile(
    r"\b(?:chang(?:ed|ing) my mind|scrap (?:that|it|this)|forget (?:that|it|what|about)|never ?mind|on second thought"
    r"|(?:no|oh|hm+|actually|hang on|sorry)[, ]+wait|^\W*wait\b|bring [^.]{1,40} back|back to (?:the )?\w+"
    r"|actually[, ]+(?:no|not|don['’]?t|let['’]s|use|keep|make|please)|i was wrong|my mistake|after all"
    r"|undo (?:that|it)"
    r"|revert (?:that|it)|(?:go|went) back to|doch (?:nicht|lieber|wieder)|lieber doch|vergiss|finalement|mejor no)\b"
    r"|やっぱり|取り消",
    re.IGNORECASE,
)
"""That a person changes what they had asked for before."""
TELLS_WHAT_IS_OPEN = re.compile(
    r"\b(?:next (?:steps?|up|is|comes?|we|i)|remaining|outstanding|open (?:points?|ends?|questions?|issues?|items?)"
    r"|(?:still|yet|left|remains?) (?:to (?:do|be|add|fix|write|check|decide)|open|missing|needs?|fail(?:s|ing)|broken)"
    r"|to-?dos?|follow-?ups?|not (?:yet|done|finished|started|deployed|merged|covered|tested)"
    r"|(?:has|have|is|are)n['’]t [^.]{0,30}\byet|tomorrow|before (?:release|merging|shipping|launch)"
    r"|wait(?:s|ing)? (?:for|on)|blocked|noch (?:nicht|offen|zu)|(?:steht|fehlt|bleibt) noch|als nächstes|morgen"
    r"|reste à|pas encore|ensuite|demain|falta|todavía no|pendiente|mañana)\b|残り|次は|次に|未対応|まだ",
    re.IGNORECASE,
)
"""What is yet to be done."""


@dataclass(frozen=True, slots=True)
class BlockPiece:
    """A statement of a block, which is kept or left alone, and what an agent is shown of it."""

    block: int
    """The position of its block."""
    text: str
    rank: Rank
    worth: float
    """Per character."""
    nth: int = 0
    """Of the statements of its block."""
    speaker: str = "Assistant"
    source: str = ""
    """The record it stands in."""
    number: int | None = None
    """None where it is only there to be understood and cannot be kept."""

    @property
    def key(self) -> PartKey:
        """Where it stands in a version."""
        return self.block, self.nth


_BASES = {
    BlockKind.HUMAN: 4.0, BlockKind.ASSISTANT: 1.0, BlockKind.SUMMARY: 0.9,
    BlockKind.THINKING: 0.3, BlockKind.META: 0.1, BlockKind.SYSTEM: 0.1, **dict.fromkeys(DIGESTS, 1.6),
}  # fmt: skip
_SIDECHAIN = 0.3
_CODE = 0.4
_REPEATED = 0.3
_FIRST = 1.6
_INSERTED_RULE = 10.0
_LIMITS = 1.4
_OPENING = 3
"""Statements at the beginning of a prompt, and as many at its end, that count whole; what is pasted lies between."""


def pieces_of(blocks: Sequence[Block], statements: Sequence[Sequence[StatementSpan]]) -> list[BlockPiece]:
    """Return the pieces of all that was said in words, in order; what is said again later is worth less."""
    messages, concluding = message_count(blocks), _concluding(blocks)
    found: list[BlockPiece] = []
    texts = Counter(_text(block, one) for block, own in zip(blocks, statements, strict=True) for one in own)
    for position, (block, own) in enumerate(zip(blocks, statements, strict=True)):
        if not own:
            continue
        by_position = (
            1.3 if block.message * 10 < messages else (1.4 if (messages - block.message) * 7 <= messages else 1.0)
        )
        base = _BASES[block.kind] * (by_position * (1.8 if position in concluding else 1.0))
        base *= _SIDECHAIN if block.is_sidechain else 1.0
        # Where what it sums up stands before it, a summary only repeats.
        base *= 0.7 if block.kind is BlockKind.SUMMARY and block.message else 1.0
        base *= 1.0 if block.weight is None else 1.0 + block.weight / 100
        source = next(iter(block.sources), "")
        ranks = _ranks(block, own)
        for nth, one in enumerate(own):
            text = _text(block, one)
            texts[text] -= 1
            is_within = _OPENING <= nth < len(own) - _OPENING and block.kind is BlockKind.HUMAN
            # Rules stand in the middle of a long order; only where most was pasted may they be somebody else's.
            is_pasted = is_within and (ranks[nth] is not Rank.RULE or len(own) > _MOST_JUDGED)
            worth = base * _cue(text, one.open is not None) * (0.35 if is_pasted else 1.0)
            # What is asked for mostly comes first, and why behind it.
            worth *= _FIRST if block.kind is BlockKind.HUMAN and nth == 0 else 1.0
            worth *= _LIMITS if block.kind is BlockKind.HUMAN and SETS_BOUNDS.search(text) else 1.0
            worth *= _REPEATED if texts[text] else 1.0
            worth *= _INSERTED_RULE if block.kind is BlockKind.META and ranks[nth] is Rank.SPOKEN else 1.0
            found.append(BlockPiece(position, text, ranks[nth], worth, nth, speaker_of(block), source, len(found)))
    return found


def statements_in(block: Block) -> list[StatementSpan]:
    """Return what of a block can be kept apart: nothing of a call, of a question, of the line about a branch left."""
    is_apart = block.call is not None or block.kind in (BlockKind.LEFT, BlockKind.QUESTION)
    return [] if is_apart else statements_of(block.text)


def _text(block: Block, one: StatementSpan) -> str:
    return block.text[one.start : one.end]


def is_rule(text: str, is_judged: bool = True) -> bool:
    """Whether a sentence tells how things are to be done from then on; ``is_judged``: by the classifier as well."""
    if len(text) > _LONGEST_RULE or text.rstrip().endswith(("?", "？")) or "\n" in text.strip():
        return False
    clause = _REASON.split(text, maxsplit=1)[0]
    # Why it is laid down may well tell of what happened: "Never lower it, we had an outage because of that."
    if _PASSED.search(clause if _RULE.search(clause) else text):
        return False
    if text.lstrip().startswith("#"):
        return False  # A heading lays nothing down; what stands below it does.
    if _RULE.search(text) is not None or (_LIKE_A_RULE.search(text) is not None and _HAPPENS.search(text) is None):
        return True
    # What no pattern knows: "All strings have to be translatable", in any language.
    return is_judged and judge(text).sorts[StatementType.WISH] >= _LEAST_WISH


def _concluding(blocks: Sequence[Block]) -> frozenset[int]:
    """Return the positions of the last words before a person speaks again, which say how it came out."""
    found, last = set[int](), None
    for position, block in enumerate(blocks):
        if block.kind is BlockKind.HUMAN and last is not None:
            found.add(last)
        last = position if block.kind is BlockKind.ASSISTANT and not block.is_sidechain else last
    return frozenset(found if last is None else {*found, last})


def _cue(text: str, is_code: bool) -> float:
    names = min(len(names_in(text)), 4)
    if is_code:
        return _CODE * (1 + 0.1 * names)
    mentioned = (
        1.8 if TELLS_OF_A_FAILURE.search(text) else 0.4 if _ASIDE.search(text) else 1.4 if _TELLS.search(text) else 1.0
    )
    return mentioned * (1 + 0.25 * names)


def _ranks(block: Block, statements: Sequence[StatementSpan]) -> list[Rank]:
    """Return the rank of each statement of a block."""
    found: list[Rank] = []
    is_pasted, is_listed = len(statements) > _MOST_JUDGED, False
    for one in statements:
        text = _text(block, one)
        # What is listed below "Our rules:" are rules, however they are worded.
        is_listed = bool(_LEADS_TO_RULES.match(text)) or (is_listed and _LISTED.match(text) is not None)
        found.append(_rank(block, text, one.open is not None, is_listed, is_pasted))
    return found


def _rank(block: Block, text: str, is_code: bool, is_listed: bool, is_pasted: bool) -> Rank:
    if block.kind is BlockKind.HUMAN and _PLACEHOLDER.fullmatch(text):
        return Rank.REST
    if block.kind is BlockKind.HUMAN:
        is_prompt = not is_code and not block.label
        is_standing = block.label == NOTE or (is_prompt and (is_listed or is_rule(text, not is_pasted)))
        return Rank.RULE if is_standing else Rank.SPOKEN
    if block.kind is BlockKind.FAILURE:
        return Rank.SPOKEN
    if block.label == OUTPUT or block.text.startswith(_INTERRUPTED):
        return Rank.REST
    if block.kind in (BlockKind.META, BlockKind.SYSTEM):
        # How things are to be done holds on, whoever says it.
        is_standing = is_rule(text, is_judged=False) or (len(text) <= _LONGEST_RULE and " must " in text)
        is_standing = is_standing and _OF_THE_TOOL.match(block.text) is None
        return Rank.SPOKEN if block.kind is BlockKind.META and not is_code and is_standing else Rank.INSERTED
    if not is_code and _ASIDE.search(text) is not None and not names_in(text):
        return Rank.ASIDE
    return Rank.REST if block.is_sidechain or block.kind is BlockKind.THINKING else Rank.SPOKEN
