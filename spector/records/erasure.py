"""Receipts of erasures: what was erased, what was proved, and what no library can erase.

A receipt never repeats what was erased, nor does it hold a digest of it. Guesses reveal the text
behind a plain hash of a short text, and a salted hash proves nothing without the text.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from spector.messages import counted

__all__ = ["NOT_COVERED", "ErasureReceipt", "Purged", "Residue", "Verification"]

#: ids and places that ``print`` shows; ``to_dict`` has all
_MOST_SHOWN: Final = 20

#: places of copies that no library can reach; every receipt lists them
NOT_COVERED: Final = (
    "earlier backups, exports and copies of the store",
    "old partitions that readers in other processes still map, until they unmap them",
    "memory of running processes, swap and core dumps",
    "freed blocks of the file system (replaced partitions, the emptied log) until they are "
    "overwritten; journals and snapshots of the file system; spare cells of flash",
    "embedding services, logs and applications that received the text",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """One thing that was rewritten, emptied or removed, and its bytes."""

    #: a file of the store, or "embedding cache"
    where: str
    what: str
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """Bytes of an erased memory that are still there: where and of what kind, not the content."""

    where: str
    #: None for a word in the full-text index, which does not store words literally
    offset: int | None = None
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A byte-by-byte search of every file of the store for what was erased."""

    #: fragments that were searched for: texts in 32-byte fragments, metadata, tags, labels, vectors
    needles: int = 0
    #: words of the texts, which were searched for in the full-text index
    words: int = 0
    #: values below 6 bytes, or of one repeated byte: they occur anywhere, so they were not searched
    too_short: int = 0
    #: fragments that live memories contain too, so that finding them proves nothing; in files that
    #: do not belong to the store, exact matches only
    shared: int = 0
    #: live memories that contain what the caller named
    living: tuple[int, ...] = ()
    files: int = 0
    bytes: int = 0
    residue: tuple[Residue, ...] = ()
    #: forgotten memories that the residue may come from; not filled in for what the caller named
    left_of: tuple[int, ...] = ()
    #: what could not be searched, and why: links and pipes in the directory, unreadable files
    unsearched: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when every file was searched and no trace of forgotten memories was found."""
        return not self.residue and not self.unsearched

    @property
    def gone(self) -> bool:
        """True when, in addition, no live memory contains what the caller named."""
        return self.ok and not self.living


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """What one erasure did. ``print`` it, or keep its ``to_json()``."""

    #: path of the store, and the end of the erasure in ISO 8601, UTC
    store: str = ""
    time: str = ""
    #: memories that are erased completely
    ids: tuple[int, ...] = ()
    #: forgotten memories, or earlier versions, of which bytes remain: ``pending`` says why. Where
    #: only a search has found them, only the receipt of a new search can say that they are gone
    not_yet: tuple[int, ...] = ()
    #: live memories of which an earlier version (text, tags, metadata or labels) was erased
    replaced: tuple[int, ...] = ()
    #: those of ``ids`` that no call named: facts and other memories made of the others alone
    derived_erased: tuple[int, ...] = ()
    #: live memories derived from an erased one: at any depth of ``parents``, and facts that have
    #: another source or were kept; they may repeat its content, and their words were not touched
    derived: tuple[int, ...] = ()
    #: number of further derived memories outside the scope of the call
    derived_elsewhere: int = 0
    #: memories that were to be erased and were kept, because they are pinned or immutable
    protected: tuple[int, ...] = ()
    purged: tuple[Purged, ...] = ()
    #: why bytes may remain, and what to do
    pending: tuple[str, ...] = ()
    #: files in the directory that do not belong to the store; they were not touched
    unknown_files: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = NOT_COVERED
    #: None when no search was asked for
    verification: Verification | None = None

    @property
    def complete(self) -> bool:
        """True when everything is erased, nothing is pending, and a search found no trace."""
        searched = self.verification is None or self.verification.ok
        return not self.pending and not self.protected and searched

    def to_dict(self) -> dict[str, Any]:
        """The receipt in plain JSON types."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if self.verification is not None:
            verdict = {"ok": self.verification.ok, "gone": self.verification.gone}
            found["verification"] |= verdict
        return {**found, "complete": self.complete}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def __str__(self) -> str:
        lines = [
            f"erasure {'complete' if self.complete else 'NOT complete'}: {self.store}, {self.time}",
            f"  memories erased: {_listed(self.ids)}",
        ]
        if self.not_yet:
            lines.append(f"  not erased yet: {_listed(self.not_yet)}")
        if self.replaced:
            lines.append(f"  earlier versions erased of: {_listed(self.replaced)}")
        if self.derived_erased:
            lines.append(f"  of these, made of the others alone: {_listed(self.derived_erased)}")
        if self.derived:
            lines.append(f"  derived from them and kept, please review: {_listed(self.derived)}")
        if self.derived_elsewhere:
            lines.append(f"  derived outside the scope and kept: {self.derived_elsewhere}")
        if self.protected:
            lines.append(f"  kept, because pinned or immutable: {_listed(self.protected)}")
        lines += [
            f"  {each.where}: {each.what}, {counted(each.bytes, 'byte', commas=True)}"
            for each in self.purged
        ]
        if self.verification is not None:
            lines += _searched(self.verification)
        lines += [f"  pending: {each}" for each in self.pending]
        lines += _first(
            [f"not part of the store, not touched: {each}" for each in self.unknown_files]
        )
        lines += [f"  not covered: {each}" for each in self.not_covered]
        return "\n".join(lines)


def _searched(found: Verification) -> list[str]:
    traces = len(found.residue)
    lines = [
        f"  searched {counted(found.files, 'file')}"
        f" ({counted(found.bytes, 'byte', commas=True)}) for"
        f" {counted(found.needles, 'fragment')}, and the full-text index for"
        f" {counted(found.words, 'word')}: {counted(traces, 'trace') if traces else 'no trace'}"
        " found",
    ]
    if found.living:
        lines.append(f"  live memories still contain what you named: {_listed(found.living)}")
    if found.shared:
        also = "also occurs" if found.shared == 1 else "also occur"
        lines.append(
            f"  not counted: {counted(found.shared, 'fragment')} that {also} in live memories"
        )
    if found.too_short:
        lines.append(f"  not counted: {counted(found.too_short, 'value')} too short to search for")
    lines += _first(
        [
            f"trace: {each.kind} in {each.where}"
            + ("" if each.offset is None else f" at byte {each.offset}")
            for each in found.residue
        ]
    )
    return lines + _first([f"not searched: {each}" for each in found.unsearched])


def _first(lines: list[str]) -> list[str]:
    """The first lines of a list, with a note where there are more."""
    shown = [f"  {line}" for line in lines[:_MOST_SHOWN]]
    if len(lines) > _MOST_SHOWN:
        shown.insert(0, f"  first {_MOST_SHOWN} of {len(lines)}; to_json() (--json) has all:")
    return shown


def _listed(ids: tuple[int, ...]) -> str:
    """The number of ids, and the first of them."""
    if not ids:
        return "none"
    some = f"first {_MOST_SHOWN} of {len(ids)}: " if len(ids) > _MOST_SHOWN else ""
    return f"{len(ids)} ({some}{', '.join(map(str, ids[:_MOST_SHOWN]))})"
