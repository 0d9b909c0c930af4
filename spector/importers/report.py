"""What became of the files of an import, counted and said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from spector.clock import from_ms, local_of_ms, to_ms
from spector.importers.entries import Found, Message
from spector.messages import counted

#: speakers and broken entries that a report names
_MOST_NAMED = 8


@dataclass(slots=True)
class FileReport:
    """What became of one file.

    Attributes:
        read: entries that were looked at, messages or not.
        stored: messages that are in the store now because of this import.
        known: messages that were there before.
        forgotten: messages that were forgotten since, and stay so.
        left_out: reason -> entries that are no messages.
        undated: messages whose time is not known.
        dated_by_others: messages with the time of the message next to them.
        zoneless: times without a zone that were read as UTC.
        error: why nothing of it is stored; "" if that is not so.
        bad: errors of entries that were skipped.
    """

    file: str
    format: str = ""
    read: int = 0
    messages: int = 0
    stored: int = 0
    known: int = 0
    forgotten: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    undated: int = 0
    dated_by_others: int = 0
    zoneless: int = 0
    split: int = 0
    first: datetime | None = None
    last: datetime | None = None
    speakers: Counter[str] = field(default_factory=Counter)
    sessions: set[str] = field(default_factory=set)
    error: str = ""
    hint: str = ""
    bad: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, found: Found, message: Message) -> None:
        """Count a message that will be stored."""
        moment = message.get("event_time")
        if isinstance(moment, str):
            moment = from_ms(to_ms(moment))
        if moment is None:
            self.undated += 1
        else:
            self.first = moment if self.first is None else min(self.first, moment)
            self.last = moment if self.last is None else max(self.last, moment)
        self.dated_by_others += found.borrowed
        speaker = (message.get("metadata") or {}).get("speaker") or message.get("role")
        if isinstance(speaker, str):
            self.speakers[speaker] += 1
        session = message.get("session_id")
        if isinstance(session, str):
            self.sessions.add(session)

    def count(self, outcomes: list[str]) -> None:
        """Count what became of messages that were stored."""
        for outcome in outcomes:
            self.stored += outcome in ("new", "replaced")
            self.known += outcome in ("known", "repeated")
            self.forgotten += outcome == "forgotten"

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it; what there is none of is left out, but for the counts."""
        out: dict[str, Any] = {
            "file": self.file,
            "format": self.format,
            "messages": self.messages,
            "skipped": len(self.bad),
            "read": self.read,
            "stored": self.stored,
            "known": self.known,
            "left_out": dict(self.left_out.most_common()),
        }
        names = "forgotten undated dated_by_others zoneless split first last"
        more: dict[str, Any] = {name: getattr(self, name) for name in names.split()} | {
            "speakers": dict(self.speakers.most_common()),
            "sessions": len(self.sessions),
            "error": self.error,
            "bad": self.bad,
        }
        return out | {name: value for name, value in more.items() if value}


@dataclass(slots=True)
class ImportReport:
    """What became of an import; ``print(report)`` says it in lines.

    Attributes:
        files: one report each, in the order in which they were read.
        others: ending -> files that were not looked at.
        dry_run: nothing was stored; ``stored`` says what would be.
        observes: messages were observed, which keeps some and leaves others out; ``stored`` counts
            all that were looked at.
    """

    files: list[FileReport] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    dry_run: bool = False
    observes: bool = False
    #: of the days in its lines
    zone: tzinfo = UTC

    @property
    def ok(self) -> bool:
        """Whether no file was refused and no entry skipped as bad."""
        return not any(each.error for each in self.files)

    def total(self, name: str) -> int:
        """The sum of a count over all files."""
        return sum(getattr(each, name) for each in self.files)

    @property
    def stored(self) -> int:
        """Messages that are in the store now because of this import."""
        return self.total("stored")

    @property
    def known(self) -> int:
        """Messages that were there before."""
        return self.total("known")

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The report, one thought a line."""
        pairs = self.pairs()
        width = max(map(len, pairs))
        return [f"  {name.ljust(width)}  {value}" for name, value in pairs.items()]

    def pairs(self) -> dict[str, str]:
        """What is counted -> how many, in words."""
        would = "would be " if self.dry_run else ""
        read, forgotten = self.total("read"), self.total("forgotten")
        left, speakers = self._sum("left_out"), self._sum("speakers")
        sessions: set[str] = set().union(*(each.sessions for each in self.files))
        zoneless = counted(self.total("zoneless"), "time")
        pairs = {
            "read": f"{read:,} {'entry' if read == 1 else 'entries'}",
            "observed" if self.observes else "stored": f"{would}{self.stored:,}",
            "known already": self.known and f"{self.known:,}",
            "forgotten before, left out": forgotten and f"{forgotten:,}",
            "left out": left and f"{left.total():,}: {_listed(left)}",
            "time": self._period(),
            "no time zone": self.total("zoneless")
            and f"{zoneless} read as UTC; --tz names another zone",
            "no time of their own": self.total("dated_by_others")
            and f"{self.total('dated_by_others'):,} take that of the message next to them",
            "no time at all": self.total("undated")
            and f"{self.total('undated'):,} are dated as they are stored;"
            " --event-time gives another time",
            "speakers": _listed(speakers, _MOST_NAMED)
            + (f" and {len(speakers) - _MOST_NAMED:,} more" * (len(speakers) > _MOST_NAMED)),
            "sessions": sessions and f"{len(sessions):,}",
            "split, being too long": self.total("split") and f"{self.total('split'):,}",
            "files not read": ", ".join(f"{n:,} {end}" for end, n in self.others.most_common(6)),
        }
        return {name: str(said) for name, said in pairs.items() if said}

    def _sum(self, name: str) -> Counter[str]:
        return sum((getattr(each, name) for each in self.files), Counter())

    def _period(self) -> str:
        firsts = [each.first for each in self.files if each.first is not None]
        lasts = [each.last for each in self.files if each.last is not None]
        if not firsts:
            return ""
        begin, end = (local_of_ms(to_ms(each), self.zone) for each in (min(firsts), max(lasts)))
        return f"{begin:%Y-%m-%d} to {end:%Y-%m-%d}"


def _listed(counts: Counter[str], most: int | None = None) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common(most))
