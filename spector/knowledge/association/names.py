"""What a cue names: entities, facts about them, procedures for its situation. No model runs."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from spector.knowledge.entities import ENTITY_NAMES
from spector.knowledge.procedures import procedure_score
from spector.knowledge.reader import KnowledgeReader
from spector.language.words import folded, normalize_tokens

__all__ = ["cue_names", "entities_of_cue", "facts_of_cue", "procedures_of_cue"]

#: words of a cue that are looked at, and words of the longest name
_MOST_WORDS: Final = 64
_LONGEST_NAME: Final = 5
_POSSESSIVE: Final = re.compile(r"['\u2019](?:s)?$")


def cue_names(text: str) -> list[str]:
    """Every folded run of one to five words of a text, each once: the names that it may have.

    Signs around a word, and an English possessive, are no part of it; ``node.js`` is one word.
    """
    spaced = [_POSSESSIVE.sub("", each.strip(_SIGNS)) for each in folded(text).split()]
    out: dict[str, None] = {}
    for words in (spaced, re.findall(r"\w+", folded(text))):
        kept = [each for each in words[:_MOST_WORDS] if each]
        says = {each for each in kept if normalize_tokens(each)}  # not a stop word
        for length in range(1, _LONGEST_NAME + 1):
            for at in range(len(kept) - length + 1):
                some = kept[at : at + length]
                if not says.isdisjoint(some):
                    out[" ".join(some)] = None
    return list(out)


_SIGNS: Final = ".,;:!?\"'\u2019\u2018\u201c\u201d()[]{}<>*_`\u00ab\u00bb\u2026-"


def entities_of_cue(reader: KnowledgeReader, text: str | None, scope: str | None) -> list[int]:
    """Entities that a cue names by one of their names or aliases, ascending.

    Args:
        scope: of one user ("" for none), or None for every user.
    """
    if not text or not reader.holds_any:
        return []
    found = reader.named_within(cue_names(text), ENTITY_NAMES, scope)
    return sorted({row["id"] for row in found})


def facts_of_cue(reader: KnowledgeReader, text: str | None, scope: str | None) -> list[int]:
    """Facts that hold and whose subject or object the cue names, ascending."""
    if not text or not reader.holds_any:
        return []
    names, wanted = cue_names(text), {} if scope is None else {"scope": scope}
    return sorted(
        {
            row["id"]
            for end in ("subject", "object")
            for row in reader.facts(holds=1, **wanted, **{end: names})
        }
    )


def procedures_of_cue(
    reader: KnowledgeReader, text: str | None, scope: str | None, limit: int
) -> list[int]:
    """Procedures that a word of the cue triggers, the most trusted first.

    By success rate, less while there are fewer than ten executions; then by triggers in common;
    then the newest. Deprecated ones are left out.
    """
    if not text or not reader.holds_any:
        return []
    tokens = {*cue_names(text), *map(folded, normalize_tokens(text))}
    shared: dict[int, int] = {}
    for row in reader.named_within(sorted(tokens), ("trigger",), scope):
        shared[row["id"]] = shared.get(row["id"], 0) + 1
    trust = _trust_of(reader, list(shared))
    order = sorted(trust, key=lambda each: (-trust[each], -shared[each], -each))
    return order[:limit]


def _trust_of(reader: KnowledgeReader, ids: Collection[int]) -> dict[int, float]:
    return {
        each: procedure_score(values)
        for each, values in reader.payloads(ids, "procedure").items()
        if values["status"] != "deprecated"
    }
