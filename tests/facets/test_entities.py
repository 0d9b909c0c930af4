"""Names lead to every memory that mentions them, of one user, and two names may be one entity.

Mechanism: mentions as rows in the commit that reads a memory. Damage without it: a profile that
misses memories or shows another user's, a merge that cannot be undone. Guard: both languages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, ManualClock, Memory, UnknownRecordError
from spector.arguments import SORTS
from spector.knowledge.reading import read_text
from tests.fakes import FakeEmbedder


def said(memory: Memory, text: str, **fields: object) -> int:
    record = memory.remember(text, **fields)  # type: ignore[arg-type]
    memory.facts.learn(record)
    return record.id


def test_persons_that_may_be_one_are_listed_and_stay_two(memory: Memory) -> None:
    """A short name that begins one other first name is one, and never where both are mentioned."""
    for user, texts in {
        "u": tuple(
            (
                "Melanie lives in Kars. | Mel lives in Van. | Gülşen lives in Izmir. | "
                "Gül lives in Bursa. | Sam lives in Oslo. | Samantha lives in Rome. | "
                "Samuel lives in Lyon. | Caro met Caroline in Paris. | Jo lives in Bonn. | "
                "Joanna lives in Bern."
            ).split(" | ")
        ),
        "v": ("Ann lives in Kars.", "Berk lives in Van."),
        "w": ("Annabel lives in Kars.",),
    }.items():
        for text in texts:
            said(memory, text, user_id=user)
    assert [(a.name, b.name) for a, b in memory.entities.alike(user_id="u")] == [
        ("Mel", "Melanie"),
        ("Gül", "Gülşen"),
    ]
    assert memory.entities.alike(user_id="v") == []
    assert len(memory.entities.alike()) == 2
    memory.reflect()
    [(short, long), *_] = memory.entities.alike(user_id="u")
    memory.entities.merge(long, short, user_id="u")
    assert [(a.name, b.name) for a, b in memory.entities.alike(user_id="u")] == [("Gül", "Gülşen")]


def test_a_profile_is_every_memory_that_mentions_a_name(memory: Memory) -> None:
    a = said(memory, "We run Redis on Linux.", user_id="u")
    b = said(memory, "The deploy of redis failed.", user_id="u")
    c = said(memory, "Redis is fast.", user_id="v")
    said(memory, "Nothing to see.", user_id="u")
    memory.reinforce(b, success=True)
    assert [r.id for r in memory.entities.profile("REDIS", user_id="u")] == [b, a]
    assert [r.id for r in memory.entities.profile("redis", limit=1, user_id="u")] == [b]
    assert [r.id for r in memory.entities.profile("redis", user_id="v")] == [c]
    (redis,) = memory.entities.find("redis", user_id="u")
    assert (redis.uri, redis.name, redis.type) == ("entity://tech/redis", "Redis", "tech")
    assert (redis.mentions, redis.user_id) == (2, "u")
    assert redis.last_seen == memory.get(b).event_time
    assert {e.name for e in memory.entities.of(a)} == {"Redis", "Linux"}
    assert memory.entities.find("redis", user_id="w") == []
    memory.forget([a, b])
    assert memory.entities.find("redis", user_id="u") == []


def test_turkish_names_lose_their_endings(memory: Memory) -> None:
    a = said(memory, "Ayşe dün Ankara'ya taşındı.")
    b = said(memory, "Yarın Ankara'da buluşalım.")
    assert {r.id for r in memory.entities.profile("ankara")} == {a, b}
    assert [e.name for e in memory.entities.find("ayse")] == ["Ayşe"]


def test_first_and_second_person(memory: Memory) -> None:
    a = said(memory, "I live in Kars, you know.")
    assert {e.uri for e in memory.entities.of(a)} >= {"entity://user/user", "entity://agent/agent"}
    b = said(memory, "I am glad that you like it.", role="assistant")
    assert [r.id for r in memory.entities.profile("agent")] == [b, a]
    c = said(memory, "I did that too.", metadata={"speaker": "Melanie"})
    assert [e.uri for e in memory.entities.of(c)] == ["entity://person/melanie"]
    assert read_text("I think so", role="tool").mentions == {}


def test_at_most_eight_entities() -> None:
    names = "Redis Linux PostgreSQL Docker Kubernetes Python Kafka MySQL MongoDB Nginx Git"
    assert len(read_text(f"We run {', '.join(names.split())}.").mentions) == 8


def test_names_that_begin_so_follow_those_that_are_so(memory: Memory) -> None:
    said(memory, "Yesterday Ada Lovelace met Bob.")
    said(memory, "Ada called.")
    said(memory, "Then Ada Lovelace called.")
    assert [e.name for e in memory.entities.find("ada")] == ["Ada", "Ada Lovelace"]
    assert [e.name for e in memory.entities.find("love")] == ["Ada Lovelace"]
    assert memory.entities.find("velace") == []
    assert len(memory.entities.find("ada", limit=1)) == 1


def test_an_alias_is_another_name(memory: Memory) -> None:
    a = said(memory, "We run PostgreSQL.", user_id="u")
    entity = memory.entities.alias("Redis", "postgresql")
    assert entity.aliases == ("Redis",)
    b = said(memory, "Redis was slow.", user_id="u")
    assert {r.id for r in memory.entities.profile("PostgreSQL")} == {a, b}
    assert memory.entities.alias("redis", entity) == memory.entities.find("redis")[0]
    said(memory, "Linux was slow.", user_id="u")
    with pytest.raises(InvalidInputError, match="another entity"):
        memory.entities.alias("Linux", entity)
    with pytest.raises(UnknownRecordError, match="no entity"):
        memory.entities.alias("Pg", "Oracle")


def test_facts_name_an_entity_by_its_own_name(memory: Memory) -> None:
    said(memory, "Today Melanie called.")
    memory.entities.alias("Mel", "Melanie")
    record = memory.remember("Mel lives in Kars.")
    (fact,) = memory.facts.learn(record).facts
    assert (fact.subject, fact.object) == ("Melanie", "Kars")
    assert fact.text == "Melanie lives in Kars."


def test_a_merge_is_undone(memory: Memory) -> None:
    a = said(memory, "Yesterday Ada Lovelace met Bob.")
    b = said(memory, "Then Ada called.")
    both = said(memory, "Later Ada Lovelace wrote; Ada signed.")
    before = {e.name: e for name in ("ada", "bob") for e in memory.entities.find(name)}
    merged = memory.entities.merge("Ada Lovelace", "Ada")
    assert (merged.name, merged.mentions, merged.aliases) == ("Ada Lovelace", 3, ("Ada",))
    assert {r.id for r in memory.entities.profile("ada")} == {a, b, both}
    assert memory.check().ok
    again = memory.entities.split(merged)
    assert (again.name, again.mentions, again.aliases) == ("Ada", 2, ())
    assert {r.id for r in memory.entities.profile("ada")} == {b, both}
    (whole,) = (e for e in memory.entities.find("ada lovelace"))
    assert whole == before["Ada Lovelace"]
    with pytest.raises(InvalidInputError, match="no merge"):
        memory.entities.split(whole)


def test_what_no_memory_mentions_any_more_is_not_made_anew(memory: Memory) -> None:
    said(memory, "Yesterday Ada Lovelace met Bob.")
    b = said(memory, "Then Ada called.")
    merged = memory.entities.merge("Ada Lovelace", "Ada")
    memory.forget(b)
    with pytest.raises(InvalidInputError, match="made of no merge"):
        memory.entities.split(merged)


def test_entities_of_two_users_are_never_one(memory: Memory) -> None:
    said(memory, "Today Ada called.", user_id="u")
    said(memory, "Today Bob called.", user_id="v")
    said(memory, "Today Ada called.", user_id="v")
    with pytest.raises(InvalidInputError, match="different users"):
        memory.entities.merge(
            memory.entities.find("ada", user_id="u")[0], memory.entities.find("bob", user_id="v")[0]
        )
    with pytest.raises(InvalidInputError, match="names 2 entities"):
        memory.entities.merge("ada", "bob")
    merged = memory.entities.merge("ada", "bob", user_id="v")
    assert (merged.user_id, merged.mentions) == ("v", 2)
    assert memory.entities.find("ada", user_id="u")[0].mentions == 1
    with pytest.raises(InvalidInputError, match="one entity"):
        memory.entities.merge(merged, merged.id)


@pytest.mark.parametrize("bad", [1.5, True, -1, None, b"x", ["Ada"]])
def test_what_is_no_entity_is_refused(memory: Memory, bad: object) -> None:
    said(memory, "Today Ada called.")
    with pytest.raises(InvalidInputError, match="of must be an entity"):
        memory.entities.alias("Mel", bad)
    with pytest.raises(InvalidInputError, match=r"^name"):
        memory.entities.find(bad)  # type: ignore[arg-type]


def test_further_names_are_shown_as_they_were_spelled(memory: Memory, tmp_path: Path) -> None:
    gone = said(memory, "Yesterday Ada Lovelace met Bob.", user_id="u")
    said(memory, "Then Ada called.", user_id="u")
    memory.entities.alias("Kontes Ş.", "Ada", user_id="u")
    memory.entities.alias("AL", "Ada Lovelace", user_id="u")
    merged = memory.entities.merge("Ada Lovelace", "Ada", user_id="u")
    assert merged.aliases == ("Ada", "AL", "Kontes Ş.")
    memory.export(tmp_path / "all.jsonl")
    with spector.open(tmp_path / "other", embedder=FakeEmbedder()) as other:
        other.import_(tmp_path / "all.jsonl")
        assert other.entities.find("kontes s.")[0].aliases == merged.aliases
    memory.forget(gone)
    assert [e.aliases for e in memory.entities.find("ada", user_id="u")] == [("Kontes Ş.",)]
    assert memory.check().ok


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Kwame Mensah works at Volvo.", {("Kwame Mensah", "person"), ("Volvo", "org")}),
        ("Chidi moved to Lagos.", {("Chidi", "person"), ("Lagos", "place")}),
        ("My sister works at Siemens.", {("Siemens", "org"), ("user", "user")}),
    ],
)
def test_who_lives_or_works_somewhere_is_a_person(
    memory: Memory, text: str, names: set[tuple[str, str]]
) -> None:
    note = said(memory, text, user_id="u")
    assert {(e.name, e.type) for e in memory.entities.of(note)} == names


# -- What ends takes along what was derived from it alone ------------------------------------------
#
# Mechanism: reads leave out, with what has expired, what is derived from nothing else; retiring
# and reactivating change it in the same commit; a new text of a memory that was read is read, too.
# Damage without it: a fact with the words of a memory that is over still answers. Guard: each way
# to end, asked through every list, recall and count, and writes that meet what has ended before it
# is erased.


ALL = ["dormant", "superseded", "quarantined", "derived"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock("2026-06-01T09:00:00Z")


@pytest.fixture
def ending_memory(clock: ManualClock) -> Iterator[Memory]:
    with spector.open(":memory:", clock=clock, embedder=FakeEmbedder(16)) as opened:
        yield opened


def said_until(ending_memory: Memory, include: Any = ()) -> str:
    """All that answers have, which is to name nothing that has ended."""
    facts = ending_memory.facts
    return " | ".join(
        map(
            str,
            [
                *(each.text for each in ending_memory.records(include=include, sorts=SORTS)),
                *(
                    each.text
                    for each in ending_memory.recall("Petra Oulu", k=50, include=["derived"])
                ),
                ending_memory.context("Where does Petra live?", always=True),
                facts.query(),
                facts.about("Petra"),
                facts.traverse("Petra"),
                facts.query(as_of="2026-06-01T09:00:00Z"),
            ],
        )
    )


def learned(ending_memory: Memory, text: str = "Petra lives in Oulu.", **fields: Any) -> int:
    record = ending_memory.remember(text, **fields)
    ending_memory.facts.learn(record)
    return record.id


def test_with_an_expired_memory_its_facts_are_over(
    ending_memory: Memory, clock: ManualClock
) -> None:
    learned(ending_memory, expires_in=60)
    assert "Oulu" in said_until(ending_memory)
    assert ending_memory.stats()["cognition"]["facts"]["count"] == 1
    clock.advance(seconds=61)
    assert "Oulu" not in said_until(ending_memory, ALL)
    assert (len(ending_memory), ending_memory.count(), ending_memory.count(sorts=SORTS)) == (
        0,
        0,
        0,
    )
    assert ending_memory.stats()["cognition"]["facts"]["count"] == 0
    assert ending_memory.entities.all() == []
    assert ending_memory.check().ok


def test_a_fact_is_over_with_the_validity_of_all_who_state_it(
    ending_memory: Memory, clock: ManualClock
) -> None:
    learned(ending_memory, valid_until="2026-06-02T00:00:00Z")
    later = learned(ending_memory, "Petra lives in Oulu now.", valid_until="2026-06-03T00:00:00Z")
    facts = ending_memory.facts
    for hours, held in ((0, 1), (24, 1), (48, 0)):
        clock.set(datetime(2026, 6, 1, 9, tzinfo=UTC) + timedelta(hours=hours))
        found = (facts.query(), facts.about("Petra"), facts.traverse("Petra"))
        assert [len(each) for each in found] == [held] * 3
        assert ending_memory.stats()["cognition"]["facts"]["count"] == held
    assert len(facts.query(as_of="2026-06-02T12:00:00Z")) == 1
    ending_memory.update(later, valid_until=None)
    assert len(facts.query()) == 1


@pytest.mark.parametrize("key", [None, "home"])
def test_a_fact_ends_with_the_last_memory_that_is_superseded(
    ending_memory: Memory, key: str | None
) -> None:
    first = learned(ending_memory)
    second = learned(ending_memory, "Petra lives in Oulu, as ever.")
    ending_memory.remember("Petra has left the town.", supersedes=first)
    (fact,) = ending_memory.facts.query()
    last = ending_memory.remember("Nobody is there.", supersedes=second, key=key)
    assert ending_memory.facts.query() == []
    assert ending_memory.get(fact.id).superseded_by == (last.id,)
    ending_memory.forget(last)
    ending_memory.reinstate(second)
    assert [each.id for each in ending_memory.facts.query()] == [fact.id]


def test_a_fact_lives_until_its_last_source_ends(ending_memory: Memory, clock: ManualClock) -> None:
    learned(ending_memory, expires_in=60)
    learned(ending_memory, expires_in=120)
    clock.advance(seconds=61)
    assert len(ending_memory.facts.query()) == 1
    clock.advance(seconds=60)
    assert "Oulu" not in said_until(ending_memory, ALL)


def test_a_use_that_moves_the_end_keeps_the_fact(ending_memory: Memory, clock: ManualClock) -> None:
    learned(ending_memory, expires_in=60, refresh=True)
    clock.advance(seconds=50)
    assert ending_memory.recall("Petra Oulu")
    clock.advance(seconds=50)
    assert len(ending_memory.facts.query()) == 1
    clock.advance(seconds=50)
    assert "Oulu" not in said_until(ending_memory, ALL)


@pytest.mark.parametrize(
    "write",
    [
        lambda m: m.facts.add("Petra", "lives_in", "Oulu"),
        lambda m: m.facts.add("Petra", "lives_in", "Turku"),
        lambda m: m.observe("Petra lives in Oulu."),
        lambda m: m.observe("Petra lives in Turku."),
        lambda m: learned(m),
        lambda m: learned(m, "Petra lives in Turku."),
    ],
)
def test_what_ended_is_in_no_write_s_way(
    ending_memory: Memory, clock: ManualClock, write: Callable[[Memory], Any]
) -> None:
    learned(ending_memory, expires_in=60)
    clock.advance(seconds=61)
    write(ending_memory)
    assert len(ending_memory.facts.query(subject="Petra", predicate="lives_in")) == 1
    assert ending_memory.check().ok


def test_a_retired_memory_takes_its_facts_to_rest_and_back(ending_memory: Memory) -> None:
    first, second = learned(ending_memory), learned(ending_memory)
    ending_memory.retire(first)
    assert len(ending_memory.facts.query()) == 1, "it has another source"
    ending_memory.retire(second)
    assert "Oulu" not in said_until(ending_memory)
    ending_memory.reactivate(first)
    assert len(ending_memory.facts.query()) == 1
    assert "Oulu" in said_until(ending_memory)


def test_retiring_leaves_an_immutable_fact_and_names_what_was_asked_for(
    ending_memory: Memory,
) -> None:
    source = learned(ending_memory)
    assert [each.id for each in ending_memory.retire(source)] == [source]
    assert [each.id for each in ending_memory.reactivate(source)] == [source]
    (fact,) = ending_memory.facts.query()
    ending_memory.update(fact.id, immutable=True)
    ending_memory.retire(source)
    assert not ending_memory.get(fact.id).dormant


@pytest.mark.parametrize("read", ["observe", "learn"])
def test_an_updated_text_is_read_anew(ending_memory: Memory, read: str) -> None:
    if read == "observe":
        target = ending_memory.observe("Petra lives in Oulu.").records[0].id
    else:
        target = learned(ending_memory)
    ending_memory.update(target, text="Petra lives in Turku.")
    assert "Oulu" not in said_until(ending_memory, ALL)
    assert [each.object for each in ending_memory.facts.query(subject="Petra")] == ["Turku"]
    assert {each.name for each in ending_memory.entities.all()} >= {"Petra", "Turku"}


def test_what_was_never_read_is_not_read_when_it_changes(ending_memory: Memory) -> None:
    target = ending_memory.remember("Petra lives in Oulu.")
    ending_memory.update(target, text="Petra lives in Turku.")
    assert ending_memory.facts.query() == []
