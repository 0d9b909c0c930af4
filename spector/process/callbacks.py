"""Callbacks of layers: called after the commit, in the order of commits, outside of locks."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

__all__ = ["Callback", "LayerCallbacks", "Watchers"]

#: called with the name of a layer, and the record that it got or the id that it lost
Callback = Callable[[str, Any], None]


class Watchers:
    """Parts that hear of memories that are gone, so that they forget them, too.

    They are known weakly: writers, which tell them, are parts of what they use.
    """

    def __init__(self) -> None:
        self._watching: list[
            weakref.WeakMethod[Callable[[Collection[int], Collection[str]], object]]
        ] = []
        self._watching_wholes: list[weakref.WeakMethod[Callable[[Mapping[str, str]], object]]] = []

    def add(self, watcher: Callable[[Collection[int], Collection[str]], object]) -> None:
        """Have a method called with the ids and the former words of what is gone."""
        self._watching.append(weakref.WeakMethod(watcher))

    def note_gone(self, ids: Collection[int], texts: Collection[str]) -> None:
        """Tell all that memories are gone, or that their words or their user are others now."""
        for each in self._watching:
            watcher = each()
            if watcher is not None:
                watcher(ids, texts)

    def add_whole(self, watcher: Callable[[Mapping[str, str]], object]) -> None:
        """Have a method called with the labels of a user, agent or session that is gone."""
        self._watching_wholes.append(weakref.WeakMethod(watcher))

    def note_whole_gone(self, labels: Mapping[str, str]) -> None:
        """Tell all that every memory with some labels is gone."""
        for each in self._watching_wholes:
            watcher = each()
            if watcher is not None:
                watcher(labels)


class LayerCallbacks:
    """The callbacks of layers, called when one gets or loses a memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._delivering = threading.Lock()
        self._captures: list[tuple[str, Callback]] = []
        self._deletions: list[tuple[str, Callback]] = []
        self._waiting: deque[tuple[list[tuple[str, Callback]], str, Any]] = deque()

    @property
    def watches_deletions(self) -> bool:
        """Whether a callback waits for deletions, which then have to name their layer."""
        return bool(self._deletions)

    def register(self, layer: str, callback: Callback, *, deletions: bool) -> Callable[[], None]:
        """Register a callback of a layer; returns what ends it."""
        chosen, entry = (self._deletions if deletions else self._captures), (layer, callback)
        with self._lock:
            chosen.append(entry)

        def cancel() -> None:
            with self._lock:
                chosen[:] = [each for each in chosen if each is not entry]

        return cancel

    def note_stored(self, layer: str, records: Iterable[Any]) -> None:
        """Call the callbacks for each record that a layer got."""
        if self._captures:
            with self._lock:
                self._waiting.extend((self._captures, layer, each) for each in records)
            self.deliver()

    def note_deleted(self, layers: Mapping[int, str]) -> None:
        """Have the callbacks called for each id that a layer lost, by the next `deliver`."""
        with self._lock:
            self._waiting.extend((self._deletions, layer, each) for each, layer in layers.items())

    def deliver(self) -> None:
        """Call what waits; another thread that does so already, or a callback, goes on with it."""
        while self._waiting and self._delivering.acquire(blocking=False):
            try:
                while True:
                    with self._lock:
                        if not self._waiting:
                            break
                        chosen, layer, what = self._waiting.popleft()
                        callbacks = [call for name, call in chosen if name == layer]
                    for call in callbacks:
                        try:
                            call(layer, what)
                        except Exception:
                            _note_failure(layer)
            finally:
                self._delivering.release()


def _note_failure(layer: str) -> None:
    """Log the error that is being handled."""
    import logging  # slow to load, and hardly ever needed

    logging.getLogger("spector.layers").exception("a callback of layer %s failed", layer)
