"""spector: the memory engine that LLM agents embed.

>>> import spector
>>> with spector.open("mind") as memory:          # doctest: +SKIP
...     memory.remember("Ada prefers tea over coffee.", tags=["preference"])
...     memory.recall("what does Ada drink?", k=1)[0].text
'Ada prefers tea over coffee.'

Names are loaded when they are first used, so importing spector is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from spector._version import __version__
from spector.process import exit as _exit  # noqa: F401
from spector.process import said_as_memory_error as _said_as_memory_error

if TYPE_CHECKING:
    from spector.api import check, open, reembed, restore
    from spector.clock import Clock, ManualClock, SystemClock
    from spector.config import Config
    from spector.errors import (
        CatalogCorruptError,
        DimensionMismatchError,
        EmbeddingError,
        ForeignPartitionError,
        FormatVersionError,
        ImmutableRecordError,
        ImportFormatError,
        InvalidFilterError,
        InvalidInputError,
        InvalidMetadataError,
        InvalidScopeError,
        InvalidTagError,
        InvalidTextError,
        InvalidTimeError,
        InvalidVectorError,
        KernelUnavailableError,
        ModelFileError,
        ModelMismatchError,
        NotCopyableError,
        PartitionCorruptError,
        SpectorError,
        StateTransitionError,
        StoreClosedError,
        StoreError,
        StoreExistsError,
        StoreFailedError,
        StoreForkedError,
        StoreFullError,
        StoreLockedError,
        StoreNotFoundError,
        StoreReadOnlyError,
        SupersededRecordError,
        UnknownArgumentError,
        UnknownRecordError,
        UnknownTierError,
    )
    from spector.kernel.contract import PROFILES, Curve, Ranking, ScoringProfile
    from spector.layout import Category, Flag, Modality, PartitionState, TierCode
    from spector.memory import Memory
    from spector.providers import (
        CachedEmbedder,
        Embedder,
        Fact,
        FactExtractor,
        ImportanceScorer,
        MiniLMEmbedder,
        OpenAIEmbedder,
        Summarizer,
    )
    from spector.recall import Context, Quote, RecallOptions
    from spector.records import (
        BackupReport,
        CheckReport,
        CompactionReport,
        ErasureReceipt,
        Explanation,
        ForgetReport,
        Hit,
        HitList,
        Loss,
        MemoryRecord,
        Problem,
        Purged,
        ReflectReport,
        RepairReport,
        Residue,
        ScanStats,
        Signals,
        UserSummary,
        Verification,
    )
    from spector.sleep import ReflectDaemon
    from spector.tiers import PartitionedTier, Placement, TierRouter, TierStore

_HOMES = {
    "spector.api": "check open reembed repair restore",
    "spector.clock": "Clock ManualClock SystemClock",
    "spector.config": "Config",
    "spector.providers":
        "CachedEmbedder Embedder Fact FactExtractor ImportanceScorer MiniLMEmbedder"
    " OpenAIEmbedder Summarizer",
    "spector.errors": "CatalogCorruptError DimensionMismatchError EmbeddingError"
    " ForeignPartitionError FormatVersionError ImmutableRecordError ImportFormatError"
    " InvalidFilterError InvalidInputError InvalidMetadataError InvalidScopeError InvalidTagError"
    " InvalidTextError InvalidTimeError InvalidVectorError KernelUnavailableError ModelFileError"
    " ModelMismatchError PartitionCorruptError SpectorError StateTransitionError StoreClosedError"
    " StoreError StoreExistsError StoreFailedError StoreForkedError StoreFullError"
    " NotCopyableError StoreLockedError"
    " StoreNotFoundError StoreReadOnlyError SupersededRecordError UnknownArgumentError"
    " UnknownRecordError"
    " UnknownTierError",
    "spector.kernel.contract.profile": "PROFILES Curve ScoringProfile",
    "spector.kernel.contract.evidence": "Ranking",
    "spector.layout": "Category Flag Modality PartitionState TierCode",
    "spector.memory": "Memory",
    "spector.recall.context": "Context Quote",
    "spector.recall.options": "RecallOptions",
    "spector.records.erasure": "ErasureReceipt Purged Residue Verification",
    "spector.records.hits": "Explanation Hit HitList ScanStats Signals",
    "spector.records.memory": "MemoryRecord",
    "spector.records.reports": "BackupReport CheckReport CompactionReport ForgetReport Loss Problem"
    " ReflectReport RepairReport UserSummary",
    "spector.sleep.daemon": "ReflectDaemon",
    "spector.tiers.base": "PartitionedTier Placement TierStore",
    "spector.tiers.router": "TierRouter",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "PROFILES",
    "BackupReport",
    "CachedEmbedder",
    "CatalogCorruptError",
    "Category",
    "CheckReport",
    "Clock",
    "CompactionReport",
    "Config",
    "Context",
    "Curve",
    "DimensionMismatchError",
    "Embedder",
    "EmbeddingError",
    "ErasureReceipt",
    "Explanation",
    "Fact",
    "FactExtractor",
    "Flag",
    "ForeignPartitionError",
    "ForgetReport",
    "FormatVersionError",
    "Hit",
    "HitList",
    "ImmutableRecordError",
    "ImportFormatError",
    "ImportanceScorer",
    "InvalidFilterError",
    "InvalidInputError",
    "InvalidMetadataError",
    "InvalidScopeError",
    "InvalidTagError",
    "InvalidTextError",
    "InvalidTimeError",
    "InvalidVectorError",
    "KernelUnavailableError",
    "Loss",
    "ManualClock",
    "Memory",
    "MemoryRecord",
    "MiniLMEmbedder",
    "Modality",
    "ModelFileError",
    "ModelMismatchError",
    "NotCopyableError",
    "OpenAIEmbedder",
    "PartitionCorruptError",
    "PartitionState",
    "PartitionedTier",
    "Placement",
    "Problem",
    "Purged",
    "Quote",
    "Ranking",
    "RecallOptions",
    "ReflectDaemon",
    "ReflectReport",
    "RepairReport",
    "Residue",
    "ScanStats",
    "ScoringProfile",
    "Signals",
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
    "Summarizer",
    "SupersededRecordError",
    "SystemClock",
    "TierCode",
    "TierRouter",
    "TierStore",
    "UnknownArgumentError",
    "UnknownRecordError",
    "UnknownTierError",
    "UserSummary",
    "Verification",
    "__version__",
    "check",
    "open",
    "reembed",
    "repair",
    "restore",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise importlib.import_module("spector.messages.suggestions").no_attribute("spector",
        name, __all__)
    with _said_as_memory_error():
        value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
