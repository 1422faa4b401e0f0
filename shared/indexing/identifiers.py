"""Names out of program code that stand in a text. Source: seed 002; oracles, "Retrieval".

In running text a name is known by its form (``renderChart``, ``parse_json``), by being called (``parse(``) or by being
a file; between back-ticks and in fenced code a name that is defined counts too, and one that is quoted alone.
"""

from __future__ import annotations

import re

_LONGEST = 100
_SUFFIXES = (
    "py|pyi|js|jsx|ts|tsx|mjs|go|rs|rb|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|sql|html|css|json|ya?ml|toml|md|ini|cfg"
)
_COMPOUND = re.compile(
    r"\b(?:[a-z][a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z][a-z]\w*|[A-Za-z][A-Za-z0-9]*_\w*[A-Za-z0-9]_*|_+[A-Za-z]\w*)"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\(")
# Begun once a run: from every hyphen of a long one, it would be read to its end as often as it has hyphens.
_FILE = re.compile(rf"(?<![\w-])-*(\w[\w-]*\.(?:{_SUFFIXES})\b)")
_DEFINED = re.compile(r"\b(?:def|class|function|func|fn|interface|struct|enum|trait|const|let|var)\s+([A-Za-z_]\w+)")
_QUOTED = re.compile(r"(?<!`)`([A-Za-z_][\w.:-]+)(?:\(\))?`(?!`)")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_KEYWORDS = frozenset(
    {"and", "assert", "catch", "class", "def", "elif", "except", "fn", "for", "func", "function", "if", "in", "not"}
    | {"or", "print", "return", "switch", "while", "with"}
)


def identifiers_of(text: str) -> frozenset[str]:
    """Return the identifiers of a text, lower case."""
    found = {*_COMPOUND.findall(text), *_CALLED.findall(text), *_FILE.findall(text), *_QUOTED.findall(text)}
    if _FENCE.search(text) or "`" in text:
        found.update(_DEFINED.findall(text))
    return frozenset(name.lower() for name in found if len(name) <= _LONGEST) - _KEYWORDS
