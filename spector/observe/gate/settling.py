"""What new memories contradict, settled in the commit that stores them: ``supersedes="auto"``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.config import ObserveConfig
from spector.knowledge import Changes, New, contradiction
from spector.language.frames import Statement, verdicts
from spector.language.statements import speaker_in
from spector.language.words import plain
from spector.observe.gate.candidates import Incoming
from spector.observe.gate.comparing import Comparer
from spector.observe.gate.decision import decide_contradiction
from spector.records import Decision
from spector.write import Draft

__all__ = ["Settler"]

_NONE: Final[frozenset[str]] = frozenset()


class Settler:
    """Decides for drafts that ask for it which memories they supersede.

    Only the rules of contradiction run: a draft is always stored. The rest of what it contradicts
    is tied to it by ``contradicts``.
    """

    def __init__(self, comparer: Comparer, config: ObserveConfig) -> None:
        self._comparer = comparer
        self._config = config

    def runs(self, drafts: Sequence[Draft]) -> Iterator[Sequence[Draft]]:
        """Drafts in their order, cut wherever one contradicts another that is not stored yet."""
        run: list[Draft] = []
        stated: dict[tuple[str | None, str], list[Statement]] = {}
        single = self._comparer.registered() if any(each.settles for each in drafts) else _NONE
        for draft in drafts:
            new = self._incoming(draft, draft.event_ms or 0, single)
            keys = [(draft.user_id, plain(each.subject)) for each in new.statements]
            if draft.settles and any(
                verdicts(stated.get(key, ()), one, new.said)
                for key, one in zip(keys, new.statements, strict=True)
            ):
                yield run
                run, stated = [], {}
            run.append(draft)
            for key, one in zip(keys, new.statements, strict=True):
                stated.setdefault(key, []).append(one)
        if run:
            yield run

    def settle(
        self, drafts: Sequence[Draft], vectors: NDArray[np.float32] | None, now_ms: int
    ) -> Changes:
        """Give drafts the memories that they supersede, and return the ties to store with them.

        Called with no other writer between this and the commit.

        Args:
            vectors: (n, dim) f32, of the drafts.
        """
        changes = Changes()
        gone: set[int] = set()
        single = self._comparer.registered()
        for n, draft in enumerate(drafts):
            if not draft.settles:
                continue
            event_ms = now_ms if draft.event_ms is None else draft.event_ms
            new = self._incoming(draft, event_ms, single)
            found = self._comparer.candidates(
                new, None if vectors is None else vectors[n], user_id=draft.user_id,
                now_ms=now_ms, single_valued=single,
            )
            decided = decide_contradiction(new, found, self._config) or Decision()
            decided = replace(
                decided, likeness=max((each.likeness or 0.0 for each in found), default=None)
            )
            superseded = tuple(each for each in decided.superseded if each not in gone)
            gone.update(superseded)
            draft.decide(replace(decided, superseded=superseded))
            for other in decided.contradicted:
                sure = decided.confidence or 1.0
                changes.put("edge", **contradiction(other, New(n), sure, now_ms))
        return changes

    def _incoming(self, draft: Draft, event_ms: int, single: frozenset[str]) -> Incoming:
        return self._comparer.incoming(
            draft.text, event_ms=event_ms, role=draft.role,
            speaker=speaker_in(draft.role, draft.metadata), source=draft.source,
            confidence=draft.confidence, valid_from_ms=draft.valid_from_ms,
            valid_until_ms=draft.valid_until_ms, single_valued=single,
        )
