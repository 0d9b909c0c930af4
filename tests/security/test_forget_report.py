"""``print(memory.forget(...))`` is read by people: a line was as long as all ids together."""

from __future__ import annotations

from pathlib import Path

import spector


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
