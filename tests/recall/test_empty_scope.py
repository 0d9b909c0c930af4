"""An empty answer of an empty scope says that nothing is stored there.

Damage: an agent with the wrong user_id got [] like one whose user never told that. Guard: a scope
with and without memories, recalls and contexts.
"""

from __future__ import annotations

from spector import Memory


def test_an_empty_scope_is_named(memory: Memory) -> None:
    assert memory.recall("where are the oars?").abstained
    memory.remember("The oars are in the boathouse.", user_id="ann")
    found = memory.recall("where are the oars?", user_id="bea")
    assert not found
    assert found.abstained
    assert "user_id 'bea'" in found.reason
    context = memory.context("where are the oars?", user_id="bea")
    assert context.abstained
    assert "user_id 'bea'" in context.reason


def test_a_scope_whose_memories_do_not_pass_a_filter_is_not_empty(memory: Memory) -> None:
    memory.remember("The oars are in the boathouse.", user_id="ann")
    found = memory.recall("where are the oars?", user_id="ann", tags="none")
    assert not found
    assert not found.abstained
