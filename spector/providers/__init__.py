"""Embedders: protocols, the offline default, OpenAI, a cache, token counts.

Importing this package loads neither onnxruntime nor openai; the first ``embed()`` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.providers.asking import ChatModel, LLMFactExtractor, Patience, is_storable, quoted
    from spector.providers.cache import CachedEmbedder, CacheStats
    from spector.providers.change_model import ChangeModel
    from spector.providers.minilm import MiniLMEmbedder
    from spector.providers.openai import OpenAIEmbedder, OpenAILLM
    from spector.providers.protocols import (
        LLM,
        CoreferenceResolver,
        Detectors,
        Embedder,
        EmotionDetector,
        EntityExtractor,
        Fact,
        FactExtractor,
        ImportanceScorer,
        IntentClassifier,
        PromotionSource,
        RelationDetector,
        Summarizer,
        embedded,
    )
    from spector.providers.resolving import (
        load_ahead,
        own_extractor,
        resolve,
        resolve_detectors,
        resolve_extractor,
        resolve_llm,
        resolve_summarizer,
    )
    from spector.providers.token_counts import TokenCounter, estimated_tokens, token_counter


__getattr__ = on_first_use(__name__)
