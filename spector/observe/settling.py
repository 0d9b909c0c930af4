"""What new memories contradict, settled in the commit that stores them: ``supersedes="auto"``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spector.config import ObserveConfig
from spector.knowledge import Changes, New, contradict
from spector.language.statements import speaker_in
from spector.observe.gate import (
    Candidate,
    Comparer,
    Incoming,
    Made,
    decide_contradiction,
    incoming_of,
)
from spector.observe.judges import Judges
from spector.records import Decision, MemoryRecord, PairVerdict
from spector.search import Neighbours
from spector.write import Draft


class Settler:
    """Decides for drafts that ask for it which memories they supersede.

    Only the rules of contradiction run: a draft is always stored. The rest of what it contradicts
    is tied to it by ``contradicts``.
    """

    def __init__(self, neighbours: Neighbours, config: ObserveConfig, judges: Judges) -> None:
        self._comparer = Comparer(neighbours, config)
        self._judging = judges.judging()
        self._config = config

    def runs(self, drafts: Sequence[Draft]) -> Iterator[Sequence[Draft]]:
        """Drafts in their order, cut wherever one contradicts another that is not stored yet."""
        run, met = list[Draft](), defaultdict[str | None, Made](Made)
        single = (
            self._comparer.registered() if any(each.settles for each in drafts) else frozenset()
        )
        for n, draft in enumerate(drafts):
            new = self._incoming(draft, draft.event_ms or 0, single)
            slots = {(each.subject, each.predicate) for each in new.statements}
            near = met[draft.user_id].sharing(new.said, slots) if draft.settles else ()
            if decide_contradiction(new, near, self._config):
                yield run
                run = []
                met.clear()
            run.append(draft)
            record = MemoryRecord(
                id=n,
                text=new.text,
                tier="episodic",
                event_ms=new.event_ms,
                user_id=draft.user_id,
                valid_from_ms=new.valid_from_ms,
                valid_until_ms=new.valid_until_ms,
            )
            met[draft.user_id].add(new.made(record, new.said), None)
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
                new,
                None if vectors is None else vectors[n],
                user_id=draft.user_id,
                now_ms=now_ms,
                single_valued=single,
            )
            verdicts = self._verdicts(new, found)
            decided = decide_contradiction(new, found, self._config, verdicts) or Decision()
            decided = replace(
                decided, likeness=max((each.likeness or 0.0 for each in found), default=None)
            )
            superseded = tuple(each for each in decided.superseded if each not in gone)
            gone.update(superseded)
            draft.decide(replace(decided, superseded=superseded))
            for other in decided.contradicted:
                sure = decided.confidence or 1.0
                contradict(changes, other, New(n), sure, now_ms)
        return changes

    def _verdicts(
        self, new: Incoming, candidates: Sequence[Candidate]
    ) -> Mapping[int, PairVerdict]:
        """What a judge says; nothing where there is none or it fails: then the rules decide."""
        judging = self._judging
        if judging is None:
            return {}
        return judging.or_rules(lambda: judging.verdicts(new, candidates), {})

    def _incoming(self, draft: Draft, event_ms: int, single: frozenset[str]) -> Incoming:
        return incoming_of(
            draft.text,
            event_ms,
            role=draft.role,
            speaker=speaker_in(draft.role, draft.metadata),
            source=draft.source,
            confidence=1.0 if draft.confidence is None else draft.confidence,
            valid_from_ms=draft.valid_from_ms,
            valid_until_ms=draft.valid_until_ms,
            single_valued=single,
        )
