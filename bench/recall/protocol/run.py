"""A set in one way of writing: which questions, which vectors."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.recall import sets
from bench.recall.protocol.ask import Manner, Row, asked_of, texts_asked
from bench.recall.protocol.beliefs import beliefs
from bench.recall.protocol.chat import prefeval_chat
from bench.recall.protocol.kinds import kinds
from bench.recall.protocol.ways import WAYS, text_of
from bench.recall.shape import DataSet
from bench.recall.vectors import Memoised, Shelf, default_folder
from spector.providers import MiniLMEmbedder

__all__ = ["SETS", "TIERS", "embed_all", "embedder_of", "loaded", "measure"]

#: name -> (way -> how it is read); a way that would be the same as another is left out
SETS: Final[dict[str, dict[str, Callable[[Path], DataSet | None]]]] = {
    "locomo": dict.fromkeys(WAYS, sets.locomo_turns),
    "beam": dict.fromkeys(WAYS, sets.beam),
    "prefeval-chat": dict.fromkeys(WAYS, prefeval_chat),
    # its memories have no speaker, but the turns of a cue may have
    "madial": {"role": sets.madial_named, "words": sets.madial},
    "prefeval": {"role": sets.prefeval},
    "beliefs": {"role": beliefs},
    "kinds": {"role": kinds},
}
#: sets of one tier
TIERS: Final = {"beliefs": "semantic"}


def loaded(name: str, way: str) -> DataSet | None:
    """A set as it is read for a way; None where that would be the same as for another."""
    reader = SETS[name].get(way)
    if reader is None:
        return None
    return reader(Path() if reader in (beliefs, kinds) else sets.data_root())


def measure(
    name: str, way: str, options: argparse.Namespace, config: Sequence[str] | None = None
) -> list[Row]:
    """The rows of a set; empty where this way is the same as another.

    ``config``: fields as ``name=value``, else those of the options.
    """
    data = loaded(name, way)
    if data is None:
        return []
    manner = Manner(
        way=way,
        times=options.times,
        tier=TIERS.get(name),
        others=options.others,
        selective=name in TIERS,
        silence=not options.no_silence,
        config=tuple(_field(each) for each in (options.config if config is None else config)),
    )
    return list(asked_of(data, manner, embedder_of(options)))


def _field(told: str) -> tuple[str, Any]:
    name, _, value = told.partition("=")
    return name, json.loads(value)


def embedder_of(options: argparse.Namespace, threads: int = 1) -> Memoised:
    folder = Path(options.cache) if options.cache else default_folder()
    return Memoised(MiniLMEmbedder(threads=threads), Shelf(folder))


def embed_all(options: argparse.Namespace) -> None:
    """Every text that the sets will need, on the shelf; shortest first."""
    texts: dict[str, None] = {}
    for name in options.sets:
        for way in options.adapters:
            data = loaded(name, way)
            if data is not None:
                items = (item for store in data.stores for item in store.items)
                texts.update(dict.fromkeys(text_of(item, way) for item in items))
                texts.update(dict.fromkeys(texts_asked(data, options.others)))
    embedder_of(options, threads=options.jobs).keep(texts)
