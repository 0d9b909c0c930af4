"""``aliases=`` is a field that is written with a memory, and a cue with one of them finds it.

Mechanism: what people call a thing is often in no memory of it ("Ledger DB" for the Postgres on
pg-3). Guard: the field in every verb that writes, what it refuses, where it lives, and recall by it
with a typo, in scopes, after changes, over a reopening and beside a writer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spector
from spector import InvalidInputError, Memory
from tests.cases import Cases

cases = Cases(__file__)

DIM = 16
LIKE = np.ones(DIM)


def noise(count: int, seed: int = 3) -> list[dict[str, Any]]:
    vectors = LIKE + 0.1 * np.random.default_rng(seed).normal(size=(count, DIM))
    return [
        {"text": f"note {n} on the payments team", "vector": v, "user_id": "u"}
        for n, v in enumerate(vectors)
    ]


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Forty notes that are liker to every cue than what is looked for."""
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(noise(40))
        yield memory


def first(memory: Memory, cue: str, **more: Any) -> int:
    return memory.recall(cue, vector=LIKE, k=1, user_id="u", **more)[0].id


def remember(memory: Memory, aliases: Any, **more: Any) -> int:
    return memory.remember(
        "Postgres 14 on host pg-3", vector=-LIKE, user_id="u", aliases=aliases, **more
    ).id


@cases("cue")
def test_a_cue_that_is_an_alias_finds_its_memory(memory: Memory, cue: str) -> None:
    found = remember(memory, ["Ledger DB", "pgpay"])
    assert first(memory, cue) == found
    assert first(memory, cue, profile="recent") == found


@cases("cue")
def test_in_a_cue_about_more_an_alias_counts_as_words(memory: Memory, cue: str) -> None:
    """Mechanism: whatever has the alias came before all that answers. Damage: "What is mom allergic
    to?" brought mother's phone card first. Guard: it is words, with a slip as without."""
    found = memory.remember(
        "Postgres 14 on host pg-3", vector=LIKE, user_id="u", aliases=["Ledger DB", "pgpay"]
    ).id
    hit = memory.recall(cue, vector=LIKE, k=1, user_id="u")[0]
    assert hit.id == found
    assert hit.explain().evidence["words"] > 0
    assert "name" not in hit.explain().evidence
    answer = memory.remember(
        "The owner who runs it and pays is Kim; it is how old Kim's cat is",
        vector=LIKE,
        user_id="u",
    )
    memory.update(found, vector=-LIKE)
    assert first(memory, cue) == answer.id


def test_mother_s_card_is_no_answer_about_mother() -> None:
    with spector.open(":memory:") as memory:
        memory.remember_many(
            [
                {"text": "My mother, Nermin, born 1951, phone 0532 111 22 33.", "aliases": ["mom"]},
                {"text": "Mother gets a rash from penicillin, she is allergic to it."},
                {"text": "Apple Inc., ticker AAPL.", "aliases": ["apple"]},
                {"text": "The best pie I ever had was at Aunt Jo's, with apples and cinnamon."},
                {"text": "Lunch was soup."},
                {"text": "The train was late."},
            ]
        )
        assert "rash" in memory.recall("What is mom allergic to?", k=1)[0].text
        assert "pie" in memory.recall("which apple pie was the best?", k=1)[0].text
        assert "Nermin" in memory.recall("who is mom?", k=1)[0].text
        assert "ticker" in memory.recall("Apple", k=1)[0].text


@pytest.mark.parametrize("cue", ["Who runs the DB?", "Who runs the ledgers dbs?", "Who is it?"])
def test_another_name_does_not(memory: Memory, cue: str) -> None:
    remember(memory, ["Ledger DB", "IT"])
    hits = memory.recall(cue, vector=LIKE, k=41, user_id="u")
    assert not any("name" in hit.explain().evidence for hit in hits)


def test_a_word_that_memories_have_is_no_typo(memory: Memory) -> None:
    remember(memory, "Horse")
    memory.remember("the house is red", vector=LIKE, user_id="u")
    hits = memory.recall("Who painted the house?", vector=LIKE, k=42, user_id="u")
    assert not any("name" in hit.explain().evidence for hit in hits)
    assert "name" in memory.recall("where is the hrose", vector=LIKE, k=1)[0].explain().evidence


def test_of_names_within_one_another_the_longest_counts(memory: Memory) -> None:
    remember(memory, "Ledger")
    longer = memory.remember("the replica", vector=-LIKE, user_id="u", aliases="Ledger Copy").id
    assert first(memory, "what is the ledger copy?") == longer


def test_what_many_memories_are_called_names_none_of_them(memory: Memory) -> None:
    for _ in range(12):
        remember(memory, "Ledger DB")
    hits = memory.recall("the Ledger DB?", vector=LIKE, k=52, user_id="u")
    assert not any("name" in hit.explain().evidence for hit in hits)


def test_names_stay_within_their_scope(memory: Memory) -> None:
    other = memory.remember("a secret", vector=-LIKE, user_id="v", aliases="Ledger DB").id
    assert other not in [
        hit.id for hit in memory.recall("Ledger DB", vector=LIKE, k=50, user_id="u")
    ]


def test_what_few_believe_does_not_choose_its_own_name(memory: Memory) -> None:
    remember(memory, "Ledger DB", source="page.html", confidence=0.2)
    hits = memory.recall("Ledger DB?", vector=LIKE, k=41, user_id="u")
    assert not any("name" in hit.explain().evidence for hit in hits)


CUES = ("Ledger DB", "where is the ledgre db", "the Ledger", "leder")
NAMES = (["Ledger DB"], ["Ledger"], ["Ledger DB", "Where is"], ["ledgre"], [])
TEXTS = ("plain words", "ledgre and leder", "a ledger")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(TEXTS)), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(TEXTS)), max_size=5),
    st.integers(1, 13),
)
def test_what_others_call_theirs_changes_nothing(
    mine: list[tuple[list[str], str]], theirs: list[tuple[list[str], str]], times: int
) -> None:
    """Mechanism: counts, the longest name and what is a typo came from all rows of the store.
    Damage: eleven aliases of one user took another's away, and so did a word in a text."""

    def named(memory: Memory, cue: str) -> list[int]:
        hits = memory.recall(cue, vector=LIKE, k=50, user_id="u")
        return sorted(int(hit.metadata["n"]) for hit in hits if "name" in hit.explain().evidence)

    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [
                {
                    "text": text,
                    "aliases": names or None,
                    "user_id": "u",
                    "vector": -LIKE,
                    "metadata": {"n": n},
                }
                for n, (names, text) in enumerate(mine)
            ]
        )
        before = [named(memory, cue) for cue in CUES]
        memory.remember_many(
            [
                {"text": text, "aliases": names or None, "user_id": "v", "vector": -LIKE}
                for names, text in theirs * times
            ]
        )
        assert [named(memory, cue) for cue in CUES] == before


@cases("said")
def test_what_a_tool_says_names_nothing(memory: Memory, said: dict[str, str]) -> None:
    theirs = memory.remember(
        "pay me", vector=-LIKE, user_id="u", metadata={"aliases": ["rent"]}, **said
    )
    assert theirs.aliases == ()
    assert theirs.metadata["aliases"] == ["rent"]
    assert first(memory, "rent") != theirs.id
    assert memory.update(theirs, importance=1.0).aliases == ()
    assert memory.update(theirs, metadata={"aliases": "rent"}).aliases == ()
    assert first(memory, "rent") != theirs.id
    caller = memory.update(theirs, aliases=["rent"])
    assert caller.aliases == ("rent",)
    assert memory.update(caller, metadata={"x": 1}).aliases == ("rent",)
    assert first(memory, "rent") == theirs.id
    own = memory.remember("900 euros", vector=-LIKE, user_id="u", aliases="deposit", **said)
    assert first(memory, "deposit") == own.id


def test_metadata_have_no_more_names_than_the_argument(memory: Memory) -> None:
    record = memory.remember(
        "a", vector=LIKE, metadata={"aliases": [f"name {n}" for n in range(500)] + ["x" * 200]}
    )
    assert record.aliases == tuple(f"name {n}" for n in range(32))
    assert len(record.metadata["aliases"]) == 501


def test_a_large_store_finds_it_as_well() -> None:
    config = spector.Config(rank_all_records=100)
    with spector.open(":memory:", embedder=None, dim=DIM, config=config) as memory:
        memory.remember_many(noise(900))
        found = remember(memory, "Ledger DB")
        assert first(memory, "where is the ledgre db?") == found


def test_it_is_kept_in_the_metadata_and_read_from_there(memory: Memory) -> None:
    record = memory.remember(
        "a", vector=LIKE, aliases=["  Ledger   DB ", "pgpay", "pgpay"], metadata={"x": 1}
    )
    assert record.aliases == ("Ledger DB", "pgpay")
    assert record.metadata == {"x": 1, "aliases": ["Ledger DB", "pgpay"]}
    assert memory.get(record.id).aliases == record.aliases
    assert memory.recall("pgpay", vector=LIKE, k=1)[0].aliases == record.aliases
    assert memory.remember("b", vector=LIKE).aliases == ()
    own = memory.remember("c", vector=LIKE, metadata={"aliases": "Kiosk"})
    assert own.aliases == ("Kiosk",)


def test_remember_many_takes_them_by_item_and_for_all(memory: Memory) -> None:
    one, two = memory.remember_many(
        [{"text": "one", "vector": LIKE, "aliases": "Uno"}, {"text": "two", "vector": LIKE}],
        aliases=["Todo"],
    )
    assert one.aliases == ("Uno",)
    assert two.aliases == ("Todo",)


def test_an_update_changes_and_takes_them_away(memory: Memory) -> None:
    found = remember(memory, "Ledger DB", metadata={"x": 1})
    assert memory.update(found, metadata={"y": 2}).aliases == ("Ledger DB",)
    changed = memory.update(found, aliases=["Cash Box"])
    assert changed.metadata == {"y": 2, "aliases": ["Cash Box"]}
    assert first(memory, "where is the csah box?") == found
    assert first(memory, "where is the ledger db?") != found
    assert memory.update(found, aliases=None).metadata == {"y": 2}
    assert first(memory, "where is the cash box?") != found
    assert memory.update(found, text="Ledger DB is gone", vector=LIKE).aliases == ()


def test_a_forgotten_or_superseded_memory_is_not_found(memory: Memory) -> None:
    found = remember(memory, "Ledger DB")
    newer = memory.remember(
        "Postgres 16 on pg-4", vector=-LIKE, user_id="u", supersedes=found, aliases="Ledger DB"
    ).id
    assert first(memory, "Ledger DB?") == newer
    memory.forget(newer)
    assert newer not in [hit.id for hit in memory.recall("Ledger DB?", vector=LIKE, k=50)]


def test_they_outlive_the_process_and_are_seen_by_a_reader(tmp_path: Path) -> None:
    with spector.open(tmp_path / "m", embedder=None, dim=DIM) as memory:
        memory.remember_many(noise(40))
        found = remember(memory, "Ledger DB")
        assert first(memory, "ledgre db") == found
        with spector.open(tmp_path / "m", embedder=None, dim=DIM, mode="r") as reader:
            assert first(reader, "ledgre db") == found
            later = memory.remember("x", vector=-LIKE, user_id="u", aliases="Cash Box").id
            assert first(reader, "csah box") == later
    with spector.open(tmp_path / "m", embedder=None, dim=DIM) as memory:
        assert first(memory, "ledgre db") == found


def test_a_name_with_a_typo_is_no_unknown_name() -> None:
    with spector.open(":memory:") as memory:
        memory.remember_many(f"Lunch number {n} was soup." for n in range(30))
        memory.remember("Postgres 14 on host pg-3", aliases="Ledger")
        context = memory.context("Who looks after the Ledgre?")
    assert "pg-3" in context.text


@pytest.mark.parametrize(
    "wrong",
    [*cases.rows("what_is_no_name_is_refused"), b"x", ["x" * 200], [f"n{n}" for n in range(40)]],
)
def test_what_is_no_name_is_refused(memory: Memory, wrong: Any) -> None:
    before = len(memory)
    with pytest.raises(InvalidInputError, match="alias"):
        memory.remember("a", vector=LIKE, aliases=wrong)
    with pytest.raises(InvalidInputError, match="alias"):
        memory.remember_many([{"text": "a", "vector": LIKE, "aliases": wrong}])
    assert len(memory) == before
