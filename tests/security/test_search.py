"""What the search of an erasure finds, and whose it says it is.

Mechanism: thousands of pieces are looked for in one pass, by hashes of how they begin; what is left
is told by file and memory. Damage without it: an erasure is called complete with something left, or
nobody can wait for the answer. Guard: a search that compares each piece at each place.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Config, ManualClock, Memory
from spector.records.reports import Residue, Verification
from spector.store.erasure import search as residue
from spector.store.erasure.search import Needles, WordCheck, cut
from spector.store.erasure.search import verify as verify_files
from spector.upkeep import erasure as erase
from tests.api.helpers import ids
from tests.cases import Cases
from tests.fakes import FakeEmbedder
from tests.images import codes_of
from tests.security.test_erasure import SECRET
from tests.store.spoil import flip

cases = Cases(__file__)


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
    assert {each.where for each in receipt.verification.residue} == {"stray.bin"}


def test_a_memory_of_which_something_is_left_is_not_among_those_erased(
    memory: Memory, store_path: Path
) -> None:
    """Mechanism: ``ids`` said that nothing is left of it, the lines below that something is."""
    first, second = ids(memory.remember_many(["zqxswordfish opens the door", "zqjvault is shut"]))
    (store_path / "stray.bin").write_bytes(b"zqxswordfish opens the door")
    receipt = memory.forget([first, second], purge=True, verify=True).receipt
    assert receipt.ids == (second,)
    assert receipt.not_yet == (first,)
    assert receipt.verification.left_of == (first,)
    assert "remove these foreign files" in "\n".join(receipt.pending)
    assert not receipt.complete


def test_of_a_word_that_is_left_nobody_knows_whose_it_was(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ids(memory.remember_many(["zqxswordfish opens", "zqjvault is shut"]))
    monkeypatch.setattr(residue, "words_left", lambda *_: WordCheck(5, 1))
    receipt = memory.forget(made, purge=True, verify=True).receipt
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


def test_a_damaged_record_is_searched_for_as_it_is(store_path: Path, clock: ManualClock) -> None:
    """Mechanism: a vector whose checksum is wrong was not searched for, and nobody said so."""
    rng = np.random.default_rng(1)
    with spector.open(store_path, embedder=None, dim=128, clock=clock) as memory:
        made = memory.remember("zqx", vector=rng.standard_normal(128)).id
        memory.remember("stays", vector=rng.standard_normal(128))
        codes = codes_of(memory, made)
    (path,) = store_path.rglob("*.mem")
    flip(path, path.read_bytes().index(codes) + 5)
    (store_path / "stray.bin").write_bytes(codes)
    with spector.open(store_path, embedder=None, clock=clock) as memory:
        receipt = memory.forget(made, purge=True, verify=True).receipt
    assert ("stray.bin", "vector") in {
        (each.where, each.kind) for each in receipt.verification.residue
    }


@pytest.mark.parametrize("name", [b"\xff\xfe\xff\xfe", "one behindtwo", "zqx\0zqy"])
def test_nothing_is_said_across_two_memories(memory: Memory, name: Any) -> None:
    """Mechanism: values are compared many in one, one behind the other."""
    memory.remember_many(["zqx", "zqy", "one behind", "two"])
    receipt = memory.compact(verify=[name]).receipt
    assert receipt.verification.living == ()
    needles = Needles()
    needles.add_given(name)
    stray = memory._parts.store.files.open("stray", create=True)
    stray.extend(100)
    stray.write_at(3, needles.given[0])
    stray.close()
    again = memory.compact(verify=[name]).receipt
    assert not again.complete


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


@pytest.mark.parametrize("reflected", [False, True])
def test_the_log_may_have_the_vector_of_a_living_memory(memory: Memory, reflected: bool) -> None:
    """Mechanism: nothing of the store on disk was due, so its log stays, with the living record."""
    text = "Maya has a Penicillin allergy."
    memory.remember(text)
    gone = memory.remember(text, tier="working").id
    if reflected:
        memory.reflect()
    receipt = memory.forget(gone, purge=True, verify=True).receipt
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


@cases("kind", "said_of_it", "left")
def test_what_an_export_has_of_a_memory_is_found_as_json_writes_it(
    memory: Memory, store_path: Path, kind: str, said_of_it: dict[str, Any], left: str | float
) -> None:
    """Mechanism: texts and labels were looked for as they are only, numbers not at all."""
    gone = memory.remember(said_of_it).id
    memory.remember("stays")
    written = json.dumps(left)
    (store_path / "old.jsonl").write_text(written[1:-1] if isinstance(left, str) else written)
    receipt = memory.forget(gone, purge=True, verify=True).receipt
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
    left = {each.kind for each in receipt.verification.residue if each.where == "old.jsonl"}
    assert left <= {"vector"}, str(receipt)


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
        told.append(receipt.pending)
    ((mine,), (theirs,), both) = told
    assert "must not remove" in mine
    assert "foreign files" not in mine
    assert "stray-4 and 2 more: remove these foreign files" in theirs
    assert both == (theirs, mine)
    assert gone in memory
