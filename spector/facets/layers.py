"""``memory.layers``: episodes, concepts and statistics behind one protocol."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields as fields_of
from os import PathLike
from typing import Any, Final, Protocol, Unpack, runtime_checkable

from spector.arguments import parse_callback, parse_integer, parse_truth
from spector.errors import InvalidInputError, UnknownRecordError
from spector.facets.base import Facet, Guard, ItemFacet, guarded, ids_of, one_id_of
from spector.facets.concepts import Concepts, Grounding
from spector.facets.graph import Graph
from spector.knowledge import (
    LAYERS,
    Changes,
    KnowledgeReader,
    New,
    encode,
    layer_name,
    layer_of,
    references_of,
)
from spector.messages import refuse_unknown
from spector.parts import Parts
from spector.process import Callback, verb
from spector.records import Episode, MemoryRecord
from spector.write import Memories, Named, Prepared

_NAMES: Final = ("episodes", *LAYERS.values())
#: layer -> the steps of a cycle that are about it
_STEPS: Final[Mapping[str, tuple[str, ...]]] = {
    "episodes": ("compress", "extract", "consolidate"),
    "concepts": ("extract", "promote", "graph"),
    "statistics": ("extract",),
}
_EPISODE: Final = tuple(each.name for each in fields_of(Episode))
#: parts of an episode that are kept as lists
_LISTS: Final = frozenset({"objects", "people"})
_DAY_MS: Final = 86_400_000


@runtime_checkable
class MemoryLayer(Protocol):
    """What a layer of memories does; foreign layers do the same."""

    @property
    def layer_name(self) -> str: ...
    def store(self, record: Any) -> int: ...
    def get(self, id: int) -> Any: ...
    def remove(self, id: int) -> bool: ...
    def recall(self, limit: int = 10, **filters: Any) -> list[Any]: ...
    def recall_associated(self, seed_ids: Any) -> list[tuple[int, float]]: ...
    def stats(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...


class StoreLayer(ItemFacet[Any]):
    """A layer of the store: a view of the memories of one sort."""

    def __init__(self, parts: Parts, name: str) -> None:
        super().__init__(parts)
        self.layer_name = name
        self.graph = Graph(parts)

    def __repr__(self) -> str:
        return f"StoreLayer({self.layer_name!r})"

    @verb
    def store(
        self,
        record: str | Mapping[str, Any],
        *,
        episode: Episode | Mapping[str, Any] | None = None,
        **memory_fields: Any,
    ) -> int:
        """Keep a memory of this layer; returns its id.

        Args:
            record: The text of an episode, or its fields with ``text`` and ``episode``; the name
                of a concept, or the arguments of `Concepts.find_or_create`.
            episode: What was perceived, wanted and decided, and what came of it.
        """
        self._may_write()
        given = {**({} if isinstance(record, str) else _mapping(record)), **memory_fields}
        if self.layer_name == "concepts":
            name = record if isinstance(record, str) else given.pop("name", "")
            return Concepts(self._parts).find_or_create(name, **given)[0].id
        if self.layer_name == "statistics":
            raise InvalidInputError(
                "statistics are computed, not stored", hint="use memory.concepts.ground(name)"
            )
        text = record if isinstance(record, str) else given.pop("text", None)
        details = episode if episode is not None else given.pop("episode", None)
        if details is None:
            return self._parts.writer.remember({"text": text}, given).id
        values, fields = _episode(details), self._fields(given, "layers.store")
        encode("episode", values)  # refused before the text
        if not isinstance(text, str):
            raise InvalidInputError(
                f"text must be a text, not {type(text).__name__}", hint='pass {"text": "..."}'
            )

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> None:
            changes.store.append(0)
            changes.payload(New(0), "episode", values)

        return self._commit(decide, [Prepared(text, fields)])[1].records[0].id

    @guarded
    def get(self, id: Named, **guard: Unpack[Guard]) -> MemoryRecord:
        """A memory of this layer.

        Raises:
            UnknownRecordError: There is none. InvalidInputError: It is of another layer.
        """
        memory = one_id_of(id, "id")
        record = self._record(memory, self._scope(**guard))
        if not self._of_layer({memory: record}):
            raise InvalidInputError(
                f"memory {memory} is of another layer than {self.layer_name}",
                hint="memory.get(id) returns any memory",
            )
        return record

    @guarded
    def episode(self, id: Named, **guard: Unpack[Guard]) -> Episode | None:
        """The details of an episode; None for a memory without any."""
        ids = ids_of(id, "id")
        with self._read() as reader:  # before the memory: it may be forgotten meanwhile
            found = reader.payloads(ids, "episode")
        values = found.get(self.get(id, **guard).id)
        if values is None:
            return None
        known: dict[str, Any] = {
            name: tuple(values[name]) if name in _LISTS else values[name] for name in _EPISODE
        }
        return Episode(**known)

    @guarded
    def remove(self, id: Named, **guard: Unpack[Guard]) -> bool:
        """Forget a memory of this layer; False when there is none, which a guard refuses."""
        self._may_write()
        scope = self._scope(**guard)
        try:
            record = self.get(id, **guard)
        except UnknownRecordError:
            if scope.is_open:
                return False
            raise
        self._forget(record.id, scope)
        return True

    @verb
    def recall(self, limit: int = 10, **filters: Any) -> list[MemoryRecord]:
        """The newest memories of this layer that pass filters of `Memory.records`.

        Episodes in the window of the layer come first: those that were recorded or used within
        ``KnowledgeConfig.episode_max_age_days``.
        """
        most = parse_integer(limit, "limit", low=1)
        found = self._of_layer(self._selected(filters))
        begins = self._window_begins()
        return heapq.nlargest(
            most, found, key=lambda each: (_last_met(each) >= begins, each.event_ms, each.id)
        )

    @guarded
    def recall_associated(
        self, seed_ids: Memories, **guard: Unpack[Guard]
    ) -> list[tuple[int, float]]:
        """Memories of this layer that activation from seeds reaches, the strongest first."""
        found = self.graph.activate(seed_ids, layers=[self.layer_name], **guard)
        return list(found.get(self.layer_name, []))

    def register_capture_callback(self, callback: Callback) -> Callable[[], None]:
        """Have a function called with the layer and each new record; returns what ends it.

        It is called after the commit, without a lock. An exception is logged, the others run.
        """
        _check_callback(callback)
        return self._parts.knowledge.callbacks.register(self.layer_name, callback, deletions=False)

    def register_deletion_callback(self, callback: Callback) -> Callable[[], None]:
        """The same for ids that this layer loses."""
        _check_callback(callback)
        return self._parts.knowledge.callbacks.register(self.layer_name, callback, deletions=True)

    @verb
    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> int:
        """Write this layer to a file as `Memory.export` does; returns how many memories.

        Ties to memories of other layers are left out.

        Raises:
            StoreExistsError: A file is there; it was left alone.
        """
        self._parts.access.ensure()
        return self._parts.exchange.save(path, self._ours_among, overwrite=overwrite)

    @verb
    def load(self, path: str | PathLike[str]) -> int:
        """Read the memories of this layer from a file that `save` or an export wrote.

        Those of other layers are passed over; a concept that the store has is not made twice.
        Returns how many memories.

        Raises:
            ImportFormatError: Naming the line.
        """
        self._may_write()
        return len(
            self._parts.exchange.import_(
                path, accepts=lambda sorts: layer_of(sorts) == self.layer_name
            )
        )

    def _ours_among(self, ids: Collection[int]) -> set[int]:
        with self._read() as reader:
            sorts = reader.sorts(ids)
        return {each for each in ids if layer_of(sorts.get(each, ())) == self.layer_name}

    @verb
    def consolidate(self, **cycle: Any) -> dict[str, int]:
        """Do now what sleep does for this layer; returns what each step changed.

        Episodes are compressed, read for concepts and facts, and gathered by theme; concepts are
        extracted and grounded in their episodes, patterns promoted; statistics are brought up to
        date. ``ground`` is how many statistics of concepts there are then. It is a cycle, which
        `Memory.reflect_undo` takes back.

        Args:
            **cycle: ``dry_run``, ``max_seconds`` and ``max_llm_calls``, as in `Memory.reflect`.
        """
        refuse_unknown(cycle, ("dry_run", "max_seconds", "max_llm_calls"), "consolidate")
        is_dry = parse_truth(cycle.get("dry_run", False), "dry_run")
        self._parts.access.ensure(write=not is_dry)
        report = self._parts.sleeper.reflect(_STEPS[self.layer_name], **cycle)
        out = {each.name: each.changed for each in report.steps}
        if self.layer_name == "statistics":
            out = {}
        if self.layer_name != "episodes" and not is_dry:
            with self._read() as reader:
                concepts = reader.all_payloads("concept")
            out["ground"] = sum(map(len, Grounding(self._parts).statistics(concepts).values()))
        return out

    @guarded
    def compressed(self, id: Named, **guard: Unpack[Guard]) -> str | dict[str, Any]:
        """A memory of this layer in few words.

        Of an episode its summary, or its text; of a statistic its verbal form; of a concept its
        name, category, confidence and references.
        """
        record = self.get(id, **guard)
        with self._read() as reader:
            episode = reader.payloads([record.id], "episode").get(record.id, {})
            concept = reader.payloads([record.id], "concept").get(record.id)
            references = references_of(reader, [record.id]).get(record.id, {})
        if concept is None:
            return str(episode.get("summary") or record.text)
        return {
            "name": concept["name"],
            "category": concept["category"],
            "confidence": concept["confidence"],
            "references": {layer: list(ids) for layer, ids in references.items()},
        }

    @verb
    def stats(self) -> dict[str, Any]:
        """The name of this layer, and how many memories it has."""
        return {"layer": self.layer_name, "memories": len(self)}

    @verb
    def __len__(self) -> int:
        return len(self._of_layer(self._selected({})))

    def __iter__(self) -> Iterator[int]:
        return iter([each.id for each in self._of_layer(self._selected({}))])

    def _window_begins(self) -> int:
        """When the window of the layer begins, in ms; only that of episodes has a beginning."""
        if self.layer_name != "episodes":
            return 0
        days = self._parts.config.knowledge.episode_max_age_days
        return self._parts.clock.now_ms() - int(days * _DAY_MS)

    def _selected(self, filters: Mapping[str, Any]) -> dict[int, MemoryRecord]:
        self._parts.access.ensure()
        chosen = self._parts.listing.select(filters, "records")
        return {record.id: record for record, _ in self._parts.listing.records(chosen)}

    def _of_layer(self, records: Mapping[int, MemoryRecord]) -> list[MemoryRecord]:
        with self._read() as reader:
            sorts = reader.sorts(list(records))
        router = self._parts.router
        return [
            record
            for each, record in records.items()
            if layer_of(sorts.get(each, ())) == self.layer_name and not router[record.tier].volatile
        ]


class Layers(Facet):
    """The layers of a memory by name; names of the seed (``hippocampus``) are accepted."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._own: dict[str, Any] = {each: StoreLayer(parts, each) for each in _NAMES}

    def __getitem__(self, name: str) -> Any:
        key = layer_name(name)
        found = self._own.get(key)
        if found is None:  # an empty layer is false
            found = self._parts.layers.get(key)
        if found is None:
            raise InvalidInputError(
                f"there is no layer {name!r:.60}", hint=f"one of: {', '.join(self)}"
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *self._parts.layers])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def register(self, layer: MemoryLayer) -> None:
        """Add a layer of yours under its name, in this process.

        `Memory.recall` asks it for every cue, with ``limit``, ``cue`` and the scopes that the
        recall has: its answer is ``hits.layers[name]``. `Graph.activate` asks it with the seeds. A
        layer that raises is logged and left out.

        Raises:
            InvalidInputError: It does not do what a layer does, or its name is taken.
        """
        if not isinstance(layer, MemoryLayer):
            raise InvalidInputError(
                f"{type(layer).__name__} is no layer", hint="see spector.facets.MemoryLayer"
            )
        name = layer_name(layer.layer_name)
        if name in iter(self):
            raise InvalidInputError(f"layer {name} exists", hint="give it another name")
        self._parts.layers.add(name, layer)


def _check_callback(callback: Any) -> None:
    if parse_callback(callback, "callback") is None:
        raise InvalidInputError("callback is None", hint="pass a function of a layer and a record")


def _last_met(record: MemoryRecord) -> int:
    """When a memory was recorded or last used, in ms."""
    return max(record.recorded_ms, record.last_access_s * 1000)


def _mapping(record: Any) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise InvalidInputError(
            f"record must be a text or a dictionary, not {type(record).__name__}",
            hint='write it like {"text": "..."}',
        )
    return dict(record)


def _episode(given: Any) -> dict[str, Any]:
    """The fields of an episode as its payload keeps them."""
    if isinstance(given, Episode):
        given = {name: getattr(given, name) for name in _EPISODE}
    return {
        name: list(value)
        if isinstance(value, tuple)
        else dict(value)
        if isinstance(value, Mapping)
        else value
        for name, value in _mapping(given).items()
    }
