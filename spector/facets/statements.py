"""What ``memory.facts`` draws from texts: statements, and facts with the names around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Unpack

from spector.arguments import check_text, id_of
from spector.facets.base import Facet, Guard, guarded, ids_of
from spector.knowledge import (
    Changes,
    KnowledgeReader,
    New,
    Reading,
    declared,
    plan_reading,
    read_text,
    statement_of,
    with_names,
)
from spector.language.frames import Statement
from spector.layout import Category
from spector.process import verb
from spector.providers import Fact, embedded
from spector.records import FactRecord, MemoryRecord, ReadReport, is_user_said
from spector.store.catalog import Scope
from spector.write import Memories, Prepared

#: sorts of payloads that memories of messages have, which are read
_OF_MESSAGES: Final = frozenset({"observed", "episode"})
#: facts fade half as fast as texts (UCMA: first stability of a fact is twice that of an episode)
FACT_GROWTH = 2.0


class Statements(Facet):
    """Reads texts and memories; `Facts` keeps what they state."""

    @verb
    def extract(self, text: str) -> list[Fact]:
        """The statements of a text in their order, at most 3 a sentence; stores nothing.

        Questions, conditions, reports and plans state nothing. "I" is ``user``.

        Raises:
            InvalidTextError: This is no text.
        """
        self._parts.access.ensure()
        text = check_text(text, self._parts.config)
        with self._read() as reader:
            single = declared(reader).single
        return [
            Fact(
                one.subject,
                one.predicate,
                one.object,
                one.confidence,
                one.polarity,
                one.modality,
                one.span,
            )
            for one in (each.statement for each in self._reading(text, single)[0].facts)
        ]

    def _reading(self, text: str, single: frozenset[str], **about: Any) -> tuple[Reading, bool]:
        """What a text says, and whether the caller's model failed; no lock is held."""
        extractor = self._parts.fact_extractor
        found: list[Statement] | None = None
        failed = False
        if extractor is not None:
            try:
                found = [statement_of(each, text, single) for each in extractor.extract(text)]
            except Exception:  # any model may fail in any way: the rules decide, and it is reported
                failed = True
        return read_text(text, single_valued=single, statements=found, **about), failed

    @guarded
    def learn(self, source: Memories, **guard: Unpack[Guard]) -> ReadReport:
        """Read memories now: keep the facts that they state and the names that they mention.

        One commit holds what one memory says. Facts belong to the user of their memory, and go
        with their last source. What an assistant or a tool says neither replaces nor confirms
        what a user said. Memories that were read before add nothing.

        Args:
            source: The memories to read, by id, hit or record; they are read by event time.

        Raises:
            UnknownRecordError: One does not exist. InvalidInputError: One is of a volatile tier.
        """
        self._may_write()
        return self._learn(ids_of(source, "source"), self._scope(**guard))

    def _is_read(self, target: Any) -> bool:
        """Whether what a memory says was read: by observing, learning or sleep."""
        memory = id_of(target)
        if type(memory) is not int or not 0 <= memory < 1 << 63:
            return False
        with self._read() as reader:
            state = reader.sleep_state()
            return bool(
                "observed" in reader.sorts([memory]).get(memory, ())
                or reader.links("source", b=[memory])
                or reader.links("mention", b=[memory])
                or (state and memory <= state["extracted_id"])
            )

    def _read_anew(self, record: MemoryRecord) -> MemoryRecord:
        """Read a memory whose words have changed, and return it."""
        self._learn([record.id], self._scope(), _OF_MESSAGES)
        return record

    def _learn(
        self, ids: Iterable[int], scope: Scope, also: frozenset[str] = frozenset()
    ) -> ReadReport:
        """Read memories; those of a sort are left out, unless it is among ``also``."""
        records = sorted(
            (self._lasting(each, scope) for each in ids), key=lambda each: (each.event_ms, each.id)
        )
        skipped: Counter[str] = Counter()
        with self._read() as reader:
            sorts = reader.sorts([each.id for each in records])
            derived = {each for each, found in sorts.items() if found - also}
            single = declared(reader).single
        found: list[tuple[MemoryRecord, Reading]] = []
        fallbacks = 0
        for record in records:
            if record.id in derived or record.superseded:
                skipped["derived" if record.id in derived else "superseded"] += 1
                continue
            reading, failed = self._reading(
                record.text,
                single,
                role=record.role,
                speaker=record.speaker,
                reference_ms=record.event_ms,
                vectors=self._parts.embedder,
            )
            fallbacks += failed
            found.append((record, reading))
        with self._read() as reader:
            read = [
                (record, with_names(reader, record.user_id or "", reading))
                for record, reading in found
            ]
        self._embed([each.text for _, reading in read for each in reading.facts])
        facts: dict[int, None] = {}
        for record, reading in read:
            facts |= dict.fromkeys(self._keep(record, reading))
        with self._read() as reader:
            made = self._made(reader, reader.facts(id=list(facts)), self._scope())
        return ReadReport(
            ids=tuple(record.id for record, _ in read),
            facts=tuple(made),
            skipped=dict(skipped),
            fallbacks=fallbacks,
        )

    def _embed(self, texts: list[str]) -> None:
        """Embed many texts at once, so that the commits find them in the cache."""
        if self._parts.embedder is not None and len(texts) > 1:
            embedded(self._parts.embedder, texts)

    def _keep(self, record: MemoryRecord, reading: Reading) -> list[int]:
        """Commit what a memory says; the ids of the facts that it states."""
        role = None if is_user_said(record.role) else record.role
        fields: dict[str, Any] = {
            "tier": "semantic",
            "category": Category.FACT,
            "user_id": record.user_id,
            "agent_id": record.agent_id,
            "importance": record.importance,
            "confidence": record.confidence,
            "event_time": record.event_time,
            "role": role,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        stated: list[int | New] = []

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            present = self._living([record.id]).get(record.id)
            if present is None or present.text != record.text:
                return Changes()  # it was forgotten, or says something else by now
            if present.user_id != record.user_id:
                return Changes()
            changes, facts = plan_reading(
                reader,
                present,
                reading,
                self._living,
                now_ms=now_ms,
                config=self._parts.config,
            )
            stated[:] = facts
            return changes

        done = self._parts.knowledge.commit(
            decide, [Prepared(each.text, given, FACT_GROWTH) for each in reading.facts]
        )
        return [done.id_of(each) for each in stated]

    def _made(self, reader: KnowledgeReader, rows: Any, scope: Any) -> list[FactRecord]:
        raise NotImplementedError
