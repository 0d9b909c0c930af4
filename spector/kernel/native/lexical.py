"""The lexical calls of the C backend, without the GIL."""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import F32, I32, I64, U8, U32, U64
from spector.kernel.contract import LexicalKernel, Postings, PostingsTable, QueryTerms
from spector.kernel.native.library import ffi, lib, optional, pointer

__all__ = ["NativeLexical"]


class _Scratch(threading.local):
    """What a call works in, one a thread."""

    def __init__(self) -> None:
        self.memory = np.zeros(ffi.sizeof("spector_lexical_room"), np.uint8)
        self.pointer = pointer("spector_lexical_room *", self.memory)


_scratch: Final = _Scratch()


class NativeLexical(LexicalKernel):
    """The lexical calls in C11."""

    def _find(
        self, table: PostingsTable, hashes: U64, allow: U64 | None, positions: I32, df: I64
    ) -> None:
        lib.spector_lexical_find(
            *_parts(table),
            pointer("uint64_t *", hashes),
            len(hashes),
            optional("uint64_t *", allow),
            pointer("int32_t *", positions),
            pointer("uint64_t *", df),
        )

    def _best(
        self,
        table: PostingsTable,
        terms: QueryTerms,
        positions: I32,
        allow: U64 | None,
        hits: NDArray[Any],
        k: int,
    ) -> int:
        return int(
            lib.spector_lexical_best(
                *_parts(table),
                _query(terms),
                pointer("int32_t *", positions),
                optional("uint64_t *", allow),
                _scratch.pointer,
                pointer("spector_word_hit *", hits),
                k,
            )
        )

    def _all(self, table: PostingsTable, terms: QueryTerms, positions: I32, scores: F32) -> None:
        lib.spector_lexical_all(
            *_parts(table),
            _query(terms),
            pointer("int32_t *", positions),
            pointer("float *", scores),
        )

    def _counts(
        self, table: PostingsTable, hashes: U64, positions: I32, rows: U32, counts: U8, lengths: U8
    ) -> None:
        lib.spector_lexical_counts(
            *_parts(table),
            pointer("uint64_t *", hashes),
            len(hashes),
            pointer("int32_t *", positions),
            pointer("uint32_t *", rows),
            len(rows),
            pointer("uint8_t *", counts),
            pointer("uint8_t *", lengths),
        )

    def _having(
        self, table: PostingsTable, hashes: U64, positions: I32, allow: U64 | None, rows: U32
    ) -> int:
        return int(
            lib.spector_lexical_having(
                *_parts(table),
                pointer("uint64_t *", hashes),
                len(hashes),
                pointer("int32_t *", positions),
                optional("uint64_t *", allow),
                pointer("uint32_t *", rows),
                len(rows),
            )
        )

    def lexical_check(self, postings: Postings) -> int:
        table = PostingsTable([postings])
        return int(
            lib.spector_lexical_check(
                pointer("spector_postings *", table.entries), len(postings.row)
            )
        )


def _parts(table: PostingsTable) -> tuple[Any, int, Any, int]:
    return (
        pointer("spector_postings *", table.entries),
        len(table.entries),
        pointer("spector_tail *", table.tail_entries),
        len(table.tail_entries),
    )


def _query(terms: QueryTerms) -> Any:
    """The struct; the caller keeps the arrays alive that it points to."""
    query = ffi.new("spector_words *")
    query.hash = pointer("uint64_t *", terms.hash)
    query.weight = pointer("float *", terms.weight)
    query.norm = pointer("float *", terms.norm)
    query.n = len(terms.hash)
    return query
