"""Reads conversations and notes from files into keyword arguments of ``Memory.remember``.

One module per format in ``formats/``, each with a ``FORMAT``: its name, a reader and what shows it.
To add one, write such a module and add it to the list there, or ``register`` it in a program of
your own. ``docs/manual/importing.md`` has the mapping of each.
"""

from __future__ import annotations

from spector.importers.detect import FORMATS, READERS, detect_format, iter_messages, register
from spector.importers.entries import Broken, Format, Found, LeftOut, Message, Options, label
from spector.importers.importing import (
    NOT_KEPT,
    Importing,
    ImportOptions,
    import_files,
    observable,
    observing,
)
from spector.importers.places import Archive
from spector.importers.report import FileReport, ImportReport
from spector.importers.sources import Head, SourceFile
from spector.importers.times import parse_time
