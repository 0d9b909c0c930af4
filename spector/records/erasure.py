"""What an erasure did, what it proved, and what it cannot reach: for the user's own records.

A receipt never repeats what was erased. It holds no digest of it either: the hash of a short text
is found by hashing guesses, so it would keep a trace of what had to go; a salted one proves nothing
to somebody who no longer has the text.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from spector.messages import counted

__all__ = ["NOT_COVERED", "ErasureReceipt", "Purged", "Residue", "Verification"]

#: ids and places that ``print`` shows; ``to_dict`` has all
_MOST_SHOWN: Final = 20

#: where copies may be that no library can reach, in the words of every receipt
NOT_COVERED: Final = (
    "backups, exports and copies of the store made before",
    "readers in other processes that still have an old partition mapped; it goes when they let go",
    "memory of running processes, swap and core dumps",
    "blocks that the file system has freed (replaced partitions, the emptied log) until it writes "
    "over them; journals and snapshots of the file system; spare cells of flash",
    "embedding services, logs and applications that were given the text",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """One thing that was rewritten, emptied or removed, and how many bytes of it."""

    #: a file of the store, or "embedding cache"
    where: str
    what: str
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """Bytes of something erased that are still there: what kind it was, not what it said."""

    where: str
    #: None for a word of the full text, which is not written there letter by letter
    offset: int | None = None
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A search of every file of the store, byte by byte, for what was erased."""

    #: pieces that were searched for: texts in pieces of 32 bytes, metadata, tags, labels, vectors
    needles: int = 0
    #: words of the texts, which were searched for in the full text
    words: int = 0
    #: values below 6 bytes or of the same byte throughout, which are found everywhere
    too_short: int = 0
    #: pieces that living memories hold as well, which therefore prove nothing; in a file that is
    #: not of the store, to the letter
    shared: int = 0
    #: living memories that say something which the caller named
    living: tuple[int, ...] = ()
    files: int = 0
    bytes: int = 0
    residue: tuple[Residue, ...] = ()
    #: forgotten memories that it is of, or may be; none of what the caller named
    left_of: tuple[int, ...] = ()
    #: what could not be searched, and why: links and pipes that somebody put into the directory,
    #: files that cannot be read
    unsearched: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Everything was searched, and nothing is left of what is forgotten."""
        return not self.residue and not self.unsearched

    @property
    def gone(self) -> bool:
        """Nor does a living memory say what the caller named."""
        return self.ok and not self.living


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """What one erasure did. ``print`` it, or keep ``to_json()``."""

    #: path of the store, and when the erasure ended: ISO 8601, UTC
    store: str = ""
    time: str = ""
    #: memories of which nothing is left
    ids: tuple[int, ...] = ()
    #: forgotten memories, or earlier versions, of which something is left: ``pending`` says why. Of
    #: what only a search has found, no later receipt says that it is gone but that of a new search
    not_yet: tuple[int, ...] = ()
    #: living memories of which an earlier version is gone: text, tags, metadata or labels
    replaced: tuple[int, ...] = ()
    #: living memories that name an erased one among their parents, or a child of one, and may
    #: repeat what it said; they were not touched
    derived: tuple[int, ...] = ()
    #: how many more of these there are outside of the scope that the call was given
    derived_elsewhere: int = 0
    #: memories that were asked for and are still there, because they are pinned or immutable
    protected: tuple[int, ...] = ()
    purged: tuple[Purged, ...] = ()
    #: why something may be left, and what to do
    pending: tuple[str, ...] = ()
    #: files in the directory that are not of the store; they were left alone
    unknown_files: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = NOT_COVERED
    #: None: nobody asked for a search
    verification: Verification | None = None

    @property
    def complete(self) -> bool:
        """All that was asked for is gone, nothing is pending, and a search found nothing."""
        searched = self.verification is None or self.verification.ok
        return not self.pending and not self.protected and searched

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
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
        if self.derived:
            lines.append(f"  derived from them and kept, look at them: {_listed(self.derived)}")
        if self.derived_elsewhere:
            lines.append(f"  derived from them outside of the scope, and kept: "
                         f"{self.derived_elsewhere}")  # fmt: skip
        if self.protected:
            lines.append(
                f"  still there, because pinned or immutable: {_listed(self.protected)}"
            )
        lines += [
            f"  {each.where}: {each.what}, {counted(each.bytes, 'byte', commas=True)}"
            for each in self.purged
        ]
        if self.verification is not None:
            lines += _searched(self.verification)
        lines += [f"  pending: {each}" for each in self.pending]
        lines += _first([f"not of the store, left alone: {each}" for each in self.unknown_files])
        lines += [f"  not covered: {each}" for each in self.not_covered]
        return "\n".join(lines)


def _searched(found: Verification) -> list[str]:
    lines = [
        f"  searched {counted(found.files, 'file')}, "
        f"{counted(found.bytes, 'byte', commas=True)}, for {counted(found.needles, 'piece')}, and"
        f" the full text for {counted(found.words, 'word')}: {len(found.residue)} left of what is"
        " forgotten",
    ]
    if found.living:
        lines.append(
            f"  what you named is still said by living memories: {_listed(found.living)}"
        )
    if found.shared or found.too_short:
        lines.append(
            f"  {counted(found.shared, 'piece')} that living memories hold as well, and "
            f"{found.too_short} too short to mean anything, prove nothing"
        )
    lines += _first([
        f"left: {each.kind} in {each.where}"
        + ("" if each.offset is None else f" at byte {each.offset}")
        for each in found.residue
    ])
    return lines + _first([f"not searched: {each}" for each in found.unsearched])


def _first(lines: list[str]) -> list[str]:
    """The first lines of a list, said to be just that where there are more."""
    shown = [f"  {line}" for line in lines[:_MOST_SHOWN]]
    if len(lines) > _MOST_SHOWN:
        shown.insert(0, f"  first {_MOST_SHOWN} of {len(lines)}; to_json() (--json) has all:")
    return shown


def _listed(ids: tuple[int, ...]) -> str:
    """How many there are, and the first of them."""
    if not ids:
        return "none"
    some = f"first {_MOST_SHOWN} of {len(ids)}: " if len(ids) > _MOST_SHOWN else ""
    return f"{len(ids)} ({some}{', '.join(map(str, ids[:_MOST_SHOWN]))})"
