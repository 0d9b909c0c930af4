"""A key leads to one memory, in one commit, for its user and agent only.

Mechanism: an entry beside the memory, unique over namespace, key, user and agent; replacing writes
a new state under the same id. Damage without it: two memories of one key after a crash or a race,
one user's key that overwrites another's, a deleted thing that is imported again. Guard: every verb
that takes a key, what replacing keeps and what it does not, walls between users.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import (
    ImmutableRecordError,
    InvalidFilterError,
    InvalidInputError,
    ManualClock,
    Memory,
    SupersededRecordError,
    UnknownArgumentError,
    UnknownRecordError,
)
from spector.cli.main import main
from spector.layout import Flag
from tests.api.helpers import sound_memory  # noqa: F401 - a fixture
from tests.fakes import FakeEmbedder
from tests.threads import at_once

# -- replacing -------------------------------------------------------------------------------------


def test_a_key_is_replaced_under_its_id(memory: Memory, clock: ManualClock) -> None:
    first = memory.remember("likes tea", key="drink", namespace=("users", "ada"))
    assert (first.key, first.namespace, first.revision) == ("drink", ("users", "ada"), 1)
    clock.advance(days=1)
    second = memory.remember("likes coffee", key="drink", namespace=["users", "ada"])
    assert (second.id, second.revision) == (first.id, 2)
    assert second.recorded_at == first.recorded_at
    assert second.event_time == spector.clock.from_ms(clock.now_ms())
    assert len(memory) == memory.count() == 1
    assert [hit.text for hit in memory.recall("what does she like?")] == ["likes coffee"]
    assert memory.get(key="drink", namespace=("users", "ada")) == memory.get(first.id)


def test_every_other_field_is_what_the_call_gives_or_its_default(memory: Memory) -> None:
    first = memory.remember(
        "Ann: hello",
        key="k",
        tags=["a"],
        metadata={"n": 1},
        importance=0.9,
        pinned=True,
        unresolved=True,
        valence=0.5,
        arousal=0.9,
        confidence=0.4,
        session_id="s",
        source="web",
        role="user",
        valid_until="2030-01-01T00:00:00Z",
        category="fact",
        tier="semantic",
        parents=[memory.remember("parent").id],
        aliases=["hi"],
    )
    memory.reinforce(first)
    memory.retire(first)
    fresh = memory.remember("a plain one")
    second = memory.remember("hello again", key="k")
    kept = {"id", "text", "recorded_at", "key", "namespace", "revision", "last_access"}
    told, plain = second.to_dict(), fresh.to_dict()
    assert {k: v for k, v in told.items() if k not in kept} == {
        k: v for k, v in plain.items() if k not in kept
    }
    assert second.tier == "episodic"
    assert memory.get(key="k") == second
    assert memory.recall("hello again", k=1)[0].id == second.id


def test_text_vector_and_words_are_those_of_the_new_one(memory: Memory) -> None:
    memory.remember("zebras graze in the savanna", key="k")
    memory.remember_many([f"filler number {n}" for n in range(20)])
    memory.remember("penguins swim in the ocean", key="k")
    assert memory.recall("penguins swim in the ocean", k=1)[0].key == "k"
    assert all("zebras" not in hit.text for hit in memory.recall("zebras graze", k=30))
    report = memory.compact(verify=["zebras graze"])
    assert report.receipt.complete


def test_a_memory_keeps_its_place_among_versions(memory: Memory, clock: ManualClock) -> None:
    oldest = memory.remember("lives in Rome")
    middle = memory.remember("lives in Paris", key="home", supersedes=oldest)
    newest = memory.remember("lives in Oslo", supersedes=middle)
    clock.advance(hours=1)
    replaced = memory.remember("lives in Lyon", key="home", tags=["t"])
    assert replaced.id == middle.id
    assert replaced.supersedes == (oldest.id,)
    assert replaced.superseded_by == (newest.id,)
    assert Flag.SUPERSEDED in replaced.flags
    assert [each.text for each in memory.history(newest)] == [
        "lives in Rome",
        "lives in Lyon",
        "lives in Oslo",
    ]
    assert [hit.text for hit in memory.recall("where does she live?")] == ["lives in Oslo"]
    memory.forget(newest)
    memory.reinstate(middle)
    assert [hit.text for hit in memory.recall("where does she live?")] == ["lives in Lyon"]
    assert memory.get(middle.id).valid_until is None


def test_a_key_may_supersede_older_memories_once(memory: Memory) -> None:
    older = memory.remember("the door is red")
    first = memory.remember("the door is blue", key="door")
    again = memory.remember("the door is green", key="door", supersedes=older)
    assert again.id == first.id
    assert memory.get(older.id).superseded_by == (first.id,)
    assert memory.remember("the door is grey", key="door", supersedes=older).supersedes == (
        older.id,
    )
    other = memory.remember("the door is white")
    with pytest.raises(InvalidInputError, match="not older"):
        memory.remember("the door is black", key="door", supersedes=other)
    with pytest.raises(SupersededRecordError):
        memory.remember("x", key="new", supersedes=older)
    assert memory.get(key="door").text == "the door is grey"


def test_immutable_ones_refuse(memory: Memory) -> None:
    memory.remember("carved in stone", key="stone", immutable=True)
    with pytest.raises(ImmutableRecordError, match="stone"):
        memory.remember("sand", key="stone")
    with pytest.raises(ImmutableRecordError):
        memory.remember_many([{"text": "a"}, {"text": "sand", "key": "stone"}])
    assert len(memory) == 1
    assert memory.get(key="stone").text == "carved in stone"


def test_what_was_derived_from_the_words_goes_with_them(memory: Memory) -> None:
    source = memory.remember("Ada works at Acme", key="job", user_id="u")
    fact = memory.facts.add("Ada", "works_at", "Acme", source=source)
    memory.remember("Ada is retired", key="job", user_id="u")
    assert memory.facts.query(user_id="u") == []
    assert fact.id not in memory
    episode = memory.layers["episodes"].store("fell", episode={"tool": "rope"}, user_id="u")
    assert memory.layers["episodes"].episode(episode) is not None


def test_an_update_by_key_counts_up_and_keeps_the_rest(memory: Memory) -> None:
    memory.remember("Ada likes tea", key="k", tags=["t"])
    changed = memory.update(key="k", text="Ada likes cocoa")
    assert (changed.revision, changed.tags, changed.key) == (2, ("t",), "k")
    assert memory.update(changed.id, importance=0.7).revision == 3
    with pytest.raises(UnknownArgumentError):
        memory.remember("x", kee="k")
    with pytest.raises(InvalidInputError, match="a memory and a key"):
        memory.update(changed.id, key="k", text="x")


# -- batches ---------------------------------------------------------------------------------------


def test_of_one_key_in_a_call_the_last_wins(memory: Memory) -> None:
    made = memory.remember_many(
        [
            {"text": "one", "key": "a"},
            {"text": "two", "key": "b"},
            {"text": "three", "key": "a"},
            "four",
        ]
    )
    assert made.outcomes == ["repeated", "new", "new", "new"]
    assert [each.text for each in made] == ["three", "two", "three", "four"]
    assert made[0].id == made[2].id
    assert (len(memory), memory.get(key="a").revision) == (3, 1)
    again = memory.remember_many([{"text": "five", "key": "a"}, {"text": "six", "key": "c"}])
    assert again.outcomes == ["replaced", "new"]
    assert (again[0].id, again[0].revision) == (made[0].id, 2)


def test_what_is_known_is_kept_and_what_was_forgotten_skipped(memory: Memory) -> None:
    items = [{"text": f"message {n}", "key": f"m{n}", "user_id": "u"} for n in range(4)]
    memory.remember_many(items[:2])
    memory.forget(key="m1", user_id="u")
    made = memory.remember_many(items, if_known="keep", if_forgotten="skip")
    assert made.outcomes == ["known", "forgotten", "new", "new"]
    assert [each.key for each in made] == ["m0", "m2", "m3"]
    assert memory.get(key="m0", user_id="u").revision == 1
    assert memory.remember_many(items, if_known="keep", if_forgotten="skip").outcomes == [
        "known",
        "forgotten",
        "known",
        "known",
    ]
    before = memory._parts.store.head.change_seq
    memory.remember_many(items, if_known="keep", if_forgotten="skip")
    assert memory._parts.store.head.change_seq == before, "nothing is written for what is known"
    with pytest.raises(InvalidInputError, match="if_known"):
        memory.remember_many(items, if_known="no")  # type: ignore[arg-type]


def test_a_purge_erases_the_mark_as_well(memory: Memory, tmp_path: Path) -> None:
    memory.remember("one", key="k", user_id="u")
    memory.forget(key="k", user_id="u")
    with sqlite3.connect(tmp_path / "mind/catalog.db") as db:
        [(owner, digest)] = db.execute("SELECT owner, digest FROM key_mark")
    db.close()
    with pytest.raises(UnknownRecordError):
        memory.forget(key="k", user_id="v", purge=True)
    assert memory.forget(key="k", user_id="u", purge=True).ids == ()
    memory.checkpoint()
    for name in ("catalog.db", "catalog.db-wal"):
        data = (tmp_path / "mind" / name).read_bytes()
        assert owner.encode() not in data
        assert digest.encode() not in data
    with pytest.raises(UnknownRecordError):
        memory.forget(key="k", user_id="u", purge=True)


def test_purging_a_user_erases_the_marks_of_all_his_keys(memory: Memory) -> None:
    for user in ("a", "b"):
        memory.forget(memory.remember("one", key="k", user_id=user, namespace=("x",)))
        memory.remember("two", key="q", user_id=user)
    again = [{"text": "x", "key": "k", "namespace": ["x"], "user_id": user} for user in "ab"]
    memory.forget(user_id="a")
    assert memory.remember_many(again, if_forgotten="skip").outcomes == ["forgotten"] * 2
    memory.forget(user_id="a", purge=True)
    assert memory.remember_many(again, if_forgotten="skip").outcomes == ["new", "forgotten"]


def test_no_file_tells_a_purged_key(memory: Memory, tmp_path: Path) -> None:
    key, space = "quetzalcoatlus-key", "pteranodon-space"
    memory.remember("flies", key=key, namespace=(space,), user_id="u")
    receipt = memory.forget(
        key=key, namespace=(space,), user_id="u", purge=True, verify=True
    ).receipt
    assert receipt.complete
    for file in (tmp_path / "mind").rglob("*"):
        assert not file.is_file() or not any(
            word.encode() in file.read_bytes() for word in (key, space)
        ), file


# -- walls -----------------------------------------------------------------------------------------


def test_keys_of_other_users_agents_and_namespaces_are_others(memory: Memory) -> None:
    scopes: list[dict[str, Any]] = [
        {},
        {"user_id": "a"},
        {"user_id": "b"},
        {"agent_id": "a"},
        {"user_id": "a", "agent_id": "a"},
        {"namespace": ("a",)},
        {"namespace": ("a", "b"), "user_id": "a"},
        {"namespace": "ab"},
    ]
    ids = [memory.remember(f"text {n}", key="k", **each).id for n, each in enumerate(scopes)]
    assert len(set(ids)) == len(scopes)
    assert [memory.get(key="k", **each).id for each in scopes] == ids
    memory.forget(key="k", user_id="a")
    assert [memory.get(key="k", **e).id for e in scopes if e != {"user_id": "a"}] == [
        each for each in ids if each != ids[1]
    ]


def test_a_key_of_another_is_as_unknown_as_none(memory: Memory) -> None:
    memory.remember("secret", key="k", user_id="a")
    said = set()
    for user in ("b", None):
        for call in (memory.get, memory.forget, lambda **more: memory.update(text="x", **more)):
            with pytest.raises(UnknownRecordError) as caught:
                call(key="k", user_id=user)
            said.add(str(caught.value))
            with pytest.raises(UnknownRecordError) as caught:
                call(key="q", user_id=user)
            said.add(str(caught.value).replace("'q'", "'k'"))
    assert len(said) == 1
    assert memory.remember("mine", key="k", user_id="b").revision == 1
    assert memory.get(key="k", user_id="a").text == "secret"


def test_the_session_is_a_guard_and_no_part_of_the_key(memory: Memory) -> None:
    first = memory.remember("one", key="k", session_id="s1")
    with pytest.raises(UnknownRecordError, match="key 'k'"):
        memory.get(key="k", session_id="s2")
    assert memory.get(key="k", session_id="s1") == memory.get(key="k") == first
    assert memory.remember("two", key="k", session_id="s2").id == first.id


def test_a_key_moves_along_with_its_memory(memory: Memory) -> None:
    one = memory.remember("one", key="k", user_id="a")
    memory.remember("two", key="k", user_id="b")
    with pytest.raises(InvalidInputError, match="already"):
        memory.update(one.id, move_to={"user_id": "b"})
    assert memory.get(key="k", user_id="a").text == "one"
    assert memory.update(one.id, move_to={"user_id": "c"}).key == "k"
    assert memory.get(key="k", user_id="c").id == one.id
    with pytest.raises(UnknownRecordError):
        memory.get(key="k", user_id="a")


def test_keys_are_compared_as_they_are_given(memory: Memory) -> None:
    keys = ["é", "e\u0301", "E\u0301", " k", "k", "k ", "K", "ı", "i", "İ", "a\x00b", "a\nb"]
    keys.append("𝔘" * 128)
    for n, key in enumerate(keys):
        assert memory.remember(f"text {n}", key=key).revision == 1, key
    assert [memory.get(key=key).text for key in keys] == [f"text {n}" for n in range(len(keys))]
    assert [memory.get(key=key).key for key in keys] == keys


def test_a_namespace_needs_a_key_and_a_key_a_lasting_tier(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="without a key"):
        memory.remember("x", namespace=("a",))
    plain = memory.remember("x")
    for verb in (memory.get, lambda each, **more: memory.update(each, text="y", **more)):
        for label in ("a", ("a",), ["a", "b"], 5):
            with pytest.raises(InvalidInputError, match="without a key"):
                verb(plain.id, namespace=label)
        assert verb(plain.id, namespace=()).id == plain.id
    with pytest.raises(InvalidInputError, match="working"):
        memory.remember("x", key="k", tier="working")
    with pytest.raises(InvalidInputError, match="auto"):
        memory.remember("x", key="k", supersedes="auto")
    with pytest.raises(InvalidInputError):
        memory.procedures.add("deploy", ["build"], key="k")
    assert memory.remember("x", key=None, namespace=()).key is None


# -- lists -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("gathered", [20_000, 1], ids=["few", "many"])
def test_records_by_the_beginning_of_their_keys(
    memory: Memory, gathered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spector.store.payloads.entries._GATHERED", gathered)
    for key in ("a", "ab", "abc", "b", "a\U0010ffff", "á"):
        memory.remember(f"of {key}", key=key, user_id="u" if key == "ab" else None)
    memory.remember("elsewhere", key="ab", namespace=("x",))
    memory.remember("without a key")
    memory.remember("passing", tier="working")

    def keys(**more: Any) -> list[str | None]:
        return [each.key for each in memory.records(**more)]

    assert keys(key_prefix="a") == ["a", "ab", "abc", "a\U0010ffff"]
    assert keys(key_prefix="ab") == ["ab", "abc"]
    assert keys(key_prefix="ab", user_id="u") == ["ab"]
    assert keys(key_prefix="") == keys(namespace=()) == ["a", "ab", "abc", "b", "a\U0010ffff", "á"]
    assert keys(namespace=("x",)) == ["ab"]
    assert keys(key_prefix="q") == keys(namespace=("x", "y")) == []
    assert memory.count(key_prefix="a") == 4
    assert memory.count(key_prefix="a", user_id="u", tiers=["episodic"]) == 1
    assert memory.forget(key_prefix="ab", namespace=()).ids
    assert keys(key_prefix="a") == ["a", "a\U0010ffff"]
    assert memory.forget(namespace=("x",)).ids
    with pytest.raises(InvalidInputError):
        memory.count(key_prefix=5)


# -- files -----------------------------------------------------------------------------------------


def test_keys_travel_in_an_export(memory: Memory, tmp_path: Path) -> None:
    memory.remember("one", key="a", namespace=("x", "y"), user_id="u")
    memory.remember("one again", key="a", namespace=("x", "y"), user_id="u")
    memory.remember("two", key="b")
    memory.remember("plain")
    memory.export(tmp_path / "all.jsonl")
    lines = [json.loads(each) for each in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [(e.get("key"), e.get("namespace"), e.get("revision")) for e in lines] == [
        ("a", ["x", "y"], 2),
        ("b", [], 1),
        (None, None, None),
    ]
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        other.import_(tmp_path / "all.jsonl")
        assert other.get(key="a", namespace=("x", "y"), user_id="u").revision == 2
        other.update(key="b", text="changed here")
        other.import_(tmp_path / "all.jsonl")
        assert len(other) == 4, "only what has no key is there twice"
        assert other.get(key="b").text == "changed here"
        other.forget(key="b")
        other.import_(tmp_path / "all.jsonl")
        assert other.count(key_prefix="b") == 0, "what was forgotten is not brought back"
        other.import_(tmp_path / "all.jsonl", if_forgotten="store")
        assert other.get(key="b").text == "two"
        assert other.check().ok


def test_ties_lead_to_the_memory_that_has_the_key(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        a = memory.remember("Ada works at Acme", key="a", user_id="u")
        b = memory.remember("Ada moved", key="b", user_id="u")
        memory.graph.link(a, b, "causes")
        memory.facts.add("Ada", "works_at", "Acme", source=a)
        memory.export(tmp_path / "all.jsonl")
        memory.forget(key="b", user_id="u")
        memory.import_(tmp_path / "all.jsonl")
        assert memory.count(key_prefix="b") == 0
        [fact] = memory.facts.query(user_id="u")
        assert fact.sources == (a.id,)
        memory.import_(tmp_path / "all.jsonl", if_forgotten="store")
        [edge] = memory.graph.edges(memory.get(key="b", user_id="u").id)
        assert edge.source == a.id
        assert memory.check().ok


def test_a_reader_follows_and_writes_nothing(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember("one", key="k")
        with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as reader:
            assert reader.get(key="k").text == "one"
            memory.remember("two", key="k")
            assert reader.get(key="k").text == "two"
            with pytest.raises(spector.StoreReadOnlyError):
                reader.remember("three", key="k")
            memory.forget(key="k")
            with pytest.raises(UnknownRecordError):
                reader.get(key="k")
    with pytest.raises(spector.StoreClosedError):
        memory.get(key="k")


def test_a_memory_in_memory_has_keys_too() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        memory.remember("one", key="k")
        memory.remember("passing", tier="working")
        assert memory.remember("two", key="k").revision == 2
        assert [each.text for each in memory.records(key_prefix="")] == ["two"]
        memory.forget(key="k")
        assert len(memory) == 1
        assert memory.check().ok


def test_many_threads_write_one_key(tmp_path: Path) -> None:
    """Thirty-two threads: each key has one memory, and each write counted."""
    with spector.open(tmp_path / "mind", embedder=None, dim=8) as memory:

        def write(n: int) -> None:
            for m in range(6):
                memory.remember(f"text {n} {m}", vector=np.eye(8)[n % 8], key=f"k{m % 3}")

        at_once(write, range(32))
        found = {each.key: each.revision for each in memory.records()}
        assert found == {"k0": 64, "k1": 64, "k2": 64}
        assert memory.check().ok


def test_the_command_line_updates_by_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        record = memory.remember("dark", key="theme", namespace=("ui",), user_id="maya")
    path, key = str(tmp_path / "mind"), ["--key", "theme", "--namespace", "ui"]
    whose = ["--user", "maya"]
    assert main(["update", path, *key, *whose, "--importance", "0.9"]) == 0
    assert main(["update", path, str(record.id), "--tag", "t"]) == 0
    for given, said in (
        ([*key, "--tag", "x"], "no memory with the key"),
        ([], "an ID or --key is needed"),
        (["5", "words", "--key", "theme"], "an ID or --key"),
        (["theme", "x"], "not a memory id"),
        (["5", "x", "--namespace", "ui"], "without --key"),
        ([*key, *whose], "no change"),
    ):
        capsys.readouterr()
        assert main(["update", path, *given]) == 2
        assert said in capsys.readouterr().err
    with spector.open(path, embedder=FakeEmbedder(), mode="r") as reader:
        found = reader.get(key="theme", namespace=("ui",), user_id="maya")
        assert (found.id, found.revision, found.tags) == (record.id, 3, ("t",))
        assert found.importance == pytest.approx(0.9)


@pytest.mark.parametrize("namespace", [(), []])
def test_a_key_that_is_missing_by_mistake_forgets_nothing(memory: Memory, namespace: Any) -> None:
    memory.remember("theme: dark", key="theme", user_id="maya")
    with pytest.raises(InvalidFilterError, match="without a key"):
        memory.forget(key=None, namespace=namespace, user_id="maya")
    assert len(memory) == 1
    memory.forget(key_prefix="", namespace=namespace, user_id="maya")
    assert len(memory) == 0
