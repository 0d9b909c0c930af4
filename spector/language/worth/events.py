"""Whether a text tells of something that happened or will happen, rather than of how things are."""

from __future__ import annotations

import re
from typing import Final

from spector.language.frames import extract
from spector.language.worth.wording import Wording

_MS_PER_DAY: Final = 86_400_000
_EVERY: Final = ("asserted", "hedged", "planned", "reported", "conditional", "asked")
#: happened once, and is so for good
_LASTING: Final = frozenset("born_in born_on founded_in built_in died_in founded_by".split())
_PAST: Final = re.compile(
    r"\b(?:\w{2,}ed|was|were|went|got|had|made|did|said|told|saw|met|came|took|bought|sold|paid"
    r"|ate|drank|ran|won|lost|left|found|gave|sent|spent|wrote|read|slept|swam|flew|drove|rode"
    r"|broke|fell|felt|began|caught|chose|cut|heard|hit|kept|knew|led|put|sat|spoke|stood|taught"
    r"|thought|threw|woke|wore|built|brought|became|hurt|let|held|grew|drew)\b"
)
_PAST_TR: Final = re.compile(
    r"\b\w{2,}(?:[dt][iu]|m[iu]s)(?:m|n|k|niz|nuz|l[ae]r)?(?=[.,;!?)]|\s*$)"
)
_FUTURE: Final = re.compile(
    r"\b(?:will|going to|gonna|tomorrow|tonight|next|plan(?:s|ning)? to|\w+[ae]ca[gk]\w*|yarin"
    r"|gelecek|haftaya|planliyor\w*)\b|'ll\b"
)
#: an entry of a ledger: an amount, and no verb that says what holds
_AMOUNT: Final = re.compile(
    r"[$€£₺]\s*\d|\b\d[\d.,]*\s*(?:[$€£₺]|eur|usd|gbp|tl|lira|euros?|dollars?|pounds?|avro|dolar)\b"
)


def is_event(text: Wording) -> bool:
    """Whether a text tells of an event: past, dated or planned, and not of a state."""
    found = extract(text.said, reference_time=text.event_ms, modalities=_EVERY)
    if found:
        moves = [
            each for each in found
            if (each.tense != "present" or each.window or each.modality == "planned")
            and each.predicate not in _LASTING and not each.changed
        ]  # fmt: skip
        if moves or all(each.tense == "present" for each in found):
            return bool(moves) or _FUTURE.search(text.folded) is not None
        return False
    return bool(
        text.dates
        or _PAST.search(text.folded)
        or _PAST_TR.search(text.folded)
        or _FUTURE.search(text.folded)
        or _AMOUNT.search(text.folded)
    )


def is_other_event(one: Wording, other: Wording) -> bool:
    """Whether two texts of different days, UTC, tell of two events, or may.

    Texts that name the same dates tell of the same, whenever they are said.
    """
    if one.event_ms // _MS_PER_DAY == other.event_ms // _MS_PER_DAY:
        return False
    if one.dates and one.dates == other.dates:
        return False
    return is_event(one) or is_event(other)
