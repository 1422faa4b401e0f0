"""Judges a version from outside: reads its Markdown and JSONL by rules of its own and compares them with what was said.

It imports nothing of the product, so that a fault of its reader or its renderer cannot hide itself here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

from tests.support.odd_recorder import Foreign, Labels, Spoken, Typed

GAP = "[…]"
_MARKER = re.compile(r"##keepit\d\.\d\d##[ \t]?")
_LABEL = re.compile(
    r"^\*\*((?:User|Assistant|Tool|Done|Failed|Names|Summary|Rewound|Skill|Hook|Command|Output|Inserted|From the editor"
    r"|Notice|Another agent|Title|Sub-agent|Order)\b[^*\n]{0,400}?):\*\*[ \n]?",
    re.MULTILINE,
)
"""What people and assistants put in bold themselves is none."""
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_LISTED = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_END = re.compile(r"[.!?][\"')\]”]*(?=\s)|[。！？]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|e\.g|i\.e|z\. ?B|No|Nr|Mr|Mrs|Dr|vs|etc|cf|v\d[\d.]*)\.$|^\s*\d+\.$", re.IGNORECASE
)
_NAME = re.compile(r"\b(?:[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Za-z]+(?:_[A-Za-z0-9]+)+)\b")
_WORD = re.compile(r"\w+")
_REWOUND = re.compile(r"Rew(?:ind|ound)")
_SELF_LABELLED = re.compile(r"^[^\W\d_][\w, -]{2,60}: ")
"""A text of a record that begins with a label, as lines that speak about a session do."""
_NEVER_AS_ASSISTANT = (
    Foreign.THINKING, Foreign.SKILL, Foreign.TEMPLATE, Foreign.TITLE, Foreign.HOOK, Foreign.REMINDER, Foreign.COMMAND,
    Foreign.NOTIFICATION, Foreign.SUBAGENT, Foreign.TOOL, Foreign.TAKEN_BACK,
)  # fmt: skip
_LABELS_OF_OTHERS = (
    "Skill", "Hook", "Command", "Output", "Inserted", "From the editor", "Notice", "Another agent", "Title",
    "Sub-agent", "Order", "Summary",
)  # fmt: skip
_LEAST = 13
"""Characters, white space aside, from which on a sentence or a name says whose it is."""
MOST_NAMES = 0.05


@dataclass(frozen=True)
class Section:
    label: str
    text: str
    length: int
    """Characters, its label counted."""

    @property
    def speaker(self) -> str:
        """The first word of its label: ``User``, ``Assistant``, ``Tool``, ``Names`` and the like."""
        return re.split(r"\W", self.label, maxsplit=1)[0]


@dataclass(frozen=True)
class Violation:
    rule: str
    detail: str


@dataclass
class Retained:
    """How much of what a person typed stands whole in a version: kept and of how many."""

    requests: tuple[int, int] = (0, 0)
    sentences: tuple[int, int] = (0, 0)
    lost: tuple[str, ...] = ()
    """Texts of which nothing stands there."""
    by_text: tuple[float, int] = (0, 0)
    """The shares of the sentences of each text, added up: so that one long pasted text does not decide."""
    rejections: tuple[int, int] = (0, 0)
    answers: tuple[int, int] = (0, 0)


@dataclass
class Verdict:
    violations: list[Violation] = field(default_factory=list)
    retained: Retained = field(default_factory=Retained)
    names_share: float = 0.0

    def broken(self, *rules: str) -> list[Violation]:
        """Return the violations of these rules, all of them where none is named."""
        return [one for one in self.violations if not rules or one.rule in rules]

    def add(self, rule: str, detail: str) -> None:
        """Note a violation, each once."""
        found = Violation(rule, " ".join(detail.split())[:300])
        if found not in self.violations:
            self.violations.append(found)


def check_version(markdown: str, jsonl: str, labels: Labels) -> Verdict:
    """Compare a version in both forms with what was said in the session it is made of."""
    records = [json.loads(line) for line in jsonl.splitlines() if line.strip()]
    verdict, recorded = check_markdown(markdown, labels), record_sections(records)
    Speech(labels).compare(recorded, verdict, "JSONL")
    _check_sections(recorded, labels, verdict, "JSONL")
    check_records(records, verdict)
    _check_same_words(markdown, recorded, verdict)
    return verdict


def check_markdown(markdown: str, labels: Labels) -> Verdict:
    """Compare a version's Markdown alone with what was said in the session it is made of."""
    verdict, written = Verdict(), markdown_sections(markdown)
    verdict.retained = Speech(labels).compare(written, verdict, "Markdown")
    _check_sections(written, labels, verdict, "Markdown")
    verdict.names_share = sum(one.length for one in written if one.speaker == "Names") / max(1, len(markdown))
    if verdict.names_share > MOST_NAMES:
        verdict.add("names", f"{verdict.names_share:.1%} of the version are names")
    if "Names" in [one.speaker for one in written[1:]]:
        verdict.add("names", "the names stand among the turns")
    return verdict


def squash(text: str) -> str:
    return re.sub(r"\s+", "", _MARKER.sub("", text))


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text; lines of code, of lists and of logs are sentences of their own."""
    bounds = sorted(_bounds(text))
    return [part for start, end in pairwise(bounds) if squash(part := text[start:end])]


def _bounds(text: str) -> set[int]:
    """Return where sentences begin and end; a mark is a bound as well."""
    found = {0, len(text)} | {place for mark in _MARKER.finditer(text) for place in mark.span()}
    lines = text.splitlines(keepends=True)
    start, fence = 0, ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
            found |= {start, start + len(line)}
        elif fence or number == 0 or not _runs_on(lines[number - 1], line):
            found.add(start)
        if not fence:
            for end in _END.finditer(line + "\n"):
                before = line[: end.end()].rstrip("\"')]”")
                following = line[end.end() :].lstrip()
                if not (end[0][0] == "." and (_ABBREVIATION.search(before) or following[:1].islower())):
                    found.add(start + min(end.end(), len(line)))
        start += len(line)
    return found


def _runs_on(before: str, line: str) -> bool:
    if not before.strip() or not line.strip() or _LISTED.match(line) or _FENCE.match(before):
        return False
    return bool(re.search(r"[\w,;–-]$", before.rstrip())) and line.lstrip()[0].islower()


class _Text:
    """A text somebody typed, with its sentences by their places in it, white space and marks aside."""

    def __init__(self, spoken: Spoken, text: str) -> None:
        self.spoken = spoken
        self.squashed = squash(text)
        self.bounds = sorted({len(squash(text[:bound])) for bound in _bounds(text)})
        self.covered: set[int] = set()
        self.pieces: list[tuple[int, int, bool, bool]] = []
        """Start, end, whether a gap is shown before and behind."""

    def find(self, fragment: str, is_cut: bool) -> tuple[int, int] | None:
        """Return where a fragment stands: from where a sentence begins to where one ends, or to anywhere if cut."""
        start = self.squashed.find(fragment)
        while start >= 0:
            end = start + len(fragment)
            if start in self.bounds and (is_cut or end in self.bounds):
                return start, end
            start = self.squashed.find(fragment, start + 1)
        return None

    def cover(self, start: int, end: int, before: bool, behind: bool) -> None:
        self.pieces.append((start, end, before, behind))
        self.covered |= {begin for begin, stop in pairwise(self.bounds) if start <= begin and stop <= end}

    @property
    def sentences(self) -> int:
        return len(self.bounds) - 1

    @property
    def is_whole(self) -> bool:
        return len(self.covered) == self.sentences

    @property
    def open_gap(self) -> int | None:
        """Where something is left out without a sign, of a text of which something stands; None if nowhere."""
        at, shown = 0, True
        for start, end, before, behind in sorted(self.pieces):
            if start > at and not before and not (shown and at):
                return at
            at, shown = max(at, end), behind
        return at if self.pieces and at < len(self.squashed) and not shown else None


class Speech:
    """What a person typed, to compare what is shown as theirs with it."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.texts = [_Text(one, one.text) for one in labels.spoken]
        prefixed = {Typed.SHELL: ("!", "User ran:"), Typed.MEMORY: ("#",)}
        self.aliases: dict[str, _Text] = {}
        for one in self.texts:
            fronts = prefixed.get(one.spoken.kind, (f"{one.spoken.command} ",) if one.spoken.command else ())
            self.aliases |= {squash(front + one.spoken.text): one for front in fronts}
        self.commands = {squash(one.spoken.command) for one in self.texts if one.spoken.command}

    def compare(self, sections: Iterable[Section], verdict: Verdict, form: str) -> Retained:
        """Note what was not typed as it stands; return how much of what was typed is whole."""
        sections = list(sections)
        # In records a sign may be a text of its own.
        signs = [False, *(one.text.strip() == GAP for one in sections), False]
        for section, before, behind in zip(sections, signs, signs[2:], strict=False):
            if section.speaker == "User" and section.text.strip():
                self._place(section, before, behind, verdict, form)
        for text in self.texts:
            gap = text.open_gap
            if gap is not None:
                verdict.add("gap", f"{form}: of “{text.spoken.text}” is missing “{text.squashed[gap : gap + 60]}”")
        return self._retained()

    def _place(self, section: Section, is_open: bool, stays_open: bool, verdict: Verdict, form: str) -> None:
        parts = section.text.split(GAP)
        is_excerpt = "," in section.label
        for number, part in enumerate(parts):
            before, behind = is_excerpt or is_open or number > 0, is_excerpt or stays_open or number < len(parts) - 1
            # Beside a gap in code its fence is closed, and opened again.
            fragments = [squash(part), squash(_fences_off(part))]
            if not all(fragments) or any(self._cover(one, before, behind) for one in fragments):
                continue
            if fragments[0] not in self.commands | {"[image]"}:
                verdict.add(*self._judged(part, form))
                for sentence in map(squash, sentences_of(part)):
                    self._cover(sentence, True, True)

    def _cover(self, fragment: str, before: bool, behind: bool) -> bool:
        if (alias := self.aliases.get(fragment)) is not None:
            alias.cover(0, len(alias.squashed), before, behind)
            return True
        equal = [one for one in self.texts if one.squashed == fragment]
        for text in sorted(equal, key=lambda one: len(one.pieces)):
            text.cover(0, len(fragment), before, behind)
            return True
        for is_cut in (False, True) if behind else (False,):
            for text in self.texts:
                if (place := text.find(fragment, is_cut)) is not None:
                    text.cover(*place, before, behind)
                    return True
        return False

    def _judged(self, shown: str, form: str) -> tuple[str, str]:
        whole = squash(shown)
        for branch in self.labels.left:
            if any(whole in squash(one.text) for one in (*branch.spoken, *branch.foreign)):
                return "left branch", f"{form}: User: {shown}"
        for foreign in self.labels.foreign:
            squashed = squash(foreign.text)
            if len(whole) >= _LEAST and (whole in squashed or (len(squashed) >= _LEAST and squashed in whole)):
                return "speaker", f"{form}: {foreign.kind} as User: {shown}"
        typed = {squash(sentence) for one in self.texts for sentence in sentences_of(one.spoken.text)}
        if all(squash(sentence) in typed for sentence in sentences_of(shown)):
            return "gap", f"{form}: sentences joined without {GAP}: {shown}"
        return "spliced", f"{form}: User: {shown}"

    def _retained(self) -> Retained:
        def share(*kinds: Typed) -> tuple[int, int]:
            of = [one for one in self.texts if one.spoken.kind in kinds and one.squashed]
            return sum(one.is_whole for one in of), len(of)

        return Retained(
            requests=share(Typed.PROMPT, Typed.QUEUED, Typed.ARGUMENTS),
            sentences=(sum(len(one.covered) for one in self.texts), sum(one.sentences for one in self.texts)),
            by_text=(sum(len(one.covered) / max(1, one.sentences) for one in self.texts), len(self.texts)),
            lost=tuple(one.spoken.text for one in self.texts if one.sentences and not one.covered),
            rejections=share(Typed.REJECTION),
            answers=share(Typed.ANSWER),
        )


def _fences_off(part: str) -> str:
    lines = part.strip().splitlines()
    first = 1 if lines and _FENCE.match(lines[0]) else 0
    return "\n".join(lines[first : len(lines) - 1 if len(lines) > first and _FENCE.match(lines[-1]) else None])


def markdown_sections(markdown: str) -> list[Section]:
    """Return the labelled parts of a Markdown version, its heading left out; labels within fences are none."""
    starts, fence, at = list[tuple[int, re.Match[str]]](), "", 0
    for line in markdown.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip(" \n`~"):
            fence = ""
        elif not fence and (label := _LABEL.match(line)):
            starts.append((at, label))
        # A label may itself stand before an opening fence on the same line.
        at += len(line)
    ends = [*(start for start, _ in starts[1:]), len(markdown)]
    return [
        Section(label[1], markdown[start + label.end() : end].strip("\n"), end - start)
        for (start, label), end in zip(starts, ends, strict=True)
    ]


_MARK_OR_TAG = re.compile(r"\A##keepit\d\.\d\d##\s|</?(?:bash-input|user-memory-input)>")


def record_sections(records: Iterable[dict[str, Any]]) -> list[Section]:
    """Return what the records of a JSONL version say, by who says it."""
    return [Section(label, text, len(text)) for record in records for label, text in _said(record) if text.strip()]


def _said(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind = record.get("type")
    if kind not in ("user", "assistant"):
        text = str(record.get("content") or record.get("summary") or "")
        yield ("Names" if text.lstrip("* ").startswith("Names") else "System"), text
        return
    content = record["message"]["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block["type"] == "text":
            is_own = kind == "user" and not record.get("isMeta") and not record.get("isCompactSummary")
            # A mark, and the tags in which the recorder puts what was typed to be run or remembered, are no words.
            text = _MARK_OR_TAG.sub("", block["text"])
            plain = "Assistant, labelled" if _SELF_LABELLED.match(text) else "Assistant"
            is_line = kind == "user" and _REWOUND.match(text)
            yield ("System" if is_line else "User" if is_own else "Meta" if kind == "user" else plain), text
        elif block["type"] == "thinking":
            yield "Thinking", block["thinking"]
        elif block["type"] == "tool_use":
            yield "Tool", f"{block['name']} {json.dumps(block['input'], ensure_ascii=False)}"
        elif block["type"] == "tool_result":
            inner = block["content"]
            yield "Result", inner if isinstance(inner, str) else "\n".join(one.get("text", "") for one in inner)


def _check_sections(sections: Sequence[Section], labels: Labels, verdict: Verdict, form: str) -> None:
    for check in (_check_assistant, _check_others, _check_left, _check_heads, _check_end):
        check(sections, labels, verdict, form)


def _check_assistant(sections: Sequence[Section], labels: Labels, verdict: Verdict, form: str) -> None:
    """What another wrote, or the person, must not stand as the assistant's."""
    own = squash(" ".join(one.text for one in labels.foreign if one.kind is Foreign.ASSISTANT))
    others = [(str(one.kind), one.text) for one in labels.foreign if one.kind in _NEVER_AS_ASSISTANT]
    others += [("the person", one.text) for one in labels.spoken]
    plain = [squash(one.text) for one in sections if one.label == "Assistant"]
    for whose, text in others:
        for sentence in map(squash, sentences_of(text)):
            if len(sentence) >= _LEAST and sentence not in own and any(sentence in shown for shown in plain):
                verdict.add("speaker", f"{form}: {whose} as Assistant: {sentence}")


def _check_others(sections: Sequence[Section], labels: Labels, verdict: Verdict, form: str) -> None:
    """What a person typed must not stand as a skill's words, a hook's or the tool's."""
    written = squash(" ".join(one.text for one in labels.foreign))
    for section in sections:
        label = section.text.partition(":")[0] if section.label == "System" else section.label
        if not label.startswith(_LABELS_OF_OTHERS):
            continue
        shown = squash(section.text)
        for sentence in (squash(part) for one in labels.spoken for part in sentences_of(one.text)):
            if len(sentence) >= _LEAST and sentence in shown and sentence not in written:
                verdict.add("speaker", f"{form}: the person as {label}: {sentence}")


def _check_left(sections: Sequence[Section], labels: Labels, verdict: Verdict, form: str) -> None:
    kept = squash(" ".join(one.text for one in (*labels.spoken, *labels.foreign)))
    lines = [
        ("Rewound" if _REWOUND.match(line) else one.speaker, line)
        for one in sections
        for line in one.text.splitlines()
        if line.strip()
    ]
    for branch in labels.left:
        sentences = {squash(part) for one in (*branch.spoken, *branch.foreign) for part in sentences_of(one.text)}
        names = {name for one in (*branch.spoken, *branch.foreign) for name in _NAME.findall(one.text)}
        unique = [one for one in (*sentences, *names) if len(one) >= _LEAST and one not in kept]
        found = [(speaker, line) for speaker, line in lines if any(one in squash(line) for one in unique)]
        for speaker, line in found:
            if not speaker.startswith("Rew"):
                verdict.add("left branch", f"{form}: {speaker}: {line}")
        if len(found) > 1:
            verdict.add("left branch", f"{form}: {len(found)} lines tell of one branch")
    said = sum(1 for one in sections if _REWOUND.match(one.text if one.label == "System" else one.label))
    if said != len(labels.left):
        verdict.add("left branch", f"{form}: {said} lines say that {len(labels.left)} branches were left")


def _check_heads(sections: Sequence[Section], labels: Labels, verdict: Verdict, form: str) -> None:
    """A line that announces something is followed by a member of it or by a gap, and fences are closed."""
    texts = [one.text for one in (*labels.spoken, *labels.foreign)]
    announced = {
        squash(line)
        for text in texts
        for line, following in pairwise([one for one in text.splitlines() if one.strip()])
        if line.rstrip().endswith((":", "：")) and (_LISTED.match(following) or _FENCE.match(following))
    }
    for section in sections:
        if section.speaker not in ("User", "Assistant"):
            continue
        lines = [one for one in section.text.splitlines() if one.strip()]
        for line, following in pairwise([*lines, ""]):
            if squash(line) in announced and not following and GAP not in line:
                verdict.add("head", f"{form}: {section.label}: {line}")
        if sum(bool(_FENCE.match(line)) for line in lines) % 2:
            verdict.add("head", f"{form}: {section.label}: a fence is left open: {section.text}")


def _check_end(sections: Sequence[Section], labels: Labels, verdict: Verdict, form: str) -> None:
    """The last request stands there, whole or with a gap shown, and so does what came of it."""
    user = "\0".join(squash(one.text) for one in sections if one.speaker == "User")
    asked = [squash(one) for one in sentences_of(labels.last_request.text)]
    if asked and not (all(one in user for one in asked) or (any(one in user for one in asked) and GAP in user)):
        verdict.add("last request", f"{form}: {labels.last_request.text}")
    rest = "\0".join(squash(one.text) for one in sections if one.speaker not in ("User", "Names"))
    outcome = [squash(one) for one in sentences_of(labels.outcome)]
    if outcome and not any(one in rest for one in outcome if len(one) > 2):
        verdict.add("outcome", f"{form}: {labels.outcome}")
    shown = {squash(one.text) for one in sections}
    everything = "\0".join((user, rest, *(squash(one.label) for one in sections)))
    for one in labels.typed(Typed.ANSWER):
        if one.question and squash(one.question) in everything and squash(one.text) not in everything:
            verdict.add("answer", f"{form}: a question stands without its answer: {one.question} ({len(shown)})")


def check_records(records: Sequence[dict[str, Any]], verdict: Verdict) -> None:
    turns = [one for one in records if one.get("type") in ("user", "assistant")]
    for before, record in pairwise([{}, *records]):
        missing = [name for name in ("sessionId", "cwd", "version", "uuid", "timestamp") if not record.get(name)]
        if missing:
            verdict.add("record", f"{record.get('type')} lacks {', '.join(missing)}")
        if record.get("parentUuid") != before.get("uuid"):
            verdict.add("record", f"parentUuid {record.get('parentUuid')} is not the record before")
    for record in turns:
        message = record["message"]
        if record["type"] == "assistant":
            wrong = [name for name in ("id", "model") if not message.get(name)]
            wrong += ["type"] if message.get("type") != "message" else []
            if wrong:
                verdict.add("record", f"an assistant's message lacks {', '.join(wrong)}")
        if message.get("role") != record["type"]:
            verdict.add("record", f"role {message.get('role')} in a record of type {record['type']}")
    if turns and turns[0]["type"] != "user":
        verdict.add("roles", "it begins with the assistant")
    groups = groupby(turns, key=lambda one: one["message"].get("id") if one["type"] == "assistant" else one["uuid"])
    for before, after in pairwise([next(group)["type"] for _, group in groups]):
        if before == after:
            verdict.add("roles", f"two messages of the {after} follow each other")
    _check_pairs(turns, verdict)


def _check_pairs(turns: Sequence[dict[str, Any]], verdict: Verdict) -> None:
    waiting: list[str] = []
    for record in turns:
        content = record["message"]["content"]
        blocks = [] if isinstance(content, str) else content
        results = [one["tool_use_id"] for one in blocks if one["type"] == "tool_result"]
        if record["type"] == "user":
            if sorted(results) != sorted(waiting):
                verdict.add("pairs", f"calls {waiting} are followed by results {results}")
            waiting = []
        waiting += [one["id"] for one in blocks if one["type"] == "tool_use"]
    if waiting:
        verdict.add("pairs", f"calls {waiting} have no results")


def _check_same_words(markdown: str, recorded: Sequence[Section], verdict: Verdict) -> None:
    """Both forms hold the same words, labels and what neither said aside."""
    plain = [_SELF_LABELLED.sub("", one.text) if one.label != "Assistant" else one.text for one in recorded]
    here = set(_WORD.findall(_LABEL.sub("", markdown)))
    there = set(_WORD.findall("\n".join(plain)))
    more = set(_WORD.findall("\n".join(one.text for one in recorded if one.label != "Meta")))
    frame = {"Result", "Error", *_WORD.findall(" ".join(_LABEL.findall(markdown)))}
    for name, missing in (("JSONL", here - there - more), ("Markdown", there & more - here)):
        if lacking := sorted(missing - frame):
            verdict.add("forms", f"{name} lacks {len(lacking)} words: {', '.join(lacking[:12])}")
