"""An embedded memory engine for LLM agents: a library that you open like a file.

>>> import spector
>>> with spector.open("mind") as memory:          # doctest: +SKIP
...     memory.remember("Ada prefers tea over coffee.", tags=["preference"])
...     memory.recall("what does Ada drink?", k=1)[0].text
'Ada prefers tea over coffee.'

Names are loaded when they are first used, so importing spector is cheap.
"""

from __future__ import annotations

import importlib
from typing import Any

from spector._version import __version__
from spector.process import said_as_memory_error as _said_as_memory_error

#: module -> public names that it has; checkers read them from ``__init__.pyi``
_HOMES = {
    "spector.api": "check open reembed repair restore",
    "spector.asynchronous": "AsyncMemory AsyncSession Settled open_async",
    "spector.clock": "Clock ManualClock SystemClock",
    "spector.config": "AssociationConfig Config KnowledgeConfig LLMConfig ObserveConfig SessionConfig SleepConfig",
    "spector.errors": "BusyError CatalogCorruptError ConflictError DimensionMismatchError"
    " EmbeddingError ForeignPartitionError FormatVersionError ImmutableRecordError"
    " ImportFormatError InvalidFilterError InvalidInputError InvalidMetadataError"
    " InvalidScopeError InvalidTagError InvalidTextError InvalidTimeError"
    " InvalidVectorError KernelUnavailableError LLMError ModelFileError"
    " ModelMismatchError NotCopyableError PartitionCorruptError SessionClosedError"
    " SpectorError StateTransitionError StoreClosedError StoreError StoreExistsError"
    " StoreFailedError StoreForkedError StoreFullError StoreLockedError"
    " StoreNotFoundError StoreReadOnlyError SupersededRecordError"
    " UnknownArgumentError UnknownRecordError UnknownRelationError UnknownTierError",
    "spector.facets.concepts": "Concepts",
    "spector.facets.entities": "Entities",
    "spector.facets.facts": "Facts",
    "spector.facets.graph": "Graph",
    "spector.facets.layers": "Layers MemoryLayer",
    "spector.facets.learnings": "Learnings",
    "spector.facets.procedures": "Procedures",
    "spector.kernel.contract.profile": "Curve PROFILES Ranking ScoringProfile",
    "spector.knowledge.statistics": "assess",
    "spector.language.words.folding": "normalize_tokens",
    "spector.layout": "Category Flag Modality PartitionState TierCode",
    "spector.memory": "Memory",
    "spector.providers": "CachedEmbedder CoreferenceResolver Detectors Embedder EmotionDetector"
    " EntityExtractor Fact FactExtractor ImportanceScorer IntentClassifier LLM"
    " LLMFactExtractor MiniLMEmbedder OpenAIEmbedder OpenAILLM PromotionSource"
    " RelationDetector Summarizer",
    "spector.recall.context": "Context Quote",
    "spector.recall.options": "RecallOptions",
    "spector.records.details": "DualStrength",
    "spector.records.hits": "Explanation Hit HitList ScanStats Signals",
    "spector.records.knowledge": "Activation Assessment Concept Edge Entity Episode FactEdge FactRecord Learning"
    " LearningType Percept PredictedOutcome Procedure PromotionCandidate Reached ReadReport"
    " RelationKind Statistic Step",
    "spector.records.memory": "Decision MemoryRecord",
    "spector.records.observation": "Emotion Importance Judge Judgement LLMUsage MessageVerdict Note ObserveResult"
    " ObservedUnit PairVerdict Reference Statement",
    "spector.records.reports": "BackupReport CheckReport CompactionReport ErasureReceipt ForgetReport Loss MemoryList"
    " NamespaceSummary Problem Proposal Purged ReflectReport RepairReport Residue SessionReport"
    " Skipped StepReport UserSummary Verification",
    "spector.session.session": "Session",
    "spector.sleep.daemon": "ReflectDaemon",
    "spector.tiers.base": "PartitionedTier Placement TierStore",
    "spector.tiers.router": "TierRouter",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        suggestions = importlib.import_module("spector.messages")
        raise suggestions.no_attribute("spector", name, __all__)
    with _said_as_memory_error():
        value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
