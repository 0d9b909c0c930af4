"""``Memory``: the public verbs. Each says what it guarantees; its work is done by one part."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack

from numpy.typing import ArrayLike

from spector.arguments import id_of, parse_switch, parse_truth
from spector.errors import InvalidInputError, UnknownRecordError
from spector.messages import made_by, no_attribute, with_hints, with_keywords
from spector.process import at_exit, verb
from spector.records import (
    MAX_PROBLEMS,
    BackupReport,
    CheckReport,
    CompactionReport,
    ForgetReport,
    HitList,
    MemoryRecord,
)
from spector.verbs import Verbs
from spector.write import Memories, MemoryFields, Named

if TYPE_CHECKING:
    from spector.config import Layout
    from spector.kernel.contract import ScoringProfile
    from spector.parts import Parts
    from spector.recall import Context, ContextArguments, RareArguments, RecallOptions
    from spector.sleep import ReflectDaemon


#: called with (done, in total); the total may be unknown
Progress = Callable[[int, int | None], None]
KnownProgress = Callable[[int, int], None]
Range = tuple[datetime | str | None, datetime | str | None]
Path = str | os.PathLike[str]
Id = str | None


@with_hints
class Memory(Verbs):
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
                rare,
                offset=offset,
                tiers=tiers,
                tags=tags,
                any_tags=any_tags,
                time_range=time_range,
                where=where,
                namespace=namespace,
                below=below,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                as_of=as_of,
                kind=kind,
                profile=profile,
                selective=selective,
                learn=learn,
                options=options,
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
