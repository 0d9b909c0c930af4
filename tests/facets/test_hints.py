"""Names that other libraries use, asked of a facet, lead to the right one.

Damage without it: an AttributeError without a word, and a search through the manual.
"""

from __future__ import annotations

import pytest

import spector
from spector.errors import UnknownArgumentError
from tests.fakes import FakeEmbedder


@pytest.mark.parametrize(
    ("facet", "wrong", "right"),
    [
        ("facts", "search", "about"),
        ("facts", "all", "query"),
        ("facts", "delete", "forget"),
        ("entities", "get", "find"),
        ("entities", "list", "all"),
        ("graph", "neighbors", "neighbours"),
        ("graph", "shortest_path", "path"),
        ("graph", "add_edge", "link"),
        ("procedures", "find", "for_situation"),
        ("learnings", "search", "relevant"),
        ("concepts", "search", "find"),
    ],
)
def test_another_name_leads_to_ours(facet: str, wrong: str, right: str) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        noun = getattr(memory, facet)
        assert not hasattr(noun, wrong)
        with pytest.raises(AttributeError, match=f"did you mean {right}"):
            getattr(noun, wrong)
        assert callable(getattr(noun, right))


def test_an_argument_that_a_facet_has_not_is_a_typed_error() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        with pytest.raises(UnknownArgumentError, match=r"Facts.add.*did you mean source"):
            memory.facts.add("port", "is", "8080", sources=[1])  # type: ignore[call-arg]
        with pytest.raises(UnknownArgumentError, match=r'"role": ..., "content"'):
            memory.observe("hello there, I am Bo", role="user")  # type: ignore[call-arg]
