"""The page of cognition says what was measured, losses included.

Damage without it: a row that misses its goal and is called reached. Guard: scores of our own.
"""

from __future__ import annotations

import pytest

from bench.cognition.__main__ import main, page_of, renewed
from bench.cognition.rows import ROWS, Score, spans_of, untyped_f1
from bench.cognition.statements import data


def test_a_row_that_misses_its_goal_says_so() -> None:
    page = page_of(
        [
            Score(4, "names", "57.0", "51.9", "56", True),
            Score(5, "isim", "23.5", "50.8", "58", False),
        ]
    )
    assert "| 4 | names | 57.0 | 51.9 | 56 | yes |" in page
    assert "| 5 | isim | 23.5 | 50.8 | 58 | no |" in page
    assert page.endswith("Goals missed: 1 of 2.\n")


def test_a_row_that_is_computed_with_another_takes_the_place_of_its_old_self() -> None:
    def facts(found: str) -> list[Score]:
        return [Score(n, "changed", found, "9", "92", False) for n in (11, 12)]

    page = page_of([Score(4, "names", "57.0", "51.9", "56", True), *facts("1")])
    assert renewed(page, [11], facts("2")) == page_of(
        [Score(4, "names", "57.0", "51.9", "56", True), *facts("2")]
    )


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ("O B-X I-X O", [(1, 3)]),
        ("B-X B-X", [(0, 1), (1, 2)]),
        ("I-X O", [(0, 1)]),
        ("O O", []),
        ("O B-X", [(1, 2)]),
    ],
)
def test_spans_of_labels(labels: str, spans: list[tuple[int, int]]) -> None:
    assert list(spans_of(labels.split())) == spans


def test_f1_of_what_is_found() -> None:
    words = "Yesterday Ayşe went to Ankara with Redis".split()
    right = ["O", "B-PERSON", "O", "O", "B-GPE", "O", "B-ORG"]
    assert untyped_f1([(words, right)]) == 1.0
    assert untyped_f1([(words, ["O"] * 7)]) == 0.0
    assert untyped_f1([(words, ["O", "B-PERSON", *["O"] * 5])]) == pytest.approx(0.5)


def test_without_data_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPECTOR_DATA", "/no/such/folder")
    assert main([]) == 1
    assert "SPECTOR_DATA" in capsys.readouterr().err


@pytest.mark.skipif(not (data() / "cognition").is_dir(), reason="needs SPECTOR_DATA")
def test_triples_are_measured() -> None:
    scores = ROWS[10]()
    assert [each.row for each in scores] == [10, 10]
    assert all(each.found.count("/") == 2 for each in scores)
