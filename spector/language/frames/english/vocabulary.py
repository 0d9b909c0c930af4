"""Closed classes of English words, and forms of verbs."""

from __future__ import annotations

from typing import Final, NamedTuple

from spector.language.frames.sentences import Modality, Tense
from spector.language.tables import grammar_table
from spector.language.verbs import regular_forms

_TABLE: Final = grammar_table("en", "frames")
#: closed classes by name
WORDS: Final = {name: frozenset(text.split()) for name, text in _TABLE["words"].items()}


def rows_of(name: str) -> list[list[str]]:
    """The cells of each row of a table of verbs."""
    return [
        [cell.strip() for cell in line.split("|")]
        for line in _TABLE["verbs"][name].strip().splitlines()
    ]


class VerbFrame(NamedTuple):
    """One frame: a verb, what follows it, and the predicate that it states.

    Attributes:
        predicate: in snake case. preposition: between verb and object, "" for none.
        kind: what the object has to be: see `KINDS` in `spector.language.frames.english.slots`.
        polarity: what the verb says when nothing negates it.
        changes: the verb says that a value is replaced.
        past, now: holds in this tense only ("moved to", not "move to").
    """

    predicate: str
    preposition: str
    kind: str
    polarity: bool = True
    changes: bool = False
    past: bool = False
    now: bool = False


class Form(NamedTuple):
    """A form of a verb: ``base``, ``third``, ``past``, ``participle`` or ``ing``."""

    lemma: str
    names: frozenset[str]


def _frames() -> dict[str, tuple[VerbFrame, ...]]:
    out: dict[str, tuple[VerbFrame, ...]] = {}
    for predicate, verbs, prepositions, kind, flags in rows_of("frames"):
        said = ("denies" not in flags, *(flag in flags for flag in ("changes", "past", "now")))
        for each in prepositions.split():
            frame = VerbFrame(predicate, each.strip("-"), kind, *said)
            for verb in verbs.split():
                out[verb] = (*out.get(verb, ()), frame)
    return out


def _forms() -> dict[str, Form]:
    irregular = {row[0]: row[1:] for row in map(str.split, _TABLE["verbs"]["irregular"].split("|"))}
    found: dict[str, dict[str, set[str]]] = {}
    for verb in sorted({*FRAMES, *_TABLE["verbs"]["without_frames"].split()}):
        names = ("base", "third", "past", "participle", "ing")
        for name, form in zip(
            names, (verb, *irregular.get(verb, regular_forms(verb))), strict=True
        ):
            found.setdefault(form, {}).setdefault(verb, set()).add(name)
    out = {}
    for form, lemmas in found.items():
        lemma = form if form in lemmas else min(lemmas)
        out[form] = Form(lemma, frozenset(lemmas[lemma]))
    return out


FRAMES: Final = _frames()
#: form -> verb, for every verb that is known
FORMS: Final = _forms()

ARTICLES: Final = WORDS["articles"]
#: possessive -> person
POSSESSIVES: Final = {"my": 1, "our": 1, "your": 2, "his": 3, "her": 3, "their": 3, "its": 3}
PRONOUNS: Final = WORDS["pronouns"]
PREPOSITIONS: Final = WORDS["prepositions"]
CONJUNCTIONS: Final = WORDS["conjunctions"]
RELATIVES: Final = WORDS["relatives"]
BE: Final[dict[str, Tense]] = {
    "am": "present", "'m": "present", "is": "present", "are": "present", "'re": "present",
    "was": "past", "were": "past", "'s": "present",
}  # fmt: skip
HAVE: Final[dict[str, Tense]] = {
    "have": "present", "'ve": "present", "has": "present", "had": "past",
}  # fmt: skip
DO: Final[dict[str, Tense]] = {"do": "present", "does": "present", "did": "past"}
#: modal -> how the sentence is meant
MODALS: Final[dict[str, Modality]] = {
    "will": "planned", "'ll": "planned", "wo": "planned", "shall": "planned", "gonna": "planned",
    "would": "conditional", "'d": "conditional", "could": "conditional", "should": "conditional",
    "might": "hedged", "may": "hedged", "must": "conditional", "can": "conditional",
    "ca": "conditional", "ought": "conditional", "wanna": "planned", "gotta": "planned",
}  # fmt: skip
ADVERBS: Final = WORDS["adverbs"]
INTRODUCTIONS: Final = WORDS["introductions"]
NUMBERS: Final = WORDS["numbers"]
WEEKDAYS: Final = WORDS["weekdays"]
TIMES: Final = WORDS["times"]
UNITS: Final = WORDS["units"]
#: end a noun phrase
STOPS: Final = WORDS["others_that_end_a_phrase"].union(
    PRONOUNS, PREPOSITIONS, CONJUNCTIONS, RELATIVES, TIMES, HAVE, DO, MODALS, BE, POSSESSIVES,
    ARTICLES,
)  # fmt: skip
VAGUE: Final = WORDS["vague"]
