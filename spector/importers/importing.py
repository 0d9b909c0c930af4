"""Imports files into a memory: checked to their end first, then stored, then reported."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spector.chat import HALF, is_unicode
from spector.clock import zone_named
from spector.errors import ImportFormatError, InvalidInputError, InvalidScopeError, SpectorError
from spector.importers.detect import entries_of, format_named, plan_of, sound
from spector.importers.entries import Entry, Found, LeftOut, Message, Options, is_blank
from spector.importers.lineage import Foresight, Keys, Lineage, observed_path
from spector.importers.places import Place, place_of
from spector.importers.report import FileReport, ImportReport
from spector.importers.sources import SourceFile
from spector.messages import shown

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.store.payloads import KeyPath


#: tiers that end with the process
NOT_KEPT: Final = frozenset({"working"})

#: messages that are stored together: a step of the progress
STEP: Final = 64
Change = Callable[[Message], Message]
Progress = Callable[[int, int | None], None]
#: stores messages; returns what became of each: "new", "known", "forgotten", ...
Storing = Callable[[list[Message]], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the user wants of an import.

    Attributes:
        skip_bad: entries and files that cannot be read are listed, and the rest is stored.
        limit: messages per file at most.
        user_id, agent_id, session_id: whose every message is. A file that says of one that it is
            another user's or agent's is refused.
        scopes_from_message: where these are None, messages are whose the file says. It decides
            that otherwise for our own exports only, which are copies of a store.
        me: how the files name the user: what one so named says is the user's own.
        change: from the fields of each message to those that are stored.
    """

    format: str = "auto"
    timezone: str | tzinfo | None = None
    assume_utc: bool = False
    chunk_chars: int = 1200
    skip_bad: bool = False
    limit: int | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    scopes_from_message: bool = False
    me: str | None = None
    change: Change | None = None


def import_files(
    memory: Memory,
    *paths: str | Path,
    dry_run: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> ImportReport:
    """Import files, folders and zip archives into a memory.

    Each file is read and checked to its end before its first message is stored. Every message has a
    key, by which a second import knows it: it adds what is new, and what was forgotten stays so.

    Args:
        dry_run: read, check and count, and store nothing.
        progress: called with (messages stored so far, total) after every 64.
        **options: fields of :class:`ImportOptions`.

    Returns:
        What became of each file. One that cannot be read stores nothing, and ``.error`` says why.

    Raises:
        ImportFormatError: the only file, or one that was named, cannot be read.
        InvalidScopeError: a message is of another user or agent; nothing was stored.
    """
    importing = Importing([(str(each), Path(each)) for each in paths], ImportOptions(**options))
    importing.check(memory, dry_run=dry_run)
    if dry_run:
        return importing.report
    importing.store(memory, progress=progress)
    return importing.report


@dataclass(slots=True)
class _Unit:
    """One file of an import."""

    source: SourceFile
    kind: str
    context: dict[str, Any]
    report: FileReport
    messages: int = 0
    #: places among the messages of those that the memory does not take
    refused: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Importing:
    """An import in two passes over its files.

    Args:
        named: what the user calls each path, and the path.
    """

    named: list[tuple[str, Path]]
    options: ImportOptions
    report: ImportReport = field(default_factory=ImportReport)
    _units: list[_Unit] = field(default_factory=list)
    #: bytes of a text that the memory takes
    _most_bytes: int = 1 << 20
    _foresight: Foresight | None = None

    @property
    def _zone(self) -> str | tzinfo | None:
        given = self.options
        return "UTC" if given.timezone is None and given.assume_utc else given.timezone

    @property
    def total(self) -> int:
        """Messages of all files that are sound."""
        return sum(unit.messages for unit in self._units)

    # -- the first pass ----------------------------------------------------------------------------

    def check(
        self, memory: Memory, *, dry_run: bool = False, observes: bool = False
    ) -> ImportReport:
        """Read every file to its end, and check each message as the memory will.

        Args:
            dry_run: also look up which messages the memory has already, or has forgotten.
            observes: its messages will be observed.

        Raises:
            ImportFormatError: a file that was named cannot be read, and bad ones are not skipped.
        """
        format_named(self.options.format)
        from spector.arguments import parse_speaker  # a command loads it when it runs

        parse_speaker(self.options.me, "me")
        self.report.dry_run, self.report.observes = dry_run, observes
        self._foresight = Foresight(memory, observes=observes) if dry_run else None
        if self._zone is not None:
            self.report.zone = zone_named(self._zone)
        self._most_bytes = memory._parts.config.max_text_bytes
        for name, path in self.named:
            try:
                place = place_of(path, name)
            except ImportFormatError as error:
                if not self.options.skip_bad:
                    raise
                self._refuse(FileReport(name), error)
                continue
            self._check_place(place, memory, observes)
        return self.report

    def _check_place(self, place: Place, memory: Memory, observes: bool) -> None:
        for source, kind, context in plan_of(place, self.options.format):
            report = FileReport(source.label)
            try:
                if isinstance(kind, ImportFormatError):
                    raise kind
                report.format = kind
                unit = _Unit(source, kind, context, report)
                self._check_unit(unit, memory, observes)
            except ImportFormatError as error:
                if place.is_one and not self.options.skip_bad:
                    raise
                self._refuse(FileReport(source.label, report.format), error)
                continue
            self.report.files.append(report)
            self._units.append(unit)
        self.report.others.update(place.others)

    def _refuse(self, report: FileReport, error: ImportFormatError) -> None:
        report.error, report.hint = error.message, error.hint
        self.report.files.append(report)

    def _check_unit(self, unit: _Unit, memory: Memory, observes: bool) -> None:
        foresight = self._foresight if observes or unit.kind != "spector" else None
        for number, (found, message) in enumerate(self._messages(unit, unit.report), 1):
            fields = message
            if unit.kind == "spector":  # the store compares models before it takes a vector
                fields = {name: value for name, value in message.items() if name != "vector"}
            try:
                draft = memory._parts.writer.draft(fields, {})
            except InvalidInputError as error:
                where = f"message {number}" + (f" ({found.place})" if found.place else "")
                said = unit.source.error(where, error.message, hint=error.hint)
                if not self.options.skip_bad or unit.kind == "spector":
                    raise said from error
                unit.refused.add(number)
                unit.report.bad.append(said.message)
                continue
            unit.report.note(found, message)
            unit.messages += 1
            if foresight is not None:
                unit.report.count([foresight.of(draft)])
        unit.report.messages = unit.messages
        if unit.kind == "spector":
            with _at_a_path(unit.source) as path:
                lineage = Lineage(memory, self._for_line)
                memory._parts.exchange.check_lines(
                    path,
                    change=lineage,
                    limit=self.options.limit,
                    timezone=self._zone,
                    takes_owners=self.options.scopes_from_message,
                )
                if self.report.dry_run and not observes:
                    unit.report.known = lineage.known
        unit.report.stored = unit.messages - unit.report.known - unit.report.forgotten

    def _messages(
        self, unit: _Unit, report: FileReport | None = None
    ) -> Iterator[tuple[Found, Message]]:
        """The messages of a file as they are stored; counted in ``report`` if there is one."""
        given = self.options
        zone = self._zone
        named = None if zone is None else zone_named(zone)
        options = Options(named, given.assume_utc, given.chunk_chars, unit.context)
        tally = FileReport(unit.source.label) if report is None else report
        entries = entries_of(unit.source, unit.kind, options, given.skip_bad)
        try:
            yield from islice(self._stored(entries, tally, unit, options.notes), given.limit)
        finally:
            tally.zoneless = options.zoneless
            tally.notes = list(options.notes)

    def _stored(
        self, entries: Iterator[Entry], tally: FileReport, unit: _Unit, notes: list[str]
    ) -> Iterator[tuple[Found, Message]]:
        keys = Keys(unit.kind, unit.source)

        def skip(error: ImportFormatError) -> None:
            tally.read += 1
            tally.bad.append(error.message)

        for entry in sound(entries, skip):
            tally.read += 1
            if isinstance(entry, LeftOut):
                tally.left_out[entry.reason] += 1
                continue
            key = keys.of(entry)
            try:
                message = self._changed(entry.message, unit.kind, notes)
            except InvalidScopeError as error:
                error.message = f"{unit.source.label}, {entry.place}: {error.message}"
                if not self.options.skip_bad or unit.kind == "spector":
                    raise
                tally.bad.append(error.message)
                continue
            if not is_unicode(message):
                tally.bad.append(f"{unit.source.label}, {entry.place}: {HALF}")
            elif unit.kind != "spector" and is_blank(message["text"]):
                tally.left_out["no text"] += 1
            elif message.get("tier") in NOT_KEPT:
                tally.left_out["working tier, which is not kept"] += 1
            else:
                for number, piece in enumerate(_pieces(message, tally, self._most_bytes)):
                    if key:
                        piece["key"] = f"{key}/{number}" if number else key
                        piece["namespace"] = keys.namespace
                    yield entry, piece

    def _changed(self, message: Message, kind: str, notes: list[str]) -> Message:
        given = self.options
        labels = {name: getattr(given, name) for name in ("user_id", "agent_id", "session_id")}
        takes = given.scopes_from_message or kind == "spector"
        message = _owned(message, labels, notes, takes_others=takes)
        if given.me is not None and kind != "spector":
            from spector.arguments import as_user  # as above

            message = as_user(message, given.me)
        return message if given.change is None else given.change(message)

    # -- the second pass ---------------------------------------------------------------------------

    def store(
        self, memory: Memory, *, progress: Progress | None = None, storing: Storing | None = None
    ) -> ImportReport:
        """Store the messages of all files that were found sound, in steps of 64.

        Args:
            storing: stores a step; by default :meth:`Memory.remember_many`.
        """
        from spector.arguments import SORTS  # as above

        store = storing or (
            lambda messages: (
                memory.remember_many(messages, if_known="keep", if_forgotten="skip").outcomes
            )
        )
        total, done = self.total, 0
        report_progress = progress or (lambda stored, total: None)
        for unit in self._units:
            unit.report.stored = unit.report.known = unit.report.forgotten = 0
        for unit in self._units:
            report_progress(done, total)
            if unit.kind == "spector" and storing is None:
                before, start = memory.count(sorts=SORTS), done
                with _at_a_path(unit.source) as path:
                    memory.import_(
                        path,
                        change=Lineage(memory, self._for_line),
                        limit=self.options.limit,
                        timezone=self._zone,
                        progress=lambda stored, _: report_progress(start + stored, total),  # noqa: B023
                        scopes_from_message=self.options.scopes_from_message,
                    )
                unit.report.stored = max(0, memory.count(sorts=SORTS) - before)
                unit.report.known = unit.messages - unit.report.stored
                done += unit.messages
                continue
            numbered = enumerate(self._messages(unit), 1)
            messages = (message for number, (_, message) in numbered if number not in unit.refused)
            while batch := list(islice(messages, STEP)):
                try:
                    unit.report.count(store(batch))
                except SpectorError as error:
                    # a step counts its own items, which say nothing of the files
                    error.__notes__ = ["importing the same files again stores the rest"]
                    raise
                done += len(batch)
                report_progress(done, total)
        return self.report

    def _for_line(self, line: dict[str, Any]) -> dict[str, Any] | None:
        changed = self._changed(line, "spector", [])
        return None if changed.get("tier") in NOT_KEPT or not is_unicode(changed) else changed


def _owned(
    message: Message, labels: Mapping[str, str | None], notes: list[str], *, takes_others: bool
) -> Message:
    """A message with the labels of an import, in place of the user and agent that it names.

    Args:
        notes: says so of a message that has lost its own.
        takes_others: it keeps what the import leaves open.

    Raises:
        InvalidScopeError: it is of another user or agent than the import.
    """
    given = {name: value for name, value in labels.items() if value is not None}
    for name in ("user_id", "agent_id"):
        own = message.get(name)
        if own is not None and own != given.get(name, own):
            raise InvalidScopeError(
                f"its {name} is {shown(own)}, and that of the import {shown(given[name])}",
                hint="import messages of several users without one, or those of each user apart",
            )
    if not takes_others:
        from spector.arguments import without_owners  # a command loads it when it runs

        message = without_owners(message, notes, kept=given)
    return {**message, **given}


def _cut_text(text: str, most_bytes: int) -> Iterator[str]:
    """Pieces of a text of at most so many bytes, cut between paragraphs, lines or words."""
    while len(text) * 4 > most_bytes and len(text.encode("utf-8", "replace")) > most_bytes:
        piece = text.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
        at = -1
        for mark in ("\n\n", "\n", " "):
            at = piece.rfind(mark, len(piece) // 2)
            if at > 0:
                break
        at = at if at > 0 else max(1, len(piece))
        yield text[:at]
        text = text[at:].lstrip("\n ")
    if text:
        yield text


def _pieces(message: Message, tally: FileReport, most: int) -> Iterator[Message]:
    """A message, in parts if its text is too long to be stored."""
    text = message["text"]
    if len(text) * 4 <= most or len(text.encode("utf-8", "replace")) <= most:
        yield message
        return
    parts = list(_cut_text(text, most))
    tally.split += 1
    for number, part in enumerate(parts, 1):
        metadata = {**(message.get("metadata") or {}), "part": number, "parts": len(parts)}
        yield {**message, "text": part, "metadata": metadata}
        message.pop("attachment", None)  # the first part has it


@contextmanager
def _at_a_path(source: SourceFile) -> Iterator[str]:
    """The path of a file; one of an archive is unpacked to a temporary one for the while."""
    if not source.member:
        yield os.fspath(source.path)
        return
    with tempfile.TemporaryDirectory(prefix="spector-") as folder:
        path = Path(folder) / "export.jsonl"
        with source.open_bytes() as stream, open(path, "wb") as kept:
            shutil.copyfileobj(stream, kept, 1 << 20)
        yield str(path)


# Imports that observe: what was observed once is not observed again.
#
# A message may give no memory, or several, so its key is marked instead of given to one. Marks of
# these imports are apart from the keys of others: a file that was observed can be imported whole.

#: what observing decides by itself: what is known, where it is kept, and how it feels
_DECIDED: Final = frozenset(("key", "namespace", "tier", "valence", "arousal"))


def observable(message: Message, source: str | None = None) -> Message:
    """A message of an import as ``observe`` takes it.

    The file of a conversation is where it is kept, and no source of what is said in it: it is in
    ``metadata["imported_from"]``, unless it is the ``source`` that the caller names.
    """
    taken = {name: value for name, value in message.items() if name not in _DECIDED}
    if taken.get("role") and taken.get("source") not in (None, source):
        metadata = taken.get("metadata") or {}
        taken["metadata"] = {"imported_from": taken.pop("source"), **metadata}
    return taken


def observing(
    memory: Memory, observe: Callable[[list[dict[str, Any]]], None], source: str | None = None
) -> Storing:
    """What stores the messages of an import by observing those that were not observed before.

    Args:
        observe: takes messages without keys and tiers.
        source: where all of them are from, as the caller says.
    """
    parts = memory._parts

    def path_of(message: Message) -> KeyPath | None:
        if message.get("key") is None:
            return None
        names = {name: message.get(name) for name in ("key", "namespace", "user_id", "agent_id")}
        return observed_path(parts.writer.draft({"text": message["text"], **names}, {}))

    def store(messages: list[Message]) -> list[str]:
        paths = [path_of(each) for each in messages]
        asked = list(dict.fromkeys(path for path in paths if path is not None))
        marked = zip(asked, parts.forgetter.marked(asked), strict=True)
        seen = {path for path, is_known in marked if is_known}
        outcomes, fresh = [], []
        for message, path in zip(messages, paths, strict=True):
            outcomes.append("known" if path in seen else "new")
            if path not in seen:
                fresh.append(observable(message, source))
            if path is not None:
                seen.add(path)  # the same message again, within this step
        if fresh:
            observe(fresh)
            parts.forgetter.mark(asked)
        return outcomes

    return store
