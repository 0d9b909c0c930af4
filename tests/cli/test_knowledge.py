"""Commands about knowledge print tables, JSON and drawings of what the store knows.

Mechanism: thin functions over facets. Damage without it: knowledge that cannot be looked at. Guard:
the output of each command, its exit code, labels with quotes and markup.
"""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import spector
from spector.cli.main import main
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
