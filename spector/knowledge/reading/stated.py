"""Statements as facts, and facts as the statements that they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from spector.knowledge.facts import FactToAdd, sentence
from spector.language.frames import Statement, normal_value

__all__ = ["DENIED", "Stated", "fact_of", "statement_of_fact"]

#: the predicate of a denied statement begins with it: ``not_likes``
DENIED: Final = "not_"
#: before the predicate of a state that is over: "formerly lives in"
FORMER: Final = "formerly_"


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement as a fact is made of it."""

    statement: Statement

    @property
    def predicate(self) -> str:
        """The predicate of the fact; one that is denied, or was so before, says so."""
        one = self.statement
        name = f"{FORMER}{one.predicate}" if _is_over(one) else one.predicate
        return name if one.polarity else f"{DENIED}{name}"

    @property
    def text(self) -> str:
        """How the fact reads."""
        return sentence(self.statement.subject, self.predicate, self.statement.object)


def statement_of_fact(row: Mapping[str, Any]) -> Statement:
    """A fact that is kept, as a statement."""
    said = row["json"]
    polarity = said.get("polarity", True)
    predicate = str(row["predicate"])
    return Statement(
        subject=said["subject"],
        object=said["object"],
        polarity=polarity,
        predicate=(predicate if polarity else predicate.removeprefix(DENIED)).removeprefix(FORMER),
        modality=said.get("modality", "asserted"),
        value=normal_value(said["object"]),
        single=said.get("single", False),
        tense=said.get("tense", "present"),
        window=said.get("window"),
        kin=said.get("kin", ""),
        limit=said.get("limit", ""),
        common=said.get("common", False),
    )


def _is_over(one: Statement) -> bool:
    """Whether a state is of the past; what was done is not over: "adopted", "visited"."""
    return one.tense == "past" and one.predicate.partition("_")[0].endswith("s")


#: what tells whose or which value it is, kept with a fact where it was said
_LIMITS: Final = ("kin", "limit", "common")


def fact_of(stated: Stated, scope: str, memory: int, trust: float = 1.0) -> FactToAdd:
    """The fact of a statement in a memory, as sure as the statement is, by a factor."""
    one = stated.statement
    about: dict[str, Any] = {}
    if one.single:
        about["single"] = True
    if one.tense != "present":
        about["tense"] = one.tense
    if one.window:
        about["window"] = one.window
    about |= {name: told for name in _LIMITS if (told := getattr(one, name))}
    return FactToAdd(
        subject=one.subject,
        predicate=stated.predicate,
        object=one.object,
        scope=scope,
        confidence=round(one.confidence * trust, 9),
        sources=(memory,),
        polarity=one.polarity,
        modality=one.modality,
        spans=(one.span,),
        about=about,
    )
