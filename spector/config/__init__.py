"""Everything that can be tuned about a store, in frozen dataclasses."""

from __future__ import annotations

from spector.config.flat import LAYOUTS, MAX_PROBLEMS, Config, Layout
from spector.config.knowing import AssociationConfig, KnowledgeConfig
from spector.config.languages import language_folders
from spector.config.observing import LLM_TASKS, LLMConfig, ObserveConfig, SessionConfig
from spector.config.sections import Numbers
from spector.config.sleeping import STEPS, SleepConfig

__all__ = [
    "LAYOUTS",
    "LLM_TASKS",
    "MAX_PROBLEMS",
    "STEPS",
    "AssociationConfig",
    "Config",
    "KnowledgeConfig",
    "LLMConfig",
    "Layout",
    "Numbers",
    "ObserveConfig",
    "SessionConfig",
    "SleepConfig",
    "language_folders",
]
