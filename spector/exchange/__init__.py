"""Export to and import from JSON lines: one memory a line, with what is known beside its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.exchange.exchange import Exchange
    from spector.exchange.lines import Vectors


__getattr__ = on_first_use(__name__)
