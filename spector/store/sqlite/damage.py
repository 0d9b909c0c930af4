"""The errors that SQLite raises over a damaged catalog."""

from __future__ import annotations

import sqlite3
from typing import Final

__all__ = ["SQL_ERRORS"]

#: a message about damage may quote damaged bytes, which Python's sqlite3 then cannot decode
SQL_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
