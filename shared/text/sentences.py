"""Sentences of what somebody wrote, without what is not their own statement.

Left out are code, addresses, quotations, pasted documents and letters, stage directions of a played role, placeholders,
recalled memories, and orders to the assistant that came in with such text.
"""

import re
from collections.abc import Iterator, Sequence

from shared.text.languages import speaks_of_self
from shared.text.lines import shorten
from shared.text.pasted import LETTER
from shared.text.secrets import (
    announces_secret,
    has_named_value,
    has_secret,
    may_hold_secret,
    without_key_blocks,
)

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_RECALLED = r"(?:\(memories for app\b|(?:\d+\.[ \t]*)?\[(?:created|recalled)\b[^\]\n]*\]).*"
_NOISE = (
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|(?-i:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|CRITICAL)\b.*"
    r"|\[?\d\d:\d\d:\d\d\b.*|Traceback .*|File \".*|at \S+\(.*|[\w.]*(?:Error|Exception): .*"
    r"|\|.*\||[{}\[\]()\",; \t]+|[\[{\"].*[\]}\",]|(?:[-=_*~]{3,})|dear [^\n]{2,40},|sent from my .*"
    r"|(?:kind|best|warm) regards.*|yours (?:sincerely|faithfully|truly).*|(?:viele|mit freundlichen) grüßen?.*"
)
_NO_STATEMENT = re.compile(rf"^[ \t]*(?:>.*|\#{{1,6}}[ \t].*|{_RECALLED}|{_NOISE})$", re.MULTILINE | re.IGNORECASE)
"""Lines: quoted ones, headings, recalled memories, log lines, traces, tables, data, rules and forms of letters."""
_PLACEHOLDER = re.compile(
    r"!?\[(?:image|img|photo|picture|video|audio|file|attachment|your \w+)[^\]\n]{0,40}\](?:\([^)\n]*\))?"
    r"|\{\{[^}\n]{0,400}\}\}|<(?:image|img|file|attachment)\b[^>\n]*>",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?:(?<=\s)|(?<=^)|(?<=[(\[:]))(?:\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」)")
_SINGLY_QUOTED = re.compile(
    r"(?:(?<=\s)|(?<=^)|(?<=[(\[:]))(?:'[^\W\d_][^'\n]{19,}'|‘[^‘’\n]{20,}’)(?=[\s.,;:!?)\]]|$)"
)
_QUOTED_BEHIND_COLON = re.compile(
    r"(?<=[:：])\s*(?:\"[^\"\n]{30,}\"|“[^”\n]{30,}”|(?<=：)“[^”\n]{6,}”|„[^“”\n]{30,}[“”]|«[^»\n]{30,}»|「[^」\n]{6,}」)"
)
"""Of a line, where another stands for it only by its length: "finish this song: ..." """
_LONG_QUOTATION = 62
"""Characters from which a quotation is another's text, and no longer the name of something."""
_DOCUMENT = re.compile(r"^#{1,6}[ \t]+\S.*", re.MULTILINE)
_SALUTATION = re.compile(
    r"(?<=\n)[ \t]*(?:dear|hi|hello|sehr geehrte[rn]?|liebe[rn]?|cher|chère|bonjour|estimad[oa]|hola)\b[^\n,.!?]{0,40},"
    r"[ \t]*\n.*",
    re.IGNORECASE | re.DOTALL,
)
"""A letter within a message; a message's own first line may greet."""
_TEXT_WORK = (
    r"summari[sz]e|tl;?dr|condense|rephrase|reword|rewrite|proof-?read|translate|paraphrase|analy[sz]e"
    r"|(?:shorten|correct|fix|improve|polish|edit|review|check|explain|halve|double|read|make|rate|grade|tighten"
    r"|trim|critique|convert)\b[^\n:.]{0,40}?"
    r"\b(?:this|these|it|following|below|letter|text|e?-?mail|message|english|german|french|spanish|grammar|spelling"
    r"|wording|cv|resume|essay|poem|paragraph|clause|recipe|contract|article)"
    r"|(?:is|does) this (?:clause|contract|text|ok|legal|right|job|offer|ad|deal)"
    r"|übersetz\w*|korrigier\w*|fass\w* .{0,20}zusammen"
    r"|rechtschreibung|traduis\w*|corrige\w*|résume\w*|traduce\w*|resume"
    r"|(?:sent|wrote|forwarded|copied|pasted|found)\b[^\n.]{0,40}\b(?:this|these|it|following)"
    r"|here(?:['’]s| is| are) what \w+|here(?:['’]s| is) (?:the|my|a|an|\w+['’]s) (?:[\w-]+ ){0,3}?(?:opening|chapter"
    r"|draft|poem|story|novel|essay|letter|e?-?mail|cv|resume|report|recipe|text|paragraph|lyrics|script|speech|song"
    r"|transcript)"
)
_HANDED_OVER = re.compile(
    rf"(?<!i will )(?<!i'll )(?<!we will )(?<!we'll )(?<!have to )\b(?:{_TEXT_WORK})\b[^\n]{{0,120}}?"
    r"(?=\n\s*\n.{40}|:[ \t]*\n?.{40})|(?:here it is|hier ist er)\s*(?=:)",
    re.IGNORECASE | re.DOTALL,
)
"""A request to work on a text, up to that text: after an empty line, or after a colon."""
_ONLY_HANDED_OVER = re.compile(
    r"\s*(?:please |bitte |(?:can|could) you (?:please )?)?(?:translate|rephrase|proof-?read|paraphrase|rewrite"
    r"|summari[sz]e|correct (?=this|the|my|it)|übersetz\w*|korrigier\w*|tradui\w*|corrige\w*|traduce\w*|traduz\w*"
    r"|vertaal|traduc\w*|допиши|переведи\w*|переклад\w*|przetłumacz|přelož|çevir\w*)\b(?: ?[\w'’]+){0,6}\s*:\s*\S"
    r"|\s*\S{0,8}(?:翻译|翻譯|翻訳|訳して|번역)\S{0,8}\s*[:：]\s*\S",
    re.IGNORECASE,
)
"""A message that is such a request from its first word on, however short the text: "Translate: I live in Berlin"."""
_ROLE = (
    r"role-?play(?:ing)?|(?:practi[cs]e|mock) interview|as if i (?:were|was)|rollenspiel|jeu de rôles?|juego de rol"
    r"|gioco di ruolo|rollenspel|faz de conta|ролев\w+"
    r"|you(?:['’]?re| are) (?:the |my )?(?:dm|gm|game ?master|dungeon ?master|narrator)"
    # "You're the harbormaster, I'm Captain Vess", "be my evil butler. i'm Lord ...".
    r"|(?:you(?:['’]?re| are)|be|du bist|tu es|eres|sei|fai tu) (?:the|an?|my|der|die|mein|le|la|mon|il|el|mi) "
    r"[^\n!?]{3,60}?[,.;] (?:and |und |et |y |e |а )?(?:i['’]?m|i am|ich bin|je suis|soy|(?:io )?sono|я) "
    r"(?:your|the|der|die|dein|deine|le|la|ton|ta|el|tu|il|captain|lord|lady|sir|king|queen|princess|prince|count"
    r"|detective|agent|commander|dr|professor)"
)
_ROLE_PLAY = re.compile(
    r"(?:^|[.!?\s])\*(?!\*)[^\W\d_][^*\n]*\s[^*\n]*\*(?!\*)|^\s*\*[a-zà-ÿ]+\*\s"
    rf"|(?i:\b(?:{_ROLE}|pretend (?:i|i['’]?m|you|we|to)|act as (?:my|a|an|the)|(?:as a|in) character|let['’]?s play"
    r"|(?:what|who) am i\?)(?!\w))",
    re.MULTILINE,
)
_SETS_ROLE = re.compile(rf"\b(?:{_ROLE}|pretend (?:that )?i)\b", re.IGNORECASE)
_GIVES_ROLE = re.compile(
    r"\s*(?:you are|act as|du bist|tu es|vous êtes|eres|sei|você é) (?:an?|ein\w{0,2}|une?|una?|um|uma)? ?"
    r"(?:[\w-]+ ){0,3}?(?:expert|assistant|writer|copywriter|developer|engineer|specialist|editor|teacher|translator"
    r"|analyst|coach|marketer|tutor|experte|expertin|assistent|expert\w|experto|experta|esperto|assistente"
    r"|asistente)\b",
    re.IGNORECASE,
)
"""A message that tells an assistant who it is is all orders to it: "You are an expert copywriter. You never ..."."""
_PLANTED = re.compile(
    r"^[ \t]*[<\[({*#]{1,3}[ \t]*(?:system|admin|developer|notes? (?:to|for)|instructions?)\b.*"
    r"|(?:^[ \t]*|(?<=[.!?:;][ \t]))(?:(?:system|admin(?:istrator)?|developer|assistant)\b"
    r"[ \t]*(?:notice|message|prompt|override|update|instructions?)?\b[^:\n]{0,30}:"
    r"|(?:system |important |admin )?(?:note|notice|message|instructions?) (?:to|for) (?:the |any |all )?"
    r"(?:ai|assistants?|bots?|llms?|(?:language )?models?)\b).*"
    r"|(?:please )?\b(?:ignore|disregard|forget) (?:all |any |the |your |my )*(?:previous|prior|above|earlier"
    r"|preceding) (?:instructions?|prompts?|rules|messages?).*|\byou are now (?:an? |the |in )?[A-Z].*|\b(?:remember"
    r"|store|save)\b[^.\n]{0,60}\bfor (?:this and )?(?:all|every) (?:other )?(?:users?|customers?|sessions?).*"
    r"|(?:системн\w+ (?:инструкци\w+|сообщени\w+|указани\w+)|システム(?:指示|命令|メッセージ)"
    r"|系[统統](?:指令|消息|提示)"
    r"|시스템 ?(?:지시|메시지|명령)|(?:instruction|consigne|message) système|system(?:anweisung|hinweis|nachricht)"
    r"|(?:instrucci[óo]n|mensaje|instrução|mensagem) d[eo] (?:el )?sistema|(?:istruzion[ei]|messaggio) (?:di"
    r"|del) sistema"
    r"|systeem(?:instructie|bericht)|instrukcja systemowa|sistem (?:talimatı|mesajı)|تعليمات النظام|رسالة النظام)"
    r"\s{0,3}[:：].*"
    r"|\bfür (?:das gedächtnis|die erinnerung\w*) (?:der|dieser) ki\s{0,3}[:：].*"
    r"|\bignorier\w* (?:alle |die )*(?:vorherigen|bisherigen) .*|\bignora (?:todas )?las instrucciones .*"
    r"|\bignore[zr]? (?:toutes )?les (?:instructions|consignes) .*",
    re.MULTILINE | re.IGNORECASE,
)
"""An order to whoever reads along, as planted text gives it, to the end of its line."""
_BULLET = re.compile(r"^[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]+", re.MULTILINE)
_MARKUP = re.compile(r"(?<!\w)[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)", re.MULTILINE)
_SENTENCE = re.compile(
    # Not after a title, an initial, or a number: "1. April", "at 9. 30".
    r"(?<=[.!?…])(?<!\b[A-Z\d]\.)(?<!\b(?:\d\d|Mr|Ms|Dr|St|vs|cf|Nr)\.)(?<!\b(?:e\.g|i\.e|z\.B|d\.h|[ap]\.m)\.)"
    r"(?<!\bz\. B\.)(?<!\b(?:Mrs|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\.)"
    r"[\"'”’)\]]*\s+|(?<=[。！？])|(?<=[।؟۔])\s+|\n+"
    # "In house number 29. My sister ...": no date goes on so.
    r"|(?<=\d\.)\s+(?=(?:I|My|We|Our|The|He|She|It|They|This|That|And|But|So|Please|Also)\b)"
)
_LONGEST = 2000
"""No memory may be longer, so no more of one sentence is read, characters."""


def sentences(content: str) -> list[str]:
    """Cut a message into sentences, without what is not this person's own statement."""
    plain = without_markup(own_words(content))
    found = (shorten(part[:_LONGEST], _LONGEST) for part, _, is_secret in _parts(plain) if not is_secret)
    return [sentence for sentence in found if sentence]


def without_markup(content: str) -> str:
    """Return a text without the signs of lists and of emphasis."""
    return _MARKUP.sub("", _BULLET.sub("", content))


SECRET_MARK = "[…]"
"""What stands for a sentence that holds a secret."""


def without_secrets(content: str, mark: str = SECRET_MARK) -> str:
    """Return a text with a mark for each sentence that holds a secret; empty where nothing else says anything."""
    parts = list(_parts(content))
    says = any(re.search(r"\w", part) for part, _, is_secret in parts if not is_secret)
    return "".join((mark if is_secret else part) + gap for part, gap, is_secret in parts) if says else ""


def mask_secrets(content: str, before: str = "") -> tuple[str, int]:
    """Return a text with a mark for each sentence that holds a secret, and else as it stands; and how many there were.

    ``before``: what stands before it in the same text, which may say that one follows.
    """
    if not content.strip() or not (may_hold_secret(content) or may_hold_secret(before)):
        return content, 0
    parts = list(_parts(content, before))
    times = sum(is_secret for *_, is_secret in parts)
    masked = "".join((SECRET_MARK if is_secret else part) + gap for part, gap, is_secret in parts)
    return (masked, times) if times else (content, 0)


_FENCE_LINE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+-]{0,20}[ \t]*")


def _parts(content: str, before: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield the sentences of a text as they stand, what parts each from the next, and whether it holds a secret."""
    content = without_key_blocks(content)
    announced, spans = bool(before) and announces_secret(before.rstrip()), sentence_spans(content)
    for (start, end), following in zip(spans, [*(span[0] for span in spans[1:]), len(content)], strict=True):
        part = content[start:end]
        if announced and (not part.strip() or _FENCE_LINE.fullmatch(part)):
            # What is announced stands below an empty line, or in code, which would be none without its fence.
            yield part, content[end:following], False
            continue
        announces = announces_secret(part)
        # Of a variable the value stands in the line below its name.
        is_value = has_named_value(f"{before} {part}") if part.lstrip("\"' ")[:5].lower() == "value" else False
        yield part, content[end:following], announced or announces or is_value or has_secret(part)
        before = part
        # "Password:" and the word itself on the next line.
        announced = announces


def sentence_spans(content: str) -> list[tuple[int, int]]:
    """Return where each sentence of a text begins and ends, at least one."""
    cuts = list(_SENTENCE.finditer(content))
    return list(zip([0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(content)], strict=True))


def sets_role(content: str) -> bool:
    """Whether a message has a role played in what follows."""
    return _SETS_ROLE.search(content) is not None


def own_words(content: str) -> str:
    """Return what is left of a message without what its writer only passed on."""
    own = _FENCE.sub("\n", content)
    # In a role that is played, or given, nothing is said of oneself.
    if _ROLE_PLAY.search(own) or _ONLY_HANDED_OVER.match(own) or _GIVES_ROLE.match(own):
        return ""
    handed = _HANDED_OVER.search(own)
    own = _SALUTATION.sub("", own[: handed.end()] if handed else own)
    own = _SINGLY_QUOTED.sub("", _QUOTED_BEHIND_COLON.sub("", own))
    own = _QUOTED.sub(lambda found: "" if len(found[0]) >= _LONG_QUOTATION else found[0], own)
    own = _PLACEHOLDER.sub("", own)
    for opening in (LETTER, _DOCUMENT):
        # One such line may be the writer's; from two on, they hand over a text.
        found = list(opening.finditer(own))
        own = own[: found[0].start()] if len(found) > 1 and not _is_of_self(own, found) else own
    return without_planted(_NO_STATEMENT.sub("", _ADDRESS.sub("", own)))


def _is_of_self(own: str, headings: Sequence[re.Match[str]]) -> bool:
    """Whether people head so what they say of themselves: "About me", or at once "I am ..." below the first heading."""
    first = headings[0]
    below = "" if own[: first.start()].strip() else own[first.end() :].lstrip().partition("\n")[0]
    return first[0].startswith("#") and any(speaks_of_self(text) for text in (below, *(one[0] for one in headings)))


def without_planted(content: str) -> str:
    """Return a message without the orders to whoever reads along that it holds."""
    return _PLANTED.sub("", content)


def planted(content: str) -> list[str]:
    """Return the orders to whoever reads along that a message holds."""
    return [match[0] for match in _PLANTED.finditer(content)]
