"""Calls of tools beside what is said are kept with it, whole.

Damage without it: what an assistant did while it spoke is gone after observing, and a message that
brings an attachment ends an import. Guard: messages with calls, of one and of several statements.
"""

from __future__ import annotations

from typing import Any

import spector
from tests.fakes import FakeEmbedder

CALLS = [
    {"id": "a", "type": "function", "function": {"name": "book", "arguments": '{"table": 7}'}},
    {"id": "b", "type": "function", "function": {"name": "pay", "arguments": '{"eur": 70}'}},
]
KEPT = {
    "tool_calls": [
        {"name": "book", "arguments": '{"table": 7}'},
        {"name": "pay", "arguments": '{"eur": 70}'},
    ]
}
SAID = "I booked table 7 at Rossi in Kars for Friday."


def said(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": CALLS, **more}


def opened(**config: Any) -> spector.Memory:
    return spector.open(":memory:", embedder=FakeEmbedder(dim=16), **config)


def test_calls_beside_what_is_said_are_attached_to_its_memory() -> None:
    with opened() as memory:
        foreseen = memory.observe(said(SAID), dry_run=True)
        assert foreseen.units[0].action == "create"
        assert len(memory) == 0
        (unit,) = memory.observe(said(SAID)).units
        assert unit.record is not None
        assert unit.record.attachment() == KEPT
        assert memory.get(unit.record.id).attachment() == KEPT
        (mine,) = memory.observe(
            {"role": "user", "content": "My dentist is Dr. Kaya in Kars.", "attachment": b"a card"}
        ).units
        assert mine.record is not None
        assert mine.record.attachment() == b"a card"
        assert memory.check().ok
        memory.forget(unit.record)
        assert memory.check().ok


def test_of_several_statements_the_first_memory_has_what_is_attached() -> None:
    text = "I have moved to Kars with Ayşe. My new office is at Acme Works in Rize."
    for merges in (False, True):
        config = spector.Config.preset("ucma") if merges else spector.Config()
        with opened(config=config) as memory:
            units = memory.observe({**said(text), "role": "user"}).units
            made = [each.record for each in units if each.record is not None]
            assert [each.attachment() for each in made] == [KEPT] + [None] * (len(made) - 1)
            assert sum(each.attachment_bytes is not None for each in memory) == 1
            assert memory.check().ok


def test_a_call_that_says_nothing_is_its_own_text() -> None:
    with opened() as memory:
        (unit,) = memory.observe(said(None)).units
        assert unit.record is not None
        assert unit.record.text == 'book({"table": 7})\npay({"eur": 70})'
        assert unit.record.attachment() is None
