"""Opening, closing, reading along, and several threads at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import (
    Config,
    InvalidInputError,
    ManualClock,
    Memory,
    ModelMismatchError,
    SpectorError,
    StoreClosedError,
    StoreLockedError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from tests.api.helpers import fingerprint, ids, own_vectors, texts
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

WRITES: dict[str, Callable[[Memory, int], object]] = {
    "remember": lambda m, i: m.remember("y"),
    "remember_many": lambda m, i: m.remember_many(["y"]),
    "remember working": lambda m, i: m.remember("y", tier="working"),
    "update": lambda m, i: m.update(i, text="y"),
    "reinforce": lambda m, i: m.reinforce(i),
    "pin": lambda m, i: m.pin(i),
    "unpin": lambda m, i: m.unpin(i),
    "resolve": lambda m, i: m.resolve(i),
    "forget": lambda m, i: m.forget(i),
    "forget by filter": lambda m, i: m.forget(tags=["a"]),
    "retire": lambda m, i: m.retire(i),
    "reactivate": lambda m, i: m.reactivate(i),
    "observe": lambda m, i: m.observe("I live in Van."),
    "observe_many": lambda m, i: m.observe_many(["I live in Van."]),
    "reflect": lambda m, i: m.reflect(),
    "compact": lambda m, i: m.compact(),
    "checkpoint": lambda m, i: m.checkpoint(),
    "import_": lambda m, i: m.import_("/nonexistent/x.jsonl"),
    "recall that learns": lambda m, i: m.recall("x", learn=True),
}
READS: dict[str, Callable[[Memory, int], object]] = {
    "recall": lambda m, i: m.recall("x"),
    "get": lambda m, i: m.get(i),
    "len": lambda m, i: len(m),
    "in": lambda m, i: i in m,
    "iteration": lambda m, i: list(m),
    "records": lambda m, i: list(m.records(tags=["a"])),
    "check": lambda m, i: m.check(),
    "stats": lambda m, i: m.stats(),
    "compact as a dry run": lambda m, i: m.compact(dry_run=True),
    "export": lambda m, i: m.export(Path(m.path).parent / "out.jsonl"),
    "backup": lambda m, i: m.backup(Path(m.path).parent / "copy"),
}


@pytest.mark.parametrize("call", [*WRITES.values(), *READS.values()], ids=[*WRITES, *READS])
def test_a_closed_store_says_so_to_every_verb(
    memory: Memory, call: Callable[[Memory, int], object]
) -> None:
    record = memory.remember("x")
    memory.close()
    memory.close()
    with pytest.raises(StoreClosedError) as caught:
        call(memory, record.id)
    assert caught.value.hint


@pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)
def test_a_reader_refuses_every_verb_that_writes(
    memory: Memory, store_path: Path, clock: ManualClock, call: Callable[[Memory, int], object]
) -> None:
    record = memory.remember("x", tags=["a"])
    memory.close()
    before = fingerprint(store_path)
    with spector.open(store_path, mode="r", embedder=FakeEmbedder(), clock=clock) as reader:
        with pytest.raises(StoreReadOnlyError) as caught:
            call(reader, record.id)
        assert caught.value.hint
        assert reader.get(record.id) == record
    assert {n: d for n, d in fingerprint(store_path).items() if "-wal" not in n} == {
        n: d for n, d in before.items() if "-wal" not in n
    }


@pytest.mark.parametrize("call", READS.values(), ids=READS)
def test_a_reader_answers_every_verb_that_reads(
    memory: Memory, store_path: Path, clock: ManualClock, call: Callable[[Memory, int], object]
) -> None:
    record = memory.remember("x", tags=["a"])
    with spector.open(store_path, mode="r", embedder=FakeEmbedder(), clock=clock) as reader:
        call(reader, record.id)


def test_a_reader_lists_facts_and_what_is_retired(memory: Memory, store_path: Path) -> None:
    memory.observe("I live in Kars.")
    memory.retire(memory.remember("x"))
    memory.close()
    with spector.open(store_path, mode="r", embedder=FakeEmbedder()) as reader:
        assert texts(reader.records(include=[])) == ["I live in Kars."]
        assert len(list(reader.records(sorts="fact"))) == 1
        assert texts(reader.records(include=["dormant"])) == ["I live in Kars.", "x"]


def test_a_hit_explains_itself_after_the_store_was_closed_or_compacted(memory: Memory) -> None:
    record = memory.remember("x y z")
    (hit,) = memory.recall("x")
    before = hit.explain()
    memory.forget(record.id)
    memory.compact()
    assert hit.explain() == before
    memory.close()
    assert hit.explain() == before
    assert hit.text == "x y z"


def test_leaving_the_context_closes_even_after_an_error(
    store_path: Path, clock: ManualClock
) -> None:
    memory = spector.open(store_path, embedder=FakeEmbedder(), clock=clock)

    def work() -> None:
        with memory:
            memory.remember("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    with pytest.raises(StoreClosedError):
        len(memory)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as again:
        assert texts(again) == ["x"]


def test_a_second_writer_is_refused_until_the_first_has_closed(
    memory: Memory, store_path: Path, clock: ManualClock
) -> None:
    with pytest.raises(StoreLockedError) as caught:
        spector.open(store_path, embedder=FakeEmbedder(), clock=clock)
    assert 'mode="r"' in caught.value.hint
    with pytest.raises(BlockingIOError):
        spector.open(store_path, embedder=FakeEmbedder(), clock=clock)
    assert memory.remember("still the writer").text
    memory.close()
    spector.open(store_path, embedder=FakeEmbedder(), clock=clock).close()


def test_repr_names_the_place_and_survives_closing(memory: Memory, store_path: Path) -> None:
    assert str(store_path) in repr(memory)
    memory.close()
    assert str(store_path) in repr(memory)


OPENINGS: dict[str, tuple[dict[str, Any], type[SpectorError]]] = {
    "an unknown mode": ({"mode": "w"}, InvalidInputError),
    "an unknown durability": ({"durability": "none"}, InvalidInputError),
    "a dim of 0": ({"embedder": None, "dim": 0}, InvalidInputError),
    "a dim of 65,537": ({"embedder": None, "dim": 65_537}, InvalidInputError),
    "a dim that is a text": ({"embedder": None, "dim": "384"}, InvalidInputError),
    "a dim that is a bool": ({"embedder": None, "dim": True}, InvalidInputError),
    "neither dim nor embedder": ({"embedder": None}, ModelMismatchError),
    "a dim that contradicts the embedder": ({"dim": 33}, InvalidInputError),
    "an unknown embedder": ({"embedder": "word2vec"}, InvalidInputError),
    "an embedder class": ({"embedder": FakeEmbedder}, InvalidInputError),
    "an object that is no embedder": ({"embedder": object()}, InvalidInputError),
    "a clock that is a number": ({"clock": 5}, InvalidInputError),
    "a config that is a dict": ({"config": {"max_tags": 5}}, InvalidInputError),
    "an unknown profile": ({"profile": "best"}, InvalidInputError),
    "a reader of nothing": ({"mode": "r"}, StoreNotFoundError),
    "a reader of memory": ({"path": ":memory:", "mode": "r"}, InvalidInputError),
    "an empty path": ({"path": ""}, InvalidInputError),
    "a path that is None": ({"path": None}, InvalidInputError),
    "a path of bytes": ({"path": b"mind"}, InvalidInputError),
    "a path with a NUL": ({"path": "mi\0nd"}, SpectorError),
}


@pytest.mark.parametrize(("given", "kind"), OPENINGS.values(), ids=OPENINGS)
def test_a_store_that_cannot_be_opened_so_is_refused_with_a_hint_and_not_created(
    tmp_path: Path, given: dict[str, Any], kind: type[SpectorError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"path": tmp_path / "mind", "embedder": FakeEmbedder(), **given}
    with pytest.raises(SpectorError) as caught:
        spector.open(options.pop("path"), **options)
    assert isinstance(caught.value, kind), repr(caught.value)
    assert caught.value.hint
    assert list(tmp_path.rglob("*.db")) == [], "a store was left behind"


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("ten years of work", encoding="utf-8")
    with pytest.raises(StoreNotFoundError):
        spector.open(tmp_path, embedder=FakeEmbedder())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.doc"]


def test_a_refused_opening_does_not_spoil_the_next_one(store_path: Path) -> None:
    with pytest.raises(ModelMismatchError, match="dim="):
        spector.open(store_path, embedder=None)
    with own_vectors(store_path, dim=3) as memory:
        memory.remember("x", vector=[1, 0, 0])


def test_a_file_is_not_a_store(tmp_path: Path) -> None:
    (tmp_path / "mind").write_text("x", encoding="utf-8")
    with pytest.raises(spector.StoreError):
        spector.open(tmp_path / "mind", embedder=FakeEmbedder())
    assert (tmp_path / "mind").read_text(encoding="utf-8") == "x"


CONFIGS: list[dict[str, Any]] = [
    *cases.rows("CONFIGS"),
    {"tombstone_ratio": float("nan")},
    {"initial_stability_days": float("inf")},
]


@pytest.mark.parametrize("given", CONFIGS, ids=repr)
def test_a_config_that_makes_no_sense_is_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(given))) as caught:
        Config(**given)
    assert caught.value.hint


# -- export and import ----------------------------------------------------------------------------


def export_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("with_vectors", [None, True, False])
def test_an_export_imported_elsewhere_is_the_same_memory(
    memory: Memory, tmp_path: Path, clock: ManualClock, with_vectors: bool | None
) -> None:
    parent = memory.remember("the parent é\n\0", tags=["a", "b"], metadata={"x": [1, None, "é"]})
    child = memory.remember(
        "the child",
        tier="semantic",
        parents=[parent.id],
        importance=0.7,
        valence=-0.5,
        arousal=0.9,
        event_time="1999-12-31T23:59:59.123Z",
        valid_from="2000-01-01",
        valid_until="2100-01-01",
        session_id="s",
        agent_id="a",
        user_id="u",
        role="tool",
        source="src",
        confidence=0.4,
        unresolved=True,
        category="plan",
        modality="code",
    )
    memory.remember("frozen", immutable=True, tier="procedural")
    clock.advance(days=5)
    memory.reinforce(parent.id)
    memory.reinforce(child.id, success=False)
    memory.pin(parent.id)
    assert memory.export(tmp_path / "out.jsonl", vectors=with_vectors) == 3
    assert ("vector" in export_lines(tmp_path / "out.jsonl")[0]) is bool(with_vectors)
    clock.advance(days=1)
    with spector.open(tmp_path / "other", embedder=FakeEmbedder(), clock=clock) as other:
        other.remember("already here")
        made = other.import_(tmp_path / "out.jsonl")
        assert other.check().ok
        renamed = dict(zip(ids(memory), ids(made), strict=True))
        for old, new in zip(memory, made, strict=True):
            assert other.get(new.id) == new
            before, after = old.to_dict(), new.to_dict()
            before["id"], after["id"] = 0, 0
            before["parents"] = [renamed[p] for p in before["parents"]]
            del before["recorded_at"], after["recorded_at"]
            assert after == before
        for cue in ("the child", "frozen"):
            was = {h.text: h.explain().values.get("similarity") for h in memory.recall(cue)}
            now = {h.text: h.explain().values.get("similarity") for h in other.recall(cue)}
            for text, similarity in was.items():
                assert now[text] == pytest.approx(similarity, abs=0.01)


def test_an_import_commits_strength_and_flags_together_with_the_memory(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two commits, a kill between them would set a quarantined memory free."""
    entry = {
        "text": "planted",
        "vector": [1.0, *[0.0] * 31],
        "vector_model": "",
        "stability_days": 9.5,
        "utility": 0.25,
        "access_count": 7,
        "last_access": "2026-01-02T03:04:05Z",
        "flags": ["quarantined", "pinned"],
    }
    (tmp_path / "in.jsonl").write_text(json.dumps(entry), encoding="utf-8")
    with own_vectors(clock=clock) as memory:
        store = memory._parts.store
        seen: list[dict[str, Any]] = []
        publish = store.publish

        def publishing(*args: Any) -> None:
            publish(*args)
            seen.extend(record.to_dict() for record in memory)

        monkeypatch.setattr(store, "publish", publishing)
        memory.import_(tmp_path / "in.jsonl")
        names = ("stability_days", "utility", "access_count", "last_access", "flags")
        assert [{name: found[name] for name in names} for found in seen] == [
            {
                **{name: entry[name] for name in names},
                "last_access": seen[0]["last_access"],
                "flags": seen[0]["flags"],
            }
        ]
        assert sorted(seen[0]["flags"]) == ["pinned", "quarantined"]
        assert seen[0]["last_access"].startswith("2026-01-02T03:04:05")
        assert memory.recall(vector=entry["vector"]) == []


BAD_LINES: dict[str, str] = {
    "not JSON": "{text: no}",
    "a list": '["x"]',
    "no text": '{"tags": []}',
    "an unknown key": '{"text": "x", "colour": "red"}',
    "a bad tag": '{"text": "x", "tags": [1]}',
    "an unknown tier": '{"text": "x", "tier": "dreams"}',
    "a negative count": '{"text": "x", "access_count": -1}',
    "a stability of NaN": '{"text": "x", "stability_days": NaN}',
    "a utility of 5": '{"text": "x", "utility": 5}',
    "a count that is a text": '{"text": "x", "access_count": "many"}',
    "a count beyond 32 bits": '{"text": "x", "access_count": 1e300}',
    "an unknown flag": '{"text": "x", "flags": ["shiny"]}',
    # "None" in capitals is the name of a flag
    "a flag that is nothing": '{"text": "x", "flags": [null]}',
    "flags that are a text": '{"text": "x", "flags": "pinned"}',
    "a last access that is no time": '{"text": "x", "last_access": "soon"}',
    "a zero vector": json.dumps({"text": "x", "vector": [0.0] * 32}),
    "an abyss": "[" * 100_000,
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_refused_with_its_place_and_nothing_of_its_batch_is_stored(
    memory: Memory, tmp_path: Path, line: str
) -> None:
    good = '{"text": "a good line"}\n'
    (tmp_path / "in.jsonl").write_text(good + "\n" + good + line + "\n" + good, encoding="utf-8")
    with pytest.raises(SpectorError) as caught:
        memory.import_(tmp_path / "in.jsonl")
    told = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "line" in told
    assert "in.jsonl" in told
    assert len(memory) == 0
    assert memory.check().ok


def test_importing_a_file_that_is_not_there_is_a_typed_error(
    memory: Memory, tmp_path: Path
) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(spector.StoreError):
            memory.import_(path)
    (tmp_path / "latin.jsonl").write_bytes('{"text": "café"}\n'.encode("latin-1"))
    with pytest.raises(SpectorError):
        memory.import_(tmp_path / "latin.jsonl")
    assert len(memory) == 0


def test_an_export_that_fails_leaves_the_old_file(memory: Memory, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    memory.remember_many(["a", "b"])
    assert memory.export(target) == 2
    before = target.read_bytes()

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.export(target, overwrite=True, progress=stop)
    assert target.read_bytes() == before or len(export_lines(target)) == 2
    with pytest.raises(spector.StoreError):
        memory.export(tmp_path / "no" / "such" / "place.jsonl")
