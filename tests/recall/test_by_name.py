"""A cue that names a memory finds it, and more hits never change the order of fewer.

Mechanism: likeness could outweigh a rare word, and scan and full text were cut at fixed numbers of
candidates before they were added up. Damage: an incident number that one memory has was not among
its own hits; the first ten of 500 hits were other ones than the ten. Guard: named memories come
first, and both channels are widened until nothing outside of them can be among the best.
"""

from __future__ import annotations

import numpy as np
import pytest

import spector
from spector.language.cues.intent import is_name

DIM = 16


def _vectors(count: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, DIM))


@pytest.mark.parametrize("profile", ["balanced", "recent", "spector", "cognitive"])
@pytest.mark.parametrize(
    "cue", ["ERR-55812", "what was ERR-55812 about?", "what came up with the build of ERR-55812?"]
)
def test_an_identifier_finds_its_record_whatever_the_vectors_say(cue: str, profile: str) -> None:
    like = np.ones(DIM)
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [
                {
                    "text": f"the build came up, note {n}",
                    "vector": like + 0.1 * v,
                    "importance": 1.0,
                }
                for n, v in enumerate(_vectors(400))
            ]
        )
        named = memory.remember(
            "a long note which says, among a good many other words, that ERR-55812 is back",
            vector=-like,
            importance=0.0,
            event_time="2020-01-01",
        )
        hits = memory.recall(cue, vector=like, k=3, profile=profile)
    assert hits[0].id == named.id
    assert hits[0].score == pytest.approx(hits[0].explain().score, abs=1e-5)


def test_a_single_rare_word_finds_its_record() -> None:
    like = np.ones(DIM)
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [{"text": f"note {n}", "vector": like + 0.1 * v} for n, v in enumerate(_vectors(300))]
        )
        named = memory.remember("the palimpsest is back", vector=-like, importance=0.0)
        assert memory.recall("palimpsest", vector=like, k=1)[0].id == named.id


@pytest.mark.parametrize("cue", ["İstanbul", "istanbul", "İSTANBUL ferries"])
def test_a_turkish_capital_is_looked_up_as_it_is_stored(cue: str) -> None:
    """Mechanism: lower case of İ is an i and a dot above, at which the word was cut."""
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [{"text": f"note {n}", "vector": v} for n, v in enumerate(_vectors(50))]
        )
        named = memory.remember("ferries of İstanbul", vector=-np.ones(DIM))
        assert memory.recall(cue, vector=np.ones(DIM), k=1)[0].id == named.id


@pytest.mark.parametrize("cue", ["Where is Ann?", "who is Ann", "How old is Ann?", "Ann nerede"])
def test_chatter_with_the_name_in_it_is_no_answer_to_a_question(cue: str) -> None:
    """Mechanism: of a short question one word is left, and the few that had it came first. Damage:
    "Hi, Ann!" stood before everything that says where she is."""
    like = np.ones(DIM)
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [{"text": f"note {n}", "vector": v} for n, v in enumerate(_vectors(50))]
        )
        chatter = memory.remember("Hi, Ann!", vector=-like)
        answer = memory.remember("she has moved to the coast", vector=like)
        hits = memory.recall(cue, vector=like, k=52)
        assert hits[0].id == answer.id
        why = next(hit for hit in hits if hit.id == chatter.id).explain()
        assert "name" not in why.evidence
        assert memory.recall("Ann", vector=like, k=1)[0].id == chatter.id


@pytest.mark.parametrize(
    ("cue", "is_one"),
    [
        ("Ann", True),
        ("palimpsest", True),
        ("deployment steps", True),
        (" Will ", True),
        ("mi casa", True),
        ("王芳", True),
        ("kim", True),
        ("Grüße,", True),
        ("Ann.", True),
        ("Will Smith", True),
        ("Can Yaman", True),
        ("Can Dündar", True),
        ("Do Kwon", True),
        ("Kim Çağlar", True),
        ("WILL SMITH", True),
        ("Node.js", True),
        ("Dr. Weiss", True),
        ("St. John", True),
        ("U.S. Steel", True),
        ("example.com", True),
        ("Ann Node.js.", True),
        ("What", False),
        ("Has", False),
        ("are", False),
        ("will rain", False),
        ("Can Ann?", False),
        ("Can I", False),
        ("Will You", False),
        ("Can Nerede", False),
        ("Ne zaman", False),
        ("Is Ann", False),
        ("Hello. Ann", False),
        ("...", False),
        ("Dr.", True),
        ("a..b", False),
        ("", False),
        ("Ann?", False),
        ("Where is Ann", False),
        ("who's Ann", False),
        ("Ayşe nerede", False),
        ("ne zaman", False),
        ("Hello, Ann", False),
        ("my old dentist", False),
        ("where\nAnn", False),
        ("x" * 99, False),
        ("Ann" + " " * 999 + "went home early", False),
    ],
)
def test_a_name_is_one_or_two_words_and_no_question(cue: str, is_one: bool) -> None:
    assert is_name(cue) is is_one


def test_fewer_hits_are_the_first_of_more() -> None:
    words = ["deploy", "pipeline", "window", "cake", "garden", "invoice"]
    rng = np.random.default_rng(8)
    clock = spector.ManualClock(1_800_000_000_000)  # ages are part of every score
    with spector.open(":memory:", embedder=None, dim=DIM, clock=clock) as memory:
        memory.remember_many(
            [
                {
                    "text": " ".join(rng.choice(words, size=3)) + f" {n}",
                    "vector": v,
                    "importance": float(rng.random()),
                }
                for n, v in enumerate(_vectors(3000))
            ]
        )
        for seed in range(6):
            cue = {"cue": "when is the deploy window", "vector": _vectors(1, 90 + seed)[0]}
            everything = [(h.id, h.score) for h in memory.recall(**cue, k=3000)]
            for k in (1, 10, 100):
                found = [(h.id, h.score) for h in memory.recall(**cue, k=k)]
                assert found == everything[:k]


@pytest.mark.parametrize(
    "gate", [{"min_importance": 0.9}, {"valence": (0.5, 1.0)}, {"categories": "decision"}]
)
def test_full_text_is_not_cut_before_the_gates_of_the_scan(gate: dict[str, object]) -> None:
    """More matches than are taken at once do not pass; the one that does is found."""
    like = np.ones(DIM)
    good = {"importance": 0.95, "valence": 0.9, "category": "decision"}
    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [{"text": "zebra zebra", "vector": v, "importance": 0.1} for v in _vectors(900)]
        )
        memory.remember_many(
            [
                {"text": f"note {n}", "vector": like + 0.5 * v, **good}
                for n, v in enumerate(_vectors(300))
            ]
        )
        wanted = memory.remember("a note that names the zebra once", vector=like * 0.9, **good)
        profile = spector.ScoringProfile(w_similarity=0.1, w_lexical=1.0)
        hits = memory.recall("zebra", vector=-like, k=1, profile=profile, **gate)
        assert hits[0].id == wanted.id


def test_how_another_user_writes_a_number_decides_nothing() -> None:
    """Mechanism: whether the memories know a spelling was asked of all users' words, so that
    "order4711" in one user's memory kept another's cue from meaning "order 4711"."""
    like = np.ones(DIM)

    def first(memory: spector.Memory) -> int:
        return memory.recall("Where is order4711?", vector=like, k=1, user_id="ann")[0].id

    with spector.open(":memory:", embedder=None, dim=DIM) as memory:
        wanted = [
            memory.remember(
                f"order {n} is packed", vector=-like if n == 4711 else like, user_id="ann"
            ).id
            for n in range(4700, 4720)
        ][11]
        assert first(memory) == wanted
        memory.remember("order4711 came back", vector=like, user_id="ben")
        assert first(memory) == wanted
