"""Numbers in texts: "1 memory", and no gain below nothing.

Mechanism: texts were written for many. Damage: "1 memories", "-4,096 bytes reclaimed" in receipts
that people keep. Guard: one function makes the words; a store that grew has reclaimed 0 bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.messages.counting import counted
from spector.records.erasure import ErasureReceipt, Purged, Verification
from spector.records.memory import CompactionReport

_ONE = re.compile(
    r"(?<![\d,.])1 (?:memories|records|files|bytes|pieces|words|vectors|partitions|entries)\b"
)


@pytest.mark.parametrize(
    ("number", "what", "said"),
    [(0, "memory", "0 memories"), (1, "memory", "1 memory"), (2, "memory", "2 memories"),
     (1, "byte", "1 byte"), (4096, "byte", "4096 bytes"), (3, "day", "3 days")],
)  # fmt: skip
def test_one_is_one_and_others_are_several(number: int, what: str, said: str) -> None:
    assert counted(number, what) == said
    assert counted(number, what, commas=True) == said.replace("4096", "4,096")


def test_a_word_with_a_plural_of_its_own() -> None:
    assert counted(2, "index of scans", "indexes of scans") == "2 indexes of scans"


def test_a_receipt_of_one_of_each_has_no_plural() -> None:
    receipt = ErasureReceipt(
        ids=(1,), purged=(Purged(where="catalog.db", what="1 vector dropped", bytes=1),),
        verification=Verification(needles=1, words=1, files=1, bytes=1, shared=1),
    )
    assert not _ONE.search(str(receipt))


def test_a_purge_of_the_only_memory_is_told_in_the_singular(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=4) as memory:
        made = memory.remember("The spare key is with Ines.", vector=np.eye(4)[0])
        report = memory.forget(made.id, purge=True, verify=True)
        assert report.receipt is not None
        assert not _ONE.search(str(report.receipt))


def test_a_store_that_grew_has_reclaimed_nothing() -> None:
    assert CompactionReport(bytes_before=10, bytes_after=14).bytes_reclaimed == 0
    assert CompactionReport(bytes_before=14, bytes_after=10).bytes_reclaimed == 4
