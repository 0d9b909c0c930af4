"""Commands that read files of messages: import and observe."""

from __future__ import annotations

from spector.cli.commands.files.importing import add_import
from spector.cli.commands.files.observing import add_observe

__all__ = ["add_import", "add_observe"]
