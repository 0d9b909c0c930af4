"""The request of a recall: its parsed arguments, and the SQL of its selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from spector.arguments import SCOPES
from spector.config import AssociationConfig
from spector.kernel.contract import DEFAULT_DROP_FLAGS, ScoringProfile, norm, record_mask
from spector.language.cues import Kind
from spector.layout import Flag
from spector.store.catalog import (
    ANYBODY,
    LINKED_SQL,
    PINNED_SQL,
    RESTED_SQL,
    SAID,
    SUPERSEDED_SQL,
    Scope,
    SqlFilter,
    Way,
    narrowed,
    told_between,
)
from spector.store.payloads import KeyRange

if TYPE_CHECKING:
    from spector.language.cues import Intent, Topic
    from spector.language.dates import Span, Window


# The cue of a recall, and what the rules of language read in it.


@dataclass(frozen=True, slots=True, eq=False)
class Cue:
    """A text, a vector (dim,) f32, or both; neither ranks by strength alone."""

    text: str | None
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Reading:
    """A cue as the rules of language read it; no store is asked.

    Attributes:
        kind: as the caller named it, or by the wording.
        topic: of a cue about the conversation ("what did I say about ..."); None for any other.
        asks_for_now: it asks how things are, so of two statements the newer one comes first.
        span: the stretch of time that it names, widened by the time zones; None without one.
        record_id: the id that it is, if it is one and nothing else.
        zone: whose days it names.
        window: the stretch to which the answer is restricted; None where a time only orders it.
        ends_ms: it asks for a time, so what has ended since then is seen; None for any other.
    """

    kind: Kind
    topic: Topic | None = None
    asks_for_now: bool = False
    span: Span | None = None
    record_id: int | None = None
    ends_ms: int | None = None
    zone: tzinfo | None = None
    window: Window | None = None

    @property
    def is_survey(self) -> bool:
        """Whether it asks for all there is ("what do you know about me?")."""
        return self.topic is not None and self.topic.is_survey


#: of a recall without a text
NO_READING: Final = Reading(Kind.FACT)


_USUAL = AssociationConfig()
_TAG_OF_ALL = "record.id IN (SELECT id FROM record_tag WHERE {})"
_TAG_OF_ONE = "EXISTS (SELECT 1 FROM record_tag WHERE {} AND record_tag.id = record.id)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which records are selected, whatever the cue; shared by recall, forget and iteration."""

    tiers: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    min_ms: int | None = None
    max_ms: int | None = None
    where: SqlFilter | None = None
    keys: KeyRange | None = None
    #: as recalls take them; None for all, `SAID` for what was said and stored
    sorts: frozenset[str] | None = None

    def bloom_all(self) -> int:
        """Bits that every answer's Bloom filter must contain."""
        return record_mask(self.tags, self.user_id, self.agent_id, self.session_id)

    def exact(
        self,
        *,
        now_ms: int | None = None,
        whole_store: bool = True,
        replaced: bool = False,
        ended: bool = False,
        current: bool = False,
        whenever: bool = False,
        ends_ms: int | None = None,
    ) -> SqlFilter | None:
        """The SQL condition that the row of a hit must satisfy; None when every row does.

        With ``now_ms`` records outside their validity window are excluded as well; with
        ``replaced`` also superseded ones whose end of validity is unknown; with ``ended``
        the end of superseded ones excludes none of them, with ``whenever`` no end excludes any,
        with ``ends_ms`` none after that moment; with ``current`` superseded ones are excluded.
        Tags are asked for in the way that is fast for finding all records with them
        (``whole_store``), or for confirming a few hundred
        candidates; the answer is the same.
        """
        if self is EVERYTHING and now_ms is None and not current:
            return None
        has_tag = _TAG_OF_ALL if whole_store else _TAG_OF_ONE
        parts: list[str] = []
        params: list[str | int] = []
        for tag in self.tags:
            parts.append(has_tag.format("tag = ?"))
            params.append(tag)
        if self.any_tags:
            marks = ",".join("?" * len(self.any_tags))
            parts.append(has_tag.format(f"tag IN ({marks})"))
            params += self.any_tags
        for column in ("user_id", "agent_id", "session_id"):
            value = getattr(self, column)
            if value is not None:
                # a plus keeps SQLite from following the index of labels for a few candidates
                parts.append(f"{'' if whole_store else '+'}record.{column} = ?")
                params.append(value)
        if self.where is not None:
            parts.append(f"({self.where.sql})")
            params += self.where.params
        if now_ms is not None:
            parts.append("(valid_from_ms IS NULL OR valid_from_ms <= ?)")
            params.append(now_ms)
            anyway = f" OR {SUPERSEDED_SQL} OR {LINKED_SQL}" if ended and not replaced else ""
            if not whenever:
                parts.append(f"(valid_until_ms IS NULL OR valid_until_ms > ?{anyway})")
                params.append(now_ms if ends_ms is None else min(now_ms, ends_ms))
        if replaced:
            parts.append(f"(valid_until_ms IS NOT NULL OR NOT {SUPERSEDED_SQL})")
        if current:
            parts.append(f"NOT {SUPERSEDED_SQL}")
        return SqlFilter(" AND ".join(parts), tuple(params)) if parts else None

    def with_times(self, exact: SqlFilter | None, tier_codes: Sequence[int] | None) -> SqlFilter:
        """``exact`` plus the conditions that a scan checks in the record header itself."""
        parts = [exact.sql] if exact else []
        params = list(exact.params) if exact else []
        if self.min_ms is not None:
            parts.append("record.event_ms >= ?")
            params.append(self.min_ms)
        if self.max_ms is not None:
            parts.append("record.event_ms < ?")
            params.append(self.max_ms)
        if tier_codes is not None:
            listed = ",".join(str(int(code)) for code in tier_codes)
            parts.append(f"record.segment_id IN (SELECT id FROM segment WHERE tier IN ({listed}))")
        return SqlFilter(" AND ".join(parts) or "1", tuple(params))

    @property
    def scope(self) -> Scope:
        """The labels that every answer has."""
        if self is EVERYTHING:
            return ANYBODY
        return Scope(user_id=self.user_id, agent_id=self.agent_id, session_id=self.session_id)

    @property
    def is_everything(self) -> bool:
        return self is EVERYTHING or self == EVERYTHING

    @property
    def ways(self) -> tuple[Way, ...]:
        """The tags and labels that every answer has, for which the catalog has an index."""
        labels = [(name, getattr(self, name)) for name in SCOPES]
        return (
            *(Way(name, value) for name, value in labels if value is not None),
            *(Way("tag", tag) for tag in self.tags),
        )

    def beside_ways(self) -> Selection:
        """What is left of it without them."""
        return replace(self, tags=(), user_id=None, agent_id=None, session_id=None)

    @property
    def only_scopes(self) -> dict[str, str]:
        """The user, agent and session of a selection by these and nothing else; else empty."""
        given = {each: getattr(self, each) for each in SCOPES if getattr(self, each) is not None}
        return given if self == Selection(**given) else {}

    @property
    def is_indexed(self) -> bool:
        """Whether the catalog finds the selected records without reading every row."""
        labels = (self.user_id, self.agent_id, self.session_id, self.keys)
        return bool(self.tags or self.any_tags) or any(each is not None for each in labels)


EVERYTHING: Final = Selection()
#: what a list has when nothing is chosen
EVERYTHING_SAID: Final = Selection(sorts=SAID)


_NEWEST: Final = ScoringProfile(
    name="newest", w_similarity=0.0, w_recency=1.0, recency_scale_days=1000.0
)


def pinned_request(
    selection: Selection, k: int, now_ms: int, *, drop_flags: int, replaced: bool
) -> RecallRequest:
    """The request for the pinned memories of a selection, about newest first."""
    return RecallRequest(
        cue=Cue(None, None),
        k=k,
        selection=replace(selection, where=narrowed(selection.where, PINNED_SQL)),
        profile=_NEWEST,
        now_ms=now_ms,
        drop_flags=drop_flags,
        replaced=replaced,
        min_importance=1.0,  # which pinned memories pass: the scan drops nearly all others
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The fields of `RecallOptions` in the form that a search uses."""

    #: inclusive range of stored valences
    valence: tuple[int, int] = (-128, 127)
    min_importance: float = 0.0
    category_mask: int = 0
    modality_mask: int = 0
    #: flags that drop a record
    drop_flags: int = DEFAULT_DROP_FLAGS
    mood: int = 0
    exact: bool = False
    lexical: bool = True
    compound: bool = False
    hyde: bool = False
    #: of a request what the cue asks for, whose knowledge is looked up
    intent: Intent | Literal["auto"] | None = None
    #: weight of relevance against diversity (maximal marginal relevance); None: relevance alone
    mmr: float | None = None
    coverage: bool = False
    #: hits of one session at most; None: any number
    per_session: int | None = None
    #: share of the best score that a hit of the semantic tier must have; 0: any
    cut: float = 0.0
    min_score: float | None = None
    #: entities that the cue names, and what is often used together, count
    associate: bool | None = None
    #: what is tied to the best hits is added
    expand: bool | None = None
    #: sorts of payloads that a hit must have, "memory" for none; None: any
    sorts: frozenset[str] | None = None
    mode: str | None = None
    #: of a request, only what is tied to this memory counts; None: anything
    seed: int | None = None
    #: memories of this session score more
    near_session: str | None = None
    #: look for dormant memories that the cue would have hit
    dormant_hint: bool = False
    #: None where the caller names none
    zone: tzinfo | None = None


#: see `RecallRequest._filters`
_NO_FILTERS: Final = ((-128, 127), 0.0, 0, 0, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest(Asked):
    """The parsed arguments of one recall; what a search makes of them is its `Plan`."""

    cue: Cue
    k: int
    selection: Selection
    profile: ScoringProfile
    now_ms: int
    reading: Reading = NO_READING
    #: also memories that were valid at ``now_ms`` and have been superseded since
    replaced: bool = False
    #: (p, dim) f32 unit vectors of unrelated questions; None where there are none
    probes: NDArray[np.float32] | None = None
    #: (dim,) f32, what requests for something have in common; None where the cue is none
    asking: NDArray[np.float32] | None = None
    #: of each matter that the cue is a request of, unit vectors of what limits it, and of others
    limits: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...] = ()
    #: only what mentions an entity of the cue, where it is True
    of_entities: bool = False
    #: also memories whose validity has ended at ``now_ms``
    ended: bool = False
    #: what entities, pairs and edges add
    tuning: AssociationConfig = _USUAL

    @property
    def vector(self) -> NDArray[np.float32] | None:
        """The cue's, (dim,) f32, without what it shares with other requests.

        "Can you recommend a film?" is near whatever was recommended or asked for; what should come
        to mind is what is known of films.
        """
        vector = self.cue.vector
        if vector is None or self.asking is None or not (length := norm(vector)):
            return vector
        return np.asarray(vector / np.float32(length) - self.asking, np.float32)

    @property
    def _filters(self) -> tuple[object, ...]:
        return (
            self.valence,
            self.min_importance,
            self.category_mask,
            self.modality_mask,
            self.sorts,
        )

    @property
    def filter_key(self) -> tuple[object, ...]:
        """The filters of a request, whatever the cue; equal where the same memories pass."""
        rest = (self.drop_flags, self.ended, self.reading.ends_ms)
        return (self.selection, *self._filters, *rest)

    @property
    def ranks_by_evidence(self) -> bool:
        """Whether words, people and dates count beside the kernel's score."""
        return self.cue.text is not None and self.lexical and bool(self.profile.w_lexical)

    @property
    def is_scoped(self) -> bool:
        """Whether the caller asks among some memories only."""
        return not self.selection.is_everything or self._filters != _NO_FILTERS

    @property
    def is_wide(self) -> bool:
        """Whether the hits cover a topic together, rather than answer each by itself."""
        topic = self.reading.topic
        return self.mmr is not None or (topic is not None and topic.wants_many)


def within(selection: Selection, time: Span) -> Selection | None:
    """The part of a selection that is from a time; None when their times do not overlap."""
    start, end = time
    low = start if selection.min_ms is None else max(start, selection.min_ms)
    high = end if selection.max_ms is None else min(end, selection.max_ms)
    return replace(selection, min_ms=low, max_ms=high) if low < high else None


def told_within(selection: Selection, time: Span) -> Selection:
    """The part of a selection that was told in a time, whatever it is about.

    A turn of a talk was told at its event time, what a caller remembered when it was recorded.
    """
    told = told_between(*time)
    return replace(selection, where=narrowed(selection.where, told.sql, told.params))


def until(selection: Selection, moment_ms: int | None) -> Selection:
    """The part of a selection that had happened by a moment; all of it for None."""
    if moment_ms is None or (selection.max_ms is not None and selection.max_ms <= moment_ms):
        return selection
    return replace(selection, max_ms=moment_ms + 1)


def with_rested(request: RecallRequest, now_ms: int) -> RecallRequest:
    """The same recall, also of memories that became dormant because their validity had ended.

    Args:
        now_ms: the present, by which it must have ended.
    """
    rested = narrowed(request.selection.where, RESTED_SQL, (now_ms,))
    return replace(
        request,
        selection=replace(request.selection, where=rested),
        drop_flags=request.drop_flags & ~int(Flag.DORMANT),
    )
