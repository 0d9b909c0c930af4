"""What accounts for something forgotten that lies in a file which the store did not make.

Mechanism: a store writes what memories say in small letters, stemmed, one value behind the other,
and words of its own; a stranger's file has none of that. Damage without the difference: an erasure
is called complete while a file next to the catalog holds, to the byte, what was forgotten. Guard:
such a file with what some memory, or the schema, nearly says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spector import Memory
from spector.records.erasure import ErasureReceipt
from spector.store.core.store import Store
from spector.store.erasure import search as residue
from tests.api.helpers import ids


def _forgotten(memory: Memory, said_of_it: dict[str, Any]) -> ErasureReceipt:
    receipt = memory.forget(memory.remember(said_of_it).id, purge=True, verify=True).receipt
    assert receipt is not None
    return receipt


def _places(receipt: ErasureReceipt) -> set[str]:
    assert receipt.verification is not None
    return {each.where for each in receipt.verification.residue}


@pytest.mark.parametrize(
    ("forgotten", "left", "others"),
    [
        ({"text": "maya has hiv"}, "maya has hiv", [{"text": "MAYA HAS HIV"}]),
        ({"text": "jose ate pates"}, "jose ate pates", [{"text": "Jos\u00e9 ate p\u00e2t\u00e9s"}]),
        ({"text": "zqx", "user_id": "session"}, "user=session", []),
        ({"text": "zqx", "user_id": "tablefulltext"}, "tablefulltext", []),
        ({"text": "zqx", "tags": ["SQLite format 3"]}, "SQLite format 3", []),
        ({"text": "zqx", "tags": ["purge_due"]}, "purge_due", []),
        (
            {"text": "zqx", "tags": ["bobalice"]},
            "bobalice",
            [{"text": "zqy", "session_id": "bob", "agent_id": "alice"}],
        ),
        ({"text": "zqx", "tags": ["zqyuser"]}, "zqyuser", [{"text": "some zqy", "role": "user"}]),
        ({"text": "zqx", "tags": ["allergi"]}, "allergi", [{"text": "an allergy"}]),
    ],
)
def test_only_the_store_writes_what_memories_say_in_other_ways(
    memory: Memory,
    store_path: Path,
    forgotten: dict[str, Any],
    left: str,
    others: list[dict[str, Any]],
) -> None:
    """Mechanism: what accounts for a place in catalog.db accounted for one in old.txt, too."""
    memory.remember_many(others)
    (store_path / "old.txt").write_text(left)
    receipt = _forgotten(memory, forgotten)
    assert _places(receipt) == {"old.txt"}, str(receipt)
    assert len(receipt.not_yet) == 1
    assert not receipt.complete


@pytest.mark.parametrize("name", ["INTEGER", "PRIMARY KEY", "zqxswordfish"])
def test_a_name_in_a_strangers_file_is_found_whatever_the_schema_says(
    memory: Memory, store_path: Path, name: str
) -> None:
    memory.remember("ZQXSWORDFISH opens the door")
    receipt = memory.compact(verify=[name]).receipt
    assert receipt is not None
    assert receipt.complete, str(receipt)
    (store_path / "notes.txt").write_text(f"count {name} here")
    receipt = memory.compact(verify=[name]).receipt
    assert receipt is not None
    assert _places(receipt) == {"notes.txt"}


@pytest.mark.parametrize(
    "shared",
    [
        {"text": 'Maya has a\n"penicillin" allergy'},
        {"text": "zqx", "tags": ['zq"a"zj', "zqtagtag"]},
        {"text": "zqx", "metadata": {"who": 'zq"c"zj', "zqkeykey": [86_753_094_211, 71.84375]}},
        {"text": "zqx", "user_id": 'zq"b"zj', "session_id": "zqsession", "agent_id": "zqagent"},
        {"text": "zqx", "role": "zqrolerole", "source": "zqsource"},
    ],
)
def test_what_a_living_memory_says_to_the_letter_is_its_own_anywhere(
    memory: Memory, store_path: Path, shared: dict[str, Any]
) -> None:
    memory.remember(shared)
    (store_path / "old.json").write_text(json.dumps(shared, ensure_ascii=False))
    (store_path / "old.txt").write_text(str(list(shared.values())))
    receipt = _forgotten(memory, shared)
    assert receipt.complete, str(receipt)
    assert receipt.verification is not None
    assert receipt.verification.shared > 0


def test_a_file_of_the_store_that_a_commit_makes_meanwhile_is_no_strangers(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which files are the store's is asked before and after the search."""
    memory.remember("ZQXSWORDFISH opens")
    real, asked = residue._own_names, []

    def first_none(store: Store) -> set[str]:
        asked.append(store)
        return set() if len(asked) == 1 else real(store)

    monkeypatch.setattr(residue, "_own_names", first_none)
    receipt = memory.compact(verify=["zqxswordfish"]).receipt
    assert receipt is not None
    assert receipt.complete, str(receipt)
    assert len(asked) > 1


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
    assert again is not None
    assert again.pending == (told,)
    (store_path / "old.txt").unlink()
    proof = memory.compact(verify=["zqxswordfish opens the door"]).receipt
    assert proof is not None
    assert proof.complete, str(proof)
    assert proof.verification is not None
    assert proof.verification.gone
    assert ids(memory) == []
