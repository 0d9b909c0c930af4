"""Facts that a caller's extractor found, checked, as the statements of a text."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from spector.arguments import parse_choice, parse_number, parse_switch
from spector.errors import InvalidInputError
from spector.knowledge.facts import checked_part, is_single_valued
from spector.language.frames import Statement
from spector.providers import Fact

__all__ = ["statement_of", "statements_of"]


def statement_of(fact: Fact, text: str, single_valued: Collection[str] = frozenset()) -> Statement:
    """A caller's fact as a statement of a text.

    Raises:
        InvalidInputError: A part is empty, or a number is out of range.
    """
    span = fact.span or (0, len(text))
    if not 0 <= span[0] < span[1] <= len(text):
        raise InvalidInputError(f"span {span!r} is not in the text", hint="quote the text")
    predicate = "_".join(checked_part(fact.predicate, "predicate").lower().split())
    return Statement(
        subject=checked_part(fact.subject, "subject"),
        predicate=predicate,
        object=checked_part(fact.object, "object"),
        polarity=parse_switch(fact.polarity, "polarity"),
        modality=parse_choice(fact.modality, "modality", "asserted", "hedged"),
        confidence=parse_number(fact.confidence, "confidence", low=0.0, high=1.0),
        span=span,
        single=is_single_valued(predicate, single_valued),
    )


def statements_of(
    facts: Iterable[Fact], text: str, single_valued: Collection[str] = frozenset()
) -> list[Statement] | None:
    """Those of a model that can be kept; None when one is nonsense, as then none is trusted."""
    try:
        return [statement_of(each, text, single_valued) for each in facts]
    except Exception:  # any object may come from any model
        return None
