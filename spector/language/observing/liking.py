"""Whether a text that sounds like a preference states one, or only likes what it speaks of."""

from __future__ import annotations

import re
from typing import Final

from spector.language.frames import extract
from spector.language.words import compose, plain

#: words of a choice that holds on: who only reacts to something says "love" and "enjoy"
_CHOICE: Final = re.compile(
    r"\b(?:prefer\w*|avoid\w*|hate\w*|dislik\w*|detest\w*|refus\w*|rather|stand|allerg\w*|avers\w*"
    r"|never|always|only|favou?rites?|interest\w*|(?:not|n['\u2019]t|no longer) (?:\w+ )?"
    r"(?:like|love|enjoy|care)"
    r"|tercih|nefret|kacin\w*|asla|hep|daima|her zaman|en (?:cok )?sevdigim|favori\w*|alerji\w*"
    r"|(?:sevme|hoslanma|begenme)\w*)\b"
)
#: characters that are read
_MOST: Final = 4000


def only_likes(text: str) -> bool:
    """Whether a text that was taken for a preference names no choice, and states nothing.

    "I love how brave that was" is one, "I love jazz" and "I avoid crowds" are none.
    """
    said = compose(text[:_MOST])
    return _CHOICE.search(plain(said)) is None and not extract(said)
