"""Keys, pages of lists and counts, in stores whose memories have keys and users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench.conftest import FULL
from bench.data import Corpus, topic
from bench.measure import Row, at_most
from bench.stores import NAMESPACE, Stores, key_of, open_store, user_of

pytestmark = pytest.mark.usefixtures("pinned")
PAGE = 50
SIZES = (1_000, 100_000, 1_000_000) if FULL else (10_000,)
#: neighbours in this order are far apart, and it comes to every record
_FAR = 7919


@pytest.fixture(scope="module", params=SIZES)
def named(request: Any, stores: Stores, corpus: Corpus) -> Iterator[tuple[int, Any]]:
    """(memories, the open store)."""
    size: int = request.param
    with open_store(stores.get(size, named=True).path, corpus.dim) as memory:
        yield size, memory


def _measured(
    row: Row,
    corpus: Corpus,
    size: int,
    call: Callable[[int], object],
    name: str,
    title: str,
    goal_ms: float | None = None,
) -> None:
    """One row: calls with 0, 1, 2, ..."""
    row.calls(
        call,
        [(i,) for i in range(200)],
        id=f"lists/{name}.{size}",
        title=title,
        params={"records": size, "dim": corpus.dim, "threads": 1},
        target=None if goal_ms is None else at_most(goal_ms),
    )


def test_get_by_key(row: Row, corpus: Corpus, named: tuple[int, Any]) -> None:
    size, memory = named
    _measured(
        row,
        corpus,
        size,
        lambda i: memory.get(**key_of(i * _FAR % size)),
        "get.key",
        "get by key, anywhere in the store",
        0.3,
    )


#: what the row says, keywords of ``records`` for turn i of a store, and the goal in ms
_PAGES: dict[str, tuple[str, Callable[[int], dict[str, Any]], float | None]] = {
    "all": ("of all", lambda i: {}, 15),
    "user": ("of a user, 1 %", lambda i: {"user_id": user_of(i)}, 15),
    "tag": ("of a tag, 1 %", lambda i: {"tags": [topic(i)]}, 15),
    "both": (
        "of a tag and a user, 0.01 %",
        lambda i: {"tags": [topic(i)], "user_id": user_of(i)},
        15,
    ),
    "keys": (
        "of the keys of 1 %",
        lambda i: {"key_prefix": "doc-00", "namespace": NAMESPACE, "user_id": user_of(i)},
        None,
    ),
    "where": (
        "with a metadata filter that one memory passes",
        lambda i: {"where": {"turn": i}},
        None,
    ),
}


@pytest.mark.parametrize("order", ["oldest", "newest"])
@pytest.mark.parametrize("kind", _PAGES)
def test_page(row: Row, corpus: Corpus, named: tuple[int, Any], kind: str, order: str) -> None:
    """A page of 50 from the middle of the list on."""
    size, memory = named
    title, keywords, goal_ms = _PAGES[kind]
    middle = memory.get(**key_of(size // 2)).id

    def page(i: int) -> object:
        return list(
            memory.records(after=middle, limit=PAGE, newest_first=order == "newest", **keywords(i))
        )

    _measured(
        row,
        corpus,
        size,
        page,
        f"page.{kind}.{order}",
        f"page of {PAGE} from the middle on, {order} first, {title}",
        goal_ms,
    )


_COUNTS: dict[str, tuple[str, Callable[[int], dict[str, Any]], float | None]] = {
    "user": ("of a user, 1 %", lambda i: {"user_id": user_of(i)}, 15),
    "tag": ("of a tag, 1 %", lambda i: {"tags": [topic(i)]}, 15),
    "both": (
        "of a tag of 1 % and a user of 1 %",
        lambda i: {"tags": [topic(i)], "user_id": user_of(i)},
        15,
    ),
    "any": ("of either of two tags of 1 %", lambda i: {"any_tags": [topic(i), topic(i + 1)]}, 15),
    "wide": ("of a tag that all have", lambda i: {"tags": ["chat"]}, None),
    "wide.user": (
        "of a tag that all have and a user of 1 %",
        lambda i: {"tags": ["chat"], "user_id": user_of(i)},
        None,
    ),
    "where": (
        "with a metadata filter that one memory passes",
        lambda i: {"where": {"turn": i}},
        None,
    ),
}


@pytest.mark.parametrize("kind", _COUNTS)
def test_count(row: Row, corpus: Corpus, named: tuple[int, Any], kind: str) -> None:
    size, memory = named
    title, keywords, goal_ms = _COUNTS[kind]
    _measured(
        row,
        corpus,
        size,
        lambda i: memory.count(**keywords(i)),
        f"count.{kind}",
        f"count {title}",
        goal_ms,
    )
