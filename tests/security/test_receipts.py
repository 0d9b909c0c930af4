"""``print(memory.forget(...))`` is read by people: a line was as long as all ids together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory
from spector.records.reports import ErasureReceipt
from tests.api.helpers import ids


def test_a_report_counts_and_says_until_when_the_words_stay(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=2) as memory:
        many = [memory.remember(f"note {n}", vector=[1, n]).id for n in range(40)]
        kept = memory.remember("pinned", vector=[1, 0], user_id="ada", pinned=True)
        memory.remember("not pinned", vector=[0, 1], user_id="ada")
        told = str(memory.forget(many)).splitlines()
        assert told[0] == "forgot 40 memories"
        assert told[-1].startswith("  the words stay in the files until compact()")
        assert max(map(len, told)) < 120
        told = str(memory.forget(user_id="ada", purge=True)).splitlines()
        assert told[:2] == ["forgot 1 memory", "  kept, because pinned or immutable: 1"]
        assert told[2].startswith("erasure ")
        assert memory.get(kept.id) is not None


# -- What accounts for something forgotten that lies in a file which the store did not make --------
#
# Mechanism: a store writes what memories say in small letters, stemmed, one value behind the
# other, and words of its own; a stranger's file has none of that. Damage without the difference:
# an erasure is called complete while a file next to the catalog holds, to the byte, what was
# forgotten. Guard: such a file with what some memory, or the schema, nearly says.


def _forgotten(memory: Memory, said_of_it: dict[str, Any]) -> ErasureReceipt:
    receipt = memory.forget(memory.remember(said_of_it).id, purge=True, verify=True).receipt
    assert receipt is not None
    return receipt


def _places(receipt: ErasureReceipt) -> set[str]:
    return {each.where for each in receipt.verification.residue}


@pytest.mark.parametrize("name", ["INTEGER", "PRIMARY KEY", "zqxswordfish"])
def test_a_name_in_a_strangers_file_is_found_whatever_the_schema_says(
    memory: Memory, store_path: Path, name: str
) -> None:
    memory.remember("ZQXSWORDFISH opens the door")
    receipt = memory.compact(verify=[name]).receipt
    assert receipt.complete, str(receipt)
    (store_path / "notes.txt").write_text(f"count {name} here")
    receipt = memory.compact(verify=[name]).receipt
    assert receipt is not None
    assert _places(receipt) == {"notes.txt"}


def test_the_advice_of_a_receipt_leads_to_a_proof(memory: Memory, store_path: Path) -> None:
    """Mechanism: "compact again" did nothing, since nothing was due, and made no receipt."""
    (store_path / "old.txt").write_text("zqxswordfish opens the door")
    receipt = _forgotten(memory, {"text": "zqxswordfish opens the door"})
    assert not receipt.complete
    (told,) = receipt.pending
    assert "old.txt: remove these foreign files" in told
    assert 'compact(verify=["TEXT"])' in told
    assert "spector compact PATH --verify TEXT" in told
    again = memory.compact(verify=["zqxswordfish opens the door"]).receipt
    assert again.pending == (told,)
    (store_path / "old.txt").unlink()
    proof = memory.compact(verify=["zqxswordfish opens the door"]).receipt
    assert proof.complete, str(proof)
    assert proof.verification.gone
    assert ids(memory) == []
