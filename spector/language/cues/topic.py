"""The topic of a cue about the conversation, without the frame of the question.

"Walk me through the order in which I brought up the garden" asks for what the user said about the
garden, but its frame would find "I placed an order". So only the topic is embedded and looked up;
the frame determines the form of the answer and the speaker. Frames are patterns of grammar: a
question or a request, a verb of saying, its subject, "about". English and Turkish, linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from spector.language.tables import pattern_rows, patterns_of, word_lists
from spector.language.words import compose, plain
from spector.process import keeps

_WORDS: Final = word_lists("topic")
_RE: Final = patterns_of("topic")


class Frame(StrEnum):
    """The kind of question about the conversation."""

    NONE = ""  # the cue is not about the conversation
    ORDER = "order"  # the order in which things were said
    SUMMARY = "summary"  # a summary of it
    SAID = "said"  # what was said or is known about something
    PROFILE = "profile"  # what is known about the user


#: the speakers that "I" and "you" in a cue refer to
USER: Final = "user"
ASSISTANT: Final = "assistant"
#: longer cues are situations or documents
_MOST_CHARS: Final = 600
#: most nested frames: "a summary of (what I said about (our talks about (...)))"
_MOST_FRAMES: Final = 4
#: characters of a cue that asks for a whole, and its words
_MOST_OF_WHOLE: Final = 80
_SIGNS: Final = " \t,;:.!?\"'`()[]-–—…"
_POINTING: Final = frozenset(("it", "that", "this", "them", "these", "those", "one"))
#: personal ending of a verb -> speaker
_ENDS_TR: Final = {"m": USER, "n": ASSISTANT, "niz": ASSISTANT, "nuz": ASSISTANT}


@dataclass(frozen=True, slots=True)
class Topic:
    """A cue, split into frame and topic.

    Attributes:
        kind: the frame; `Frame.NONE` for most cues.
        topic: the cue without its frame, as written; "" if everything is asked for ("summarize our
            conversation").
        speaker: the speaker asked about: `USER`, `ASSISTANT`, a name as written, or None.
    """

    kind: Frame
    topic: str
    speaker: str | None = None

    @property
    def text(self) -> str:
        """The text to embed and look up: the topic with the name of the speaker."""
        if self.speaker in (None, USER, ASSISTANT):
            return self.topic
        return f"{self.speaker} {self.topic}".strip()

    @property
    def is_survey(self) -> bool:
        """True if the cue asks for everything: about the user, or without a topic."""
        return self.kind is Frame.PROFILE or (self.kind is not Frame.NONE and not self.topic)

    @property
    def wants_many(self) -> bool:
        """True if the answer needs many memories."""
        return self.kind in (Frame.ORDER, Frame.SUMMARY) or self.is_survey


@cache
def _frames(section: str) -> Sequence[tuple[Frame, re.Pattern[str]]]:
    """Frames of a section; compiled for the first cue with a word by which one may have some."""
    lead = "@{lead}(?:%s)" if section == "outer" else "%s"
    return [(Frame(name), each) for name, each in pattern_rows("topic", section, lead)]


def topic_of(cue: str) -> Topic:
    """Split a cue about the conversation into topic, frame and speaker.

    >>> topic_of("What did I say about my garden?")
    Topic(kind=<Frame.SAID: 'said'>, topic='my garden', speaker='user')

    A cue of several lines or of more than 600 characters, or without a matching frame, is its own
    topic. Other sentences belong to the topic, unless they are only about the form of the answer
    ("Mention only three.").
    """
    if len(cue) > 2 * _MOST_CHARS:
        return Topic(Frame.NONE, cue)
    return _topic_of(cue)


@keeps(256)
def _topic_of(cue: str) -> Topic:
    whole = compose(cue).strip()
    folded = plain(whole)
    found = _framed(cue, whole, folded)
    return Topic(Frame.SUMMARY, "") if not found.is_survey and _is_of_whole(folded) else found


def _framed(cue: str, whole: str, folded: str) -> Topic:
    if (
        len(whole) > _MOST_CHARS
        or "\n" in whole
        or not (_RE["hint"].search(folded) or _RE["hint_tr"].search(folded))
    ):
        return Topic(Frame.NONE, cue)
    sentences = [
        match.group() for match in _RE["sentence"].finditer(whole) if match.group().strip()
    ]
    wanted = [
        each for n, each in enumerate(sentences)
        if not n or not _RE["form"].fullmatch(_aligned(each).strip(_SIGNS))
    ]  # fmt: skip
    for n, sentence in enumerate(wanted):
        found = _read(" ".join(sentence.strip(_SIGNS).split()))
        if found is not None:
            beside = [each.strip() for each in (*wanted[:n], *wanted[n + 1 :])]
            return Topic(found.kind, " ".join(filter(None, (*beside, found.topic))), found.speaker)
    return Topic(Frame.NONE, cue)


def _is_of_whole(folded: str) -> bool:
    """Whether a cue has no word but those by which a whole is asked for ("a profile of me")."""
    if len(folded) > _MOST_OF_WHOLE:
        return False
    words = set(_RE["word"].findall(folded))
    whole = words & _WORDS["whole"]
    return words <= _WORDS["whole"] | _WORDS["whose"] | _WORDS["beside"] and bool(
        whole and (len(whole) > 1 or words & _WORDS["whose"])
    )


def _read(sentence: str) -> Topic | None:
    """The topic of a sentence without surrounding signs; None if no frame matches."""
    folded = _aligned(sentence)
    if " " not in folded:
        return None  # a single word to look up
    profile = _RE["profile"].fullmatch(folded)
    if profile is not None:
        return Topic(Frame.PROFILE, _cut(sentence, profile, "rest"), USER)
    if _RE["hint_tr"].search(folded) and (found := _read_turkish(sentence, folded)) is not None:
        return found
    kind, speaker, rest = Frame.NONE, None, sentence
    for depth in range(_MOST_FRAMES):
        step = _step(rest, _frames("inner" if depth else "outer"))
        if step is None:
            break
        frame, rest, said_by, mutual = step
        kind = kind or frame
        if said_by is not None and not (mutual and kind is Frame.SUMMARY):
            speaker = speaker or said_by
    if kind is Frame.NONE:
        return None
    if auxiliary := _RE["auxiliary"].match(_aligned(rest)):
        rest = rest[auxiliary.end() :]
    bare = _aligned(rest)
    if _RE["self"].fullmatch(bare):
        # what others said about the user, or to others, is only a few memories
        return None if speaker not in (None, USER) else Topic(Frame.PROFILE, "", USER)
    # "summarize it" refers to something outside the cue
    return None if bare in _POINTING else Topic(kind, rest, speaker)


def _step(
    rest: str, patterns: Sequence[tuple[Frame, re.Pattern[str]]]
) -> tuple[Frame, str, str | None, bool] | None:
    """Remove one frame: (kind, rest, speaker, True if two speakers talked)."""
    folded = _aligned(rest)
    for frame, pattern in patterns:
        match = pattern.fullmatch(folded)
        if match is None:
            continue
        found = match.groupdict()
        said_by = None
        if found.get("who") is not None:
            said_by = _speaker(_cut(rest, match, "who"), found["who"])
        left = "raised" if found.get("raised") is not None else "rest"
        return frame, _trimmed(_cut(rest, match, left)), said_by, found.get("talk") is not None
    return None


def _speaker(written: str, folded: str) -> str | None:
    """The speaker that the subject of a verb of saying refers to."""
    if folded in ("i", "me"):
        return USER
    if folded == "you":
        return ASSISTANT
    if folded in ("we", "he", "she", "it", "they", "people", "everyone", "anyone", "someone"):
        return None
    return USER if folded == "user" else written


def _read_turkish(sentence: str, folded: str) -> Topic | None:
    if lead := _RE["lead_tr"].match(folded):
        sentence, folded = sentence[lead.end() :], folded[lead.end() :]
    profile = _RE["profile_tr"].fullmatch(folded)
    if profile is not None:
        return Topic(Frame.PROFILE, _cut(sentence, profile, "rest"), USER)
    for frame, pattern in _frames("turkish"):
        match = pattern.fullmatch(folded)
        if match is None:
            continue
        rest, speaker = _said_in_turkish(sentence, match, frame)
        for _, inner in _frames("inner_tr"):
            if within := inner.fullmatch(_aligned(rest)):
                rest, more = _said_in_turkish(rest, within, frame)
                speaker = speaker or more
        bare = _aligned(rest)
        if match.groupdict().get("self") or _RE["self_tr"].fullmatch(bare):
            return Topic(Frame.PROFILE, "", USER)
        return Topic(frame, "" if _RE["ours_tr"].fullmatch(bare) else rest, speaker)
    return None


def _said_in_turkish(text: str, match: re.Match[str], frame: Frame) -> tuple[str, str | None]:
    """The rest of a frame, and the speaker by the ending of its verb.

    A third person is named at the start of the sentence: "Ayse dugun hakkinda ne dedi".
    """
    found = match.groupdict()
    rest = _trimmed(_cut(text, match, "rest"))
    if "end" not in found or (found.get("talk") and frame is Frame.SUMMARY):
        return rest, None
    word, _, more = rest.partition(" ")
    name, of, _ = word.replace("\u2019", "'").partition("'")
    if more and name[:1].isupper() and (of or not found["end"]):  # "Ayse'nin", or a third person
        return more, name
    if more and found["end"] == "n" and _RE["of_tr"].search(_aligned(word)):
        return rest, None  # "doktorun soyledikleri": a description, not a name
    return rest, _ENDS_TR.get(found["end"] or "")


def _trimmed(text: str) -> str:
    """Strip trailing phrases that do not belong to the topic; "" for a time alone."""
    text = text.strip(_SIGNS)
    while text and (tail := _RE["tail"].search(_aligned(text))):
        text = text[: tail.start()].strip(_SIGNS)
    return "" if _RE["time"].fullmatch(_aligned(text)) else text


def _cut(text: str, match: re.Match[str], name: str) -> str:
    """The original text that a group matched; "" if it did not match."""
    if match.groupdict().get(name) is None:
        return ""
    start, end = match.span(name)
    return text[start:end]


def _aligned(text: str) -> str:
    """The `plain` form of a text from `compose`, with the same length and positions."""
    folded = plain(text)
    if len(folded) == len(text):
        return folded
    return "".join(each if len(each) == 1 else char for char in text for each in (plain(char),))
