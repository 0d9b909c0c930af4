"""The parts that one memory hands its verbs to."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from spector.arguments import OpenArguments
from spector.clock import iso_of_ms
from spector.config import Config
from spector.errors import InvalidInputError, SpectorError, StoreReadOnlyError
from spector.kernel import get_kernel
from spector.process import Calls, CycleTurn, ForeignLayers, Later, Operations, completed, entry
from spector.store.catalog import SAID, count_users, has_windows
from spector.store.core import Store
from spector.store.files import LOCK_NAME
from spector.store.opening import OpenedStore, Stamp, open_disk, open_memory
from spector.tiers import TierRouter

if TYPE_CHECKING:
    import spector.observe as observe
    import spector.recall as recall
    import spector.search as search
    import spector.session as session
    import spector.sleep as sleep
    import spector.upkeep as upkeep
    import spector.write as write
    from spector.clock import Clock
    from spector.exchange import Exchange, Vectors
    from spector.forgetting import Forgetting
    from spector.kernel import ParallelKernel
    from spector.kernel.contract import ScoringProfile
    from spector.knowledge import KnowledgeReader
    from spector.providers import (
        ChatModel,
        Detectors,
        Embedder,
        FactExtractor,
        ImportanceScorer,
        Summarizer,
    )
    from spector.records import HitList
    from spector.tiers import Finder


#: figures of parts that were not used yet
_NO_SESSIONS: Final = {
    "live": 0,
    "sensory": {"size": 0, "total_ingested": 0},
    "zones": {"system": 0, "active": 0, "staging": 0},
}
_NO_DAEMON: Final = {"running": False, "cycles": 0, "nights": 0, "last_error": None}


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenOptions:
    """What a memory is opened with; each checked, and with a default for what was not given."""

    path: str
    mode: str
    durability: str
    clock: Clock
    config: Config
    #: ranks recalls
    profile: ScoringProfile
    threads: int
    embedder: Embedder | None
    importance: ImportanceScorer | None
    detectors: Detectors
    #: asked where it knows better than the rules
    chat: ChatModel | None
    #: reads statements in place of the rules
    fact_extractor: FactExtractor | None
    #: condenses memories in place of an extract
    summarizer: Summarizer | None
    operations: Operations
    #: calls verbs within spans
    trace: Callable[..., Any] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts(OpenOptions):
    """Made by `spector.assembly`. No part knows this, or the memory: a dropped one is freed."""

    dim: int
    calls: Calls
    access: Access
    lifetime: Lifetime
    kernel: ParallelKernel
    router: TierRouter
    finder: Finder
    listing: search.Listing
    #: layers of a caller's, asked beside the memories
    layers: ForeignLayers = field(default_factory=ForeignLayers)
    #: name of an attribute -> the part, made when the attribute is first read
    later: Mapping[str, Later[Any]]

    if TYPE_CHECKING:
        changer: write.Changer = field(init=False)
        daemon: sleep.ReflectDaemon = field(init=False)
        exchange: Exchange = field(init=False)
        extractor: write.ConceptExtractor = field(init=False)
        forgetter: write.Forgetter = field(init=False)
        forgetting: Forgetting = field(init=False)
        judges: observe.Judges = field(init=False)
        keeper: upkeep.Keeper = field(init=False)
        knowledge: write.KnowledgeWriter = field(init=False)
        observing: observe.Observing = field(init=False)
        probes: search.Probes = field(init=False)
        promoter: write.ConceptPromoter = field(init=False)
        recaller: recall.Recaller = field(init=False)
        searcher: search.Searcher = field(init=False)
        series: write.SeriesWriter = field(init=False)
        sessions: session.Sessions = field(init=False)
        sleeper: sleep.Sleeper = field(init=False)
        updater: write.Updater = field(init=False)
        vectors: Vectors = field(init=False)
        worker: sleep.ConceptWorker = field(init=False)
        writer: write.Writer = field(init=False)

    else:

        def __getattr__(self, name: str) -> Any:
            if name not in self.later:
                raise AttributeError(name)
            return self.__dict__.setdefault(name, self.later[name]())

    def with_layers(self, hits: HitList) -> HitList:
        """Hits, with what layers of a caller's recall for their cue."""
        request = cast("search.RecallRequest | None", hits.request)
        if request is None or not any(self.layers) or not request.cue.text:
            return hits
        chosen = request.selection
        scopes = {
            "user_id": chosen.user_id,
            "agent_id": chosen.agent_id,
            "session_id": chosen.session_id,
        }
        hits.layers = self.layers.recalled(
            request.cue.text,
            request.k,
            {name: value for name, value in scopes.items() if value is not None},
        )
        return hits

    @property
    def store(self) -> Store:
        """The store on disk, or the only one."""
        return self.access.opened[0].store

    def stats(self, labels: Mapping[str, str]) -> dict[str, Any]:
        """See ``Memory.stats``; ``labels`` are those of its scope."""
        about = {
            "path": self.path,
            "mode": self.mode,
            "durability": self.durability,
            "dim": self.dim,
        }
        if labels:
            chosen = replace(self.listing.select(labels, "stats"), sorts=SAID)
            condition, trusted_s = self.listing.condition(chosen)
            return self.keeper.stats_within(
                about, labels, self.listing.conditions(chosen, condition), trusted_s
            )
        from spector.providers import CachedEmbedder

        cache = self.embedder.stats() if isinstance(self.embedder, CachedEmbedder) else None
        daemon, judges = (self.later[name].made for name in ("daemon", "judges"))
        cognition = self._cognition(None if cache is None else cache.hit_rate)
        night = cognition["last_cycle"]
        return self.keeper.stats(
            about,
            {
                "users": count_users(self.store.catalog),
                "facts": cognition["facts"]["count"],
                "judge": None if judges is None else judges.kind,
                "nights": 0 if night is None else night["cycle"],
                "embedding_cache": None
                if cache is None
                else {
                    "hits": cache.hits,
                    "misses": cache.misses,
                    "entries": cache.entries,
                    "hit_rate": cache.hit_rate,
                },
                "daemon": _NO_DAEMON if daemon is None else daemon.status(),
                "ops_log": self.operations.stats(),
                "cognition": cognition,
            },
        )

    def _cognition(self, cache_hit_rate: float | None) -> dict[str, Any]:
        """What the memory thinks: sessions, knowledge, the graph, sleep; JSON-ready.

        Each count equals what the facets list. Edges are those that are stored: ``supersedes`` and
        ``parents`` of memories are not counted.
        """
        # a command that counts memories imports none of it
        from spector.knowledge import KnowledgeReader, current_facts
        from spector.upkeep import count_flags

        catalog = self.store.catalog
        flags = count_flags(self.router.stores())
        with catalog.reading() as db:
            known = _knowledge(reader := KnowledgeReader(db, catalog.path))
            if flags.dormant or catalog.ends.along() or has_windows(catalog):
                held, now_ms = reader.facts(holds=1), self.clock.now_ms()
                known["facts"]["count"] = len(current_facts(reader, held, catalog.fetch, now_ms))
        live, worker = self.later["sessions"].made, self.later["worker"].made
        sessions = _NO_SESSIONS if live is None else live.stats()
        return {
            "sessions": sessions["live"],
            "sensory": sessions["sensory"],
            "zones": sessions["zones"],
            "episodes": {
                "short_term": flags.episodes - flags.consolidated,
                "medium_term": flags.consolidated,
            },
            **known,
            "dormant": flags.dormant,
            "queue": 0 if worker is None else worker.status()["queue"],
            "cache_hit_rate": cache_hit_rate,
            "ops_log": self.operations.stats(),
            "llm": {"calls": 0, "failures": 0} | ({} if self.chat is None else self.chat.stats()),
        }


# When the stores of a memory may be used, and how they are closed: by call, at exit, dropped.

#: threads that have called a verb of any memory
_users: set[int] = set()
#: seconds that the end of the interpreter waits for a cycle of sleep
_EXIT_S = 5.0
#: and that closing waits for it
_CLOSE_S = 60.0


class Access:
    """Whether the stores of a memory may be read, or written to."""

    def __init__(self, path: str, mode: str, opened: Sequence[OpenedStore]) -> None:
        self.path = path
        self.mode = mode
        self.opened = opened

    def ensure(self, *, write: bool = False) -> None:
        """Raise unless every store is usable.

        Raises:
            StoreReadOnlyError: ``write``, and the memory was opened for reading.
            StoreClosedError, StoreFailedError, StoreForkedError
        """
        _users.add(threading.get_ident())
        if write and self.mode == "r":
            raise StoreReadOnlyError(
                f'the store at {self.path} was opened with mode="r"',
                hint='open it with mode="rw" to change it',
            )
        for opened in self.opened:
            opened.store.ensure_usable()


class Lifetime:
    """Closes what a memory has open.

    A part that was never used has nothing to close.
    """

    def __init__(
        self,
        access: Access,
        calls: Calls,
        kernel: ParallelKernel,
        operations: Operations,
        later: Mapping[str, Later[Any]],
    ) -> None:
        self._opened = access.opened
        self._calls = calls
        self._kernel = kernel
        self._operations = operations
        self._later = later
        for each in self._opened:  # a collector may come to the catalog before the memory
            each.store.catalog.has_owner = True

    @property
    def is_open(self) -> bool:
        return self._opened[0].store.is_open

    @entry
    def close(self) -> None:
        """See ``Memory.close``."""
        if self._opened[0].store.forked:  # what the parent's threads hold here is held for ever
            completed(self._close)
            return
        try:
            if not self._calls.are_here(elsewhere=True):  # else it may be in the middle of a change
                self._end_sessions()
        finally:
            self._close_stores()

    def _close_stores(self) -> None:
        if self._calls.refuse():
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
            self._stop_threads(_CLOSE_S)
            for opened in self._opened:
                opened.store.refuse_calls()
            self._calls.wait()
            self._operations.close()
        self._kernel.close()
        try:
            self._write_last()
        finally:  # a store that stays open must not lose its lock
            # the search is closed last: closing a store writes the words that it has
            search = [each.close for each in self._made("searcher")]
            _call_all([*(opened.close for opened in self._opened[::-1]), *search])

    def _write_last(self) -> None:
        """Before the stores are closed: write what waits for a commit."""
        for ends in self._made("ends"):
            ends.write()
        for writer in self._made("writer"):
            writer.keep_last_id()

    def _made(self, *names: str) -> list[Any]:
        """Those of some parts that were used."""
        parts = (self._later[name].made for name in names)
        return [each for each in parts if each is not None]

    def _end_sessions(self, *, keep: bool = True) -> None:
        for sessions in self._made("sessions"):
            sessions.close(keep=keep)

    def _stop_threads(self, timeout_s: float) -> bool:
        """Ask threads of the memory to end; True when they have."""
        stopped = True
        for each in self._made("worker", "daemon"):
            stopped = each.stop(timeout_s) and stopped
        return stopped

    def end(self, owner: object) -> None:
        """At the end of the interpreter: close, unless another thread may still use the memory.

        That thread is about to be ended wherever it is, as if by a kill, which harms no store; and
        until then it need not hear that the store was closed.
        """
        if self.is_open:
            stopped = self._stop_threads(_EXIT_S)
            self._kernel.close()
            self._close_dropped(owner, close=stopped and not _others_run())

    def drop(self, owner: object, *, is_finalizing: bool) -> None:
        """Close the stores of a memory that nothing refers to any more."""
        if not self.is_open:
            return
        if not self._opened[0].store.forked:  # no caller has a session of it, either
            self._end_sessions(keep=False)
        if not is_finalizing:
            self._close_dropped(owner)
        elif _users <= {threading.get_ident()}:  # else one was ended, maybe with a lock in hand
            with contextlib.suppress(Exception):
                self.close()

    def _close_dropped(self, owner: object, *, close: bool = True) -> None:
        """Close without an error, which no caller could catch. What was committed is safe."""
        try:
            warnings.warn(f"{owner!r} was not closed", ResourceWarning, stacklevel=4, source=owner)
        finally:  # where warnings are errors, too
            if close:
                self._close_quietly(owner)

    def _close_quietly(self, owner: object) -> None:
        try:
            self.close()
        except Exception as error:
            if self._opened[0].store.files.durable:
                warnings.warn(
                    f"{owner!r} could not be closed properly: {error}",
                    RuntimeWarning,
                    stacklevel=5,
                    source=owner,
                )


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


# Opens the stores of one memory: the one on disk, and the one of its volatile tiers.


def open_stores(
    where: str, router: TierRouter, config: Config, stamp: Stamp, how: OpenArguments
) -> list[OpenedStore]:
    """The store on disk first, then the volatile one; both share one lock."""
    tiers, kernel = [tier.files for tier in router], get_kernel()
    if where == ":memory:":
        if how.mode == "r":
            raise InvalidInputError(
                '":memory:" cannot be opened with mode="r"', hint="there would be nothing to read"
            )
        opened = [open_memory(stamp, tiers, config, kernel)]
    else:
        opened = [
            open_disk(
                where,
                stamp,
                tiers,
                config,
                kernel,
                mode=how.mode,
                durability=how.durability,
                wait_s=how.wait_s,
                shared=how.shared,
            )
        ]
    try:
        if where != ":memory:":
            volatile = open_memory(Stamp(opened[0].store.dim, None, None), tiers, config, kernel)
            volatile.store.share_lock(opened[0].store)
            opened.append(volatile)
        for tier in router:
            tier.attach(opened[-1 if tier.volatile else 0].store, config)
    except BaseException:
        abandon(opened)
        raise
    return opened


def cycle_turn(store: Store) -> CycleTurn:
    """What one cycle of sleep has at a time."""
    wait_s = store.shared_for_s
    return CycleTurn(None if wait_s is None else f"{store.where}/{LOCK_NAME}", wait_s or 0.0)


def abandon(opened: Iterable[OpenedStore]) -> None:
    """Close what was opened, without an error that would hide the first one."""
    for each in opened:
        with contextlib.suppress(SpectorError):
            each.close()


def _knowledge(reader: KnowledgeReader) -> dict[str, Any]:
    counts = reader.counts()
    nodes, kinds = reader.graph_size()
    procedures = reader.all_payloads("procedure")
    triggers = {row["folded"] for row in reader.all_names(["trigger"]) if row["id"] in procedures}
    state = reader.sleep_state()
    return {
        "facts": {"count": counts["held_fact"], "entities": counts["entity"]},
        "procedures": {"count": len(procedures), "triggers": len(triggers)},
        "learnings": counts["learning"],
        "concepts": counts["concept"],
        "statistics": counts["statistic"],
        "graph": {"nodes": nodes, "edges": sum(kinds.values()), "by_kind": kinds},
        "coactivation_pairs": counts["pair"],
        "last_cycle": None
        if state is None or not state["cycle"]
        else {
            "cycle": state["cycle"],
            "started_at": iso_of_ms(state["started_ms"]),
            "step": state["step"] or None,
        },
    }
