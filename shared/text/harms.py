"""What harms a person if it is forgotten: an allergy, an illness, a medicine, a diet.

Told by phrases, one table for each language. Source: decisions, "What is worth keeping".
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def _any_of(phrases: Mapping[str, str], bound: str = r"\b") -> re.Pattern[str]:
    """Return what finds any of the patterns, each of which stands under an example of what it finds."""
    return re.compile(f"{bound}(?:{'|'.join(phrases.values())}){bound}", re.IGNORECASE)


_HARMS: Mapping[str, re.Pattern[str]] = {
    "en": _any_of(
        {
            "I'm allergic to nuts": r"allerg\w+|anaphyla\w+|intoleran\w+|hypersensitiv\w+|epipen",
            "She is vegetarian": r"vegetarian|vegan|pescatarian|co?eliac|gluten[ -]free|lactose|halal|kosher"
            r"|(?:don['’]?t|doesn['’]?t|can['’]?t|cannot|never|no longer) (?:eat|drink|tolerate)\w*",
            "He has diabetes": r"diabet\w+|asthma\w*|epilep\w+|pregnan\w+|(?:hip|knee|heart|back) (?:replacement"
            r"|surgery|problems?|condition)|wheelchair|medication|insulin|diagnosed"
            r"|\d+ ?(?:mg|mcg|µg|micrograms?|milligrams?)|makes my \w+ \w+",
        }
    ),
    "de": _any_of(
        {
            "Er hat eine Nussallergie": r"\w*allerg\w+|verträg\w* kein\w*|gehörlos|darf kein\w* \w+ (?:essen"
            r"|trinken)|\w*unverträglich\w*|zöliakie|laktose|glutenfrei|notfallset"
            r"|vegetari\w+|vegan\w*|diabet\w+|asthma|schwanger\w*",
        }
    ),
    "fr": _any_of(
        {
            "Elle est allergique aux noix": r"allergi\w+|intoléran\w+|végétari\w+|végan\w*|cœliaque|diabét\w+"
            r"|asthm\w+|enceinte"
            r"|ne (?:mange|bois|supporte)",
        }
    ),
    "es": _any_of(
        {
            "Soy celíaca": r"celíac[ao]s?|alérgic[ao]s?|alergia\w*|intoleran\w+|vegetarian[ao]s?|vegan[ao]s?"
            r"|diabétic[ao]s?"
            r"|asma|embarazada|oper(?:aron|ado|ada)|no puedo (?:comer|beber|tomar)",
        }
    ),
    "ja": _any_of({"卵アレルギーです": r"アレルギー|食べられ(?:ない|ません)|妊娠|糖尿"}, ""),
}

_LIMITS = _any_of(
    {
        "Does not eat nuts": r"(?:does|do|did|can|must|may|should) not (?:eat|drink|take|tolerate|have)\b",
        "Must not lift anything": r"must(?:n['’]t| not)|(?:can(?:not|['’]t)|can not|may not) (?:have|take"
        r"|walk|climb|see|hear|lift)",
        "Has a heart condition": r"(?:heart|kidney|liver|thyroid) (?:condition|disease|failure)|high blood pressure"
        r"|hypertension|cancer|migraines?|dement\w+|haemophilia|hemophilia|blind|deaf|breast-?feeding",
        "Takes warfarin": r"blood thinners?|antidepressants?|warfarin|metformin|beta[ -]blockers?|chemotherapy"
        r"|(?:takes?|on|uses?) (?:\w+ ){0,3}(?:medicines?|pills|tablets|inhaler|drugs)",
        "Darf keine Nüsse essen": r"darf (?:nicht|kein\w*)|(?:esse|isst|trinke|trinkt|vertrage)n? kein\w*"
        r"|kann kein\w* \w+ (?:essen|trinken)"
        r"|nehme .{0,30}(?:medikament\w*|tabletten)|krebs\b|herz(?:krank|fehler)\w*|bluthochdruck",
        "Ne peut pas manger de noix": r"ne (?:peut|peux|dois|doit) pas|ne (?:mange|bois|supporte) pas|médicaments?",
        "No puede comer nueces": r"no (?:puede|puedo|debe|debo) (?:comer|beber|tomar)|no (?:come|como|bebe|bebo) \w+"
        r"|medicamentos?",
    }
)
"""What facts say of it beside, mostly of a third person."""
_LIMITS_WITHOUT_SPACES = _any_of({"薬を飲んでいます": r"薬を|持病|飲め(?:ない|ません)|てはいけ(?:ない|ません)"}, "")


def states_limit(statement: str) -> bool:
    """Whether a fact states a harm or a limit, in any language: a short one does not say which it is in."""
    return any(table.search(statement) for table in (*_HARMS.values(), _LIMITS, _LIMITS_WITHOUT_SPACES))
