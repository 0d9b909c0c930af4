"""Emoji and smileys of a text, and the feeling that each shows."""

from __future__ import annotations

import re
from functools import lru_cache

from spector.language.tables import table_of


def signs_in(text: str) -> list[tuple[str, str]]:
    """(sign, category) of each emoji and smiley, in their order."""
    pattern, kinds = _signs()
    return [(each.group(), kinds[each.group()]) for each in pattern.finditer(text.lower())]


@lru_cache(maxsize=1)
def _signs() -> tuple[re.Pattern[str], dict[str, str]]:
    """One pattern for all emoji and smileys, and the category of each."""
    kinds = {sign: name for name, signs in table_of("any", "signs").words.items() for sign in signs}
    ordered = sorted(kinds, key=len, reverse=True)
    spelt = "|".join(re.escape(each) for each in ordered if each.isascii())
    drawn = "|".join(re.escape(each) for each in ordered if not each.isascii())
    return re.compile(rf"(?<!\S)(?:{spelt})(?=[\s.,!?]|$)|{drawn}"), kinds
