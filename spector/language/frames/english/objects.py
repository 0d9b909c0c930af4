"""Objects of English verbs: phrases, what is done, lists, slots with their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.changes import trailing, window_of
from spector.language.frames.english.groups import Group
from spector.language.frames.english.kinds import DIETS, KINDS, is_empty
from spector.language.frames.english.phrases import (
    Phrase,
    complement_end,
    gerund_at,
    is_gerund,
    is_modifier,
    phrase_at,
    quote_at,
    text_of,
)
from spector.language.frames.english.slots import may_have
from spector.language.frames.english.verbs import FORMS, VerbFrame
from spector.language.frames.predicates import KIN, SLOTS, predicate_of
from spector.language.frames.sentences import Word
from spector.language.frames.statement import Draft

__all__ = ["joined_phrases", "object_at", "objects_at"]

#: objects of one verb at most
_MOST: Final = 3
#: kinds of objects that may be something that is done
_DONE: Final = frozenset(
    ("liked", "begun", "activity", "interest", "skill", "trial", "doing", "considered")
)
#: kinds of objects that may be a title in quotation marks
_TITLED: Final = frozenset("liked work counted made habit played name visited seen".split())
#: "that" behind these points at a thing and begins no clause
_CREATES: Final = frozenset("make bake cook build create craft paint draw write".split())
#: kinds of objects whose meaning a complement carries, and those where only "of" and "about" do
_COMPLETED: Final = frozenset(
    """counted several considered thing had lived begun made event trip owned course speech gotten
    trial habit visited work seen activity taken""".split()
)
_NARROWED: Final = frozenset(("liked", "interest"))
_NARROWS: Final = frozenset(("of", "about", "from"))
#: what one takes "for the database" is the database; what one gets "for the house" is not
_CHOICES: Final = frozenset("uses chose prefers set_up".split())
_JOBS: Final = frozenset("job position role gig".split())
_GETS: Final = frozenset("get have find take start begin accept land".split())
#: may stand behind the last phrase of a list
_CLOSERS: Final = frozenset("and now named called who that which too the my because again".split())

_NO_CLOSERS: Final = words_of.STOPS - words_of.PREPOSITIONS - _CLOSERS


def objects_at(
    words: Sequence[Word], at: int, frame: VerbFrame, group: Group, text: str
) -> Iterator[Draft]:
    """The objects that begin at a word, at most three that "and" and commas join."""
    negated = at < len(words) and words[at].text == "no"
    shown = at + 1 < len(words) and words[at].text == "that" and group.verb in _CREATES
    phrase = object_at(words, at + negated + shown, frame.kind)
    if shown and phrase is not None:
        phrase = phrase._replace(article="this")
    if phrase is None or phrase.owner == 2 or not _is_closed(words, phrase.end):
        return
    if frame.kind == "taken":
        yield from _taken_along(words, phrase, frame, text)
        return
    if (
        words[phrase.first].text in KIN
        and phrase.end - phrase.first > 1
        and all(word.capital for word in words[phrase.first + 1 : phrase.end])
    ):  # "my friends Ida and Jon"
        phrase = phrase._replace(start=phrase.first + 1, first=phrase.first + 1, owner=0)
    slot = _slot_object(words, phrase, frame, text)
    if slot is not None:
        yield slot
        return
    last = FORMS.get(words[phrase.end - 1].text)
    if group.verb in ("help", "see") and last is not None and "base" in last.names:
        return  # "helped a tourist find"
    if frame.kind == "liked" and _is_narrowed(words, phrase):
        return
    job = _job(words, phrase, group, text)
    if job:
        yield from job
        return
    if not _fits(words, phrase, frame, negated) or _is_urged(words, phrase.end, frame):
        return
    favourite = _best_of_all(words, phrase, frame, text)
    if favourite is not None:
        yield favourite
        return
    phrases = joined_phrases(words, phrase, frame.kind)
    if not phrases:
        return
    after = phrases[-1].end + (phrase.article == '"')
    renamed = _as_slot(words, phrase, frame, after, text)
    if renamed is not None:
        yield renamed
        return
    changed, added, replaced = trailing(words, after, text)
    window = window_of(words, text)
    if len(phrases) == 1:
        phrases = [_named(words, phrases[0])]
        phrases = [_completed(words, phrases[0], frame.kind)]
        if phrases[0].end == phrase.end and is_empty(words, phrase, group.verb, frame.kind):
            return
    for each in phrases[:_MOST]:
        yield Draft(
            owner=0,
            subject="",
            predicate=frame.predicate,
            object=_object_text(words, each, text),
            subject_span=(0, 0),
            object_span=(words[each.first].start, words[each.end - 1].end),
            span=(0, 0),
            polarity=not negated,
            changed=changed,
            added=added,
            replaced=replaced,
            window=window,
            frame=f"en:{group.verb}",
            listed=len(phrases) > 1,
        )


#: "took the kids to X": the kind of X, and what one did who took them there
_WHERETO: Final = {
    "to": (("visited", "visited"), ("event", "attended"), ("gone-to", "went_to")),
    "on": (("trip", "went_on"),),
}


def _taken_along(
    words: Sequence[Word], phrase: Phrase, frame: VerbFrame, text: str
) -> Iterator[Draft]:
    """ "I took the kids to the museum": where I was with them."""
    if words[phrase.end - 1].text.endswith("ing") and words[phrase.end - 2].text in KIN:
        phrase = phrase._replace(end=phrase.end - 1)
    if not KINDS[frame.kind](words, phrase):
        return
    doing = gerund_at(words, phrase.end) if is_gerund(words, phrase.end) else None
    if doing is not None and KINDS["activity"](words, doing):
        yield Draft(
            0,
            "",
            "went",
            text_of(words, doing.first, doing.end, text),
            (0, 0),
            (words[doing.first].start, words[doing.end - 1].end),
            (0, 0),
            frame="en:taken",
        )
    if words[phrase.end].text not in _WHERETO:
        return
    place = phrase_at(words, phrase.end + 1)
    for kind, predicate in _WHERETO[words[phrase.end].text]:
        if place is None or place.owner or not KINDS[kind](words, place):
            continue
        whole = _completed(words, place, "trip")
        if whole.end == place.end and is_empty(words, place, "go", kind):
            return
        yield Draft(
            0,
            "",
            predicate,
            text_of(words, whole.first, whole.end, text),
            (0, 0),
            (words[whole.first].start, words[whole.end - 1].end),
            (0, 0),
            frame="en:taken",
        )
        return


def _best_of_all(
    words: Sequence[Word], phrase: Phrase, frame: VerbFrame, text: str
) -> Draft | None:
    """ "Of all colours I like blue most": the favourite of a kind."""
    if (
        frame.predicate != "likes"
        or phrase.end >= len(words)
        or words[phrase.end].text not in ("most", "best")
    ):
        return None
    texts = [word.text for word in words[: phrase.first]]
    at = next((n for n in range(len(texts) - 2) if texts[n : n + 2] == ["of", "all"]), -1)
    if at < 0:
        return None
    kind = texts[at + 2 + (texts[at + 2] in ("the", "my"))]
    kind = predicate_of(kind[:-1] if kind.endswith("s") else kind)[0]
    span = (words[phrase.first].start, words[phrase.end - 1].end)
    return Draft(
        0,
        "",
        f"favourite_{kind}",
        text_of(words, phrase.first, phrase.end, text),
        (0, 0),
        span,
        (0, 0),
        by_form=True,
        frame="en:best",
    )


def _job(words: Sequence[Word], phrase: Phrase, group: Group, text: str) -> list[Draft]:
    """ "I got a job at Globex as a welder": where one works, and as what."""
    if words[phrase.end - 1].text not in _JOBS or group.verb not in _GETS or not group.polarity:
        return []
    if group.modality != "asserted":
        return []  # "I may have found a job at X": he may have found it, and does not work there
    out: list[Draft] = []
    at = phrase.end
    for prepositions, predicate, kind in (
        (("at", "with"), "works_at", "org"),
        (("as",), "works_as", "role"),
    ):
        if at >= len(words) or words[at].text not in prepositions:
            continue
        value = phrase_at(words, at + 1)
        if value is None or not KINDS[kind](words, value):
            return out
        span = (words[value.first].start, words[value.end - 1].end)
        out.append(
            Draft(
                0,
                "",
                predicate,
                text_of(words, value.first, value.end, text),
                (0, 0),
                span,
                (0, 0),
                changed=group.tense == "past",
                frame="en:job",
            )
        )
        at = value.end
    return out


def _is_narrowed(words: Sequence[Word], phrase: Phrase) -> bool:
    """Whether a bare noun is only liked as a relative clause has it: "people who shout"."""
    if (
        phrase.end + 1 < len(words)
        and words[phrase.end].text == "like"
        and (words[phrase.end + 1].text in ("this", "that", "these", "those"))
    ):
        return True
    return (
        phrase.end - phrase.first == 1
        and not phrase.article
        and phrase.end < len(words)
        and (
            words[phrase.end].text in words_of.RELATIVES - {"when", "where", "while", "how", "why"}
        )
    )


def _is_urged(words: Sequence[Word], at: int, frame: VerbFrame) -> bool:
    """Whether the object is to do something: "I want my kids to learn", "I hate it being so"."""
    if at >= len(words) or frame.predicate not in ("wants", "likes", "prefers", "helped", "misses"):
        return False
    return words[at].text == "to" or (words[at].kind == "word" and words[at].text.endswith("ing"))


def _fits(words: Sequence[Word], phrase: Phrase, frame: VerbFrame, negated: bool) -> bool:
    """Whether an object is of the kind that a frame asks for; "no car" counts as "a car"."""
    if phrase.article == '"':
        return frame.kind in _TITLED
    return KINDS[frame.kind](words, phrase._replace(article="a") if negated else phrase)


def _completed(words: Sequence[Word], phrase: Phrase, kind: str) -> Phrase:
    """A phrase with its complements, and with the article that makes "a few" of "few"."""
    if phrase.article == '"':
        return phrase
    first, end = phrase.first, phrase.end
    if phrase.article == "a" and words[first].text in ("few", "couple"):
        first -= 1
    if kind in _COMPLETED:
        end = complement_end(words, phrase)
    elif kind in _NARROWED:
        end = complement_end(words, phrase, _NARROWS)
    return phrase._replace(first=first, end=end)


def _named(words: Sequence[Word], phrase: Phrase) -> Phrase:
    """A phrase, or the name that follows it between commas: "this woman, Jean, who ..."."""
    at = phrase.end
    if (
        phrase.article in ('"', "")
        or words[at - 1].capital
        or at + 2 >= len(words)
        or (
            words[at].text != ","
            or not words[at + 1].capital
            or words[at + 1].text == "i"
            or words[at + 2].text != ","
            or words[at - 1].text.endswith("s")
        )
    ):
        return phrase
    return Phrase(at + 1, at + 1, at + 2, 0, "")


def _object_text(words: Sequence[Word], phrase: Phrase, text: str) -> str:
    body = text_of(words, phrase.first, phrase.end, text)
    return f"my {body}" if phrase.owner == 1 and len(body) < 3 else body


def object_at(words: Sequence[Word], at: int, kind: str) -> Phrase | None:
    """The object that begins at a word: a title, something that is done, a noun phrase."""
    quote = quote_at(words, at)
    if quote is not None:
        return quote
    if (
        kind == "skill"
        and at + 1 < len(words)
        and words[at].text == "how"
        and (words[at + 1].text == "to")
    ):
        return gerund_at(words, at + 1)  # "how to play the flute"
    if kind in _DONE and at < len(words) and (words[at].text == "to" or is_gerund(words, at)):
        return gerund_at(words, at)
    return phrase_at(words, at)


def _is_closed(words: Sequence[Word], at: int) -> bool:
    """Whether a phrase can end before a word: no verb whose subject it would be follows."""
    if at >= len(words):
        return True
    word = words[at]
    if word.kind == "suffix" or word.text in words_of.BE or word.text in words_of.MODALS:
        return False
    if word.text in ("'s", "'re", "'ve", "to", "more", "less", "how", "when", "what"):
        return word.text in ("to", "when", "more")
    return not (word.text in words_of.DO or word.text in words_of.HAVE)


def joined_phrases(words: Sequence[Word], phrase: Phrase, kind: str) -> list[Phrase]:
    """A phrase and those that "and" and commas add; none for "a red and blue shirt"."""
    if phrase.article == '"':
        return [phrase]
    alone = phrase.end - phrase.first == 1
    if (
        alone
        and (phrase.article in ("a", "an", "the") or phrase.owner)
        and is_modifier(words, phrase.end)
    ):
        return []
    more = list(_joined(words, phrase, kind)) if kind != "made" else []
    if (
        len(more) == 1
        and alone
        and not phrase.article
        and not words[phrase.first].capital
        and (
            more[0].end - more[0].first > 1
            and not more[0].article
            and not more[0].owner
            and not is_gerund(words, phrase.first)
        )
    ):
        return more  # "rock and pop music" begins with no rock
    return [phrase, *more]


def _joined(words: Sequence[Word], phrase: Phrase, kind: str) -> Iterator[Phrase]:
    """Further phrases of a list that ends where the clause does."""
    found: list[Phrase] = []
    at, closed = phrase.end, False
    while at < len(words) and words[at].text in (",", "and", "&"):
        last = words[at].text != ","
        at += 1
        if not last and at < len(words) and words[at].text in ("and", "&"):
            last, at = True, at + 1
        next_one = object_at(words, at, kind)
        if next_one is None or next_one.article == '"' or not KINDS[kind](words, next_one):
            break
        if is_gerund(words, phrase.first) != is_gerund(words, at) or (
            next_one.end - next_one.first > 3
            or (words[next_one.first].text in FORMS and not is_gerund(words, next_one.first))
        ):
            break
        if next_one.end < len(words) and _goes_on(words[next_one.end]):
            break
        found.append(next_one)
        at = next_one.end
        if last:
            closed = True
            break
    if closed:
        yield from found


def _goes_on(word: Word) -> bool:
    """Whether a word goes on with a clause whose subject the last phrase would be."""
    if word.text in _CLOSERS:
        return False
    return word.kind == "suffix" or word.text in FORMS or word.text in _NO_CLOSERS


def _slot_object(
    words: Sequence[Word], phrase: Phrase, frame: VerbFrame, text: str
) -> Draft | None:
    """ "uses port 8443", "has a capacity of 5 GB": the object is a slot with its value."""
    if frame.kind not in ("used", "had", "thing", "slot") or phrase.owner:
        return None
    nouns = [word.text for word in words[phrase.first : phrase.end]]
    for at in range(1, len(nouns)):
        predicate, modifiers = predicate_of(" ".join(nouns[:at]))
        begin = phrase.first + at
        if predicate in SLOTS and not modifiers and words[begin].text == "of":
            begin += 1
        elif not any(map(str.isdigit, words[begin].text)):
            continue
        if "of" in nouns[at + 1 :]:
            return None
        if (
            predicate in SLOTS
            and not modifiers
            and words[begin].text[:1].isdigit() | (words[begin].text[:1] == "v")
        ):
            span = (words[begin].start, words[phrase.end - 1].end)
            changed, added, replaced = trailing(words, phrase.end, text)
            return Draft(
                0,
                "",
                predicate,
                text_of(words, begin, phrase.end, text),
                (0, 0),
                span,
                (0, 0),
                changed=changed,
                added=added,
                replaced=replaced,
                by_form=True,
                frame="en:slot-object",
            )
    if frame.predicate == "listens_on" and nouns[0].isdigit():
        span = (words[phrase.first].start, words[phrase.first].end)
        return Draft(
            0,
            "",
            "port",
            words[phrase.first].raw,
            (0, 0),
            span,
            (0, 0),
            by_form=True,
            frame="en:slot-object",
        )
    if nouns[-1] == "diet" and nouns[0] in DIETS:
        span = (words[phrase.first].start, words[phrase.end - 2].end)
        return Draft(
            0,
            "",
            nouns[-1],
            text_of(words, phrase.first, phrase.end - 1, text),
            (0, 0),
            span,
            (0, 0),
            changed=frame.changes,
            by_form=True,
            frame="en:slot-object",
        )
    return None


def _as_slot(
    words: Sequence[Word], phrase: Phrase, frame: VerbFrame, after: int, text: str
) -> Draft | None:
    """ "uses SQLite as its database": a value, and the slot that it has."""
    if after + 1 >= len(words) or words[after].text not in ("as", "for"):
        return None
    own = words[after + 1].text in words_of.POSSESSIVES or words[after + 1].text in ("the", "our")
    begin = after + 1 + own
    end = begin
    while (
        end < len(words)
        and words[end].kind == "word"
        and end - begin < 4
        and (words[end].text not in words_of.STOPS)
    ):
        end += 1
    if end == begin or (words[after].text == "for" and not own):
        return None
    predicate, modifiers = predicate_of(" ".join(word.text for word in words[begin:end]))
    known = predicate in SLOTS
    if (words[after].text == "for" and not known) or (not own and not known):
        return None
    if (words[after].text == "for" and frame.predicate not in _CHOICES) or not may_have(
        words, phrase, predicate, text
    ):
        return None  # "an offer for the house"
    if modifiers:
        predicate = f"{modifiers.replace(' ', '_')}_{predicate}"
    changed, added, replaced = trailing(words, end, text)
    return Draft(
        0,
        "",
        predicate,
        text_of(words, phrase.first, phrase.end, text),
        (0, 0),
        (words[phrase.first].start, words[phrase.end - 1].end),
        (0, 0),
        changed=changed,
        added=added,
        replaced=replaced,
        by_form=True,
        frame="en:as-slot",
    )
