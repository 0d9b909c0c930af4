"""Prove that the tables of a catalog have the same memories, before a walk over all of them.

A memory has a row in the table of records, one in the table of texts and one in the index of
places, and its partition counts it. SQLite does not prove this: a flipped bit in the key of a row
misleads the search for it, and a join silently skips the memory. For one id,
``Catalog.refuse_hidden`` raises. A walk cannot notice what is missing, so counts and sums of ids
are compared first: a key that damage has turned into a neighbour's leaves every count unchanged.
This takes 40 ms for 150,000 short memories, and twice that for texts of 800 characters, whose pages
it reads.
"""

from __future__ import annotations

import math
import time
from typing import Final

from spector.errors import CatalogCorruptError
from spector.layout import PartitionState
from spector.messages import counted
from spector.store.catalog import Catalog, recovery_hint
from spector.store.integrity.check_catalog import check_catalog, check_words
from spector.store.integrity.findings import Findings
from spector.store.sqlite import read_transaction, typed_sql_errors

__all__ = ["refuse_damage", "refuse_disagreement"]

#: how many memories there are and which, of one source; halves of 62 bits, of which no store has
#: enough to overflow a sum
_WHICH: Final = "SELECT count(*), sum(id & 4294967295), sum(id >> 32) FROM"
#: each by another way, in one statement, so of one moment. Without NOT INDEXED the planner would
#: take ids from the index of places, which is smaller than the table
_COUNTS: Final = f"""SELECT * FROM
  ({_WHICH} record NOT INDEXED),
  ({_WHICH} record INDEXED BY record_place),
  ({_WHICH} content),
  (SELECT count(*) FROM record NOT INDEXED CROSS JOIN content ON content.id = record.id),
  (SELECT coalesce(sum(live), 0) FROM segment WHERE state <> {int(PartitionState.COMPACTED)})"""
_HIDDEN: Final = """
SELECT id FROM content
  WHERE NOT EXISTS (SELECT 1 FROM record WHERE record.id = content.id)
UNION SELECT id FROM record NOT INDEXED
  WHERE NOT EXISTS (SELECT 1 FROM content WHERE content.id = record.id)
UNION SELECT id FROM record AS place INDEXED BY record_place
  WHERE NOT EXISTS (SELECT 1 FROM record WHERE record.id = place.id) ORDER BY id"""
_NAMED: Final = 10


def refuse_disagreement(
    catalog: Catalog,
    damaged: list[int] | None = None,
    *,
    opening: bool = False,
    trusted_s: float = 0.0,
) -> None:
    """Raise when a walk over all memories would skip one, or a partition counts others.

    Args:
        damaged: collects the ids of memories that cannot be reached; None raises.
        opening: the catalog is not shared yet, so its first connection is used.
        trusted_s: a proof of at most so many seconds ago is not repeated.

    Raises:
        CatalogCorruptError: the tables have different memories, or not as many as the partitions
            count; the latter even with ``damaged``, because the ids are then unknown.
    """
    began_s = time.monotonic()
    if began_s - catalog.agreed_s < trusted_s:
        return
    with catalog.latest() if opening else catalog.reading() as db:
        found = db.execute(_COUNTS).fetchone()
        records, places, texts = found[:3], found[3:6], found[6:9]
        joined, total = found[9:]
        differ = not (records == places == texts and joined == records[0])
        if not differ and total == records[0]:
            catalog.agreed_s = began_s
            return
        catalog.agreed_s = -math.inf
        hidden = [record_id for (record_id,) in db.execute(_HIDDEN)] if differ else []
    if damaged is not None and hidden:
        damaged += hidden
        return
    if hidden:
        names = ", ".join(map(str, hidden[:_NAMED])) + (", ..." if len(hidden) > _NAMED else "")
        problem = f"the memories {names} are in some of its tables and not in others"
    elif differ:
        problem = "its tables have equally many memories, but not the same ones"
    else:
        problem = f"{counted(records[0], 'memory')}, but the partitions' counts add up to {total}"
    raise CatalogCorruptError(f"{catalog.path}: {problem}", hint=recovery_hint(None))


def refuse_damage(catalog: Catalog) -> None:
    """Raise when anything in a catalog is damaged, so that a filter could miss memories.

    Reads all pages, seals, tags and words, as ``check`` does: 16 s for a million memories.

    Raises:
        CatalogCorruptError: naming the first problem, and how many there are.
    """
    found = Findings(1)
    with catalog.reading() as db, typed_sql_errors(catalog.path), read_transaction(db):
        check_catalog(db, catalog, found)
        check_words(db, catalog, found)
    if found.problems:
        first = found.problems[0].message
        more = f", and {found.unlisted} more" if found.unlisted else ""
        raise CatalogCorruptError(
            f"{catalog.path}: {first}{more}; a filter could miss what is damaged",
            hint=recovery_hint(None),
        )
