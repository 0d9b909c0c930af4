"""Statements of verbs with an object, and of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.english.phrases import (
    Group,
    Phrase,
    is_modifier,
    phrase_at,
    quote_at,
    text_of,
)
from spector.language.frames.english.slots import (
    DIETS,
    KINDS,
    Slot,
    Value,
    may_have,
    slot_at,
    value_at,
)
from spector.language.frames.english.vocabulary import FORMS, WORDS, VerbFrame
from spector.language.frames.predicates import KIN, SLOTS, predicate_of
from spector.language.frames.sentences import Draft, Word

# Values that replace others: verbs of change, and what stands behind a value.

_CHANGE: Final = WORDS["change"]
_SHIFT_WORDS: Final = {
    form: verb
    for verb in _CHANGE
    for form in (verb, f"{verb}d", f"{verb}ed", verb.rstrip("e") + "ing", f"{verb}s")
} | {
    "pushed": "push", "set": "set", "reset": "reset", "rose": "rise", "risen": "rise",
    "fell": "fall", "fallen": "fall", "dropped": "drop",
}  # fmt: skip


def trailing(words: Sequence[Word], at: int, text: str) -> tuple[bool, bool, str | None]:
    """(changed, added, replaced) as the words behind a value say: "now", "too", "instead of X"."""
    changed = added = False
    replaced: str | None = None
    for n in range(at, min(at + 8, len(words))):
        word = words[n].text
        after = words[n + 1].text if n + 1 < len(words) else ""
        if word in ("now", "nowadays", "anymore", "instead") or (word, after) in (
            ("any", "more"),
            ("these", "days"),
            ("no", "longer"),
            ("from", "now"),
        ):
            changed = True
        if word in ("too", "also") or (word, after) == ("as", "well"):
            added = True
        begin = n + 2 if (word, after) == ("instead", "of") else n + 1
        if (word, after) == ("instead", "of") or word == "not" or (word == "from" and n == at):
            phrase = quote_at(words, begin) or phrase_at(words, begin)
            if phrase is not None and replaced is None:
                replaced = text_of(words, phrase.first, phrase.end, text)
                changed = True
        if words[n].kind == "sign" and word not in ",":
            break
    return changed, added, replaced


def window_of(words: Sequence[Word], text: str) -> str | None:
    """The year or decade that a sentence is about: "in 2019", "back in 2005", "until 2010"."""
    for at in range(len(words) - 1):
        year = words[at + 1]
        if words[at].text in ("in", "during", "since", "until", "before") and (
            year.kind == "number" and len(year.text) == 4 and year.text[:2] in ("19", "20")
        ):
            return text[words[at].start : year.end]
    return None


def draft_of(
    words: Sequence[Word],
    value: Value,
    who: Slot,
    text: str,
    frame: str,
    *,
    group: Group | None = None,
    by_form: bool = True,
) -> Draft:
    """The statement that words are the value of a slot.

    Args:
        group: the verb group that says so. by_form: the sentence has the form of a slot.
    """
    place = (words[value.first].start, words[value.end - 1].end)
    changed, added, replaced = trailing(words, value.after or value.end, text)
    return Draft(
        who.owner,
        who.subject,
        who.predicate,
        text_of(words, value.first, value.end, text),
        who.span,
        place,
        (min(who.span[0], place[0]), max(who.span[1], place[1])),
        polarity=group is None or group.polarity,
        tense="present" if group is None else group.tense,
        replaced=replaced,
        changed=changed or value.changed or (group is not None and group.changed),
        added=added or value.added or (group is not None and group.added),
        window=window_of(words, text),
        by_form=by_form,
        frame=frame,
    )


def renewed(words: Sequence[Word], subject: Phrase, group: Group, text: str) -> Iterator[Draft]:
    """A slot that a verb of change gives another value: "I changed my email to X"."""
    if group.modality != "asserted" or not group.polarity:
        return
    passive = group.verb == "be" and group.end < len(words)
    verb = words[group.end].text if passive else words[group.end - 1].text
    if passive and verb in _SHIFT_WORDS:
        group = group._replace(end=group.end + 1)
    if subject.article in ("i", "we"):
        if verb not in _SHIFT_WORDS or passive:
            return
        phrase = phrase_at(words, group.end)
        slot = None if phrase is None else slot_at(words, phrase, text)
        at = group.end if phrase is None else phrase.end
    else:
        slot, at = slot_at(words, subject, text), group.end
        if verb not in _SHIFT_WORDS:
            return
    if slot is None or not slot.known:
        return
    replaced = None
    if at < len(words) and words[at].text == "from":
        old = phrase_at(words, at + 1)
        if old is None:
            return
        replaced, at = text_of(words, old.first, old.end, text), old.end
    if at >= len(words) or words[at].text not in ("to", "as"):
        return
    value = value_at(words, at + 1, slot, text)
    if value is None:
        return
    made = draft_of(words, value, slot, text, "en:renewed")
    made.replaced, made.changed, made.added = replaced, True, False
    yield made


#: objects of one verb at most
_MOST: Final = 3
#: what one takes "for the database" is the database; what one gets "for the house" is not
_CHOICES: Final = frozenset(("uses", "prefers"))
#: may stand behind the last phrase of a list
_CLOSERS: Final = frozenset("and now named called who that which too the my because again".split())

_NO_CLOSERS: Final = words_of.STOPS - words_of.PREPOSITIONS - _CLOSERS


def objects_at(
    words: Sequence[Word], at: int, who: Slot, frame: VerbFrame, group: Group, text: str
) -> Iterator[Draft]:
    """The objects that begin at a word, at most three that "and" and commas join.

    Args:
        who: the subject of the verb, as a slot of the frame's predicate.
    """
    negated = at < len(words) and words[at].text == "no"
    phrase = quote_at(words, at + negated) or phrase_at(words, at + negated)
    if phrase is None or phrase.owner == 2 or not _is_closed(words, phrase.end):
        return
    if (
        words[phrase.first].text in KIN
        and phrase.end - phrase.first > 1
        and all(word.capital for word in words[phrase.first + 1 : phrase.end])
    ):  # "my friends Ida and Jon"
        phrase = phrase._replace(start=phrase.first + 1, first=phrase.first + 1, owner=0)
    slot = _slot_object(words, phrase, who, frame, text)
    if slot is not None:
        yield slot
        return
    if frame.kind == "liked" and (
        _is_narrowed(words, phrase) or _is_urged(words, phrase.end, frame)
    ):
        return
    if not _fits(words, phrase, frame, negated):
        return
    phrases = joined_phrases(words, phrase, frame.kind)
    if not phrases:
        return
    after = phrases[-1].end + (phrase.article == '"')
    renamed = _as_slot(words, phrase, who, after, text)
    if renamed is not None:
        yield renamed
        return
    for each in phrases[:_MOST]:
        value = Value(each.first, each.end, after)
        made = draft_of(words, value, who, text, f"en:{group.verb}", by_form=False)
        made.polarity, made.listed = not negated, len(phrases) > 1
        yield made


_NARROWS: Final = frozenset("of about from who whom whose whoever that which what".split())


def _is_narrowed(words: Sequence[Word], phrase: Phrase) -> bool:
    """Whether a noun is only liked as what follows has it: "people who shout", "puzzles like this";
    a clause of time or reason narrows nothing."""
    follows = [word.text for word in words[phrase.end : phrase.end + 2]]
    if follows[:1] == ["like"] and follows[-1] in ("this", "that", "these", "those"):
        return True
    is_bare = phrase.end - phrase.first == 1 and not phrase.article
    return is_bare and bool(follows) and follows[0] in _NARROWS


def _is_urged(words: Sequence[Word], at: int, frame: VerbFrame) -> bool:
    """Whether the object is to do something: "I want my kids to learn", "I hate it being so"; "tea
    to coffee" is a choice."""
    if at >= len(words) or words[at].text != "to":
        return at < len(words) and words[at].kind == "word" and words[at].text.endswith("ing")
    does = at + 1 < len(words) and words[at + 1].text in FORMS.keys() | {"be", "do", "go"}
    return frame.predicate == "likes" or does


def _fits(words: Sequence[Word], phrase: Phrase, frame: VerbFrame, negated: bool) -> bool:
    """Whether an object is of the kind that a frame asks for; "no car" counts as "a car"."""
    if phrase.article == '"':
        return frame.kind in ("liked", "name")
    return KINDS[frame.kind](words, phrase._replace(article="a") if negated else phrase)


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
    more = list(_joined(words, phrase, kind))
    if (
        len(more) == 1
        and alone
        and not phrase.article
        and not words[phrase.first].capital
        and (more[0].end - more[0].first > 1 and not more[0].article and not more[0].owner)
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
        next_one = phrase_at(words, at)
        if next_one is None or not KINDS[kind](words, next_one):
            break
        if next_one.end - next_one.first > 3 or words[next_one.first].text in FORMS:
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
    words: Sequence[Word], phrase: Phrase, who: Slot, frame: VerbFrame, text: str
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
            value = Value(begin, phrase.end)
            of = who._replace(predicate=predicate)
            return draft_of(words, value, of, text, "en:slot-object")
    if frame.predicate == "listens_on" and nouns[0].isdigit():
        value = Value(phrase.first, phrase.first + 1)
        return draft_of(words, value, who._replace(predicate="port"), text, "en:slot-object")
    if nouns[-1] != "diet" or nouns[0] not in DIETS:
        return None
    value = Value(phrase.first, phrase.end - 1, phrase.end)
    of = who._replace(predicate="diet")
    made = draft_of(words, value, of, text, "en:slot-object")
    made.changed |= frame.changes
    return made


def _as_slot(
    words: Sequence[Word], phrase: Phrase, who: Slot, after: int, text: str
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
    if (words[after].text == "for" and who.predicate not in _CHOICES) or not may_have(
        words, phrase, predicate, text
    ):
        return None  # "an offer for the house"
    if modifiers:
        predicate = f"{modifiers.replace(' ', '_')}_{predicate}"
    of = who._replace(predicate=predicate)
    return draft_of(words, Value(phrase.first, phrase.end, end), of, text, "en:as-slot")
