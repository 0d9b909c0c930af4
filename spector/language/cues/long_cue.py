"""A cue that is too long to be embedded while somebody waits: what of it is read."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["shorten_cue"]

_SENTENCE_END: Final = re.compile(r"[.!?\u3002\uff01\uff1f\u061f]+(?=\s|$)|[\u3002\uff01\uff1f]|\n")
#: the first sentence takes at most this share of the room; a longer one is cut behind a word
_SHARE: Final = 4
_GAP: Final = " \u2026 "
#: with less room there is no use in two pieces
_LEAST: Final = 64
#: characters of a word that is cut off at the start of the end, at most
_WORD: Final = 64


def shorten_cue(cue: str, most_bytes: int) -> str:
    """The first sentence and the end of a cue, in at most so many bytes of UTF-8.

    What is asked stands before a text that was pasted, or behind it. Linear time.
    """
    cue = cue.strip()
    room = max(1, most_bytes)
    if len(cue.encode()) <= room:
        return cue
    if room < _LEAST:
        return _end(cue, room) or _start(cue, room)
    first = _start(cue, room // _SHARE)
    sentence = _SENTENCE_END.search(first)
    if sentence is not None:
        first = first[: sentence.end()].strip()
    elif " " in first:
        first = first.rsplit(None, 1)[0]
    return first + _GAP + _end(cue, room - len((first + _GAP).encode()))


def _start(text: str, room: int) -> str:
    return text[:room].encode()[:room].decode(errors="ignore")


def _end(text: str, room: int) -> str:
    """As much of the end as there is room for, from the start of a word on if there is one."""
    end = text[-room:].encode()[-room:].decode(errors="ignore")
    if len(end) < len(text) and not text[-len(end) - 1].isspace():
        cut = re.search(r"\s", end[:_WORD])
        end = end[cut.end() :] if cut else end
    return end.lstrip()
