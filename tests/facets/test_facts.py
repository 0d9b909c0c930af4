"""Facts have one key, many sources and one present value; they go with their last source.

Mechanism: payload rows in the commit of their memory. Damage without it: a fact twice, a fact that
outlives what it was drawn from, a fact of another user. Guard: the statements of the design.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import spector
from spector import InvalidInputError, Memory, UnknownRecordError
from spector.clock import ManualClock
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


def test_sources_raise_confidence_once_each(memory: Memory) -> None:
    a, b, c = (memory.remember(f"Ada works at Acme, {n}", user_id="u") for n in "abc")
    first = memory.facts.add("Ada", "works_at", "Acme", source=a, confidence=0.7)
    memory.facts.add("ada", "WORKS_AT", " Acme ", source=[b, c])
    fact = memory.facts.add("Ada", "works_at", "Acme", source=b)
    assert (fact.id, fact.confidence, fact.sources) == (first.id, 0.80, (a.id, b.id, c.id))
    assert fact.key == "cc3dceedfd9a0601cc54780e07826869"
    assert [each.id for each in memory.facts.about("ACME")] == [fact.id]
    assert memory.facts.about("Ada", user_id="v") == []
    assert {edge.weight for edge in memory.graph.edges(fact, kinds=["derived_from"])} == {0.8}
    assert memory.facts.get(fact.key) == memory.facts.get(fact.id) == fact


def test_sources_of_two_users_are_refused(memory: Memory) -> None:
    a, b = memory.remember("one", user_id="a"), memory.remember("two", user_id="b")
    with pytest.raises(InvalidInputError, match="several users"):
        memory.facts.add("Ada", "knows", "Bob", source=[a, b])
    with pytest.raises(UnknownRecordError):
        memory.facts.add("Ada", "knows", "Bob", source=a, user_id="b")
    assert memory.count() == 2


def test_a_new_value_takes_the_place_of_the_present_one(memory: Memory) -> None:
    for city in ("Paris", "Berlin", "Paris"):
        last = memory.facts.add("Eve", "lives_in", city)
    held = memory.facts.query(subject="EVE", predicate="lives_in")
    assert [(each.object, each.id) for each in held] == [("Paris", last.id)]
    assert [each.text for each in memory.history(last.id)] == [
        "Eve lives in Paris.",
        "Eve lives in Berlin.",
        "Eve lives in Paris.",
    ]
    likes = [memory.facts.add("Eve", "likes", each).id for each in ("tea", "jazz")]
    assert [each.id for each in memory.facts.query(predicate="likes")] == likes
    memory.facts.declare("desk", single_valued=True)
    memory.facts.add("Eve", "desk", "4")
    memory.facts.add("Eve", "desk", "7")
    assert [each.object for each in memory.facts.query(predicate="desk")] == ["7"]


def test_declared_aliases_are_one_predicate_after_export_and_import_too(tmp_path: Path) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        memory.facts.declare("mentor", "coach", "guide", single_valued=True)
        assert memory.facts.declare("boss", "squad_lead") == {
            "coach": "mentor",
            "guide": "mentor",
            "squad_lead": "manager",
        }
        memory.export(tmp_path / "all.jsonl")
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        memory.import_(tmp_path / "all.jsonl")
        memory.observe("My mentor is Lin.")
        memory.observe("My coach is Bo now.")
        memory.observe("My squad lead is Ines.")
        held = {(each.predicate, each.object) for each in memory.facts.query(subject="user")}
        assert held == {("mentor", "Bo"), ("manager", "Ines")}
        memory.facts.add("user", "guide", "Ada")
        assert [each.object for each in memory.facts.query(predicate="coach")] == ["Ada"]
        assert [each.object for each in memory.facts.query(predicate="supervisor")] == ["Ines"]


@pytest.mark.parametrize(
    ("declared", "names"),
    [("boss", ["boss", "manager"]), ("eye color", ["eye color", "Eye_Color"])],
)
def test_a_declared_relation_has_one_value_however_its_name_is_written(
    memory: Memory, declared: str, names: list[str]
) -> None:
    memory.facts.declare(declared, single_valued=True)
    for name in names:
        memory.facts.add("Eve", name, f"value of {name}")
    memory.facts.add("Eve", declared, "last")
    assert [each.object for each in memory.facts.query(predicate=declared)] == ["last"]


def test_a_further_alias_leaves_a_relation_at_one_value(memory: Memory) -> None:
    memory.facts.declare("desk", single_valued=True)
    memory.facts.declare("desk", "seat")
    memory.facts.add("Eve", "desk", "4")
    memory.facts.add("Eve", "seat", "7")
    assert [each.object for each in memory.facts.query(predicate="desk")] == ["7"]


def test_a_name_of_another_relation_is_no_alias() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        memory.facts.declare("mentor", "coach")
        for predicate, alias in (("mentor", "boss"), ("trainer", "coach"), ("trainer", "mentor")):
            with pytest.raises(InvalidInputError, match="another relation"):
                memory.facts.declare(predicate, alias)
        assert memory.facts.declare("mentor") == {"coach": "mentor"}


def test_what_was_true_on_a_day(tmp_path: Path) -> None:
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
    with spector.open(tmp_path / "m", embedder=FakeEmbedder(), clock=clock) as memory:
        memory.facts.add("Eve", "lives_in", "Paris")
        clock.advance(days=92)
        memory.facts.add("Eve", "lives_in", "Berlin")
        in_april = memory.facts.query(subject="Eve", as_of="2026-04-01")
        assert [f.object for f in in_april] == ["Paris"]
        assert [f.object for f in memory.facts.query(subject="Eve")] == ["Berlin"]


def test_a_pinned_value_is_contradicted_and_stays(memory: Memory) -> None:
    old = memory.facts.add("Eve", "lives_in", "Paris")
    memory.pin(old.id)
    new = memory.facts.add("Eve", "lives_in", "Berlin")
    assert {f.object for f in memory.facts.query(subject="Eve")} == {"Paris", "Berlin"}
    (edge,) = memory.graph.edges(new.id, kinds=["contradicts"])
    assert (edge.source, edge.target) == (old.id, new.id)


def test_a_fact_goes_with_its_last_source(memory: Memory) -> None:
    a, b = memory.remember("Ada is at Acme"), memory.remember("Ada still is at Acme")
    fact = memory.facts.add("Ada", "works_at", "Acme", source=[a, b])
    alone = memory.facts.add("Bob", "works_at", "Acme")
    assert memory.forget(a).derived == ()
    assert memory.facts.get(fact.id).sources == (b.id,)
    report = memory.forget(b)
    assert (report.ids, report.derived) == ((b.id, fact.id), (fact.id,))
    with pytest.raises(UnknownRecordError):
        memory.facts.get(fact.id)
    assert [each.id for each in memory.facts.about("Acme")] == [alone.id]


def test_a_superseded_source_holds_no_fact_when_the_other_is_forgotten(memory: Memory) -> None:
    told, again = memory.remember("Ada lives in Paris"), memory.remember("in Paris, Ada says")
    for each in (told, again):
        fact = memory.facts.add("Ada", "lives_in", "Paris", source=each)
    memory.remember("Ada has moved", supersedes=again)
    assert [each.id for each in memory.facts.query()] == [fact.id]
    memory.forget(told)
    assert memory.facts.query() == []


def test_a_pinned_fact_stays_without_its_source(memory: Memory) -> None:
    a = memory.remember("Ada is at Acme")
    fact = memory.facts.add("Ada", "works_at", "Acme", source=a)
    memory.pin(fact.id)
    report = memory.forget(a)
    assert (report.ids, report.protected, report.without_source) == (
        (a.id,),
        (fact.id,),
        (fact.id,),
    )


def test_new_words_state_nothing_any_more(memory: Memory) -> None:
    a = memory.remember("Ada is at Acme")
    fact = memory.facts.add("Ada", "works_at", "Acme", source=a)
    memory.update(a.id, importance=0.9)
    assert memory.facts.get(fact.id).sources == (a.id,)
    memory.update(a.id, text="Ada is on holiday")
    with pytest.raises(UnknownRecordError):
        memory.facts.get(fact.id)


def test_a_memory_that_changes_its_user_takes_no_tie_along(memory: Memory) -> None:
    a, b = (memory.remember(each, user_id="a") for each in ("one", "two"))
    memory.graph.link(a, b, "causes")
    fact = memory.facts.add("Ada", "works_at", "Acme", source=[a, b])
    memory.update(a.id, move_to={"user_id": "b"})
    assert memory.graph.edges(a.id) == []
    assert memory.facts.get(fact.id).sources == (b.id,)


def test_the_words_and_the_user_of_a_fact_do_not_change(memory: Memory) -> None:
    fact = memory.facts.add("Ada", "works_at", "Acme", user_id="a")
    for change in ({"text": "x"}, {"move_to": {"user_id": "b"}}):
        with pytest.raises(InvalidInputError, match=r"is a fact.*memory\.facts"):
            memory.update(fact.id, **change)
    memory.update(fact.id, importance=0.9)
    assert memory.facts.get(fact.id) is not None


def test_facts_keep_twice_as_long_as_texts(memory: Memory) -> None:
    text = memory.remember("Ada works at Acme.")
    fact = memory.facts.add("Ada", "works_at", "Acme")
    assert fact.record.stability_days == 2 * text.stability_days
    assert fact.record.tier == "semantic"
    assert fact.record.category is spector.Category.FACT


def test_traversal_stays_with_each_user_and_takes_each_fact_once(memory: Memory) -> None:
    for s, p, o, user in (
        ("Ada", "works_at", "Acme", "u"),
        ("Acme", "located_in", "Kars", "u"),
        ("Kars", "located_in", "Turkey", "u"),
        ("Acme", "sells", "ice", "v"),
    ):
        memory.facts.add(s, p, o, user_id=user)
    steps = memory.facts.traverse("Ada", hops=2, user_id="u")
    assert [(each.subject, each.object, each.hops) for each in steps] == [
        ("Ada", "Acme", 1),
        ("Acme", "Kars", 2),
    ]
    assert len(memory.facts.traverse("Ada", hops=9)) == 3
    assert [each.object for each in memory.facts.traverse("Turkey", direction="out")] == []


@pytest.mark.parametrize(
    "parts",
    [("", "is", "x"), ("a", "  ", "x"), ("a", "is", None), ("a", "is", "x" * 1001), (1, "is", "x")],
)
def test_parts_that_are_none_are_refused(memory: Memory, parts: tuple[str, str, str]) -> None:
    with pytest.raises(InvalidInputError):
        memory.facts.add(*parts)
    assert len(memory) == 0


def test_volatile_memories_are_no_sources(memory: Memory) -> None:
    working = memory.remember("thought", tier="working")
    with pytest.raises(InvalidInputError, match="working tier"):
        memory.facts.add("a", "is", "b", source=working)


def test_facts_are_found_like_any_memory_and_survive_closing(
    memory: Memory, tmp_path: Path
) -> None:
    fact = memory.facts.add("Ada", "works_at", "Acme")
    assert memory.recall("Where does Ada work?")[0].id == fact.id
    memory.close()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:
        assert again.facts.get(fact.id).subject == "Ada"
        assert again.check().ok


def test_a_store_without_knowledge_has_no_tables_of_it(tmp_path: Path) -> None:
    import sqlite3

    with spector.open(tmp_path / "m", embedder=FakeEmbedder()) as memory:
        memory.forget(memory.remember("hello"))
        assert memory.facts.about("x") == []
    with sqlite3.connect(tmp_path / "m" / "catalog.db") as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        assert "payload" not in tables


def test_another_spelling_is_the_same_fact(memory: Memory) -> None:
    said = memory.remember("José lives in Zürich", user_id="u")
    first = memory.facts.add("José", "lives_in", "Zürich", source=said, confidence=0.6)
    again = memory.facts.add("jose", "Lives_In", "ZURICH", user_id="u")
    assert (again.id, again.subject, again.object) == (first.id, "José", "Zürich")
    other = memory.remember("Jose is in Zurich", user_id="u")
    assert memory.facts.add("Jose", "lives_in", "Zurich", source=other).confidence == 0.65
    assert memory.facts.add("José", "lives_in", "Züri", user_id="u").id != first.id


# -- Mechanism: one relation has one predicate, and the user has one name among subjects -----------
#
# Damage: who the boss is depends on the word that was used for him, and on how one asks.


@pytest.fixture
def kin_memory() -> Iterator[Memory]:
    with spector.open(":memory:") as kin_memory:
        yield kin_memory


def drawn(kin_memory: Memory, text: str) -> list[tuple[str, str, str]]:
    kin_memory.observe({"role": "user", "content": text}, user_id="u")
    found = kin_memory.facts.query(user_id="u")
    kin_memory.forget(user_id="u")
    return [(each.subject, each.predicate, each.object) for each in found]


@cases("fact", "texts")
def test_one_relation_has_one_predicate(
    kin_memory: Memory, fact: list[str], texts: list[str]
) -> None:
    assert {text: drawn(kin_memory, text) for text in texts} == {
        text: [tuple(fact)] for text in texts
    }


@pytest.mark.parametrize("text", ["My dog is called Bosun.", "My dog's name is Bosun."])
def test_a_pet_and_its_name_are_one_fact_by_kind(kin_memory: Memory, text: str) -> None:
    assert drawn(kin_memory, text) == [("user", "dog", "Bosun")]


def test_of_two_pets_of_a_kind_both_names_stay(kin_memory: Memory) -> None:
    kin_memory.observe("My dog is called Bosun.", user_id="u")
    kin_memory.observe("My dog is called Pip.", user_id="u")
    held = kin_memory.facts.query(predicate="dog", user_id="u")
    assert {each.object for each in held} == {"Bosun", "Pip"}


def test_facts_are_found_by_any_name_of_a_relation(kin_memory: Memory) -> None:
    kin_memory.observe("My boss is called Odile.", user_id="u")
    kin_memory.facts.add("Ines", "wife", "Ruth", user_id="u")
    for name in ("boss", "manager", "line manager"):
        assert [each.object for each in kin_memory.facts.query(predicate=name)] == ["Odile"]
    for name in ("wife", "partner", "married_to"):
        assert [each.object for each in kin_memory.facts.query(predicate=name)] == ["Ruth"]
    assert kin_memory.facts.query(predicate="not_boss") == []


def test_the_user_is_meant_by_me_and_by_name(kin_memory: Memory) -> None:
    kin_memory.observe("My name is Ines.", user_id="u")
    kin_memory.observe("I live in Fowey.", user_id="u")
    kin_memory.observe("I live in Oban.", user_id="other")
    for name in ("me", "I", "user", "Ines"):
        found = {each.object for each in kin_memory.facts.about(name, user_id="u")}
        assert found == {"Ines", "Fowey"}
    assert {each.object for each in kin_memory.facts.about("me", user_id="other")} == {"Oban"}
    assert kin_memory.facts.about("Ines", user_id="other") == []


def test_a_session_says_how_the_user_is_called(kin_memory: Memory) -> None:
    session = kin_memory.session("s", user_id="u", speaker="Ines")
    session.observe("Ines: I live in Fowey.")
    assert [each.object for each in kin_memory.facts.about("Ines", user_id="u")] == ["Fowey"]
