"""The parts that one memory hands its verbs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from spector.clock import Clock
from spector.config import Config
from spector.exchange import Exchange, Vectors
from spector.forgetting import Forgetting
from spector.kernel import ParallelKernel
from spector.observe import Observing
from spector.parts.cognition import cognition_stats
from spector.parts.lifetime import Access, Lifetime
from spector.process import Calls, ForeignLayers, Operations
from spector.providers import CachedEmbedder, ChatModel, Embedder, FactExtractor, Summarizer
from spector.recall import Recaller
from spector.records import HitList
from spector.search import Listing, Searcher
from spector.search.evidence import Probes
from spector.search.view import RecallRequest
from spector.session import Sessions
from spector.sleep import ConceptWorker, ReflectDaemon, Sleeper
from spector.store.catalog import SAID, count_users
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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
    probes: Probes
    vectors: Vectors
    searcher: Searcher
    finder: Finder
    listing: Listing
    writer: Writer
    updater: Updater
    changer: Changer
    forgetter: Forgetter
    forgetting: Forgetting
    knowledge: KnowledgeWriter
    extractor: ConceptExtractor
    promoter: ConceptPromoter
    worker: ConceptWorker
    series: SeriesWriter
    observing: Observing
    #: asked where it knows better than the rules
    chat: ChatModel | None = None
    recaller: Recaller
    keeper: Keeper
    exchange: Exchange
    sessions: Sessions
    sleeper: Sleeper
    daemon: ReflectDaemon
    #: layers of a caller's, asked beside the memories
    layers: ForeignLayers = field(default_factory=ForeignLayers)

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
        cache = self.embedder.stats() if isinstance(self.embedder, CachedEmbedder) else None
        cognition = cognition_stats(
            store=self.store,
            stores=self.router.stores(),
            sessions=self.sessions.stats(),
            cache=self.embedder,
            operations=self.operations.stats(),
            model=None if self.chat is None else self.chat.stats(),
            waiting=self.worker.status()["queue"],
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
                "daemon": self.daemon.status(),
                "ops_log": self.operations.stats(),
                "cognition": cognition,
            },
        )
