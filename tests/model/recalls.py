"""Recalls beside the model's ranking, and how often an estimate missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import spector
from spector.clock import to_ms
from spector.kernel.contract.profile import get_profile
from spector.records import MemoryRecord
from tests.model.oracle import WHERES, Oracle, holds_at, wrong_ranking
from tests.model.ranking import Asked

__all__ = ["Recalls"]

_FLOAT32 = 4e-6
#: what the tables of the curves may be off by, times their weights
_TABLES = 1e-4


@dataclass
class Recalls:
    """Compares recalls and counts them."""

    compared: int = 0
    hits: int = 0
    #: hits that an estimate left out; never without a scan index
    missed: int = 0

    def compare(
        self,
        memory: spector.Memory,
        oracle: Oracle,
        given: Mapping[str, Any],
        now_ms: int,
        *,
        exact: bool,
    ) -> None:
        """One recall without full text, by the model's ranking.

        Raises:
            AssertionError: the answer is not the best k.
        """
        asked, arguments = _asked(given, now_ms)
        expected = oracle.ranked(asked, given)
        hits = memory.recall(**arguments, exact=exact, lexical=False)
        found = [(hit.id, hit.score) for hit in hits]
        self.compared += 1
        self.hits += len(found)
        tolerance = _FLOAT32 if asked.profile.name == "similarity" else _TABLES
        wrong = wrong_ranking(found, expected, given["k"], tolerance)
        if wrong and not exact and hits.stats.skipped_bound:
            # what is there must be right all the same
            best = memory.recall(**arguments, exact=True, lexical=False)
            missed = {hit.id for hit in best} - {hit.id for hit in hits}
            self.missed += len(missed)
            wrong = wrong_ranking(
                found, {i: expected[i] for i in expected if i not in missed}, given["k"], tolerance
            )
        assert not wrong, f"{wrong}; exact={exact}, {given}, found {found}"
        for hit in hits:
            assert hit.record == _within(oracle, oracle.records[hit.id], asked.user_id)

    def by_text(
        self,
        memory: spector.Memory,
        oracle: Oracle,
        given: Mapping[str, Any],
        cue: str,
        now_ms: int,
        *,
        strict: bool,
    ) -> None:
        """With full text, too: filters hold, nothing that passes is left out, words only add."""
        asked, arguments = _asked(given, now_ms)
        expected = oracle.ranked(asked, given)
        best = memory.recall(cue, **arguments, exact=True, cut=0)
        self.compared += 1
        assert len(best) == min(given["k"], len(expected)), f"{given}, {cue!r}: {best}"
        for hit in best:
            assert hit.id in expected, f"{given}, {cue!r}: {hit} should not have been found"
            least, most = expected[hit.id]
            why = hit.explain()
            assert least - _TABLES <= why.fused <= most + _TABLES
            assert why.lexical >= 0
            assert why.lexical == 0 or set(cue.split()) & set(hit.text.split())
        assert [h.score for h in best] == sorted((h.score for h in best), reverse=True)
        if strict:
            again = memory.recall(cue, **arguments, cut=0)
            assert [(h.id, h.score) for h in again] == [(h.id, h.score) for h in best]

    def by_word(self, memory: spector.Memory, record: MemoryRecord, now_ms: int) -> None:
        """A word that only one memory has puts it first, unless it is not valid now."""
        cue = record.text.split()[0]
        found = [hit.id for hit in memory.recall(cue, k=2)]
        valid = holds_at(record, {}, now_ms)
        self.compared += 1
        assert (found[:1] == [record.id]) == valid, f"{cue}: {found}, valid: {valid}"
        assert valid or record.id not in found


def _asked(given: Mapping[str, Any], now_ms: int) -> tuple[Asked, dict[str, Any]]:
    """A recall as the model understands it, and as ``Memory`` takes it."""
    asked = Asked(
        get_profile(given.get("profile", "balanced")),
        to_ms(given["as_of"]) if "as_of" in given else now_ms,
        given.get("vector"),
        given.get("tags", ()),
        given.get("any_tags", ()),
        given.get("user_id"),
        given.get("mood", 0.0),
    )
    where = {"where": WHERES[given["where"]][0]} if "where" in given else {}
    return asked, {**given, **where}


def _within(oracle: Oracle, record: MemoryRecord, user_id: str | None) -> MemoryRecord:
    """What a recall for one user shows of a record: no link to a living memory of another one."""
    if user_id is None:
        return record

    def kept(ids: tuple[int, ...]) -> tuple[int, ...]:
        known = oracle.records
        return tuple(each for each in ids if each not in known or known[each].user_id == user_id)

    return replace(
        record,
        parents=kept(record.parents),
        supersedes=kept(record.supersedes),
        superseded_by=kept(record.superseded_by),
    )
