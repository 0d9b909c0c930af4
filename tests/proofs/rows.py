"""What the store promises, row by row, the rooms that each row proves, and its least counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ["GROUPS", "NAMES", "QUICK_S", "ROWS", "Row", "rooms_of"]

#: seconds that all quick tests may take on two cores. Reported, never judged: a machine may be busy
QUICK_S: Final = 480

_GROUND: Final = ("errors", "layout", "clock", "config", "records", "process")
#: whatever has a part in getting a byte onto the disk and back. ``memory`` and ``api`` only hand
#: calls on; the rows about every verb name them
_DURABLE: Final = (
    *_GROUND,
    "store",
    "tiers",
    "lexical",
    "kernel",
    "native",
    "knowledge",
    "write",
    "upkeep",
    "sleep",
    "assembly",
    "parts",
)
#: names that stand for several rooms
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "ground": _GROUND,
    "durable": _DURABLE,
    "engine": (
        *_DURABLE,
        "arguments",
        "search",
        "observe",
        "recall",
        "language",
        "providers",
        "exchange",
        "messages",
        "chat",
        "forgetting",
        "facets",
        "session",
        "verbs",
        "memory",
        "api",
    ),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One promise.

    ``rooms`` are what the row proves: packages and modules below ``spector/``, ``native`` for the
    C code, or names of ``GROUPS``. The row goes stale when one of them changes, or a test of it.

    ``least`` are counts below which a full run falls short of its plan. The count of a quick test
    is a sample of the slow test's count of the same name in the same file, and is not added to it;
    counts in ``apart`` are of other cases and are added.
    """

    name: str
    promise: str
    how: str
    rooms: tuple[str, ...]
    least: dict[str, int] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()


_MUTANTS: Final = frozenset({"mutants", "mutants_caught", "states_until_caught"})
_PLANTED: Final = frozenset({"planted_bugs_found"})

# fmt: off
ROWS: Final = (
    Row(
        "T1", "A killed process loses nothing acknowledged and shows nothing half-done",
        "SIGKILL at every file system call of every workload, including SQLite's; at every fifth"
        " call of a relaxed writer", ("durable",),
        {"kill_points": 3000},
    ),
    Row(
        "observing",
        "What is observed is there with its facts, ties and strengths, or not at all",
        "SIGKILL at every file system call while messages create, supersede, contradict,"
        " elaborate, strengthen, capture and merge; power cuts of the same messages are in T3",
        ("engine",), {"kill_points": 800},
    ),
    Row(
        "T2", "A kill during recovery changes nothing",
        "every 97th image of those kills is recovered and killed at every call; each result again"
        " at one call, a different one each time", ("durable",),
    ),
    Row(
        "T3",
        "A power cut loses nothing acknowledged (strict), or only the newest suffix (relaxed)",
        "recorded calls replayed into legal disks: un-synced writes dropped, kept, torn, reordered",
        ("durable",),
        {"states": 20_000, "mutants_caught": 7}, _MUTANTS,
    ),
    Row(
        "T4", "Writes reach the disk in the designed order", "audit of the same recorded calls",
        ("durable",),
        apart=_MUTANTS,
    ),
    Row(
        "T5", "A real file system agrees with the replay",
        "images of an ext4 disk taken while a process writes, each mounted, replayed and opened",
        ("durable",),
    ),
    Row(
        "T6", "A failing disk gives a typed error and leaves the store intact",
        "EIO, ENOSPC, EDQUOT, EMFILE, EACCES, EINTR, short writes, at every 2nd to 61st call of"
        " each workload in strict durability, once or for ever; at fewer calls of a relaxed writer"
        " and of a reader; no memory, at every call. No file is synced again after its sync failed,"
        " except while a store is being created (counted), and no directory, except that of the"
        " catalog after a failure that SQLite hides (counted)", ("durable",),
    ),
    Row(
        "T7", "A full disk is survivable: room freed means work resumes",
        "a quota in front of libc at every few KiB of each workload, which cannot show a SIGBUS"
        " because its disk has room; mounted tmpfs and ext4 of 4 to 8 MiB: remember, reflect,"
        " compact, checkpoint, backup, close", ("durable",),
    ),
    Row(
        "T8", "Too little memory is an error, not a crash",
        "address space limited step by step; the kernel in buffers of every size between fences",
        ("durable", "search"),
    ),
    Row(
        "T9", "Every changed byte of a header is noticed or harmless",
        "each byte of partition and record headers set to 0, 255, ^1, +1, random",
        ("ground", "store", "kernel", "native", "search"),
    ),
    Row(
        "T10", "Damage to records and files is found, and never served as truth",
        "bit flips, zeroed pages, swaps, truncations, foreign and stale files",
        ("ground", "store", "lexical", "kernel", "native", "search", "language"),
    ),
    Row(
        "T11", "No input from disk crashes the reader",
        "each kind of input counted separately, because their cost differs a thousandfold: C under"
        " sanitizers (kernel, lexical); random input; input guided by coverage (damaged stores and"
        " their repairs; stores forged with matching checksums, either only opened or used in full;"
        " imports; exports; arguments)", ("engine", "importers"),
        {
            "kernel_cases": 5_000_000, "lexical_cases": 300_000,
            "imports_by_chance": 40_000, "arguments_by_chance": 40_000,
            "exports_by_chance": 10_000, "scan_indexes_by_chance": 2000,
            "guided_import": 200_000, "guided_arguments": 50_000, "guided_export": 20_000,
            "guided_opened": 50_000, "guided_store": 6000, "guided_sealed": 6000,
            "guided_repair": 14_000,
        },
    ),
    Row(
        "T12", "A truncated file is noticed when it is opened or read as a whole; under an open"
        " store it may end the process in a recall",
        "truncation at every 37th byte between openings; while a store opens with guard_reads; in"
        " front of compaction and backup; under recalls of an open store, which get SIGBUS",
        ("ground", "store", "kernel", "native", "search"),
    ),
    Row(
        "T13", "Readers see whole commits beside a writer",
        "reading processes verify every record while one process writes, compacts and reflects;"
        " times are of a machine on which all other tests run too", ("durable", "search"),
    ),
    Row("T14", "There is one writer", "second processes, dead holders, links, second paths",
        ("ground", "store", "assembly"),
    ),
    Row("T15", "Forks, threads and stray closes harm nothing", "forked, threaded, closed at exit",
        ("durable",),
    ),
    Row(
        "T16", "Old formats open, newer ones are refused",
        "fixtures of every format, killed upgrades", ("durable", "cli"),
    ),
    Row(
        "T17", "Foreign byte orders and odd shapes are refused or equal",
        "headers, dimensions, strides", ("ground", "store", "kernel", "native"),
    ),
    Row(
        "T18", "Clocks that jump, freeze or go back break nothing",
        "injected clocks, 1969 to 2262", ("durable", "search"),
    ),
    Row("T19", "Days are UTC days in every time zone", "zones, both ends of summer time",
        ("ground", "store", "tiers", "write", "upkeep", "sleep"),
    ),
    Row(
        "T20", "Huge inputs are refused with a typed error",
        "texts, tags, batches beyond their limits",
        ("ground", "arguments", "write", "search", "memory", "importers", "exchange"),
        apart=frozenset({"refused"}),
    ),
    Row(
        "T21", "NaN, infinity and zero vectors are refused or sorted last",
        "writes, cues, forced files", ("ground", "write", "kernel", "native", "search"),
    ),
    Row(
        "T22", "Any array layout gives the same answer",
        "random vectors, dtypes, byte orders and strides (negative ones, too); overlapping and"
        " broadcast rows, Fortran order, misaligned, read-only",
        ("ground", "write", "store", "kernel", "native"),
    ),
    Row("T23", "Offsets and counts beyond 32 bits hold", "sparse files, sanitizers",
        ("ground", "store", "kernel", "native"),
    ),
    Row(
        "T24", "The engine equals a dictionary and NumPy",
        "random operations on both, tiny partitions; on disk crashes, reopenings and readers in"
        " between, in memory none of these", ("engine",),
        {"steps": 200_000, "steps_on_disk": 110_000}, _PLANTED,
    ),
    Row(
        "T25", "Every instruction set and backend gives the same bits",
        "each set forced, alone and together, in C, Numba and NumPy; a float64 oracle",
        ("kernel", "native"),
    ),
    Row("T26", "The fast paths equal the exact one", "default recall beside exact=True",
        ("ground", "search", "store", "tiers", "write", "lexical", "kernel", "native"),
    ),
    Row(
        "T27", "The kernel touches no memory but its own",
        "ASan, UBSan, valgrind, unreadable pages around every buffer",
        ("kernel", "native", "lexical", "errors"),
    ),
    Row("T28", "No data races in the kernel", "thread sanitizer over shared indexes and outputs",
        ("kernel", "native"),
    ),
    Row(
        "T29", "Every reader sees whole commits at every moment, whatever else happens",
        "a writer, readers within its operations, backups, restores, nights, failing disks and"
        " kills, in one thread from one seed", ("durable", "search"),
        {"steps": 18_000, "planted_bugs_found": 3}, _PLANTED,
    ),
    Row(
        "T30", "The tests bite",
        "mutants of store, write, upkeep, sleep and the parsers: comparisons, off by one, syncs and"
        " calls left out or swapped, errors not raised",
        ("ground", "store", "write", "upkeep", "sleep", "tiers", "exchange", "importers"),
        {"mutants": 60},
    ),
    Row(
        "T31", "Long runs do not slow down, nor grow beyond 4 MiB of own memory an hour",
        "one writer, four reading processes, the daemon on; the last quarter of the time beside the"
        " first; slopes of memory, descriptors, maps; beside all other tests", ("engine",),
        {"minutes": 30},
    ),
    Row(
        "T32", "Load is survivable",
        "10,000 to 1,000,000 records, cold and warm; beside all other tests", ("engine",),
    ),
    Row(
        "T33", "A backup of a live store is a store; an unsafe plain copy is detected",
        "backups while writes go on, restored, checked; copies file by file, in several orders,"
        " while a store is in use or its writer is killed; backups copied over what a killed writer"
        " left. Each is refused, or found by check, or one moment exactly", ("durable",),
        {
            "copies_in_use": 240, "copies_in_use_refused": 1, "copies_in_use_found_by_check": 1,
            "copies_in_use_sound": 1, "copies_across_a_kill": 120,
            "copies_across_a_kill_refused": 1, "copies_across_a_kill_found_by_check": 1,
            "copies_across_a_kill_sound": 1,
            "backups_over_killed_stores": 120,
        },
    ),
    Row("T34", "Sleep is idempotent", "reflect and compact killed, rerun, run twice", ("durable",)),
    Row(
        "T35", "Every configuration keeps the same promises",
        "the lives of T24, once for each: kernels, durability, in memory, with and without indexes",
        ("engine",),
        {"configurations": 7},
    ),
    Row(
        "T36", "An interrupt costs nothing: Ctrl-C, SIGTERM, a soft time limit",
        "an exception at every return of a call into SQLite and the system, in every verb, in"
        " opening and closing; real signals at random moments, also to the command. Afterwards the"
        " object works or says that it must be reopened, the store opens, check finds nothing,"
        " everything acknowledged is there, and no lock or descriptor is left",
        ("engine", "cli", "importers"),
        {"places_cut": 4000, "interrupts": 5000, "commands_interrupted": 300},
    ),
    Row(
        "T37", "Closing beside running calls ends them with a result or StoreClosedError",
        "a memory is closed while many threads are in all of its verbs", ("engine",),
        {"closings": 1000},
    ),
    Row(
        "keys", "Under a key there is one memory at any moment, and no other user's",
        "random operations with keys of several users beside a dictionary, with several processes"
        " and kills; every verb that takes a key; kills and power cuts at each step in T1 and T3",
        ("engine",),
        {"operations": 20_000},
    ),
    Row(
        "expiry", "Past its end no read returns a memory, and upkeep erases it",
        "every reading verb just before the end and at it, with nothing written between",
        ("engine", "arguments", "importers", "cli"),
    ),
    Row(
        "attachments", "What is attached goes with its memory, comes back as it was, and is in no"
        " recall",
        "values of every kind and what JSON has not; replaced, moved, expired, purged and searched"
        " for, exported, restored, repaired; memories without words beside those that recalls give;"
        " kills and power cuts in T1 and T3",
        ("engine", "cli"),
    ),
    Row(
        "sharing", "Processes that share a store lose nothing, and each sees all that is committed",
        "processes that write at once; writers killed at random beside one that lives; random"
        " operations of several processes beside models, with plain openings between; a shared"
        " write cut off at every place; shells that call the command at once; a stopped holder;"
        " power cuts in T3", ("engine", "process", "cli"),
        {"writers_killed": 50, "operations": 100_000, "shared_writes": 200, "commands": 120},
    ),
    Row("I1-I15", "check names each broken invariant", "each broken by hand",
        ("ground", "store", "kernel", "native"),
    ),
    Row("I21-I29", "check names each broken invariant of knowledge, keys and attachments",
        "each broken by hand, each value of each table changed", ("ground", "store", "knowledge"),
    ),
    Row(
        "any text", "Any name, tag, step or property is kept as it is, or refused with a type",
        "control characters, half of a pair, signs of keys, JSON, a megabyte, in every verb",
        ("engine",),
    ),
    Row(
        "tenancy", "Nothing ties, shows or derives from memories of two users",
        "random operations of five users over facets, sleep and recalls; each name belongs to one",
        ("engine",), {"operations": 100_000},
    ),
    Row(
        "nights", "A night cut or killed leaves what a whole one does; undone, what was before",
        "SIGKILL at random file calls of nights in which every step has work, cut after each unit;"
        " the next call finishes them, and all that the store says is compared; purges during a"
        " night, undoing, ten users", ("durable", "search", "language", "providers", "arguments"),
        {"kills_in_a_night": 200},
    ),
    Row("repair", "Whatever is intact can be salvaged", "check --repair on every kind of damage",
        ("durable", "providers", "cli"),
    ),
    Row("backup", "Backups are whole or absent", "kills, full disks, hostile destinations",
        ("durable",),
    ),
    Row("erasure", "Purged means gone", "byte search over every file of the store",
        ("durable", "search", "language", "providers", "arguments", "importers"),
    ),
    Row("permissions", "Files are 0600, directories 0700", "any umask, every file made",
        ("ground", "store", "exchange", "cli", "providers"),
    ),
    Row("hostile names", "No name leads outside the store", "a corpus of names, links, devices",
        ("ground", "store", "importers", "exchange", "cli"),
    ),
    Row("hostile catalog", "A planted catalog runs nothing", "triggers, views, attached files",
        ("ground", "store", "assembly"),
    ),
)
# fmt: on

_BY_NAME: Final = {row.name: row for row in ROWS}
NAMES: Final = frozenset(_BY_NAME)


def rooms_of(row: str) -> tuple[str, ...]:
    """The rooms that a row names, its groups written out; all that there are for no row."""
    named = _BY_NAME[row].rooms if row in _BY_NAME else ("engine", "cli", "importers")
    return tuple(sorted({room for each in named for room in GROUPS.get(each, (each,))}))
