"""Whatever a text holds: no error, spans that quote it, few statements, linear time.

Mechanism: texts come from anywhere. Damage without it: one odd message stops an observer, a fact
cites words that are not there, a pasted log takes minutes. Guard: random mixtures of the words that
frames look at, any Unicode, and long texts of what an expression could run wild on.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spector.language.frames import Statement, compare, extract, normal_value
from spector.language.frames.sentences import sentences
from spector.language.words import plain
from tests.frames.test_values import values_differ

EVERY = ("asserted", "hedged", "planned", "reported", "conditional", "asked")


def check(text: str) -> None:
    found = extract(text, modalities=EVERY)
    for each in found:
        for start, end in (each.span, each.subject_span, each.object_span):
            assert 0 <= start < end <= len(text)
        assert each.subject.strip() == each.subject != ""
        assert each.object.strip() == each.object != ""
        assert each.predicate
        assert " " not in each.predicate
        assert len(each.object.split()) <= 8
        compare(found, each, text)
        values_differ(each.object, text[:60])
        normal_value(each.object)
    for sentence in sentences(text):
        inside = [each for each in found if sentence.start <= each.span[0] < sentence.end]
        assert len(inside) <= 3


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_values_are_compared_either_way(one: str, other: str) -> None:
    assert values_differ(one, other) == values_differ(other, one)
    assert not values_differ(one, one)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Malmö.",
        "I live in Malmo\u0308.",
        "My sister's favourite colour is red.",
        "I like tea, coffee and lemonade.",
        "Kedimin adı Boncuk.",
        "Çayı kahveye tercih ederim.",
        "The report is due on March 17.",
        "En sevdiğim renk lacivert.",
    ],
)
def test_spans_quote_the_words(text: str) -> None:
    found = extract(text)
    assert found
    for each in found:
        quoted = text[slice(*each.object_span)]
        assert plain(quoted)[:3] == plain(each.object)[:3]
        assert quoted in text[slice(*each.span)]
        assert each.span[0] <= each.subject_span[0] or each.frame.startswith("tr")


def said(statement: Statement) -> tuple[str, str, str]:
    return statement.subject, statement.predicate, statement.object


def test_a_text_states_what_its_sentences_state() -> None:
    parts = ["I live in Oslo.", "Do you like tea?", "My port is 8080.", "Kahveyi severim."]
    whole = [said(each) for each in extract(" ".join(parts))]
    assert whole == [said(each) for part in parts for each in extract(part)]


@pytest.mark.parametrize(
    "unit",
    [
        "I live in Paris. ",
        "a ",
        "I ",
        '"',
        "my dog ",
        "''",
        "1.",
        "\u0131 ",
        "- ",
        "[ ] ",
        "\n",
        "I have a dog and ",
        "Ankara'da ",
        "e\u0301",
        "the of ",
        "a@",
        "a.",
        "```\n",
        "- - ",
    ],
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        extract(text)
        return time.process_time() - start

    seconds(1000)
    small = max(seconds(25_000), 0.02)
    assert seconds(100_000) < 12 * small
