"""Answers about words that are kept for the next time, and let go when words are erased."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

__all__ = ["KEEPERS", "Keeper", "keeps", "let_all_go"]

_Answer = TypeVar("_Answer")


class Keeper(Protocol):
    """What keeps words by itself."""

    def let_go(self) -> None:
        """Keep none of them."""


_CACHES: Final[list[_lru_cache_wrapper[object]]] = []
#: those that are alive
KEEPERS: Final[WeakSet[Keeper]] = WeakSet()


def keeps(most: int) -> Callable[[Callable[..., _Answer]], _lru_cache_wrapper[_Answer]]:
    """`lru_cache` for what is asked about the words of memories and cues."""

    def kept(function: Callable[..., _Answer]) -> _lru_cache_wrapper[_Answer]:
        cached = lru_cache(maxsize=most)(function)
        _CACHES.append(cached)
        return cached

    return kept


def let_all_go() -> None:
    """Keep no words any more: some were erased."""
    for cache in _CACHES:
        cache.cache_clear()
    for keeper in list(KEEPERS):
        keeper.let_go()
