"""What is attached to a memory comes back as it was, goes where it goes, and is in no recall.

Mechanism: one sealed row beside the memory, which only ``record.attachment()`` reads. Damage
without it: an item of a framework has no place, or one that outlives its memory. Guard: every way
that a memory takes - replacing, forgetting, purging, copies - with the bytes looked for in files.
"""

from __future__ import annotations

import copy
import gc
import json
import pickle
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, InvalidInputError, Memory, StoreClosedError, UnknownRecordError
from tests.api.helpers import files_with
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

SECRET = b"\x00\xfe the lighthouse keeper's ledger, page nine \xff" * 60
ITEM = {"role": "assistant", "calls": [{"n": 1}, [2, None, True]], "ş": "ü \x00 \n", "big": 10**60}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mind"


def opened(path: Path | str, **more: Any) -> Memory:
    return spector.open(path, embedder=FakeEmbedder(), **more)


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [*cases.rows("a_value_comes_back_equal"), b"", b"\x00\xff", ITEM, 10**400],
    ids=lambda each: type(each).__name__,
)
def test_a_value_comes_back_equal(memory: Memory, value: Any, proof: Any) -> None:
    record = memory.remember("said", attachment=value)
    for found in (record, memory.get(record.id), next(memory.records()), memory.recall("said")[0]):
        got = getattr(found, "record", found).attachment()
        assert (got, type(got)) == (value, type(value))
    size = (
        len(value)
        if isinstance(value, bytes)
        else len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    )
    assert memory.get(record.id).attachment_bytes == size
    proof("attachments", values_read_back=4)


def test_what_is_like_bytes_becomes_bytes_and_tuples_lists(memory: Memory) -> None:
    given = {"t": (1, (2,))}
    record = memory.remember("said", attachment=given)
    given["t"] = ()  # what is changed afterwards is not what was attached
    assert record.attachment() == {"t": [1, [2]]}
    for value in (bytearray(b"abc"), memoryview(b"a.b.c.")[::2]):
        assert memory.remember("said", attachment=value).attachment() == b"abc"


def nested(depth: int) -> Any:
    out: Any = 1
    for _ in range(depth):
        out = [out]
    return out


def itself() -> Any:
    out: list[Any] = [1]
    out.append({"again": out})
    return out


def doubled() -> Any:
    out: Any = "x"
    for _ in range(60):
        out = [out, out]
    return out


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"x" * (5 << 20), "5,242,880 bytes, the limit is 4,194,304"),
        ("y" * (5 << 20), "the limit"),
        (doubled, "the limit"),
        (float("nan"), "nan"),
        ([1, {"a": float("-inf")}], "inf"),
        (object(), "object"),
        ({"a": {1, 2}}, "set"),
        ({1: 2}, "key 1"),
        ({None: 2}, "key None"),
        (itself(), "contains itself"),
        (nested(5000), "nested"),
        (nested(200), "nested"),
        ("\ud800", "surrogates"),
        ({"\ud800": 1}, "surrogates"),
        (10**5000, "4300"),
        ([b"x"], "bytes"),
        (spector, "module"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_cannot_come_back_is_refused_by_name(memory: Memory, value: Any, said: str) -> None:
    value = value() if value is doubled else value
    with pytest.raises(InvalidInputError, match="attachment") as caught:
        memory.remember("said", attachment=value)
    assert said in caught.value.message
    assert caught.value.hint
    assert len(memory) == 0


def test_the_limit_is_the_configs(tmp_path: Path) -> None:
    with opened(":memory:", config=Config(max_attachment_bytes=10)) as memory:
        assert memory.remember("x", attachment=b"0123456789").attachment_bytes == 10
        assert memory.remember("x", attachment="01234567").attachment_bytes == 10
        for value in (b"0123456789a", "012345678"):
            with pytest.raises(InvalidInputError, match="the limit is 10"):
                memory.remember("x", attachment=value)


# -- changes ---------------------------------------------------------------------------------------


def test_many_take_one_each_and_one_in_common(memory: Memory) -> None:
    made = memory.remember_many(["a", {"text": "b", "attachment": [2]}], attachment=[1])
    assert [each.attachment() for each in made] == [[1], [2]]


def test_update_replaces_removes_and_leaves_it(memory: Memory) -> None:
    record = memory.remember("said", attachment=b"one", user_id="u")
    memory.update(record.id, tags=["t"])
    assert record.attachment() == b"one"
    assert memory.update(record.id, attachment=[2]).attachment() == [2]
    assert record.attachment() == [2], "it is read when it is asked for"
    assert memory.update(record.id, attachment=None, text="else").attachment() is None
    assert record.attachment() is None
    plain = memory.remember("plain")
    before = memory.update(plain.id, attachment=b"now")
    assert before.attachment() == b"now"
    moved = memory.update(plain.id, move_to={"user_id": "v"})
    assert moved.attachment() == b"now"
    with pytest.raises(UnknownRecordError):
        before.attachment()  # another user's by now
    assert memory.check().ok


def test_a_key_that_is_given_again_replaces_the_attachment(memory: Memory) -> None:
    first = memory.remember("one", key="k", attachment=SECRET)
    second = memory.remember("one", key="k")
    assert (second.id, second.attachment()) == (first.id, None)
    assert memory.remember("one", key="k", attachment=[3]).attachment() == [3]
    made = memory.remember_many(
        [{"text": "x", "key": "k", "attachment": n} for n in range(3)], if_known="replace"
    )
    assert [each.attachment() for each in made] == [2, 2, 2]
    kept = memory.remember_many([{"text": "y", "key": "k", "attachment": 9}], if_known="keep")
    assert kept[0].attachment() == 2
    assert memory.check().ok


def test_immutable_and_volatile_memories(memory: Memory) -> None:
    record = memory.remember("said", attachment=[1], immutable=True)
    with pytest.raises(spector.ImmutableRecordError):
        memory.update(record.id, attachment=[2])
    assert record.attachment() == [1]
    with pytest.raises(InvalidInputError, match="no attachment"):
        memory.remember("now", tier="working", attachment=[1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *cases.rows("the_working_tier_refuses_what_it_cannot_keep"),
        ({"item": "now", "attachment": b"raw"}, "has no attachment"),
        ({"attachment": b"raw"}, "has no attachment"),
    ],
)
def test_the_working_tier_refuses_what_it_cannot_keep(
    memory: Memory, given: dict[str, Any], said: str
) -> None:
    item = given.pop("item", None)
    with pytest.raises(InvalidInputError, match=said) as caught:
        memory.remember(item, tier="working", **given)
    assert "working" in caught.value.message
    assert 'tier="episodic"' in caught.value.hint
    with pytest.raises(InvalidInputError, match=said):
        memory.remember_many(
            ["first", {"text": item, **given} if type(item) is str else item or given],
            tier="working",
        )
    assert len(memory) == 0
    spoken = memory.remember("now", tier="working")
    for change in ({"attachment": [1]}, {"expires_in": 5}, {"expires_at": "2099-01-01"}):
        with pytest.raises(InvalidInputError, match="working"):
            memory.update(spoken.id, **change)
    assert memory.update(spoken.id, expires_in=None, attachment=None).text == "now"


# -- reading ---------------------------------------------------------------------------------------


def test_who_may_read_it_and_when(path: Path) -> None:
    memory = opened(path)
    record = memory.remember("said", attachment=SECRET)
    plain = memory.remember("plain")
    with opened(path, mode="r") as reader:
        theirs = reader.get(record.id)
        assert theirs.attachment() == SECRET
        memory.update(record.id, attachment=b"new")
        assert theirs.attachment() == b"new"
        memory.forget(record.id)
        with pytest.raises(UnknownRecordError):
            theirs.attachment()
    with pytest.raises(StoreClosedError):
        theirs.attachment()
    with pytest.raises(UnknownRecordError):
        record.attachment()
    memory.close()
    assert plain.attachment() is None
    with pytest.raises(StoreClosedError):
        record.attachment()
    del memory, reader
    gc.collect()
    with pytest.raises(StoreClosedError):
        record.attachment()


def test_copies_of_a_record(memory: Memory) -> None:
    record = memory.remember("said", attachment=[1])
    assert copy.deepcopy(record) == record
    assert copy.deepcopy(record).attachment() == [1]
    sent = pickle.loads(pickle.dumps(record))
    assert (sent, sent.attachment_bytes) == (record, 3)
    with pytest.raises(StoreClosedError):
        sent.attachment()


def test_nothing_else_reads_or_finds_it(memory: Memory) -> None:
    memory.remember("a boat", attachment={"word": "zeppelin"})
    memory.remember("a zeppelin")
    [hit] = memory.recall("zeppelin", k=1)
    assert hit.text == "a zeppelin"
    assert "zeppelin" not in str(memory.get(min(r.id for r in memory.records())).to_dict())
    assert "attached" not in str(hit.record.to_dict())


# -- erasure ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["forget", "replace", "update", "remove", "expired"])
def test_its_bytes_are_gone_from_every_file(path: Path, way: str, proof: Any) -> None:
    clock = spector.ManualClock("2026-05-04T12:00:00Z")
    text = {"note": SECRET.decode("latin-1")}
    with opened(path, clock=clock) as memory:
        for n, value in enumerate((SECRET, text)):
            record = memory.remember("said", key=f"k{n}", attachment=value, expires_in=60)
            memory.checkpoint()
            if way == "forget":
                receipt = memory.forget(record.id, purge=True, verify=True).receipt
                assert receipt.complete
                assert receipt.verification.needles > 30, "its pieces were looked for"
            elif way == "replace":
                memory.remember("said", key=f"k{n}")
            elif way == "expired":
                clock.advance(days=1)
            else:
                memory.update(record.id, attachment=b"other" if way == "update" else None)
            memory.compact()
            assert memory.check().ok
    for piece in (SECRET[:40], b"lighthouse keeper"):
        assert not files_with(path, piece)
    proof("attachments", erasures_searched=2, pieces_left=0)


def test_a_search_for_what_is_left_tells_the_living_apart(memory: Memory, path: Path) -> None:
    first, second = (memory.remember(text, attachment=SECRET) for text in ("one", "two"))
    receipt = memory.forget(first.id, purge=True, verify=True).receipt
    assert receipt.complete, "the other memory has the same bytes"
    (path / "left.bin").write_bytes(SECRET)
    receipt = memory.forget(second.id, purge=True, verify=True).receipt
    assert not receipt.complete


# -- copies ----------------------------------------------------------------------------------------


@cases("line")
def test_a_line_that_no_export_wrote(memory: Memory, tmp_path: Path, line: Any) -> None:
    (tmp_path / "odd.jsonl").write_text(json.dumps(line))
    with pytest.raises(spector.ImportFormatError, match=r"line 1.*attachment_base64"):
        memory.import_(tmp_path / "odd.jsonl")
    assert len(memory) == 0


@pytest.mark.parametrize("part", ["data", "row", "entry"])
def test_damage_is_found_and_costs_the_attachment_alone(
    path: Path, tmp_path: Path, part: str
) -> None:
    with opened(path) as memory:
        record = memory.remember("said", attachment=SECRET)
        other = memory.remember("other", attachment=[1])
    with sqlite3.connect(path / "catalog.db") as db:
        db.execute(
            {
                "data": f"UPDATE attachment SET data = zeroblob({len(SECRET)}) WHERE id = {record.id}",
                "row": f"DELETE FROM attachment WHERE id = {record.id}",
                "entry": f"DELETE FROM entry WHERE id = {record.id}",
            }[part]
        )
    db.close()
    problems = spector.check(path).problems
    assert [(p.code, p.id) for p in problems] == [("I27" if part == "data" else "I31", record.id)]
    with opened(path) as memory:
        if part == "data":
            with pytest.raises(spector.CatalogCorruptError):
                memory.get(record.id).attachment()
        assert memory.get(other.id).attachment() == [1]
        assert memory.recall("said")[0].text == "said"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it names the memory that is left out
            kept = memory.export(tmp_path / "e.jsonl", skip_damaged=True)
        assert kept == (1 if part == "data" else 2)
    report = spector.repair(path, tmp_path / "mended")
    assert report.kept == 2
    assert spector.check(tmp_path / "mended").ok
    with opened(tmp_path / "mended") as memory:
        assert memory.get(other.id).attachment() == [1]
        assert memory.get(record.id).attachment() == (SECRET if part == "entry" else None)
