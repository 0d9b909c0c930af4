"""What of an answer an instruction is about: of one aspect only the newest order holds."""

from __future__ import annotations

import re
from typing import Final

from spector.language.statements.instructions import LANGUAGE

#: aspect -> how a folded instruction speaks of it
_ASPECTS: Final = {
    "address": re.compile(r"\b(?:call|address) me\b"),
    "language": re.compile(r"\b(?:in|into|to|only|speak|use|write|talk) (?:only )?" + LANGUAGE),
    "length": re.compile(
        r"\b(?:brief|concise|short|succinct|terse|long|detail|thorough|verbose|elaborate|in depth"
        r"|at length|to the point|one[ -]sentence|few words)\w*"
    ),
    "tone": re.compile(
        r"\b(?:formal|informal|casual|polite|friendly|serious|playful|blunt|gentl|stiff|relaxed"
        r"|humorous|funny)\w*"
    ),
}  # fmt: skip


def aspects_of(sentence: str) -> frozenset[str]:
    """The aspects of answers that a folded instruction sets."""
    return frozenset(name for name, said in _ASPECTS.items() if said.search(sentence))
