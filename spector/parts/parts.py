"""The parts that one memory hands its verbs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from spector.process import ForeignLayers, Later
from spector.store.catalog import SAID, count_users

if TYPE_CHECKING:
    from spector.clock import Clock
    from spector.config import Config
    from spector.exchange import Exchange, Vectors
    from spector.forgetting import Forgetting
    from spector.kernel import ParallelKernel
    from spector.observe import Observing
    from spector.parts.lifetime import Access, Lifetime
    from spector.process import Calls, Operations
    from spector.providers import ChatModel, Embedder, FactExtractor, Summarizer
    from spector.recall import Recaller
    from spector.records import HitList
    from spector.search import Listing, Searcher
    from spector.search.evidence import Probes
    from spector.search.view import RecallRequest
    from spector.session import Sessions
    from spector.sleep import ConceptWorker, ReflectDaemon, Sleeper
    from spector.store.core import Store
    from spector.tiers import Finder, TierRouter
    from spector.upkeep import Keeper
    from spector.write import (
        Changer,
        ConceptExtractor,
        ConceptPromoter,
        Forgetter,
        KnowledgeWriter,
        SeriesWriter,
        Updater,
        Writer,
    )

__all__ = ["Parts"]

#: figures of parts that were not used yet
_NO_SESSIONS: Final = {
    "live": 0,
    "sensory": {"size": 0, "total_ingested": 0},
    "zones": {"system": 0, "active": 0, "staging": 0},
}
_NO_DAEMON: Final = {"running": False, "cycles": 0, "nights": 0, "last_error": None}


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """Made by `spector.assembly`. No part knows this, or the memory: a dropped one is freed."""

    path: str
    dim: int
    durability: str
    calls: Calls
    access: Access
    operations: Operations
    lifetime: Lifetime
    clock: Clock
    config: Config
    kernel: ParallelKernel
    router: TierRouter
    embedder: Embedder | None
    #: reads statements in place of the rules
    fact_extractor: FactExtractor | None = None
    #: condenses memories in place of an extract
    summarizer: Summarizer | None = None
    finder: Finder
    listing: Listing
    #: asked where it knows better than the rules
    chat: ChatModel | None = None
    #: layers of a caller's, asked beside the memories
    layers: ForeignLayers = field(default_factory=ForeignLayers)
    #: name of an attribute -> the part, made when the attribute is first read
    later: Mapping[str, Later[Any]]

    if TYPE_CHECKING:
        changer: Changer = field(init=False)
        daemon: ReflectDaemon = field(init=False)
        exchange: Exchange = field(init=False)
        extractor: ConceptExtractor = field(init=False)
        forgetter: Forgetter = field(init=False)
        forgetting: Forgetting = field(init=False)
        keeper: Keeper = field(init=False)
        knowledge: KnowledgeWriter = field(init=False)
        observing: Observing = field(init=False)
        probes: Probes = field(init=False)
        promoter: ConceptPromoter = field(init=False)
        recaller: Recaller = field(init=False)
        searcher: Searcher = field(init=False)
        series: SeriesWriter = field(init=False)
        sessions: Sessions = field(init=False)
        sleeper: Sleeper = field(init=False)
        updater: Updater = field(init=False)
        vectors: Vectors = field(init=False)
        worker: ConceptWorker = field(init=False)
        writer: Writer = field(init=False)

    else:

        def __getattr__(self, name: str) -> Any:
            if name not in self.later:
                raise AttributeError(name)
            return self.__dict__.setdefault(name, self.later[name]())

    def with_layers(self, hits: HitList) -> HitList:
        """Hits, with what layers of a caller's recall for their cue."""
        request = cast("RecallRequest | None", hits.request)
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
            "mode": self.access.mode,
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
        from spector.parts.cognition import cognition_stats

        sessions, worker, daemon = (
            self.later[name].made for name in ("sessions", "worker", "daemon")
        )
        cognition = cognition_stats(
            store=self.store,
            stores=self.router.stores(),
            sessions=_NO_SESSIONS if sessions is None else sessions.stats(),
            cache=self.embedder,
            operations=self.operations.stats(),
            model=None if self.chat is None else self.chat.stats(),
            waiting=0 if worker is None else worker.status()["queue"],
            now_ms=self.clock.now_ms(),
        )
        night = cognition["last_cycle"]
        return self.keeper.stats(
            about,
            {
                "users": count_users(self.store.catalog),
                "facts": cognition["facts"]["count"],
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
