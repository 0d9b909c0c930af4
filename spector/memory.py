"""``Memory``: the public verbs. Each lists its stages in order; the stages live below."""

from __future__ import annotations

import contextlib
import heapq
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack

from numpy.typing import ArrayLike

from spector.arguments import (
    SCOPES,
    check_scope,
    id_of,
    parse_always,
    parse_as_of,
    parse_budget,
    parse_cue,
    parse_directory,
    parse_k,
    parse_kind,
    parse_layout,
    parse_limit,
    parse_move,
    parse_number,
    parse_path,
    parse_switch,
    parse_tags,
    parse_vector,
)
from spector.clock import CheckedClock, Clock, from_ms, iso_of_ms
from spector.config import Config, Layout
from spector.errors import (
    ImmutableRecordError,
    InvalidFilterError,
    InvalidInputError,
    PartitionCorruptError,
    SpectorError,
    StoreClosedError,
    StoreReadOnlyError,
    UnknownRecordError,
)
from spector.exchange import Vectors, export_lines, import_lines
from spector.kernel import ParallelKernel, kernel_info
from spector.kernel.contract import ScoringProfile, get_profile
from spector.language.cues import split
from spector.language.statements import (
    may_instruct,
    may_stand,
    speaker_in,
    speaker_opening,
    words_of,
)
from spector.layout import CERTAIN, Flag
from spector.messages import (
    counted,
    function_or_none,
    items_of,
    made_by,
    no_attribute,
    reading,
    refuse_unknown,
    truth,
    with_hints,
)
from spector.process import (
    Calls,
    Sole,
    Steps,
    at_exit,
    completed,
    each_elsewhere,
    entry,
    let_all_go,
    verb,
)
from spector.providers import CachedEmbedder, Embedder, ImportanceScorer, embedded, token_counter
from spector.recall import (
    CROWD,
    DEPTH,
    Context,
    ContextBuilder,
    RareArguments,
    RecallArguments,
    RecallOptions,
    centroid,
    cut_of,
    gate,
    hypotheses,
    intent_in,
    merged,
    newness_of,
    options_of,
    refuse_strange,
    selected,
    unneeded,
    with_intent,
)
from spector.records import (
    MAX_PROBLEMS,
    NOT_GIVEN,
    BackupReport,
    CheckReport,
    CompactionReport,
    ForgetReport,
    Hit,
    HitList,
    MemoryRecord,
    Purged,
    ReflectReport,
    UserSummary,
)
from spector.search import Searcher
from spector.search.evidence import Probes
from spector.search.selection import asks_for_now
from spector.search.view import (
    EVERYTHING,
    RecallRequest,
    Selection,
    asked_topic,
    by_importance,
    confine,
    make_selection,
    pinned_request,
    until,
    usual_k,
)
from spector.sleep import ReflectDaemon, reflect_once
from spector.store.backup import copy_store, file_beside
from spector.store.catalog import ANYBODY, Scope, SqlFilter, members, newer_than
from spector.store.core import current_image, header_of, to_record
from spector.store.erasure import Needles, due_of
from spector.store.files import Bytes
from spector.store.integrity import check_settled, refuse_damage, walk
from spector.store.opening import OpenedStore
from spector.tiers import TierRouter
from spector.upkeep import compact_all, count_of, has_one_user, receipt_within, tiers_of, users_of
from spector.write import (
    FIELDS,
    Draft,
    Writer,
    draft_words,
    make_draft,
    unknown,
    with_aliases,
)

__all__ = ["Memory"]

Progress = Callable[[int, int | None], None]
#: what a memory is given once and for all
_ONCE = frozenset({"tier", "parents", "supersedes"})
#: the arguments of a recall that say which memories are meant
_SELECTING = ("tiers", "tags", "any_tags", "time_range", "where", *SCOPES)
#: tokens that a quoted memory takes at least
_LEAST_OF_LINE = 4
#: instructions without a condition that a context has room for at most
_RULES = 16
#: seconds for which a proof that the catalog's tables agree is enough for what an index leads to
_TRUSTED_S = 60.0
#: threads that have called a verb of any memory
_users: set[int] = set()
#: seconds that the end of the interpreter waits for a cycle of sleep
_EXIT_S = 5.0
_WHOSE = "everything about a user is asked for, and the memories are of several: pass user_id"
Range = tuple[datetime | str | None, datetime | str | None]
#: one memory: what any verb returns of it, or its id
Named = int | Hit | MemoryRecord
#: one memory, or several
Memories = Named | Iterable[Named]


@with_hints
class Memory(Sole):
    """One agent's memory. Made by :func:`spector.open`; thread-safe; a context manager.

    Verbs that name a memory take its ``id``, a hit or a record. Given ``user_id``, ``agent_id`` or
    ``session_id`` as well, they are a guard: a memory that has not exactly these is unknown to the
    verb, in the same words as an id that never was. Every error derives from
    :class:`spector.SpectorError`.
    """

    @made_by("spector.open(path)")
    def __init__(
        self,
        router: TierRouter,
        opened: list[OpenedStore],
        *,
        path: str,
        embedder: Embedder | None,
        importance: ImportanceScorer | None,
        clock: Clock,
        config: Config,
        profile: ScoringProfile,
        durability: str,
        mode: str,
        threads: int,
    ) -> None:
        self._calls = Calls(path)
        self._router = router
        self._opened = opened
        self._embedder = embedder
        self._clock = clock
        checked = CheckedClock(clock)
        self._now_ms = checked.now_ms
        self._config = config
        self._profile = profile
        self._durability = durability
        self._mode = mode
        self.path = path
        self.dim = opened[0].store.dim
        self._writer = Writer(
            router, embedder=embedder, importance=importance, clock=checked, config=config,
            dim=self.dim, opens=speaker_opening,
        )
        self._probes = Probes(embedder)
        self._kernel = ParallelKernel(kernel := opened[0].store.kernel, threads)
        # past the cache, whose place is for cues
        model = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
        embed = None if model is None else partial(embedded, model)
        self._reader = Searcher(router, self._kernel, kernel, config, embed=embed)
        self._vectors = Vectors(
            dim=self.dim, fingerprint=opened[0].store.meta.get("fingerprint") or "",
            can_embed=embedder is not None,
        )
        #: background sleep; does nothing until ``memory.daemon.start()``
        self.daemon = ReflectDaemon(_cycle_of(self), router, config)
        at_exit(self, Memory._end)
        for each in opened:
            each.store.catalog.has_owner = True

    # -- write --------------------------------------------------------------------------------

    @verb
    def remember(
        self,
        text_or_message: str | Mapping[str, Any],
        *,
        tier: str | None = None,
        tags: Iterable[str] | None = None,
        importance: float | None = None,
        valence: float | None = None,
        arousal: float | None = None,
        event_time: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_until: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        source: str | None = None,
        confidence: float | None = None,
        pinned: bool | None = None,
        vector: ArrayLike | None = None,
        immutable: bool | None = None,
        unresolved: bool | None = None,
        category: str | int | None = None,
        modality: str | int | None = None,
        role: str | None = None,
        parents: Memories | None = None,
        supersedes: Memories | None = None,
        aliases: str | Iterable[str] | None = None,
    ) -> MemoryRecord:
        """Store one memory and return it; it is visible to the next recall.

        Args:
            text_or_message: a text, or a message ``{"role": ..., "content": ...}``.
            tier: "episodic" (default), "semantic", "procedural", "working", or one of yours.
            importance, arousal, confidence: 0..1. valence: -1..1.
            event_time: when it happened; now if absent. Aware datetime or ISO 8601 string.
            valid_from, valid_until: outside of this window recall does not return it.
            metadata: a JSON object, for ``where`` filters. Its ``speaker`` is who said it; without
                it and without ``role`` that is read from a text like "Ann: hello".
            session_id, agent_id, user_id: scopes; a recall with one of them never leaves it.
            parents: ids, hits or records of what this one was made from, of any user. They are kept
                as numbers; nothing is read through them.
            vector: (dim,) floats; embedded from the text if absent.
            unresolved: marks an open matter, until :meth:`resolve`.
            supersedes: id, hit or record of what this one takes the place of, or several. In the
                same commit those end when this one begins (``valid_from``, else ``event_time``,
                else now): recall leaves them out, except as of an earlier time, and
                :meth:`history` has them all. To correct what never was true, :meth:`update` it.
            aliases: names of what it is about, up to 32. A cue that is hardly more than
                one, one typo allowed in a name of five letters, finds it first; in any other cue
                they count as its words. Kept as ``metadata["aliases"]``.

        Raises:
            InvalidInputError: naming the argument; nothing was stored.
            UnknownRecordError, ImmutableRecordError, SupersededRecordError: one of ``supersedes``
                is not there or not of this ``user_id``, must not change, or has been superseded
                before; nothing was stored.
            EmbeddingError: no vector could be made; nothing was stored.
            StoreError: the store cannot be written.
        """
        given = {
            "tier": tier, "tags": tags, "importance": importance, "valence": valence,
            "arousal": arousal, "event_time": event_time, "valid_from": valid_from,
            "valid_until": valid_until, "metadata": metadata, "session_id": session_id,
            "agent_id": agent_id, "user_id": user_id, "source": source,
            "confidence": confidence, "pinned": pinned, "vector": vector,
            "immutable": immutable, "unresolved": unresolved, "category": category,
            "modality": modality, "role": role, "parents": parents, "supersedes": supersedes,
            "aliases": aliases,
        }
        self._ensure(write=True)
        return self._remember([self._draft(text_or_message, given)])[0]

    @verb
    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        progress: Progress | None = None,
        **common: Any,
    ) -> list[MemoryRecord]:
        """Store many memories; keywords apply to every item that does not say otherwise.

        Items are committed in batches of ``Config.batch_records``, each all or nothing. A bad item
        raises its error after the batches before it were committed; the error's notes say how many.

        Args:
            items: texts, messages, or dictionaries with the keys of :meth:`remember`.
            progress: called after each commit with (stored so far, total or None).
        """
        self._ensure(write=True)
        refuse_unknown(common, FIELDS, "remember_many")
        function_or_none(progress, "progress")
        if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
            raise InvalidInputError(
                f"remember_many takes several memories, got one {type(items).__name__}",
                hint="pass a list of them, or use remember for one",
            )
        with reading("items"):
            total = len(items) if isinstance(items, Sized) else None
        out: list[MemoryRecord] = []
        batch: list[Draft] = []

        def commit() -> None:
            out.extend(self._remember(batch))
            batch.clear()
            if progress is not None:
                progress(len(out), total)

        try:
            for item in each_elsewhere(items):  # what it raises is its own
                plain = type(item) is dict or isinstance(item, Mapping)
                message = item
                if common and plain:
                    with reading("items"):
                        message = {**common, **item}  # type: ignore[dict-item]
                batch.append(self._draft(message, {} if plain else common))
                if len(batch) == self._config.batch_records:
                    commit()
            if batch:
                commit()
        except SpectorError as error:
            error.add_note(
                f"item {len(out) + len(batch)} or later failed; the first {len(out)} are stored"
            )
            raise
        return out

    @verb
    def update(
        self,
        target: Named,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        move_to: Mapping[str, str | None] | None = None,
        **changes: Any,
    ) -> MemoryRecord:
        """Change fields of a memory under the same id. Keywords as in :meth:`remember`, and text.

        An update corrects: the old version is as if it had never been, for recalls as of an
        earlier time as well. What was true and is no longer is told by
        ``remember(..., supersedes=id)`` instead. A new text is embedded again. The old version is
        gone from recall at once and from the files after :meth:`compact`. Pass None to clear
        metadata, aliases or a validity bound; other metadata leave the aliases as they are.

        What a memory supersedes ends when it begins, so it follows a change of ``event_time`` or
        ``valid_from``.

        Args:
            user_id, agent_id, session_id: a guard, whose the memory must be; they change nothing.
            move_to: the scopes that it gets, ``{"user_id": "b"}``; None takes one away. Under a
                guard a memory keeps its user.

        Raises:
            UnknownRecordError, ImmutableRecordError, InvalidInputError
            SupersededRecordError: ``valid_until`` was given for a memory that has been superseded.
        """
        self._ensure(write=True)
        scope, record_id = self._scope(user_id, agent_id, session_id), id_of(target)
        own = (f for f in FIELDS if f not in _ONCE and f not in SCOPES)
        refuse_unknown(changes, (*own, "text", "move_to", *SCOPES), "update")
        changes.update(parse_move(move_to, self._config))
        if not changes:
            raise InvalidInputError(
                "update was given nothing to change",
                hint=_CHANGE if scope.is_open else _MOVE,
            )
        with _how_to_move(scope):
            before = self._record_of(record_id, scope)
            if before.immutable:
                raise ImmutableRecordError(
                    f"record {before.id} is immutable", hint="remember a new one instead"
                )
            embeds = changes.get("vector") is None and self._embedder is not None
            if embeds:  # before the lock: a model, and more so a server, would keep writers waiting
                with self._opened[0].store.exclusive():
                    draft = self._changed(before, _with_aliases(changes, before))[0]
                words = draft_words(draft)
                vector = self._vector_after(before, changes, words)
                if "text" in changes:
                    self._expect([draft])
            with self._opened[0].store.exclusive():
                known = before
                before = self._record_of(record_id, scope)
                if not scope.is_open and changes.get("user_id", before.user_id) != before.user_id:
                    raise InvalidInputError(
                        "move_to names another user than the guard lets pass",
                        hint="a memory changes its user only by a call without user_id, agent_id"
                        " and session_id",
                    )
                changed = _with_aliases(changes, before)
                draft, earlier = self._changed(before, changed)
                if embeds:
                    after = draft_words(draft)
                    if (after, before.text, before.speaker) != (words, known.text, known.speaker):
                        vector = self._vector_after(before, changed, after)
                    if vector is not None:
                        changed["vector"] = draft.vector = parse_vector(vector, self.dim)
                record = self._writer.update(before.id, changed, draft, scope, earlier=earlier)
        self.daemon.note_writes(1)
        return self._within(record, scope)

    @verb
    def reinforce(
        self,
        target: Named,
        success: bool = True,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> MemoryRecord:
        """Tell that a memory helped (or, with ``success=False``, misled).

        Success strengthens it by the spacing effect and raises its utility; failure weakens both.
        """
        self._ensure(write=True)
        scope = self._scope(user_id, agent_id, session_id)
        record = self._writer.reinforce([id_of(target)], truth(success, "success"), scope)[0]
        self.daemon.note_writes(1)
        return self._within(record, scope)

    @verb
    def pin(
        self,
        target: Named,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> MemoryRecord:
        """Protect a memory from strength floors and from forgetting by filter."""
        scope = self._scope(user_id, agent_id, session_id)
        return self._flag(target, Flag.PINNED, True, scope)

    @verb
    def unpin(
        self,
        target: Named,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> MemoryRecord:
        """Take back what :meth:`pin` did."""
        scope = self._scope(user_id, agent_id, session_id)
        return self._flag(target, Flag.PINNED, False, scope)

    @verb
    def resolve(
        self,
        target: Named,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> MemoryRecord:
        """Close an open matter: clears the mark that ``remember(unresolved=True)`` set."""
        scope = self._scope(user_id, agent_id, session_id)
        return self._flag(target, Flag.UNRESOLVED, False, scope)

    @verb
    def reinstate(
        self,
        target: Named,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> MemoryRecord:
        """Let a superseded memory hold again, once what superseded it has been forgotten.

        It gets back the end of validity that it had before, or none. Forgetting the newer one alone
        does not bring the older one back: that it no longer holds may be true all the same.

        Raises:
            SupersededRecordError: what superseded it is still there.
        """
        self._ensure(write=True)
        scope = self._scope(user_id, agent_id, session_id)
        record = self._writer.reinstate(id_of(target), scope)
        self.daemon.note_writes(1)
        return self._within(record, scope)

    @verb
    def forget(
        self,
        target: Memories | ForgetReport | Mapping[str, Any] | None = None,
        *,
        purge: bool = False,
        verify: bool = False,
        include_protected: bool = False,
        skip_protected: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        **selection: Any,
    ) -> ForgetReport:
        """Forget memories: at once for every reader, from the files with ``purge=True``,
        :meth:`compact`, or the first :meth:`reflect` after ``Config.erase_after_s``; until when,
        ``report.due`` says.

        What a forgotten memory superseded stays superseded, by what superseded the forgotten one
        if there is such a memory; see :meth:`reinstate`.

        Args:
            target: an id, hit or record, several of them, what another ``forget`` returned, or a
                metadata filter (like ``where``).
            purge: also erase them, and whatever else was forgotten, from every file of the store
                before returning; ``report.receipt`` says what was done and what cannot be. Ids may
                then name memories that have been forgotten before and not been erased yet. With a
                filter the whole catalog is checked first, because damage could hide from the filter
                what it should find.
            verify: with ``purge``: afterwards search every byte of every file for their texts,
                metadata, tags, labels and vectors, and the full text for their words. Ids that were
                forgotten before are refused then: their words to search for are gone.
            include_protected: pinned and immutable memories, too.
            skip_protected: of ids that you name, leave the immutable ones and forget the rest.
            user_id, agent_id, session_id: with ids a guard, otherwise part of the selection. The
                receipt then names memories of this scope only; which scope one had that was
                forgotten before, nothing tells any more.
            **selection: tiers, tags, any_tags, time_range, where.

        Ids that you name are forgotten even when pinned. What is kept is in ``report.protected``
        and in the receipt, which is not complete then: with a filter what is pinned or immutable.

        Raises:
            UnknownRecordError: an id is unknown; nothing was forgotten.
            ImmutableRecordError: naming ids that are immutable; nothing was forgotten.
            InvalidFilterError: no id and no filter was given.
            CatalogCorruptError: memories are hidden by damage; nothing was forgotten.
        """
        self._ensure(write=True)
        scope = self._scope(user_id, agent_id, session_id)
        how = {
            "include_protected": parse_switch(include_protected, "include_protected"),
            "skip_protected": parse_switch(skip_protected, "skip_protected"),
        }
        if all(how.values()):
            raise InvalidInputError(
                "include_protected and skip_protected say opposite things",
                hint="pass one of the two",
            )
        if isinstance(target, Mapping):
            if "where" in selection:
                raise InvalidFilterError("a filter was given twice", hint="combine them with and")
            selection["where"], target = target, None
        verify, purge = truth(verify, "verify"), truth(purge, "purge")
        if verify and not purge:
            raise InvalidInputError(
                "verify=True searches for what purge=True has erased", hint="pass both"
            )
        store = self._opened[0].store
        if target is not None:
            if selection:
                raise InvalidFilterError("give either ids or a filter, not both")
            ids = _ids_of(target)
            if purge and not verify and scope.is_open:
                # what is forgotten has left neither words to search for nor whose it was
                ids = [each for each in ids if not self._writer.is_forgotten(each)]
            with store.exclusive():  # what is searched for is what is forgotten
                for each in ids:
                    self._writer.locate(each, scope)
                report, needles = self._forget(ids, purge, verify, named=True, **how)
        else:
            chosen = self._selection({**selection, **_labels(scope)}, "forget")
            if chosen.is_everything:
                raise InvalidFilterError(
                    "forget was given neither ids nor a filter",
                    hint="to empty a store, delete its directory or forget(tiers=[...])",
                )
            with store.exclusive():
                if purge:
                    refuse_damage(store.catalog)
                found = [record.id for record, _ in self._iterate(chosen, proven=True)]
                report, needles = self._forget(found, purge, verify, named=False, **how)
            scope = _scope_of(chosen)
        self.daemon.note_writes(len(report))
        if not purge:
            return report
        receipt = self._erase(0.0, needles=needles, always=True).receipt
        assert receipt is not None, "always"
        receipt = receipt_within(receipt, scope, report.ids, self._router.stores())
        return replace(report, receipt=replace(receipt, protected=report.protected))

    # -- read ---------------------------------------------------------------------------------

    @verb
    def recall(
        self,
        cue: str | Mapping[str, Any] | None = None,
        *,
        vector: ArrayLike | None = None,
        k: int | None = None,
        tiers: str | Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        any_tags: Iterable[str] | None = None,
        time_range: Range | None = None,
        where: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
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
            cue: a text or message; None ranks without similarity (by tags, importance, ...). Of one
                about the conversation ("what did I say about ...") the topic is looked up.
            vector: (dim,) floats to use instead of embedding the cue.
            k: None for 10, or 20 where the answer is put together: an order of events, a summary.
            tags, any_tags: exact tags that a hit must all have / of which it must have one.
            time_range: half-open (start, end) of event times; None is open.
            where: metadata filter, applied before ranking; see the manual for its operators.
            user_id, agent_id, session_id: scopes that a hit must be of.
            as_of: what held at that moment: nothing that happened later, validity windows and ages
                as of then, and what has been superseded since. What was not known then but had
                happened is among it, and memories have their present words: see :meth:`update`.
            kind: what the cue is, if its wording does not tell: "fact" (a question), "talk" (a
                situation) or "request" (help is wanted); it decides how much words count.
            profile: a preset's name or a :class:`ScoringProfile`.
            selective: at most k: those that a context would quote, see there, and none for small
                talk or when no memory seems to answer (``Config.abstain_below``): ``.abstained``,
                and why in ``.reason``.
            learn: let the hits be strengthened as used memories are; otherwise recall changes
                nothing, and the same cue at the same time gives the same answer (with
                ``exact``; an estimate may differ once an index has been built or rebuilt).
            options: a :class:`RecallOptions`, whose fields are described there: gates on valence,
                importance, category and modality, what to include, mood, mmr and other switches.
            **rare: any of those fields; a keyword goes before the same field of ``options``.

        Returns:
            A list of hits with ``.stats``: how many records each phase of the scan dropped; and
            ``.notes``: a cue beyond ``Config.max_cue_bytes`` is read by its first sentence and end.

        Raises:
            InvalidInputError: naming the argument; its subclass says which kind.
        """
        rarely = options_of(options, rare).parsed
        self._ensure(write=parse_switch(learn, "learn"))
        text, notes = parse_cue(cue, self._config)
        selection = self._selection(
            {"tiers": tiers, "tags": tags, "any_tags": any_tags, "user_id": user_id,
             "agent_id": agent_id, "session_id": session_id, "time_range": time_range,
             "where": where},
            "recall",
        )
        topic = asked_topic(text, parse_kind(kind))
        is_survey = topic is not None and topic.is_survey
        mixes = is_survey and not self._is_of_one_user(selection)
        fetched = wanted = parse_k(k, self._config, usual_k(topic, 10))
        if parse_switch(selective, "selective"):
            if text is not None and not (decision := gate(text)).needed:
                return HitList(abstained=True, reason=unneeded(decision))
            fetched = min(max(wanted, CROWD), self._config.max_k)
        selection = until(selection, moment := parse_as_of(as_of))
        drop = rarely.drop_flags
        replaced = moment is not None and bool(drop & Flag.SUPERSEDED)
        like = self._cue_vector(
            text if topic is None else topic.text or None, vector, hyde=rarely.hyde
        )
        weights = self._profile if profile is None else get_profile(profile)
        request = RecallRequest(
            cue=text,
            topic=topic,
            vector=like,
            k=fetched,
            selection=selection,
            profile=by_importance(weights) if is_survey and like is None else weights,
            now_ms=self._now_ms() if moment is None else moment,
            valence=rarely.valence,
            min_importance=rarely.min_importance,
            mood=rarely.mood,
            drop_flags=int(drop & ~Flag.SUPERSEDED) if replaced else drop,
            replaced=replaced,
            mmr=newness_of(rarely, is_survey=is_survey),
            per_session=rarely.per_session,
            probes=self._probes.beside(text, make=selective),
            cut=0.0 if selective else rarely.cut,
            kind=parse_kind(kind),
            newest=text is not None and moment is None and time_range is None
            and asks_for_now(text),
            modality_mask=rarely.modality_mask,
            category_mask=rarely.category_mask,
            exact=rarely.exact,
            lexical=rarely.lexical,
        )
        request = with_intent(request, intent_in(text, rarely.intent))
        if mixes:  # several users' memories are no answer to what is known about one
            notes, hits = (*notes, _WHOSE), HitList(abstained=True, reason=_WHOSE)
        else:
            hits = self._reader.recall(request)
        if rarely.compound and text is not None and topic is None:
            hits = self._with_parts(request, hits)
        hits.notes, hits.is_survey = notes, is_survey
        hits.request = request
        if selective and not mixes:
            hits = selected(hits, wanted, self._config, cut_of(options, rare))
        scope = _scope_of(selection)
        if not scope.is_open:
            confine((*hits, *hits.standing), partial(self._within, scope=scope))
        used = [hit.id for hit in (*hits, *hits.standing)]
        if learn and used:
            self._writer.note_use(used, scope)
        return hits

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
        **recall: Unpack[RecallArguments],
    ) -> Context:
        """Memories for a cue as one block of text for a prompt, within a budget of tokens.

        Memories stand in the order of time under their dates, each a line of its own with its words
        as a JSON string, so that nothing remembered can end its quotation and pose as an
        instruction. Who spoke, and the source, is in each line where the lines differ in it, and
        said once where they do not. Memories that stand out are quoted in full, others
        by the part that the cue is about (``Config.context_full``). The rest is left out
        (``Config.context_abbreviated``), and so is what has less than 0.6 of the best score
        (``cut``), what says the same again, and all but two where an answer is doubtful
        (``Config.context_sure``).

        Args:
            max_tokens: of the whole text; it is never exceeded by the tokenizer that counts.
            k: memories that are considered; None for 20, or 40 as for :meth:`recall`.
            tokenizer: an OpenAI model or encoding for exact counts (needs ``spector[tokens]``), a
                function from a str to its number of tokens, or None for an estimate.
            layout: "compact", or "full": also ids, times of day, sessions, and in every line who
                spoke and the source; it costs two to seven times as many tokens beside the words.
            ids: the compact lines begin with the ids of their memories.
            always: look for memories even when the cue is small talk ("thanks!"), and quote the
                best ones even when none of them seems to answer. "pinned": quote the pinned
                memories that pass the filters before all others, whatever the cue: all that fit,
                newest first, in a section of their own; what is quoted beside them is as usual.
            learn: let the memories that are quoted for the cue count as used.
            **recall: any other argument of :meth:`recall`, ``options`` included.

        Returns:
            ``.text`` (also ``str()``), ``.tokens``, ``.hits``, ``.pinned``, ``.skipped`` and why.
            No memory is quoted for the cue, and ``.reason`` says why, when nothing was found or
            nothing seems to answer.
        """
        refuse_strange(recall)
        self._ensure(write=parse_switch(learn, "learn"))
        budget, (laid_out, with_ids) = parse_budget(max_tokens), parse_layout(layout, ids)
        made = ContextBuilder(token_counter(tokenizer), budget, self._config, laid_out, with_ids)
        text, notes = parse_cue(cue, self._config)
        topic = asked_topic(text, recall.get("kind") or "")
        wanted = parse_k(k, self._config, usual_k(topic, 20))
        ever = parse_always(always)
        pinned = self._pinned(budget, recall) if ever == "pinned" else ()
        small_talk = None if text is None or (decision := gate(text)).needed else decision
        if ever is not True and small_talk is not None:
            return made.empty(unneeded(small_talk), abstained=True, pinned=pinned)
        fetched = min(max(wanted, CROWD), self._config.max_k)
        self._probes.beside(text, make=True)
        cut = cut_of(recall.get("options"), recall)
        recall["cut"] = 0.0  # how far the best stands out is seen by what is behind it
        hits = self.recall(text, k=fetched, **recall)
        rules = () if small_talk else self._always(hits)
        found = made.context(
            hits, text if topic is None else topic.text or text, wanted, cut=cut,
            always=ever is True, rules=rules, pinned=pinned,
        )
        found = replace(found, notes=(*notes, *hits.notes, *found.notes))
        used = list({hit.id: None for hit in (*found.hits, *found.standing)})
        if learn and used:
            scope = Scope(**{name: recall.get(name) for name in SCOPES})  # type: ignore[arg-type]
            self._writer.note_use(used, scope)
        return found

    @verb
    def get(
        self,
        target: Named,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> MemoryRecord:
        """One memory by id, its bytes verified. Of a hit or a record: as it is now.

        With a guard its ``parents``, ``supersedes`` and ``superseded_by`` name no memory outside.

        Raises:
            UnknownRecordError: there is none. PartitionCorruptError: its bytes are damaged.
        """
        self._ensure()
        scope = self._scope(user_id, agent_id, session_id)
        return self._within(self._record_of(id_of(target), scope), scope)

    @verb
    def history(
        self,
        target: Named,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> list[MemoryRecord]:
        """A memory with all that it supersedes and that supersedes it, at any distance: whatever
        is superseded comes before what did so. What has been forgotten is not among them, and
        links that lead out of a guard's scope are left out.

        Raises:
            UnknownRecordError: there is no such memory.
        """
        guard = {"user_id": user_id, "agent_id": agent_id, "session_id": session_id}
        found: dict[int, MemoryRecord] = {}
        ahead = [self.get(target, **guard)]
        while ahead:
            record = ahead.pop()
            found[record.id] = record
            for each in (*record.supersedes, *record.superseded_by):
                if each not in found:
                    with contextlib.suppress(UnknownRecordError):
                        ahead.append(self.get(each, **guard))
        return [found[each] for each in sorted(found)]  # a link leads to a smaller id

    @verb
    def records(
        self, *, as_of: datetime | str | None = None, **selection: Any
    ) -> Iterator[MemoryRecord]:
        """All memories by ascending id, or those of a selection (keywords as in :meth:`forget`).

        Args:
            as_of: only what held at that moment, as :meth:`recall` means it; otherwise superseded
                and expired memories are among them.
        """
        self._ensure()
        chosen = self._selection(selection, "records")
        moment = parse_as_of(as_of)
        found = self._iterate(until(chosen, moment), moment_ms=moment)
        return Steps(self._calls, (record for record, _ in found))

    @verb
    def count(self, **selection: Any) -> int:
        """How many memories there are, or are in a selection (keywords as in :meth:`forget`).

        As many as :meth:`records` yields; their bytes are not read.
        """
        self._ensure()
        chosen = self._selection(selection, "count")
        if chosen.is_everything:
            return len(self)
        condition, trusted_s = self._condition(chosen)
        return sum(
            count_of(store, condition, trusted_s=trusted_s) for store in self._router.stores()
        )

    @verb
    def users(self) -> list[UserSummary]:
        """The users that memories are of, by id: how many, and the times of first and last event.

        Memories without a user are not counted for any of them.
        """
        self._ensure()
        return users_of(self._router.stores(), trusted_s=_TRUSTED_S)

    def __iter__(self) -> Iterator[MemoryRecord]:
        return self.records()

    def __bool__(self) -> bool:
        """True, however few memories there are: a store is not a list of them."""
        return True

    @verb
    def __len__(self) -> int:
        self._ensure()
        return sum(p.live for store in self._router.stores() for p in store.view().partitions)

    @verb
    def __contains__(self, target: object) -> bool:
        """Whether a memory is there, by its id, a hit or a record."""
        self._ensure()
        try:
            self._writer.find(id_of(target))
        except (UnknownRecordError, InvalidInputError):  # the second: it is no id at all
            return False
        return True

    # -- sleep and upkeep -----------------------------------------------------------------------

    @verb
    def reflect(self) -> ReflectReport:
        """One sleep cycle: seal finished partitions, compact the wasteful ones, put the sealed ones
        in order so that recalls skip more, mark them.

        What was forgotten or replaced ``Config.erase_after_s`` ago (a day), or was to be erased by
        a call that was cut short, is erased from every file: ``report.compaction.receipt``.
        A damaged partition raises nothing; ``report.compaction.failed`` names it.
        """
        self._ensure(write=True)
        report = reflect_once(self._router, now_ms=self._now_ms(), config=self._config)
        return replace(report, compaction=self._forget_vectors(report.compaction))

    @verb
    def compact(
        self,
        *,
        threshold: float = 0.0,
        dry_run: bool = False,
        verify: Iterable[str | bytes] = (),
        progress: Callable[[int, int], None] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> CompactionReport:
        """Rebuild partitions without their tombstones and erase forgotten text from every file.

        Args:
            threshold: only partitions whose share of tombstones exceeds it; 0 takes all that have
                any.
            dry_run: change nothing, report what would be reclaimed; not together with ``verify``.
            verify: names, phrases or bytes of at least 4 bytes that no file should hold any more;
                every byte of every file is searched for them afterwards, and the full text for
                their words, see ``report.receipt.verification``. What a living memory says as well
                is counted under ``shared``, and ``living`` names these memories.
            progress: called with (partitions done, partitions due).
            user_id, agent_id, session_id: the receipt names living memories of this scope only,
                and none that was forgotten: whose it was, nothing tells any more. Files belong to
                all, so what is compacted stays the same.

        ``report.receipt`` says what was erased, None when nothing was due. A damaged partition
        raises nothing: it stays as it is, ``report.failed`` says why and how to get rid of what is
        damaged, and ``report.erased`` is False.
        """
        dry_run = truth(dry_run, "dry_run")
        self._ensure(write=not dry_run)
        function_or_none(progress, "progress")
        scope = self._scope(user_id, agent_id, session_id)
        share = parse_number(threshold, "threshold", 0.0, 1.0)
        needles = _needles_given(verify)
        if dry_run and needles is not None:
            raise InvalidInputError(
                "verify searches for what a compaction has erased, and a dry run erases nothing",
                hint="leave one of the two out",
            )
        report = self._erase(share, dry_run=dry_run, progress=progress, needles=needles)
        if report.receipt is None:
            return report
        receipt = receipt_within(report.receipt, scope, (), self._router.stores())
        return replace(report, receipt=receipt)

    @verb
    def checkpoint(self) -> None:
        """Make the partitions durable and empty the journal; also happens by itself.

        What was written before is safe from a power cut afterwards, in relaxed mode, too.
        """
        self._ensure(write=True)
        for store in self._router.stores():
            store.checkpoint()

    @verb
    def check(
        self, *, progress: Callable[[int, int], None] | None = None,
        limit: int | None = MAX_PROBLEMS,
    ) -> CheckReport:
        """Prove that the store is whole: headers, checksums, rows, counts, tags, full text.

        Args:
            limit: problems to list; the rest is counted (``CheckReport.unlisted``). None lists all.
        """
        self._ensure()
        limit = parse_limit(limit)
        function_or_none(progress, "progress")
        durable = self._opened[0].store
        tiers = {tier.code: tier.files for tier in self._router}
        reports = []
        for store in self._router.stores():
            with store.exclusive():
                if not store.files.durable:
                    store.checkpoint()  # it has no journal to look up which slots are due to go
                reports.append(
                    check_settled(
                        store.files, store.catalog, tiers, store.kernel,
                        progress if store is durable else None, limit=limit,
                    )
                )
        return CheckReport(
            problems=tuple(p for r in reports for p in r.problems),
            notes=tuple(n for r in reports for n in r.notes),
            partitions=sum(r.partitions for r in reports),
            records=sum(r.records for r in reports),
            tombstones=sum(r.tombstones for r in reports),
            bytes=sum(r.bytes for r in reports),
            elapsed_ms=sum(r.elapsed_ms for r in reports),
            unlisted=sum(r.unlisted for r in reports),
        )

    @verb
    def stats(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> dict[str, Any]:
        """What the store holds, where, and which kernel serves; JSON-ready.

        With a scope: how many memories of it there are, by tier. Sizes, tombstones, what is due
        for erasure and the counters of cache and daemon are of all, and left out then.
        """
        self._ensure()
        scope = self._scope(user_id, agent_id, session_id)
        if not scope.is_open:
            return self._stats_of(scope)
        durable = self._opened[0].store
        tiers: dict[str, dict[str, int]] = {
            tier.name: {"records": 0, "tombstones": 0, "partitions": 0} for tier in self._router
        }
        for store in self._router.stores():
            for partition in store.view().partitions:
                entry = tiers[self._router.by_code(partition.tier).name]
                entry["records"] += partition.live
                entry["tombstones"] += partition.slots - partition.live
                entry["partitions"] += 1
        sizes = durable.files.sizes() if durable.files.durable else {}
        due = due_of(durable)
        cache = self._embedder.stats() if isinstance(self._embedder, CachedEmbedder) else None
        return {
            "path": self.path,
            "mode": self._mode,
            "durability": self._durability,
            "dim": self.dim,
            "model": durable.meta.get("model_id") or None,
            "records": len(self),
            "tiers": tiers,
            "bytes": {
                "partitions": sum(s for n, s in sizes.items() if n.endswith(".mem")),
                "indexes": sum(s for n, s in sizes.items() if n.endswith((".idx", ".lex"))),
                "catalog": sum(s for n, s in sizes.items() if n.startswith("catalog.db")),
                "total": sum(sizes.values()),
            },
            "kernel": kernel_info(),
            "embedding_cache": None if cache is None else {
                "hits": cache.hits, "misses": cache.misses, "entries": cache.entries,
                "hit_rate": cache.hit_rate,
            },
            "daemon": self.daemon.status(),
            "erasure": {
                "pending": len(due.ids),
                "due": None if due.due_ms is None else iso_of_ms(due.due_ms),
            },
        }

    def _stats_of(self, scope: Scope) -> dict[str, Any]:
        condition, trusted_s = self._condition(self._selection(_labels(scope), "stats"))
        found = tiers_of(self._router.stores(), condition, trusted_s=trusted_s)
        return {
            "path": self.path,
            "mode": self._mode,
            "durability": self._durability,
            "dim": self.dim,
            "model": self._opened[0].store.meta.get("model_id") or None,
            "scope": _labels(scope),
            "records": sum(found.values()),
            "tiers": {tier.name: {"records": found.get(tier.code, 0)} for tier in self._router},
            "kernel": kernel_info(),
        }

    @verb
    def backup(
        self,
        dest: str | os.PathLike[str],
        *,
        force: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> BackupReport:
        """Copy the store as it is now to the directory ``dest``, while it goes on being written to.

        The copy is a store like any other, of the same id. It has been verified when it appears,
        which it does at once or not at all. Where ``dest`` is a backup of this store that nobody
        has opened to write since, it is replaced, and partitions that have not changed are taken
        over from it; where nothing has changed it is verified and kept, and nothing is written. The
        working tier is not part of it.

        Args:
            force: also replace a backup with changes that this store does not have: of a later
                state than it is in, or of another copy that went its own way.
            progress: called with (bytes done, bytes in total).

        Raises:
            StoreExistsError: something else is at ``dest``, or such a backup. InvalidInputError:
                it is in the store.
            StoreFullError, PartitionCorruptError, CatalogCorruptError: ``dest`` is as it was.
        """
        self._ensure()
        return copy_store(
            self._opened[0].store, parse_directory(dest, "dest"), taken_ms=self._clock.now_ms(),
            force=truth(force, "force"), progress=function_or_none(progress, "progress"),
        )

    # -- exchange -------------------------------------------------------------------------------

    @verb
    def export(
        self,
        target: str | os.PathLike[str],
        *,
        vectors: bool | None = None,
        overwrite: bool = False,
        skip_damaged: bool = False,
        progress: Progress | None = None,
        **selection: Any,
    ) -> int:
        """Write memories as JSON lines; returns how many.

        Args:
            target: a path outside of the store; it appears whole or not at all.
            overwrite: replace the file or link that is at ``target``.
            vectors: also write each vector; by default only when the store has no embedder that
                could make it again.
            skip_damaged: leave memories whose bytes are damaged out, and warn with their ids,
                instead of raising.

        Raises:
            StoreExistsError: a file is at ``target``; it was left alone.
            InvalidInputError: ``target`` is in the store, a file of another one, or there and no
                file.
        """
        self._ensure()
        chosen = self._selection(selection, "export")
        with_vectors = self._embedder is None if vectors is None else truth(vectors, "vectors")
        damaged: list[int] | None = [] if truth(skip_damaged, "skip_damaged") else None
        files = self._opened[0].store.files
        place = file_beside(
            target, files.root if files.durable else None,
            overwrite=parse_switch(overwrite, "overwrite"),
        )
        count = export_lines(
            place, self._iterate(chosen, damaged, proven=True),
            self._vectors if with_vectors else None,
            total=len(self) if chosen.is_everything else None,
            progress=function_or_none(progress, "progress"),
        )
        if damaged:
            warnings.warn(
                f"damaged memories were left out: {', '.join(map(str, sorted({*damaged})))}",
                RuntimeWarning, stacklevel=3,  # past the check of the arguments
            )
        return count

    @verb
    def import_(
        self, source: str | os.PathLike[str], *,
        change: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        limit: int | None = None, progress: Progress | None = None,
    ) -> list[MemoryRecord]:
        """Read memories that :meth:`export` wrote (or JSON lines with the same keys).

        They get new ids; parents among them follow, and parents that are not in the file (or come
        after their child) are dropped. Strength, use and flags are restored; ``recorded_at`` is the
        time of the import. A vector is taken when the same model made it, or when neither it nor
        this store knows a model; otherwise the text is embedded again.

        Args:
            change: is given each line as a dictionary and returns the one to import, to add a tag
                or to choose a tier; links, strength, use and flags stay as the line tells them.
            limit: read so many lines at most.

        Raises:
            ImportFormatError: naming the line; the batches before it are stored.
            ModelMismatchError: vectors of another model, and no embedder to make new ones.
        """
        self._ensure(write=True)
        return import_lines(
            lambda item: self._draft(item, {}, may_name=True), self._remember,
            parse_path(source, "source"),
            vectors=self._vectors, batch_records=self._config.batch_records,
            progress=function_or_none(progress, "progress"),
            change=change, limit=limit,
        )

    # -- life -----------------------------------------------------------------------------------

    @entry
    def close(self) -> None:
        """Checkpoint, close every file and give up the lock. Idempotent.

        Calls in other threads end first: with their result, or with
        :class:`spector.StoreClosedError`. Code of yours that a call has gone into, an embedder, is
        not waited for. An interrupt does not keep the store from being closed.

        In a signal handler, or in what a call tells its progress to, the memory is closed as soon
        as that call of this thread has ended: nothing is taken from under it.
        """
        if self._opened[0].store.forked:  # what the parent's threads hold here is held for ever
            completed(self._close)
        elif self._calls.refuse():
            if self._calls.are_here():
                for opened in self._opened:
                    opened.store.refuse_calls(own=True)
                self._calls.at_end(self.close)
            elif not self._calls.is_closing_here:  # else a signal handler came into it
                with self._calls.one:
                    self._calls.closes(self._close)

    def _close(self) -> None:
        forked = self._opened[0].store.forked
        if not forked and all(opened.store.is_shut for opened in self._opened):
            return
        if not forked:  # the daemon's thread stayed with the parent
            self.daemon.stop()
            for opened in self._opened:
                opened.store.refuse_calls()
            self._calls.wait()
        self._kernel.close()
        try:
            self._writer.keep_last_id()
        finally:  # a store that stays open must not lose its lock
            # the reader last: closing writes the words that it has
            _call_all([*(opened.close for opened in self._opened[::-1]), self._reader.close])

    def _end(self) -> None:
        """At the end of the interpreter: close it, unless another thread is there that may use it.

        That thread is about to be ended wherever it is, as if by a kill, which harms no store; and
        until then it need not hear that the store was closed.
        """
        if self._opened[0].store.is_open:
            stopped = self.daemon.stop(_EXIT_S)
            self._kernel.close()
            self._close_dropped(close=stopped and not _others_run())

    def _close_dropped(self, *, close: bool = True) -> None:
        """Close without an error, which no caller could catch. What was committed is safe."""
        try:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=3, source=self)
        finally:  # where warnings are errors, too
            if close:
                self._close_quietly()

    def _close_quietly(self) -> None:
        try:
            self.close()
        except Exception as error:
            if self._opened[0].store.files.durable:
                warnings.warn(
                    f"{self!r} could not be closed properly: {error}", RuntimeWarning, stacklevel=4,
                    source=self,
                )  # fmt: skip

    def __del__(self, _is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        opened = getattr(self, "_opened", None)
        if not opened or not opened[0].store.is_open:
            return
        if not _is_finalizing():
            self._close_dropped()
        elif _users <= {threading.get_ident()}:  # else one was ended, maybe with a lock in hand
            with contextlib.suppress(Exception):
                self.close()

    def __copy__(self) -> Self:
        """The memory itself: there is one of each store, and a shallow copy shares what it has.

        ``copy.deepcopy`` and ``pickle`` would have to make a second one, and are refused.
        """
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({self.path!r}, mode={self._mode!r}, dim={self.dim})"

    if not TYPE_CHECKING:  # a checker would take every name for one that there is

        def __getattr__(self, name: str) -> NoReturn:
            known = [each for each in dir(type(self)) if not each.startswith("_")]
            raise no_attribute(type(self).__name__, name, known)

    # -- helpers ----------------------------------------------------------------------------------

    def _ensure(self, *, write: bool = False) -> None:
        _users.add(threading.get_ident())
        if write and self._mode == "r":
            raise StoreReadOnlyError(
                f'the store at {self.path} was opened with mode="r"',
                hint='open it with mode="rw" to change it',
            )
        for opened in self._opened:
            opened.store.ensure_usable()

    def _remember(self, drafts: Sequence[Draft]) -> list[MemoryRecord]:
        self._expect(drafts)
        records = self._writer.remember(drafts)
        self.daemon.note_writes(len(drafts))
        return records

    def _expect(self, drafts: Iterable[Draft]) -> None:
        """Make ready for drafts about to be written, of which some may instruct."""
        self._reader.expect(
            draft.text for draft in drafts
            if (draft.role is not None or draft.confidence is None or draft.confidence >= CERTAIN)
            and may_stand(
                draft.text, draft.role, speaker_in(draft.role, draft.metadata), draft.source
            )
        )

    def _draft(self, item: Any, given: Mapping[str, Any], *, may_name: bool = False) -> Draft:
        """``may_name``: whoever says it, ``metadata["aliases"]`` name the memory."""
        draft = make_draft(
            item, given, config=self._config, dim=self.dim,
            may_name=None if may_name else _may_name,
        )
        self._router[draft.tier]  # an unknown tier is refused before anything is embedded
        return draft

    def _changed(
        self, before: MemoryRecord, changes: Mapping[str, Any]
    ) -> tuple[Draft, dict[int, str]]:
        """A record's new state, and earlier memories that get their speaker with it."""
        fields = _fields_of(before)
        fields.update(changes)
        draft = self._draft(fields.pop("text"), fields, may_name=True)
        return draft, self._writer.read_again(before, changes, draft)

    def _vector_after(self, before: MemoryRecord, changes: Mapping[str, Any], words: str) -> Any:
        """The vector of a record's new words; None where it keeps the one it has.

        Words are others as well when the name that they open with is the speaker's from now on,
        or is no longer. Then a vector that the user gave stays.
        """
        assert self._embedder is not None, "whoever embeds has an embedder"
        if "text" in changes:
            return embedded(self._embedder, [words])[0]
        old = words_of(before.text, speaker_in(before.role, before.metadata))
        if old == words:
            return None
        made = embedded(self._embedder, [old, words])
        return made[1] if self._writer.has_vector(before.id, made[0]) else None

    def _erase(self, threshold: float, **more: Any) -> CompactionReport:
        report = compact_all(
            self._router, config=self._config, threshold=threshold, now_ms=self._now_ms(),
            **more,
        )
        return self._forget_vectors(report)

    def _forget_vectors(self, report: CompactionReport) -> CompactionReport:
        """After an erasure: the embedding cache knows the vectors of what was erased, and so may
        the sample of a large store.
        """
        if report.receipt is not None:
            self._reader.drop_caches()
            let_all_go()
        if report.receipt is None or not isinstance(self._embedder, CachedEmbedder):
            return report
        entries = self._embedder.stats().entries
        self._embedder.clear()
        emptied = Purged(where="embedding cache", what=f"{counted(entries, 'vector')} dropped",
                         bytes=4 * self.dim * entries)  # fmt: skip
        receipt = replace(report.receipt, purged=(*report.receipt.purged, emptied))
        return replace(report, receipt=receipt)

    def _needles_of(self, ids: Iterable[int]) -> Needles:
        """What to search the files for once these memories are erased."""
        needles = Needles()
        for record_id in ids:
            store, row = self._writer.find(record_id)
            image: Bytes | None = None
            with contextlib.suppress(PartitionCorruptError):  # it has no such place
                image = store.record_image(row.segment_id, row.slot)
            needles.add_memory(row, image, self.dim)
        return needles

    def _forget(
        self, ids: list[int], purge: bool, verify: bool, **how: Any
    ) -> tuple[ForgetReport, Needles | None]:
        """Forget memories, and say what to search for afterwards. The caller has the lock."""
        needles = None
        if verify:
            doomed, _ = self._writer.to_forget(ids, **how)
            needles = self._needles_of(row.id for rows in doomed.values() for row in rows)
        return self._writer.forget(ids, at_once=purge, **how), needles

    def _flag(self, target: Named, flag: Flag, on: bool, scope: Scope) -> MemoryRecord:
        self._ensure(write=True)
        record = self._writer.set_flag(id_of(target), flag, on, scope)
        return self._within(record, scope)

    def _scope(self, user_id: Any, agent_id: Any, session_id: Any) -> Scope:
        """The guard that a verb was given."""
        given = {"user_id": user_id, "agent_id": agent_id, "session_id": session_id}
        if user_id is agent_id is session_id is None:
            return ANYBODY
        checked = {name: check_scope(value, name, self._config) for name, value in given.items()}
        return Scope(**checked)

    def _within(self, record: MemoryRecord, scope: Scope) -> MemoryRecord:
        """A record that names no living memory outside of the scope."""
        linked = {*record.parents, *record.supersedes, *record.superseded_by}
        if scope.is_open or not linked:
            return record
        strange: set[int] = set()
        for store in self._router.stores():
            strange |= members(store.catalog, linked, scope, inside=False)
        if not strange:
            return record

        def kept(ids: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(each for each in ids if each not in strange)

        return replace(
            record, parents=kept(record.parents), supersedes=kept(record.supersedes),
            superseded_by=kept(record.superseded_by),
        )

    def _record_of(self, record_id: int, scope: Scope = ANYBODY) -> MemoryRecord:
        for opened in self._opened:
            opened.store.view()  # a reader follows the writer here
        store, row = self._writer.find(record_id, scope)
        found = current_image(store, row)
        # the row may be a later one than that which was found, and of another scope by now
        if found is None or not scope.holds(found[0]):
            raise unknown(record_id)
        row, image = found
        header = header_of(image)
        tier = self._tier_name(int(header["tier"]))
        return to_record(row, header, tier, newer_than(store.catalog, row))

    def _selection(self, given: Mapping[str, Any], verb: str) -> Selection:
        known = ("tiers", "tags", "any_tags", "user_id", "agent_id", "session_id", "time_range",
                 "where")
        refuse_unknown(given, known, verb)
        for value in given.values():
            if value is not None:
                break
        else:
            return EVERYTHING
        get, config = given.get, self._config
        chosen = make_selection(
            tiers=get("tiers"),
            tags=parse_tags(get("tags"), config),
            any_tags=parse_tags(get("any_tags"), config),
            user_id=check_scope(get("user_id"), "user_id", config),
            agent_id=check_scope(get("agent_id"), "agent_id", config),
            session_id=check_scope(get("session_id"), "session_id", config),
            time_range=get("time_range"),
            where=get("where"),
        )
        self._router.select(chosen.tiers)
        return chosen

    def _is_of_one_user(self, selection: Selection) -> bool:
        """Whether a selection, or else the whole store, has the memories of one user only."""
        if selection.user_id is not None or selection.session_id is not None:
            return True
        return has_one_user(self._router.stores())

    def _cue_vector(
        self, text: str | None, vector: ArrayLike | None, *, hyde: bool = False
    ) -> Any:
        given = None if vector is None else parse_vector(vector, self.dim)
        if text is None or self._embedder is None:
            return given
        more = hypotheses(text) if hyde else []
        if given is not None and not more:
            return given
        made = embedded(self._embedder, more if given is not None else [text, *more])
        return centroid(made, given) if more else made[0]

    def _pinned(self, budget: int, recall: RecallArguments) -> list[Hit]:
        """The pinned memories that a recall's filters let through, newest first.

        No more than a text of ``budget`` tokens may have room for.
        """
        chosen = self._selection({name: recall.get(name) for name in _SELECTING}, "context")
        moment = parse_as_of(recall.get("as_of"))
        chosen = until(chosen, moment)
        include: RareArguments = {"include": recall["include"]} if "include" in recall else {}
        drop, replaced = options_of(recall.get("options"), include).parsed.drop_flags, False
        if moment is not None and drop & Flag.SUPERSEDED:
            drop, replaced = int(drop & ~Flag.SUPERSEDED), True
        hits = self._reader.recall(pinned_request(
            chosen, min(max(1, budget // _LEAST_OF_LINE), self._config.max_k),
            self._now_ms() if moment is None else moment, drop_flags=drop, replaced=replaced,
        ))  # fmt: skip
        scope = _scope_of(chosen)
        if not scope.is_open:
            confine(hits, partial(self._within, scope=scope))
        return sorted(hits, key=lambda hit: (hit.record.event_ms, hit.id), reverse=True)

    def _always(self, hits: HitList) -> Sequence[Hit]:
        """The instructions that hold for every cue, in the scope of a recall, newest first."""
        assert isinstance(hits.request, RecallRequest), "the recall that a context is made of"
        found = self._reader.always(hits.request, _RULES)
        scope = _scope_of(hits.request.selection)
        if not scope.is_open:
            confine(found, partial(self._within, scope=scope))
        return found

    def _with_parts(self, request: RecallRequest, hits: HitList) -> HitList:
        """The answer to a cue and to its parts; embeds only what has a part."""
        parts = split(request.cue or "", self._reader.speakers())
        if len(parts) == 1:
            return hits
        deep = min(DEPTH * request.k, self._config.max_k)
        vectors = [request.vector] * len(parts)
        if self._embedder is not None:
            vectors = list(embedded(self._embedder, parts))
        asked = [(request.cue, request.vector), *zip(parts, vectors, strict=True)]
        found = self._reader.recall_all(
            [replace(request, cue=part, vector=each, k=deep) for part, each in asked]
        )
        return merged(found, request.k)

    def _iterate(
        self, chosen: Selection, damaged: list[int] | None = None, *, moment_ms: int | None = None,
        proven: bool = False,
    ) -> Iterator[tuple[MemoryRecord, Bytes]]:
        """``proven``: that no memory is hidden, even where an index leads to a few quickly.

        There a proof of a minute ago is enough: many users are forgotten one after the other.
        """
        condition, trusted_s = self._condition(chosen, moment_ms)
        if proven and trusted_s is None:
            trusted_s = _TRUSTED_S
        scope = _scope_of(chosen)
        walks = [
            walk(store, self._tier_name, condition.sql, condition.params, damaged,
                 trusted_s=trusted_s, scope=scope)
            for store in self._router.stores()
        ]
        found = heapq.merge(*walks, key=lambda each: each[0].id)
        if scope.is_open:
            return found
        return ((self._within(record, scope), image) for record, image in found)

    def _condition(
        self, chosen: Selection, moment_ms: int | None = None
    ) -> tuple[SqlFilter, float | None]:
        """What rows must satisfy, and how old a proof that none is hidden may be (see ``walk``)."""
        tiers = None if chosen.tiers is None else self._router.select(chosen.tiers)
        codes = None if tiers is None else [tier.code for tier in tiers]
        exact = chosen.exact(now_ms=moment_ms, replaced=moment_ms is not None)
        return chosen.with_times(exact, codes), None if chosen.is_indexed else 0.0

    def _tier_name(self, code: int) -> str:
        return self._router.by_code(code).name


def _others_run() -> bool:
    """Whether there is a thread but this one and those of memories."""
    own = {each.ident for each in threading.enumerate() if each.name.startswith("spector-")}
    return bool(sys._current_frames().keys() - own - {threading.get_ident()})


def _call_all(calls: Sequence[Callable[[], None]]) -> None:
    """Call each, whatever those before it raise.

    An ``ExitStack`` would do as well, but the error that leaves it keeps itself, and with it all
    that its frames have.
    """
    if calls:
        try:
            calls[0]()
        finally:
            _call_all(calls[1:])


def _cycle_of(memory: Memory) -> Callable[[], ReflectReport]:
    """A sleep cycle of a memory, which its daemon does not keep."""
    found = weakref.WeakMethod(memory.reflect)

    def cycle() -> ReflectReport:
        reflect = found()
        if reflect is None:
            raise StoreClosedError("the memory was dropped", hint="open it again with spector.open")
        return reflect()

    return cycle


def _ids_of(target: Any) -> list[Any]:
    """The ids that one or several memories have, or those that a report forgot."""
    if isinstance(target, ForgetReport):
        return list(target.ids)
    several = isinstance(target, Iterable) and not isinstance(target, (str, bytes))
    return [id_of(each) for each in (items_of(target, "target") if several else [target])]


def _labels(scope: Scope) -> dict[str, str]:
    """The scopes that are asked for, as keywords."""
    return {name: value for name in SCOPES if (value := getattr(scope, name)) is not None}


def _scope_of(chosen: Selection) -> Scope:
    return Scope(
        user_id=chosen.user_id, agent_id=chosen.agent_id, session_id=chosen.session_id
    )


_CHANGE = 'write it like update(id, text="..."), or update(id, move_to={"user_id": "b"})'
#: how a memory gets another scope, for those who write it as before there was a guard
_MOVE = (
    'user_id, agent_id and session_id say whose the memory must be; to change them, write'
    ' update(id, move_to={"user_id": "b"})'
)



def _with_aliases(changes: Mapping[str, Any], before: MemoryRecord) -> dict[str, Any]:
    """Changes with the aliases where they are stored: other metadata leave them as they are."""
    if "aliases" in changes:
        return with_aliases(changes, before.metadata)
    metadata = changes.get("metadata")
    if "metadata" in changes and (metadata is None or isinstance(metadata, Mapping)):
        with reading("metadata"):
            drops = metadata is None or "aliases" not in metadata
        if drops or metadata is None:
            return with_aliases({**changes, "aliases": before.aliases}, None)
        if not _may_name(changes.get("role", before.role), changes.get("source", before.source)):
            return {**changes, "metadata": {**metadata, NOT_GIVEN: False}}
    return dict(changes)


def _may_name(role: Any, source: Any) -> bool:
    """Whether ``metadata["aliases"]`` name a memory: those of a tool or document do not."""
    said = [each if isinstance(each, str) else None for each in (role, source)]
    return may_instruct(said[0], None, said[1])


@contextlib.contextmanager
def _how_to_move(scope: Scope) -> Iterator[None]:
    """Say with an unknown id how a move is written, where it may have been meant by the guard."""
    try:
        yield
    except UnknownRecordError as error:
        if scope.is_open:
            raise
        raise UnknownRecordError(error.message, hint=f"{error.hint}; {_MOVE}") from None


def _needles_given(verify: Iterable[str | bytes]) -> Needles | None:
    if isinstance(verify, (str, bytes, bool)) or not isinstance(verify, Iterable):
        raise InvalidInputError(
            f"verify is {type(verify).__name__}", hint='write it like verify=["Maya Lindqvist"]'
        )
    needles, given = Needles(), list(items_of(verify, "verify"))
    for each in given:
        if not isinstance(each, (str, bytes)):
            raise InvalidInputError(
                f"verify holds a {type(each).__name__}", hint="pass texts or bytes"
            )
        if not each:
            raise InvalidInputError("verify holds an empty text", hint="pass what to search for")
        needles.add_given(each)
    return needles if given else None


def _fields_of(record: MemoryRecord) -> dict[str, Any]:
    """A record as the arguments that would make it, with its own end if it has been superseded."""
    own = [None if ms is None else from_ms(ms) for ms in record.own_until_ms]
    return {
        "text": record.text, "tier": record.tier, "tags": record.tags,
        "importance": record.importance, "valence": record.valence, "arousal": record.arousal,
        "event_time": record.event_time, "valid_from": record.valid_from,
        "valid_until": own[0] if own else record.valid_until, "metadata": record.metadata,
        "session_id": record.session_id, "agent_id": record.agent_id, "user_id": record.user_id,
        "source": record.source, "confidence": record.confidence, "pinned": record.pinned,
        "immutable": record.immutable, "unresolved": record.unresolved,
        "category": record.category, "modality": record.modality, "role": record.role,
        "parents": record.parents, "supersedes": record.supersedes or None,
    }
