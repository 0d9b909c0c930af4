"""Opens a memory: puts its stores, tiers and parts together. Only this file knows all parts.

A part is made, and its room imported, when it is first used: who counts memories waits for no
writer.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import tzinfo
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import spector.providers as providers
import spector.recall as recall
import spector.search as search
import spector.session as session
import spector.sleep as sleep
import spector.upkeep as upkeep
import spector.write as write
from spector.arguments import (
    parse_access,
    parse_clock,
    parse_config,
    parse_dim,
    parse_label,
    parse_ops_log,
    parse_place,
    parse_switch,
    parse_threads,
    without_tilde,
)
from spector.clock import CheckedClock, Clock, SystemClock
from spector.config import Config
from spector.errors import InvalidInputError
from spector.kernel import ParallelKernel, usable_cores
from spector.kernel.contract import ScoringProfile, get_profile
from spector.memory import Memory
from spector.messages import DISTRIBUTION, checks_arguments, counted, items_of
from spector.parts import Access, Lifetime, OpenOptions, Parts, abandon, cycle_turn, open_stores
from spector.process import Calls, Later, Operations, drop_all_caches, entry, has_namesake, overlaid
from spector.providers import (
    LLM,
    Detectors,
    Embedder,
    FactExtractor,
    ImportanceScorer,
    Summarizer,
    load_ahead,
    resolve,
    resolve_detectors,
    resolve_extractor,
    resolve_llm,
    resolve_summarizer,
)
from spector.records import Purged
from spector.store.core import Store
from spector.store.opening import OpenedStore, Stamp
from spector.store.ops_log import OPS_LOG_NAME, OpsLog
from spector.tiers import Finder, TierRouter, TierStore, default_tiers

if TYPE_CHECKING:
    from spector.exchange import Exchange, Vectors
    from spector.forgetting import Forgetting
    from spector.observe import Judges, Observing, Settler

_Part = TypeVar("_Part")


@checks_arguments("spector.open")
@entry
def open_memory_at(
    path: str | os.PathLike[str],
    *,
    embedder: str | Embedder | None = "default",
    dim: int | None = None,
    durability: Literal["strict", "relaxed"] = "strict",
    mode: Literal["rw", "r"] = "rw",
    clock: Clock | None = None,
    config: Config | None = None,
    profile: str | ScoringProfile | None = None,
    importance: ImportanceScorer | Literal["channels", "ucma"] | None = None,
    extra_tiers: Iterable[TierStore] = (),
    threads: int | None = None,
    llm: LLM | str | None = None,
    fact_extractor: FactExtractor | None = None,
    summarizer: Summarizer | None = None,
    detectors: Detectors | None = None,
    timezone: str | tzinfo | None = None,
    ops_log: bool | str | os.PathLike[str] = False,
    ops_log_text: bool = False,
    wait: float | None = None,
    shared: bool = False,
    telemetry: str | None = None,
) -> Memory:
    """Open the memory in the directory ``path``, creating it if there is none.

    Args:
        path: a directory, or ":memory:" for a memory that ends with the process. ``~`` is the home
            directory, here and in every other path.
        embedder: "default" (all-MiniLM-L6-v2, offline), "openai", "openai:MODEL", an object with
            the :class:`spector.Embedder` protocol, or None when you pass vectors yourself.
        dim: length of your vectors; only needed for a new store with ``embedder=None``.
        durability: "strict" (default): acknowledged writes survive a power cut. "relaxed": a power
            cut may lose the newest writes, but tears none; a killed process loses nothing.
        mode: "rw" (one process at a time) or "r" (any number, beside a writer or alone).
        shared: several processes write in turn, each for the length of a write; all see it at once.
        wait: seconds to wait for another writer to close, in turn with others who wait; with
            ``shared`` before each write. None for 0, and for 5 with ``shared``.
        clock: the source of time; the system's clock if None. config: limits and capacities.
        profile: how recall ranks by default; None for ``Config.profile``, which is "balanced".
        importance: scores texts without one; or what scores observed ones: "channels", "ucma".
        extra_tiers: your own tiers, in addition to the four.
        threads: threads of one recall over many partitions; the usable cores if None, 1 for the
            caller's own only. Exact answers do not depend on it; others do only in what estimates
            may miss (``Config.recall_confidence``). Recalls from several threads of yours share at
            most as many as there are cores.
        llm: a chat model that reads messages ("openai", "openai:MODEL", or an object with the
            :class:`spector.LLM` protocol); rules read them without one, and when it fails.
        fact_extractor, summarizer, detectors: in place of ``llm`` and rules, for their part.
        timezone: the zone of "tomorrow" and of hours of the day ("Europe/Istanbul", "+03:00");
            ``Config.timezone`` if None, which is UTC.
        ops_log: True or a path: a JSON line for each operation, with ids and counts; True is for
            ``ops-log.jsonl`` in the store's directory. ops_log_text: snippets of texts as well.
        telemetry: a label under which calls are counted and traced by OpenTelemetry, with numbers
            only (needs ``spector-memory[otel]`` and a provider of yours); None for none.

    Raises:
        StoreLockedError: another process is writing, or this one. StoreNotFoundError,
        ModelMismatchError, FormatVersionError, PartitionCorruptError, CatalogCorruptError.
    """
    _warn_of_namesake()
    access = parse_access(mode, durability, shared, wait, ops_log)
    dim, threads = parse_dim(dim), parse_threads(threads)
    config, clock = parse_config(config, timezone), parse_clock(clock)
    config, scorer = _scored(config, importance)
    ranking = get_profile(config.profile if profile is None else profile)
    where, found = parse_place(path), _embedder_of(embedder, dim, config)
    router = TierRouter([*default_tiers(), *items_of(extra_tiers, "extra_tiers")])
    where, model = without_tilde(where, "path"), resolve_llm(llm)
    detectors = resolve_detectors(detectors)
    extractor, summarizer = resolve_extractor(model, fact_extractor), resolve_summarizer(summarizer)
    log_path, log_texts = parse_ops_log(ops_log, where), parse_switch(ops_log_text, "ops_log_text")
    stamp, trace = _stamp_of(found, dim), _trace_of(telemetry)
    load_ahead(found if access.holds_up_others else None)
    opened = open_stores(where, router, config, stamp, access)
    try:
        given = OpenOptions(
            path=where,
            mode=access.mode,
            durability=durability,
            clock=clock or SystemClock(),
            config=config,
            profile=ranking,
            threads=threads or usable_cores(),
            embedder=found,
            importance=scorer,
            detectors=detectors,
            chat=None if model is None else providers.ChatModel(model, config.llm),
            fact_extractor=extractor,
            summarizer=summarizer,
            operations=_operations(log_path, opened[0].store, clock, texts=log_texts),
            trace=trace,
        )
        return Memory(parts=_make_parts(opened, router, given))
    except BaseException:
        abandon(opened)
        raise


def _trace_of(telemetry: Any) -> Callable[..., Any] | None:
    """What traces calls under a label; None for none."""
    if telemetry is None:
        return None
    from spector.telemetry import tracer_of

    return tracer_of(parse_label(telemetry, "telemetry"))


@cache
def _warn_of_namesake() -> None:
    """Warn once if another distribution has files of the package."""
    if has_namesake() and (found := overlaid(DISTRIBUTION)):
        warnings.warn(
            f"files of another distribution lie over spector: {'; '.join(found)}; see spector doctor",
            RuntimeWarning,
            stacklevel=4,
        )


def _stamp_of(embedder: Embedder | None, dim: int | None) -> Stamp:
    """What a store is made with, or was made with."""
    if embedder is None:
        return Stamp(dim, None, None)
    return Stamp(embedder.dim, embedder.model_id, embedder.fingerprint)


def _scored(
    config: Config, importance: ImportanceScorer | str | None
) -> tuple[Config, ImportanceScorer | None]:
    """The configuration with the formula that was named, or the caller's scorer."""
    if not isinstance(importance, str):
        return config, importance
    named: Any = importance
    return replace(config, observe=replace(config.observe, importance=named)), None


def _embedder_of(
    embedder: str | Embedder | None, dim: int | None, config: Config
) -> Embedder | None:
    """The embedder that was asked for, with a cache before it."""
    found = resolve(embedder, cache_entries=config.cache_entries, cache_ttl_s=config.cache_ttl_s)
    if found is not None and dim is not None and dim != found.dim:
        raise InvalidInputError(
            f"dim={dim}, but {found.model_id} makes vectors of {found.dim}", hint="leave dim out"
        )
    return found


def _users_gone(store: Store) -> tuple[str, ...]:
    """What processes that share a store have noted of users who went before it was opened."""
    if store.shared_for_s is None:
        return ()
    from spector.store.erasure import users_gone

    return users_gone(store)


def _make_parts(opened: list[OpenedStore], router: TierRouter, given: OpenOptions) -> Parts:
    """Every part of a memory, each with the parts that it uses."""
    store, calls, checked = opened[0].store, Calls(given.path), CheckedClock(given.clock)
    config, embedder, operations = given.config, given.embedder, given.operations
    calls.trace = given.trace
    finder = Finder(router, checked)
    kernel = ParallelKernel(single := store.kernel, given.threads)
    access = Access(given.path, given.mode, opened)
    listing = search.Listing(router, finder, config, checked)
    gone = _users_gone(store)
    for each in opened:
        each.store.catalog.ends.derived = _derived
    if given.trace is not None:
        from spector.telemetry import time_parts

        time_parts(kernel, [each.store for each in opened])

    later: dict[str, Later[Any]] = {}

    def part(make: Callable[[], _Part]) -> Later[_Part]:
        """A part of the memory, made when it is first used."""
        made = later[make.__name__] = Later(make)
        return made

    @part
    def searcher() -> search.Searcher:
        return search.Searcher(router, kernel, single, config, embed=_uncached(embedder))

    @part
    def probes() -> search.Probes:
        return search.Probes(embedder)

    @Later
    def signal() -> sleep.WriteSignal:
        return sleep.WriteSignal(config.reflect_after_writes)

    def note_writes(count: int) -> None:
        if signal.made is not None:  # else no daemon listens
            signal.made.note_writes(count)

    @Later
    def context() -> write.WriteContext:
        from spector.language.statements import speaker_opening

        made = write.WriteContext(
            router=router,
            finder=finder,
            embedder=embedder,
            importance=given.importance,
            clock=checked,
            config=config,
            dim=store.dim,
            speakers=write.Speakers(speaker_opening),
        )
        made.watchers.add(operations.note_gone)
        made.watchers.add_whole(operations.note_whole_gone)
        return made

    @part
    def judges() -> Judges:
        from spector.observe import Judges

        return Judges(given.detectors, given.chat, embedder, operations, config)

    @Later
    def settler() -> Settler:
        from spector.observe import Settler

        return Settler(search.Neighbours(searcher()), config.observe, judges())

    @part
    def writer() -> write.Writer:

        return write.Writer(
            context(),
            expect=searcher().expect,
            note_writes=note_writes,
            settler=settler,
            keyed=write.KeyWriter(context()),
        )

    @part
    def changer() -> write.Changer:
        return write.Changer(context(), note_writes=note_writes)

    @part
    def updater() -> write.Updater:
        return write.Updater(context(), writer(), note_writes=note_writes)

    @part
    def forgetter() -> write.Forgetter:
        return write.Forgetter(context(), note_writes=note_writes)

    @part
    def ends() -> write.EndMover:
        return write.EndMover(context(), lambda: given.mode != "r")

    @part
    def knowledge() -> write.KnowledgeWriter:
        made = write.KnowledgeWriter(context(), writer(), changer(), note_writes=note_writes)
        made.forget_ended = forgetter().forget_ended
        return made

    @part
    def keeper() -> upkeep.Keeper:
        return upkeep.Keeper(
            router,
            config,
            checked,
            [
                lambda: None if searcher.made is None else searcher.made.drop_caches(),
                drop_all_caches,
                partial(_empty_embedding_cache, embedder),
                operations.scrub,
            ],
            expire=lambda: forgetter().expire(),
        )

    @part
    def forgetting() -> Forgetting:
        from spector.forgetting import Forgetting

        return Forgetting(listing, finder, forgetter(), keeper())

    def note_use(*used: Any, **how: Any) -> None:
        write.UseRecorder(context(), changer(), knowledge()).note_use(*used, **how)

    def refresh(*used: Any, **how: Any) -> None:
        if router.durable_store().catalog.ends.are_there():
            ends().refresh(*used, **how)

    @part
    def recaller() -> recall.Recaller:
        return recall.Recaller(
            searcher(),
            listing,
            finder,
            embedder=embedder,
            probes=probes(),
            clock=checked,
            config=config,
            profile=given.profile,
            dim=store.dim,
            has_one_user=lambda: upkeep.has_one_user(router.stores()),
            note_use=note_use,
            refresh=refresh,
            operations=operations,
            hot_tier=search.HotTier(router, finder, listing, checked, config),
            chat=given.detectors.intent or given.chat,
        )

    @part
    def extractor() -> write.ConceptExtractor:
        return write.ConceptExtractor(context(), knowledge())

    @part
    def promoter() -> write.ConceptPromoter:
        return write.ConceptPromoter(context(), knowledge())

    @part
    def sleeper() -> sleep.Sleeper:
        return sleep.Sleeper(
            calls,
            router,
            config,
            checked,
            ensure=access.ensure,
            empty_caches=keeper().empty_caches,
            survey=search.Surveyor(router, finder),
            writer=write.UnitWriter(
                context(),
                knowledge(),
                restate=updater().restate,
                reinstate=changer().reinstate,
                forget=forgetter().forget_living,
            ),
            tools=sleep.Tools(
                extractor().concepts_after,
                promoter().promotions,
                search.Neighbours(searcher()),
                embedder is not None,
                sleep.Condenser(given.summarizer, given.chat, config.llm),
                given.fact_extractor,
                judges().says_the_same,
            ),
            turn=cycle_turn(router.durable_store()),
            operations=operations,
            expire=forgetter().expire,
        )

    @part
    def daemon() -> sleep.ReflectDaemon:
        return sleep.ReflectDaemon(
            sleeper().upkeep, router, config, sleeper=sleeper(), signal=signal()
        )

    @part
    def sessions() -> session.Sessions:
        keeping = session.Keeping(
            router,
            finder,
            writer(),
            changer(),
            forgetter(),
            config,
            store.dim,
            gone,
            may_write=lambda: given.mode != "r",
            exclusive=context().exclusive,
            wake=daemon().wake_now,
            interrupt=daemon().interrupt,
            associates=recaller().associates,
        )
        made = session.Sessions(checked, config, keeping)
        context().watchers.add(made.forget)
        context().watchers.add_whole(made.forget_whole)
        sleeper().hear_of_tags(made.drop_expired_tags)
        return made

    @part
    def series() -> write.SeriesWriter:
        return write.SeriesWriter(context(), writer(), note_writes=note_writes)

    @part
    def worker() -> sleep.ConceptWorker:
        return sleep.ConceptWorker.begun(extractor(), calls, context(), given.mode)

    @part
    def observing() -> Observing:
        from spector.observe import Analyst, Comparer, Observer, Observing, Rater

        extractor = providers.own_extractor(given.fact_extractor)
        return Observing(
            observer=Observer(
                series=series(),
                comparer=Comparer(search.Neighbours(searcher()), config.observe),
                analyst=Analyst(config.observe, embedder, extractor, given.detectors),
                rater=Rater(config.observe, given.importance),
                reinforcing=changer().reinforcing,
                clock=checked,
                config=config,
                updating=updater().merge,
                judges=judges(),
                relations=given.detectors.relations,
            ),
            session=lambda *key: sessions().state(
                session.SessionKey(*key), providers.token_counter(None)
            ),
            config=config,
        )

    @part
    def vectors() -> Vectors:
        from spector.exchange import Vectors

        return Vectors(
            dim=store.dim,
            fingerprint=store.meta.get("fingerprint") or "",
            can_embed=embedder is not None,
        )

    @part
    def exchange() -> Exchange:
        from spector.exchange import Exchange

        root = store.files.root if store.files.durable else None
        arrivals = write.ArrivalWriter(context(), writer())
        return Exchange(listing, arrivals, router, vectors(), root, config)

    parts = Parts(
        **vars(given),
        dim=store.dim,
        calls=calls,
        access=access,
        lifetime=Lifetime(access, calls, kernel, operations, later),
        kernel=kernel,
        router=router,
        finder=finder,
        listing=listing,
        later=later,
    )
    if config.knowledge.extract == "worker" and given.mode != "r":
        worker()
    return parts


def _derived(db: Any, path: str, ids: Any) -> Any:
    """The memories that are derived from nothing but those with some ids."""
    from spector.knowledge import KnowledgeReader, derived_of

    return derived_of(KnowledgeReader(db, path), ids).memories


def _operations(path: str | None, store: Store, clock: Clock | None, *, texts: bool) -> Operations:
    """What is noted in a log at a path, if there is one; a reader writes nothing into a store.

    Raises:
        InvalidInputError: the path is that of another file in the store.
    """
    if path is None:
        return Operations()
    root = store.files.root if store.files.durable else None
    own = f"{root}/{OPS_LOG_NAME}"
    path = path or own
    if root is not None and path != own and path.startswith(f"{root}/"):
        raise InvalidInputError(
            f"ops_log is {path}, in the store's directory", hint="pass True or a path outside"
        )
    if path == own and not store.writable:
        return Operations()
    return OpsLog(path, CheckedClock(clock or SystemClock()), texts=texts)


def _uncached(embedder: Embedder | None) -> Callable[[Iterable[str]], Any] | None:
    """Embeds past the cache, whose place is for cues."""
    model = embedder.inner if isinstance(embedder, providers.CachedEmbedder) else embedder
    return None if model is None else partial(providers.embedded, model)


def _empty_embedding_cache(embedder: Embedder | None) -> Purged | None:
    """Drop the vectors of cues and texts; what a receipt says of it."""
    if not isinstance(embedder, providers.CachedEmbedder):
        return None
    entries = embedder.stats().entries
    embedder.clear()
    return Purged(
        where="embedding cache",
        what=f"{counted(entries, 'vector')} dropped",
        bytes=4 * embedder.dim * entries,
    )
