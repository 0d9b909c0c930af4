"""``Memory``: the public verbs. Each says what it guarantees; its work is done by one part."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack, cast

from numpy.typing import ArrayLike

from spector.arguments import (
    check_scope,
    id_of,
    parse_as_of,
    parse_integer,
    parse_sorts,
    parse_switch,
    parse_truth,
)
from spector.errors import InvalidInputError, UnknownRecordError
from spector.facets import Faceted
from spector.kernel.contract import ScoringProfile, get_profile
from spector.layout import Flag
from spector.messages import made_by, no_attribute, with_hints, with_keywords
from spector.process import Operation, Steps, at_exit, verb
from spector.records import (
    MAX_PROBLEMS,
    BackupReport,
    CheckReport,
    CompactionReport,
    ForgetReport,
    HitList,
    MemoryRecord,
)
from spector.search import EVERYTHING_SAID, TRUSTED_S, parse_page, until
from spector.write import Memories, MemoryFields, Named

if TYPE_CHECKING:
    from spector.config import Layout
    from spector.parts import Parts
    from spector.recall import Context, ContextArguments, RareArguments, RecallOptions
    from spector.records import (
        Episode,
        Judgement,
        MemoryList,
        NamespaceSummary,
        ObserveResult,
        ReflectReport,
        Statement,
        UserSummary,
    )
    from spector.session import Remembering, Session
    from spector.sleep import ReflectDaemon
    from spector.store.catalog import Scope


#: called with (done, in total); the total may be unknown
Progress = Callable[[int, int | None], None]
KnownProgress = Callable[[int, int], None]
Range = tuple[datetime | str | None, datetime | str | None]
Path = str | os.PathLike[str]
Id = str | None


@with_hints
class Memory(Faceted):
    """One agent's memory. Made by :func:`spector.open`; thread-safe; a context manager.

    Verbs that name a memory take its ``id``, a hit or a record. ``user_id``, ``agent_id`` and
    ``session_id`` are then a guard: a memory outside of this scope is unknown to the verb, in the
    same words as an id that never was. Every error derives from :class:`spector.SpectorError`.
    """

    @made_by("spector.open(path)")
    def __init__(self, *, parts: Parts) -> None:
        self._parts, self._calls = parts, parts.calls
        self.path, self.dim = parts.path, parts.dim
        parts.finder.serve_attachments(self)
        at_exit(self, lambda memory: memory._parts.lifetime.end(memory))

    @property
    def daemon(self) -> ReflectDaemon:
        """Background sleep; does nothing until ``memory.daemon.start()``."""
        return self._parts.daemon

    def _guard(self, user_id: Id, agent_id: Id, session_id: Id, *, write: bool = True) -> Scope:
        """The scope that a verb may not leave, of a memory that it may use."""
        self._parts.access.ensure(write=write)
        return self._parts.listing.scope(user_id, agent_id, session_id)

    @verb
    @with_keywords(MemoryFields)
    def remember(
        self,
        text_or_message: str | Mapping[str, Any] | None = None,
        *,
        text: str | None = None,
        scopes_from_message: bool = False,
        **fields: Unpack[MemoryFields],
    ) -> MemoryRecord:
        """Store one memory and return it; the next recall finds it.

        Args:
            text_or_message: a text, or a message as chat models write it (``role``, ``content``).
            text: the same text under the name that items of :meth:`remember_many` have for it.
            tier: "episodic" (default), "semantic", "procedural", "working", or one of yours.
            importance, arousal, confidence: 0..1. valence: -1..1.
            event_time: when it happened, an aware datetime or ISO 8601 string; now by default.
            valid_from, valid_until: recall returns it only within this window.
            metadata: a JSON object, for ``where`` filters. ``speaker`` in it names the speaker, who
                is otherwise taken from ``role`` or from a text like "Ann: hello".
            session_id, agent_id, user_id: scopes; a recall with one of them never leaves it.
            scopes_from_message: a message may have scopes that the call leaves open.
            vector: (dim,) floats; embedded from the text if absent.
            unresolved: an open matter, until :meth:`resolve`. parents: what it was made from.
            supersedes: the memory or memories that this one replaces. Their validity ends in the
                same commit when this one's begins: recall leaves them out, except as of an earlier
                time, and :meth:`history` has them. "auto" replaces what the text surely contradicts
                (see ``record.decision``). To correct what never was true, use :meth:`update`.
            key, namespace: a name of your own for it, unique within ``user_id``, ``agent_id`` and
                the labels of ``namespace``; :meth:`get`, :meth:`update`, :meth:`forget` take it. A
                memory that has it already is replaced in one commit: its id, time of recording and
                versions stay, all else is as given or its default. 1 to 512 bytes, as they are.
            if_revision: the ``revision`` that the memory with the key must have, 0 for none.
            expires_in, expires_at, refresh: seconds, or a time, after which no read returns it;
                with ``refresh`` each recall begins ``expires_in`` anew.
            attachment: bytes or a JSON value, up to ``Config.max_attachment_bytes``; neither
                embedded nor searched. ``record.attachment()`` reads it; tuples become lists.
            aliases: up to 32 names of what it is about. A cue that is little more than one of them
                (a typo is allowed in longer names) finds it first. Kept as ``metadata["aliases"]``.

        Raises:
            InvalidInputError: naming the argument; here and below, nothing was stored.
            UnknownRecordError, ImmutableRecordError, SupersededRecordError: one of ``supersedes``
                does not exist for this ``user_id``, must not change, or has been superseded before.
            ConflictError: the key has another revision; ``.current`` is the memory that has it.
            EmbeddingError, StoreError: no vector could be made, or the store cannot be written.
        """
        self._parts.access.ensure(write=True)
        may_fill = parse_switch(scopes_from_message, "scopes_from_message")
        return self._parts.writer.remember(text_or_message, fields, may_fill, text)

    @verb
    def update(
        self,
        target: Named | None = None,
        *,
        key: str | None = None,
        namespace: str | Iterable[str] = (),
        if_revision: int | None = None,
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
        move_to: Mapping[str, str | None] | None = None,
        **changes: Any,
    ) -> MemoryRecord:
        """Correct a memory under the same id. Keywords as in :meth:`remember`, and ``text``.

        The old version counts as never having been, for recalls as of an earlier time as well. For
        what was true and is no longer, use ``remember(..., supersedes=id)``. A new text is embedded
        and read again; the old one and its facts are gone at once, from files by :meth:`compact`.
        None clears metadata, aliases, an attachment, a bound or an end; new metadata keep the
        aliases. The end of what a memory supersedes follows its ``event_time`` or ``valid_from``.

        Args:
            key, namespace: of the memory, in place of ``target``; a key moves along.
            if_revision: of a memory with a key: its ``revision``, or the call is refused.
            user_id, agent_id, session_id: a guard; they change nothing.
            move_to: the memory's new scopes, ``{"user_id": "b"}``; None removes one. Under a guard
                a memory keeps its user.

        Raises:
            UnknownRecordError, ImmutableRecordError, InvalidInputError, ConflictError: nothing was
                changed. SupersededRecordError: of one that has been superseded, ``valid_until`` was given.
        """
        scope = self._guard(user_id, agent_id, session_id)
        try:
            named = self._parts.finder.named(target, key, namespace, scope)
        except UnknownRecordError:
            from spector.write import refuse_missing

            refuse_missing(key, if_revision)
            raise
        reads = "text" in changes and self.facts._is_read(named)
        found = self._parts.updater.update(named, changes, move_to, scope, if_revision)
        return self.facts._read_anew(found) if reads else found

    @verb
    def forget(
        self,
        target: Memories | ForgetReport | Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        namespace: str | Iterable[str] | None = None,
        if_revision: int | None = None,
        purge: bool = False,
        verify: bool = False,
        include_protected: bool = False,
        skip_protected: bool = False,
        cascade: bool = True,
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
        **selection: Any,
    ) -> ForgetReport:
        """Forget memories: at once for every reader, and later from the files.

        Their bytes are erased by ``purge=True``, :meth:`compact`, or the first :meth:`reflect`
        after ``report.due``. What they superseded stays superseded; see :meth:`reinstate`.

        Args:
            target: an id, hit or record, several of them, the report of another ``forget``, or a
                metadata filter (like ``where``).
            key, namespace: the key of one memory, in place of ``target``. A salted hash of the key
                is kept, so that an import does not bring it back; ``purge`` erases that, too.
            if_revision: the one memory must have this ``revision``.
            purge: erase them, and all that was forgotten before, from every file before returning;
                ``report.receipt`` says what was done and what cannot be.
            verify: with ``purge``: search every byte of every file for their texts, metadata, tags,
                labels and vectors. Refuses ids forgotten before: what to search for is gone.
            include_protected: pinned and immutable ones too.
            skip_protected: of named ids, keep the immutable ones and forget the rest.
            cascade: facts and derived memories go with their last source; False keeps them.
            user_id, agent_id, session_id: with ids a guard, else part of the selection. The receipt
                names memories of this scope only, and none that was forgotten before.
            **selection: tiers, tags, any_tags, time_range, where, key_prefix, below.

        A named id is forgotten even when pinned. ``report.protected`` and the receipt, which is
        then incomplete, say what is kept: with a filter, the pinned and immutable ones.

        Raises:
            UnknownRecordError: an id is unknown; nothing was forgotten.
            ImmutableRecordError: naming ids that are immutable; nothing was forgotten.
            InvalidFilterError: no id and no filter was given.
            CatalogCorruptError: damage hides memories; nothing was forgotten.
        """
        self._parts.access.ensure(write=True)
        return self._parts.forgetting.forget(
            target,
            selection,
            (user_id, agent_id, session_id),
            key=key,
            namespace=namespace,
            if_revision=if_revision,
            purge=purge,
            verify=verify,
            include_protected=include_protected,
            skip_protected=skip_protected,
            cascade=cascade,
        )

    @verb
    def recall(
        self,
        cue: str | Mapping[str, Any] | None = None,
        *,
        vector: ArrayLike | None = None,
        k: int | None = None,
        offset: int = 0,
        tiers: str | Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        any_tags: Iterable[str] | None = None,
        time_range: Range | None = None,
        where: Mapping[Any, Any] | None = None,
        namespace: str | Iterable[str] | None = None,
        below: bool = False,
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
        as_of: datetime | str | None = None,
        kind: str | None = None,
        profile: str | ScoringProfile | None = None,
        selective: bool = False,
        learn: bool = False,
        options: RecallOptions | None = None,
        **rare: Unpack[RareArguments],
    ) -> HitList:
        """The k memories that should come to mind, best first.

        Args:
            cue: a text or message; None ranks without similarity (by tags, importance, ...). Of a
                cue about the conversation ("what did I say about ...") the topic is looked up.
            vector: (dim,) floats to use instead of embedding the cue.
            k: None for 10, or 20 for an order of events or a summary.
            offset: so many hits of the same order come before the first one: a page.
            tags, any_tags: exact tags; a hit has all of the first, and one of the second.
            time_range: half-open (start, end) of event times; None is open.
            where: metadata filter, applied before ranking; the manual lists its operators.
            namespace, below: of a hit's key; ``below`` also takes what lies within it.
            user_id, agent_id, session_id: scopes that a hit must be of.
            as_of: answer as of that moment: nothing that happened later, validity windows and ages
                as of then, and what has been superseded since. Events that were recorded later are
                included; texts are today's (see :meth:`update`).
            kind: "fact" (a question), "talk" (a situation) or "request" (help is wanted), where the
                wording does not show it; it decides how much words count.
            profile: a preset's name or a :class:`ScoringProfile`.
            selective: only the memories that a context would quote, at most k; none for small talk
                or when no memory seems to answer (``Config.abstain_below``): then ``.abstained`` is
                True and ``.reason`` says why.
            learn: strengthen the hits as used memories. Otherwise recall changes nothing, and the
                same cue at the same time gives the same answer (with ``exact``; an estimate may
                differ once an index has been built or rebuilt).
            options: a :class:`RecallOptions`, for many calls.
            **rare: the fields of ``options``; a keyword wins over the same field.

        Returns:
            A list of hits with ``.stats``: how many records each phase of the scan dropped;
            ``.notes``, as of a shortened cue; and ``.layers``, what layers of yours recall.

        Raises:
            InvalidInputError: naming the argument; its subclass says which kind.
        """
        self._parts.access.ensure(write=parse_switch(learn, "learn"))
        return self._parts.with_layers(
            self._parts.recaller.recall(
                cue,
                vector,
                k,
                as_of,
                kind,
                profile,
                selective,
                learn,
                options,
                rare,
                offset=offset,
                tiers=tiers,
                tags=tags,
                any_tags=any_tags,
                time_range=time_range,
                where=where,
                namespace=namespace,
                below=None if below is False else below,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
            )
        )

    @verb
    def context(
        self,
        cue: str | Mapping[str, Any] | None = None,
        *,
        max_tokens: int = 1000,
        k: int | None = None,
        tokenizer: str | Callable[[str], int] | None = None,
        layout: Layout = "compact",
        ids: bool = False,
        always: bool | Literal["pinned"] = False,
        learn: bool = False,
        **recall: Unpack[ContextArguments],
    ) -> Context:
        """Memories for a cue as one block of text for a prompt, within a budget of tokens.

        Memories stand in the order of time under their dates, one a line, with their words as a
        JSON string: nothing remembered can end its quotation and pose as an instruction. Speaker
        and source are in each line, or said once where all lines share them. Memories that stand
        out are quoted in full (``Config.context_full``), others by the part that the cue is about.
        Left out are those below ``Config.context_abbreviated`` or 0.6 of the best score (``cut``),
        repetitions, and all but two where an answer is doubtful (``Config.context_sure``).

        Args:
            max_tokens: upper limit for the whole text, by the tokenizer that counts.
            k: memories that are considered; None for 20, or 40 as for :meth:`recall`.
            tokenizer: an OpenAI model or encoding for exact counts (needs ``spector-memory[tokens]``), a
                function from a str to its number of tokens, or None for an estimate.
            layout: "compact", or "full" with ids, times of day, sessions, speaker and source in
                every line, at two to seven times as many tokens beside the words.
            ids: compact lines begin with the ids of their memories.
            always: True looks for memories even for small talk ("thanks!"), and quotes the best
                ones even when none seems to answer. "pinned" quotes the pinned memories that pass
                the filters before all others, newest first, in a section of their own.
            learn: mark the memories quoted for the cue as used. hot: True quotes the memories of
                :meth:`hot` first. knowledge: True adds concepts that the hits bring to mind.
            **recall: any other argument of :meth:`recall`, ``options`` included.

        Returns:
            ``.text`` (also ``str()``), ``.tokens``, ``.hits``, ``.skipped``, ``.reason`` of none.
        """
        self._parts.access.ensure(write=parse_switch(learn, "learn"))
        return self._parts.recaller.context(
            cue, max_tokens, k, tokenizer, layout, ids, always, learn, self._foreseen(recall)
        )

    @verb
    def get(
        self,
        target: Named | None = None,
        *,
        key: str | None = None,
        namespace: str | Iterable[str] = (),
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
    ) -> MemoryRecord:
        """One memory by id, or by its key, as it is now, its bytes verified.

        With a guard its ``parents``, ``supersedes`` and ``superseded_by`` name no memory outside.

        Raises:
            UnknownRecordError: there is none. PartitionCorruptError: its bytes are damaged.
        """
        scope = self._guard(user_id, agent_id, session_id, write=False)
        return self._parts.finder.get_named(id_of(target), key, namespace, scope)

    @verb
    def history(
        self, target: Named, *, user_id: Id = None, agent_id: Id = None, session_id: Id = None
    ) -> list[MemoryRecord]:
        """A memory's earlier and later versions, at any distance, and itself; oldest first.

        Forgotten versions, and links that lead out of a guard's scope, are left out.
        """
        scope = self._guard(user_id, agent_id, session_id, write=False)
        return self._parts.finder.history(id_of(target), scope)

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
        return self._parts.observing.judge(old, new)

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

    def __iter__(self) -> Iterator[MemoryRecord]:
        return self.records()

    def __bool__(self) -> bool:
        return True  # however few memories there are

    @verb
    def __len__(self) -> int:
        self._parts.access.ensure()
        return len(self._parts.keeper)

    @verb
    def __contains__(self, target: object) -> bool:
        """Whether a memory exists, by its id, a hit or a record."""
        self._parts.access.ensure()
        try:
            self._parts.finder.find(id_of(target))
        except (UnknownRecordError, InvalidInputError):  # the second: it is not an id at all
            return False
        return True

    @verb
    def compact(
        self,
        *,
        threshold: float = 0.0,
        dry_run: bool = False,
        verify: Iterable[str | bytes] = (),
        progress: KnownProgress | None = None,
        user_id: Id = None,
        agent_id: Id = None,
        session_id: Id = None,
    ) -> CompactionReport:
        """Rebuild partitions without their tombstones and erase forgotten text from every file.

        ``report.receipt`` says what was erased; None when nothing was due. A damaged partition
        raises nothing: it stays as it is, ``report.failed`` says why and what to do, and
        ``report.erased`` is False.

        Args:
            threshold: only partitions with a larger share of tombstones; 0 takes all that have any.
            dry_run: change nothing, report what would be reclaimed; not together with ``verify``.
            verify: names, phrases or bytes (4 at least) to search every byte of every file for, and
                the full text: ``report.receipt.verification``. What living memories contain as well
                is counted under ``shared``, and ``living`` names them.
            progress: called with (partitions done, partitions due).
            user_id, agent_id, session_id: the receipt names living memories of this scope only, and
                no forgotten ones. The files belong to all, so what is compacted stays the same.
        """
        self._parts.access.ensure(write=not (dry_run := parse_truth(dry_run, "dry_run")))
        scope = self._parts.listing.scope(user_id, agent_id, session_id)
        return self._parts.keeper.compact(
            threshold, dry_run=dry_run, verify=verify, progress=progress, scope=scope
        )

    @verb
    def checkpoint(self) -> None:
        """Make the partitions durable and empty the journal; also happens by itself.

        What was written before is then safe from a power cut, in relaxed mode, too.
        """
        self._parts.access.ensure(write=True)
        self._parts.keeper.checkpoint()

    @verb
    def check(
        self, *, progress: KnownProgress | None = None, limit: int | None = MAX_PROBLEMS
    ) -> CheckReport:
        """Prove that the store is whole: headers, checksums, rows, counts, tags, full text.

        Args:
            limit: problems to list; the rest is counted (``CheckReport.unlisted``). None lists all.
        """
        self._parts.access.ensure()
        return self._parts.keeper.check(progress, limit)

    @verb
    def stats(
        self, *, user_id: Id = None, agent_id: Id = None, session_id: Id = None
    ) -> dict[str, Any]:
        """What the store holds and knows, where, and which kernel serves; JSON-ready.

        With a scope: how many memories of it there are, by tier; figures about all are left out.
        """
        self._parts.access.ensure()
        return self._parts.stats(self._parts.listing.labels(user_id, agent_id, session_id))

    @verb
    def backup(
        self, dest: Path, *, force: bool = False, progress: KnownProgress | None = None
    ) -> BackupReport:
        """Copy the store as it is now to the directory ``dest``, while writes go on.

        The copy is a store like any other, with the same id. It appears verified and at once, or
        not at all. A backup of this store at ``dest`` that was never opened for writing is
        replaced: unchanged partitions are taken over from it, and if nothing has changed, it is
        verified and kept. The working tier is not part of it.

        Args:
            force: also replace a backup with changes that this store does not have: of a later
                state, or of another copy that went its own way.
            progress: called with (bytes done, bytes in total).

        Raises:
            StoreExistsError: something else is at ``dest``, or such a backup. InvalidInputError:
                it is in the store.
            StoreFullError, PartitionCorruptError, CatalogCorruptError: ``dest`` is as it was.
        """
        self._parts.access.ensure()
        return self._parts.keeper.backup(dest, force=force, progress=progress)

    @verb
    def export(
        self,
        target: Path,
        *,
        vectors: bool | None = None,
        overwrite: bool = False,
        skip_damaged: bool = False,
        progress: Progress | None = None,
        **selection: Any,
    ) -> int:
        """Write all that was stored and made, or ``sorts`` of it, as JSON lines; returns how many.

        Args:
            target: a path outside of the store; the file appears whole or not at all.
            vectors: also write each vector; by default only in a store without an embedder.
            overwrite: replace the file or link that is at ``target``.
            skip_damaged: leave out memories whose bytes are damaged, and warn with their ids,
                instead of raising.

        Raises:
            StoreExistsError: a file is at ``target``; it was left alone.
            InvalidInputError: ``target`` is in a store, or is not a file.
        """
        self._parts.access.ensure()
        return self._parts.exchange.export(
            target,
            selection,
            vectors=vectors,
            overwrite=overwrite,
            skip_damaged=skip_damaged,
            progress=progress,
            count=self._parts.keeper.stored,
        )

    @verb
    def import_(
        self,
        source: Path,
        *,
        change: Callable[[dict[str, Any]], Any] | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
        timezone: Any = None,
        if_forgotten: Literal["skip", "store"] = "skip",
        scopes_from_message: bool = False,
    ) -> list[MemoryRecord]:
        """Read memories that :meth:`export` wrote (or JSON lines with the same keys).

        They get new ids, and so does what is known of them; a fact or concept that the store has
        gains the line's sources, and a memory whose key it has stays as it is. Parents follow if
        they stand further up. Strength, use and flags are restored; ``recorded_at`` is the time of
        the import. A vector is taken when the same model made it, or when neither side knows a
        model; otherwise the text is embedded again.

        Args:
            change: from a line's dictionary to the one to import, or to None; called twice a line.
            limit: read at most this many lines. timezone: of times in them that name no zone.
            if_forgotten: "store" brings back what was forgotten by its key and not purged.
            scopes_from_message: lines without ``recorded_at``, which no export wrote, keep the
                ``user_id`` and ``agent_id`` that they name. A warning names what is left out.

        Raises:
            ImportFormatError: naming the line; nothing is stored.
            ModelMismatchError: vectors of another model, and no embedder to make new ones.
        """
        self._parts.access.ensure(write=True)
        return self._parts.exchange.import_(
            source,
            change,
            limit,
            progress,
            timezone,
            if_forgotten,
            scopes_from_message=scopes_from_message,
        )

    def close(self) -> None:
        """Checkpoint, close every file and release the lock. Idempotent.

        Calls in other threads end first, with their result or a :class:`spector.StoreClosedError`;
        one in code of yours, as an embedder, is not waited for. An interrupt does not prevent it.
        In a signal handler, or in a call's progress, it happens as soon as that call has ended.
        """
        self._parts.lifetime.close()

    def __del__(self, _is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        parts = getattr(self, "_parts", None)
        if parts is not None:
            parts.lifetime.drop(self, is_finalizing=_is_finalizing())

    def __copy__(self) -> Self:
        """The memory itself: there is one of each store. Deep copies and pickles are refused."""
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({self.path!r}, mode={self._parts.access.mode!r}, dim={self.dim})"

    if not TYPE_CHECKING:  # a checker would take every name for one that there is

        def __getattr__(self, name: str) -> NoReturn:
            known = [each for each in dir(type(self)) if not each.startswith("_")]
            raise no_attribute(type(self).__name__, name, known)
