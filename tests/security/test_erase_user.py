"""A user is erased by one call, and what stays is said.

Mechanism: a filter leaves pinned and immutable memories alone, and a list of ids with an immutable
one forgot nothing, for good reasons; `include_protected` and `skip_protected` choose. Damage
without them: whoever has to erase a person goes through lists by hand, and a receipt said
"complete" while the pinned ones were all there. Guard: the files are searched for what each
memory of the user said.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import (
    Config,
    ImmutableRecordError,
    InvalidInputError,
    ManualClock,
    Memory,
    UnknownRecordError,
)
from tests.api.helpers import files_with, ids
from tests.cases import Cases
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

HIS = {"user_id": "zqviktor"}


def filled(memory: Memory) -> dict[str, int]:
    """Memories of a person of every kind, and those of others."""
    made = {
        "plain": memory.remember("zqplain was in Oslo", **HIS),
        "pinned": memory.remember("zqpinned owes money", pinned=True, **HIS),
        "cast": memory.remember("zqcast signed it", immutable=True, tags=["zqtag"], **HIS),
        "both": memory.remember("zqboth", pinned=True, immutable=True, tier="semantic", **HIS),
        "working": memory.remember("zqworking", tier="working", pinned=True, **HIS),
        "old": memory.remember("zqold lived here", metadata={"k": "zqmeta"}, **HIS),
        "other": memory.remember("somebody pinned", pinned=True, user_id="anna"),
        "nobody": memory.remember("nobody's, immutable", immutable=True),
    }
    made["new"] = memory.remember("zqnew lives there", supersedes=made["old"], **HIS)
    return {name: record.id for name, record in made.items()}


WORDS = ("zqplain", "zqpinned", "zqcast", "zqtag", "zqboth", "zqold", "zqmeta", "zqnew", "zqviktor")


def of(made: dict[str, int], names: str) -> tuple[int, ...]:
    return tuple(sorted(made[name] for name in names.split()))


ALL, HELD = "plain pinned cast both working old new", "pinned cast both working"


def test_one_call_erases_all_of_a_user(memory: Memory, store_path: Path) -> None:
    made = filled(memory)
    report = memory.forget(**HIS, purge=True, verify=True, include_protected=True)
    assert (report.ids, report.protected, report.due) == (of(made, ALL), (), None)
    receipt = report.receipt
    assert receipt.complete
    assert receipt.ids == report.ids
    assert receipt.verification.residue == ()
    assert str(receipt).startswith("erasure complete")
    for word in WORDS:
        assert files_with(store_path, word) == [], word
    assert ids(memory) == sorted([made["other"], made["nobody"]])
    assert memory.users()[0].id == "anna"
    assert memory.check().ok


def test_without_it_receipt_and_text_name_what_stays(memory: Memory, store_path: Path) -> None:
    made = filled(memory)
    report = memory.forget(**HIS, purge=True, verify=True)
    assert report.protected == of(made, HELD)
    receipt = report.receipt
    assert not receipt.complete
    assert receipt.protected == report.protected
    assert "erasure NOT complete" in str(receipt)
    assert all(str(each) in str(receipt) for each in report.protected)
    assert receipt.to_dict()["protected"] == list(report.protected)
    assert receipt.to_dict()["complete"] is False
    assert files_with(store_path, "zqplain") == []
    assert files_with(store_path, "zqpinned") != []
    assert str(made["other"]) not in receipt.to_json()


def test_the_same_by_ids(memory: Memory, store_path: Path) -> None:
    made = filled(memory)
    his = of(made, ALL)
    for more in ({}, HIS):
        with pytest.raises(ImmutableRecordError) as caught:
            memory.forget(his, purge=True, **more)
        assert all(str(made[name]) in caught.value.message for name in ("cast", "both"))
        assert str(made["plain"]) not in caught.value.message
        assert "skip_protected=True" in caught.value.hint
        assert memory.count(**HIS) == 7
    report = memory.forget(his, skip_protected=True)
    assert report.protected == of(made, "cast both")  # a pin does not hold what is named
    assert report.ids == of(made, "plain pinned working old new")
    kept = memory.forget([made["cast"], made["both"]], purge=True, skip_protected=True)
    assert (kept.ids, kept.protected) == ((), of(made, "cast both"))
    assert not kept.receipt.complete
    last = memory.forget(kept.protected, purge=True, verify=True, include_protected=True, **HIS)
    assert last.receipt.complete
    for word in WORDS:
        assert files_with(store_path, word) == [], word
    assert memory.check().ok


def test_of_ids_that_nobody_may_know_none_is_told_to_be_immutable(memory: Memory) -> None:
    made = filled(memory)
    with pytest.raises(UnknownRecordError):
        memory.forget([made["cast"], made["nobody"]], **HIS)
    with pytest.raises(UnknownRecordError):
        memory.forget([made["cast"], made["other"] + 99])
    assert memory.count() == 9


@cases("more")
def test_what_is_neither_said_clearly_is_refused(memory: Memory, more: dict[str, Any]) -> None:
    made = filled(memory)
    for target in ([made["plain"]], None):
        with pytest.raises(InvalidInputError, match="protected"):
            memory.forget(target, **more, **HIS)
    assert memory.count() == 9


def test_immutable_ones_that_are_skipped_are_not_searched_for(memory: Memory) -> None:
    made = filled(memory)
    report = memory.forget(
        [made["plain"], made["cast"]], purge=True, verify=True, skip_protected=True
    )
    assert report.receipt.verification.words == 4
    assert report.receipt.verification.ok


def test_it_says_until_when_the_words_are_in_the_files(
    store_path: Path, clock: ManualClock
) -> None:
    config = Config(erase_after_s=3600)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock, config=config) as memory:
        made = filled(memory)
        due = memory.forget(made["plain"]).due
        assert due == NOW.astimezone(UTC) + timedelta(hours=1)
        assert isinstance(due, datetime)
        assert memory.stats()["erasure"] == {"pending": 1, "due": "2026-11-21T13:00:00Z"}
        assert memory.forget(made["working"]).due is None  # it was in no file
        assert memory.forget(tags=["none has"]).due is None
        memory.reflect()
        assert files_with(store_path, "zqplain") != []
        clock.advance(hours=1)
        memory.reflect()
        assert files_with(store_path, "zqplain") == []
        assert memory.stats()["erasure"] == {"pending": 0, "due": None}


def test_a_receipt_of_a_user_names_no_other(memory: Memory) -> None:
    """Purging takes along what others forgot before, and says nothing of it to this one."""
    made = filled(memory)
    others = memory.remember_many(["anna said this", "anna said that"], user_id="anna")
    memory.forget(others[0])
    memory.update(others[1], text="anna says nothing")
    report = memory.forget(made["plain"], purge=True, verify=True, **HIS)
    assert report.receipt.ids == (made["plain"],)
    text = report.receipt.to_json()
    for record in others:
        assert str(record.id) not in text
    whole = memory.forget(made["pinned"], purge=True).receipt
    assert whole.ids == (made["pinned"],)
