"""The tables of knowledge, and those of keys and attachments.

============ ================================================================================
payload      what a memory is beside its words: its sort, and that sort's fields as JSON
fact         a triple, its key, and whether it holds
item         what is no memory but has an id: entities, associations, registered kinds of edges
name         the folded names by which memories and items are found
edge         typed, weighted links between memories
link         counted ties of two ids: mentions, sources, references, evidence, pairs
sleep_state  the one row of sleep: the cycle, its step and cursor, and when each part last ran
cycle_change what a cycle changed, with the values before: ids and numbers, never words
entry        the key of a memory, how often it was replaced, its end, the size of its attachment
attachment   what was attached to a memory, as bytes
key_mark     salted hashes of keys that were forgotten
============ ================================================================================

Memories and items take their ids from one sequence, so an id alone says what a row depends on.
"""

from __future__ import annotations

from typing import Final

from spector.store.payloads.tables import Column, PayloadTable

__all__ = ["KEYS", "KNOWLEDGE", "PAYLOAD_TABLES", "table_named"]

#: groups of tables: a catalog has all of a group or none
KNOWLEDGE: Final = "knowledge"
KEYS: Final = "keys"

#: in the order in which they are made, exported and checked
PAYLOAD_TABLES: Final = (
    PayloadTable(
        "payload",
        (
            Column("id", int, owner=True),
            Column("sort", str),
            Column("json", str, json=True, words=True),
        ),
        key=("id", "sort"),
    ),
    PayloadTable(
        "fact",
        (
            Column("id", int, owner=True),
            Column("fact_key", str, indexed=True),
            Column("scope", str),
            Column("subject", str, indexed=True, words=True),
            Column("predicate", str, indexed=True, words=True),
            Column("object", str, indexed=True, words=True),
            Column("holds", int),
            Column("confidence", float),
            Column("verified_ms", int),
            Column("json", str, json=True, words=True),
        ),
        key=("id",),
        unique=((("scope", "fact_key"), "holds = 1"),),
    ),
    PayloadTable(
        "item",
        (
            Column("item_id", int, owner=True),
            Column("sort", str, indexed=True),
            Column("scope", str),
            Column("json", str, json=True, words=True),
        ),
        key=("item_id",),
    ),
    PayloadTable(
        "name",
        (
            Column("scope", str),
            Column("sort", str),
            Column("folded", str, words=True),
            Column("id", int, indexed=True, owner=True),
        ),
        key=("scope", "sort", "folded", "id"),
    ),
    PayloadTable(
        "edge",
        (
            Column("source_id", int, owner=True),
            Column("kind", str),
            Column("target_id", int, indexed=True, owner=True),
            Column("weight", float),
            Column("confidence", float),
            Column("origin", str),
            Column("created_ms", int),
            Column("note", str, optional=True, json=True, words=True),
        ),
        key=("source_id", "kind", "target_id"),
    ),
    PayloadTable(
        "link",
        (
            Column("a", int, owner=True),
            Column("kind", str),
            Column("b", int, indexed=True, owner=True),
            Column("n", int, optional=True),
            Column("t_ms", int, optional=True),
        ),
        key=("a", "kind", "b"),
    ),
    PayloadTable(
        "sleep_state",
        (
            Column("one", int),
            Column("cycle", int),
            Column("started_ms", int),
            Column("step", str),
            Column("cursor", int),
            Column("decayed_ms", int),
            Column("extracted_id", int),
            Column("abstracted_id", int),
            Column("compressed_ms", int),
            Column("tested_ms", int),
            Column("seed", int),
            Column("recent", str, json=True),
            Column("central", str, json=True),
        ),
        key=("one",),
    ),
    PayloadTable(
        "cycle_change",
        (
            Column("cycle", int),
            Column("ordinal", int),
            Column("record_id", int, indexed=True, optional=True, owner=True),
            Column("what", str),
            Column("before", str, json=True),
        ),
        key=("cycle", "ordinal"),
    ),
    PayloadTable(
        "entry",
        (
            Column("id", int, owner=True),
            Column("user_id", str, words=True),
            Column("agent_id", str, words=True),
            Column("namespace", str, words=True),
            Column("record_key", str, optional=True, words=True),
            Column("revision", int),
            Column("expires_ms", int, optional=True, indexed=True),
            Column("refresh_ms", int, optional=True),
            Column("attached_bytes", int, optional=True),
        ),
        key=("id",),
        unique=((("namespace", "record_key", "user_id", "agent_id"), "record_key IS NOT NULL"),),
        group=KEYS,
    ),
    PayloadTable(
        "attachment",
        (
            Column("id", int, owner=True),
            Column("form", str),
            Column("data", bytes),
        ),
        key=("id",),
        group=KEYS,
    ),
    PayloadTable(
        "key_mark",
        (Column("owner", str), Column("digest", str), Column("salt", str)),
        key=("owner", "digest"),
        group=KEYS,
    ),
)

_BY_NAME: Final = {each.name: each for each in PAYLOAD_TABLES}


def table_named(name: str) -> PayloadTable:
    """The table of a name."""
    return _BY_NAME[name]
