"""Times that come back and places: what holds on Mondays or at work does not end elsewhere."""

from __future__ import annotations

import re
from typing import Final

from spector.language.words import plain

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
_PLACES: Final = re.compile(
    r"\b(?:at|in|on)\s+(?:the\s+)?(home|work|school|office|gym|restaurants?|bars?|cafes?|public|private"
    r"|production|prod|staging|development|dev|test|testing|qa|weekdays?|parties|trips)\b"
    r"|\b(evde|ofiste|okulda|restoranda|disarida|canlida|testte|uretimde|isyerinde|partilerde)\b"
)


def recurring_in(text: str) -> str | None:
    """The times that come back and the places in a sentence, by name; None where it has none."""
    folded = plain(text)
    names = sorted({
        " ".join(name.split()) for pattern in (_ENGLISH, _TURKISH, _PLACES)
        for found in pattern.finditer(folded) for name in found.groups() if name
    })  # fmt: skip
    return EACH + " ".join(names) if names else None
