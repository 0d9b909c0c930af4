"""Keeps the index of words up with the catalog, and saves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.store.words.files import (
        FOLDER,
        drop_unused_words,
        is_words,
        notes_on_words,
        remove_words,
    )
    from spector.store.words.index import (
        Utterance,
        Words,
        newest_utterances,
        spoken_words,
        stored_words,
    )


__getattr__ = on_first_use(__name__)
