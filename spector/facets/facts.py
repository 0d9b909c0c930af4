"""``memory.facts``: statements as subject, predicate and object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields as fields_of
from datetime import datetime
from typing import Any, Final, Literal, Unpack

from spector.arguments import (
    check_text,
    id_of,
    parse_as_of,
    parse_choice,
    parse_integer,
    parse_number,
    parse_switch,
)
from spector.errors import InvalidInputError, UnknownRecordError
from spector.facets.base import Facet, Guard, Owner, drawn_from, guarded, ids_of, owned
from spector.knowledge import (
    ENTITY_NAMES,
    FACT_GROWTH,
    Changes,
    Declared,
    FactToAdd,
    KnowledgeReader,
    New,
    Reading,
    checked_part,
    confirm_fact,
    contradict,
    current_facts,
    declared,
    fact_steps,
    facts_made,
    fields_of_fact,
    folded,
    held_fact,
    is_single_valued,
    is_still_said,
    plan_reading,
    predicate_named,
    put_fact,
    read_text,
    sentence,
    statement_of,
    with_names,
)
from spector.language.frames import Statement
from spector.layout import Category
from spector.process import verb
from spector.providers import Fact, embedded
from spector.records import (
    FactEdge,
    FactRecord,
    ForgetReport,
    MemoryRecord,
    ReadReport,
)
from spector.store.catalog import ANYBODY, Scope
from spector.write import Memories, Prepared

#: sorts of payloads that memories of messages have, which are read
_OF_MESSAGES: Final = frozenset({"observed", "episode"})
#: the subject of what a user says of himself, and the predicate of his name
_USER: Final = "user"
_NAMED: Final = "is_named"
_ENDS: Final = ("subject", "object")
_FIRST_PERSON: Final = frozenset(("i", "me", "myself"))


class Facts(Facet):
    """Triples with deterministic keys; each is a memory, found and forgotten like any other."""

    @owned
    def add(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        source: Memories | None = None,
        confidence: float = 0.5,
        text: str | None = None,
        importance: float | None = None,
        **owner: Unpack[Owner],
    ) -> FactRecord:
        """State a fact; one that is known and holds gains confidence from each new source.

        Another value of a predicate that has one value at a time (``lives_in``, ``works_at``, ...,
        :meth:`declare`) takes the place of the present one, which ``history`` keeps.

        Args:
            subject, predicate, object: At most 1,000 characters each; case and accents make no
                difference in comparisons.
            source: The memories that state it. They give the fact its scope.
            confidence: 0..1 for a new fact; each further source adds 0.05.
            text: How it reads; a sentence of the three parts by default.
            importance: 0..1; the source's by default.

        Raises:
            InvalidInputError: A part is empty, or the sources are of several users.
            UnknownRecordError: A source does not exist.
        """
        self._may_write()
        parts = [
            checked_part(each, name)
            for each, name in ((subject, "subject"), (predicate, "predicate"), (object, "object"))
        ]
        with self._read() as reader:
            parts[1] = declared(reader).slot(parts[1])
        degree = parse_number(confidence, "confidence", low=0.0, high=1.0)
        sources = ids_of(source, "source")
        scope = self._scope(**owner)
        records = [self._lasting(each, scope) for each in sources]
        if len({each.user_id for each in records}) > 1:
            raise InvalidInputError(
                "the sources of a fact are of several users",
                hint="a fact belongs to one user: add it once for each",
            )
        whose = drawn_from(records, scope)
        fact = FactToAdd(
            subject=parts[0],
            predicate=parts[1],
            object=parts[2],
            scope=whose["user_id"] or "",
            confidence=degree,
            sources=sources,
        )
        fields: dict[str, Any] = {
            "tier": "semantic",
            "category": Category.FACT,
            "importance": importance
            if importance is not None or not records
            else max(each.importance for each in records),
            **whose,
        }

        step = self._parts.config.knowledge.fact_step

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> int | New:
            known = held_fact(reader, fact)
            if known is not None:
                which: int = known["id"]
                stated = reader.sources([which]).get(which, ())
                confirm_fact(changes, known, stated, sources, now_ms=now_ms, step=step)
                return which
            made, gone = New(0), list[int]()
            changes.store.append(0)
            if is_single_valued(fact.predicate, declared(reader).single):
                present = [row["id"] for row in reader.facts(**fact.slot, holds=1)]
                living = self._living(present)
                for each in present:
                    if each in living and (living[each].pinned or living[each].immutable):
                        contradict(changes, each, made, 1.0, now_ms)
                    else:
                        gone.append(each)
            if gone:
                changes.supersedes[made] = tuple(gone)
            put_fact(changes, made, fact, now_ms=now_ms, step=step)
            return made

        with self._read() as reader:
            is_known = held_fact(reader, fact) is not None
        made, done = self._commit(
            decide,
            [Prepared(text or sentence(*parts), fields, FACT_GROWTH)],
            is_known=is_known,
        )
        return self._get(done.id_of(made))

    def _current(
        self, reader: KnowledgeReader, rows: Iterable[dict[str, Any]], moment: int | None = None
    ) -> list[dict[str, Any]]:
        """Those of some facts that have neither ended nor rest, at a moment or now."""
        now_ms = moment or self._parts.clock.now_ms()
        return current_facts(reader, rows, self._parts.store.catalog.fetch, now_ms)

    @owned
    def about(
        self, entity: str, *, limit: int | None = None, learn: bool = False, **owner: Unpack[Owner]
    ) -> list[FactRecord]:
        """Facts that hold and have a name as their subject or object, the surest first.

        An alias of an entity leads to the facts about each of its names; "me", "I" and the name of
        the user to those about the user.
        """
        name = folded(checked_part(entity, "entity"))
        scope = self._scope(**owner)
        with self._read() as reader:
            rows = _about(reader, name, scope.user_id, self._users_named(reader, name, scope))
            found = self._made(reader, self._current(reader, rows.values()), scope)
        found.sort(key=lambda each: (-each.confidence, each.id))
        most = None if limit is None else parse_integer(limit, "limit", low=1)
        found = found[:most]
        if parse_switch(learn, "learn") and found:
            self._may_write()
            self._parts.changer.note_use([each.id for each in found], scope)
        return found

    def _users_named(self, reader: KnowledgeReader, name: str, scope: Scope) -> set[str | None]:
        """Users that a name means: by a fact that says it, or by a session that names them so."""
        if name in _FIRST_PERSON:
            return {scope.user_id}
        named = reader.facts(subject=_USER, predicate=_NAMED, object=name, holds=1)
        users: set[str | None] = {row["scope"] for row in named}
        return users | {
            each.key.user_id or ""
            for each in self._parts.sessions.states()
            if each.speaker is not None and folded(each.speaker) == name
        }

    @owned
    def query(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        min_confidence: float = 0.0,
        as_of: datetime | str | None = None,
        **owner: Unpack[Owner],
    ) -> list[FactRecord]:
        """Facts with these parts, oldest first: those that hold, or that held at ``as_of``."""
        given = {"subject": subject, "predicate": predicate, "object": object}
        conditions: dict[str, Any] = {
            name: folded(checked_part(value, name))
            for name, value in given.items()
            if value is not None
        }
        least = parse_number(min_confidence, "min_confidence", low=0.0, high=1.0)
        moment = parse_as_of(as_of, self._parts.config.zone)
        if moment is None:
            conditions["holds"] = 1
        with self._read() as reader:
            if predicate is not None:
                conditions["predicate"] = sorted(
                    _names_like(conditions["predicate"], declared(reader))
                )
            rows = [row for row in reader.facts(**conditions) if row["confidence"] >= least]
            current = self._current(reader, rows, moment)
            found = self._made(reader, current, self._scope(**owner))
        if moment is None:
            return found
        return [each for each in found if _held_at(each.record, moment)]

    @guarded
    def get(self, fact: Any, **guard: Unpack[Guard]) -> FactRecord:
        """A fact by its id, its record, or its key.

        Raises:
            UnknownRecordError: There is none. InvalidInputError: The memory is no fact.
        """
        scope = self._scope(**guard)
        if isinstance(fact, str):
            with self._read() as reader:
                found = self._made(reader, reader.facts(fact_key=fact, holds=1), scope)
            if not found:
                raise UnknownRecordError(
                    f"no fact has the key {fact!r:.60}", hint="facts.query() lists those that hold"
                )
            return found[0]
        return self._get(self._typed(fact, "fact", scope), scope)

    @guarded
    def forget(self, fact: Any, **guard: Unpack[Guard]) -> ForgetReport:
        """Forget a fact; what it was drawn from stays."""
        self._may_write()
        scope = self._scope(**guard)
        return self._forget(self._typed(fact, "fact", scope), scope)

    @owned
    def traverse(
        self,
        entity: str,
        *,
        hops: int = 3,
        direction: Literal["both", "out", "in"] = "both",
        limit: int = 1000,
        **owner: Unpack[Owner],
    ) -> list[FactEdge]:
        """Facts around a name, breadth-first from subject to object and back, each once."""
        name = checked_part(entity, "entity")
        hops = parse_integer(hops, "hops", low=1, high=16)
        direction = parse_choice(direction, "direction", "both", "out", "in")
        most = parse_integer(limit, "limit", low=1)
        scope = self._scope(**owner)
        ends = {"out": ("subject",), "in": ("object",)}.get(direction, _ENDS)
        out: list[FactEdge] = []
        with self._read() as reader:
            near = [row for end in _ENDS for row in reader.facts(holds=1, **{end: folded(name)})]
            for user in sorted({row["scope"] for row in near}):
                if scope.user_id not in (None, user) or len(out) >= most:
                    continue
                steps = fact_steps(reader, name, user, ends, hops=hops, limit=most - len(out))
                current = {row["id"] for row in self._current(reader, [row for row, _ in steps])}
                out += [
                    FactEdge(said["subject"], said["predicate"], said["object"], row["id"], hop)
                    for row, hop in steps
                    for said in (row["json"],)
                    if row["id"] in current
                ]
        if scope.agent_id is not None:
            living = self._living((each.fact_id for each in out), scope)
            out = [each for each in out if each.fact_id in living]
        return out

    # -- what texts state ---------------------------------------------------------------------

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
            Fact(**{each.name: getattr(one.statement, each.name) for each in fields_of(Fact)})
            for one in self._reading(text, single)[0].facts
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
        fields = fields_of_fact(record)

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> list[int | New]:
            present = self._living([record.id]).get(record.id)
            if present is None or not is_still_said(record, present):
                return []
            found, facts = plan_reading(
                reader, present, reading, self._living, now_ms=now_ms, config=self._parts.config
            )
            changes.add(found)
            return facts

        texts = [each.text for each in reading.facts]
        stated, done = self._commit(decide, [Prepared(each, fields, FACT_GROWTH) for each in texts])
        return [done.id_of(each) for each in stated]

    @verb
    def declare(
        self, predicate: str, *aliases: str, single_valued: bool | None = None
    ) -> Mapping[str, str]:
        """Declare a predicate and other names of it; returns all aliases with their predicates.

        Facts that are drawn or added from now on under an alias get the predicate; :meth:`query`
        finds by any of the names. It is kept with the store, for all users, and is exported.

        Args:
            predicate: In snake case. A name of a built-in relation ("boss") stands for that one.
            single_valued: It has one value at a time: a new one takes the place of the present one;
                None leaves it as it was declared.

        Raises:
            InvalidInputError: An alias is a name of another relation, declared or built in.
        """
        self._may_write()
        from spector.language.frames import canonical_name

        one = canonical_name(predicate_named(predicate, "predicate"))
        names = [predicate_named(each, "aliases") for each in aliases]
        given = None if single_valued is None else parse_switch(single_valued, "single_valued")

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> None:
            known = declared(reader)
            items = reader.items_of("predicate").values()
            rows = {row["json"]["name"]: row["item_id"] for row in items}
            main = known.aliases.get(one, one)
            single = main in known.single if given is None else given
            for name in dict.fromkeys((main, *names)):
                of = None if name == main else main
                is_known = of is None or known.aliases.get(name) == main
                others = set() if is_known else known.named_like(name) - {name}
                if others and main not in others:
                    raise InvalidInputError(
                        f"{name!r} is a name of another relation, like {min(others)!r}",
                        hint=f"declare further names of {name!r}",
                    )
                item = rows[name] if name in rows else changes.new_item()
                changes.item(item, "predicate", "", {"name": name, "of": of, "single": single})

        self._commit(decide)
        with self._read() as reader:
            return declared(reader).aliases

    def _get(self, fact_id: int, scope: Scope = ANYBODY) -> FactRecord:
        with self._read() as reader:
            found = self._made(reader, reader.facts(id=fact_id), scope)
        if not found:
            raise UnknownRecordError(
                f"there is no fact with id {fact_id}", hint="it may have been forgotten"
            )
        return found[0]

    def _made(
        self, reader: KnowledgeReader, rows: Iterable[dict[str, Any]], scope: Any
    ) -> list[FactRecord]:
        """Facts of rows whose memories live in a scope."""
        by_id = {row["id"]: row for row in rows}
        return facts_made(reader, by_id, self._living(by_id, scope))


def _names_like(predicate: str, known: Declared) -> set[str]:
    """All names of a relation, as facts have them; "formerly" and "not" stay with them."""
    name = predicate.replace(" ", "_")
    marks = ""
    for mark in ("not_", "formerly_"):
        if name.startswith(mark):
            marks, name = marks + mark, name.removeprefix(mark)
    return {predicate, *(marks + each for each in known.named_like(name))}


def _held_at(record: MemoryRecord, moment_ms: int) -> bool:
    begins = record.event_ms if record.valid_from_ms is None else record.valid_from_ms
    return begins <= moment_ms and (
        record.valid_until_ms is None or moment_ms < record.valid_until_ms
    )


def _about(
    reader: KnowledgeReader, name: str, user: str | None, meant: Collection[str | None]
) -> dict[int, dict[str, Any]]:
    """Facts that hold and name what a name means: its own, and those by other names of an entity.

    Names are other names within one user only.

    Args:
        meant: users that the name means.
    """
    wanted: dict[str | None, set[str]] = {None: {name}}
    for each in meant:
        wanted.setdefault(each, set()).add(_USER)
    entities = reader.named_within([name], ENTITY_NAMES, user)
    names = reader.names_of({row["id"] for row in entities}) if entities else {}
    for row in entities:
        wanted.setdefault(row["scope"], set()).update(
            each["folded"] for each in names.get(row["id"], ()) if each["sort"] in ENTITY_NAMES
        )
    return {
        row["id"]: row
        for scope, some in wanted.items()
        for end in _ENDS
        for row in reader.facts(scope=scope, holds=1, **{end: sorted(some)})
    }
