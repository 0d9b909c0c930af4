"""Layers of a caller's: asked beside the memories, whatever they do; a failing one is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from spector.process.resources import elsewhere

__all__ = ["ForeignLayers"]


class ForeignLayers:
    """Layers by name, in the order in which they were registered."""

    def __init__(self) -> None:
        self._layers: dict[str, Any] = {}

    def add(self, name: str, layer: Any) -> None:
        self._layers[name] = layer

    def get(self, name: str) -> Any:
        """The layer of a name, or None."""
        return self._layers.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._layers))

    def recalled(
        self, cue: str, limit: int, filters: Mapping[str, Any]
    ) -> dict[str, tuple[Any, ...]]:
        """What each layer recalls for a cue, at most ``limit``."""
        found = self._asked(
            lambda layer: tuple(layer.recall(limit=limit, cue=cue, **filters))[:limit]
        )
        return {name: each for name, each in found if each}

    def associated(
        self, seeds: Sequence[int], threshold: float
    ) -> dict[str, list[tuple[int, float]]]:
        """What seeds bring to mind in each layer, the strongest first."""
        found = self._asked(lambda layer: _activations(layer.recall_associated(seeds), threshold))
        return {name: each for name, each in found if each}

    def _asked(self, ask: Callable[[Any], Any]) -> Iterable[tuple[str, Any]]:
        """The answer of each layer; one that raises is logged, and the others are asked."""
        for name, layer in list(self._layers.items()):
            try:
                yield name, elsewhere(ask, layer)
            except Exception:
                import logging  # slow to load, and hardly ever needed

                logging.getLogger("spector.layers").exception("layer %s failed", name)


def _activations(found: Iterable[Any], threshold: float) -> list[tuple[int, float]]:
    """Pairs of id and activation that are finite and at least the threshold."""
    pairs = [(int(each), float(value)) for each, value in found]
    fit = [pair for pair in pairs if math.isfinite(pair[1]) and pair[1] >= threshold]
    return sorted(fit, key=lambda pair: (-pair[1], pair[0]))
