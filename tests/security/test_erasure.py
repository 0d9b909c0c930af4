"""What was erased is in no byte of any file, and the receipt says what happened.

Mechanism: partitions are rewritten without dead slots, the full text is merged, catalog and log are
rewritten; a table of the catalog remembers what is still due. Damage without it: a forgotten name
in a page, a log, an index or an old file. Guard: every byte of every file is searched by the test
itself, whatever the product says.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import socket
import sqlite3
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, InvalidInputError, ManualClock, Memory
from spector.importers.entries import role_of_person
from spector.records.reports import NOT_COVERED, Purged
from spector.store.catalog import put_meta
from spector.store.core.store import Store
from spector.store.erasure import catalog as erase
from spector.store.erasure.search import Needles
from spector.store.erasure.search import verify as verify_files
from spector.store.partitions.scan_indexes import TEMPORARY, idx_of
from spector.store.sqlite.database import vacuum
from tests.api.helpers import files_with, ids, vectors
from tests.cases import Cases
from tests.fakes import FakeEmbedder
from tests.images import codes_of

cases = Cases(__file__)

#: rare letters first, so that the words keep a beginning of their own in the full-text index
SECRET: dict[str, Any] = dict(cases.rows("SECRET"))
WORDS = tuple(
    (
        "zqxswordfish qzjvault zqaardvark zqbandicoot zqbilby zqcapybara zqdugong "
        "zqechidna zqfossa zqgerenuk"
    ).split()
)


def left_of(path: Path, *needles: str | bytes) -> dict[str | bytes, list[str]]:
    return {each: found for each in needles if (found := files_with(path, each))}


def test_purged_memories_are_in_no_byte_of_any_file(memory: Memory, store_path: Path) -> None:
    keep = memory.remember_many([f"an ordinary note {n}" for n in range(60)], session_id="daily")
    secret = memory.remember({**SECRET})
    codes = codes_of(memory, secret.id)
    memory.checkpoint()
    assert set(left_of(store_path, *WORDS, codes)) == {*WORDS, codes}
    report = memory.forget(secret.id, purge=True, verify=True)
    assert left_of(store_path, *WORDS, codes) == {}
    assert report.receipt.complete
    assert report.receipt.ids == (secret.id,)
    found = report.receipt.verification
    assert found.ok
    assert found.needles >= len(WORDS)
    assert found.bytes >= sum(f.stat().st_size for f in store_path.rglob("*.mem"))
    assert ids(memory) == ids(keep)
    assert memory.check().ok


@pytest.mark.parametrize("state", ["open", "closed", "reopened"])
def test_each_way_to_forget_ends_with_nothing_left(
    store_path: Path, clock: ManualClock, state: str
) -> None:
    """Updates, several partitions, one that is left empty, a store between two openings."""
    config = Config(episodic_capacity=8, index_min_rows=1)

    def opened() -> Memory:
        return spector.open(store_path, embedder=FakeEmbedder(), clock=clock, config=config)

    memory = opened()
    made = ids(
        memory.remember_many(
            [
                {**SECRET, "text": f"{SECRET['text']} {n}"}
                if n % 3 == 0 or 8 <= n < 16
                else {"text": f"an ordinary note {n}"}
                for n in range(40)
            ]
        )
    )
    memory.recall("note", k=3)
    memory.update(
        made[39],
        text="nothing",
        tags=[],
        metadata=None,
        source=None,
        role=None,
        move_to=dict.fromkeys(["session_id", "agent_id", "user_id"]),
    )
    gone = [n for n in range(39) if n % 3 == 0 or 8 <= n < 16]
    codes = [codes_of(memory, made[n]) for n in gone]
    if state == "reopened":
        memory.close()
        memory = opened()
    memory.forget([made[n] for n in gone])
    if state == "closed":
        memory.close()
        memory = opened()
    receipt = memory.compact().receipt
    assert receipt.complete
    assert set(receipt.ids) == {made[n] for n in gone}
    assert receipt.replaced == (made[39],)
    assert left_of(store_path, *WORDS, *codes) == {}
    assert memory.check().ok
    memory.close()
    assert left_of(store_path, *WORDS, *codes) == {}


def test_a_long_text_that_sqlite_spreads_over_pages_is_gone_from_all_of_them(
    memory: Memory, store_path: Path
) -> None:
    lines = [f"zq{n:05d}x the ledger of page {n}" for n in range(3000)]
    memory.remember("short")
    secret = memory.remember("\n".join(lines))
    memory.checkpoint()
    assert len(left_of(store_path, *(f"zq{n:05d}x" for n in range(0, 3000, 50)))) >= 59
    receipt = memory.forget(secret.id, purge=True, verify=True).receipt
    assert receipt.verification.needles > 256
    assert receipt.complete
    assert left_of(store_path, *(f"zq{n:05d}" for n in range(0, 3000, 50))) == {}


# -- the search can fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["text", "metadata", "tags", "label", "vector"])
def test_the_search_finds_what_an_erasure_left(
    memory: Memory, store_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stray copy in the directory stands for anything that an erasure might miss."""
    secret = memory.remember({**SECRET})
    remains = {
        "text": b"zqxswordfish opens qzjvault by moonlight",
        "metadata": b"value-zqbilby",
        "tags": b"tag-zqaardvark",
        "label": b"zqechidna",
        "vector": codes_of(memory, secret.id),
    }[what]
    (store_path / "stray.bin").write_bytes(b"\0" * 1_048_570 + remains + b"\0" * 99)
    receipt = memory.forget(secret.id, purge=True, verify=True).receipt
    assert not receipt.complete
    assert {(r.where, r.kind) for r in receipt.verification.residue} == {("stray.bin", what)}
    assert receipt.verification.residue[0].offset == 1_048_570
    assert receipt.unknown_files == ("stray.bin",)
    assert "NOT complete" in str(receipt)


def test_without_the_rewrite_of_the_catalog_the_search_would_find_the_text(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant: merging the full text and truncating the log alone is not enough to be believed."""
    made = memory.remember_many([f"zqxname{n:04d} lives in qzjstreet {n}" for n in range(300)])
    monkeypatch.setattr(erase, "vacuum", lambda database: (0, 0, 0))
    monkeypatch.setattr(erase, "truncate_log", lambda database: 0)
    receipt = memory.forget(ids(made)[::2], purge=True, verify=True).receipt
    assert not receipt.verification.ok


def test_without_the_merge_of_the_full_text_the_search_would_find_the_words(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant: no byte search can find them, since pages hold words as pieces of one another."""
    made = memory.remember_many([f"Zqxname{n:04d} lives in Zqjstreet" for n in range(300)])

    def rewrite(store: Store) -> list[Purged]:
        vacuum(store.catalog)
        with store.catalog.writing() as connection:
            put_meta(connection, {erase.DUE: erase.LOG})
        return []

    monkeypatch.setattr(erase, "_merge_in_pieces", lambda *_: None)
    monkeypatch.setattr(erase, "_rewrite_catalog", rewrite)
    receipt = memory.forget(ids(made)[::2], purge=True, verify=True).receipt
    assert not receipt.complete
    found = receipt.verification.residue
    assert [(each.kind, each.where) for each in found if each.kind == "word"] == [
        ("word", "catalog.db, full text")
    ] * 150
    assert "trace: word in catalog.db, full text" in str(receipt)
    assert "zqxname" not in str(receipt).lower()
    monkeypatch.undo()
    memory.forget(made[1].id)
    again = memory.compact(verify=["Zqxname0000", "zqxname0002"]).receipt
    assert again.complete
    assert again.verification.words == 2


@pytest.mark.parametrize("name", ["maya lindqvist", "MAYA"])
def test_a_name_in_other_letters_is_one_that_a_living_memory_says(
    memory: Memory, name: str
) -> None:
    """Mechanism: who says it was asked only of what the bytes had."""
    living = memory.remember("Maya Lindqvist likes tea")
    receipt = memory.compact(verify=[name]).receipt
    assert receipt.verification.living == (living.id,)


@pytest.mark.parametrize("name", ['the "Zq" bar\\ä', 'the "zq" BAR\\ä'])
def test_a_name_with_quotes_is_found_in_metadata_that_has_them_escaped(
    memory: Memory, name: str
) -> None:
    living = memory.remember("x", metadata={"place": ['the "Zq" bar\\ä']})
    receipt = memory.compact(verify=[name]).receipt
    assert receipt.complete
    assert receipt.verification.living == (living.id,)


def test_a_memory_of_the_working_tier_says_it_too(memory: Memory) -> None:
    living = memory.remember("Maya Lindqvist is on the line", tier="working")
    receipt = memory.compact(verify=["maya lindqvist"]).receipt
    assert receipt.verification.living == (living.id,)
    assert not receipt.verification.gone


def test_bytes_that_are_no_text_are_looked_for_as_they_are(
    memory: Memory, store_path: Path
) -> None:
    memory.remember("x")
    (store_path / "stray.bin").write_bytes(b"..\xff\xfe\x80\x81..")
    receipt = memory.compact(verify=[b"\xff\xfe\x80\x81"]).receipt
    assert [(r.where, r.offset) for r in receipt.verification.residue] == [("stray.bin", 2)]
    assert receipt.verification.living == ()


@pytest.mark.parametrize("left", ['a \\"Zq\\" bar', 'a "Zq" bar', "caf\u00e9 Zq", "cafe\u0301 Zq"])
def test_what_the_caller_named_is_found_as_any_file_may_have_it(
    memory: Memory, store_path: Path, left: str
) -> None:
    memory.remember("x")
    (store_path / "stray.bin").write_bytes(left.encode())
    receipt = memory.compact(verify=['a "Zq" bar', "cafe\u0301 Zq"]).receipt
    assert not receipt.complete
    assert [each.where for each in receipt.verification.residue] == ["stray.bin"]


@pytest.mark.parametrize("what", ["link", "dangling", "folder", "pipe", "socket"])
def test_what_cannot_be_searched_is_told_and_costs_no_receipt(
    memory: Memory, store_path: Path, tmp_path: Path, what: str
) -> None:
    """Mechanism: an error at the end, when all was erased, and then nobody could ask again."""
    secret = memory.remember({**SECRET})
    strange = store_path / "strange"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("x")
    match what:
        case "link":
            strange.symlink_to(tmp_path / "elsewhere" / "file")
        case "dangling":
            strange.symlink_to(tmp_path / "nowhere")
        case "folder":
            strange.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(strange)
        case "socket":
            with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(store_path):
                made.bind("strange")
    receipt = memory.forget(secret.id, purge=True, verify=True).receipt
    assert receipt.ids == (secret.id,)
    assert receipt.unknown_files == ("strange",)
    assert not receipt.verification.residue
    assert [each.partition(":")[0] for each in receipt.verification.unsearched] == ["strange"]
    assert not receipt.verification.gone
    assert not receipt.complete
    assert "not searched: strange: " in str(receipt)
    strange.unlink()
    assert left_of(store_path, *WORDS) == {}
    again = memory.compact(verify=WORDS).receipt
    assert again.complete


def test_a_store_in_memory_is_searched_as_well(clock: ManualClock) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock) as memory:
        memory.remember("an ordinary note")
        secret = memory.remember({**SECRET})
        assert memory.compact(verify=["zqxswordfish"]).receipt is not None
        receipt = memory.forget(secret.id, purge=True, verify=True).receipt
        assert receipt.complete, str(receipt)
        assert receipt.verification.bytes > 90_000
        stray = memory._parts.store.files.open("stray", create=True)
        stray.extend(100)
        stray.write_at(3, b"zqxswordfish")
        again = memory.compact(verify=["zqxswordfish"]).receipt
        assert [(r.where, r.offset) for r in again.verification.residue] == [("stray", 3)]


def test_what_the_store_itself_writes_is_no_residue(memory: Memory) -> None:
    """Mechanism: a date in metadata is also the name of a partition, so no erasure was complete."""
    memory.remember("stays")
    gone = memory.remember(
        "visited the clinic", tags=["episodic", "sqlite"], metadata={"date": "2026-11-21"}
    )
    receipt = memory.forget(gone.id, purge=True, verify=True).receipt
    assert receipt.complete, str(receipt)


def test_a_short_name_is_searched_for_as_well(memory: Memory, store_path: Path) -> None:
    memory.remember("nothing of the kind")
    for name in ("Zqas", "Zqona"):
        memory.forget(memory.remember(f"{name} likes tea").id)
    (store_path / "stray.bin").write_bytes(b"\0" * 1_048_574 + b"Zqas" + b"\0" * 9 + b"zqona")
    receipt = memory.compact(verify=["Zqas", "Zqona"]).receipt
    assert receipt.verification.needles == 2
    assert [(r.where, r.offset) for r in receipt.verification.residue] == [("stray.bin", 1_048_574)]


@pytest.mark.parametrize("verify", [["Zqx"], [b"aaaaaaaa"], ["Zqxswordfish", "\0\0\0\0\0\0"]])
def test_what_would_be_found_everywhere_is_refused(memory: Memory, verify: Any) -> None:
    """Too short, or too much of the same."""
    with pytest.raises(InvalidInputError, match="everywhere"):
        memory.compact(verify=verify)


def test_a_copy_behind_a_living_one_in_the_same_partition_is_found(memory: Memory) -> None:
    """Mechanism: only the first place of a piece was looked at, and that may be a living record."""
    first, second = ids(memory.remember_many(["the same words", "the same words"]))
    codes = codes_of(memory, first)
    assert codes == codes_of(memory, second)
    store = memory._parts.store
    memory.forget(second)
    memory.checkpoint()
    needles = Needles()
    needles.add("vector", codes)
    found = verify_files(store, needles)
    (path,) = {segment.row.path for segment in store.segments.values()}
    assert [r.kind for r in found.residue if r.where == path] == ["vector"]


def test_what_living_memories_say_too_is_counted_and_not_reported(memory: Memory) -> None:
    memory.remember("Maya Lindqvist likes tea", tags=["beverages"])
    second = memory.remember("Maya Lindqvist likes tea", tags=["beverages"])
    receipt = memory.forget(second.id, purge=True, verify=True).receipt
    assert receipt.complete
    assert receipt.verification.shared == 4  # text, tags, tag, vector


def test_compact_searches_for_what_the_caller_names(memory: Memory) -> None:
    living = memory.remember("Maya Lindqvist likes tea")
    gone = memory.remember("Jonas Albrecht likes tea")
    memory.forget(gone.id)
    receipt = memory.compact(verify=["Jonas Albrecht", "Maya Lindqvist"]).receipt
    assert receipt.complete
    assert (receipt.verification.needles, receipt.verification.shared) == (2, 1)
    assert receipt.verification.living == (living.id,)
    assert not receipt.verification.gone
    assert f"live memories still contain what you named: 1 ({living.id})" in str(receipt)
    again = memory.compact(verify=["Jonas Albrecht"]).receipt
    assert again.ids == ()
    assert again.verification.gone
    assert memory.compact().receipt is None


@pytest.mark.parametrize("verify", ["a name", b"a name", True, [3], [""]])
def test_something_else_to_search_for_is_refused(memory: Memory, verify: Any) -> None:
    with pytest.raises(InvalidInputError):
        memory.compact(verify=verify)


def test_verify_without_purge_is_refused_before_anything_is_forgotten(memory: Memory) -> None:
    made = memory.remember("x")
    with pytest.raises(InvalidInputError):
        memory.forget(made.id, verify=True)
    assert made.id in memory


def test_the_search_takes_none_of_sqlites_locks(memory: Memory, store_path: Path) -> None:
    """Closing any descriptor of catalog.db drops the process's locks on it. Another process would
    then take the log for its own on closing, and delete it."""
    secret = memory.remember("zqxswordfish")
    memory.remember("something else")
    memory.forget(secret.id, purge=True, verify=True)
    kept = memory.remember("after the search")
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('SELECT count(*) FROM record').fetchone(); c.close()"
    )
    import subprocess
    import sys

    subprocess.run([sys.executable, "-c", code, str(store_path / "catalog.db")], check=True)
    assert (store_path / "catalog.db-wal").stat().st_size > 0, "the stranger deleted our log"
    assert kept.id in memory


# -- the receipt -----------------------------------------------------------------------------------


def test_a_receipt_is_plain_json_and_repeats_nothing_of_what_was_erased(memory: Memory) -> None:
    secret = memory.remember({**SECRET})
    receipt = memory.forget(secret.id, purge=True, verify=True).receipt
    found = json.loads(receipt.to_json())
    assert found["ids"] == [secret.id]
    assert found["complete"] is True
    assert (found["verification"]["ok"], found["verification"]["gone"]) == (True, True)
    assert found["time"] == "2026-11-21T12:00:00Z"
    assert tuple(found["not_covered"]) == NOT_COVERED
    assert {p["where"] for p in found["purged"]} >= {"catalog.db", "catalog.db-wal"}
    for shown in (receipt.to_json(), str(receipt), repr(receipt)):
        assert not [word for word in WORDS if word in shown]


def test_memories_derived_from_an_erased_one_are_listed_at_any_depth_and_kept(
    memory: Memory,
) -> None:
    first, other = ids(memory.remember_many(["the source", "another"]))
    child = memory.remember("a summary of it", parents=[first, other]).id
    grandchild = memory.remember("a summary of the summary", parents=[child]).id
    memory.remember("no child of it", parents=[other])
    receipt = memory.forget(first, purge=True).receipt
    assert receipt.derived == (child, grandchild)
    assert child in memory
    assert memory.check().ok


def test_the_embedding_cache_forgets_too(store_path: Path, clock: ManualClock) -> None:
    embedder = spector.CachedEmbedder(FakeEmbedder())
    with spector.open(store_path, embedder=embedder, clock=clock) as memory:
        secret = memory.remember("zqxswordfish")
        assert embedder.stats().entries == 1
        receipt = memory.forget(secret.id, purge=True).receipt
        assert embedder.stats().entries == 0
        assert "embedding cache" in {p.where for p in receipt.purged}


def test_a_compaction_above_a_threshold_does_not_claim_to_have_erased_the_rest(
    store_path: Path, clock: ManualClock
) -> None:
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=clock, config=Config(episodic_capacity=10)
    ) as memory:
        made = ids(memory.remember_many([f"note {n}" for n in range(20)]))
        codes = codes_of(memory, made[0])
        memory.forget([made[0], *made[10:18]])
        report = memory.compact(threshold=0.5)
        assert not report.erased
        assert "threshold" in report.receipt.pending[0]
        assert report.receipt.not_yet == (made[0],)
        assert report.receipt.ids == tuple(made[10:18])
        assert left_of(store_path, codes) != {}
        assert memory.stats()["erasure"]["pending"] == 1, "the others are gone"
        report = memory.compact()
        assert report.erased
        assert left_of(store_path, codes) == {}
        assert memory.stats()["erasure"] == {"pending": 0, "due": None}


def test_a_reader_that_holds_the_log_makes_the_erasure_incomplete_and_the_next_one_finishes(
    memory: Memory, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = memory.remember({**SECRET})
    memory.remember("another")
    holder = sqlite3.connect(store_path / "catalog.db", isolation_level=None)
    holder.execute("BEGIN")
    holder.execute("SELECT count(*) FROM record").fetchone()
    report = memory.forget(secret.id, purge=True)
    assert not report.receipt.complete
    assert (report.receipt.ids, report.receipt.not_yet) == ((), (secret.id,))
    assert f"not erased yet: 1 ({secret.id})" in str(report.receipt)
    assert "log" in report.receipt.pending[0]
    assert secret.id not in memory
    holder.execute("COMMIT")
    holder.close()
    vacuums: list[int] = []
    monkeypatch.setattr(erase, "vacuum", lambda database: vacuums.append(1))
    receipt = memory.compact().receipt
    assert receipt.complete
    assert receipt.ids == (secret.id,)
    assert vacuums == [], "the catalog was rewritten again, although only its log was left"
    assert left_of(store_path, *WORDS) == {}


# -- when nobody asks ------------------------------------------------------------------------------


def test_reflect_erases_what_was_forgotten_a_day_ago_and_nothing_sooner(
    memory: Memory, store_path: Path, clock: ManualClock
) -> None:
    secret = memory.remember({**SECRET})
    memory.remember_many([f"note {n}" for n in range(20)])
    memory.forget(secret.id)
    assert memory.stats()["erasure"] == {"pending": 1, "due": "2026-11-22T12:00:00Z"}
    clock.advance(hours=23)
    assert memory.reflect().compaction.receipt is None
    assert left_of(store_path, *WORDS) != {}
    clock.advance(hours=2)
    receipt = memory.reflect().compaction.receipt
    assert receipt.complete
    assert left_of(store_path, *WORDS) == {}
    assert memory.reflect().compaction.receipt is None


def test_the_time_to_erasure_is_the_configs(store_path: Path, clock: ManualClock) -> None:
    config = Config(erase_after_s=0)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock, config=config) as memory:
        memory.forget(memory.remember({**SECRET}).id)
        assert memory.reflect().compaction.receipt is not None
        assert left_of(store_path, *WORDS) == {}


def test_leftovers_of_a_crash_are_erased_with_the_rest(
    memory: Memory, store_path: Path, clock: ManualClock
) -> None:
    """An old generation whose unlink was cut short, and an index that was being written."""
    made = memory.remember_many([f"note {n}" for n in range(80)])
    secret = memory.remember({**SECRET})
    codes = codes_of(memory, secret.id)
    memory.checkpoint()
    (old,) = store_path.rglob("*.mem")
    kept = old.read_bytes()
    memory.forget(secret.id)
    memory.compact()
    old.write_bytes(kept)
    (new,) = [p for p in store_path.rglob("*.mem") if p != old]
    index = store_path / (idx_of(new.relative_to(store_path).as_posix()) + TEMPORARY)
    index.write_bytes(b"SIDX" + codes)
    assert left_of(store_path, codes) != {}
    memory.forget(made[0].id, purge=True)
    assert left_of(store_path, codes) == {}
    assert memory.check().ok


def test_readers_go_on_with_the_old_generation_and_then_with_the_new(
    memory: Memory, store_path: Path, clock: ManualClock
) -> None:
    made = ids(memory.remember_many([f"note {n}" for n in range(40)]))
    given = vectors(1)[0]
    with spector.open(store_path, mode="r", embedder=FakeEmbedder(), clock=clock) as reader:
        before = reader._parts.store.view()
        memory.forget(made[:10], purge=True)
        assert before.partitions[0].slots == 40  # its map is alive, and so are the bytes
        assert ids(reader) == made[10:]
        assert set(ids(reader.recall(vector=given, k=50))) == set(made[10:])


def test_no_cache_of_the_process_keeps_words_that_were_purged(memory: Memory) -> None:
    """Caches of answers about texts hold the texts: an export or a dump would have them."""
    name = role_of_person("Zqxvname Zqxvson")[0]
    memory.observe(f"I'm {name}, my phone number is 0532 917 44 18 and I live in Zqxvtown.")
    memory.observe("Actually, my phone number is 0532 917 44 19.", session_id="zqxvsession")
    memory.recall("What is the phone number of Zqxvname?")
    memory.facts.extract("Zqxvname works at Zqxvcorp.")
    assert kept_words("zqxv", "917 44"), "a search that finds nothing proves nothing"
    memory.forget(tiers=["episodic", "semantic"], purge=True, include_protected=True)
    assert kept_words("zqxv", "917 44") == {}


def kept_words(*pieces: str) -> dict[str, str]:
    """Caches of functions of the library -> a text of theirs that has one of some pieces."""
    found = {}
    for module in [each for name, each in sys.modules.items() if name.startswith("spector")]:
        for name, value in vars(module).items():
            if isinstance(value, functools._lru_cache_wrapper):
                for text in texts_within(value):
                    if any(piece in text.casefold() for piece in pieces):
                        found[f"{module.__name__}.{name}"] = text
    return found


def texts_within(thing: object, depth: int = 4) -> Iterator[str]:
    for each in gc.get_referents(thing):
        if isinstance(each, str):
            yield each
        elif depth and not isinstance(each, (type, types.ModuleType, types.FunctionType, dict)):
            yield from texts_within(each, depth - 1)
