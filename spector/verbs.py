"""Verbs of a memory beyond storing, recalling and forgetting: rest and return, sessions, sleep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal, cast

from spector.arguments import (
    check_scope,
    parse_as_of,
    parse_integer,
    parse_sorts,
    parse_switch,
    parse_truth,
)
from spector.facets import Faceted
from spector.kernel.contract import ScoringProfile, get_profile
from spector.layout import Flag
from spector.process import Calls, Operation, Steps, verb
from spector.search import EVERYTHING_SAID, TRUSTED_S, parse_page, until

if TYPE_CHECKING:
    from spector.recall import ContextArguments
    from spector.records import (
        Episode,
        Judgement,
        MemoryList,
        MemoryRecord,
        NamespaceSummary,
        ObserveResult,
        ReflectReport,
        Statement,
        UserSummary,
    )
    from spector.session import Remembering, Session
    from spector.store.catalog import Scope
    from spector.write import Memories, Named


Id = str | None


class Verbs(Faceted):
    """What has the facets of a memory, and verbs that need several of its parts."""

    _calls: Calls

    def _guard(self, user_id: Id, agent_id: Id, session_id: Id, *, write: bool = True) -> Scope:
        """The scope that a verb may not leave, of a memory that it may use."""
        self._parts.access.ensure(write=write)
        return self._parts.listing.scope(user_id, agent_id, session_id)

    @verb
    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        progress: Callable[[int, int | None], None] | None = None,
        if_known: Literal["replace", "keep"] = "replace",
        if_forgotten: Literal["store", "skip"] = "store",
        scopes_from_message: bool = False,
        **common: Any,
    ) -> MemoryList:
        """Store many memories; keywords apply to every item that does not set them itself.

        Batches of ``Config.batch_records`` are committed, each all or nothing. A bad item raises
        after the batches before it, which its notes count. Messages without text: ``.skipped``.

        Args:
            items: texts, messages, or dictionaries with the keys of :meth:`remember`.
            progress: called after each commit with (stored so far, total or None).
            if_known: "keep" leaves a memory as it is that has the key of an item.
            if_forgotten: "skip" leaves out an item whose key was forgotten, and not purged.
            scopes_from_message: as in :meth:`remember`, for items that you made yourself.

        Returns:
            A list of records whose ``outcomes`` say what became of each item. Of items with one key
            the last counts.
        """
        self._parts.access.ensure(write=True)
        return self._parts.writer.remember_many(
            items,
            common,
            progress,
            if_known,
            if_forgotten,
            parse_switch(scopes_from_message, "scopes_from_message"),
        )

    @verb
    def reinforce(
        self,
        target: Named,
        success: bool = True,
        *,
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
    ) -> MemoryRecord:
        """Record that a memory helped (or, with ``success=False``, misled).

        Success strengthens it by the spacing effect and raises its utility; failure weakens both.
        """
        scope = self._guard(user_id, agent_id, session_id)
        return self._parts.changer.reinforce(target, parse_truth(success, "success"), scope)

    @verb
    def pin(
        self, target: Named, *, user_id: Id = None, agent_id: Id = None, session_id: Id = None
    ) -> MemoryRecord:
        """Exempt a memory from ``min_importance`` and from forgetting by filter."""
        scope = self._guard(user_id, agent_id, session_id)
        return self._parts.changer.set_flag(target, Flag.PINNED, True, scope)

    @verb
    def unpin(
        self, target: Named, *, user_id: Id = None, agent_id: Id = None, session_id: Id = None
    ) -> MemoryRecord:
        """Undo :meth:`pin`."""
        scope = self._guard(user_id, agent_id, session_id)
        return self._parts.changer.set_flag(target, Flag.PINNED, False, scope)

    @verb
    def resolve(
        self, target: Named, *, user_id: Id = None, agent_id: Id = None, session_id: Id = None
    ) -> MemoryRecord:
        """Close an open matter: clear the mark that ``remember(unresolved=True)`` set."""
        scope = self._guard(user_id, agent_id, session_id)
        return self._parts.changer.set_flag(target, Flag.UNRESOLVED, False, scope)

    @verb
    def retire(
        self, target: Memories, *, user_id: Id = None, agent_id: Id = None, session_id: Id = None
    ) -> list[MemoryRecord]:
        """Make memories dormant: kept, but recalled with ``include=["dormant"]`` only.

        Nothing of them fades, and :meth:`reactivate` brings them back. Immutable memories are
        refused; pinned ones are not.

        Args:
            target: an id, hit or record, or several of them.
            user_id, agent_id, session_id: a guard.

        Raises:
            UnknownRecordError, ImmutableRecordError: one of them; nothing has changed.
        """
        scope = self._guard(user_id, agent_id, session_id)
        return self._parts.changer.retire(target, scope)

    @verb
    def reactivate(
        self, target: Memories, *, user_id: Id = None, agent_id: Id = None, session_id: Id = None
    ) -> list[MemoryRecord]:
        """Undo :meth:`retire`, or what sleep has made dormant.

        They begin to fade from now on, as after a use, but no access is counted. A memory that is
        not dormant stays as it is.

        Raises:
            UnknownRecordError: one of them is unknown; nothing has changed.
        """
        scope = self._guard(user_id, agent_id, session_id)
        return self._parts.changer.reactivate(target, scope)

    @verb
    def reinstate(
        self,
        target: Named,
        *,
        keep: bool = False,
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
    ) -> MemoryRecord:
        """Make a superseded memory valid again.

        It gets back the end of validity that it had before, or none. Forgetting the successor alone
        does not bring it back.

        Args:
            keep: the successor stays valid too. In the same commit the link between the two becomes
                an edge ``contradicts``: both are recalled, the newer first, and each is in the
                other's ``hit.conflicts``.
            user_id, agent_id, session_id: a guard.

        Raises:
            SupersededRecordError: its successor still exists, and ``keep`` is False.
        """
        scope = self._guard(user_id, agent_id, session_id)
        return self._parts.changer.reinstate(target, scope, keep=parse_switch(keep, "keep"))

    @verb
    def records(
        self,
        *,
        after: Named | None = None,
        limit: int | None = None,
        newest_first: bool = False,
        as_of: datetime | str | None = None,
        include: Iterable[str] | None = None,
        **selection: Any,
    ) -> Iterator[MemoryRecord]:
        """All memories by ascending id, or those of a selection (keywords as in :meth:`forget`).

        Ids grow with the time of storing. A memory that is forgotten between two pages changes
        neither. Without ``after`` and ``limit`` it is first proved that damage hides no memory.

        Args:
            after: the memory, or its id, that the first one follows: the last of the page before.
            limit: so many at most.
            newest_first: by descending id.
            key_prefix, namespace: only memories whose keys begin so, in this namespace; with
                ``below`` also in those within it.
            sorts: as in :class:`RecallOptions`; None for what was said and stored. What is drawn
                from it ("fact", "concept", "statistic", "theme") comes when it is named.
            as_of: only what was valid at that moment, as in :meth:`recall`; otherwise superseded
                and expired memories are included.
            include: None for all that exist. A list for the active ones and of "dormant",
                "superseded", "quarantined" and "statistics" those that it names; an empty one for
                the active ones alone. ``record.to_dict()["flags"]`` tells them apart.
        """
        self._parts.access.ensure()
        chosen, drop = self._parts.listing.listed(selection, "records", include)
        moment = parse_as_of(as_of, self._parts.config.zone)
        found = self._parts.listing.records(
            until(chosen, moment),
            moment_ms=moment,
            drop=drop,
            page=parse_page(after, limit, newest_first),
        )
        return Steps(self._calls, (record for record, _ in found))

    @verb
    def count(self, **selection: Any) -> int:
        """How many memories there are, or are in a selection (keywords as in :meth:`forget`).

        As many as :meth:`records` yields; their bytes are not read.
        """
        from spector.upkeep import count_of

        self._parts.access.ensure()
        listing = self._parts.listing
        chosen, _ = listing.listed(selection, "count")
        if chosen == EVERYTHING_SAID:
            return len(self._parts.keeper)
        condition, trusted_s = listing.condition(chosen, beside_ways=True)
        said = chosen.sorts == EVERYTHING_SAID.sorts
        found = listing.conditions(replace(chosen, sorts=None) if said else chosen, condition)
        return count_of(found, chosen.ways, trusted_s=trusted_s, said=said)

    @verb
    def users(self, *, sorts: str | Iterable[str] | None = None) -> list[UserSummary]:
        """Every user with memories, by id: how many, and the times of the first and last event.

        Args:
            sorts: only memories of these, as in :meth:`records`. None counts what was said and
                stored; users with derived memories alone are listed with 0.
        """
        self._parts.access.ensure()
        return self._parts.keeper.users(TRUSTED_S, parse_sorts(sorts))

    @verb
    def namespaces(
        self,
        prefix: str | Iterable[str] = (),
        *,
        depth: int | None = None,
        after: str | Iterable[str] | None = None,
        limit: int | None = None,
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
    ) -> list[NamespaceSummary]:
        """The namespaces that memories have keys of, in the order of their labels, with counts.

        Args:
            prefix: only this one and those within it.
            depth: cut to so many labels; what is cut alike is counted together.
            after: the namespace that the first one follows: the last of the page before.
            limit: so many at most.
            user_id, agent_id, session_id: only memories of this scope.
        """
        scope = self._guard(user_id, agent_id, session_id, write=False)
        return self._parts.keeper.namespaces(scope, prefix, depth, after, limit)

    @verb
    def observe(
        self,
        message: str | Mapping[str, Any],
        *,
        session_id: Id = None,
        user_id: Id = None,
        agent_id: Id = None,
        data_source: str | None = None,
        event_time: datetime | str | None = None,
        timezone: str | tzinfo | None = None,
        metadata: Mapping[str, Any] | None = None,
        modality: str | None = None,
        episode: Episode | None = None,
        scopes_from_message: bool = False,
        force: bool = False,
        dry_run: bool = False,
    ) -> ObserveResult:
        """Take in a message, and decide what becomes of it: new memories, changed ones, or nothing.

        Filters stop small talk, questions and attacks. What passes is taken apart into statements,
        with notes in brackets on who and when is meant; the words stay as they were said. Each
        statement is compared with what is known: it is stored, takes the place of what it
        contradicts, strengthens what it repeats, or is left out where it does not matter. Memory,
        facts, mentions and relations are one commit. ``print(result)`` says what each stage did.

        Args:
            message: a text, or a message of a chat model: ``role`` and ``content`` (a text or
                parts), ``tool_calls``, and keys of :meth:`remember`.
            session_id: feeds the state of that session, which is begun if there is none.
            user_id: whose memory it is; only memories of this user are compared and changed.
            data_source: "user_message", "assistant_message", "tool", "document", "system" or
                "federation"; by the role if None. Only users change what users said.
            event_time: when it was said; now by default.
            timezone: where it was said, which decides which day "tomorrow" is.
            episode: details of an experience: goal, tool, success, ...
            scopes_from_message: as in :meth:`remember`.
            force: no filter stops it.
            dry_run: every stage runs, and nothing is kept.

        Raises:
            InvalidInputError: naming the argument; nothing was stored.
            EmbeddingError: no vector could be made; nothing was stored.
            StoreError: the store cannot be written.
        """
        self._parts.access.ensure(write=True)
        common = {
            "session_id": session_id,
            "user_id": user_id,
            "agent_id": agent_id,
            "event_time": event_time,
            "metadata": metadata,
            "modality": modality,
        }
        from spector.recall import note_observed

        op = "gate" if force is True and dry_run is True else "observe"
        with self._parts.operations.noting(op) as operation:
            found: ObserveResult = self._parts.observing.observe(
                message,
                common,
                {
                    "data_source": data_source,
                    "timezone": timezone,
                    "episode": episode,
                    "scopes_from_message": scopes_from_message,
                    "force": force,
                    "dry_run": dry_run,
                },
            )
            note_observed(operation, message, common, found)
        return found

    @verb
    def observe_many(
        self,
        messages: Iterable[str | Mapping[str, Any]],
        *,
        progress: Callable[[int, int | None], None] | None = None,
        session_id: Id = None,
        user_id: Id = None,
        agent_id: Id = None,
        data_source: str | None = None,
        event_time: datetime | str | None = None,
        timezone: str | tzinfo | None = None,
        metadata: Mapping[str, Any] | None = None,
        modality: str | None = None,
        scopes_from_message: bool = False,
        force: bool = False,
        dry_run: bool = False,
    ) -> list[ObserveResult]:
        """Observe messages in their order, as :meth:`observe` would one by one.

        Batches of ``ObserveConfig.batch`` are embedded in one call and committed as one, all or
        nothing; with a judge each message is. Keywords apply to every message that does not say
        otherwise itself.

        Args:
            progress: called after each commit with (observed so far, total or None).
        """
        self._parts.access.ensure(write=True)
        common = {
            "session_id": session_id,
            "user_id": user_id,
            "agent_id": agent_id,
            "event_time": event_time,
            "metadata": metadata,
            "modality": modality,
        }

        from spector.recall import note_observed

        def noted(message: Any, found: ObserveResult) -> None:
            operation = Operation("observe", latency_ms=found.elapsed_ms)
            note_observed(operation, message, common, found)
            self._parts.operations.note(operation)

        return self._parts.observing.observe_many(
            messages,
            common,
            {
                "data_source": data_source,
                "timezone": timezone,
                "scopes_from_message": scopes_from_message,
                "force": force,
                "dry_run": dry_run,
            },
            progress,
            noted,
        )

    @verb
    def gate(self, text: str | Mapping[str, Any], **observe: Any) -> ObserveResult:
        """What the gate would do with a text: :meth:`observe` without filters, and nothing is kept.

        Args:
            **observe: the other arguments of :meth:`observe`.
        """
        found: ObserveResult = self.observe(text, **{**observe, "force": True, "dry_run": True})
        return found

    @verb
    def judge(self, old: str | Statement, new: str | Statement) -> Judgement:
        """What a new statement does to an old one: verdict, probabilities, and the rules' vetoes.

        The judge is ``Detectors(judge=...)``, else ``llm=``, else rules and the offline model.
        Nothing is stored, and no memory is looked at.

        Args:
            old, new: a text of the user, or a :class:`spector.Statement`.

        Raises:
            InvalidInputError: a text without words, or something else.
        """
        self._parts.access.ensure()
        return self._parts.judges.judgement(old, new)

    @verb
    def hot(
        self,
        *,
        limit: int | None = None,
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
    ) -> list[MemoryRecord]:
        """The memories that a context may quote whatever the cue, the most useful first.

        They are semantic and active, of a utility of 0.8 or more, used ten times or more, and
        recorded in the last 30 days. The choice is kept for five minutes; one that was forgotten,
        retired or changed leaves it at once.

        Args:
            limit: ``AssociationConfig.hot_items`` (15) if None.
            user_id, agent_id, session_id: whose memories; None restricts nothing.
        """
        self._parts.access.ensure()
        items = self._parts.config.association.hot_items
        most = items if limit is None else parse_integer(limit, "limit", 1)
        return self._parts.recaller.hot(most, user_id, agent_id, session_id)

    @verb
    def _attached_to(self, record: MemoryRecord) -> Any:
        """What `record.attachment` reads."""
        self._parts.access.ensure()
        return self._parts.finder.attached_to(record)

    def _foreseen(self, recall: ContextArguments) -> ContextArguments:
        """Arguments of a context, with the outcomes to be expected of what is perceived."""
        given: Any = recall.get("knowledge", False)
        if isinstance(given, bool):
            return recall
        found = self.graph.complete(
            given, user_id=recall.get("user_id"), agent_id=recall.get("agent_id")
        )
        made: Any = {**recall, "knowledge": found}
        return cast("ContextArguments", made)

    @verb
    def session(
        self,
        session_id: Id = None,
        *,
        user_id: Id = None,
        agent_id: Id = None,
        profile: str | ScoringProfile | None = None,
        tokenizer: str | Callable[[str], int] | None = None,
        speaker: str | None = None,
    ) -> Session:
        """The session of a user, an agent and an id, begun if there is none.

        The same three give the same session; others share nothing with it. It lives in this
        process and ends by ``end()``, with its ``with`` block, after ``SessionConfig.idle_s``
        (4 hours) without a call, and when the memory is closed.

        Args:
            session_id: of the conversation; 32 hex digits are made up without one.
            user_id: recalls are restricted to this user's memories; None restricts nothing.
            agent_id: what is stored is of this agent; what is recalled is of all.
            profile: ranks the session's recalls; the memory's own if None.
            tokenizer: counts the tokens of its zones and contexts, as in :meth:`context`.
            speaker: how a talk of several people names the user: "Ann: ..." is then the user's.

        Raises:
            InvalidInputError: naming the argument.
        """
        import uuid

        from spector.arguments import parse_speaker
        from spector.providers import token_counter
        from spector.session import SessionKey

        parts = self._parts
        parts.access.ensure()
        scopes: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id}
        named = uuid.uuid4().hex if session_id is None else session_id
        for name, value in (*scopes.items(), ("session_id", named)):
            check_scope(value, name, parts.config)
        ranking = None if profile is None else get_profile(profile)
        counter = token_counter(tokenizer)
        state = parts.sessions.state(SessionKey(user_id, agent_id, named), counter)
        state.speaker = parse_speaker(speaker) or state.speaker
        return self._session_of(state, ranking, tokenizer)

    @verb
    def sessions(self) -> list[Session]:
        """The live sessions of this process, in the order in which they began."""
        self._parts.access.ensure()
        return [self._session_of(each) for each in self._parts.sessions.states()]

    @verb
    def reflect(
        self,
        steps: str | Iterable[str] | None = None,
        *,
        dry_run: bool = False,
        max_seconds: float | None = None,
        max_llm_calls: int | None = None,
        progress: Callable[[str, int, int | None], None] | None = None,
    ) -> ReflectReport:
        """Sleep: strengths decay, what is used grows, what is dull becomes dormant; then upkeep.

        Nothing is deleted but what was forgotten before or given an expiry. A cycle works in units
        of ``Config.sleep.batch_records``, each one commit: a later call goes on with one that was
        cut short, and the result is the same. :meth:`reflect_undo` takes a cycle back.

        Args:
            steps: one step or several; all of ``Config.sleep.steps`` if left out. "upkeep" seals,
                compacts and orders the files, and erases what was forgotten or replaced
                ``Config.erase_after_s`` ago (a day): ``report.compaction.receipt``. A damaged
                partition raises nothing; ``report.compaction.failed`` names it.
            dry_run: change nothing; ``report.proposals`` has what would change, and why.
            max_seconds: end after a unit, or in upkeep a partition, when this time is over;
                ``report.finished`` is then False.
            max_llm_calls: calls of a chat model in this cycle; rules do what is beyond.
            progress: called with (step, memories seen so far, None).

        Raises:
            InvalidInputError: there is no such step.
        """
        return self._parts.sleeper.reflect(
            steps,
            dry_run=dry_run,
            max_seconds=max_seconds,
            max_llm_calls=max_llm_calls,
            progress=progress,
        )

    @verb
    def reflect_undo(self, cycle: int) -> ReflectReport:
        """Take a cycle back: strengths, flags and tiers as before, what it made is forgotten.

        Cycles stay on record for ``Config.sleep.undo_days``. The newest comes first. What was
        changed or erased since stays as it is: ``report.kept``. When nothing was written since,
        every answer is that of before the cycle.

        Args:
            cycle: ``report.cycle`` of the cycle.

        Raises:
            InvalidInputError: the cycle is not on record, or a later one is.
        """
        return self._parts.sleeper.reflect_undo(cycle)

    def _session_of(self, state: Any, profile: Any = None, tokenizer: Any = None) -> Session:
        from spector.session import Session

        registry, memory = self._parts.sessions, cast("Remembering", self)
        found: Session = registry.handle(state, lambda: Session(memory, state, registry))
        found.prefer(profile, tokenizer)
        return found
