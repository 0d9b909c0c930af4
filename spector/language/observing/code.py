"""How much of a text is code, markup or a list."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from spector.language.tables import table_of

__all__ = ["code_share", "emoji_count", "is_xml_block", "markdown_lines", "words_of_prose"]

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_BULLET: Final = re.compile(r"^\s{0,12}[-*+•◦▪]\s+\S|\*\*[^*\n]+\*\*|__[^_\n]+__")
_XML_OPEN: Final = re.compile(
    r"<(?:\?xml\b[^>]{0,200}\?>\s*<)?([A-Za-z][\w:.-]{0,60})(?:\s[^<>]{0,2000})?(/?)>"
)
_SPANS: Final = re.compile(r"`[^`\n]+`")
_EMOJI: Final = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[\U0001f300-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u231a-\u23ff]"
    "[\ufe0f\U0001f3fb-\U0001f3ff]*(?:\u200d[\U0001f300-\U0001faff\u2600-\u27bf]"
    "[\ufe0f\U0001f3fb-\U0001f3ff]*)*"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_MOST_LINE: Final = 2_000


@lru_cache(maxsize=1)
def _code_line() -> re.Pattern[str]:
    lines = table_of("any", "code").patterns["lines"]
    return re.compile(r"\s*(?:" + "|".join(each.pattern for each in lines) + ")")


def code_share(text: str) -> float:
    """Share of the characters of a text that stand in code: fenced, or lines of no prose."""
    total = _solid(text)
    if not total:
        return 0.0
    code = 0

    def take(found: re.Match[str]) -> str:
        nonlocal code
        code += _solid(found.group())
        return "\n"

    rest = _SPANS.sub(take, _FENCED.sub(take, text))
    for line in rest.split("\n"):
        if _code_line().match(line[:_MOST_LINE]):
            code += _solid(line)
    return code / total


def _solid(text: str) -> int:
    """Characters that are no white space."""
    return sum(map(len, text.split()))


def is_xml_block(text: str) -> bool:
    """True if a text is one element from its first character to its last."""
    text = text.strip()
    if text[:1] != "<" or text[-1:] != ">":
        return False
    found = _XML_OPEN.match(text)
    if found is None:
        return False
    if found.group(2):
        return found.end() == len(text)
    return text.endswith(f"</{found.group(1)}>")


def markdown_lines(text: str) -> int:
    """Number of lines with a bullet or bold words."""
    return sum(bool(_BULLET.search(line[:_MOST_LINE])) for line in text.split("\n"))


def words_of_prose(text: str) -> int:
    """Words outside of code and of lines with bullets or bold words."""
    rest = _SPANS.sub(" ", _FENCED.sub("\n", text))
    lines = (line[:_MOST_LINE] for line in rest.split("\n"))
    return sum(
        len(_WORD.findall(line))
        for line in lines
        if not _BULLET.search(line) and not _code_line().match(line)
    )


def emoji_count(text: str) -> int:
    """Number of emoji; a flag, or a family of several signs, is one."""
    return len(_EMOJI.findall(text)) if not text.isascii() else 0
