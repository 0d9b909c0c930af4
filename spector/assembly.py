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
from spector.parts import Access, Lifetime, Parts, abandon, cycle_turn, open_stores
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
from spector.search import Listing
from spector.store.core import Store
from spector.store.opening import OpenedStore, Stamp
from spector.store.ops_log import OPS_LOG_NAME, ops_log_at
from spector.tiers import Finder, TierRouter, TierStore, default_tiers

if TYPE_CHECKING:
    from spector.exchange import Exchange, Vectors
    from spector.forgetting import Forgetting
    from spector.observe import Judges, Observing, Settler
    from spector.providers import ChatModel
    from spector.recall import Recaller
    from spector.search import Probes, Searcher
    from spector.session import Sessions
    from spector.sleep import ConceptWorker, ReflectDaemon, Sleeper, WriteSignal
    from spector.upkeep import Keeper
    from spector.write import (
        Changer,
        ConceptExtractor,
        ConceptPromoter,
        EndMover,
        Forgetter,
        KnowledgeWriter,
        SeriesWriter,
        Updater,
        WriteContext,
        Writer,
    )

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
        return Memory(
            parts=_make_parts(
                opened,
                router,
                path=where,
                embedder=found,
                importance=scorer,
                config=config,
                clock=clock or SystemClock(),
                profile=ranking,
                durability=durability,
                mode=access.mode,
                threads=threads or usable_cores(),
                chat=_chat_within(model, config),
                fact_extractor=extractor,
                summarizer=summarizer,
                detectors=detectors,
                operations=_operations(log_path, opened[0].store, clock, texts=log_texts),
                trace=trace,
            )
        )
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


def _chat_within(model: LLM | None, config: Config) -> ChatModel | None:
    """The chat model with the limits of the configuration."""
    if model is None:
        return None
    from spector.providers import ChatModel

    return ChatModel.within(model, config.llm)


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


def _make_parts(
    opened: list[OpenedStore],
    router: TierRouter,
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
    detectors: Detectors,
    summarizer: Summarizer | None,
    fact_extractor: FactExtractor | None,
    operations: Operations,
    chat: ChatModel | None,
    trace: Callable[..., Any] | None,
) -> Parts:
    """Every part of a memory, each with the parts that it uses."""
    store, calls, checked = opened[0].store, Calls(path), CheckedClock(clock)
    calls.trace = trace
    finder = Finder(router, checked)
    kernel = ParallelKernel(single := store.kernel, threads)
    access, listing = Access(path, mode, opened), Listing(router, finder, config, checked)
    gone = _users_gone(store)
    for each in opened:
        each.store.catalog.ends.derived = _derived
    if trace is not None:
        from spector.telemetry import time_parts

        time_parts(kernel, [each.store for each in opened])

    later: dict[str, Later[Any]] = {}

    def part(make: Callable[[], _Part]) -> Later[_Part]:
        """A part of the memory, made when it is first used."""
        made = later[make.__name__] = Later(make)
        return made

    @part
    def searcher() -> Searcher:
        from spector.search import Searcher

        return Searcher(router, kernel, single, config, embed=_uncached(embedder))

    @part
    def probes() -> Probes:
        from spector.search import Probes

        return Probes(embedder)

    @Later
    def signal() -> WriteSignal:
        from spector.sleep import WriteSignal

        return WriteSignal(config.reflect_after_writes)

    def note_writes(count: int) -> None:
        if signal.made is not None:  # else no daemon listens
            signal.made.note_writes(count)

    @Later
    def context() -> WriteContext:
        from spector.language.statements import speaker_opening
        from spector.write import Speakers, WriteContext

        made = WriteContext(
            router=router,
            finder=finder,
            embedder=embedder,
            importance=importance,
            clock=checked,
            config=config,
            dim=store.dim,
            speakers=Speakers(speaker_opening),
        )
        made.watchers.add(operations.note_gone)
        made.watchers.add_whole(operations.note_whole_gone)
        return made

    @part
    def judges() -> Judges:
        from spector.observe import Judges

        return Judges(detectors, chat, embedder, operations, config)

    @Later
    def settler() -> Settler:
        from spector.observe import Settler
        from spector.search import Neighbours

        return Settler(Neighbours(searcher()), config.observe, judges())

    @part
    def writer() -> Writer:
        from spector.write import KeyWriter, Writer

        return Writer(
            context(),
            expect=searcher().expect,
            note_writes=note_writes,
            settler=settler,
            keyed=KeyWriter(context()),
        )

    @part
    def changer() -> Changer:
        from spector.write import Changer

        return Changer(context(), note_writes=note_writes)

    @part
    def updater() -> Updater:
        from spector.write import Updater

        return Updater(context(), writer(), note_writes=note_writes)

    @part
    def forgetter() -> Forgetter:
        from spector.write import Forgetter

        return Forgetter(context(), note_writes=note_writes)

    @Later
    def ends() -> EndMover:
        from spector.write import EndMover

        return EndMover(context(), lambda: access.mode != "r")

    @part
    def knowledge() -> KnowledgeWriter:
        from spector.write import KnowledgeWriter

        made = KnowledgeWriter(context(), writer(), changer(), note_writes=note_writes)
        made.forget_ended = forgetter().forget_ended
        return made

    @part
    def keeper() -> Keeper:
        from spector.upkeep import Keeper

        return Keeper(
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
        from spector.write import UseRecorder

        UseRecorder(context(), changer(), knowledge()).note_use(*used, **how)

    def refresh(*used: Any, **how: Any) -> None:
        if router.durable_store().catalog.ends.are_there():
            ends().refresh(*used, **how)

    @part
    def recaller() -> Recaller:
        from spector.recall import Recaller
        from spector.search import HotTier
        from spector.upkeep import has_one_user

        return Recaller(
            searcher(),
            listing,
            finder,
            embedder=embedder,
            probes=probes(),
            clock=checked,
            config=config,
            profile=profile,
            dim=store.dim,
            has_one_user=lambda: has_one_user(router.stores()),
            note_use=note_use,
            refresh=refresh,
            operations=operations,
            hot=HotTier(router, finder, listing, checked, config),
            chat=detectors.intent or chat,
        )

    @part
    def extractor() -> ConceptExtractor:
        from spector.write import ConceptExtractor

        return ConceptExtractor(context(), knowledge())

    @part
    def promoter() -> ConceptPromoter:
        from spector.write import ConceptPromoter

        return ConceptPromoter(context(), knowledge())

    @part
    def sleeper() -> Sleeper:
        from spector.search import Neighbours, Surveyor
        from spector.sleep import Condenser, Sleeper, Tools
        from spector.write import UnitWriter

        return Sleeper(
            calls,
            router,
            config,
            checked,
            ensure=access.ensure,
            empty_caches=keeper().empty_caches,
            survey=Surveyor(router, finder),
            writer=UnitWriter(
                context(),
                knowledge(),
                restate=updater().restate,
                reinstate=changer().reinstate,
                forget=forgetter().forget_living,
            ),
            tools=Tools(
                extractor().concepts_after,
                promoter().promotions,
                Neighbours(searcher()),
                embedder is not None,
                Condenser(summarizer, chat, config.llm),
                fact_extractor,
                judges().says_the_same,
            ),
            turn=cycle_turn(router.durable_store()),
            operations=operations,
            expire=forgetter().expire,
        )

    @part
    def daemon() -> ReflectDaemon:
        from spector.sleep import ReflectDaemon

        return ReflectDaemon(sleeper().upkeep, router, config, sleeper=sleeper(), signal=signal())

    @part
    def sessions() -> Sessions:
        from spector.session import Keeping, Sessions

        keeping = Keeping(
            router,
            finder,
            writer(),
            changer(),
            forgetter(),
            config,
            store.dim,
            gone,
            may_write=lambda: access.mode != "r",
            exclusive=context().exclusive,
            wake=daemon().wake_now,
            interrupt=daemon().interrupt,
            associates=recaller().associates,
        )
        made = Sessions(checked, config, keeping)
        context().watchers.add(made.forget)
        context().watchers.add_whole(made.forget_whole)
        sleeper().hear_of_tags(made.drop_expired_tags)
        return made

    @part
    def series() -> SeriesWriter:
        from spector.write import SeriesWriter

        return SeriesWriter(context(), writer(), note_writes=note_writes)

    @part
    def worker() -> ConceptWorker:
        from spector.sleep import ConceptWorker

        return ConceptWorker.begun(extractor(), calls, context(), mode)

    @part
    def observing() -> Observing:
        from spector.observe import Analyst, Comparer, Observer, Observing, Rater
        from spector.providers import own_extractor, token_counter
        from spector.search import Neighbours
        from spector.session import SessionKey

        return Observing(
            observer=Observer(
                series=series(),
                comparer=Comparer(Neighbours(searcher()), config.observe),
                analyst=Analyst(config.observe, embedder, own_extractor(fact_extractor), detectors),
                rater=Rater(config.observe, importance),
                reinforcing=changer().reinforcing,
                clock=checked,
                config=config,
                updating=updater().merge,
                judges=judges(),
                relations=detectors.relations,
            ),
            session=lambda *key: sessions().state(SessionKey(*key), token_counter(None)),
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
        from spector.write import ArrivalWriter

        root = store.files.root if store.files.durable else None
        arrivals = ArrivalWriter(context(), writer())
        return Exchange(listing, arrivals, router, vectors(), root, config)

    parts = Parts(
        path=path,
        dim=store.dim,
        durability=durability,
        clock=clock,
        config=config,
        calls=calls,
        access=access,
        operations=operations,
        kernel=kernel,
        chat=chat,
        lifetime=Lifetime(
            access,
            calls,
            kernel,
            daemon,
            ends=ends,
            writer=writer,
            searcher=searcher,
            sessions=sessions,
            operations=operations,
            worker=worker,
        ),
        fact_extractor=fact_extractor,
        summarizer=summarizer,
        router=router,
        embedder=embedder,
        finder=finder,
        listing=listing,
        later=later,
    )
    if config.knowledge.extract == "worker" and mode != "r":
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
    operations = Operations()
    if path is None:
        return operations
    root = store.files.root if store.files.durable else None
    own = f"{root}/{OPS_LOG_NAME}"
    path = path or own
    if root is not None and path != own and path.startswith(f"{root}/"):
        raise InvalidInputError(
            f"ops_log is {path}, in the store's directory", hint="pass True or a path outside"
        )
    if path != own or store.writable:
        operations.sink = ops_log_at(path, CheckedClock(clock or SystemClock()), texts=texts)
    return operations


def _uncached(embedder: Embedder | None) -> Callable[[Iterable[str]], Any] | None:
    """Embeds past the cache, whose place is for cues."""
    from spector.providers import CachedEmbedder, embedded

    model = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
    return None if model is None else partial(embedded, model)


def _empty_embedding_cache(embedder: Embedder | None) -> Purged | None:
    """Drop the vectors of cues and texts; what a receipt says of it."""
    from spector.providers import CachedEmbedder

    if not isinstance(embedder, CachedEmbedder):
        return None
    entries = embedder.stats().entries
    embedder.clear()
    return Purged(
        where="embedding cache",
        what=f"{counted(entries, 'vector')} dropped",
        bytes=4 * embedder.dim * entries,
    )
