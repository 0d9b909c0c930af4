"""Hypothetical answers to a cue (HyDE), made from templates.

A question is not worded like its answer. So templates turn the cue's topic into a few sentences
that an answer may resemble, and the search uses the mean of their vectors and the cue's. No
language model; English and Turkish. An option (`recall(hyde=True)`), off by default because it
loses where it was measured (bench/log, "Template HyDE").
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import lengths as lengths_of
from spector.kernel.contract import norm
from spector.language.words import compose, is_turkish, plain

__all__ = ["Shape", "centroid", "hypotheses", "shape_of"]


class Shape(StrEnum):
    """The shape of an answer."""

    DEFINITION = "definition"
    HOWTO = "howto"
    REASONING = "reasoning"
    LOOKUP = "lookup"
    TECHNICAL = "technical"
    PREFERENCE = "preference"
    GENERAL = "general"


_TEMPLATES: Final[dict[Shape, tuple[str, ...]]] = {
    Shape.DEFINITION: ("{} is a kind of", "By {} we mean"),
    Shape.HOWTO: ("To {} you first", "These are the steps to {}", "I showed how to {}"),
    Shape.REASONING: ("The reason is that {}", "{} because of"),
    Shape.LOOKUP: ("It was {}", "I told you that {}", "The answer about {} is"),
    Shape.TECHNICAL: ("The setting for {} in the code is", "{} failed with an error, the fix was"),
    Shape.PREFERENCE: ("I like {}", "I prefer {}", "I do not enjoy {}"),
    Shape.GENERAL: ("{}", "We talked about {}"),
}
_TEMPLATES_TR: Final[dict[Shape, tuple[str, ...]]] = {
    Shape.DEFINITION: ("{} şu demektir", "{} bir tür"),
    Shape.HOWTO: ("{} için önce", "{} adımları şunlar"),
    Shape.REASONING: ("{} çünkü", "{} nedeni şu"),
    Shape.LOOKUP: ("{} şuydu", "Sana {} demiştim"),
    Shape.TECHNICAL: ("{} için koddaki ayar", "{} hata verdi, çözümü"),
    Shape.PREFERENCE: ("{} severim", "{} tercih ederim", "{} sevmem"),
    Shape.GENERAL: ("{}", "{} hakkında konuştuk"),
}

_SHAPES: Final[tuple[tuple[Shape, re.Pattern[str]], ...]] = (
    (
        Shape.TECHNICAL,
        re.compile(
            r"\b(?:error|bug|exception|crash\w{0,3}|config\w{0,12}|code|api|deploy\w{0,4}|debug\w{0,4}"
            r"|function|library|database|hata|kod|ayar\w{0,5}|sunucu)\b"
        ),
    ),
    (Shape.HOWTO, re.compile(r"\b(?:how (?:to|do i|do you|can i|should i)|steps to|nasil)\b")),
    (
        Shape.REASONING,
        re.compile(
            r"\b(?:why|how come|what (?:caused|made|inspired|motivated)|reason|neden|nicin|niye)\b"
        ),
    ),
    (
        Shape.PREFERENCE,
        re.compile(
            r"\b(?:prefer\w{0,5}|favou?rites?|likes?|enjoys?|loves?|hates?|recommend\w{0,4}"
            r"|suggest\w{0,4}|tercih\w{0,6}|sever\w{0,4}|oner\w{0,6}|favori\w{0,3})\b"
        ),
    ),
    (
        Shape.DEFINITION,
        re.compile(
            r"^\s*(?:what (?:is|are) (?:an? )?\w+\s*\??$|what does .{1,60} mean|define )|\bnedir\b"
        ),
    ),
    (
        Shape.LOOKUP,
        re.compile(
            r"^\s*(?:who|where|when|which|what|whose|how (?:many|much|long|old|often)|did|does|do|is"
            r"|was|are|were|has|have)\b|\b(?:kim|nerede|hangi|kac|ne zaman)\b"
        ),
    ),
)
#: what a question begins with, before its topic
_OPENING: Final = re.compile(
    r"^\s*(?:(?:please|can you|could you|would you|do you (?:know|remember))\s+)?"
    r"(?:(?:tell me|remind me)\s+(?:about\s+)?)?"
    r"(?:(?:what|who|whom|whose|where|when|why|which"
    r"|how(?: (?:many|much|long|old|often|to|come))?)\s+)?"
    r"(?:(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had)\s+)?",
    re.IGNORECASE,
)
#: Turkish questions: particles and question words anywhere
_ASKED_TR: Final = re.compile(
    r"\b(?:nedir|neydi|ne zaman|nerede|nereye|neden|niçin|niye|nasıl|hangi|kim|kaç|mi|mı|mu|mü)\b",
    re.IGNORECASE,
)
#: longer cues are situations, not questions with a topic
_MOST_CHARS: Final = 400


def shape_of(cue: str) -> Shape:
    """What an answer to a cue would look like: the first pattern that it has, else general."""
    folded = plain(cue[:_MOST_CHARS])
    return next((shape for shape, words in _SHAPES if words.search(folded)), Shape.GENERAL)


def hypotheses(cue: str) -> list[str]:
    """Two or three sentences that an answer may be like; none for long texts and several lines."""
    text = compose(cue.strip())
    if not text or len(text) > _MOST_CHARS or "\n" in text:
        return []
    turkish = is_turkish(text, plain(text))
    if turkish:
        topic = _ASKED_TR.sub(" ", text)
    else:
        topic = text[_OPENING.match(text).end() :]  # type: ignore[union-attr]  # matches anything
    topic = " ".join(topic.strip(" ?!.").split()) or text.strip(" ?!.")
    if not topic:
        return []
    templates = (_TEMPLATES_TR if turkish else _TEMPLATES)[shape_of(text)]
    return list(dict.fromkeys(template.format(topic) for template in templates))


def centroid(
    vectors: NDArray[np.float32], given: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """(dim,) f32 of length 1: the mean direction of (n, dim) f32 and one that is given, (dim,).

    The first of them if they cancel out.
    """
    if given is not None:
        vectors = np.concatenate([given[None], vectors])
    lengths = lengths_of(vectors)[:, None]
    mean = (vectors / np.maximum(lengths, np.float32(1e-9))).mean(axis=0)
    length = norm(mean)
    found: NDArray[np.float32] = (mean / length if length > 1e-6 else vectors[0]).astype(np.float32)
    return found
