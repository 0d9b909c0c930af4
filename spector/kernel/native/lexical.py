"""The lexical calls of the C backend, without the GIL."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import (
    POSTINGS_DTYPE,
    TAIL_DTYPE,
    WORD_HIT_DTYPE,
    WORDS_DTYPE,
    Postings,
    PostingsTable,
    Words,
    check_allow,
    check_hashes,
    check_positions,
    check_rows,
)

__all__ = ["NativeLexical"]

_native: Any = import_module("spector._native")
_ffi: Any = _native.ffi
_lib: Any = _native.lib

if not hasattr(_lib, "spector_lexical_best"):
    raise ImportError("the extension was built from other sources (it has no lexical calls)")
for _struct, _dtype in (
    ("spector_postings", POSTINGS_DTYPE),
    ("spector_tail", TAIL_DTYPE),
    ("spector_words", WORDS_DTYPE),
    ("spector_word_hit", WORD_HIT_DTYPE),
):
    if _ffi.sizeof(_struct) != _dtype.itemsize:
        raise ImportError(f"the extension was built from other sources ({_struct} differs)")

U64 = NDArray[np.uint64]


class _Room(threading.local):
    """What a call works in, one a thread."""

    def __init__(self) -> None:
        self.memory = np.zeros(_ffi.sizeof("spector_lexical_room"), np.uint8)
        self.pointer = _ffi.cast("spector_lexical_room *", _ffi.from_buffer(self.memory))


_room: Final = _Room()


class NativeLexical:
    """The lexical calls in C11, see `spector.kernel.contract.postings.LexicalKernel`."""

    def lexical_find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        sought = check_hashes(hashes)
        positions = np.empty((len(table.blocks), len(sought)), np.int32)
        df = np.zeros(len(sought), np.int64)
        bitmap = check_allow(table, allow)
        _lib.spector_lexical_find(
            *_parts(table), _pointer("uint64_t *", sought), len(sought),
            _optional(bitmap), _pointer("int32_t *", positions), _pointer("uint64_t *", df),
        )  # fmt: skip
        return positions, df

    def lexical_best(
        self,
        table: PostingsTable,
        words: Words,
        positions: NDArray[np.int32],
        k: int,
        allow: U64 | None = None,
    ) -> NDArray[Any]:
        positions = check_positions(table, len(words.hash), positions)
        bitmap = check_allow(table, allow)
        hits = np.empty(min(max(k, 0), table.n_rows), WORD_HIT_DTYPE)
        query, _alive = _query(words)
        found = _lib.spector_lexical_best(
            *_parts(table), query, _pointer("int32_t *", positions), _optional(bitmap),
            _room.pointer, _pointer("spector_word_hit *", hits), len(hits),
        )  # fmt: skip
        return hits[:found]

    def lexical_all(
        self, table: PostingsTable, words: Words, positions: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        positions = check_positions(table, len(words.hash), positions)
        scores = np.zeros(table.n_rows, np.float32)
        query, _alive = _query(words)
        _lib.spector_lexical_all(
            *_parts(table), query, _pointer("int32_t *", positions), _pointer("float *", scores)
        )
        return scores

    def lexical_counts(
        self,
        table: PostingsTable,
        hashes: U64,
        positions: NDArray[np.int32],
        rows: NDArray[Any],
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        sought, chosen = check_hashes(hashes), check_rows(table, rows)
        positions = check_positions(table, len(sought), positions)
        counts = np.zeros((len(sought), len(chosen)), np.uint8)
        lengths = np.zeros(len(chosen), np.uint8)
        _lib.spector_lexical_counts(
            *_parts(table), _pointer("uint64_t *", sought), len(sought),
            _pointer("int32_t *", positions), _pointer("uint32_t *", chosen), len(chosen),
            _pointer("uint8_t *", counts), _pointer("uint8_t *", lengths),
        )  # fmt: skip
        return counts, lengths

    def lexical_having(
        self,
        table: PostingsTable,
        hashes: U64,
        positions: NDArray[np.int32],
        limit: int,
        allow: U64 | None = None,
    ) -> NDArray[np.uint32]:
        sought = check_hashes(hashes)
        positions = check_positions(table, len(sought), positions)
        rows = np.empty(min(max(limit, 0), table.n_rows), np.uint32)
        bitmap = check_allow(table, allow)
        found = _lib.spector_lexical_having(
            *_parts(table), _pointer("uint64_t *", sought), len(sought),
            _pointer("int32_t *", positions), _optional(bitmap), _pointer("uint32_t *", rows),
            len(rows),
        )  # fmt: skip
        return rows[:found]

    def lexical_check(self, postings: Postings) -> int:
        table = PostingsTable([postings])
        return int(_lib.spector_lexical_check(
            _pointer("spector_postings *", table.entries), len(postings.row)
        ))


def _parts(table: PostingsTable) -> tuple[Any, int, Any, int]:
    return (
        _pointer("spector_postings *", table.entries), len(table.entries),
        _pointer("spector_tail *", table.tail_entries), len(table.tail_entries),
    )  # fmt: skip


def _query(words: Words) -> tuple[Any, Any]:
    """The struct, and what must live as long as it is used."""
    query = _ffi.new("spector_words *")
    query.hash = _pointer("uint64_t *", words.hash)
    query.weight = _pointer("float *", words.weight)
    query.norm = _pointer("float *", words.norm)
    query.n = len(words.hash)
    return query, words


def _optional(bitmap: U64 | None) -> Any:
    return _ffi.NULL if bitmap is None else _pointer("uint64_t *", bitmap)


def _pointer(kind: str, array: NDArray[Any]) -> Any:
    """The address of an array, which the caller keeps alive."""
    return _ffi.cast(kind, _ffi.from_buffer(array))
