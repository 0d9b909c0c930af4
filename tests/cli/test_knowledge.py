"""Commands about knowledge print tables, JSON and drawings of what the store knows.

Mechanism: thin functions over facets. Damage without it: knowledge that cannot be looked at. Guard:
the output of each command, its exit code, labels with quotes and markup.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import spector
from spector.arguments import SORTS
from spector.cli.main import main
from tests.exchange.test_knowledge import known
from tests.fakes import FakeEmbedder


@pytest.fixture
def store(tmp_path: Path) -> tuple[str, list[int]]:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        a, b, c = (
            memory.remember(each, user_id="u")
            for each in ('The "deploy" failed', "The disk <was> full & slow", "Ada is at Acme")
        )
        memory.graph.link(b, a, "causes", weight=0.9)
        memory.graph.link(b, c, "related_to", weight=0.4)
        memory.facts.add("Ada", "works_at", "Acme", source=c)
        memory.facts.add("Acme", "located_in", "Kars", source=c)
    return str(path), [a.id, b.id, c.id]


def test_facts_in_a_table_and_as_json(
    store: tuple[str, list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = store
    assert main(["facts", path]) == 0
    assert "works_at" in capsys.readouterr().out
    assert main(["facts", path, "ada", "--json"]) == 0
    (fact,) = json.loads(capsys.readouterr().out)["facts"]
    assert (fact["subject"], fact["object"], fact["user_id"]) == ("Ada", "Acme", "u")
    assert main(["facts", path, "Ada", "--hops", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["facts"]) == 2
    assert main(["facts", path, "Acme", "--predicate", "works_at", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["facts"]) == 1
    assert main(["facts", path, "Ada", "--user", "v"]) == 1
    assert main(["facts", path, "--as-of", "soon"]) == 2


def test_edges_paths_and_drawings(
    store: tuple[str, list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, (a, b, c) = store
    assert main(["graph", path, str(a)]) == 0
    assert "2 memories, 1 edge" in capsys.readouterr().out
    assert main(["graph", path, str(a), "--hops", "2", "--kind", "causes", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["edges"]) == 1
    assert main(["graph", path, str(c), "--to", str(a)]) == 0
    capsys.readouterr()
    assert main(["graph", path, str(a), "--to", str(c)]) == 1
    assert main(["graph", path, str(b), "--dot"]) == 0
    assert '\\"deploy\\"' in capsys.readouterr().out
    assert main(["graph", path, str(b), "--svg"]) == 0
    texts = [each.text for each in ET.fromstring(capsys.readouterr().out).iter() if each.text]
    assert "The disk <was> full & slow" in texts
    assert main(["graph", path, "7"]) == 2
    assert main(["graph", path, str(a), "--kind", "hates"]) == 2


@pytest.fixture
def learned(tmp_path: Path) -> tuple[str, dict[str, int]]:
    path = tmp_path / "learned"
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        ids = known(memory)
        memory.procedures.add("roll back", ["push"], status="deprecated", user_id="u")
    return str(path), ids


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_entities_by_mentions_by_name_and_their_memories(
    learned: tuple[str, dict[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = learned
    assert main(["entities", path]) == 0
    assert printed(capsys).splitlines()[2].split()[:3] == ["Ada", "person", "2"]
    assert main(["entities", path, "lovelace", "--json"]) == 0
    (entity,) = json.loads(printed(capsys))["entities"]
    assert (entity["name"], entity["aliases"]) == ("Ada", ["Lovelace"])
    assert main(["entities", path, "Lovelace", "--memories", "--json"]) == 0
    assert {each["text"] for each in json.loads(printed(capsys))["memories"]} == {
        "Ada works at Acme",
        "Ada lives in Paris",
    }
    assert main(["entities", path, "--user", "v"]) == 1
    assert main(["entities", path, "--memories"]) == 2
    assert main(["entities", path, "-n", "1", "--json"]) == 0
    assert len(json.loads(printed(capsys).splitlines()[-1])["entities"]) == 1


def test_procedures_with_their_success_and_steps(
    learned: tuple[str, dict[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = learned
    assert main(["procedures", path, "release", "--steps"]) == 0
    text = printed(capsys)
    assert "67 %" in text
    assert "  2. push" in text
    assert main(["procedures", path, "--json"]) == 0
    found = json.loads(printed(capsys))["procedures"]
    assert {each["status"] for each in found} == {"active", "deprecated"}
    assert main(["procedures", path, "--status", "draft"]) == 1
    assert main(["procedures", path, "holiday"]) == 1
    assert main(["procedures", path, "--status", "old"]) == 2


def test_learnings_and_concepts(
    learned: tuple[str, dict[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = learned
    assert main(["learnings", path, "RELEASE"]) == 0
    assert "Always test" in printed(capsys)
    assert main(["learnings", path, "--type", "strategy_update"]) == 1
    assert main(["concepts", path, "CoffeeMug"]) == 0
    text = printed(capsys)
    assert "success rate: 0.889 (8/9)" in text
    assert "colour" in text
    assert main(["concepts", path, "coffee mug", "--json"]) == 0
    (concept,) = json.loads(printed(capsys))["concepts"]
    assert len(concept["memory_refs"]["episodes"]) == 9
    assert {each["code"] for each in concept["statistics"]} == {"mean_salience", "success_rate"}
    assert main(["concepts", path, "--category", "person"]) == 1


def test_a_store_without_knowledge_answers_no(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember("plain")
    for verb in ("facts", "entities", "procedures", "learnings", "concepts"):
        assert main([verb, str(tmp_path / "mind")]) == 1, verb
        assert main([verb, str(tmp_path / "mind"), "--json"]) == 1, verb


def test_inspect_shows_what_is_known_of_an_id_and_which_row_is_damaged(
    learned: tuple[str, dict[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, ids = learned
    assert main(["inspect", path, str(ids["procedure"]), "--json"]) == 0
    known_rows = json.loads(printed(capsys))["knowledge"]
    assert known_rows["payload"][0]["json"]["execution_count"] == 3
    assert known_rows["name"] == [
        {"scope": "u", "sort": "trigger", "folded": "release", "id": ids["procedure"]}
    ]
    assert main(["inspect", path, str(ids["a"])]) == 0
    assert "kind=mentors" in printed(capsys)
    with contextlib.closing(sqlite3.connect(Path(path) / "catalog.db")) as db:
        db.execute("UPDATE payload SET seal = seal + 1 WHERE id = ?", (ids["procedure"],))
        db.commit()
    assert main(["inspect", path, str(ids["procedure"]), "--json"]) == 1
    shown = json.loads(printed(capsys))
    assert "seal" in shown["knowledge"]["payload"][0]["problem"]
    assert any("payload is damaged" in each for each in shown["problems"])


def test_forgetting_says_what_goes_along_and_what_stays(
    learned: tuple[str, dict[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, ids = learned
    sources = [str(ids["a"]), str(ids["b"])]
    assert main(["forget", path, *sources, "--no-cascade"]) == 0
    text = printed(capsys)
    assert "forgot 2 of 2 memories" in text
    assert "without a source" in text
    assert main(["facts", path, "--json"]) == 0
    assert len(json.loads(printed(capsys))["facts"]) == 2


def test_memories_rest_and_return(
    store: tuple[str, list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, (a, b, _) = store
    assert main(["retire", path, str(a), str(b), "--user", "u"]) == 0
    assert "retired 2 memories" in printed(capsys)
    assert main(["dormant", path, "--json"]) == 0
    assert {each["id"] for each in json.loads(printed(capsys))["memories"]} == {a, b}
    assert main(["dormant", path, "-n", "1"]) == 0
    assert "the newest 1 of 2" in printed(capsys)
    assert main(["dormant", path, "--user", "v"]) == 1
    assert main(["get", path, str(a), "--json"]) == 0
    assert "dormant" in json.loads(printed(capsys))["flags"]
    assert main(["reactivate", path, str(a), "--json"]) == 0
    assert json.loads(printed(capsys))["memories"][0]["flags"] == []
    assert main(["retire", path, str(a), "--user", "v"]) == 2


def test_what_proved_itself_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder()) as memory:
        used = memory.remember("deploys need a review", tier="semantic", user_id="u")
        memory.remember("never used", tier="semantic", user_id="u")
        for _ in range(20):
            memory.reinforce(used, success=True)
        assert [each.id for each in memory.hot()] == [used.id]
    assert main(["hot", str(path)]) == 0
    assert "deploys need a review" in printed(capsys)
    assert main(["hot", str(path), "--user", "u", "--json"]) == 0
    assert [each["id"] for each in json.loads(printed(capsys))["memories"]] == [used.id]
    assert main(["hot", str(path), "--user", "v"]) == 1


@pytest.mark.parametrize("target", ["-", "file"])
def test_an_export_from_the_shell_carries_what_is_known(
    learned: tuple[str, dict[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    target: str,
) -> None:
    path, _ = learned
    file = tmp_path / "out.jsonl"
    assert main(["export", path, *([str(file)] if target == "file" else [])]) == 0
    if target == "-":
        file.write_text(printed(capsys))
    other = str(tmp_path / "other")
    assert main(["import", other, str(file), "--dry-run", "--json"]) == 0
    count = json.loads(printed(capsys).splitlines()[-1])["files"][0]["messages"]
    with spector.open(path, embedder=FakeEmbedder(), mode="r") as memory:
        assert count == memory.count(sorts=SORTS)
    with spector.open(other, embedder=FakeEmbedder()) as memory:  # the command has no such model
        assert len(memory.import_(file)) == count
    assert main(["facts", other, "lovelace", "--json"]) == 0
    assert len(json.loads(printed(capsys))["facts"]) == 2
    assert main(["procedures", other, "release"]) == 0
    assert "67 %" in printed(capsys)
