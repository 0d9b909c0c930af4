"""Lines of knowledge that no export wrote: refused with the number of the line, or taken as said.

Mechanism: every value of a line is checked before anything of its batch is stored. Damage without
it: a row that no facet can read, an edge into nowhere, a memory without its payload. Guard: one
fault a line, random bytes in every value, and an import that stops in the middle.
"""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ImportFormatError, Memory
from tests.exchange.test_knowledge import known
from tests.exchange.travels import exported
from tests.fakes import FakeEmbedder

PLAIN = {"id": 1, "text": "Ada works at Acme", "user_id": "u"}
FACT = {"subject": "Ada", "predicate": "works_at", "object": "Acme"}


def given(tmp_path: Path, *lines: Any) -> Path:
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def second(**keys: Any) -> dict[str, Any]:
    return {"id": 2, "text": "a second line", "user_id": "u", **keys}


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "payload is no object": (second(payload=["fact"]), "payload"),
    "unknown sort": (second(payload={"dream": {}}), "dream"),
    "two sorts": (second(payload={"fact": FACT, "learning": {"type": "x"}}), "several sorts"),
    "unknown field": (second(payload={"procedure": {"name": "x", "steps": [], "zeal": 1}}), "zeal"),
    "steps of no step": (second(payload={"procedure": {"name": "x", "steps": [{"a": 1}]}}), "step"),
    "no steps": (second(payload={"procedure": {"name": "x"}}), "steps"),
    "rate above 1": (
        second(payload={"procedure": {"name": "x", "steps": [], "success_rate": 1.5}}),
        "success_rate",
    ),
    "learning of no type": (
        second(payload={"learning": {"type": "rumour", "title": "x"}}),
        "rumour",
    ),
    "concept without a name": (second(payload={"concept": {"name": "--"}}), "name"),
    "fact without an object": (
        second(payload={"fact": {"subject": "Ada", "predicate": "is"}}),
        "object",
    ),
    "fact too sure": (second(payload={"fact": {**FACT, "confidence": 2}}), "confidence"),
    "fact with spans of words": (second(payload={"fact": {**FACT, "spans": ["x"]}}), "spans"),
    "notes of no note": (second(payload={"observed": {"notes": [["x"]]}}), "notes"),
    "notes that end before they begin": (
        second(payload={"observed": {"notes": [[3, 1, "date", "today"]]}}),
        "notes",
    ),
    "half a character": (second(payload={"fact": {**FACT, "subject": "\ud800"}}), "surrogate"),
    "sources of a plain memory": (second(sources=[{"id": 1}]), "sources"),
    "references of a plain memory": (second(references=[{"id": 1}]), "references"),
    "edges are no list": (second(edges={"target": 1}), "edges"),
    "edge to a text": (second(edges=[{"target": "one", "kind": "causes"}]), "target"),
    "edge without a kind": (second(edges=[{"target": 1}]), "kind"),
    "edge of an unknown kind": (second(edges=[{"target": 1, "kind": "cuases"}]), "cuases"),
    "edge of weight 0": (second(edges=[{"target": 1, "kind": "causes", "weight": 0}]), "weight"),
    "edge of weight NaN": (
        second(edges=[{"target": 1, "kind": "causes", "weight": float("nan")}]),
        "JSON",
    ),
    "edge into nowhere": (second(edges=[{"target": 9, "kind": "causes"}]), "no line before"),
    "edge to another user": (
        second(user_id="v", edges=[{"target": 1, "kind": "causes"}]),
        "another user",
    ),
    "edge at no time": (
        second(edges=[{"target": 1, "kind": "causes", "created_at": "soon"}]),
        "soon",
    ),
    "mention of nothing": (second(mentions=[{"name": " "}]), "name"),
    "mentioned minus times": (second(mentions=[{"name": "Ada", "count": -1}]), "count"),
    "unknown item": ({"spector": "dream"}, "dream"),
    "item of a list": ({"spector": ["kind"]}, "spector"),
    "kind without a name": ({"spector": "kind"}, "name"),
    "kind that is its own inverse": ({"spector": "kind", "name": "x", "inverse": "x"}, "inverse"),
    "kind with another meaning": ({"spector": "kind", "name": "causes", "symmetric": True}, "mean"),
    "pair of one": ({"spector": "pair", "ids": [1], "count": 1}, "pair"),
    "pair with a key": ({"spector": "pair", "ids": [1, 2], "count": 1, "x": 1}, "'x'"),
    "alias of a text": ({"spector": "alias", "name": "x", "of": "Ada"}, "of"),
    "association without evidence": (
        {
            "spector": "association",
            "cue": "x",
            "outcome": "y",
            "strength": 1,
            "observations": 1,
            "evidence": [],
        },
        "evidence",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_line(memory: Memory, tmp_path: Path, fault: str) -> None:
    line, word = FAULTS[fault]
    file = given(tmp_path, PLAIN, line)
    with pytest.raises(ImportFormatError) as caught:
        memory.import_(file, scopes_from_message=True)
    assert "line 2" in caught.value.message
    assert word in caught.value.message
    assert caught.value.hint
    assert len(memory) <= 1
    assert memory.check().ok


def test_a_line_of_an_own_hand_is_enough(memory: Memory, tmp_path: Path) -> None:
    """What a person or another program writes, without what only an export knows."""
    file = given(
        tmp_path,
        PLAIN,
        {"spector": "kind", "name": "backs"},
        second(
            text="Ada works at Acme.",
            payload={"fact": FACT},
            sources=[{"id": 1}],
            edges=[{"target": 1, "kind": "backs"}],
            mentions=[{"name": "Ada", "type": "person"}],
        ),
        {
            "id": 3,
            "text": "deploy",
            "payload": {
                "procedure": {
                    "name": "deploy",
                    "steps": [{"description": "push"}],
                    "triggers": ["Sürüm"],
                }
            },
        },
        {
            "spector": "alias",
            "name": "Lovelace",
            "of": {"name": "Ada", "type": "person"},
            "user_id": "u",
        },
    )
    plain, fact, procedure = memory.import_(file, scopes_from_message=True)
    assert memory.facts.get(fact.id).sources == (plain.id,)
    assert fact.tier == "semantic"
    assert fact.stability_days == 2 * plain.stability_days
    assert procedure.tier == "procedural"
    [found] = memory.procedures.for_situation(["SÜRÜM"])
    assert found.id == procedure.id
    assert memory.graph.edges(fact.id, kinds=["backs"])
    assert memory.entities.find("lovelace", user_id="u")[0].name == "Ada"
    assert memory.check().ok


def test_an_export_with_a_tie_to_a_later_line_waits_for_it(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    lines = exported(memory, tmp_path / "a.jsonl")
    memories = [line for line in lines if "spector" not in line]
    kinds = [line for line in lines if line.get("spector") == "kind"]
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        other.import_(given(tmp_path, *kinds, *reversed(memories)))
        assert other.check().ok
        assert sorted(
            (memory.get(each.source).text, each.kind, memory.get(each.target).text)
            for record in memory.records()
            for each in memory.graph.edges(record.id)
            if each.origin not in ("parents", "supersedes")
        ) == sorted(
            (other.get(each.source).text, each.kind, other.get(each.target).text)
            for record in other.records()
            for each in other.graph.edges(record.id)
            if each.origin not in ("parents", "supersedes")
        )


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_values_by_chance_are_refused_or_make_a_sound_store(
    memory: Memory, tmp_path: Path, seed: int
) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    known(memory)
    lines = exported(memory, tmp_path / "a.jsonl")
    junk = [
        None,
        -1,
        1.5,
        1 << 70,
        "",
        "x" * 70,
        "\x00|\u202e",
        [],
        {},
        [[]],
        {"a": {"b": 1}},
        True,
        float("inf"),
        "\ud83d",
        0,
    ]
    refused = taken = 0
    for _ in range(40):
        damaged = copy.deepcopy(lines)
        line = chance.choice(
            [
                each
                for each in damaged
                if {"payload", "edges", "mentions", "references", "sources", "spector"} & set(each)
            ]
        )
        where: Any = line
        key: Any = chance.choice(
            [k for k in line if k in ("payload", "edges", "mentions", "references", "sources")]
            or [k for k in line if k != "spector"]
        )
        while isinstance(where[key], (dict, list)) and where[key] and chance.random() < 0.8:
            where = where[key]
            key = chance.choice(list(where) if isinstance(where, dict) else range(len(where)))
        where[key] = chance.choice(junk)
        with spector.open(":memory:", embedder=FakeEmbedder()) as other:
            try:
                other.import_(given(tmp_path, *damaged))
                taken += 1
            except ImportFormatError as error:
                refused += "line " in error.message
            report = other.check()
            assert report.ok, (report, where, key)
            for record in other.records():
                other.graph.edges(record.id)
                other.entities.of(record.id)
            for facet in (other.procedures, other.learnings):
                facet.all()
            other.facts.query()
            other.concepts.find()
            other.export(tmp_path / "again.jsonl", overwrite=True)
    assert refused + taken == 40
    assert refused > 10
    assert taken


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("after", [1, 3, 7, 15, 19])
def test_an_import_that_stops_leaves_whole_batches(
    memory: Memory, tmp_path: Path, after: int
) -> None:
    """Or a fact is a plain text: a memory comes with its payload, or not at all."""
    known(memory)
    lines = exported(memory, tmp_path / "a.jsonl")
    payload = {line["text"]: set(line["payload"]) for line in lines if "payload" in line}
    with spector.open(
        tmp_path / "other", embedder=FakeEmbedder(), config=spector.Config(batch_records=4)
    ) as other:
        seen = 0

        def change(line: dict[str, Any]) -> dict[str, Any]:
            nonlocal seen
            seen += 1
            if seen > after:
                raise StoppedError
            return line

        with pytest.raises(StoppedError):
            other.import_(tmp_path / "a.jsonl", change=change)
        assert other.check().ok
        assert len(other) <= after
        with other.graph._read() as reader:
            sorts = reader.sorts([each.id for each in other.records()])
        for record in other.records():
            assert payload.get(record.text, set()) <= sorts.get(record.id, set())


@pytest.mark.slow
def test_a_file_of_many_lines_needs_little_memory(tmp_path: Path) -> None:
    """Lines are read one at a time, and ties wait only for lines to come."""
    import tracemalloc

    from spector.exchange.lines import Source, Vectors

    file = tmp_path / "long.jsonl"
    note = {"why": "x" * 1_000}
    with file.open("w") as out:
        for n in range(20_000):
            edges = [{"target": n - 1, "kind": "causes", "note": note}] if n else []
            line = {"id": n, "text": f"line {n}", "edges": edges, "recorded_at": "2026-01-01"}
            out.write(json.dumps(line) + "\n")
    vectors = Vectors(dim=8, fingerprint="", can_embed=True)
    tracemalloc.start()
    count = sum(
        len(batch.memories)
        for batch in Source(str(file), vectors, 512, None, None, None, True).batches([])
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 12 << 20, peak  # a fifth of the file
