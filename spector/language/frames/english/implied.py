"""What a sentence says by the way: whose dog it is, its name, how to reach a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.groups import Group, group_at
from spector.language.frames.english.kinds import KINDS, is_empty, is_role
from spector.language.frames.english.phrases import Phrase, complement_end, phrase_at, text_of
from spector.language.frames.english.verbs import FORMS, FRAMES
from spector.language.frames.predicates import EVERYONES, KIN, PETS, PRESUPPOSED
from spector.language.frames.sentences import Word
from spector.language.frames.statement import Draft

__all__ = ["as_a", "contacts", "given_to_me", "presupposed", "relative"]

_AFTER_GAP: Final = frozenset(
    """last yesterday today recently in at on with during and but a from for this when
    while""".split()
) - {"a", "for", "this"}
#: what a sentence with one of these calls mine may be mine no more
_GONE: Final = frozenset(
    """lost lose sold donated quit left died passed ex late former missing stolen gave
    miss""".split()
)
#: "as a kid" tells of a time
_YOUNG: Final = frozenset("kid child teen teenager boy girl baby toddler result rule".split())
#: what a phrase is of, not where it happens to be: "my friends from work"
_KINDS: Final = frozenset(("of", "from"))
_CALLS: Final = frozenset("call reach email mail text contact phone".split())
#: before a noun they leave it as it is: "my dear family"
_NO_KINDS: Final = (
    words_of.PRAISE
    | words_of.STOPS
    | frozenset(
        """dear beloved closest close dearest loving supportive whole entire immediate fellow
    wonderful trusty poor faithful adorable true""".split()
    )
) - {"other"}
_SIZES: Final = frozenset("little big older younger young own two three new".split())
#: "this is my book collection" shows what one has
_SHOWN: Final = frozenset("this here these".split())
_KNOWN: Final = PRESUPPOSED | KIN


def presupposed(words: Sequence[Word], text: str) -> Iterator[Draft]:
    """What "my dog Max" takes for granted: a dog, and its name."""
    gone = any(word.text in _GONE for word in words)
    for at in range(len(words) - 1):
        if words[at].text in ("named", "called") and at > 1:
            yield from _naming(words, at, text)
        own = words[at].text in ("my", "our", "your") and (
            words[at].raw.islower() or at == 0 or words[at - 1].kind == "sign"
        )
        first = at + 1
        first += words[first].text in _SIZES
        noun = words[first].text if own and first < len(words) else ""
        if noun not in _KNOWN or (words[at].text == "our" and noun not in PETS):
            if own and words[at].text == "my" and not gone:
                yield from _modified(words, at, text)
            continue
        begin = first + 1
        begin += _is_apposition(words, begin)
        end = begin
        while end < len(words) and _is_name_word(words[end]):
            end += 1
        if end > begin:
            if noun.endswith("s") and not noun.endswith("ss"):
                continue  # "my friends Josh and Mark"
            predicate = noun
        elif (
            gone
            or noun not in PRESUPPOSED
            or _is_compound(words, begin)
            or (at and words[at - 1].text in words_of.BE)
        ):
            continue
        else:
            counted = words[first - 1].text in words_of.NUMBERS
            end = complement_end(words, Phrase(at, first, first + 1, 1, ""), _KINDS, subject=True)
            if noun in EVERYONES and not counted and end == first + 1:
                continue
            predicate, begin = "has", first - (first > at + 1 and words[first - 1].text != "own")
        span = (words[begin].start, words[end - 1].end)
        owner = 2 if words[at].text == "your" else 1
        yield Draft(
            owner,
            "",
            predicate,
            text_of(words, begin, end, text),
            (words[at].start, words[at].end),
            span,
            (words[at].start, span[1]),
            frame="en:presupposed",
        )


def _modified(words: Sequence[Word], at: int, text: str) -> Iterator[Draft]:
    """ ""My college friends": the noun or adjective in front narrows them down."""
    phrase = phrase_at(words, at, subject=True)
    if phrase is None or phrase.end - phrase.first not in (2, 3):
        return
    noun, before = words[phrase.end - 1].text, words[phrase.first : phrase.end - 1]
    named = (
        any(word.capital or "-" in word.text for word in before)
        and not (KINDS["seen"](words, phrase))
        and (noun not in words_of.VAGUE | words_of.GENERAL | words_of.UNITS and noun not in FORMS)
    )
    shown = (
        at > 1
        and words[at - 1].text in ("is", "are", "'s", "'re")
        and (words[at - 2].text in _SHOWN)
    )
    if (
        not (noun in PRESUPPOSED or named or shown)
        or (at and words[at - 1].text in words_of.BE and not shown)
        or (shown and noun in words_of.VAGUE | EVERYONES)
        or any(word.text in _NO_KINDS or word.kind != "word" for word in before)
    ):
        return
    span = (words[phrase.first].start, words[phrase.end - 1].end)
    yield Draft(
        1,
        "",
        "has",
        text_of(words, phrase.first, phrase.end, text),
        (words[at].start, words[at].end),
        span,
        (words[at].start, span[1]),
        frame="en:presupposed",
    )


def contacts(words: Sequence[Word], text: str) -> Iterator[Draft]:
    """ "Call me Ada", "reach me at 555-0134", "email me at a@b.com"."""
    for at in range(len(words) - 2):
        if words[at + 1].text != "me" or words[at].text not in _CALLS:
            continue
        if at and words[at - 1].text in ("not", "n't", "never", "to", "they", "he", "she"):
            continue
        first = at + 2
        first += words[first].text in ("at", "on", "under", "via")
        if first >= len(words):
            continue
        end, predicate = first + 1, ""
        if words[first].kind == "mail":
            predicate = "email"
        elif words[first].kind == "number" and sum(map(str.isdigit, words[first].text)) >= 3:
            predicate = "phone"
            while end < len(words) and words[end].kind == "number":
                end += 1
        elif words[at].text == "call" and first == at + 2 and _is_name_word(words[first]):
            predicate = "is_named"
            while end < len(words) and _is_name_word(words[end]):
                end += 1
        if predicate and (
            end >= len(words)
            or words[end].kind == "sign"
            or words[end].text in words_of.TIMES | {"from", "instead", "if"}
        ):
            span = (words[first].start, words[end - 1].end)
            yield Draft(
                1,
                "",
                predicate,
                text_of(words, first, end, text),
                (words[at + 1].start, words[at + 1].end),
                span,
                (words[at].start, span[1]),
                changed=any(word.text in ("now", "instead") for word in words),
                by_form=True,
                frame="en:contact",
            )


def as_a(words: Sequence[Word], text: str) -> Iterator[Draft]:
    """ "As a single parent, I ...": what the speaker is."""
    if len(words) < 6 or words[0].text != "as" or words[1].text not in ("a", "an"):
        return
    comma = next((n for n in range(3, 7) if n + 1 < len(words) and words[n].text == ","), 0)
    if (
        words[2].text in _YOUNG
        or not comma
        or words[comma + 1].text not in ("i", "my")
        or any(word.text in words_of.STOPS for word in words[2:comma])
    ):
        return
    phrase = Phrase(1, 2, comma, 0, "a")
    span = (words[2].start, words[comma - 1].end)
    yield Draft(
        1,
        "",
        "works_as" if is_role(words, phrase) else "is_a",
        text_of(words, 2, comma, text),
        (words[comma + 1].start, words[comma + 1].end),
        span,
        (words[0].start, words[comma + 1].end),
        frame="en:as-a",
    )


def _is_name_word(word: Word) -> bool:
    return word.capital and word.kind == "word" and word.text not in words_of.STOPS


def _is_apposition(words: Sequence[Word], at: int) -> bool:
    """Whether ", Rob," follows: a name between two signs."""
    return (
        at + 2 < len(words)
        and words[at].text == ","
        and _is_name_word(words[at + 1])
        and (words[at + 2].kind == "sign")
    )


def _is_compound(words: Sequence[Word], at: int) -> bool:
    """Whether the noun before an index goes on: "my dog walker"."""
    if at >= len(words) or words[at].kind != "word":
        return False
    text = words[at].text
    if text in ("painting", "training", "riding", "collecting", "building"):
        return True
    return text not in words_of.STOPS and not text.endswith("ly") and not FORMS.get(text)


def _naming(words: Sequence[Word], at: int, text: str) -> Iterator[Draft]:
    """ "a dog named Max": Max is a dog."""
    end = at + 1
    while end < len(words) and (
        _is_name_word(words[end]) or (end > at + 1 and words[end].kind == "number")
    ):
        end += 1
    noun = words[at - 1]
    if end == at + 1 or noun.kind != "word" or noun.text in words_of.STOPS or noun.capital:
        return
    span = (words[at + 1].start, words[end - 1].end)
    yield Draft(
        0,
        text_of(words, at + 1, end, text),
        "is_a",
        noun.raw,
        span,
        (noun.start, noun.end),
        (noun.start, span[1]),
        frame="en:naming",
    )


def relative(words: Sequence[Word], text: str) -> Iterator[Draft]:
    """ "The road trip we took last year": what a relative clause of the speaker says of it."""
    for at in range(2, len(words) - 1):
        if words[at].text not in ("i", "we"):
            continue
        end = at - (words[at - 1].text in ("that", "which"))
        phrase = next(
            (
                found
                for begin in range(max(0, end - 6), end - 1)
                if words[begin].text in ("a", "an", "the", "this", "these", "another")
                and (found := phrase_at(words, begin))
                and found.end == end
            ),
            None,
        )
        group = None if phrase is None else group_at(words, at + 1)
        if phrase is not None and any(word.text == "of" for word in words[phrase.first : end]):
            continue  # "a portrait of the horse I drew": which of the two is open
        if phrase is None or group is None or _is_superlative(words, phrase, at):
            continue
        if (group.tense, group.modality, group.polarity) != ("past", "asserted", True):
            continue
        if not _has_gap(words, group.end):
            continue
        for frame in FRAMES.get(group.verb, ()):
            if (
                frame.past
                and not frame.preposition
                and KINDS[frame.kind](words, phrase)
                and not (is_empty(words, phrase, group.verb, frame.kind))
            ):
                span = (words[phrase.first].start, words[phrase.end - 1].end)
                yield Draft(
                    1,
                    "",
                    frame.predicate,
                    text_of(words, phrase.first, phrase.end, text),
                    (words[at].start, words[at].end),
                    span,
                    (span[0], words[group.end - 1].end),
                    tense="past",
                    frame=f"en:relative:{group.verb}",
                )
                break


def _is_superlative(words: Sequence[Word], phrase: Phrase, at: int) -> bool:
    """Whether "the best film I have ever seen" compares and tells of none in particular."""
    first = words[phrase.first].text
    return first in ("best", "worst", "most", "only", "first", "last", "biggest") or (
        first.endswith("est") or any(word.text in ("ever", "never") for word in words[at : at + 4])
    )


def _has_gap(words: Sequence[Word], at: int) -> bool:
    """Whether a verb goes without an object of its own."""
    if at >= len(words) or words[at].kind == "sign":
        return True
    return words[at].text in _AFTER_GAP


def given_to_me(words: Sequence[Word], subject: Phrase, group: Group, text: str) -> Draft | None:
    """ "My aunt gave me a necklace": the speaker received it."""
    if (
        group.verb not in ("give", "send", "buy", "gift")
        or group.tense != "past"
        or (group.end + 1 >= len(words) or words[group.end].text not in ("me", "us"))
        or not group.polarity
        or subject.article in ("i", "we")
    ):
        return None
    phrase = phrase_at(words, group.end + 1)
    if phrase is None or phrase.owner == 2 or not KINDS["counted"](words, phrase):
        return None
    span = (words[phrase.first].start, words[phrase.end - 1].end)
    return Draft(
        1,
        "",
        "received",
        text_of(words, phrase.first, phrase.end, text),
        (words[group.end].start, words[group.end].end),
        span,
        (words[subject.start].start, span[1]),
        tense="past",
        frame="en:given",
    )
