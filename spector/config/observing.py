"""How messages become memories, what a session keeps, and what a chat model is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from spector.config.languages import language_folders
from spector.config.sections import (
    Count,
    Factor,
    Growth,
    Positive,
    Section,
    Share,
    Shares,
    Whole,
    Words,
)
from spector.errors import InvalidInputError
from spector.messages import shown

__all__ = ["LLM_TASKS", "LLMConfig", "ObserveConfig", "SessionConfig"]

#: what a chat model may be asked for
LLM_TASKS: Final = (
    "judgement",
    "formation",
    "synthesis",
    "relations",
    "consolidation",
    "summaries",
)
_Boost: TypeAlias = tuple[Factor, ...]
_THERE: Final = tuple(language_folders())
_Languages: TypeAlias = Annotated[tuple[str, ...], Words(_THERE, least=1)]
_Tasks: TypeAlias = Annotated[tuple[str, ...], Words(LLM_TASKS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveConfig(Section):
    """What is kept of a message: filters, formation, importance, gate and tags."""

    NAME: ClassVar[str] = "observe"

    #: compare a new memory with those that exist; False stores each as a new one
    gate: bool = True
    #: by which the gate decides: "slots" (subject, predicate and value) or "bands" of likeness
    gate_by: Literal["slots", "bands"] = "slots"
    #: a message of as many characters or more becomes several memories
    max_chars: Count = 5000
    #: characters of quoted words and code that a memory keeps beside its own words
    max_quoted: Count = 2000
    #: what happens to a message that instructs a model: "skip", or "quarantine" keeps it flagged
    on_injection: Literal["skip", "quarantine"] = "skip"
    #: entities of a message at most
    max_entities: Count = 8
    #: category of a text whose only content are entities: "frame" makes it an entity where it says
    #: who or what one is, "mention" always
    entity_by: Literal["frame", "mention"] = "frame"
    #: longest text of a memory that was rewritten, in characters
    max_rewritten_chars: Count = 500
    #: add what pronouns and dates stand for in square brackets
    annotate: bool = True
    #: least precision of a rule for pronouns that may annotate
    reference_precision: Share = 0.75
    #: least confidence from which on what is contradicted is superseded, and so hidden
    hide_at: Share = 0.97
    #: least confidence from which on a newer memory is recalled before the one it may have changed
    order_at: Share = 0.3
    #: seconds that a judge may take for a message; then the rules decide
    judge_timeout_s: Positive = 8
    #: turn the first person into the third
    rewrite: bool = False
    #: keep the words as they were where ``rewrite`` changed them
    keep_raw: bool = True
    #: how importance is found: "channels" (novelty, arousal, reward, attention), or "ucma" (source,
    #: keywords, length)
    importance: Literal["channels", "ucma"] = "channels"
    #: weights of novelty, arousal, reward and attention
    weights: Shares = (0.25, 0.30, 0.25, 0.20)
    #: least and greatest factor of the weighted sum
    boost_range: _Boost = (0.7, 1.3)
    #: bands: below this likeness a memory is new
    create_below: Share = 0.70
    #: bands: from this likeness on an existing memory is updated
    update_from: Share = 0.75
    #: bands: above this likeness an existing memory is reinforced
    reinforce_above: Share = 0.92
    #: bands: least importance of what is created between the first two
    gap_importance: Share = 0.6
    #: candidates of each channel (vector, words, slot); with bands, of all together
    gate_neighbours: Count = 5
    #: nearest memories that a new one may be related to
    relate_neighbours: Whole = 8
    #: likeness that the bands are about: the model's "cosine", or "calibrated" to the default model
    gate_scale: Literal["cosine", "calibrated"] = "cosine"
    #: what an update does: "create" a memory beside the old one, or "merge" into it
    on_update: Literal["create", "merge"] = "create"
    #: longest text that a merge may make, in characters
    max_merged_chars: Count = 2000
    #: reward knows the class of a message; False leaves it to the utility of memories like it
    reward_prior: bool = True
    #: arousal that each of at most three exclamation marks adds
    exclamation: Share = 0.0
    #: confidence of a record: "trust" in its origin, or that of its "class"
    confidence: Literal["trust", "class"] = "trust"
    #: messages that ``observe_many`` embeds and commits together
    batch: Count = 256
    #: memories of less importance are tagged in a session
    tag_below: Share = 0.5
    #: memories of this importance or more capture tags
    capture_from: Share = 0.7
    #: seconds for which a tag lives
    tag_ttl_s: Positive = 14_400
    #: factor of the stability of what is captured
    capture_factor: Growth = 1.3
    #: languages whose rules are applied: ("en", "tr") and those that SPECTOR_LANGUAGES brings
    language: _Languages = _THERE

    def _check(self) -> None:
        self._ordered("create_below", "update_from")
        self._ordered("update_from", "reinforce_above")
        if self.boost_range[0] > self.boost_range[1]:
            raise InvalidInputError(
                f"Config.observe.boost_range is {shown(self.boost_range)}",
                hint="pass the least factor, then the greatest",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig(Section):
    """What a session keeps in memory while it lasts."""

    NAME: ClassVar[str] = "session"

    #: raw inputs that the sensory buffer keeps
    sensory_capacity: Count = 512
    #: entries of the session buffer
    buffer_items: Count = 9
    #: minutes without use after which an entry counts 1/e
    buffer_scale_min: Positive = 30
    #: accesses from which an entry becomes a memory at the end
    promote_accesses: Whole = 2
    #: importance from which an entry becomes a memory at the end
    promote_importance: Share = 0.6
    #: budget of the zone of instructions
    system_tokens: Whole = 2048
    #: budget of the zone of the conversation
    active_tokens: Whole = 6144
    #: budget of the zone of recalled memories
    staging_tokens: Whole = 512
    #: best hits of a recall that go into staging
    stage: Whole = 3
    #: weight of importance where a zone makes room
    zone_importance: Share = 0.7
    #: weight of recency where a zone makes room
    zone_recency: Share = 0.3
    #: seconds without use after which a session ends
    idle_s: Positive = 14_400


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMConfig(Section):
    """What a chat model is asked, if there is one (``spector.open(llm=...)``)."""

    NAME: ClassVar[str] = "llm"

    #: steps in which it is used
    tasks: _Tasks = LLM_TASKS
    #: ask it again for importances between 0.35 and 0.65
    importance: bool = False
    #: ask it for the intent of a cue
    route: bool = False
    #: seconds until a call counts as failed
    timeout_s: Positive = 20
    #: longest input, in characters
    max_input_chars: Count = 8000
