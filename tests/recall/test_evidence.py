"""What the read path adds to the kernel's score, seen from outside.

Mechanism: one small store a case in which two memories differ in one thing. Damage: a term that is
computed and not added, added with the wrong sign, or on another scale than the profile's. Guard:
every constant of ``Ranking`` moves a score as its documentation says, or this file fails; and
whatever is switched off leaves the kernel's score as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

import spector
from spector import PROFILES, Config, InvalidInputError, ManualClock, Memory, Ranking
from spector.kernel.contract.scanner import ScanResult
from spector.search.scoring import EvidenceSearch
from tests.api.helpers import ids, texts
from tests.cases import Cases
from tests.conftest import NOW

cases = Cases(__file__)

DIM = 16
OFF = Ranking(
    near=0,
    words_fact=0,
    words_talk=0,
    words_request=0,
    about=0,
    preference=0,
    short=0,
    question=0,
    time_words=0,
    by_name=False,
    by_time=False,
    newer=False,
)


def near_to(cue: np.ndarray, cosine: float, seed: int) -> np.ndarray:
    """A unit vector with this cosine to ``cue``."""
    other = np.random.default_rng(seed).normal(size=len(cue))
    other -= (other @ cue) * cue
    other /= np.linalg.norm(other)
    return np.asarray(cosine * cue + np.sqrt(1 - cosine**2) * other)


CUE = np.eye(DIM)[0]


@contextmanager
def mind(**config: Any) -> Iterator[Memory]:
    with spector.open(
        ":memory:", embedder=None, dim=DIM, clock=ManualClock(NOW), config=Config(**config)
    ) as memory:
        yield memory


def profile(**ranking: Any) -> spector.ScoringProfile:
    """The default profile with some constants of its ranking changed."""
    balanced = PROFILES["balanced"]
    return dataclasses.replace(balanced, ranking=dataclasses.replace(balanced.ranking, **ranking))


def tell(memory: Memory, *lines: str, session: str | None = "s", **more: Any) -> list[int]:
    """Turns "Ann: text" of one session, all equally like the cue; returns their ids."""
    made = []
    for n, line in enumerate(lines):
        speaker, _, text = line.rpartition(": ")
        made.append(
            memory.remember(
                {"role": speaker or None, "content": text},
                vector=near_to(CUE, 0.3, n),
                session_id=session,
                **more,
            ).id
        )
    return made


def of(memory: Memory, cue: str, record_id: int, **ranking: Any) -> dict[str, float]:
    hits = memory.recall(cue, vector=CUE, k=100, profile=profile(**ranking))
    why = next(hit for hit in hits if hit.id == record_id).explain()
    return {"lexical": why.lexical, "fused": why.fused, **why.evidence}


FILLER = [f"Ben: filler talk number {n} goes on and on" for n in range(20)]
CASES: dict[str, Callable[[Memory], None]] = {}


def case(*names: str) -> Callable[[Callable[[Memory], None]], Callable[[Memory], None]]:
    def note(function: Callable[[Memory], None]) -> Callable[[Memory], None]:
        CASES.update(dict.fromkeys(names, function))
        return function

    return note


@case("near")
def _a_turn_is_likened_by_its_neighbours_too(memory: Memory) -> None:
    first = memory.remember(
        {"role": "a", "content": "x"}, vector=near_to(CUE, 0.1, 1), session_id="s"
    ).id
    memory.remember({"role": "b", "content": "y"}, vector=CUE, session_id="s")
    assert of(memory, "what is it?", first)["near"] > 0.05
    assert "near" not in of(memory, "what is it?", first, near=0.0)


@case("words_fact", "words_talk", "words_request")
def _what_a_cue_is_decides_how_much_its_words_count(memory: Memory) -> None:
    (spoken, *_) = tell(memory, "Ann: the violin is in the attic", *FILLER)
    for kind, cue in (
        ("fact", "Where is the violin now?"),
        ("talk", "I saw a violin today."),
        ("request", "Can you recommend a violin?"),
    ):
        name, off = f"words_{kind}", {"by_name": False}
        twice = 2 * getattr(Ranking(), name)
        once = of(memory, cue, spoken, **off)["lexical"]
        assert once > 0
        assert of(memory, cue, spoken, **off, **{name: twice})["lexical"] == pytest.approx(2 * once)
        assert of(memory, cue, spoken, **off, **{name: 0.0})["lexical"] == 0


@case("before", "after", "long_words")
def _words_of_the_turns_around_count_in_part(memory: Memory) -> None:
    question, answer, later, *_ = tell(
        memory, "Ann: where did you put the violin?", "Ben: up there", "Ann: I see", *FILLER
    )
    cue = "Where is the violin?"
    off = {"by_name": False}
    values = [of(memory, cue, i, **off)["lexical"] for i in (question, answer, later)]
    assert values[0] > values[1] > values[2] > 0
    assert of(memory, cue, answer, before=(), **off)["lexical"] == 0
    assert of(memory, cue, answer, before=(0.1,), **off)["lexical"] < values[1]
    # a long turn gives less of each of its words
    assert of(memory, cue, answer, long_words=1.0, **off)["lexical"] < values[1]
    # ... and the turn before learns from the one after it
    backwards = of(memory, "Is it up there?", question, **off)["lexical"]
    assert backwards >= of(memory, "Is it up there?", question, after=(), **off)["lexical"]


@case("k1", "b")
def _repeats_and_length_count_as_bm25_has_them(memory: Memory) -> None:
    once, often, long = tell(
        memory,
        "Ann: violin lesson",
        "Ann: violin violin violin",
        "Ann: violin lesson with quite a lot of other words said about other things as well",
        session=None,
    )
    cue, off = "Which violin was it?", {"by_name": False}
    assert of(memory, cue, often, **off)["lexical"] > of(memory, cue, once, **off)["lexical"]
    assert of(memory, cue, once, **off)["lexical"] > of(memory, cue, long, **off)["lexical"]
    assert of(memory, cue, once, b=0.0, **off)["lexical"] == pytest.approx(
        of(memory, cue, long, b=0.0, **off)["lexical"]
    )
    assert of(memory, cue, often, k1=0.0, **off)["lexical"] == pytest.approx(
        of(memory, cue, once, k1=0.0, **off)["lexical"]
    )


@case("about")
def _who_is_asked_about_is_heard_first(memory: Memory) -> None:
    hers, his = tell(memory, "Ann: we went away", "Ben: we went away", session=None)
    cue = "Where did Ann go on holiday?"
    assert of(memory, cue, hers)["about"] > 0
    assert "about" not in of(memory, cue, his)
    assert "about" not in of(memory, cue, hers, about=0.0)
    assert "about" not in of(memory, "Where did Ann and Ben go?", hers)


@case("by_time")
def _a_time_that_a_cue_names_is_all_that_is_asked_for(memory: Memory) -> None:
    old = memory.remember(
        "we talked about boats", vector=CUE, event_time="2026-02-01", role="user"
    ).id
    new = memory.remember(
        "we talked about it", vector=near_to(CUE, 0.5, 1), event_time="2026-11-12", role="user"
    ).id
    assert ids(memory.recall("What did we talk about last week?", vector=CUE)) == [new]
    cue = "What were we talking of last week?"
    assert ids(memory.recall(cue, vector=CUE)) == [new]
    assert ids(memory.recall(cue, vector=CUE, profile=profile(by_time=False))) == [old, new]


@case("preference")
def _what_the_user_likes_comes_with_a_request(memory: Memory) -> None:
    told, said = tell(
        memory,
        "user: I prefer dishes without cheese",
        "assistant: I prefer dishes without cheese",
        session=None,
    )
    cue = "Can you suggest a recipe?"
    assert of(memory, cue, told)["preference"] > 0
    assert "preference" not in of(memory, cue, said)
    assert "preference" not in of(memory, cue, told, preference=0.0)
    assert "preference" not in of(memory, "Which dishes were they?", told)


@case("short", "short_words", "question", "question_words", "time_words")
def _the_form_of_a_text_says_whether_it_answers(memory: Memory) -> None:
    brief, asks, dated = tell(
        memory, "Ann: Wow!", "Ann: what did you do?", "Ann: we left yesterday", session=None
    )
    cue = "Where did they stay?"
    assert of(memory, cue, brief)["short"] < 0
    assert of(memory, cue, brief, short_words=60.0)["short"] < of(memory, cue, brief)["short"]
    assert "short" not in of(memory, cue, brief, short=0.0)
    assert of(memory, cue, asks)["question"] < 0
    assert "question" not in of(memory, cue, brief)
    fewer = of(memory, cue, asks, question_words=10.0)["question"]
    assert fewer > of(memory, cue, asks)["question"]
    assert "question" not in of(memory, cue, asks, question=0.0)
    assert of(memory, cue, dated)["time_words"] > 0
    assert "time_words" not in of(memory, cue, dated, time_words=0.0)
    assert "short" not in of(memory, "They stayed away. It rained.", brief)  # no question


@case("by_name")
def _a_name_alone_puts_its_memory_first(memory: Memory) -> None:
    memory.remember("something else", vector=CUE)
    named = memory.remember("the palimpsest is back", vector=-CUE).id
    assert memory.recall("palimpsest", vector=CUE, k=1)[0].id == named
    unnamed = of(memory, "palimpsest", named, by_name=False)
    assert 0 < unnamed["lexical"] < of(memory, "palimpsest", named)["lexical"]


@case("newer")
def _the_newer_of_two_statements_comes_first(memory: Memory) -> None:
    old, new = (
        memory.remember(text, vector=near_to(CUE, cosine, 4), event_time=time).id
        for text, cosine, time in (
            ("my locker code is 3307", 0.9, "2026-01-01"),
            ("my locker code is 91", 0.8, "2026-02-01"),
        )
    )
    assert memory.recall("What is my locker code?", vector=CUE, k=1)[0].id == new
    assert of(memory, "What is my locker code?", new)["newer"] > 0
    assert "newer" not in of(memory, "What is my locker code?", new, newer=False)
    chosen = profile(newer=False)
    assert memory.recall("What is my locker code?", vector=CUE, k=1, profile=chosen)[0].id == old


@case("fusion", "rrf_k")
def _ranks_in_place_of_values(memory: Memory) -> None:
    like = memory.remember("nothing in common", vector=CUE).id
    word = memory.remember("the violin of the house", vector=near_to(CUE, 0.2, 4)).id
    other = memory.remember("a stone", vector=near_to(CUE, 0.5, 5)).id
    for k in (60.0, 10.0):
        chosen = profile(fusion="rrf", rrf_k=k, by_name=False)
        hits = memory.recall("Where is that violin kept?", vector=CUE, profile=chosen)
        assert {hit.id: pytest.approx(hit.score, abs=1e-6) for hit in hits} == {
            like: 1 / (k + 1),
            word: 1 / (k + 3) + 1 / (k + 1),
            other: 1 / (k + 2),
        }


@pytest.mark.parametrize("name", CASES)
def test_every_constant_moves_the_score_as_documented(name: str) -> None:
    with mind() as memory:
        CASES[name](memory)


def test_every_constant_has_a_case() -> None:
    assert set(CASES) == {field.name for field in dataclasses.fields(Ranking)}


# -- the whole ------------------------------------------------------------------------------------


def crowd(memory: Memory, count: int = 300) -> None:
    rng = np.random.default_rng(7)
    words = "river stone lantern harbour meadow copper violin marble falcon thunder".split()
    memory.remember_many(
        [
            {
                "text": " ".join(rng.choice(words, size=5)) + ("?" if n % 5 == 0 else f" {n}"),
                "role": ("Ann", "Ben")[n % 2],
                "vector": rng.normal(size=DIM),
                "session_id": f"s{n // 9}",
                "event_time": f"2026-{1 + n % 9:02}-{1 + n % 27:02}",
                "importance": float(rng.random()),
            }
            for n in range(count)
        ]
    )


CUES = cases.rows("CUES")


@pytest.mark.parametrize("cue", CUES)
def test_switched_off_nothing_is_left_but_the_kernel_s_score(cue: str) -> None:
    with mind() as memory:
        crowd(memory)
        off = dataclasses.replace(PROFILES["balanced"], ranking=OFF)
        hits = memory.recall(cue, vector=CUE, k=50, profile=off)
        plain = memory.recall(cue, vector=CUE, k=50, lexical=False)
        assert [(h.id, h.score) for h in hits] == [(h.id, h.score) for h in plain]
        assert all(hit.explain().evidence == {} for hit in hits)


@pytest.mark.parametrize("cue", CUES)
def test_the_kernel_s_score_is_kept_whatever_is_added(cue: str) -> None:
    with mind() as memory:
        crowd(memory)
        plain = {h.id: h.score for h in memory.recall(cue, vector=CUE, k=300, lexical=False)}
        for hit in memory.recall(cue, vector=CUE, k=300, profile=profile()):
            why = hit.explain()
            assert why.fused == pytest.approx(plain[hit.id], abs=1e-5)
            total = why.fused
            for value in why.evidence.values():
                total += value
            assert why.score == hit.score == total


def test_every_term_is_listed_apart() -> None:
    """Mechanism: words and a name were one number. Damage: nobody saw that a hit stood
    where it did because the cue named it, and not by what it says."""
    with mind() as memory:
        crowd(memory)
        named = memory.remember({"role": "Ann", "content": "the copper palimpsest"}, vector=CUE).id
        why = {hit.id: hit.explain() for hit in memory.recall("copper palimpsest", vector=CUE)}
        told = why[named].evidence
        assert {"words", "name"} <= set(told)
        assert told["name"] > told["words"] > 0
        assert why[named].lexical == pytest.approx(sum(told[n] for n in ("words", "name")))
        lines = str(why[named]).splitlines()
        assert all(any(line.split()[0] == name for line in lines) for name in told)
        out = next(h for h in memory.recall("copper palimpsest", vector=CUE) if h.id == named)
        assert set(out.to_dict()["explain"]["evidence"]) == set(told)


@pytest.mark.parametrize("cue", CUES)
def test_the_best_of_a_large_store_are_those_of_the_same_store_ranked_whole(cue: str) -> None:
    """With 700 memories nearly all that matters is a candidate; the scale is that of a sample."""
    found = []
    for limit in (1, 10_000):
        with mind(rank_all_records=limit) as memory:
            crowd(memory, 700)
            hits = memory.recall(cue, vector=CUE, k=10)
            found.append((ids(hits), [hit.score for hit in hits]))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], abs=5e-3)


def test_the_scan_of_a_large_store_is_asked_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanism: the time of a scan grows with the hits wanted of it. Damage: at 400,000 memories
    128 candidates took as long as reading every vector."""
    seen: list[int] = []
    best_of = EvidenceSearch.best_of

    def spied(*args: Any, **more: Any) -> Any:
        seen.append(len(next(each for each in args if isinstance(each, ScanResult))))
        return best_of(*args, **more)

    monkeypatch.setattr(EvidenceSearch, "best_of", spied)
    with mind(rank_all_records=1) as memory:
        crowd(memory)
        memory.recall(CUES[0], vector=CUE, k=10)
        memory.recall(CUES[0], vector=CUE, k=50)
    assert seen == [64, 64, 160]


def test_what_is_forgotten_leaves_no_trace_in_the_scores_around_it() -> None:
    answers = []
    for forgotten in (False, True):
        with mind() as memory:
            made = tell(memory, "Ann: the violin is here", *FILLER[:5])
            if forgotten:
                extra = tell(memory, "Ann: violin violin violin")
                memory.recall("violin", vector=CUE)
                memory.forget(extra)
            hits = memory.recall("Where is the violin?", vector=CUE)
            answers.append([(made.index(hit.id), round(hit.score, 6)) for hit in hits])
    assert answers[0] == answers[1]


def test_words_of_another_user_s_turns_never_count_as_one_s_own() -> None:
    """Both called their session "1"."""
    with mind() as memory:
        mine = tell(memory, "Ann: up there", session="1", user_id="ann")[0]
        tell(memory, "Eve: where is the violin?", session="1", user_id="eve")
        hits = memory.recall("Where is the violin?", vector=CUE, user_id="ann")
        assert ids(hits) == [mine]
        assert hits[0].explain().lexical == 0
        assert "near" not in hits[0].explain().evidence


# -- what a recall can be asked -------------------------------------------------------------------


def test_as_of_shows_what_held_then(tmp_path: Any) -> None:
    with mind() as memory:
        old = memory.remember(
            "Ann lives in Bonn",
            vector=CUE,
            event_time="2026-01-01",
            valid_from="2026-01-01",
            valid_until="2026-06-01",
        ).id
        new = memory.remember(
            "Ann lives in Rome", vector=CUE, event_time="2026-06-01", valid_from="2026-06-01"
        ).id
        cue = "Where does Ann live?"
        assert ids(memory.recall(cue, vector=CUE)) == [new]
        assert ids(memory.recall(cue, vector=CUE, as_of="2026-03-01")) == [old]
        assert ids(memory.recall(cue, vector=CUE, as_of="2026-07-01")) == [new]
        assert memory.recall(cue, vector=CUE, as_of="2025-07-01") == []
        assert ids(memory.recall(vector=CUE, as_of="2026-03-01")) == [old]


def test_as_of_knows_what_has_been_superseded_since(tmp_path: Any) -> None:
    lines = [
        '{"text": "lives in Bonn", "flags": ["superseded"], "event_time": "2026-01-01T00:00:00Z",'
        ' "valid_until": "2026-06-01T00:00:00Z"}',
        '{"text": "was wrong", "flags": ["superseded"], "event_time": "2026-01-01T00:00:00Z"}',
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with spector.open(":memory:", embedder="default", clock=ManualClock(NOW)) as memory:
        memory.import_(tmp_path / "x.jsonl")
        assert memory.recall("lives in") == []
        assert texts(memory.recall("lives in", as_of="2026-03-01")) == ["lives in Bonn"]
        assert memory.recall("lives in", as_of="2026-07-01") == []
        everything = memory.recall("lives in", as_of="2026-03-01", include=["superseded"])
        assert len(everything) == 2


def test_few_of_each_session_and_as_many_as_asked_for() -> None:
    with mind() as memory:
        for session in range(6):
            memory.remember_many(
                {"text": f"{n}", "session_id": f"s{session}", "vector": near_to(CUE, cosine, n)}
                for n, cosine in enumerate([0.9 - session / 10] * 30)
            )
        hits = memory.recall(vector=CUE, k=6, per_session=1)
        assert [hit.session_id for hit in hits] == [f"s{n}" for n in range(6)]
        assert hits.by_session().keys() == {f"s{n}" for n in range(6)}
        twice = memory.recall(vector=CUE, k=6, per_session=2)
        assert [len(each) for each in twice.by_session().values()] == [2, 2, 2]
        assert len(memory.recall(vector=CUE, k=100, per_session=1)) == 6


@cases("wrong")
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with mind() as memory, pytest.raises(InvalidInputError):
        memory.recall("x", vector=CUE, **wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"near": -1},
        {"k1": float("nan")},
        {"before": 0.5},
        {"after": (1, 2, 3, 4, 5)},
        {"by_time": 1},
        {"by_name": 1},
        {"fusion": "ranks"},
        {"about": True},
    ],
)
def test_a_ranking_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Ranking(**wrong)


# -- Mechanism: two memories are tied; the one that counts comes first and a context says which ----
#
# Damage: an assistant's later word is read as the present state of what the user said. Guard: the
# user's word stands directly before the other's, whoever spoke last, and the older of two of one
# speaker is quoted only behind the newer.


START = datetime(2026, 4, 6, 9, tzinfo=UTC)
#: what the user said, what another one said of the same, who, and a question
SAID = tuple(cases.rows("SAID"))


@pytest.fixture
def told_memory() -> Iterator[Memory]:
    with spector.open(":memory:") as told_memory:
        yield told_memory


def tell_each(told_memory: Memory, *said: tuple[str, str]) -> None:
    """Turns of one session, a day apart."""
    with told_memory.session("s", user_id="ida") as session:
        for day, (role, text) in enumerate(said):
            at = START + timedelta(days=day)
            session.observe({"role": role, "content": text, "timestamp": at})


@pytest.mark.parametrize("user_first", [True, False])
@pytest.mark.parametrize(("own", "other", "role", "cue"), SAID)
def test_the_users_word_comes_directly_before_that_of_others(
    told_memory: Memory, own: str, other: str, role: str, cue: str, user_first: bool
) -> None:
    said = [("user", own), (role, other)]
    tell_each(told_memory, *(said if user_first else said[::-1]))
    hits = told_memory.recall(cue, user_id="ida")
    assert [hit.role for hit in hits] == ["user", role]
    assert hits.outdated == {hits[1].id: (hits[0].id,)}
    lines = told_memory.context(cue, user_id="ida", always=True, cut=0).text.splitlines()
    at = next(n for n, line in enumerate(lines) if "(this counts)" in line)
    assert own[:20] in lines[at]
    assert "said otherwise, 2026-04-0" in lines[at + 1]
    assert other[:20] in lines[at + 1]


def test_what_is_no_other_value_of_the_same_is_not_tied(told_memory: Memory) -> None:
    tell_each(
        told_memory,
        ("user", "I bought a canoe for 400 euros."),
        ("assistant", "A good canoe costs 900 euros."),
        ("assistant", "You bought it in Ghent."),
    )
    hits = told_memory.recall("How much was my canoe?", user_id="ida")
    assert hits.outdated == {}
    assert not any(hit.conflicts for hit in hits)


def test_the_older_of_two_is_quoted_only_behind_the_newer(told_memory: Memory) -> None:
    tell_each(
        told_memory,
        ("user", "I usually take the ferry to the studio."),
        ("user", "These days I cycle to the studio instead."),
    )
    ask = {"cue": "How do I get to the studio?", "user_id": "ida", "always": True, "cut": 0}
    lines = told_memory.context(**ask).text.splitlines()
    at = lines.index('- (earlier, 2026-04-06: "I usually take the ferry to the studio.")')
    assert "cycle" in lines[at - 1]
    for most in range(20, 90):  # never the older one without the newer
        text = told_memory.context(**ask, max_tokens=most).text
        assert "cycle" in text or "ferry" not in text


def test_a_moment_of_before_has_its_own_order(told_memory: Memory) -> None:
    clock = spector.ManualClock(START)
    with spector.open(":memory:", clock=clock) as told_memory:
        told_memory.observe("I usually take the ferry to the studio.", user_id="ida")
        clock.advance(days=3)
        told_memory.observe("These days I cycle to the studio instead.", user_id="ida")
        ask = {"cue": "How do I get to the studio?", "user_id": "ida"}
        assert [hit.text.split()[0] for hit in told_memory.recall(**ask)] == ["These", "I"]
        (then,) = told_memory.recall(**ask, as_of=START + timedelta(days=1))
        assert "ferry" in then.text
        text = told_memory.context(**ask, as_of=START + timedelta(days=1), always=True).text
        assert "(earlier" not in text
