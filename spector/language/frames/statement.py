"""What one sentence states: subject, predicate, object, and how it is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Modality = Literal["asserted", "hedged", "planned", "reported", "conditional", "asked"]
Tense = Literal["present", "past", "future"]
#: positions in a text, the end exclusive
Place = tuple[int, int]

USER: Final = "user"
AGENT: Final = "agent"
#: of what a frame found, and of the same under "maybe"
RULE_CONFIDENCE: Final = 0.6
HEDGED_CONFIDENCE: Final = 0.42


@dataclass(frozen=True, slots=True)
class Statement:
    """One triple that a text states.

    Attributes:
        subject: ``user``, ``agent``, a speaker's name, or the name or noun phrase in the text
            without its article; "my sister" of a user is "user's sister", "my sister Ann" is "Ann".
        predicate: a lemma in snake case: ``lives_in``, ``port``, ``likes``.
        object: the text's words for the value, without article and case ending.
        value: its normal form at the time of the message, which is what is compared.
        polarity: False when the text denies it.
        modality: how it is meant; only what is asserted or hedged states something.
        confidence: 0.6 by rule, 0.42 under a hedge.
        span: the part of the text that states it. subject_span, object_span: the words that name
            subject and object.
        single: the predicate has one value at a time, by the table or by the form.
        tense: of the verb.
        replaced: the value that the text itself calls the old one, or None.
        changed: the text says that something has changed: "now", "no longer", "moved to".
        added: the text names the value beside others: "also", "another".
        window: the time that the text is about, in its words ("in 2019"), or None.
        frame: the name of the frame that matched.
        kin: of a subject with a name, the role in which it is named: "user's sister".
        limit: what it is limited to, folded: "with bills", "after 4 pm"; "" for what holds always.
        common: the value is a kind of thing ("a bank"), and no name.
    """

    subject: str
    predicate: str
    object: str
    polarity: bool = True
    modality: Modality = "asserted"
    confidence: float = RULE_CONFIDENCE
    span: Place = (0, 0)
    subject_span: Place = (0, 0)
    object_span: Place = (0, 0)
    single: bool = False
    tense: Tense = "present"
    replaced: str | None = None
    changed: bool = False
    added: bool = False
    window: str | None = None
    frame: str = ""
    value: str = ""
    kin: str = ""
    limit: str = ""
    common: bool = False


@dataclass(slots=True)
class Draft:
    """A statement as a language finds it, before names and one-valued predicates are resolved.

    Attributes:
        owner: the person that the subject is or belongs to: 1 for who speaks, 2 for who is spoken
            to, 0 for neither.
        subject: the noun phrase; with an owner, what is his, or "" for himself.
        by_form: the sentence has the form of a role with one holder.
        listed: the sentence names further values of the same predicate, so it has several.
    """

    owner: int
    subject: str
    predicate: str
    object: str
    subject_span: Place
    object_span: Place
    span: Place
    polarity: bool = True
    modality: Modality = "asserted"
    tense: Tense = "present"
    replaced: str | None = None
    changed: bool = False
    added: bool = False
    window: str | None = None
    by_form: bool = False
    listed: bool = False
    frame: str = ""
