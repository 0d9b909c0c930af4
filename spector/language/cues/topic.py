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
from typing import Final

from spector.language.cues import english as frames
from spector.language.cues import turkish as frames_tr
from spector.language.cues.english import Frame
from spector.language.words import compose, plain
from spector.process import keeps

#: the speakers that "I" and "you" in a cue refer to
USER: Final = "user"
ASSISTANT: Final = "assistant"
#: longer cues are situations or documents
_MOST_CHARS: Final = 600
#: most nested frames: "a summary of (what I said about (our talks about (...)))"
_MOST_FRAMES: Final = 4
#: characters of a cue that asks for a whole, and its words
_MOST_OF_WHOLE: Final = 80
_WORD: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"[^.!?]*(?:[.!?](?!\s|$)[^.!?]*)*[.!?]*\s*")
_SIGNS: Final = " \t,;:.!?\"'`()[]-–—…"
_POINTING: Final = frozenset(("it", "that", "this", "them", "these", "those", "one"))
#: Turkish genitive
_OF_TR: Final = re.compile(r"\w{2,}[iu]n$")
#: what a whole is called or done with; whose it is, and how it is asked for; and what may be beside
_WHOLE: Final = frozenset(
    """background brief briefing catch digest discuss discussed everything highlights history
    important overview picture profile recap recapitulate rundown summarise summarize summary talk
    talked""".split()
)
_WHOSE: Final = frozenset(
    """chat chats client conversation conversations customer describe discuss discussed discussion
    discussions give i know me my myself our remember session sessions show talked talks tell us
    user users we write you your""".split()
)
_BESIDE: Final = frozenset(
    """a about all an and are been can complete could did do far for from full had has have in is
    key last main make month most of on please previous s short so some that the things this time to
    today until up was week were what with would yesterday""".split()
)
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
        or not (frames.HINT.search(folded) or frames_tr.HINT_TR.search(folded))
    ):
        return Topic(Frame.NONE, cue)
    sentences = [match.group() for match in _SENTENCE.finditer(whole) if match.group().strip()]
    wanted = [
        each for n, each in enumerate(sentences)
        if not n or not frames.FORM.fullmatch(_aligned(each).strip(_SIGNS))
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
    words = set(_WORD.findall(folded))
    whole = words & _WHOLE
    return words <= _WHOLE | _WHOSE | _BESIDE and bool(whole and (len(whole) > 1 or words & _WHOSE))


def _read(sentence: str) -> Topic | None:
    """The topic of a sentence without surrounding signs; None if no frame matches."""
    folded = _aligned(sentence)
    if " " not in folded:
        return None  # a single word to look up
    profile = frames.PROFILE.fullmatch(folded)
    if profile is not None:
        return Topic(Frame.PROFILE, _cut(sentence, profile, "rest"), USER)
    if frames_tr.HINT_TR.search(folded) and (found := _read_turkish(sentence, folded)) is not None:
        return found
    kind, speaker, rest = Frame.NONE, None, sentence
    for depth in range(_MOST_FRAMES):
        step = _step(rest, frames.english()[min(depth, 1)])
        if step is None:
            break
        frame, rest, said_by, mutual = step
        kind = kind or frame
        if said_by is not None and not (mutual and kind is Frame.SUMMARY):
            speaker = speaker or said_by
    if kind is Frame.NONE:
        return None
    if auxiliary := frames.AUXILIARY.match(_aligned(rest)):
        rest = rest[auxiliary.end() :]
    bare = _aligned(rest)
    if frames.SELF.fullmatch(bare):
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
    if lead := frames_tr.LEAD_TR.match(folded):
        sentence, folded = sentence[lead.end() :], folded[lead.end() :]
    profile = frames_tr.PROFILE_TR.fullmatch(folded)
    if profile is not None:
        return Topic(Frame.PROFILE, _cut(sentence, profile, "rest"), USER)
    for frame, pattern in frames_tr.TURKISH:
        match = pattern.fullmatch(folded)
        if match is None:
            continue
        rest, speaker = _said_in_turkish(sentence, match, frame)
        for inner in frames_tr.INNER_TR:
            if within := inner.fullmatch(_aligned(rest)):
                rest, more = _said_in_turkish(rest, within, frame)
                speaker = speaker or more
        bare = _aligned(rest)
        if match.groupdict().get("self") or frames_tr.SELF_TR.fullmatch(bare):
            return Topic(Frame.PROFILE, "", USER)
        return Topic(frame, "" if frames_tr.OURS_TR.fullmatch(bare) else rest, speaker)
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
    if more and found["end"] == "n" and _OF_TR.search(_aligned(word)):
        return rest, None  # "doktorun soyledikleri": a description, not a name
    return rest, _ENDS_TR.get(found["end"] or "")


def _trimmed(text: str) -> str:
    """Strip trailing phrases that do not belong to the topic; "" for a time alone."""
    text = text.strip(_SIGNS)
    while text and (tail := frames.TAIL.search(_aligned(text))):
        text = text[: tail.start()].strip(_SIGNS)
    return "" if frames.TIME.fullmatch(_aligned(text)) else text


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
