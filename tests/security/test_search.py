"""What the search of an erasure finds, and whose it says it is.

Mechanism: thousands of pieces are looked for in one pass, by hashes of how they begin; what is left
is told by file and memory. Damage without it: an erasure is called complete with something left, or
nobody can wait for the answer. Guard: a search that compares each piece at each place.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Config, ManualClock, Memory
from spector.records.erasure import Residue, Verification
from spector.store.erasure import living as said
from spector.store.erasure import living_rows
from spector.store.erasure import patterns as pieces
from spector.store.erasure import search as residue
from spector.store.erasure.patterns import Finder, cut
from spector.store.erasure.search import Needles
from spector.store.erasure.search import verify as verify_files
from spector.store.erasure.words import WordCheck
from spector.store.files import bad_sectors as sectors
from spector.upkeep import erasure as erase
from tests.api.helpers import ids, vectors
from tests.fakes import FakeEmbedder
from tests.images import codes_of
from tests.security.test_erasure import SECRET


def _naive(pieces: set[bytes], data: bytes) -> set[tuple[bytes, int]]:
    return {
        (piece, at)
        for piece in pieces
        for at in range(len(data) - len(piece) + 1)
        if data.startswith(piece, at)
    }


def _blocks(data: bytes, size: int, overlap: int) -> Iterator[tuple[int, bytes]]:
    for at in range(0, len(data), size):
        start = max(at - overlap, 0)
        yield start, data[start : at + size]


@pytest.mark.sampled
@pytest.mark.parametrize("letters", [2, 4, 256])
@pytest.mark.parametrize("size", [37, 100, 5000])
def test_a_search_finds_what_comparing_each_place_finds(letters: int, size: int) -> None:
    rng = np.random.default_rng(letters + size)
    data = rng.integers(0, letters, 3000, dtype=np.uint8).tobytes()
    pieces = {
        data[at : at + n]
        for n in (4, 5, 6, 7, 9, 15, 16, 31, 32, 33, 60)
        for at in rng.integers(0, 2900, 9).tolist()
    }
    pieces |= {rng.integers(0, letters, n, dtype=np.uint8).tobytes() for n in range(4, 40)}
    finder = Finder(pieces)
    assert finder.longest == 60
    for _ in range(2):
        assert set(finder.search(_blocks(data, size, 60))) == _naive(pieces, data)
    assert Finder(()).done
    assert list(Finder(()).search([(0, data)])) == []


class _Sparse:
    """A file of stretches that somebody has written, and zeros around them that take no room."""

    def __init__(self, size: int, stretches: dict[int, bytes]) -> None:
        self.data = bytearray(size)
        self._stretches = {low: low + len(data) for low, data in stretches.items()}
        for low, data in stretches.items():
            self.data[low : low + len(data)] = data

    def size(self) -> int:
        return len(self.data)

    def extent(self, offset: int) -> tuple[int, int] | None:
        ends = ((max(low, offset), end) for low, end in self._stretches.items() if end > offset)
        return min(ends, default=None)

    def read_at(self, offset: int, length: int) -> bytes:
        return bytes(self.data[offset : offset + length])


@pytest.mark.parametrize(
    ("size", "stretches"),
    [
        (30, {0: b"mine: Ada"}),
        (9, {0: b"mine: Ada"}),
        (500, {0: b"mine: Ada"}),
        (500, {491: b"mine: Ada"}),
        (500, {200: b"mine: Ada, mine: Ada"}),
        (500, {0: b"mine: ", 250: b"Ada", 300: b"mine: Ada"}),
        (0, {}),
        (500, {}),
    ],
    ids=["short end", "no end", "long end", "at the end", "within", "several", "empty", "zeros"],
)
@pytest.mark.parametrize("block", [1, 4, 1 << 20])
def test_zeros_that_a_file_has_are_found_and_those_behind_its_end_are_not(
    size: int, stretches: dict[int, bytes], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vector, or bytes that a user gives, may begin and end with zeros."""
    monkeypatch.setattr(residue, "_BLOCK_BYTES", block)
    monkeypatch.setattr(sectors, "_HOLE", 64)
    file: Any = _Sparse(size, stretches)
    wanted = {b"mine: Ada" + bytes(n) for n in (0, 1, 7, 30)}
    wanted |= {bytes(n) + b"mine: Ada" for n in (1, 7, 23)} | {b"Ada", b"Ada\0", b"\0Ada\0"}
    wanted |= {bytes(23) + b"mine: Ada"[:8] + bytes(1), bytes(9) + b"mine: Ada" + bytes(14)}
    finder = Finder(wanted)
    found = set(finder.search(residue._blocks(file, finder.longest)))
    assert found == _naive(wanted, bytes(file.data))


def test_what_is_found_is_not_looked_for_until_the_next_file() -> None:
    pieces = [b"four", b"seven77", b"x" * 15 + b"y" * 20, b"not there"]
    data = b" ".join(pieces[:3] * 4)
    finder = Finder(pieces)
    for _ in range(2):
        found = []
        for piece, _ in finder.search(_blocks(data, 50, finder.longest)):
            found.append(piece)
            finder.found((piece,))
        assert sorted(found) == sorted(pieces[:3])
        assert not finder.done
        finder.begin()
    finder.found(pieces)
    assert finder.done
    finder.begin()
    assert not finder.done


@pytest.mark.sampled
@pytest.mark.parametrize("length", [6, 32, 33, 63, 64, 65, 16_385, 40_001, 1 << 20])
def test_any_63_bytes_of_a_value_hold_a_whole_piece_of_it(length: int) -> None:
    """Mechanism: of a value so many pieces were taken that one of 16 KB had gaps between them."""
    data = np.random.default_rng(length).bytes(length)
    starts = [data.find(piece) for piece in cut(data)]
    assert starts[0] == 0
    assert starts[-1] + min(length, 32) == length
    assert max(np.diff(starts), default=0) <= 32


def test_a_short_remnant_of_a_long_text_is_found(memory: Memory, store_path: Path) -> None:
    text = " ".join(f"zq{n:05d}x" for n in range(6000))
    assert len(text) > 50_000
    (store_path / "stray.bin").write_text(text[30_011 : 30_011 + 63])
    receipt = memory.forget(memory.remember(text).id, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.verification is not None
    assert {each.where for each in receipt.verification.residue} == {"stray.bin"}


def test_a_memory_of_which_something_is_left_is_not_among_those_erased(
    memory: Memory, store_path: Path
) -> None:
    """Mechanism: ``ids`` said that nothing is left of it, the lines below that something is."""
    first, second = ids(memory.remember_many(["zqxswordfish opens the door", "zqjvault is shut"]))
    (store_path / "stray.bin").write_bytes(b"zqxswordfish opens the door")
    receipt = memory.forget([first, second], purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.ids == (second,)
    assert receipt.not_yet == (first,)
    assert receipt.verification is not None
    assert receipt.verification.left_of == (first,)
    assert "remove these foreign files" in "\n".join(receipt.pending)
    assert not receipt.complete


def test_of_a_word_that_is_left_nobody_knows_whose_it_was(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ids(memory.remember_many(["zqxswordfish opens", "zqjvault is shut"]))
    monkeypatch.setattr(residue, "words_left", lambda *_: WordCheck(5, 1))
    receipt = memory.forget(made, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.not_yet == tuple(made)
    assert receipt.ids == ()


@pytest.mark.parametrize("where", [":memory:", "disk"])
def test_the_vector_of_a_forgotten_working_memory_goes_at_once(
    clock: ManualClock, tmp_path: Path, where: str
) -> None:
    """Mechanism: nothing rewrites the slab of the working tier, and so no erasure was complete."""
    path = where if where == ":memory:" else tmp_path / "mind"
    config = Config(working_capacity=4)
    with spector.open(path, embedder=FakeEmbedder(), clock=clock, config=config) as memory:
        his = {"tier": "working", "user_id": SECRET["user_id"]}
        stays = memory.remember("zqjvault is shut", **his).id
        gone = memory.remember({**SECRET, "tier": "working"}).id
        codes = codes_of(memory, gone)
        receipt = memory.forget(gone, purge=True, verify=True).receipt
        assert receipt is not None
        assert receipt.complete, str(receipt)
        assert receipt.ids == (gone,)
        for opened in memory._parts.access.opened:
            for segment in opened.store.segments.values():
                assert codes not in segment.records().tobytes()
        assert memory.check().ok
        assert ids(memory) == [stays]
        # the user's ring goes on where it was, with the smallest id, dead or alive
        more = [memory.remember(f"more {n}", **his).id for n in range(3)]
        assert ids(memory) == more  # the third took the place of the oldest, which was alive
        assert [hit.id for hit in memory.recall("more 2", k=1)] == [more[2]]
        assert memory.check().ok


def test_without_that_the_search_would_find_the_working_memory(
    clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search of a store on disk reads what is only in the memory of the process as well."""
    monkeypatch.setattr("spector.upkeep.erasure._wipe", lambda *_: None)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), clock=clock) as memory:
        gone = memory.remember({**SECRET, "tier": "working"}).id
        receipt = memory.forget(gone, purge=True, verify=True).receipt
        assert receipt is not None
        assert receipt.verification is not None
        assert [each.kind for each in receipt.verification.residue] == ["vector"]
        assert receipt.verification.residue[0].where.startswith("memory of this process, ")
        assert receipt.not_yet == (gone,)


def test_a_damaged_record_is_searched_for_as_it_is(store_path: Path, clock: ManualClock) -> None:
    """Mechanism: a vector whose checksum is wrong was not searched for, and nobody said so."""
    rng = np.random.default_rng(1)
    with spector.open(store_path, embedder=None, dim=128, clock=clock) as memory:
        made = memory.remember("zqx", vector=rng.standard_normal(128)).id
        memory.remember("stays", vector=rng.standard_normal(128))
        codes = codes_of(memory, made)
    (path,) = store_path.rglob("*.mem")
    data = bytearray(path.read_bytes())
    data[data.index(codes) + 5] ^= 0x10
    path.write_bytes(data)
    (store_path / "stray.bin").write_bytes(codes)
    with spector.open(store_path, embedder=None, clock=clock) as memory:
        receipt = memory.forget(made, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.verification is not None
    assert ("stray.bin", "vector") in {
        (each.where, each.kind) for each in receipt.verification.residue
    }


def test_what_the_header_of_the_catalog_says_is_no_residue(memory: Memory) -> None:
    """Mechanism: four letters in the first page are those of the application, not of a memory."""
    receipt = memory.compact(verify=["SPEC"]).receipt
    assert receipt is not None
    assert receipt.complete, str(receipt)


def test_many_places_are_listed_in_part(memory: Memory) -> None:
    found = Verification(
        residue=tuple(Residue(where="x", offset=n, kind="text") for n in range(80))
    )
    shown = str(spector.ErasureReceipt(verification=found)).splitlines()
    assert sum(line.startswith("  trace: text in x at byte") for line in shown) == 20
    assert any("first 20 of 80" in line for line in shown)
    assert any("80 traces found" in line for line in shown)


def test_all_memories_are_read_once_however_much_is_looked_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: once for each piece that was found, so minutes in a store of a million."""
    monkeypatch.setattr(living_rows, "_AT_ONCE", 7)
    made = memory.remember_many([f"an ordinary note of {n} by zqx" for n in range(40)])
    looks: list[list[int]] = []
    read = said.living_stretches

    def counted(store: Any) -> Iterator[Any]:
        seen: list[int] = []
        looks.append(seen)
        for stretch in read(store):
            seen += [record_id for record_id, _ in stretch.rows]
            yield stretch

    monkeypatch.setattr(said, "living_stretches", counted)
    needles = Needles()
    for n in range(20):
        needles.add("text", f"an ordinary note of {n} by zqx".encode())
    needles.add_given("an ordinary NOTE")
    verification = verify_files(memory._parts.store, needles)
    assert looks == [ids(made)]
    assert verification.shared == 20
    assert verification.residue == ()
    assert verification.living == tuple(ids(made))
    assert "contain what you named: 40 (first 20 of 40: " in str(
        spector.ErasureReceipt(verification=verification)
    )


def test_texts_are_read_a_few_megabytes_at_a_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(living_rows, "_BYTES_AT_ONCE", 1000)
    made = memory.remember_many(["zq" * 300 + f" {n}" for n in range(5)])
    read = living_rows.living_stretches(memory._parts.store)
    looks = [[record_id for record_id, _ in stretch.rows] for stretch in read]
    assert looks == [ids(made)[:2], ids(made)[2:4], ids(made)[4:]]


@pytest.mark.parametrize("name", [b"\xff\xfe\xff\xfe", "one behindtwo", "zqx\0zqy"])
def test_nothing_is_said_across_two_memories(memory: Memory, name: Any) -> None:
    """Mechanism: values are compared many in one, one behind the other."""
    memory.remember_many(["zqx", "zqy", "one behind", "two"])
    receipt = memory.compact(verify=[name]).receipt
    assert receipt is not None
    assert receipt.verification is not None
    assert receipt.verification.living == ()
    needles = Needles()
    needles.add_given(name)
    stray = memory._parts.store.files.open("stray", create=True)
    stray.extend(100)
    stray.write_at(3, needles.given[0])
    stray.close()
    again = memory.compact(verify=[name]).receipt
    assert again is not None
    assert not again.complete


def test_a_walk_that_comes_to_a_memory_that_a_search_misses_forgets_nobody(memory: Memory) -> None:
    """Mechanism: of a filter's memories those that the search by id missed were passed over."""
    first, second = ids(memory.remember_many(["one", "two"]))
    store = memory._parts.store
    with store.lock, store.catalog.writing() as db:
        db.execute("DELETE FROM record WHERE id = ?", (second,))  # its text is still there
    with pytest.raises(spector.CatalogCorruptError, match=f"memory {second}"):
        memory._parts.forgetter.forget([first, second], named=False)
    assert first in memory


@pytest.mark.parametrize("slot", [-1, 10**9, -(10**9)])
def test_a_slot_that_is_none_is_damage(memory: Memory, slot: int) -> None:
    memory.remember("text", vector=vectors(1, memory.dim)[0])
    store = memory._parts.store
    (segment,) = store.segments
    with pytest.raises(spector.PartitionCorruptError):
        store.record_image(segment, slot)


def test_damaged_texts_end_no_search(memory: Memory) -> None:
    """What is no UTF-8, no JSON or no text at all is compared as bytes."""
    made = ids(memory.remember_many([f"zqxswordfish {n}" for n in range(3)]))
    store = memory._parts.store
    db: sqlite3.Connection
    with store.lock, store.catalog.writing() as db:
        db.execute("UPDATE content SET tags = ? WHERE id = ?", ('["broken \\', made[0]))
        db.execute(
            "UPDATE content SET text = CAST(? AS TEXT) WHERE id = ?",
            (b"zqxsword\xff\xfefish", made[1]),
        )
        db.execute("UPDATE content SET metadata = 17 WHERE id = ?", (made[2],))
    needles = Needles()
    needles.add_given("ZQXSWORDFISH")
    needles.add_given(b"sword\xff\xfe")
    found = verify_files(store, needles)
    assert set(found.living) == set(made)
    assert found.unsearched == ()


@pytest.mark.parametrize("tag", ['Pro"ject Alpha', "C:\\Users\\Maya"])
def test_a_tag_that_json_writes_in_another_way_is_known_to_be_shared(
    memory: Memory, tag: str
) -> None:
    """Mechanism: the index of tags has them as they are, the row of the memory as JSON."""
    stays = memory.remember({"text": "other note", "tags": [tag]}).id
    gone = memory.remember({"text": "zqjvault one is gone", "tags": [tag]}).id
    receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.complete, str(receipt)
    receipt = memory.compact(verify=[tag]).receipt
    assert receipt is not None
    assert receipt.complete, str(receipt)
    assert receipt.verification is not None
    assert receipt.verification.living == (stays,)


@pytest.mark.parametrize("reflected", [False, True])
def test_the_log_may_have_the_vector_of_a_living_memory(memory: Memory, reflected: bool) -> None:
    """Mechanism: nothing of the store on disk was due, so its log stays, with the living record."""
    text = "Maya has a Penicillin allergy."
    memory.remember(text)
    gone = memory.remember(text, tier="working").id
    if reflected:
        memory.reflect()
    receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.complete, str(receipt)
    assert receipt.ids == (gone,)


def test_a_vector_in_the_log_that_no_living_memory_has_is_residue(memory: Memory) -> None:
    """What the log has of a dead record is not excused by the tests above."""
    memory.remember("somebody else")
    gone = memory.remember(SECRET).id
    codes = codes_of(memory, gone)
    memory.forget(gone)
    needles = Needles()
    needles.add("vector", codes, gone)
    found = verify_files(memory._parts.store, needles)
    assert {(each.kind, each.where) for each in found.residue} >= {("vector", "catalog.db-wal")}


@pytest.mark.parametrize("word", ["partition", "partitions", "purge_due", "tablefulltext"])
@pytest.mark.parametrize("kind", ["text", "tags"])
def test_what_an_erasure_itself_writes_is_no_residue(memory: Memory, word: str, kind: str) -> None:
    one = {"text": word} if kind == "text" else {"text": "zzqq", "tags": [word]}
    gone = memory.remember(one).id
    receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.complete, str(receipt)


def test_what_is_searched_for_is_what_is_forgotten(
    memory: Memory, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: another thread updated a memory after its text was noted, before it was gone."""
    gone = memory.remember("the first version of it").id
    forget = memory._parts.forgetter.forget
    raced: list[bool] = []

    def late(*args: Any, **kwargs: Any) -> Any:
        def update() -> None:
            with contextlib.suppress(spector.SpectorError):  # it is forgotten by then
                memory.update(gone, text="a second version nobody looked for")

        other = threading.Thread(target=update, daemon=True)
        other.start()
        other.join(0.3)
        raced.append(not other.is_alive())
        return forget(*args, **kwargs)

    monkeypatch.setattr(memory._parts.forgetter, "forget", late)
    (store_path / "stray").write_text("a second version nobody looked for")
    receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt is not None
    assert raced == [False], "an update came between"


def test_values_are_searched_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(said, "_SEARCHED_AT_ONCE", 16)
    values = said._Values()
    for record_id in range(40):
        values.add(record_id, f"what memory {record_id:02} says of it".encode())
    finder = Finder([b"memory 07 says of", b"memory 33", b"itwhat"])
    found = {(piece, record_id) for piece, record_id in values.search(finder)}
    assert found == {(b"memory 07 says of", 7), (b"memory 33", 33)}


@pytest.mark.parametrize(
    ("kind", "said_of_it", "left"),
    [
        ("text", {"text": 'zq "a"\nzj "b"\nzk "c"'}, 'zq "a"\nzj "b"\nzk "c"'),
        ("tags", {"text": "zqx", "tags": ['zq"a"zj', "zk"]}, 'zq"a"zj'),
        ("metadata", {"text": "zqx", "metadata": {"who": 'zq"a"zj'}}, 'zq"a"zj'),
        ("metadata", {"text": "zqx", "metadata": {"account": [86_753_094_211]}}, 86_753_094_211),
        ("metadata", {"text": "zqx", "metadata": {"weight": 71.84375}}, 71.84375),
        ("label", {"text": "zqx", "user_id": 'zq"a"zj'}, 'zq"a"zj'),
    ],
)
def test_what_an_export_has_of_a_memory_is_found_as_json_writes_it(
    memory: Memory, store_path: Path, kind: str, said_of_it: dict[str, Any], left: str | float
) -> None:
    """Mechanism: texts and labels were looked for as they are only, numbers not at all."""
    gone = memory.remember(said_of_it).id
    memory.remember("stays")
    written = json.dumps(left)
    (store_path / "old.jsonl").write_text(written[1:-1] if isinstance(left, str) else written)
    receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.verification is not None
    found = {(each.where, each.kind) for each in receipt.verification.residue}
    assert found == {("old.jsonl", kind)}
    assert receipt.not_yet == (gone,)


def test_an_export_of_a_living_memory_is_no_residue(
    memory: Memory, store_path: Path, tmp_path: Path
) -> None:
    said_of_it: dict[str, Any] = {
        "text": 'zq "a"\nzj "b" zk',
        "tags": ['zq"a"zj'],
        "user_id": 'zq"b"zj',
        "metadata": {"who": 'zq"c"zj', "account": 86_753_094_211},
    }
    memory.remember(said_of_it)
    memory.export(tmp_path / "out.jsonl")
    gone = memory.remember(said_of_it).id
    (store_path / "old.jsonl").write_bytes((tmp_path / "out.jsonl").read_bytes())
    receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.verification is not None
    left = {each.kind for each in receipt.verification.residue if each.where == "old.jsonl"}
    assert left <= {"vector"}, str(receipt)


@pytest.mark.parametrize(
    ("tag", "other"), [("\u2460\u2461", "12 apples"), ("\u00ed\u00ed\u00ed", "ski iii")]
)
def test_what_is_next_to_nothing_when_written_plainly_accounts_for_no_residue(
    memory: Memory, store_path: Path, tag: str, other: str
) -> None:
    """Mechanism: circled numbers are "12" in plain letters, which some memory always says."""
    memory.remember(other)
    gone = memory.remember({"text": "zqx", "tags": [tag]}).id
    (store_path / "stray.bin").write_text(tag, encoding="utf-8")
    receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.verification is not None
    assert [each.where for each in receipt.verification.residue] == ["stray.bin"]


def test_what_the_lock_says_is_no_residue(
    store_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: a tag may be the number of the process that writes, which its lock names."""
    monkeypatch.setattr(os, "getpid", lambda: 4_123_456)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        assert b"4123456" in (store_path / "LOCK").read_bytes()
        gone = memory.remember({"text": "zqx", "tags": ["4123456"]}).id
        receipt = memory.forget(gone, purge=True, verify=True).receipt
    assert receipt is not None
    assert receipt.complete, str(receipt)


def test_nobody_is_advised_to_remove_a_file_of_the_store(
    memory: Memory, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: of residue in catalog.db it said, too, to remove these foreign files."""
    gone = memory.remember("zqxswordfish opens the door").id
    for n in range(7):
        (store_path / f"stray-{n}").write_bytes(b"zqxswordfish opens the door")
    places = [Residue(where=f"stray-{n}", offset=0, kind="text") for n in range(7)]
    own = Residue(where="catalog.db", offset=4096, kind="text")
    told = []
    for found in ([own], places, [own, *places]):
        verification = Verification(residue=tuple(found))
        monkeypatch.setattr(erase, "verify", lambda *_, v=verification: v)
        receipt = memory.compact(verify=["zqxswordfish"]).receipt
        assert receipt is not None
        told.append(receipt.pending)
    ((mine,), (theirs,), both) = told
    assert "must not remove" in mine
    assert "foreign files" not in mine
    assert "stray-4 and 2 more: remove these foreign files" in theirs
    assert both == (theirs, mine)
    assert gone in memory


def test_what_is_everywhere_and_found_already_is_not_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mechanism: a found piece stayed in the tables, so 27 MB of "0, 0, 0" took seconds."""
    looked: list[int] = []
    places = pieces._Table.places

    def counted(self: Any, words: Any) -> Any:
        found = places(self, words)
        looked.append(len(found))
        return found

    monkeypatch.setattr(pieces._Table, "places", counted)
    rng = np.random.default_rng(5)
    rest = {rng.bytes(32) for _ in range(200)}
    block = b"0, " * 7000
    everywhere = set(cut(block))
    assert 1 <= len(everywhere) <= 3
    finder = Finder(rest | everywhere)
    for piece, _ in finder.search([(n * len(block), block) for n in range(9)]):
        finder.found((piece,))
    assert looked[0] > len(block) // 4
    assert looked[1:] == [0] * 8
    finder.begin()
    assert {piece for piece, _ in finder.search([(0, block)])} == everywhere
