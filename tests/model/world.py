"""The operations of the public API, each done to the store and to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from spector.errors import (
    ImmutableRecordError,
    InvalidInputError,
    SpectorError,
    SupersededRecordError,
    UnknownRecordError,
)
from spector.layout import Flag
from tests.crash.workload import DIM, START, TINY
from tests.model.life import Life, Setup, difference
from tests.model.oracle import WHERES, Oracle, Vector
from tests.model.spec import Handle

__all__ = ["VECTORS", "Setup", "World"]


def _vectors() -> tuple[Vector, ...]:
    """Whole numbers up to 127, one of them 127: normalised and quantised, they are as before."""
    out: list[Vector] = []
    for n in range(9):
        row = [(n * 37 + at * at * 11 + at * n * 5) % 253 - 126 for at in range(DIM)]
        row[n] = 127
        out.append(tuple(row))
    out.append(tuple(-x for x in out[0]))  # the very opposite
    out.append(tuple(127 * (at == 3) for at in range(DIM)))
    out.append(tuple(127 - (at == 7) for at in range(DIM)))
    return tuple(out)


VECTORS = _vectors()


class World(Life):
    """Everything that a user can do."""

    # -- write ------------------------------------------------------------------------------------

    def do_remember(self, new: dict[str, Any]) -> list[int]:
        given = self._new(new)
        return self._made([self.memory.remember(given["text"], **_rest(given))], [given])

    def do_remember_many(self, news: list[dict[str, Any]]) -> list[int]:
        given = [self._new(new) for new in news]
        noted: list[int] = []
        records = self.memory.remember_many(given, progress=lambda done, total: noted.append(done))
        ids: list[int] = []
        size = TINY.batch_records
        for start in range(0, len(records), size):
            stop = start + size
            ids += self._made(records[start:stop], given[start:stop])
            self._states.append(self.oracle.copy())
        assert noted == [*range(size, len(news), size), len(news)]
        return ids

    def do_remember_bad(self, news: list[dict[str, Any]], wrong: int) -> list[int]:
        """One of them cannot be stored: the whole batches before it are."""
        lasting = [{**new, "tier": "episodic"} for new in news]
        given = [self._new(new) for new in lasting]
        at, size = wrong % len(given), TINY.batch_records
        bad = [{**each, "importance": 2.0} if n == at else each for n, each in enumerate(given)]
        with refusal(InvalidInputError):
            self.memory.remember_many(bad)
        found = {record.text: record for record in self.memory}
        ids: list[int] = []
        for start in range(0, at // size * size, size):
            batch = given[start : start + size]
            ids += self._made([found[each["text"]] for each in batch], batch)
            self._states.append(self.oracle.copy())
        return ids

    def _made(self, records: list[Any], given: list[dict[str, Any]]) -> list[int]:
        """Take new memories into the model, in the order of their ids, as the store made them."""
        ids = [record.id for record in records]
        now_ms = self.clock.now_ms()
        known = self._lasting | self._fleeting | set(self.oracle.records)
        assert min(ids) > max(known, default=0), f"ids {ids} are not behind {max(known)}"
        assert min(ids) >= max(0, now_ms) << 10
        for record, each in sorted(zip(records, given, strict=True), key=lambda pair: pair[0].id):
            self.oracle.add(record.id, each, now_ms)
            expected = self.oracle.records[record.id]
            assert record == expected, difference({0: record}, {0: expected}, "what was returned")
        return ids

    def do_supersede(self, new: dict[str, Any], which: list[Handle]) -> list[int]:
        """A memory that takes the place of others; refused as a whole if one of them may not."""
        named = dict.fromkeys(self.handles[h] for h in which if h in self.handles)
        if not named:
            self._idle()
            return []
        first = self.oracle.records.get(next(iter(named)))
        given = self._new({**new, "user_id": first.user_id if first else None})
        refused = self._refused(list(named), given)
        if refused is not None:
            with refusal(refused):
                self.memory.remember(given["text"], **_rest(given), supersedes=list(named))
            return []
        now_ms = self.clock.now_ms()
        record = self.memory.remember(given["text"], **_rest(given), supersedes=list(named))
        for record_id in named:
            self.oracle.end(record_id, record.id, given, now_ms)
        return self._made([record], [{**given, "supersedes": tuple(named)}])

    def _refused(self, named: list[int], given: Mapping[str, Any]) -> type[SpectorError] | None:
        """The error for the first of them that may not be superseded."""
        working = given.get("tier") == "working"
        for record_id in named:
            found = self.oracle.records.get(record_id)
            user_id = given.get("user_id")
            if found is None or (user_id is not None and found.user_id != user_id):
                return UnknownRecordError
            if self.setup.store != "memory" and working != (found.tier == "working"):
                return InvalidInputError
            if found.superseded or found.superseded_by:
                return SupersededRecordError
            if found.immutable:
                return ImmutableRecordError
            if found.user_id != user_id:
                return InvalidInputError
        return None

    def do_reinstate(self, which: Handle) -> None:
        record_id = self.handles.get(which)
        found = self.oracle.records.get(record_id or -1)
        if found is not None and found.superseded_by:
            with refusal(SupersededRecordError):
                self.memory.reinstate(found.id)
        elif self._on(record_id, self.memory.reinstate) is not None:
            self.oracle.reinstate(record_id)  # type: ignore[arg-type]

    def do_update(self, which: Handle, changes: dict[str, Any]) -> None:
        record_id = self.handles.get(which)
        found = self.oracle.records.get(record_id or -1)
        given = translated(changes)
        version = given.pop("version", None)
        if version is not None:
            name = found.text.split()[0] if found else "nobody"
            given["text"] = f"{name} version {version}"
            given["vector"] = VECTORS[version]
        if not given:
            return self._idle()
        told = dict(given)
        if "user_id" in given:
            given["move_to"] = {"user_id": given.pop("user_id")}
        if found and found.own_until_ms and not found.immutable and "valid_until" in given:
            with refusal(SupersededRecordError):
                self.memory.update(found.id, **given)
            return
        changed = self._on(record_id, lambda i: self.memory.update(i, **given), immutable=True)
        if changed is not None:
            self.oracle.update(changed.id, told, self.clock.now_ms())
            expected = self.oracle.records[changed.id]
            assert changed == expected, difference({0: changed}, {0: expected}, "an update")

    def do_reinforce(self, which: Handle, success: bool) -> None:
        record_id = self.handles.get(which)
        if self._on(record_id, lambda i: self.memory.reinforce(i, success)) is not None:
            self.oracle.reinforce(record_id, success, self.clock.now_ms())  # type: ignore[arg-type]

    def do_flag(self, which: Handle, verb: str) -> None:
        record_id = self.handles.get(which)
        if self._on(record_id, getattr(self.memory, verb)) is not None:
            flag = Flag.UNRESOLVED if verb == "resolve" else Flag.PINNED
            self.oracle.flag(record_id, flag, verb == "pin")  # type: ignore[arg-type]

    def _on(
        self, record_id: int | None, call: Callable[[int], Any], *, immutable: bool = False
    ) -> Any:
        """What a verb on one memory answers; None when it has to refuse, and does."""
        if record_id is None:
            return self._idle()
        found = self.oracle.records.get(record_id)
        if found is not None and not (immutable and found.immutable):
            return call(record_id)
        with refusal(UnknownRecordError if found is None else ImmutableRecordError):
            call(record_id)
        return None

    def do_get(self, which: Handle) -> None:
        record_id = self.handles.get(which)
        got = self._on(record_id, self.memory.get)
        if record_id is not None:
            assert got == self.oracle.records.get(record_id)
            assert (record_id in self.memory) == (record_id in self.oracle.records)

    def do_forget(self, which: list[Handle], purge: bool) -> None:
        ids = [self.handles[h] for h in which if h in self.handles]
        if not ids:
            return self._idle()
        records = self.oracle.records
        if any(i not in records for i in ids):
            with refusal(UnknownRecordError):
                self.memory.forget(ids)
        elif any(records[i].immutable for i in ids):
            with refusal(ImmutableRecordError):
                self.memory.forget(ids)
        else:
            report = self.memory.forget(ids, purge=purge)
            assert report.ids == tuple(sorted(set(ids)))
            self.oracle.drop(ids)

    def do_forget_by(self, chosen: dict[str, Any]) -> None:
        given = translated(chosen)
        if not given:
            return self._idle()
        found = self.oracle.selected(given)
        records = self.oracle.records
        kept = {i for i in found if records[i].pinned or records[i].immutable}
        report = self.memory.forget(**spoken(given))
        assert report.protected == tuple(sorted(kept))
        assert report.ids == tuple(i for i in found if i not in kept)
        self.oracle.drop(report.ids)

    def do_select(self, chosen: dict[str, Any]) -> None:
        given = translated(chosen)
        seen = [record.id for record in self.memory.records(**spoken(given))]
        assert seen == self.oracle.selected(given)

    # -- read -------------------------------------------------------------------------------------

    def do_recall(self, asked: dict[str, Any], learn: bool) -> None:
        given, now_ms = translated(asked), self.clock.now_ms()
        for other in (False, True):  # the default estimates; it may miss only what it says
            self.recalls.compare(self.memory, self.oracle, given, now_ms, exact=other)
        if learn:
            hits = self.memory.recall(**spoken(given), exact=True, lexical=False, learn=True)
            self.oracle.use([hit.id for hit in hits], now_ms)

    def do_by_text(self, asked: dict[str, Any], cue: str) -> None:
        self.recalls.by_text(
            self.memory,
            self.oracle,
            translated(asked),
            cue,
            self.clock.now_ms(),
            strict=not self.setup.indexed,
        )

    def do_by_word(self, which: Handle) -> None:
        """The first word of a text is its own: the memory is found by it, if it is valid now."""
        found = self.oracle.records.get(self.handles.get(which, -1))
        if found is None:
            return self._idle()
        self.recalls.by_word(self.memory, found, self.clock.now_ms())

    # -- upkeep, life, time -----------------------------------------------------------------------

    def do_upkeep(self, verb: str) -> None:
        only = ("upkeep",) if verb == "reflect" else ()  # the model knows no night
        report = getattr(self.memory, verb)(*only)
        if verb == "compact":
            assert not report.failed
            assert report.erased or self._readers
            left = self.memory.compact(dry_run=True)
            assert left.records_reclaimed == 0, "compacting again would still reclaim"

    def do_reopen(self) -> None:
        """The readers stay."""
        self.memory.close()
        self.memory = self._open()
        volatile = self.setup.store == "memory"
        self.oracle = Oracle(TINY) if volatile else self.oracle.without_volatile()
        if volatile:
            self._lasting.clear()
            self._fleeting.clear()
        self._lasting |= self._fleeting  # closing has noted them
        self._fleeting.clear()

    def do_doom(self, after: int) -> None:
        self._doom = after

    def do_clock(self, ms: int) -> None:
        """On or back; never further back than a store should have to serve."""
        self.clock.set(max(self.clock.now_ms() + ms, 0))

    def _new(self, new: Mapping[str, Any]) -> dict[str, Any]:
        out = translated(new)
        self._texts += 1
        out["text"] = f"w{self._texts}q {out.pop('words')}"
        if out.get("vector") is None:
            if out.get("tier") != "working":
                out["vector"] = VECTORS[0]
            else:
                out.pop("vector", None)
        return out


def translated(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the model takes them, from the plain numbers of a script."""
    out = dict(given)
    if "v" in out:
        at = out.pop("v")
        out["vector"] = None if at is None else VECTORS[at]
    if "when" in out:
        out["event_time"] = _hour(out.pop("when"))
    if "then" in out:
        out["as_of"] = _hour(out.pop("then"))
    if "window" in out:
        start, end = out.pop("window")
        out["valid_from"], out["valid_until"] = _hour(start), _hour(end)
    if "time" in out:
        out["time_range"] = tuple(map(_hour, out.pop("time")))
    return out


def spoken(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same as ``Memory`` takes it."""
    return {**given, "where": WHERES[given["where"]][0]} if "where" in given else dict(given)


def _hour(hours: int | None) -> Any:
    return None if hours is None else START + timedelta(hours=hours)


def _rest(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "text"}


@contextmanager
def refusal(kind: type[SpectorError]) -> Iterator[None]:
    """The block raises this error, with a next step."""
    with pytest.raises(kind) as caught:
        yield
    assert caught.value.hint
