"""Times that come back: what holds on Mondays, in winter or at night does not end elsewhere."""

from __future__ import annotations

import re
from typing import Final

from spector.language.words import plain

__all__ = ["EACH", "recurring_in"]

#: what such a window begins with
EACH: Final = "each "
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday weekday weekend workday"
_GUNLER: Final = "pazartesi sali carsamba persembe cuma cumartesi"
#: form -> what it is called, both languages
_ENGLISH: Final = re.compile(
    rf"\b(?:on|every|each|at|during|over)\s+(?:the\s+|most\s+|other\s+)?(?:"
    rf"({_DAYS.replace(' ', '|')})s|(?<=every )({_DAYS.replace(' ', '|')})"
    rf"|(?<=each )({_DAYS.replace(' ', '|')}))\b"
    r"|(?<!\d )(?<!\d)\b(?:at|by|during\s+the)\s+(night|day)\b"
    r"|\b(?:in|during|over)\s+(?:the\s+)?(summer|winter|spring|autumn|fall)s?\b(?!\s+(?:of\s+)?\d)"
    r"|\b(?:in|during)\s+the\s+(morning|evening|afternoon)s\b"
)
_TURKISH: Final = re.compile(
    rf"\b(?:her\s+)?({_GUNLER.replace(' ', '|')}|pazar)\s+(?:gunleri|sabahlari|aksamlari)\b"
    rf"|\b({_GUNLER.replace(' ', '|')})(?:leri|lari)\b"
    rf"|\bher\s+({_GUNLER.replace(' ', '|')}|pazar)\b"
    r"|\b(hafta\s+(?:ici|sonu))(?:lari|leri)?\b"
    r"|\b(yaz|kis)(?:in|lari)\b|\b(ilkbahar|sonbahar)(?:da|lari)\b"
    r"|\b(gece|gunduz|sabah|aksam)(?:leri|lari)\b"
)


def recurring_in(text: str) -> str | None:
    """The times that come back in a sentence, by name; None where it names none."""
    folded = plain(text)
    names = sorted({
        " ".join(name.split()) for pattern in (_ENGLISH, _TURKISH)
        for found in pattern.finditer(folded) for name in found.groups() if name
    })  # fmt: skip
    return EACH + " ".join(names) if names else None
