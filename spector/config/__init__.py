"""Everything that can be tuned about a store, in frozen dataclasses."""

from __future__ import annotations

from spector.config.flat import LAYOUTS, MAX_PROBLEMS, Config, Layout
from spector.config.settings import (
    LLM_TASKS,
    STEPS,
    AssociationConfig,
    KnowledgeConfig,
    LLMConfig,
    Numbers,
    ObserveConfig,
    SessionConfig,
    SleepConfig,
    language_folders,
)
