"""The protocol that recall is judged by.

Mechanism: three ways of writing the speaker, folds by a hash, standing ones that take places,
strangers' questions with the names swapped, gains paired by question. Damage if wrong: a change
that helps one set by chance looks like a gain, or a loss hides behind another way of writing.
Guard: small stores whose figures are plain.
"""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import results
from bench.recall.protocol import command, terms
from bench.recall.protocol import run as run_of_sets
from bench.recall.protocol.ask import Manner, _Mind, asked_of, texts_asked
from bench.recall.protocol.beliefs import beliefs
from bench.recall.protocol.folds import FOLDS, fold_of, part_of
from bench.recall.protocol.judge import MEASURES, gain, mean_of, of_part, spread
from bench.recall.protocol.names import Names, swapped
from bench.recall.protocol.page import docs_page
from bench.recall.protocol.settle import newest, settled
from bench.recall.protocol.tables import compare_table, quick_table, worse_of
from bench.recall.protocol.terms import WITHOUT, _picked, profile_without, worth, worth_table
from bench.recall.protocol.ways import message_of
from bench.recall.shape import Item, Question, Store
from bench.recall.vectors import Memoised, Shelf
from tests.bench.recall_samples import DAY, Recording, a_set, a_store

ODD, EVEN = date(2026, 11, 25), date(2026, 12, 1)


def test_each_way_writes_the_speaker_where_it_says() -> None:
    item = Item("a", "Hello", "Ann", "s", DAY, 0)
    assert message_of(item, "role")["role"] == "Ann"
    assert message_of(item, "name")["text"] == "Ann: Hello"
    assert "role" not in message_of(item, "name")
    assert message_of(item, "words")["text"] == "Hello"
    assert "Ann" not in str(message_of(item, "words"))
    assert "event_time" not in message_of(item, "words", "absent")
    assert message_of(item, "words", "fixed")["event_time"] != DAY


def test_folds_never_move_and_both_parts_have_groups() -> None:
    folds = {name: fold_of(name) for name in ("conv-26", "beam-1", "madial-0", "travel_hotel")}
    assert folds == {"conv-26": 4, "beam-1": 1, "madial-0": 4, "travel_hotel": 2}
    names = [f"group-{n}" for n in range(100)]
    assert {fold_of(name) for name in names} == set(range(FOLDS))
    for day in (ODD, EVEN):
        parts = [part_of(name, day) for name in names]
        assert 25 < parts.count("report") < 55
    assert all(part_of(n, ODD) == "develop" for n in names if part_of(n, EVEN) == "report")


def test_names_of_the_store_asked_take_the_place_of_strangers() -> None:
    here = Store(
        "here",
        tuple(
            Item(str(n), text, who, "s", DAY, n)
            for n, (who, text) in enumerate(
                [
                    ("Ann", "I met Zoltan today"),
                    ("Bob", "and Zoltan said"),
                    ("Ann", "that Zoltan left"),
                ]
            )
        ),
    )
    there = Store(
        "there",
        tuple(Item(str(n), "we saw Priya by the lake", "Carl", "s", DAY, n) for n in range(3)),
    )
    cue = "What did Ann's friend Zoltan tell Bob at the lake?"
    found = swapped(cue, Names(here), Names(there))
    assert found == "What did Carl's friend Priya tell Carl at the lake?"
    assert swapped("Where is the lake?", Names(here), Names(there)) == "Where is the lake?"


def test_all_questions_are_asked_and_strangers_with_both_names() -> None:
    rows = list(asked_of(a_set(), Manner("name"), Recording()))
    kinds = [row["kind"] for row in rows]
    assert [kinds.count(each) for each in ("own", "none", "stranger", "swapped")] == [3, 1, 3, 3]
    assert all("quoted" in row for row in rows)
    assert len(texts_asked(a_set())) == 10
    assert mean_of(rows, MEASURES["any10"]) == 1
    assert mean_of(rows, MEASURES["hits"]) > 0


def test_standing_ones_take_the_last_of_ten_places() -> None:
    """Mechanism: k hits and two beside them. Damage: twelve places, called ten. Guard: the ninth
    and tenth hit come after the standing ones."""
    store = a_store("one", [f"text {n}" for n in range(12)])
    hits = _Hits([SimpleNamespace(id=n, also=()) for n in range(10)])
    hits.standing = (SimpleNamespace(id=10), SimpleNamespace(id=11))
    memory: Any = SimpleNamespace(recall=lambda *_, **__: hits)
    mind = _Mind(memory, _Clock(), store, {n: f"t{n}" for n in range(12)}, Manner())
    asked = Question("q", "one", "cue", "x", ("t0", "t7", "t8", "t10"), DAY, "one")
    row = mind._recalled(asked)
    assert row["ranks"] == [1, 8, 11, 9]
    assert (row["hits"], row["found"]) == (10, 3)


def test_a_hit_stands_for_memories_of_equal_words() -> None:
    hits = _Hits([SimpleNamespace(id=0, also=(2,))])
    memory: Any = SimpleNamespace(recall=lambda *_, **__: hits)
    mind = _Mind(memory, _Clock(), a_store(), {n: f"t{n}" for n in range(4)}, Manner())
    row = mind._recalled(Question("q", "one", "cue", "x", ("t2",), DAY, "one"))
    assert (row["ranks"], row["found"]) == ([1], 1)


class _Hits(list[Any]):
    standing: tuple[Any, ...] = ()


class _Clock:
    def set(self, when: object) -> None: ...


def _row(n: int, rank: int | None, group: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "question": f"q{n}",
        "group": group,
        "category": "x",
        "kind": "own",
        "ranks": [rank],
        "hits": 4,
        "found": int(rank is not None),
        "instruction": False,
        "quoted": 1,
        **more,
    }


def test_measures_of_plain_rows() -> None:
    rows = [
        _row(0, 1),
        _row(1, 3),
        _row(2, 11, quoted=0),
        _row(3, None),
        _row(4, 2, quoted=0),
        {**_row(5, None), "kind": "swapped", "quoted": 0},
    ]
    found = {name: mean_of(rows, each) for name, each in MEASURES.items()}
    assert (found["any1"], found["any3"], found["any10"]) == (0.2, 0.6, 0.6)
    assert found["lost"] == 0.2
    assert found["precision"] == pytest.approx(0.2)
    assert found["swapped"] == 1
    assert math.isnan(found["all10"])
    assert math.isnan(found["stranger"])


def test_a_gain_that_is_one_group_s_is_not_clear() -> None:
    before = [_row(n, None, f"g{n % 5}") for n in range(50)]
    everywhere = [_row(n, 1 if n % 10 < 5 else None, f"g{n % 5}") for n in range(50)]
    one_group = [_row(n, 1 if n % 5 == 0 else None, f"g{n % 5}") for n in range(50)]
    assert gain(before, everywhere, MEASURES["any10"]).is_clear
    found = gain(before, one_group, MEASURES["any10"])
    assert found.mean == pytest.approx(0.2)
    assert not found.is_clear
    assert gain(before, before, MEASURES["any10"]).mean == 0
    assert gain(before, [], MEASURES["any10"]).questions == 0


def test_the_spread_is_that_of_groups() -> None:
    rows = [_row(n, 1 if n % 4 == 0 else None, f"g{n % 4}") for n in range(40)]
    found = spread(rows, MEASURES["any10"])
    assert found.worst == 0
    assert found.groups == pytest.approx(0.5)
    assert found.halves > 0.3
    parts = [of_part(rows, part, ODD) for part in ("develop", "report")]
    assert sum(map(len, parts)) == 40


def test_the_worse_way_is_the_headline_and_words_only_never() -> None:
    ways = {"role": [_row(0, 1)], "name": [_row(0, 11)], "words": [_row(0, None)]}
    assert worse_of(ways) == "name"
    table = "\n".join(quick_table({"locomo": ways}, ODD))
    assert "Name: text*" in table
    assert "role=*" not in table
    changed = {"locomo": {**ways, "name": [_row(0, 1)]}}
    told = "\n".join(compare_table({"locomo": ways}, changed, ODD))
    assert "+100.0" in told
    assert "Name: text, was role=" in told


def test_beliefs_are_the_same_each_time_and_have_all_three_kinds() -> None:
    data = beliefs()
    assert data == beliefs()
    assert {len(store.items) for store in data.stores} == {28}
    kinds = {(each.category, len(each.gold)) for each in data.questions}
    assert kinds == {("several", 4), ("one", 1), ("none", 0)}


def test_a_vector_is_made_once_and_found_by_the_next(tmp_path: Path) -> None:
    first = Recording()
    rows = Memoised(first, Shelf(tmp_path)).embed(["one", "two", "one"])
    assert first.seen == ["one", "two"]
    second = Recording()
    again = Memoised(second, Shelf(tmp_path)).embed(["two", "one"])
    assert second.seen == []
    assert (again[1] == rows[0]).all()


def test_compare_reads_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rank in (("a", None), ("b", 1)):
        rows = {"locomo": {"role": [_row(n, rank, f"g{n}") for n in range(6)]}}
        run = {"commit": name, "rows": rows}
        (tmp_path / f"{name}.json").write_text(json.dumps(run), encoding="utf-8")
    files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    assert command.main(["compare", *files, "--day", "2026-11-25"]) == 0
    out = capsys.readouterr().out
    assert "b over a" in out
    assert "+100.0 (0.0)" in out


# -- terms, and the page ------------------------------------------------------------------------


def test_a_term_that_does_not_exist_is_no_arm() -> None:
    known = [title for title in WITHOUT if profile_without(title) is not None]
    assert {"neighbours' words", "whom the cue is about", "length"} <= set(known)
    assert profile_without("whom the cue is about").ranking.about == 0  # type: ignore[union-attr]


def test_a_term_is_worth_what_it_gives_in_the_way_it_helps_less() -> None:
    whole, none = ([_row(n, rank, f"g{n}") for n in range(20)] for rank in (1, None))
    found = {"locomo": {"role": {"all": whole, "t": none}, "name": {"all": whole, "t": whole}}}
    told = worth(found, ODD)["t"]["locomo"]
    assert told["report"] == told["develop"] == [0, 0]
    found["locomo"]["name"]["t"] = none
    told = worth(found, ODD)["t"]["locomo"]
    assert told["report"][0] == 100
    assert "| yes" in "\n".join(worth_table({"t": {"locomo": told}}))


def test_the_fit_takes_more_than_a_tie_and_prefers_no_term() -> None:
    assert _picked({"0": -1.0, "0.5": 0.05, "2": 0.3}) == "2"
    assert _picked({"0": -1.0, "0.5": 0.05, "2": 0.09}) is None
    assert _picked({"0": 0.0, "0.5": 0.0, "2": 0.0}) == "0"
    assert _picked({"0": -0.2, "0.5": 0.0}) is None


def test_the_page_says_what_was_settled() -> None:
    rows = {"locomo": {way: [_row(n, 1, f"g{n}") for n in range(20)] for way in ("role", "name")}}
    base = {
        "commit": "old",
        "rows": {"locomo": {"role": [_row(n, None, f"g{n}") for n in range(20)]}},
    }
    run = {"commit": "new", "started": "2026-11-25T10:00:00", "times": "real", "rows": rows}
    gone = {"dates": {"locomo": {"develop": [1.2, 0.3], "report": [0.1, 0.3]}}}
    told = settled(run, ODD, base, gone)
    page = docs_page(told)
    assert "|**100.0**|" in page
    assert "+100.0 (0.0)" in page
    assert "-1.2 (0.3) / -0.1 (0.3)" in page
    assert "nan" not in page


# -- the commands ---------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sets are one small one, and no model is loaded; children are forks, which see it."""
    sets = {"locomo": dict.fromkeys(("role", "name"), lambda _: a_set())}
    monkeypatch.setattr(run_of_sets, "SETS", sets)
    monkeypatch.setattr(run_of_sets, "embedder_of", lambda *_, **__: Recording())
    monkeypatch.setattr(terms, "embedder_of", lambda *_, **__: Recording())
    monkeypatch.setattr(run_of_sets.sets, "data_root", Path)


@pytest.mark.usefixtures("small")
def test_quick_saves_what_compare_settle_and_the_page_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "new.json")
    assert command.main(["quick", "--out", file, "--jobs", "1", "--times", "absent"]) == 0
    assert "Name: text" in capsys.readouterr().out
    saved = json.loads(Path(file).read_text("utf-8"))
    assert set(saved["rows"]["locomo"]) == {"role", "name"}
    assert saved["times"] == "absent"
    assert command.main(["compare", file, file, "--part", "all"]) == 0
    assert "| 0 " in capsys.readouterr().out
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    assert command.main(["settle", file, "--base", file, "--day", "2026-11-25"]) == 0
    told = newest(tmp_path)
    assert told is not None
    assert told["gains"]["locomo"]["name over role"]["all"]["any10"][0] == 0
    assert "## Silence" in docs_page(told)


@pytest.mark.usefixtures("small")
def test_terms_and_curves_are_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "terms.json")
    arguments = ["ablate", "--without", "length", "words", "no such", "--jobs", "1", "--out", file]
    assert command.main(arguments) == 0
    assert set(json.loads(Path(file).read_text("utf-8"))) == {"length", "words"}
    config = [f"abstain_below={value}" for value in (0, 1)]
    assert command.main(["curve", "--config", *config, "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "abstain_below=0 " in out
    assert "abstain_below=1 " in out


def test_the_product_of_another_folder_is_measured_by_this_harness(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "spector").mkdir()
    (tmp_path / "spector" / "__init__.py").write_text("raise SystemExit('the other one')")
    assert command.main(["quick", f"--of={tmp_path}", "--sets", "beliefs"]) == 1
    assert "the other one" in capfd.readouterr().err
