"""cffi build script of ``spector._native`` (API mode).

Environment:
    SPECTOR_SANITIZE: e.g. ``address,undefined``; builds with those sanitizers.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from cffi import FFI

SOURCES = (
    "native/scan.c",
    "native/straight.c",
    "native/gate_records.c",
    "native/dot.c",
    "native/columns.c",
    "native/score.c",
    "native/popcount.c",
    "native/crc32c.c",
    "native/isa.c",
    "native/index.c",
    "native/sketch.c",
    "native/indexed.c",
    "native/gate_index.c",
    "native/bounds.c",
    "native/rerank.c",
    "native/floor_estimate.c",
    "native/slices.c",
    "native/lexical.c",
    "native/neighbours.c",
    "native/gather.c",
)
HEADER = "native/spector.h"

_STRUCTS = (
    "spector_partition_header",
    "spector_index_header",
    "spector_extremes",
    "spector_record",
    "spector_part",
    "spector_query",
    "spector_hit",
    "spector_postings",
    "spector_tail",
    "spector_words",
    "spector_word_hit",
    "spector_lexical_room",
    "spector_around",
)
_CONSTANTS = (
    "SPECTOR_HEADER_BYTES",
    "SPECTOR_CRC_SPAN",
    "SPECTOR_TOMBSTONE",
    "SPECTOR_PINNED",
    "SPECTOR_IMMUTABLE",
    "SPECTOR_FLASHBULB",
    "SPECTOR_CONSOLIDATED",
    "SPECTOR_UNRESOLVED",
    "SPECTOR_SUPERSEDED",
    "SPECTOR_DORMANT",
    "SPECTOR_QUARANTINED",
    "SPECTOR_DROPS",
    "SPECTOR_TABLE",
    "SPECTOR_INDEX_MAX_DIM",
    "SPECTOR_CAP_SSE42",
    "SPECTOR_CAP_AVX2",
    "SPECTOR_CAP_AVX512",
    "SPECTOR_CAP_AVX512POP",
    "SPECTOR_CAP_NEON",
    "SPECTOR_CAP_DOTPROD",
)
_FUNCTIONS = (
    "spector_scan",
    "spector_score",
    "spector_gather",
    "spector_crc32c",
    "spector_crc32c_rows",
    "spector_stream",
    "spector_cpu_caps",
    "spector_set_caps",
    "spector_index_bytes",
    "spector_index_init",
    "spector_index_append",
    "spector_index_update",
    "spector_index_refresh",
    "spector_rotate_f32",
    "spector_lexical_find",
    "spector_lexical_best",
    "spector_lexical_all",
    "spector_lexical_counts",
    "spector_lexical_having",
    "spector_lexical_check",
    "spector_words_around",
    "spector_mixed_norms",
    "spector_chained",
)


def declarations(header: str) -> str:
    """What Python may see of the header: structs, constants and public functions.

    Read from the header itself, so the two cannot drift. Constants and offsets are left to the
    compiler ("..."), which makes them checkable against layout.py.
    """
    plain = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    out = []
    for name in _STRUCTS:
        found = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", plain, re.S)
        assert found, f"{HEADER} has no struct {name}"
        out.append(f"typedef struct {name} {{{found.group(1)} ...; }} {name};")
    out += [f"#define {name} ..." for name in _CONSTANTS]
    for name in _FUNCTIONS:
        found = re.search(rf"^[\w ]+\b{name}\([^;]*;", plain, re.M)
        assert found, f"{HEADER} has no function {name}"
        out.append(found.group(0))
    return "\n".join(out)


def compile_args() -> tuple[list[str], list[str]]:
    """Flags for the compiler and the linker.

    Never -ffast-math or -march=native: scores must be the same on every machine, and a wheel must
    run on the oldest one. Contraction to FMA would change the last bit, hence -ffp-contract=off.
    """
    if sys.platform == "win32":
        return ["/O2", "/fp:precise"], []
    flags = [
        "-std=c11",
        "-O3",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-Wall",
        "-Wextra",
    ]
    sanitize = os.environ.get("SPECTOR_SANITIZE", "")
    if not sanitize:
        return flags, []
    extra = [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-g"]
    return [*flags, *extra], [f"-fsanitize={sanitize}"]


def make_ffi() -> FFI:
    root = Path(__file__).resolve().parent.parent
    builder = FFI()
    builder.cdef(declarations((root / HEADER).read_text(encoding="utf-8")))
    cflags, ldflags = compile_args()
    builder.set_source(
        "spector._native",
        '#include "spector.h"',
        sources=list(SOURCES),
        include_dirs=["native"],
        depends=[HEADER, "native/index.h", "native/search.h"],
        extra_compile_args=cflags,
        extra_link_args=ldflags,
    )
    return builder


ffi = make_ffi()
