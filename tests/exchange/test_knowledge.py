"""What is known travels with the memories, and comes back as it was.

Mechanism: an export writes rows of knowledge on the line of their memory; an import maps their ids
and stores them in the commit of the memory. Damage without it: a moved store has forgotten its
facts, or a fact without its triple. Guard: an export of the import equals the first, and a
selection has nothing of what it leaves out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory
from spector.arguments import SORTS
from spector.knowledge import plan_merge
from tests.exchange.travels import exported, lines_of, normal, travelled
from tests.facets.test_erasure import commit, mention
from tests.fakes import FakeEmbedder


def known(memory: Memory, user: str = "u") -> dict[str, int]:
    """One of each sort of knowledge, of one user."""
    a = memory.remember("Ada works at Acme", user_id=user)
    b = memory.remember("Ada lives in Paris", user_id=user)
    memory.facts.learn([a, b])
    memory.facts.add("Ada", "works_at", "Acme", source=b)
    memory.facts.add("Ada", "lives_in", "İzmir", user_id=user)
    memory.facts.add("Ada", "lives_in", "Paris", user_id=user)
    memory.graph.register("mentors", inverse="mentored_by")
    memory.graph.link(a, b, "mentors", weight=0.7, note={"why": "ö"})
    memory.graph.link(b, a, "causes", weight=0.3)
    procedure = memory.procedures.add(
        "deploy", ["build", "push"], triggers=["Release"], user_id=user
    )
    for success in (True, False, True):
        memory.procedures.record_outcome(procedure.id, success)
    memory.learnings.add(
        "Always test", "success_pattern", applies_to=["Release"], evidence=[a], user_id=user
    )
    concept, _ = memory.concepts.find_or_create(
        "coffee mug", properties={"colour": "red"}, user_id=user
    )
    for n in range(9):
        each = memory.layers["episodes"].store(
            f"grasp {n}",
            user_id=user,
            episode={"objects": ["mug"], "tool": "grasp", "success": n != 2, "salience": n / 10},
        )
        memory.concepts.reinforce(concept.id, each)
    memory.concepts.ground(concept.id)
    memory.entities.alias("Lovelace", "Ada", user_id=user)
    memory.facts.declare("likes_most", single_valued=True)
    memory.recall("mug", user_id=user, learn=True)
    return {"a": a.id, "b": b.id, "concept": concept.id, "procedure": procedure.id}


def test_what_the_facets_answer_travels(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    with travelled(exported(memory, tmp_path / "a.jsonl"), tmp_path / "other") as other:
        for one in (memory, other):
            facts = {each.object: each for each in one.facts.about("Ada")}
            assert {name: each.confidence for name, each in facts.items()} == {
                "Acme": pytest.approx(0.65),
                "Paris": 0.5,
            }
            assert [one.get(i).text for i in facts["Acme"].sources] == [
                "Ada works at Acme",
                "Ada lives in Paris",
            ]
            assert len(one.history(facts["Paris"].id)) == 3
            [procedure] = one.procedures.for_situation(["release"])
            assert procedure.success_rate == pytest.approx(2 / 3)
            assert procedure.executions == 3
            assert [each.description for each in procedure.steps] == ["build", "push"]
            [learning] = one.learnings.relevant(["RELEASE"])
            assert learning.insight == "Always test"
            concept = one.concepts.of("CoffeeMug")
            assert concept.confidence == pytest.approx(0.8)
            assert [one.get(i).text for i in concept.memory_refs["episodes"]] == [
                f"grasp {n}" for n in range(9)
            ]
            assert one.concepts.find(property=("colour", "red"))[0].id == concept.id
            statistics = one.concepts.ground(concept.id)
            assert {each.code for each in statistics} == {"mean_salience", "success_rate"}
            assert all(each.concept_id == concept.id for each in statistics)
            [entity] = one.entities.find("Lovelace", user_id="u")
            assert (entity.name, entity.mentions) == ("Ada", 2)
            assert any(each.name == "mentors" for each in one.graph.kinds())
        a, b = (
            next(each.id for each in other.records() if each.text == text)
            for text in ("Ada works at Acme", "Ada lives in Paris")
        )
        assert other.graph.path(a, b) is not None
        [edge] = other.graph.edges(b, direction="in", kinds=["mentored_by", "mentors"])
        assert (edge.weight, edge.note) == (0.7, {"why": "ö"})


def test_a_store_without_knowledge_exports_what_it_did(memory: Memory, tmp_path: Path) -> None:
    memory.remember("plain", user_id="u")
    [line] = exported(memory, tmp_path / "a.jsonl")
    assert not {"payload", "edges", "mentions", "references", "sources", "spector"} & set(line)
    with travelled([line], tmp_path / "other") as other:
        with other.graph._read() as reader:
            assert not reader.holds_any
        assert len(other) == 1


def test_a_selection_has_nothing_of_what_it_leaves_out(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    known(memory, "v")
    other = memory.remember("Zoe Quill met Ada", user_id="u", tags=["apart"])
    memory.facts.learn([other])
    memory.graph.register("unused")
    lines = exported(memory, tmp_path / "u.jsonl", user_id="u")
    ids = {line["id"] for line in lines if "id" in line}
    assert all(memory.get(each).user_id == "u" for each in ids)
    text = (tmp_path / "u.jsonl").read_text()
    gone = {str(each.id) for each in memory.records(user_id="v")}
    assert not [each for each in gone if each in text]
    assert "unused" not in text
    tagged = exported(memory, tmp_path / "t.jsonl", tags=["apart"])
    assert [line["id"] for line in tagged if "id" in line] == [other.id]
    assert all("edges" not in line for line in tagged)
    assert {each["name"] for each in tagged[0]["mentions"]} == {"Zoe Quill", "Ada"}
    assert "Quill" not in str(exported(memory, tmp_path / "v.jsonl", user_id="v"))
    with travelled(lines, tmp_path / "other") as back:
        assert back.check().ok
        assert normal(exported(back, tmp_path / "b.jsonl")) == normal(lines)


def test_merged_entities_travel_and_can_be_split(memory: Memory, tmp_path: Path) -> None:
    one = memory.remember("Ada Byron wrote", user_id="u")
    two = memory.remember("Countess Lovelace wrote", user_id="u")
    both = memory.remember("Ada Byron is Countess Lovelace", user_id="u")
    mention(memory, one, "Ada Byron")
    mention(memory, two, "Countess Lovelace")
    mention(memory, both, "Ada Byron", "Countess Lovelace")
    memory.entities.alias("AB", "Ada Byron", user_id="u")
    memory.entities.alias("CL", "Countess Lovelace", user_id="u")
    memory.entities.merge("Ada Byron", "Countess Lovelace", user_id="u")
    first = exported(memory, tmp_path / "a.jsonl")
    assert [line["spector"] for line in first if "spector" in line] == ["alias", "alias", "merge"]
    with travelled(first, tmp_path / "other") as other:
        assert normal(exported(other, tmp_path / "b.jsonl")) == normal(first)
        [entity] = other.entities.find("CL", user_id="u")
        assert (entity.name, entity.mentions) == ("Ada Byron", 3)
        again = other.entities.split("Ada Byron", user_id="u")
        assert (again.name, again.mentions, again.aliases) == ("Countess Lovelace", 2, ("CL",))
    [alone] = [line for line in first if line.get("id") == two.id]
    assert alone["mentions"] == [{"name": "Countess Lovelace", "type": "person", "count": 1}]


def test_only_who_is_mentioned_is_named(memory: Memory, tmp_path: Path) -> None:
    """A merge ties a name that only other memories say to an entity; their export says it."""
    one = memory.remember("Ada wrote", user_id="u", tags=["mine"])
    two = memory.remember("Quillname wrote", user_id="u")
    mention(memory, one, "Ada")
    mention(memory, two, "Quillname")
    with memory.graph._read() as reader:
        items = {row["json"]["name"]: item for item, row in reader.items_of("entity").items()}
    commit(
        memory,
        lambda reader, changes: plan_merge(reader, changes, items["Ada"], items["Quillname"]),
    )
    mine = exported(memory, tmp_path / "a.jsonl", tags=["mine"])
    assert "quillname" not in str(mine).lower()
    assert [each["name"] for each in mine[0]["mentions"]] == ["Ada"]
    everything = exported(memory, tmp_path / "b.jsonl")
    [other] = [line for line in everything if line.get("id") == two.id]
    assert [each["name"] for each in other["mentions"]] == ["Quillname"]


def test_a_store_that_knows_a_fact_keeps_one(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    first = exported(memory, tmp_path / "a.jsonl")
    count, facts = memory.count(sorts=SORTS), len(memory.facts.query())
    concept = memory.concepts.of("coffee mug")
    found = memory.import_(tmp_path / "a.jsonl")
    assert len(found) == len([line for line in first if "id" in line])
    assert len(memory.facts.query()) == facts
    [works] = memory.facts.query(predicate="works_at")
    assert len(works.sources) == 4
    assert works.confidence == pytest.approx(0.75)
    again = memory.concepts.of("coffee mug")
    assert again.id == concept.id
    assert again.reinforcement_count == 18
    assert len(again.memory_refs["episodes"]) == 18
    assert memory.count(sorts="statistic") == 2
    # facts that hold, concept, statistics
    assert memory.count(sorts=SORTS) == count + len(found) - 2 - 1 - 2
    assert memory.check().ok


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_what_no_user_said_confirms_no_fact(memory: Memory, tmp_path: Path, role: str) -> None:
    memory.facts.add("Ada", "works_at", "Acme", source=memory.remember("Ada works at Acme"))
    with spector.open(":memory:", embedder=FakeEmbedder()) as other:
        said = other.remember({"role": role, "content": "Ada works at Acme"})
        other.facts.add("Ada", "works_at", "Acme", source=said)
        other.export(tmp_path / "a.jsonl")
    memory.import_(tmp_path / "a.jsonl")
    [fact] = memory.facts.query()
    assert len(fact.sources) == 2
    assert fact.confidence == 0.5


def test_change_moves_knowledge_to_another_user(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    memory.export(tmp_path / "a.jsonl")
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        other.import_(tmp_path / "a.jsonl", change=lambda line: {**line, "user_id": "w"})
        assert other.check().ok
        assert {each.record.user_id for each in other.facts.query()} == {"w"}
        assert other.entities.find("Lovelace", user_id="w")[0].mentions == 2
        assert other.entities.find("Ada", user_id="u") == []


def test_change_ties_nothing_across_users(memory: Memory, tmp_path: Path) -> None:
    ids = known(memory)
    memory.export(tmp_path / "a.jsonl")

    def apart(line: dict[str, Any]) -> dict[str, Any]:
        return {**line, "user_id": "w"} if line["id"] == ids["b"] else line

    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        other.import_(tmp_path / "a.jsonl", change=apart)
        assert other.check().ok
        store = other.graph._parts.store
        with store.catalog.reading() as db:
            for table, a, b in (("edge", "source_id", "target_id"), ("link", "a", "b")):
                assert not db.execute(
                    f"SELECT * FROM {table} AS tie JOIN record AS one ON one.id = tie.{a}"
                    f" JOIN record AS two ON two.id = tie.{b} WHERE one.user_id IS NOT two.user_id"
                ).fetchall()
            assert not db.execute(
                "SELECT * FROM link JOIN item ON item.item_id = link.a"
                " JOIN record ON record.id = link.b WHERE record.user_id IS NOT item.scope"
            ).fetchall()


def test_facts_of_several_users_become_one_of_the_user_they_are_given_to(
    memory: Memory, tmp_path: Path
) -> None:
    for user in ("u", "v"):
        memory.facts.add(
            "Ada", "works_at", "Acme", source=memory.remember("Ada works", user_id=user)
        )
        memory.concepts.find_or_create("mug", user_id=user)
    memory.export(tmp_path / "a.jsonl")
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        other.import_(tmp_path / "a.jsonl", change=lambda line: {**line, "user_id": "w"})
        [fact] = other.facts.query(user_id="w")
        assert (len(fact.sources), fact.confidence) == (2, 0.55)
        assert len(other.concepts.find(name="mug")) == 1
        assert other.check().ok


def test_a_fact_keeps_its_tier_whatever_change_says(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    memory.export(tmp_path / "a.jsonl")
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        other.import_(tmp_path / "a.jsonl", change=lambda line: {**line, "tier": "working"})
        assert other.check().ok
        assert {each.record.tier for each in other.facts.query()} == {"semantic"}
        assert other.procedures.all()[0].record.tier == "procedural"
        assert other.facts.query(predicate="works_at")[0].sources == ()


def test_a_limit_counts_memories(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    memory.export(tmp_path / "a.jsonl")
    assert "spector" in lines_of(tmp_path / "a.jsonl")[0]  # the kind that an edge of the next has
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        assert len(other.import_(tmp_path / "a.jsonl", limit=2)) == 2
        assert other.check().ok
        assert len(other) == 2


def test_lines_that_were_taken_out_take_their_ties_along(memory: Memory, tmp_path: Path) -> None:
    ids = known(memory)
    lines = exported(memory, tmp_path / "a.jsonl")
    kept = [line for line in lines if line.get("id") not in (ids["b"], ids["concept"])]
    with travelled(kept, tmp_path / "other") as other:
        assert other.check().ok
        assert len(other) == len(memory) - 2
        [works] = other.facts.query(predicate="works_at")
        assert len(works.sources) == 1


def test_callbacks_of_layers_hear_of_what_is_imported(memory: Memory, tmp_path: Path) -> None:
    known(memory)
    memory.export(tmp_path / "a.jsonl")
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        heard: list[tuple[str, str]] = []
        for name in ("episodes", "concepts", "statistics"):
            other.layers[name].register_capture_callback(
                lambda layer, record: heard.append((layer, record.text))
            )
        other.import_(tmp_path / "a.jsonl")
        assert heard.count(("concepts", "coffee mug")) == 1
        assert sum(layer == "statistics" for layer, _ in heard) == 2
        assert sum(layer == "episodes" for layer, _ in heard) == 11


def test_what_a_record_says_of_itself_can_be_imported(memory: Memory, tmp_path: Path) -> None:
    ids = known(memory)
    records = [memory.get(ids[name]) for name in ("a", "procedure")]
    assert any("details" in each.to_dict() for each in records)
    lines = [json.dumps(each.to_dict()) + "\n" for each in records]
    (tmp_path / "records.jsonl").write_text("".join(lines))
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        assert [each.text for each in other.import_(tmp_path / "records.jsonl")] == [
            each.text for each in records
        ]
