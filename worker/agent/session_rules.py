"""The built-in agent on recorded sessions: no model, no network, the same answer every time.

It keeps the pieces that tell most for their length, as they were said. It learns what people laid down for good: wishes
for the future and decisions; what they wish or state in passing only once it was said again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shared.llm.calls import EXTRACTIVE, Meter, Prospect, WorkKind, metered
from shared.llm.tokens import LAST_RESORT, estimate_tokens
from shared.sessions.blocks import fill_budget
from shared.sessions.compress.assembly import Chunk, CondensedChunk
from shared.sessions.compress.plan import BlockPiece
from shared.sessions.models import SemanticKind
from shared.sessions.semantic.memories import SemanticProposal, SessionPrompt
from shared.sessions.text import names_in
from shared.text.languages import language_of
from shared.text.lines import clean
from shared.text.phrases import PhraseTable
from shared.text.sentences import sentences
from worker.agent.fact_wishes import stands_alone
from worker.agent.protocol import CompressionAgent, LearningAgent, SessionFindings
from worker.agent.salience import Sort, sort_of

_CHUNK_TOKENS = 40_000
_JOINING = 6
"""Characters a piece takes beside its text, about."""


class ExtractiveCompressionAgent(CompressionAgent):
    """Condenses by leaving out."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    @property
    def chunk_tokens(self) -> int:
        return _CHUNK_TOKENS

    def condense(self, chunk: Chunk, meter: Meter) -> CondensedChunk:
        prompt = sum(estimate_tokens(piece.text) for piece in chunk.pieces)
        kept = metered(
            meter,
            Prospect(WorkKind.COMPRESS, EXTRACTIVE, prompt, LAST_RESORT.tokens_in(chunk.budget)),
            lambda: {
                piece.number
                for piece in fill_budget(_best_first(chunk), lambda piece: len(piece.text) + _JOINING, chunk.budget)
                if piece.number is not None
            },
            lambda kept: sum(estimate_tokens(piece.text) for piece in chunk.pieces if piece.number in kept),
        )
        return CondensedChunk(tuple(sorted(kept)))


def _best_first(chunk: Chunk) -> Iterator[BlockPiece]:
    """Yield the pieces that can be kept by worth, in two rounds: first those that name something new."""
    known, second = set[str](), list[BlockPiece]()
    own = (piece for piece in chunk.pieces if piece.number is not None)
    for piece in sorted(own, key=lambda piece: (-piece.worth, piece.number or 0)):
        names = names_in(piece.text).keys()
        if names and names <= known:
            second.append(piece)
        else:
            known |= names
            yield piece
    yield from second


_LONGEST = 200
_MOST_SENTENCES = 40
"""A prompt of more is taken for a text that was pasted."""
_WRAPPED = re.compile(r"(?<=[\w,;])[ \t]*\n[ \t]*(?=[a-zà-ÿ])")
"""Where a line was broken by hand within a sentence."""
FOR_GOOD = PhraseTable(
    {
        "Always run the linter": r"always(?=\W*$)|(?:always|never) (?!(?:mind|again|been|had|seen|knew"
        r"|heard|got|on|in|at|the|an?|same|good|bad|nice|is|was|were|has)\b)[\w-]+",
        "From now on use tabs": r"from (?:now|here|today) on(?:wards?)?|going forward|in (?:the )?future"
        r"|(?:every|each) time you|as a rule|under no circumstances|at all times|for all (?:future|further|new) \w+",
        "No new packages, ever": r"do(?:n['’]?t| not) ever|do(?:n['’]?t| not) [^.!?]{1,80} ever(?=\W*$)"
        r"|no (?:\w+,? ){1,3}ever",
        "I prefer small commits": r"(?:i|we) (?:always |really |strongly )?prefer",
        "Bitte immer zuerst testen": r"immer (?!noch|wieder|mehr|öfter|besser|schlechter|langsamer|größer)\w+"
        r"|niemals|nie (?!wieder|mehr)\w+|ab (?:jetzt|sofort|heute)|künftig|in zukunft|grundsätzlich",
        "Ne modifie jamais ce fichier": r"jamais|toujours|désormais|dorénavant|à l['’]avenir|à partir de maintenant",
        "No borres nunca los datos": r"nunca|siempre|a partir de ahora|de ahora en adelante|en el futuro",
    }
)
"""Words that make of a wish one for the future."""
_FOR_GOOD_WITHOUT_SPACES = PhraseTable(
    {"必ずテストしてください": r"(?:必ず|今後|常に|いつも|絶対に|決して).*(?:ください|下さい|こと|ほしい|お願い)"},
    "",
    "",
)
_DESCRIBES = re.compile(
    r"^(?:i(?!['’]d|\.e)|it|this|that|these|those|the|a|an|my|our|its|their|he|she|they|there|you|if|when|since|because|some"
    r"|der|die|das|ein|eine|es|er|sie|ich|mein\w*|unser\w*|wenn|weil|le|la|les|l['’]|un|une|ce|cette|il|elle|je"
    r"|el|los|las|una|este|esta|yo)\b|\b(?:is|are|was|were|has|have|had|does|did|gets?|ist|sind|war|hat|est|sont|es)$",
    re.IGNORECASE,
)
"""How a clause begins, or what stands before "always", where that only tells how something is."""
_IN_THIRD_PERSON = re.compile(r"(?:always|never) \w+[^s\W]s$", re.IGNORECASE)
_DEMANDS = re.compile(
    r"\b(?:must|shall|(?:you|we) should|has to|have to|needs? to|want|let['’]s|please|pls|make sure|remember to|prefer"
    r"|bitte|muss|müssen|soll|sollen|sollte\w*|darf|dürfen|will|doit|doivent|il faut|debe\w*|tiene que|hay que)\b",
    re.IGNORECASE,
)
_DECIDED = PhraseTable(
    {
        "We've decided on SQLite": r"(?:we|i|the \w+)(?:['’]ve| have| has)? (?:now |finally |already )?"
        r"(?:decided|agreed|settled|chose|chosen)(?! to (?:look|try|see|check|think)\b)",
        "The decision is SQLite": r"(?:the|our|my) decision (?:is|was|stands)|decided(?=:)",
        "Wir haben uns für SQLite entschieden": r"entschieden|beschlossen|abgemacht",
        "Nous avons décidé de garder SQLite": r"(?:avons|ai|a) (?:décidé|choisi)",
        "Hemos decidido usar SQLite": r"(?:hemos|he|ha) (?:decidido|elegido)|decidimos",
    }
)
_DECIDED_WITHOUT_SPACES = PhraseTable({"SQLiteに決めました": r"に(?:決めました|決定しました|決めた)"}, "", "")
_LEANS = PhraseTable(
    {
        "Let's go with SQLite": r"let['’]s (?:use|go with|stick (?:with|to)|switch to|keep|drop)",
        "We'll switch to SQLite": r"we(?:['’]ll| will|['’]re going to) (?:use|go with|switch to|keep|move to|drop)",
        "We moved from Redis": r"we (?:switched|moved|migrated) (?:from|to)",
    }
)
_IS_SO = PhraseTable(
    {
        "Our api needs a token": r"(?:the|this|our) (?:project|repo(?:sitory)?|app(?:lication)?|service|code ?base"
        r"|api|database|db|front ?end|back ?end|server|client|tests?|build|ci|docs|package|library|tool|cli)\b"
        r"[\w\s`'’-]{0,40}?\b(?:is|are|uses?|has|have|runs?|lives?|needs?|depends? on|requires?|follows?|supports?"
        r"|must)\b",
        "We deploy with Docker": r"we (?:use|run|deploy|test|store|keep|ship)\b",
    },
    closing="",
)
_HEDGED = PhraseTable(
    {
        "Skip it for now": r"for now|right now|currently|today|yesterday|tomorrow|this time|just (?:this )?once"
        r"|for the moment|temporarily|vorerst|vorläufig|heute|diesmal|pour l['’]instant|cette fois|por ahora"
        r"|esta vez",
        "Maybe it is the cache": r"seems?|looks? like|maybe|perhaps|probably|might|could|would"
        r"|i (?:think|guess|suppose)"
        r"|not sure|i['’]m (?:quite |pretty )?sure|vielleicht|peut-être|quizás?|tal vez",
        "He said we always squash": r"(?:he|she|they|you|claude|it) (?:says?|said|told|claims?)",
    }
)
_PASSING = PhraseTable(
    {
        "The build fails again": r"broken|fails?|failing|failed|crash\w*|errors?|wrong|missing|slow|stuck|weird|strange"
        r"|now|again|still|just|what|why|how",
    }
)


_POINTS = re.compile(
    r"\b(?:it|them|they|those|these|this)\b(?!\s+(?:repo\w*|project|code ?base|app\w*|folder|branch))"
    r"|\b(?:do|like|use|want|change|touch) that\b",
    re.IGNORECASE,
)
"""What points at something said before, which then is told with it."""
_CONDITION = re.compile(r"(?:and |but |please )?(?:if|when|whenever|before|after|unless) ", re.IGNORECASE)


_NEXT_TASK = re.compile(r"(?:ok(?:ay)?\W+)?(?:now|next|then|and now)\b[^.!?]*:", re.IGNORECASE)
"""How somebody begins who asks for one thing and says how that is to be."""
_LABELLED = re.compile(r"\W*(?:user|assistant|system|human|ai|claude)\b[^:.!?]{0,20}:", re.IGNORECASE)
_DISOWNED = re.compile(
    r"\b(?:(?:is|was)(?: not|n['’]t) (?:from |by )?(?:me|mine)|i did(?: not|n['’]t) (?:write|say) (?:that|this|it)"
    r"|ignore (?:it|that|this|them)|(?:ist|war|kommt) nicht von mir|ignorier\w* (?:das|es))\b",
    re.IGNORECASE,
)
"""What takes back what stands before it, which somebody else had written."""


def standing_kind(sentence: str) -> SemanticKind | None:
    """Return what a sentence lays down for good: a wish for the future or a decision; None where it does not."""
    if not _is_statement(sentence) or _HEDGED.is_in(sentence):
        return None
    if _DECIDED.is_in(sentence) or _DECIDED_WITHOUT_SPACES.is_in(sentence):
        return SemanticKind.DECISION
    if _FOR_GOOD_WITHOUT_SPACES.is_in(sentence):
        return SemanticKind.PREFERENCE
    found = FOR_GOOD.search(sentence)
    if found is None:
        return None
    # "The shaft is always late" tells how something is, "the tests must always pass" how it is to be.
    before = clean(_STARTS_WITH_JOINER.sub("", sentence[: found.start()])).rpartition(",")[2].strip()
    is_told = bool(before) and (_DESCRIBES.search(before) or _IN_THIRD_PERSON.search(found[0]))
    return None if is_told and not _DEMANDS.search(sentence) else SemanticKind.PREFERENCE


def _said_in_passing(sentence: str) -> SemanticKind | None:
    """Return what a sentence would be if it were said again."""
    if not _is_statement(sentence) or _HEDGED.is_in(sentence):
        return None
    if _LEANS.is_in(sentence):
        return SemanticKind.DECISION
    language = language_of(sentence)
    # In Japanese whatever is asked for politely is worded as a wish.
    if language != "ja" and sort_of(sentence, asks=False, language=language) is Sort.WISH:
        return SemanticKind.PREFERENCE
    return SemanticKind.FACT if _IS_SO.is_in(sentence) and not _PASSING.is_in(sentence) else None


def _is_statement(sentence: str) -> bool:
    is_asked = sentence.rstrip("\"'”’) ").endswith(("?", "？"))
    return not is_asked and not _NEXT_TASK.match(sentence) and len(sentence) <= _LONGEST


_STARTS_WITH_JOINER = re.compile(r"^(?:(?:and|also|but|so|then|because|which|ok(?:ay)?)\b,?\s+)+", re.IGNORECASE)


class ExtractiveLearningAgent(LearningAgent):
    """Learns with the words that were said."""

    @property
    def name(self) -> str:
        return EXTRACTIVE

    def learn(self, prompts: Sequence[SessionPrompt], meter: Meter) -> SessionFindings:
        read = sum(estimate_tokens(prompt.text) for prompt in prompts)
        proposals = metered(
            meter,
            Prospect(WorkKind.LEARN, EXTRACTIVE, read, read),
            lambda: tuple(found for prompt in prompts for found in _found(prompt)),
            lambda proposals: sum(estimate_tokens(one.content) for one in proposals),
        )
        return SessionFindings(proposals, len(prompts))


def own_sentences(text: str) -> list[str]:
    """Return the sentences of a prompt, lines that were broken by hand joined; none of a pasted text."""
    found = sentences(_WRAPPED.sub(" ", text))
    return found if len(found) <= _MOST_SENTENCES else []


def _found(prompt: SessionPrompt) -> Iterator[SemanticProposal]:
    before = ""
    said = own_sentences(prompt.text)
    disowned = max((nth for nth, sentence in enumerate(said) if _DISOWNED.search(sentence)), default=-1)
    for sentence in said[disowned + 1 :]:
        if _LABELLED.match(sentence):
            continue
        standing = standing_kind(sentence)
        kind = standing or _said_in_passing(sentence)
        points = _POINTS.search(sentence) and not _CONDITION.match(sentence)
        content = clean(f"{before} {sentence}" if points else _STARTS_WITH_JOINER.sub("", sentence)).rstrip(".!")
        is_understood = before or not points
        before = sentence
        if kind is not None and is_understood and len(content) <= _LONGEST and stands_alone(content):
            yield SemanticProposal(kind, content[:1].upper() + content[1:], prompt.uuid, sentence, standing is not None)
