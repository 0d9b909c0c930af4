"""Caches of answers about texts, which are dropped when text is erased."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

__all__ = ["KEEPERS", "Keeper", "drop_all_caches", "keeps"]

_Answer = TypeVar("_Answer")


class Keeper(Protocol):
    """An object that keeps words of texts."""

    def drop_caches(self) -> None:
        """Drop them all."""


_CACHES: Final[list[_lru_cache_wrapper[object]]] = []
#: the living keepers
KEEPERS: Final[WeakSet[Keeper]] = WeakSet()


def keeps(most: int) -> Callable[[Callable[..., _Answer]], _lru_cache_wrapper[_Answer]]:
    """`lru_cache` for answers about the texts of memories and cues."""

    def kept(function: Callable[..., _Answer]) -> _lru_cache_wrapper[_Answer]:
        cached = lru_cache(maxsize=most)(function)
        _CACHES.append(cached)
        return cached

    return kept


def drop_all_caches() -> None:
    """Drop all cached words, because some were erased."""
    for cache in _CACHES:
        cache.cache_clear()
    for keeper in list(KEEPERS):
        keeper.drop_caches()
