"""The public names, for type checkers; ``__init__.py`` loads each at its first use."""

from spector._version import __version__ as __version__
from spector.api import (
    check as check,
)
from spector.api import (
    open as open,
)
from spector.api import (
    reembed as reembed,
)
from spector.api import (
    repair as repair,
)
from spector.api import (
    restore as restore,
)
from spector.asynchronous import (
    AsyncMemory as AsyncMemory,
)
from spector.asynchronous import (
    AsyncSession as AsyncSession,
)
from spector.asynchronous import (
    Settled as Settled,
)
from spector.asynchronous import (
    open_async as open_async,
)
from spector.clock import (
    Clock as Clock,
)
from spector.clock import (
    ManualClock as ManualClock,
)
from spector.clock import (
    SystemClock as SystemClock,
)
from spector.config import (
    AssociationConfig as AssociationConfig,
)
from spector.config import (
    Config as Config,
)
from spector.config import (
    KnowledgeConfig as KnowledgeConfig,
)
from spector.config import (
    LLMConfig as LLMConfig,
)
from spector.config import (
    ObserveConfig as ObserveConfig,
)
from spector.config import (
    SessionConfig as SessionConfig,
)
from spector.config import (
    SleepConfig as SleepConfig,
)
from spector.errors import (
    BusyError as BusyError,
)
from spector.errors import (
    CatalogCorruptError as CatalogCorruptError,
)
from spector.errors import (
    ConflictError as ConflictError,
)
from spector.errors import (
    DimensionMismatchError as DimensionMismatchError,
)
from spector.errors import (
    EmbeddingError as EmbeddingError,
)
from spector.errors import (
    ForeignPartitionError as ForeignPartitionError,
)
from spector.errors import (
    FormatVersionError as FormatVersionError,
)
from spector.errors import (
    ImmutableRecordError as ImmutableRecordError,
)
from spector.errors import (
    ImportFormatError as ImportFormatError,
)
from spector.errors import (
    InvalidFilterError as InvalidFilterError,
)
from spector.errors import (
    InvalidInputError as InvalidInputError,
)
from spector.errors import (
    InvalidMetadataError as InvalidMetadataError,
)
from spector.errors import (
    InvalidScopeError as InvalidScopeError,
)
from spector.errors import (
    InvalidTagError as InvalidTagError,
)
from spector.errors import (
    InvalidTextError as InvalidTextError,
)
from spector.errors import (
    InvalidTimeError as InvalidTimeError,
)
from spector.errors import (
    InvalidVectorError as InvalidVectorError,
)
from spector.errors import (
    KernelUnavailableError as KernelUnavailableError,
)
from spector.errors import (
    LLMError as LLMError,
)
from spector.errors import (
    ModelFileError as ModelFileError,
)
from spector.errors import (
    ModelMismatchError as ModelMismatchError,
)
from spector.errors import (
    NotCopyableError as NotCopyableError,
)
from spector.errors import (
    PartitionCorruptError as PartitionCorruptError,
)
from spector.errors import (
    SessionClosedError as SessionClosedError,
)
from spector.errors import (
    SpectorError as SpectorError,
)
from spector.errors import (
    StateTransitionError as StateTransitionError,
)
from spector.errors import (
    StoreClosedError as StoreClosedError,
)
from spector.errors import (
    StoreError as StoreError,
)
from spector.errors import (
    StoreExistsError as StoreExistsError,
)
from spector.errors import (
    StoreFailedError as StoreFailedError,
)
from spector.errors import (
    StoreForkedError as StoreForkedError,
)
from spector.errors import (
    StoreFullError as StoreFullError,
)
from spector.errors import (
    StoreLockedError as StoreLockedError,
)
from spector.errors import (
    StoreNotFoundError as StoreNotFoundError,
)
from spector.errors import (
    StoreReadOnlyError as StoreReadOnlyError,
)
from spector.errors import (
    SupersededRecordError as SupersededRecordError,
)
from spector.errors import (
    UnknownArgumentError as UnknownArgumentError,
)
from spector.errors import (
    UnknownRecordError as UnknownRecordError,
)
from spector.errors import (
    UnknownRelationError as UnknownRelationError,
)
from spector.errors import (
    UnknownTierError as UnknownTierError,
)
from spector.facets import (
    Concepts as Concepts,
)
from spector.facets import (
    Entities as Entities,
)
from spector.facets import (
    Facts as Facts,
)
from spector.facets import (
    Graph as Graph,
)
from spector.facets import (
    Layers as Layers,
)
from spector.facets import (
    Learnings as Learnings,
)
from spector.facets import (
    MemoryLayer as MemoryLayer,
)
from spector.facets import (
    Procedures as Procedures,
)
from spector.kernel.contract import (
    PROFILES as PROFILES,
)
from spector.kernel.contract import (
    Curve as Curve,
)
from spector.kernel.contract import (
    Ranking as Ranking,
)
from spector.kernel.contract import (
    ScoringProfile as ScoringProfile,
)
from spector.knowledge.statistics import (
    assess as assess,
)
from spector.language.words.folding import (
    normalize_tokens as normalize_tokens,
)
from spector.layout import (
    Category as Category,
)
from spector.layout import (
    Flag as Flag,
)
from spector.layout import (
    Modality as Modality,
)
from spector.layout import (
    PartitionState as PartitionState,
)
from spector.layout import (
    TierCode as TierCode,
)
from spector.memory import Memory as Memory
from spector.providers import (
    LLM as LLM,
)
from spector.providers import (
    CachedEmbedder as CachedEmbedder,
)
from spector.providers import (
    CoreferenceResolver as CoreferenceResolver,
)
from spector.providers import (
    Detectors as Detectors,
)
from spector.providers import (
    Embedder as Embedder,
)
from spector.providers import (
    EmotionDetector as EmotionDetector,
)
from spector.providers import (
    EntityExtractor as EntityExtractor,
)
from spector.providers import (
    Fact as Fact,
)
from spector.providers import (
    FactExtractor as FactExtractor,
)
from spector.providers import (
    ImportanceScorer as ImportanceScorer,
)
from spector.providers import (
    IntentClassifier as IntentClassifier,
)
from spector.providers import (
    LLMFactExtractor as LLMFactExtractor,
)
from spector.providers import (
    MiniLMEmbedder as MiniLMEmbedder,
)
from spector.providers import (
    OpenAIEmbedder as OpenAIEmbedder,
)
from spector.providers import (
    OpenAILLM as OpenAILLM,
)
from spector.providers import (
    PromotionSource as PromotionSource,
)
from spector.providers import (
    RelationDetector as RelationDetector,
)
from spector.providers import (
    Summarizer as Summarizer,
)
from spector.recall import (
    Context as Context,
)
from spector.recall import (
    Quote as Quote,
)
from spector.recall import (
    RecallOptions as RecallOptions,
)
from spector.records import (
    Activation as Activation,
)
from spector.records import (
    Assessment as Assessment,
)
from spector.records import (
    BackupReport as BackupReport,
)
from spector.records import (
    CheckReport as CheckReport,
)
from spector.records import (
    CompactionReport as CompactionReport,
)
from spector.records import (
    Concept as Concept,
)
from spector.records import (
    Decision as Decision,
)
from spector.records import (
    DualStrength as DualStrength,
)
from spector.records import (
    Edge as Edge,
)
from spector.records import (
    Emotion as Emotion,
)
from spector.records import (
    Entity as Entity,
)
from spector.records import (
    Episode as Episode,
)
from spector.records import (
    ErasureReceipt as ErasureReceipt,
)
from spector.records import (
    Explanation as Explanation,
)
from spector.records import (
    FactEdge as FactEdge,
)
from spector.records import (
    FactRecord as FactRecord,
)
from spector.records import (
    ForgetReport as ForgetReport,
)
from spector.records import (
    Hit as Hit,
)
from spector.records import (
    HitList as HitList,
)
from spector.records import (
    Importance as Importance,
)
from spector.records import (
    Judge as Judge,
)
from spector.records import (
    Judgement as Judgement,
)
from spector.records import (
    Learning as Learning,
)
from spector.records import (
    LearningType as LearningType,
)
from spector.records import (
    LLMUsage as LLMUsage,
)
from spector.records import (
    Loss as Loss,
)
from spector.records import (
    MemoryList as MemoryList,
)
from spector.records import (
    MemoryRecord as MemoryRecord,
)
from spector.records import (
    MessageVerdict as MessageVerdict,
)
from spector.records import (
    NamespaceSummary as NamespaceSummary,
)
from spector.records import (
    Note as Note,
)
from spector.records import (
    ObservedUnit as ObservedUnit,
)
from spector.records import (
    ObserveResult as ObserveResult,
)
from spector.records import (
    PairVerdict as PairVerdict,
)
from spector.records import (
    PredictedOutcome as PredictedOutcome,
)
from spector.records import (
    Problem as Problem,
)
from spector.records import (
    Procedure as Procedure,
)
from spector.records import (
    Proposal as Proposal,
)
from spector.records import (
    Purged as Purged,
)
from spector.records import (
    Reached as Reached,
)
from spector.records import (
    ReadReport as ReadReport,
)
from spector.records import (
    Reference as Reference,
)
from spector.records import (
    ReflectReport as ReflectReport,
)
from spector.records import (
    RelationKind as RelationKind,
)
from spector.records import (
    RepairReport as RepairReport,
)
from spector.records import (
    Residue as Residue,
)
from spector.records import (
    ScanStats as ScanStats,
)
from spector.records import (
    SessionReport as SessionReport,
)
from spector.records import (
    Signals as Signals,
)
from spector.records import (
    Skipped as Skipped,
)
from spector.records import (
    Statement as Statement,
)
from spector.records import (
    Statistic as Statistic,
)
from spector.records import (
    Step as Step,
)
from spector.records import (
    StepReport as StepReport,
)
from spector.records import (
    UserSummary as UserSummary,
)
from spector.records import (
    Verification as Verification,
)
from spector.records.knowledge import (
    Percept as Percept,
)
from spector.records.knowledge import (
    PromotionCandidate as PromotionCandidate,
)
from spector.session.session import Session as Session
from spector.sleep import ReflectDaemon as ReflectDaemon
from spector.tiers import (
    PartitionedTier as PartitionedTier,
)
from spector.tiers import (
    Placement as Placement,
)
from spector.tiers import (
    TierRouter as TierRouter,
)
from spector.tiers import (
    TierStore as TierStore,
)
