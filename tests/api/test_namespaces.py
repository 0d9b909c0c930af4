"""A namespace is a gate: no verb that has one returns or changes a memory outside of it.

Mechanism: a condition on the entries of keys, which candidates and lists must satisfy. Damage
without it: a program searches one folder of its own and gets what lies in another, or clears it.
Guard: every verb with a namespace against a plain reference, over labels that look alike.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidFilterError, InvalidInputError, ManualClock, Memory
from spector.cli.main import main
from tests.fakes import FakeEmbedder

Labels = tuple[str, ...]

#: one begins with another, or sorts beside what ends a label
_LABELS = ("a", "ab", "a b", "a!", "b", "ä", "a\U0010ffff", "a\x1f", "a\x1e1", "\x1e", " ", "a\n/")
_WORDS = "boiler kettle ladder window river violin stone garden".split()


def _is_in(own: Labels | None, asked: Labels, below: bool) -> bool:
    """The plain reference; a memory without a key is in no namespace."""
    if own is None:
        return False
    return own[: len(asked)] == asked if below else own == asked


def _fill(memory: Memory, rng: random.Random, count: int) -> dict[int, Labels | None]:
    """Store memories; the namespace of each by id."""
    items: list[dict[str, Any]] = []
    for n in range(count):
        item: dict[str, Any] = {
            "text": f"{rng.choice(_WORDS)} {rng.choice(_WORDS)} number {n}",
            "user_id": rng.choice(("ada", "bo")),
            "tags": rng.sample(("t1", "t2"), rng.randrange(3)),
        }
        if n % 5:
            depth = rng.choice((0, 1, 1, 2, 2, 3))
            item |= {"key": f"k{n}", "namespace": tuple(rng.choices(_LABELS, k=depth))}
        elif n % 10:
            item["tier"] = "working"
        items.append(item)
    made = memory.remember_many(items)
    spaces = [tuple(each["namespace"]) if "key" in each else None for each in items]
    return dict(zip((each.id for each in made), spaces, strict=True))


def _asked(spaces: dict[int, Labels | None], rng: random.Random) -> Iterator[tuple[Labels, bool]]:
    known = sorted({each for each in spaces.values() if each is not None})
    for _ in range(12):
        labels = rng.choice(known)
        yield labels[: rng.randrange(len(labels) + 1)], rng.random() < 0.5
    yield (), True
    yield ("a", "nowhere"), True
    yield ("a!",), True


@pytest.mark.parametrize("gathered", [20_000, 1], ids=["few", "many"])
@pytest.mark.parametrize("place", [":memory:", "mind"])
def test_every_verb_stays_in_a_namespace(
    place: str, gathered: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spector.store.payloads.entries._GATHERED", gathered)
    rng = random.Random(seed := 20261129 + gathered)
    path = place if place == ":memory:" else tmp_path / place
    with spector.open(
        path, embedder=FakeEmbedder(dim=32), clock=ManualClock("2026-11-01T09:00:00Z")
    ) as memory:
        spaces = _fill(memory, rng, 300)
        users = {each.id: each.user_id for each in memory.records()}
        for labels, below in _asked(spaces, rng):
            wanted = {each for each, own in spaces.items() if _is_in(own, labels, below)}
            given: dict[str, Any] = {"namespace": labels, "below": below}
            said = f"seed {seed}, {given}"
            assert {each.id for each in memory.records(**given)} == wanted, said
            assert memory.count(**given) == len(wanted), said
            ada = {each for each in wanted if users[each] == "ada"}
            assert memory.count(**given, user_id="ada") == len(ada), said
            found = memory.recall("boiler by the window", k=300, **given, user_id="ada")
            assert {hit.id for hit in found} == ada, said
            assert {hit.id for hit in memory.recall(None, k=300, **given)} == wanted, said
            few = memory.recall("kettle", k=3, **given)
            assert len(few) == min(3, len(wanted)), said
            assert {hit.id for hit in few} <= wanted, said
            assert few.abstained == (not wanted), said
            quoted = memory.context("boiler by the window", always=True, **given)
            assert {hit.id for hit in quoted.hits} <= wanted, said
            file = tmp_path / "out.jsonl"
            assert memory.export(file, overwrite=True, **given) == len(wanted), said
            lines = [json.loads(each) for each in file.read_text("utf-8").splitlines()]
            assert all(_is_in(tuple(each["namespace"]), labels, below) for each in lines), said
        given = {"namespace": ("a",), "below": True}
        wanted = {each for each, own in spaces.items() if _is_in(own, ("a",), True)}
        assert set(memory.forget(**given, purge=True).ids) == wanted
        assert {each.id for each in memory.records()} == spaces.keys() - wanted
        assert memory.check().ok


def test_recall_in_a_namespace_is_the_filtered_recall_of_many(tmp_path: Path) -> None:
    """What lies elsewhere is not counted out of the k hits: there are as many as there can be."""
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(dim=32)) as memory:
        memory.remember_many(
            [
                {"text": f"river stone {n}", "key": str(n), "namespace": ("x", str(n % 200))}
                for n in range(3000)  # more than the candidates of a recall
            ]
        )
        found = memory.recall("river stone", k=20, namespace=("x", "7"))
        assert {hit.record.namespace for hit in found} == {("x", "7")}
        assert len(found) == 15
        assert len(memory.recall("river stone", k=20, namespace="x", below=True)) == 20
        assert not memory.recall("river stone", k=20, namespace="x")


def _listed(spaces: list[Labels], prefix: Labels, depth: int | None) -> list[tuple[Labels, int]]:
    """The plain reference of a list of namespaces."""
    inside = [each[:depth] for each in spaces if _is_in(each, prefix, True)]
    return sorted(Counter(inside).items())


def test_namespaces_are_listed_in_order_with_counts(tmp_path: Path) -> None:
    rng, clock = random.Random(7), ManualClock("2026-11-01T09:00:00Z")
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(dim=32), clock=clock) as memory:
        assert memory.namespaces() == []
        spaces = {each: own for each, own in _fill(memory, rng, 300).items() if own is not None}
        users = {each.id: each.user_id for each in memory.records()}
        memory.remember("soon over", key="e", namespace=("a", "over"), expires_in=60, user_id="bo")
        memory.remember("soon over", key="e", namespace=("a",), expires_in=60)
        assert (("a", "over"), 1) in memory.namespaces()
        clock.advance(seconds=61)
        for each in rng.sample(sorted(spaces), 60):
            memory.forget(each)
            del spaces[each]
        for prefix in ((), ("a",), ("ab",), ("a", "b"), ("nowhere",)):
            for depth in (None, 1, 2):
                wanted = _listed(list(spaces.values()), prefix, depth)
                assert memory.namespaces(prefix, depth=depth) == wanted
                ada = [own for each, own in spaces.items() if users[each] == "ada"]
                found = memory.namespaces(prefix, depth=depth, user_id="ada")
                assert found == _listed(ada, prefix, depth)
                paged: list[Any] = []
                while page := memory.namespaces(
                    prefix, depth=depth, after=paged[-1][0] if paged else None, limit=4
                ):
                    paged += page
                assert paged == wanted
        for each in memory.namespaces():
            assert each.count == memory.count(namespace=each.namespace)
        assert memory.namespaces(session_id="s") == []
        memory.remember("here", key="s", namespace="s", session_id="s", agent_id="x")
        assert memory.namespaces(session_id="s") == [(("s",), 1)]
        assert memory.namespaces(agent_id="x") == [(("s",), 1)]
        for wrong in ({"depth": 0}, {"limit": 0}, {"after": 5}, {"user_id": 5}, {"prefix": 5}):
            with pytest.raises(InvalidInputError):
                memory.namespaces(**wrong)  # type: ignore[arg-type]


def test_a_label_is_any_text_and_travels(tmp_path: Path) -> None:
    labels = ("\x1f", "\x1e", "\x1e1", "\x1e0\x1f", "a\tb\n", " ", "é" * 256, "\x01", "a.b/c")
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        made = memory.remember("x", key="k", namespace=labels)
        assert made.namespace == labels
        assert memory.get(key="k", namespace=labels).namespace == labels
        assert memory.namespaces() == [(labels, 1)]
        memory.export(tmp_path / "out.jsonl")
        assert memory.check().ok
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as memory:
        memory.import_(tmp_path / "out.jsonl")
        assert memory.namespaces(labels[:1]) == [(labels, 1)]
    assert spector.check(tmp_path / "mind").ok


def test_an_empty_namespace_is_a_reason(memory: Memory) -> None:
    memory.remember("the oars are here", key="k", namespace=("a",))
    found = memory.recall("oars", namespace=("b",), below=True)
    assert (list(found), found.abstained) == ([], True)
    assert found.reason == "nothing is stored in this namespace"
    assert memory.context("where are the oars?", namespace="b").reason == found.reason


def test_what_is_no_gate_is_refused(memory: Memory) -> None:
    memory.remember("x", key="k")
    verbs: list[Callable[..., Any]] = [
        lambda **given: memory.recall("x", **given),
        lambda **given: memory.context("x", **given),
        lambda **given: list(memory.records(**given)),
        lambda **given: memory.count(**given),
        lambda **given: memory.forget(**given),
    ]
    for verb in verbs:
        with pytest.raises(InvalidFilterError, match="without a namespace"):
            verb(below=True)
        for given in ({"namespace": 5}, {"namespace": ("a", 5)}, {"namespace": "a", "below": "x"}):
            with pytest.raises(InvalidInputError):
                verb(**given)
    with pytest.raises(InvalidFilterError):
        memory.forget(key="k", namespace=(), below=True)
    assert len(memory) == 1


def test_the_command_line_takes_a_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "mind")
    with spector.open(path) as memory:
        for labels in (("docs",), ("docs", "acme"), ("pics",)):
            memory.remember(f"The boiler of {labels[-1]}.", key="k", namespace=labels)
    inside = ["--in-namespace", "docs"]
    for command in (["recall", path, "boiler"], ["list", path], ["export", path]):
        for more, wanted in (([], {"docs"}), (["--below"], {"docs", "acme"})):
            capsys.readouterr()
            assert main([*command, *inside, *more]) == 0
            said = capsys.readouterr().out
            assert {each for each in ("docs", "acme", "pics") if f"of {each}." in said} == wanted
    capsys.readouterr()
    assert main(["namespaces", path, "--json", *inside]) == 0
    assert json.loads(capsys.readouterr().out)["namespaces"] == [
        {"namespace": ["docs"], "count": 1},
        {"namespace": ["docs", "acme"], "count": 1},
    ]
    assert main(["namespaces", path, "--depth", "1"]) == 0
    assert "pics" in capsys.readouterr().out
    assert main(["namespaces", path, "--in-namespace", "no"]) == 1


@pytest.mark.parametrize("below", [False, True])
def test_the_scan_knows_namespaces_by_tags(tmp_path: Path, below: bool) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=8) as memory:
        rng = random.Random(8)
        for depth, count in ((1, 40), (2, 40), (6, 40), (0, 40), (None, 40)):
            labels: Any = None if depth is None else ("a", "b", "c", "d", "e", "f")[:depth]
            keyed = [{} if labels is None else {"key": f"{depth}-{n}"} for n in range(count)]
            memory.remember_many(
                [
                    {"vector": [rng.gauss(0, 1) for _ in range(8)], "text": str(n), **each}
                    | ({"namespace": labels} if each else {})
                    for n, each in enumerate(keyed)
                ]
            )
        for labels, others in ((("a", "b"), 160), (("a", "b", "c", "d", "e", "f"), 160)):
            found = memory.recall(vector=[1.0] * 8, namespace=labels, below=below, k=200)
            inside = memory.count(namespace=labels, below=below)
            assert len(found) == inside
            assert found.stats.dropped_tags > others - inside
        moved = memory.recall(vector=[1.0] * 8, namespace=("a", "b"), k=1)[0]
        memory.update(moved.id, tags=["other"])  # a new slot has the tags of its namespace as well
        memory.remember("again", vector=[1.0] * 8, key="2-1", namespace=("a", "b"))
        assert len(memory.recall(vector=[1.0] * 8, namespace=("a", "b"), k=200)) == 40
        assert memory.check().ok


def test_a_store_without_the_tags_of_namespaces_is_searched_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys were written before their records had these tags, and are found all the same."""
    monkeypatch.setattr("spector.kernel.contract.quantization.namespace_mask", lambda namespace: 0)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        old = memory.remember("the oars are here", key="k", namespace=("a",))
    monkeypatch.undo()
    with sqlite3.connect(tmp_path / "mind" / "catalog.db") as db:
        db.execute("DELETE FROM meta WHERE key = 'namespaces_tagged'")
    db.close()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        new = memory.remember("the oars are there", key="l", namespace=("a", "b"))
        found = memory.recall("oars", namespace=("a",), below=True)
        assert {hit.id for hit in found} == {old.id, new.id}
        assert memory.check().ok
    repaired = spector.repair(tmp_path / "mind", tmp_path / "whole")
    assert not repaired.lost
    with spector.open(tmp_path / "whole", embedder=FakeEmbedder()) as memory:
        found = memory.recall("oars", namespace=("a",), below=True)
        assert {hit.id for hit in found} == {old.id, new.id}
        assert memory.check().ok


def test_check_knows_the_tags_of_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spector.kernel.contract.quantization.namespace_mask", lambda namespace: 0)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember("the oars are here", key="k", namespace=("a",))
        monkeypatch.undo()
        report = memory.check()
    assert [each.code for each in report.problems] == ["I8"]
