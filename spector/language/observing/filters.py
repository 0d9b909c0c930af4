"""The filters that a message meets before it is stored; the first that holds stops it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spector.language.cues import need_gate
from spector.language.observing.code import (
    code_share,
    emoji_count,
    is_xml_block,
    markdown_lines,
    words_of_prose,
)
from spector.language.observing.density import QUESTION_WORDS, asks_in_detail
from spector.language.observing.injection import is_injection, is_system_content
from spector.language.observing.sentences import parts_of

__all__ = ["FILTERS", "filter_of", "kind_of_filter"]

#: in their order -> the kind of a message that it stops
FILTERS: Final[Mapping[str, str]] = MappingProxyType({
    "length": "other", "system_content": "injection", "prompt_injection": "injection",
    "xml_block": "code", "markdown": "other", "code": "code", "emoji": "smalltalk",
    "small_talk": "smalltalk", "question": "question", "request": "request",
})  # fmt: skip


def filter_of(
    text: str,
    *,
    min_chars: int = 1,
    max_chars: int = 5000,
    markdown_lines: int = 5,
    code_share: float = 0.5,
    max_emoji: int = 3,
    prose_words: int = 30,
    question_words: int = QUESTION_WORDS,
) -> str | None:
    """The name of the first filter that stops a message, or None.

    Args:
        min_chars: Fewest characters.
        max_chars: Longer texts are stopped, this length included.
        markdown_lines: From so many lines with bullets or bold words on, a text is a list.
        code_share: A larger share of code than this stops.
        max_emoji: More emoji than this stop.
        prose_words: A list or code passes with at least so many words of prose beside it; 0 stops
            it whatever stands beside it.
        question_words: A message that only asks passes with at least so many words of content; 0
            stops it however much it tells.
    """
    if not min_chars <= len(text.strip()) or len(text) >= max_chars:
        return "length"
    if is_system_content(text):
        return "system_content"
    if is_injection(text):
        return "prompt_injection"
    if is_xml_block(text):
        return "xml_block"
    if _markdown_lines(text) >= markdown_lines and not _has_prose(text, prose_words):
        return "markdown"
    if _code_share(text) > code_share and not _has_prose(text, prose_words):
        return "code"
    if emoji_count(text) > max_emoji:
        return "emoji"
    if not need_gate(text).needed:
        return "small_talk"
    found = _asks_only(text)
    return None if found == "question" and asks_in_detail(text, question_words) else found


def _has_prose(text: str, least: int) -> bool:
    return least > 0 and words_of_prose(text) >= least


def kind_of_filter(name: str) -> str:
    """The kind of the messages that a filter stops."""
    return FILTERS.get(name, "other")


def _asks_only(text: str) -> str | None:
    """``question`` or ``request`` where no sentence says anything."""
    kinds = set()
    for part in parts_of(text):
        if part.said:
            return None
        kinds.add(part.kind)
    if "orders" in kinds:
        return "request"
    return "question" if "asks" in kinds else None


_markdown_lines, _code_share = markdown_lines, code_share
