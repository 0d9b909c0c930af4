"""A catalog is made whole or not at all; one that has failed is closed as it is.

Damage: half a schema is taken for a catalog; a log is copied after its sync has failed.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import spector
from spector.store.catalog import schema
from spector.store.catalog.catalog import Catalog
from spector.store.sqlite import database


def test_a_catalog_that_cannot_be_made_says_so_and_is_not_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = Catalog(str(tmp_path / "catalog.db"), mode="rw", durability="strict")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "SCHEMA", "CREATE TABLE half (made); CREATE nonsense")
        with pytest.raises(spector.StoreError):
            catalog.create({"dim": "3"})
    assert catalog.is_new()
    catalog.create({"dim": "3"})
    assert not catalog.is_new()
    catalog.close()


@pytest.mark.parametrize("readers", [0, 2])
def test_a_catalog_that_is_closed_after_a_failure_keeps_its_log_and_no_connection(
    tmp_path: Path, readers: int
) -> None:
    """Or the log is copied after a failed sync; or a writing connection stays for good."""
    catalog = Catalog(str(tmp_path / "catalog.db"), mode="rw", durability="strict")
    catalog.create({"dim": "3"})
    lent = [catalog.borrow(object()) for _ in range(readers)]
    for each in lent:
        catalog.give_back(each)
    held = [catalog.main, *lent]
    names = [tmp_path / "catalog.db", tmp_path / "catalog.db-wal"]
    before = [name.read_bytes() for name in names]
    catalog.close(failed=True)
    assert catalog not in database._left_open
    for connection in held:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
    assert [name.read_bytes() for name in names] == before
