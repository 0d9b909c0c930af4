"""``memory.procedures``: how things are done, and how often that has worked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

from spector.arguments import SCOPES, parse_choice, parse_integer, parse_number, parse_switch
from spector.errors import ImmutableRecordError, InvalidInputError
from spector.facets.base import Guard, Owner, TriggeredFacet, drawn_from, guarded, owned
from spector.knowledge import (
    Changes,
    KnowledgeReader,
    ProcedureToAdd,
    checked_part,
    learned_procedure,
    parse_steps,
    plan_procedure,
    procedure_score,
    procedure_text,
    running_rate,
    tools_of,
)
from spector.layout import Category
from spector.process import verb
from spector.records import Procedure, Step
from spector.session import Session
from spector.write import Memories, Named, Prepared

Status = Literal["draft", "active", "deprecated"]
#: executions after which a draft that mostly works becomes active
_PROVEN = 3
_STATUSES: tuple[Status, ...] = ("draft", "active", "deprecated")


class Procedures(TriggeredFacet[Procedure]):
    """Steps with a success rate, found by the situations they are for."""

    sort = "procedure"

    @verb
    def add(
        self,
        name: str,
        steps: Sequence[Step | str],
        *,
        description: str = "",
        triggers: Iterable[str] = (),
        status: Status = "draft",
        **memory_fields: Any,
    ) -> Procedure:
        """Keep how something is done.

        Args:
            steps: Texts or steps with an action, a criterion of success and what to do on failure.
            triggers: Tags of the situations that it is for.
            memory_fields: Fields of `Memory.remember`: ``user_id``, ``importance``, ...

        Raises:
            InvalidInputError: A step is malformed, or there are none.
        """
        self._may_write()
        fields = self._fields(memory_fields, "procedures.add")
        given = ProcedureToAdd(
            name=checked_part(name, "name"),
            steps=parse_steps(steps),
            description=_described(description),
            triggers=self._tags(triggers, "triggers"),
            status=parse_choice(status, "status", *_STATUSES),
            scope=fields.get("user_id") or "",
        )
        return self._store(given, fields)

    def _store(
        self, given: ProcedureToAdd, fields: dict[str, Any], replaced: int | None = None
    ) -> Procedure:
        tags = dict.fromkeys([*self._tags(fields.get("tags"), "tags"), *given.triggers])
        fields = {
            **fields,
            "tier": "procedural",
            "category": Category.PROCEDURE,
            "tags": list(tags),
        }
        text = procedure_text(given.name, given.description, given.steps)

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> None:
            before = None
            if replaced is not None:
                before = replaced, reader.payloads([replaced], self.sort)[replaced]
            plan_procedure(changes, given, now_ms, replaced=before)

        _, done = self._commit(decide, [Prepared(text, fields)])
        return self._get(done.records[0].id)

    @owned
    def for_situation(
        self,
        tags: Iterable[str],
        *,
        min_success_rate: float = 0.0,
        limit: int = 10,
        **owner: Unpack[Owner],
    ) -> list[Procedure]:
        """Procedures with one of these tags as trigger, the most proven first.

        Order: success rate, less below ten executions; then tags in common; then the newest.
        """
        least = parse_number(min_success_rate, "min_success_rate", low=0.0, high=1.0)
        most = parse_integer(limit, "limit", low=1)
        found = [
            each
            for each in self._triggered(self._tags(tags, "tags"), self._scope(**owner))
            if each[1]["status"] != "deprecated" and each[1]["success_rate"] >= least
        ]
        trust = self._parts.config.knowledge.procedure_trust
        found.sort(key=lambda each: (-procedure_score(each[1], trust), -each[2], -each[0].id))
        return self._made((record, values) for record, values, _ in found[:most])

    @guarded
    def record_outcome(
        self, id: Named, success: bool, *, failed_step: str | None = None, **guard: Unpack[Guard]
    ) -> Procedure:
        """Count an execution; success strengthens the memory, failure weakens it.

        A draft becomes active after three executions of which more than half succeeded.

        Args:
            failed_step: The ``step_id`` or description of the step that failed.

        Raises:
            InvalidInputError: No step has that name.
        """
        self._may_write()
        worked = parse_switch(success, "success")

        def plan(values: dict[str, Any], now_ms: int) -> dict[str, Any]:
            if failed_step is not None:
                _check_failed(failed_step, worked, values["steps"])
            count = values["execution_count"] + 1
            rate = running_rate(values["success_rate"], count, worked)
            changed = {
                "execution_count": count,
                "success_rate": min(1.0, max(0.0, rate)),
                "last_used_ms": now_ms,
            }
            if values["status"] == "draft" and count >= _PROVEN and rate > 0.5:
                changed["status"] = "active"
            if failed_step is not None:
                failures: dict[str, int] = values["failed_steps"]
                changed["failed_steps"] = failures | {failed_step: failures.get(failed_step, 0) + 1}
            return changed

        return self._change(id, plan, guard, self._parts.changer.reinforcing(worked))

    @owned
    def all(self, status: Status | None = None, **owner: Unpack[Owner]) -> list[Procedure]:
        """Procedures of a status, or all, oldest first."""
        if status is not None:
            parse_choice(status, "status", *_STATUSES)
        return self._all("status", status, self._scope(**owner))

    @guarded
    def set_status(self, id: Named, status: Status, **guard: Unpack[Guard]) -> Procedure:
        """Make a procedure a draft, active, or deprecated: then no situation finds it."""
        self._may_write()
        wanted = parse_choice(status, "status", *_STATUSES)
        self._refuse_immutable(self._typed(id, self.sort, self._scope(**guard)))
        return self._change(
            id,
            lambda values, _: {} if values["status"] == wanted else {"status": wanted},
            guard,
        )

    @verb
    def replace(
        self,
        id: Named,
        steps: Sequence[Step | str],
        *,
        name: str | None = None,
        description: str | None = None,
        triggers: Iterable[str] | None = None,
        status: Status = "draft",
        **memory_fields: Any,
    ) -> Procedure:
        """A procedure in place of another one, which is deprecated and superseded.

        What is not given is as before; executions are counted anew. Scopes among the
        ``memory_fields`` are a guard.
        """
        self._may_write()
        fields = self._fields(memory_fields, "procedures.replace")
        scope = self._scope(**{each: fields.get(each) for each in SCOPES})
        old = self._get(self._typed(id, self.sort, scope), scope)
        self._refuse_immutable(old.id)
        kept = ("user_id", "agent_id", "importance")
        fields = {**{each: getattr(old.record, each) for each in kept}, **fields}
        given = ProcedureToAdd(
            name=old.name if name is None else checked_part(name, "name"),
            steps=parse_steps(steps),
            description=old.description if description is None else _described(description),
            triggers=old.triggers if triggers is None else self._tags(triggers, "triggers"),
            status=parse_choice(status, "status", *_STATUSES),
            scope=old.record.user_id or "",
        )
        return self._store(given, fields, old.id)

    @guarded
    def learn(self, episodes: Session | Memories, **guard: Unpack[Guard]) -> Procedure | None:
        """A draft of what a run of episodes with tools did; None unless it ended in success.

        Episodes count in the order of their time, attempts that failed are left out. A procedure
        of the same user that calls the same tools in the same order is returned as it is.

        Args:
            episodes: The episodes, or the session that lasting memories were stored in.
        """
        self._may_write()
        scope = self._scope(**guard)
        if isinstance(episodes, Session):
            episodes = self._of_session(episodes)
        records = self._evidence(episodes, scope, "episodes")
        records.sort(key=lambda each: (each.event_ms, each.id))
        with self._read() as reader:
            known = reader.payloads([each.id for each in records], "episode")
        user = records[0].user_id if records else None
        given = learned_procedure(
            [(each.id, known[each.id]) for each in records if each.id in known], user or ""
        )
        if given is None:
            return None
        tools = tools_of([each.to_dict() for each in given.steps])
        for record, values in self._every(scope):
            if (
                record.user_id == user
                and values["status"] != "deprecated"
                and tools_of(values["steps"]) == tools
            ):
                return self._made([(record, values)])[0]
        tags = list(given.triggers)[: self._parts.config.max_tags]
        given = replace(given, triggers=self._tags(tags, "triggers"))
        return self._store(given, drawn_from(records, scope))

    def _of_session(self, session: Session) -> list[int]:
        """The living episodes of a session and of its user, with those of its agent only."""
        known = {"session_id": session.id, "user_id": session.user_id, "agent_id": session.agent_id}
        chosen = self._parts.listing.select(
            {name: value for name, value in known.items() if value is not None}, "records"
        )
        return [
            record.id
            for record, _ in self._parts.listing.records(chosen)
            if record.user_id == session.user_id and not self._parts.router[record.tier].volatile
        ]

    def _refuse_immutable(self, memory: int) -> None:
        if self._record(memory).immutable:
            raise ImmutableRecordError(
                f"procedure {memory} is immutable", hint="outcomes are counted, all else stays"
            )


def _described(description: Any) -> str:
    if not isinstance(description, str):
        raise InvalidInputError(
            f"description must be a text, not {type(description).__name__}",
            hint="leave it out, or say what the procedure is for",
        )
    return description.strip()


def _check_failed(step: Any, success: bool, steps: Sequence[dict[str, Any]]) -> None:
    names = [name for each in steps for name in (each["step_id"], each["description"]) if name]
    if success or step not in names:
        raise InvalidInputError(
            f"failed_step is {step!r:.60}" + (" of an execution that succeeded" if success else ""),
            hint="leave it out" if success else f"the steps: {', '.join(names)[:200]}",
        )
