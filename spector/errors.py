"""Every error spector raises on purpose.

One class per cause. A class also derives from the builtin a caller would naturally catch, so
``except KeyError`` around ``memory.get(id)`` works::

    SpectorError
    +-- InvalidInputError (ValueError)      the caller's argument is wrong; nothing was changed
    |   +-- InvalidTextError, InvalidTagError, InvalidTimeError, InvalidFilterError,
    |   |   InvalidVectorError, InvalidMetadataError, InvalidScopeError
    |   +-- DimensionMismatchError          vector length differs from the store's
    |   +-- UnknownArgumentError (TypeError)  a verb has no argument of this name
    |   +-- UnknownTierError (KeyError)     no such tier is registered
    |   +-- UnknownRelationError (KeyError) no such kind of relation is registered
    |   +-- ImportFormatError               a file to import is not what it claims to be
    |   +-- SupersededRecordError           another memory took its place already
    +-- UnknownRecordError (KeyError)       no live record has this id
    +-- ImmutableRecordError (PermissionError)
    +-- ConflictError                       another call changed the memory first
    +-- NotCopyableError (TypeError)        an open memory cannot be copied or pickled
    +-- EmbeddingError (RuntimeError)       no vector could be made; nothing was stored
    |   +-- ModelFileError                  the weights are missing or not the pinned ones
    +-- LLMError (RuntimeError)             a chat model gave no usable answer
    +-- KernelUnavailableError (ImportError)
    +-- BusyError (RuntimeError)            too many calls of an AsyncMemory wait
    +-- StateTransitionError (RuntimeError) a partition may not change state that way
    +-- SessionClosedError (RuntimeError)   the session has ended; begin another one
    +-- StoreError (OSError)                the store as a whole cannot do this
        +-- StoreNotFoundError (FileNotFoundError)
        +-- StoreExistsError (FileExistsError)   something is where a copy or an export is to go
        +-- StoreLockedError (BlockingIOError)  another process, or this one, is the writer
        +-- StoreClosedError, StoreReadOnlyError (PermissionError), StoreForkedError
        +-- StoreFullError                  disk full or quota; free space and go on
        +-- StoreFailedError                a write or sync failed; reopen to recover
        +-- ModelMismatchError (ValueError) store was made with another model or dimension
        +-- FormatVersionError              written by a newer spector
        +-- PartitionCorruptError           bytes of a .mem file are not what was written
        |   +-- ForeignPartitionError       a .mem file of another store
        +-- CatalogCorruptError             catalog.db is damaged or does not fit the partitions
"""

from __future__ import annotations

import copy
from typing import Any

__all__ = [
    "BusyError",
    "CatalogCorruptError",
    "ConflictError",
    "DimensionMismatchError",
    "EmbeddingError",
    "ForeignPartitionError",
    "FormatVersionError",
    "ImmutableRecordError",
    "ImportFormatError",
    "InvalidFilterError",
    "InvalidInputError",
    "InvalidMetadataError",
    "InvalidScopeError",
    "InvalidTagError",
    "InvalidTextError",
    "InvalidTimeError",
    "InvalidVectorError",
    "KernelUnavailableError",
    "LLMError",
    "ModelFileError",
    "ModelMismatchError",
    "NotCopyableError",
    "PartitionCorruptError",
    "SessionClosedError",
    "SpectorError",
    "StateTransitionError",
    "StoreClosedError",
    "StoreError",
    "StoreExistsError",
    "StoreFailedError",
    "StoreForkedError",
    "StoreFullError",
    "StoreLockedError",
    "StoreNotFoundError",
    "StoreReadOnlyError",
    "SupersededRecordError",
    "UnknownArgumentError",
    "UnknownRecordError",
    "UnknownRelationError",
    "UnknownTierError",
]


class SpectorError(Exception):
    """Base of every error that spector raises on purpose.

    Args:
        message: the cause, with the offending value or place.
        hint: the next step, as an imperative sentence; shown after the message.
    """

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


def without_frames(error: BaseException) -> BaseException:
    """A copy to keep, with its causes, but without tracebacks.

    A traceback has every frame that the error came through, and so keeps all that these were
    working with: what keeps the error would keep itself.
    """
    try:
        kept = copy.copy(error)
    except Exception:  # made by a constructor that wants to know more than the message
        kept = SpectorError(f"{type(error).__name__}: {error}")
    kept.__traceback__ = kept.__context__ = None
    if isinstance(kept, OSError) and isinstance(error, OSError):
        kept.errno = error.errno  # lost when an error is made from its message only
    kept.__cause__ = None if error.__cause__ is None else without_frames(error.__cause__)
    return kept


class InvalidInputError(SpectorError, ValueError):
    """An argument is wrong. Nothing was changed."""


class InvalidTextError(InvalidInputError):
    """Empty, too large, or not encodable as UTF-8."""


class InvalidTagError(InvalidInputError):
    """A tag is empty, too long, holds control characters, or there are too many."""


class InvalidTimeError(InvalidInputError):
    """A naive datetime, an unparsable string, or an instant outside the supported range."""


class InvalidFilterError(InvalidInputError):
    """A ``where`` expression, range or selector is malformed."""


class InvalidVectorError(InvalidInputError):
    """A vector with NaN, infinity, only zeros, or of the wrong shape."""


class InvalidMetadataError(InvalidInputError):
    """Metadata that is not a JSON object or is too large."""


class InvalidScopeError(InvalidInputError):
    """A session, agent or user id is empty, too long or not a string."""


class DimensionMismatchError(InvalidVectorError):
    """A vector's length differs from the dimension of the store."""


class UnknownArgumentError(InvalidInputError, TypeError):
    """A verb was called with an argument that it does not have, or without one that it needs."""


class UnknownTierError(InvalidInputError, KeyError):
    """No tier of this name is registered."""


class UnknownRelationError(InvalidInputError, KeyError):
    """No kind of relation has this name."""


class ImportFormatError(InvalidInputError):
    """A file to import is not in the format it claims to be."""


class UnknownRecordError(SpectorError, KeyError):
    """No live record has this id."""


class ImmutableRecordError(SpectorError, PermissionError):
    """The record is flagged immutable."""


class ConflictError(SpectorError):
    """A memory has another revision than ``if_revision`` says. Nothing was changed.

    Attributes:
        current: the memory as it is; None where there is none.
    """

    def __init__(self, message: str = "", *, hint: str = "", current: Any = None) -> None:
        super().__init__(message, hint=hint)
        self.current = current


class NotCopyableError(SpectorError, TypeError):
    """What has a file, a lock or a thread behind it cannot be copied or pickled."""


class SupersededRecordError(InvalidInputError):
    """Another memory has taken the place of this one already. Nothing was changed."""


class EmbeddingError(SpectorError, RuntimeError):
    """No vector could be made for a text. Nothing was stored."""


class ModelFileError(EmbeddingError):
    """The model's files are missing, damaged, or not the pinned ones."""


class LLMError(SpectorError, RuntimeError):
    """A chat model gave no answer, or none that can be used."""


class KernelUnavailableError(SpectorError, ImportError):
    """The scan kernel pinned by ``SPECTOR_KERNEL`` cannot be loaded."""


class StateTransitionError(SpectorError, RuntimeError):
    """A partition may not go from its state to the requested one."""


class SessionClosedError(SpectorError, RuntimeError):
    """The session has ended, by a call, with its ``with`` block, or because it was not used."""


class StoreError(SpectorError, OSError):
    """The store as a whole cannot do this."""


class StoreNotFoundError(StoreError, FileNotFoundError):
    """There is no store at this path."""


class StoreExistsError(StoreError, FileExistsError):
    """Something is where a copy of a store or an export is to be put. It was left alone."""


class StoreLockedError(StoreError, BlockingIOError):
    """Another process (or another ``Memory`` of this one) is the writer."""


class StoreClosedError(StoreError):
    """The store was closed."""


class StoreReadOnlyError(StoreError, PermissionError):
    """The store was opened ``mode="r"``, or its directory cannot be written."""


class BusyError(SpectorError, RuntimeError):
    """As many calls of an :class:`spector.AsyncMemory` wait as ``max_waiting`` allows."""


class StoreForkedError(StoreError):
    """The store was open before a fork and is used, or opened again, in the child."""


class StoreFullError(StoreError):
    """The disk, a quota or a file-size limit is exhausted. Nothing was stored."""


class StoreFailedError(StoreError):
    """A write or sync failed, so memory and disk may differ. Reopening recovers."""


class ModelMismatchError(StoreError, ValueError):
    """The store was made with another embedding model or dimension."""


class FormatVersionError(StoreError):
    """The store was written by a newer version of spector, or was migrated under a reader."""


class PartitionCorruptError(StoreError):
    """Bytes of a partition are not what was written."""


class ForeignPartitionError(PartitionCorruptError):
    """A partition file belongs to another store."""


class CatalogCorruptError(StoreError):
    """The catalog is damaged or does not fit the partitions."""
