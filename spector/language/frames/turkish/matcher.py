"""Matches the frames of a Turkish sentence, nominal ones included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from spector.language.frames.sentences import Draft, Modality, Sentence
from spector.language.frames.turkish import tables
from spector.language.frames.turkish.objects import (
    Noun,
    Subject,
    clauses,
    nouns_of,
    object_before,
    slot_before,
    subject_of,
    trimmed,
)
from spector.language.frames.turkish.slots import slot_of
from spector.language.frames.turkish.tables import (
    Form,
    VerbFrame,
    person_forms,
    strip_case,
    strip_copula,
)
from spector.language.words import plain

# Turkish sentences without a verb: slots and values, var and yok, roles, states, ages.

#: the second part of an occupation in two words: "yazılım mühendisi"
_COMPOUNDS: Final = frozenset(
    """muhendisi uzmani danismani analisti gelistiricisi tasarimcisi ogretmeni memuru
    operatoru teknisyeni doktoru muduru hekimi gorevlisi""".split()
)
_AGED: Final = frozenset(("yasinda", "yasindayim", "yasindayiz", "yasindadir"))
_MARITAL_FORMS: Final = {
    **{plain(word): (3, kept) for word, kept in tables.MARITAL.items()},
    **{form: (1, kept) for word, kept in tables.MARITAL.items() for form in person_forms(word)},
    "bosandim": (1, "boşanmış"),
    "evlendim": (1, "evli"),
    "nisanlandim": (1, "nişanlı"),
}
_DIET_FORMS: Final = {
    **{plain(word): (3, word) for word in tables.DIETS},
    **{form: (1, word) for word in tables.DIETS for form in person_forms(word)},
}
_BECAME: Final = frozenset(("oldum", "oldu", "olduk"))


def nominal(part: list[Noun], text: str) -> Iterator[Draft]:
    """The statements of a clause that ends in no verb with a frame."""
    body = list(part)
    changed = body[-1].text in _BECAME
    person = 0
    if changed:
        person = 1 if body.pop().text.endswith(("m", "k")) else 3
    negated = bool(body) and body[-1].text in ("degil", "degilim", "degildir")
    if negated:
        person = 1 if body[-1].text == "degilim" else 3
        body.pop()
    while body and body[-1].text in tables.ADVERBS and body[-1].kind == "word":
        changed |= body[-1].text in ("artik", "simdi")
        body.pop()
    if not body:
        return
    last = body[-1]
    made: Draft | None
    if last.text in ("var", "yok", "vardi", "vardir", "yoktur"):
        made = _has(body, text)
    elif last.whole in _AGED:
        made = _age(body, text)
    else:
        made = slot_of(body, text) or _state(body, text, person)
    if made is not None:
        made.changed |= changed
        made.polarity = made.polarity != negated
        yield made


def _who(part: Sequence[Noun], end: int, person: int, text: str) -> Subject | None:
    """The subject before an index: who speaks, or what the clause begins with."""
    at = 0
    while at < end and (part[at].text in tables.ADVERBS or part[at].text in ("ben", "biz")):
        at += 1
    if person == 1:
        noun = part[0] if part[0].text in ("ben", "biz") else part[end]
        return Subject(1, "", (noun.start, noun.stop), at) if at >= end else None
    found = subject_of(part[: end + 1], text)
    if found is None:
        return None
    at = found.after
    while at < end and (part[at].text in tables.ADVERBS or part[at].text == "bir"):
        at += 1
    return found if at >= end else None


def _state(part: list[Noun], text: str, person: int) -> Draft | None:
    """ "evliyim", "veganım", "öğretmenim", "İzmirliyim", "X'e alerjiğim"."""
    at = len(part) - 1
    noun = part[at]
    word = (
        noun.whole
        if noun.suffix in ("im", "um", "yim", "yum")
        else strip_copula(noun.text, noun.suffix)
    )
    if noun.suffix and word == noun.raw:
        word = noun.text
    found: tuple[int, str, str] | None = None
    if word in _MARITAL_FORMS:
        found = (_MARITAL_FORMS[word][0], "marital_status", _MARITAL_FORMS[word][1])
    elif word in _DIET_FORMS:
        found = (_DIET_FORMS[word][0], "diet", _DIET_FORMS[word][1])
    elif word in tables.ROLE_FORMS:
        return _role(part, at, person or tables.ROLE_FORMS[word], text)
    elif word in ("alerjigim", "alerjik", "alerjim") and at:
        stem = strip_case(part[at - 1].raw, part[at - 1].suffix, "dat")
        who = _who(part, at - 1, 3 if word == "alerjik" and not person else 1, text)
        if stem is not None and who is not None:
            return _made(part, at - 1, who, "allergic_to", stem, "tr:allergic")
    if found is None:
        return None
    who = _who(part, at, person or found[0], text)
    return _made(part, at, who, found[1], found[2], f"tr:{found[1]}")


def _role(part: list[Noun], at: int, person: int, text: str) -> Draft | None:
    noun = part[at]
    first = at
    stem = noun.raw
    if person == 1:
        base = next(
            (role for role in tables.ROLES if noun.whole in person_forms(role.replace("-", " "))),
            None,
        )
        stem = noun.raw if base is None else base
    else:
        stem = strip_copula(noun.raw, noun.suffix)
    compound = first > 0 and plain(stem) in _COMPOUNDS
    if compound and strip_case(part[first - 1].raw, part[first - 1].suffix, "gen") is not None:
        return None
    if compound and part[first - 1].kind == "word" and part[first - 1].text not in tables.ADVERBS:
        first -= 1
    who = _who(part, first, person, text)
    if who is None:
        return None
    value = trimmed(part, first, at + 1, stem, text)
    draft = _made(part, at, who, "works_as", value, "tr:role")
    if draft is not None:
        draft.object_span = (part[first].start, noun.end)
    return draft


def _made(
    part: Sequence[Noun], at: int, who: Subject | None, predicate: str, value: str, frame: str
) -> Draft | None:
    if who is None:
        return None
    noun = part[at]
    return Draft(
        who.owner,
        who.name,
        predicate,
        value,
        who.span,
        (noun.start, noun.end),
        (min(who.span[0], noun.start), part[-1].stop),
        frame=frame,
    )


def _age(part: list[Noun], text: str) -> Draft | None:
    at = len(part) - 2
    if at < 0 or not (part[at].text.isdigit() or part[at].text in tables.NUMBERS):
        return None
    first = at
    while first > 0 and part[first - 1].text in tables.NUMBERS:
        first -= 1
    person = 1 if part[-1].whole.endswith(("dayim", "dayiz")) else 3
    who = _who(part, first, person, text)
    value = text[part[first].start : part[at].end]
    draft = _made(part, at, who, "age", value, "tr:age")
    if draft is not None:
        draft.object_span = (part[first].start, part[at].end)
    return draft


def _has(part: list[Noun], text: str) -> Draft | None:
    """ "fıstığa alerjim var", "Selin'in süte alerjisi yok"."""
    at = len(part) - 2
    if at < 1 or part[at].text not in ("alerjim", "alerjisi"):
        return None
    stem = strip_case(part[at - 1].raw, part[at - 1].suffix, "dat")
    who = _who(part, at - 1, 1 if part[at].text == "alerjim" else 3, text)
    if stem is None:
        return None
    draft = _made(part, at - 1, who, "allergic_to", stem, "tr:allergic")
    if draft is not None:
        draft.polarity = part[-1].text.startswith("var")
    return draft


_ORDER: Final[tuple[Modality, ...]] = (
    "asserted",
    "hedged",
    "planned",
    "conditional",
    "reported",
    "asked",
)
#: verbs of becoming: what stands before them is a value
_BECOMES: Final = frozenset(("ol", "boşan", "evlen"))
#: frames whose subject has its own case ending; others begin a sentence
_ANYWHERE: Final = frozenset(("tr:slot", "tr:has"))
#: predicates of others than the speaker: what they did has too many wordings
_OF_OTHERS: Final = frozenset(
    """lives_in works_as works_at likes prefers uses drinks eats plays speaks studies
    has married_to born_in born_on grew_up_in supports located_in""".split()
)
#: with them a clause without a subject goes on with that of the one before: "..., artık ..."
_GOES_ON: Final = frozenset("artik simdi".split())
_TIMES: Final = frozenset("kere kez defa sefer".split())
_THINGS: Final = frozenset(("uses", "runs_on", "port", "works_at", "located_in"))


def turkish_drafts(sentence: Sentence, text: str) -> Iterator[Draft]:
    """The statements of one sentence, in order, with the modality of each."""
    nouns = nouns_of(sentence.words)
    whole = _modality(sentence, nouns)
    opens = True
    before: Subject | None = None
    for part in clauses(nouns):
        if not part:
            continue
        if part[0].text == "su" and len(part) > 1 and part[1].text.startswith("an"):
            part = part[2:] or part
        goes_on = part[0].text in _GOES_ON
        made = [
            each
            for each in _clause(part, text, before if goes_on else None)
            if opens or goes_on or each.owner or each.frame in _ANYWHERE
        ]
        opens = bool(made)
        before = subject_of(part, text) or (before if goes_on else None)
        for draft in made:
            changed = draft.changed or any(noun.text in tables.CHANGES for noun in part)
            added = draft.added or _adds(part)
            yield replace(
                draft,
                modality=max(whole, draft.modality, key=_ORDER.index),
                changed=changed,
                added=added,
            )


def _adds(part: Sequence[Noun]) -> bool:
    return any(noun.text == "ayrica" for noun in part) or any(
        noun.text in ("de", "da") and noun.kind == "word" for noun in part
    )


def _modality(sentence: Sentence, nouns: Sequence[Noun]) -> Modality:
    words = [noun.text for noun in nouns]
    if sentence.asks or any(word in tables.QUESTIONS for word in words):
        return "asked"
    if any(word in tables.CONDITIONS or _is_conditional(word) for word in words):
        return "conditional"
    if any(word in tables.REPORTS for word in words):
        return "reported"
    if any(word in tables.HEDGES for word in words):
        return "hedged"
    return "asserted"


def _is_conditional(word: str) -> bool:
    """-sa/-se behind a tense: "yaşarsam", "taşınırsak", "olsaydı"."""
    return len(word) > 5 and word.endswith(
        (
            "rsam",
            "rsem",
            "rsan",
            "rsen",
            "rsak",
            "rsek",
            "rsa",
            "rse",
            "saydi",
            "seydi",
            "saydim",
            "seydim",
            "yorsa",
            "yorsam",
        )
    )


def _clause(part: list[Noun], text: str, before: Subject | None) -> Iterator[Draft]:
    """The statements of one clause.

    Args:
        before: the subject of the clause before it, where this one goes on with it.
    """
    while len(part) > 1 and part[-1].text in tables.ADVERBS and part[-2].whole in tables.VERB_FORMS:
        part = part[:-1]
    last = part[-1]
    form = tables.VERB_FORMS.get(last.whole) if not last.suffix else None
    if form is None or (last.capital and len(part) > 1):
        yield from nominal(part, text)
        return
    if form.person == 2:
        return
    subject: Subject | None
    if form.person == 1:
        subject = Subject(1, "", (last.start, last.stop), 0)
        if part[0].text in ("ben", "biz"):
            subject = Subject(1, "", (part[0].start, part[0].stop), 1)
    else:
        goes_on = before and before._replace(after=0)
        subject = subject_of(part, text) or goes_on or _thing(part, text)
    renewed = slot_before(part, form, text)
    if renewed is not None:
        yield renewed
        return
    if subject is None:
        return
    for frame in tables.VERBS.get(form.stem, ()):
        made = list(_frame(part, frame, form, subject, text))
        if made:
            yield from made
            return
    if form.stem in _BECOMES and form.polarity and form.tense == "past":
        yield from nominal(part, text)


def _thing(part: Sequence[Noun], text: str) -> Subject | None:
    """A thing in one or two words at the start: "sunucu", "test sunucusu"."""
    at = 0
    while at < len(part) and part[at].text in tables.ADVERBS:
        at += 1
    if at + 2 >= len(part) or part[at].kind != "word" or part[at].text in tables.PRONOUNS:
        return None
    if part[at].capital and part[at + 1].capital and not part[at + 1].suffix:
        return None  # "Arda Turan": where a name ends is open
    end = at + 1
    if (
        end + 2 < len(part)
        and part[end].text.endswith(("si", "su", "i", "u"))
        and (part[end].kind == "word" and not part[end].suffix)
    ):
        end += 1
    span = (part[at].start, part[end - 1].stop)
    return Subject(0, text[span[0] : span[1]], span, end, thing=True)


def _frame(
    part: list[Noun],
    frame: VerbFrame,
    form: Form,
    subject: Subject,
    text: str,
) -> Iterator[Draft]:
    if frame.past and (form.tense != "past" or not form.polarity):
        return
    if frame.now and form.tense != "present":
        return
    if subject.thing and frame.predicate not in _THINGS:
        return
    if not subject.owner and frame.predicate not in _OF_OTHERS:
        return
    end = len(part) - 1
    if frame.preverb:
        if end < 1 or part[end - 1].text != plain(frame.preverb):
            return
        end -= 1
    found = object_before(part, end, frame, subject, text)
    if not found:
        return
    words = [noun.text for noun in part]
    if not _TIMES.isdisjoint(words):
        found = [each for each in found if _TIMES.isdisjoint(plain(each.value).split())]
    at = words.index("yerine") if "yerine" in words else 0
    instead = part[at - 1].raw if at else None
    for item in found:
        tense = "present" if frame.changes else form.tense
        yield Draft(
            subject.owner,
            subject.name,
            item.predicate or frame.predicate,
            item.value,
            subject.span,
            item.span,
            (min(subject.span[0], item.span[0]), max(part[-1].stop, item.span[1])),
            polarity=form.polarity == frame.polarity,
            modality=form.modality,
            tense=tense,
            replaced=item.replaced or instead,
            listed=len(found) > 1,
            changed=frame.changes or "artik" in words or instead is not None,
            frame=f"tr:{form.stem}",
        )
