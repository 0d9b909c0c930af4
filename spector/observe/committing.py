"""What one statement becomes, decided and written in the moment of the commit.

Gate, importance, flashbulb, capture and relations follow one another; all of them see what the
statements before have written in the same commit.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from spector.clock import from_ms
from spector.config import Config, KnowledgeConfig
from spector.knowledge import (
    DESCRIBING,
    Changes,
    KnowledgeReader,
    New,
    facts_of_alone,
    plan_reading,
)
from spector.language.frames import Statement
from spector.language.words import analyse, folded, is_stop
from spector.layout import Flag
from spector.observe.gate import Candidate, Made, candidate_of, decide
from spector.observe.importance import Rater
from spector.observe.jobs import SessionMemory, Unit
from spector.observe.resolving import is_retold
from spector.records import (
    Decision,
    Edge,
    Importance,
    MemoryRecord,
    ObservedUnit,
    complete,
    details_of,
)
from spector.write import Change, Series, growing


class UpdateNeeded(Exception):  # noqa: N818 - it hands on a decision, and is no error
    """A memory gets new words, which is a commit of its own."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision


@dataclass(slots=True, kw_only=True, eq=False)
class Committer:
    """Decides and writes the statements of one commit, in their order.

    Args:
        reinforce: the change of a memory that helped.
    """

    config: Config
    series: Series
    reinforce: Any
    rater: Rater
    is_forced: bool
    dry_run: bool
    #: what sessions have to take back when nothing is committed
    made: dict[int, SessionMemory] = field(default_factory=dict)
    captured: list[tuple[SessionMemory, tuple[int, ...]]] = field(default_factory=list)
    _made: dict[str | None, Made] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)

    def undo(self) -> None:
        """Have sessions take back what they noted: nothing was committed."""
        for session, ids in self.captured:
            session.tags.release(ids)
        for record_id, session in self.made.items():
            session.erase([record_id], ())

    def step(self, unit: Unit, *, attaches: bool = True, corrected: int | None = None) -> None:
        """Decide on one statement, and write what was decided.

        Args:
            attaches: a memory of it gets what is attached to its message.
            corrected: the memory that its message corrects, which it changes at least perhaps.

        Raises:
            UpdateNeeded: nothing is written; a memory is to get the words of two.
        """
        if unit.work.message.event_ms is None:  # said now, so after what was stored before it
            now_ms = max(unit.incoming.event_ms, self.series.now_ms)
            unit.incoming = replace(unit.incoming, event_ms=now_ms)
        candidates = self._candidates(unit)
        decision, importance = self._decide(unit, candidates)
        if not self.is_forced and is_retold(unit.incoming, candidates):
            decision = Decision(action="skip", rule="echo", reason="echo")
        if corrected is not None and not unit.work.quarantined:
            decision = _correcting(decision, corrected)
        ends = unit.ready.draft.valid_until_ms
        unit.result = ObservedUnit(
            text=unit.text,
            said=unit.said,
            action=decision.action,
            relation=decision.relation,
            likeness=decision.likeness,
            nearest=decision.nearest,
            rule=decision.rule,
            verdict=decision.verdict,
            confidence=decision.confidence,
            references=unit.references,
            notes=unit.notes,
            importance=importance,
            valid_until=None if ends is None else from_ms(ends),
            entities=unit.entities,
        )
        unit.reason, unit.captured = decision.reason, ()
        if decision.action == "reinforce":
            assert decision.reinforced is not None, "it names what is strengthened"
            record = self.series.change(
                decision.reinforced, lambda header, old: strengthened(self.reinforce, header, old)
            )
            unit.result, unit.reason = replace(unit.result, record=record), "known"
        elif decision.action == "update":
            raise UpdateNeeded(decision)
        elif decision.action != "skip":
            self._create(unit, candidates, decision, attaches)

    # -- the gate ----------------------------------------------------------------------------------

    def _candidates(self, unit: Unit) -> list[Candidate]:
        """The candidates as they are now, with those that this commit has made."""
        own = self._made.get(unit.user_id)
        known = {each.id: each for each in unit.candidates}
        if own is not None:
            new = unit.incoming
            slots = {(each.subject, each.predicate) for each in new.statements}
            known |= {each.id: each for each in own.near(new.said, unit.ready.vector, slots)}
        touched = self.series.touched & known.keys()
        living = self.series.living(sorted(touched)) if touched else {}
        out = []
        for each in known.values():
            # what this commit has not touched is as it was when it was looked up or made
            record = living.get(each.id) if each.id in touched else each.record
            if record is None or record.superseded or record.user_id != unit.user_id:
                continue
            if record.text != each.record.text:
                continue
            if record is not each.record:
                each = replace(each, record=record, is_dormant=Flag.DORMANT in record.flags)
            out.append(each)
        return out

    def _decide(self, unit: Unit, candidates: Sequence[Candidate]) -> tuple[Decision, Importance]:
        config = self.config.observe
        before = self.rater.rate(unit, candidates, Decision())
        if unit.work.quarantined:
            return Decision(rule="quarantined"), before
        if config.gate:
            incoming = replace(unit.incoming, importance=before.composite)
            while True:
                decision = decide(
                    incoming,
                    candidates,
                    config,
                    sample=unit.sample,
                    verdicts=unit.verdicts,
                    changes=unit.changes,
                )
                if (old := decision.nearest) is None or decision.action in ("create", "supersede"):
                    break
                # what is meant goes into nothing that was not, and the other way round
                observed = self.series.reader.payloads([old], "observed")
                if unit.work.states is observed.get(old, {}).get("states", True):
                    break
                candidates = [each for each in candidates if each.id != old]
            why = "doubtful" if unit.work.doubt else "" if unit.work.states else "not meant"
            if why and decision.action != "reinforce":  # it may change nothing
                decision = Decision(rule=why, likeness=decision.likeness, nearest=decision.nearest)
        else:
            decision = Decision(rule="no gate")
        return decision, self.rater.rate(unit, candidates, decision)

    # -- writing -----------------------------------------------------------------------------------

    def _create(
        self,
        unit: Unit,
        candidates: Sequence[Candidate],
        decision: Decision,
        attaches: bool,
    ) -> None:
        series, before = self.series, {*self._ended}
        knowledge = {each.id for each in candidates if each.is_knowledge}
        gone = tuple(each for each in decision.superseded if each not in knowledge)
        utilities = [each.record.utility for each in candidates if each.id in gone]
        heirs = heirs_of(
            series.reader, series.living, gone, [each.statement for each in unit.reading.facts]
        )
        record = series.store(
            unit.ready,
            unit.result.importance.composite,
            supersedes=self._ending((*gone, *heirs.pop(MESSAGE, ()))),
            attaches=attaches,
        )
        if utilities:
            record = series.change(record.id, _with_utility(max(utilities)))
        changes = Changes()
        observed = put_details(changes, unit, record.id)
        series.put(changes)
        complete(record, details_of({"observed": observed}), None)
        if attaches and unit.ready.draft.attachment is not None:
            series.complete(record)
        facts = () if unit.work.quarantined else self._state(unit, record, heirs)
        edges = () if unit.work.quarantined else self._relate(unit, record, candidates, decision)
        unit.result = replace(
            unit.result,
            record=record,
            facts=facts,
            edges=tuple(edges),
            superseded=tuple(sorted(self._ended - before)),
            flashbulb=record.flashbulb,
        )
        self._note(unit, record)
        self._add(unit, unit.incoming.made(record, unit.said))

    def _ending(self, ids: Collection[int]) -> tuple[int, ...]:
        """Those that end now: nothing ends twice, though a message and its facts say it does."""
        out = tuple(sorted({*ids} - self._ended))
        self._ended.update(out)
        return out

    def _add(self, unit: Unit, made: Candidate) -> None:
        """A memory of this commit is a candidate of its further statements."""
        vector = None if unit.ready.vector is None else self.series.vector(made.id)
        self._made.setdefault(unit.user_id, Made()).add(made, vector)

    def _state(
        self, unit: Unit, record: MemoryRecord, heirs: Mapping[int, Sequence[int]]
    ) -> tuple[int, ...]:
        """Keep the facts that a memory states, and tie it to what it mentions.

        Args:
            heirs: number of a fact -> facts that end with the memories that the message supersedes.
        """
        series = self.series
        changes, stated = plan_reading(
            series.reader,
            record,
            unit.reading,
            series.living,
            now_ms=series.now_ms,
            config=self.config,
        )
        made: dict[int, int] = {}
        for n in changes.store:
            ended = changes.supersedes.pop(New(n), ())
            gone = self._ending({*ended, *heirs.get(n, ())})
            unit.facts[n].draft.derived = True
            fact = series.store(unit.facts[n], record.importance, supersedes=gone, layer=None)
            made[n] = fact.id
            stated_fact = unit.reading.facts[n]
            if not stated_fact.by_head:
                self._add(
                    unit,
                    candidate_of(fact, statements=(stated_fact.statement,), is_knowledge=True),
                )
        series.put(changes, made)
        return tuple(each if isinstance(each, int) else made[each.n] for each in stated)

    def _relate(
        self, unit: Unit, record: MemoryRecord, candidates: Sequence[Candidate], decision: Decision
    ) -> list[Edge]:
        """Tie a new memory to those of its scope that it belongs to."""
        series, reader = self.series, self.series.reader
        knowledge = {each.id for each in candidates if each.is_knowledge}
        edges = list(_gate_edges(record.id, decision))
        taken = {*decision.superseded, *decision.contradicted}
        if decision.relation is not None and decision.nearest is not None:
            taken.add(decision.nearest)
        near = sorted(
            (each for each in candidates if not each.is_knowledge and not each.is_dormant),
            key=lambda each: (-(each.likeness or 0.0), each.id),
        )[: self.config.observe.relate_neighbours]
        shared = sharing(reader, record.id)
        fresh = {each.id: each.record for each in near}
        chosen = list(dict.fromkeys((*fresh, *shared)))[:_MOST_RELATED]
        read = series.living([each for each in chosen if each not in fresh])
        found = {each: fresh.get(each) or read[each] for each in chosen if each in fresh | read}
        payloads = reader.sorts(list(found))
        others = {
            each: other
            for each, other in found.items()
            if each not in knowledge
            and not other.superseded
            and payloads.get(each, set()) <= DESCRIBING
        }
        if unit.relations is None:
            edges += related(
                record, content_of(unit.said), others, shared, taken, self.config.knowledge
            )
        else:
            edges += _of_model(record, others, unit.relations, taken)
        self.tie(edges)
        return edges

    def tie(self, edges: Sequence[Edge]) -> None:
        """Write edges; one that is there keeps the greater confidence."""
        known = _known(self.series.reader, edges)
        changes = Changes()
        for each in edges:
            before = known.get((each.source, each.kind, each.target))
            if before is None or before < each.confidence:
                now_ms = self.series.now_ms
                changes.tie(each.source, each.kind, each.target, each.origin, now_ms, each.weight)
        self.series.put(changes)

    def _note(self, unit: Unit, record: MemoryRecord) -> None:
        """Tag the memory if it is weak, and let it capture tags if it is strong."""
        session = unit.work.session
        if session is None or self.dry_run:
            return
        captured = session.tags.capture(record.importance)
        if captured:
            self.captured.append((session, captured))
            living = self.series.living(captured)
            factor = self.config.observe.capture_factor
            grow = growing(factor, self.config.max_stability_days)
            for each in captured:
                if each in living:
                    self.series.change(each, grow)
            unit.captured = captured
        self.made[record.id] = session
        tagged = session.note_stored(record, unit.ready.vector, entry_id=unit.work.entry_id)
        unit.result = replace(unit.result, tagged=tagged)


def _correcting(decision: Decision, corrected: int) -> Decision:
    """A decision that also sets its statement before the memory that its message corrects."""
    if decision.action not in ("create", "supersede") or corrected in decision.superseded:
        return decision
    order = tuple(dict.fromkeys((corrected, *decision.may_change)))
    if decision.action == "supersede" or decision.may_change:
        return replace(decision, may_change=order)
    return replace(decision, may_change=order, verdict="may change", rule="said")


#: memories that a new one is compared with for relations
_MOST_RELATED: Final = 20


def _known(reader: KnowledgeReader, edges: Sequence[Edge]) -> dict[tuple[int, str, int], float]:
    ends = sorted({each.source for each in edges})
    if not ends:
        return {}
    return {
        (each.source, each.kind, each.target): each.confidence
        for each in reader.edges(ends, direction="out")
    }


def _of_model(
    new: MemoryRecord,
    others: Collection[int],
    relations: dict[int, tuple[str, float]],
    taken: Collection[int],
) -> Iterator[Edge]:
    """The edges that a detector named."""
    for each, (kind, confidence) in sorted(relations.items()):
        if each not in others or each in taken:
            continue
        ends = new.id, each
        if kind in ("related_to", "similar_to", "same_entity"):
            ends = min(ends), max(ends)
        yield _edge(*ends, kind, confidence)


def _with_utility(value: float) -> Any:
    def change(header: Any, _: MemoryRecord) -> bool:
        header["utility"] = value
        return True

    return change


def put_details(changes: Changes, unit: Unit, memory: int) -> dict[str, Any]:
    """Put how a memory was observed, which is returned, and the details of its episode."""
    work, result, weight = unit.work, unit.result, unit.result.importance
    observed: dict[str, Any] = {
        "write_source": "observer",
        "data_source": work.message.data_source,
        "kind": work.kind,
        "emotion": work.emotion.category,
        "class_confidence": work.class_confidence or None,
        "novelty": weight.novelty,
        "arousal_channel": weight.arousal,
        "reward": weight.reward,
        "attention": weight.attention,
        "boost": weight.boost,
        "decision": result.action,
        "likeness": result.likeness,
        "nearest_id": result.nearest,
        "notes": [each.to_list() for each in unit.notes],
        "raw": unit.raw,
        "reply": work.turn_before[0] == "asked",
        "states": work.states,
    }
    changes.payload(memory, "observed", observed)
    if unit.work.message.episode is not None:
        changes.payload(memory, "episode", unit.work.message.episode.to_dict())
    return observed


def strengthened(reinforce: Change, header: Any, record: MemoryRecord) -> bool:
    """A use that helped, which wakes a dormant memory."""
    header["flags"] = int(header["flags"]) & ~int(Flag.DORMANT)
    return bool(reinforce(header, record))


# Relations of a new memory: to what it shares names and words with, and to what was said before.
#
# One edge a pair: two shared entities, else words in common and an entity, else words of one category
# (Cognitive Memory v9).

SAME_ENTITY, ELABORATES, RELATED = 0.7, 0.5, 0.4
FOLLOWED: Final = 1.0
#: in place of the number of a fact: what a message states in no fact
MESSAGE: Final = -1
#: an entity that more memories mention ties none of them
_MOST_MENTIONS: Final = 25
#: entities that nearly every message mentions
_PERSONS: Final = ("user", "agent")


def content_of(text: str) -> frozenset[str]:
    """The stems of a text's words, without those that only tie others together."""
    return frozenset(each for each in analyse(text).words if not is_stop(each))


def sharing(reader: KnowledgeReader, record_id: int) -> dict[int, int]:
    """Memories that mention the same entities, and how many of them; the newest at most.

    An entity that many memories mention ties none.
    """
    items = reader.items({row["a"] for row in reader.links("mention", b=[record_id])})
    entities = {each for each, row in items.items() if row["json"]["type"] not in _PERSONS}
    counts = reader.mention_counts(entities)
    few = [each for each in sorted(entities) if 1 < counts[each] <= _MOST_MENTIONS]
    found: Counter[int] = Counter(
        row["b"] for row in (reader.links("mention", a=few) if few else ()) if row["b"] != record_id
    )
    first = sorted(found.items(), key=lambda each: (-each[1], -each[0]))
    return dict(first[:_MOST_RELATED])


def related(
    new: MemoryRecord,
    words: frozenset[str],
    others: Mapping[int, MemoryRecord],
    shared: Mapping[int, int],
    taken: Collection[int],
    config: KnowledgeConfig,
) -> Iterator[Edge]:
    """The edges from a new memory to others of its scope, one each.

    Args:
        words: content of the new one. shared: memory -> entities in common.
        taken: memories that are tied to it already.
    """
    for each, other in others.items():
        if each in taken or each == new.id or other.user_id != new.user_id:
            continue
        common = shared.get(each, 0)
        if common >= config.same_entity:
            yield _edge(min(each, new.id), max(each, new.id), "same_entity", SAME_ENTITY)
            continue
        said = content_of(other.text)
        overlap = len(words & said) / max(1, len(words | said))
        if overlap > config.elaborates_overlap and common:
            yield _edge(new.id, each, "elaborates", ELABORATES)
        elif overlap > config.related_overlap and other.category == new.category:
            yield _edge(min(each, new.id), max(each, new.id), "related_to", RELATED)


def followed(ids: Iterable[int]) -> Iterator[Edge]:
    """The edges from each of some memories to the next."""
    for one, other in itertools.pairwise(ids):
        if one != other:
            yield _edge(one, other, "followed_by", FOLLOWED)


def _gate_edges(new: int, decision: Decision) -> Iterator[Edge]:
    """The edges that the gate decided: ``elaborates``, ``contradicts`` and ``may_change``."""
    sure = decision.confidence or 1.0
    if decision.relation == "elaborates" and decision.nearest is not None:
        yield _edge(new, decision.nearest, "elaborates", ELABORATES, origin="gate")
    for old in decision.contradicted:
        yield _edge(min(new, old), max(new, old), "contradicts", 1.0, sure, "gate")
    for old in decision.may_change:
        yield _edge(new, old, "may_change", 1.0, sure, "gate")


def _edge(
    source: int,
    target: int,
    kind: str,
    weight: float,
    confidence: float | None = None,
    origin: str = "relate",
) -> Edge:
    return Edge(
        source=source,
        target=target,
        kind=kind,
        weight=weight,
        confidence=weight if confidence is None else confidence,
        origin=origin,
    )


def heirs_of(
    reader: KnowledgeReader,
    living: Callable[[Collection[int]], Mapping[int, MemoryRecord]],
    gone: Sequence[int],
    facts: Sequence[Statement],
) -> dict[int, list[int]]:
    """Facts that only superseded memories state, by what takes their place.

    That is the new fact of the same predicate, by its number, else ``MESSAGE``.

    Args:
        living: looks memories up.
        gone: the superseded memories. facts: what the message states.
    """
    out: dict[int, list[int]] = {}

    def ended(ids: Collection[int]) -> set[int]:
        return {*ids} - {each for each, record in living(ids).items() if not record.superseded}

    alone = facts_of_alone(reader, gone, ended)
    found = living(sorted(alone))
    known = {(folded(each.subject), folded(each.predicate)): n for n, each in enumerate(facts)}
    for row in reader.facts(id=sorted(alone), holds=1) if alone else ():
        if not (found[row["id"]].pinned or found[row["id"]].immutable):
            n = known.get((row["subject"], row["predicate"]), MESSAGE)
            out.setdefault(n, []).append(row["id"])
    return out
