"""Answers recalls and contexts: from arguments to hits, and from hits to the text of a prompt."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.arguments import SCOPES, parse_as_of, parse_switch, parse_vector
from spector.clock import Clock
from spector.config import Config
from spector.kernel.contract import ScoringProfile, get_profile, norm
from spector.kernel.contract import lengths as lengths_of
from spector.language.cues import Kind, may_be_request, need_gate, skip_reason, split_cue
from spector.language.words import compose, is_turkish, plain
from spector.layout import Flag
from spector.process import Operations
from spector.providers import ChatModel, Embedder, IntentClassifier, embedded, token_counter
from spector.recall.abstention import CROWD, select_hits
from spector.recall.intents import (
    LEAST_HITS,
    answer_in_window,
    apply_intent,
    apply_mode,
    by_importance,
    filled_up,
    in_order_of,
    intent_in,
    limit_of,
    only_preferred,
    semantic,
    sorted_hits,
    weights_of,
    woken,
)
from spector.recall.options import (
    cut_of,
    default_k,
    diversity_weight,
    options_of,
    parse_always,
    parse_budget,
    parse_cue,
    parse_k,
    parse_kind,
    parse_layout,
    parse_page_of_hits,
    read_cue,
    reject_unknown_options,
    topic_in,
    zone_of,
)
from spector.records import Explanation, Hit, HitList, MemoryRecord, PredictedOutcome
from spector.search import (
    POOL,
    Asked,
    Cue,
    HotTier,
    Limits,
    Listing,
    Probes,
    Reading,
    RecallRequest,
    Searcher,
    Selection,
    confine,
    hot_hit,
    known_from,
    pinned_request,
    until,
    with_score,
)
from spector.tiers import Finder

if TYPE_CHECKING:
    from spector.recall.context import Context


#: the arguments of a recall that say which memories are meant
_SELECTING: Final = (
    "tiers",
    "tags",
    "any_tags",
    "time_range",
    "where",
    "namespace",
    "below",
    *SCOPES,
)
#: what a context takes beside the arguments of a recall
_OF_CONTEXT: Final = frozenset(("hot", "knowledge"))
_ASKED: Final = tuple(each.name for each in fields(Asked))
#: tokens that a quoted memory takes at least
_MIN_LINE_TOKENS: Final = 4
#: instructions without a condition that a context has room for at most
_MAX_RULES: Final = 16
_SEVERAL_USERS: Final = (
    "everything about a user is asked for, and the memories are of several: pass user_id"
)
#: the profile whose scores entities and pairs change unless a caller says otherwise
_ASSOCIATIVE: Final = "cognitive"
NoteUse = Callable[..., None]


@dataclass(eq=False, repr=False)
class Recaller:
    """Answers recalls and contexts of one memory.

    Args:
        has_one_user: whether all memories that are of a user are of the same one.
        note_use: called with the ids of memories that were used, their scope, and associate.
        chat: says the intent of a cue: a classifier, or a model if the configuration says so.
    """

    searcher: Searcher
    listing: Listing
    finder: Finder
    _: KW_ONLY
    embedder: Embedder | None
    probes: Probes
    clock: Clock
    config: Config
    profile: ScoringProfile
    dim: int
    has_one_user: Callable[[], bool]
    note_use: NoteUse
    operations: Operations
    hot_tier: HotTier
    refresh: Callable[..., None]
    chat: ChatModel | IntentClassifier | None = None

    def __post_init__(self) -> None:
        self._limits = Limits(self.embedder)

    def recall(
        self, cue: Any, vector: Any, k: Any, rare: Mapping[str, Any], **given: Any
    ) -> HitList:
        """The k memories that should come to mind, in the order of the cue's intent.

        Args:
            given: the other arguments of ``Memory.recall``, all of them.
        """
        given.update(rare, vector=vector, k=k)
        if not self.operations.is_kept:
            hits = self._recall(cue, given)
        else:
            from spector.recall.context import note_recall

            with self.operations.noting("recall") as operation:
                hits = self._recall(cue, given)
                note_recall(operation, cue, given, hits)
        if hits.request is not None and _request_of(hits).dormant_hint:
            found = self.searcher.recall(woken(_request_of(hits)))
            dormant = tuple([hit.id for hit in found if hit.record.dormant])
            hits.stats = replace(hits.stats, dormant=dormant)
        return hits

    def _recall(self, cue: Any, given: Mapping[str, Any], *, in_order: bool = True) -> HitList:
        """The memories that should come to mind, those of an intent ``in_order`` of it."""
        asked = options_of(given).parsed
        text, notes = parse_cue(cue, self.config)
        zone = asked.zone or self.config.zone
        selection = self.listing.select(_selecting(given), "recall", zone)
        kind, vector = parse_kind(given.get("kind")), given.get("vector")
        topic = topic_in(text, kind)
        is_survey = topic is not None and topic.is_survey
        # memories of several users do not answer what is known about one
        is_of_one = selection.user_id is not None or selection.session_id is not None
        mixes = is_survey and not (is_of_one or self.has_one_user())
        router = (
            None if isinstance(self.chat, ChatModel) and not self.config.llm.route else self.chat
        )
        intent = intent_in(text, asked.intent, router, self.operations)
        usual_k = limit_of(intent, default_k(topic, 10))
        wanted, skipped = parse_page_of_hits(
            given.get("k"), given.get("offset", 0), self.config, usual_k
        )
        fetched = max(wanted, sorted_first := sorted_hits(intent) if in_order else 0)
        if selective := parse_switch(given.get("selective", False), "selective"):
            if text is not None and not (decision := need_gate(text)).needed:
                return HitList(abstained=True, reason=skip_reason(decision))
            fetched = max(fetched, CROWD)
        moment = parse_as_of(given.get("as_of"), zone)
        drop, replaced = _dropped(asked.drop_flags, moment)
        like = self._cue_vector(
            text if topic is None else topic.text or None, vector, hyde=asked.hyde
        )
        weights = weights_of(
            given.get("profile"), self.profile, self.config.association.min_similarity
        )
        if is_survey and like is None:
            weights = by_importance(weights)
        present_ms = self.clock.now_ms()
        now_ms = present_ms if moment is None else moment
        is_timed = given.get("time_range") is not None  # what is given holds
        by_time = asked.lexical and weights.w_lexical and weights.ranking.by_time and not is_timed
        probes = self.probes.for_cue(text, make=selective)
        reading = read_cue(
            text,
            named=kind,
            topic=topic,
            now_ms=now_ms if by_time else None,
            may_be_now=moment is None and not is_timed,
            zone=zone if asked.zone or zone is not UTC else None,
        )
        asks = reading.kind is Kind.REQUEST and vector is None and not asked.hyde
        own: dict[str, Any] = {
            **{name: getattr(asked, name) for name in _ASKED},
            "drop_flags": drop,
            "mmr": diversity_weight(asked, is_survey=is_survey),
            "cut": 0.0 if selective else asked.cut,
            "associate": _associates(asked.associate, weights),
            "near_session": None if asked.associate is False else asked.near_session,
            "intent": None,
            "seed": None,
        }
        if asked.expand is None:
            own["expand"] = self.config.association.expand
        request = RecallRequest(
            cue=Cue(text, like),
            reading=reading,
            k=fetched,
            selection=until(selection, moment),
            profile=weights,
            now_ms=now_ms,
            replaced=replaced,
            probes=probes,
            asking=self._limits.asking() if asks else None,
            limits=self._limits.for_cue(like, probes, make=selective)
            if text is None or reading.kind is Kind.REQUEST or may_be_request(text)
            else (),
            tuning=self.config.association,
            **own,
        )
        usual = apply_intent(request, intent, self.config, present_ms)
        request = apply_mode(usual, asked)
        if mixes:
            notes = (*notes, _SEVERAL_USERS)
            hits = HitList(abstained=True, reason=_SEVERAL_USERS)
        else:
            splits = asked.compound and text is not None and topic is None
            hits, first = self._hits_of(request, kind if splits else None, usual, sorted_first)
        hits.notes, hits.is_survey, hits.request = notes, is_survey, request
        if not mixes:
            if selective:
                hits = select_hits(hits, fetched, self.config, cut_of(given))
            hits = in_order_of(intent if in_order else None, hits, first, wanted)
            whole = max(sorted_first, CROWD if selective else 0, POOL if splits else 0)
            hits = _page(hits, skipped, max(skipped, whole), asked.min_score)
        self._confine((*hits, *hits.standing, *hits.limits, *hits.themes), request.selection)
        self._note((*hits, *hits.standing), request, learn=given.get("learn", False))
        return hits

    def _note(self, hits: Iterable[Hit], request: RecallRequest, *, learn: bool) -> None:
        """Note that hits are used, where that is wanted, and refresh them."""
        used = list({hit.id: None for hit in hits})
        self.refresh(used, goes_along=learn)
        if learn and used:
            self.note_use(used, request.selection.scope, associate=request.associate)

    def context(self, cue: Any, *args: Any) -> Context:
        """Memories for a cue as one block of text; see ``Memory.context``."""
        from spector.recall.context import note_context

        with self.operations.noting("context") as operation:
            found = self._context(cue, *args)
            note_context(operation, cue, args[-1], found)
        return found

    def _context(
        self,
        cue: Any,
        max_tokens: Any,
        k: Any,
        tokenizer: Any,
        layout: Any,
        ids: Any,
        always: Any,
        learn: bool,
        recall: Mapping[str, Any],
    ) -> Context:
        from spector.recall.context_builder import ContextBuilder

        reject_unknown_options(recall)
        budget, (laid_out, with_ids) = parse_budget(max_tokens), parse_layout(layout, ids)
        builder = ContextBuilder(
            token_counter(tokenizer),
            budget,
            self.config,
            laid_out,
            with_ids,
            zone_of(recall, self.config),
        )
        text, notes = parse_cue(cue, self.config)
        topic = topic_in(text, recall.get("kind") or "")
        wanted = parse_k(k, self.config, default_k(topic, 20))
        ever = parse_always(always)
        pinned = self._pinned(budget, recall) if ever == "pinned" else ()
        wants_hot = parse_switch(recall.get("hot", False), "hot")
        small_talk = None if text is None or (decision := need_gate(text)).needed else decision
        if ever is not True and small_talk is not None:
            return builder.empty(skip_reason(small_talk), pinned=pinned)
        self.probes.for_cue(text, make=True)
        self._limits.vectors(make=True)
        cut = cut_of(recall)
        # the cut comes later: the hits behind it show how far the best one stands out
        fetched = max(wanted, CROWD)
        asked = {name: value for name, value in recall.items() if name not in _OF_CONTEXT}
        hits = self._recall(text, {**asked, "k": fetched, "cut": 0.0}, in_order=False)
        found = builder.context(
            hits,
            text if topic is None else topic.text or text,
            wanted,
            cut=cut,
            always=ever is True,
            rules=() if small_talk else self._standing(hits),
            pinned=pinned,
            hot=self._hot(recall) if wants_hot else (),
        )
        found = builder.with_knowledge(
            found, hits, *self._known(hits, found, recall.get("knowledge"))
        )
        self._note((*found.hits, *found.standing), _request_of(hits), learn=learn)
        return replace(found, notes=(*notes, *hits.notes, *found.notes))

    def _pinned(self, budget: int, recall: Mapping[str, Any]) -> list[Hit]:
        """The pinned memories that a recall's filters let through, newest first.

        At most as many as a text of ``budget`` tokens may have room for.
        """
        zone = zone_of(recall, self.config)
        moment = parse_as_of(recall.get("as_of"), zone)
        chosen = until(self.listing.select(_selecting(recall), "context", zone), moment)
        own = {name: recall[name] for name in ("options", "include") if name in recall}
        flags = options_of(own).parsed.drop_flags
        drop, replaced = _dropped(flags, moment)
        hits = self.searcher.recall(
            pinned_request(
                chosen,
                min(max(1, budget // _MIN_LINE_TOKENS), self.config.max_k),
                self.clock.now_ms() if moment is None else moment,
                drop_flags=drop,
                replaced=replaced,
            )
        )
        self._confine(hits, chosen)
        return sorted(hits, key=lambda hit: (hit.record.event_ms, hit.id), reverse=True)

    def _hot(self, recall: Mapping[str, Any]) -> list[Hit]:
        """The hot memories that a recall's filters let through; none as of an earlier time."""
        if recall.get("as_of") is not None:
            return []
        found = self.hot(self.config.association.hot_items, *map(recall.get, SCOPES))
        chosen = self.listing.select(_selecting(recall), "context")
        passing = self.listing.among(chosen, [each.id for each in found])
        return [hot_hit(each) for each in found if each.id in passing]

    def hot(self, limit: int, *scopes: Any) -> list[MemoryRecord]:
        """The hot memories of a user, agent and session; see ``Memory.hot``."""
        labels = dict(zip(SCOPES, scopes, strict=True))
        chosen = self.listing.select({**labels, "tiers": "semantic"}, "hot")
        return self.hot_tier.records(chosen, limit)

    def _known(
        self, hits: HitList, found: Context, wanted: Any
    ) -> tuple[Sequence[Hit], Sequence[PredictedOutcome]]:
        """Concepts and patterns that the quoted hits bring to mind, and predictions."""
        predictions = wanted if isinstance(wanted, list) else ()
        if wanted is None or wanted is False or not found.hits:
            return (), predictions
        request = _request_of(hits)
        request = replace(request, drop_flags=request.drop_flags & ~int(Flag.AUXILIARY))
        related = self.searcher.look(
            request,
            partial(
                known_from,
                seeds=[hit.id for hit in found.hits],
                limit=self.config.association.knowledge_limit,
            ),
        )
        self._confine(related, request.selection)
        return related, predictions

    def associates(self, given: Mapping[str, Any]) -> bool:
        """Whether what is tied to the cue counts in a recall with some arguments."""
        options, profile = given.get("options"), given.get("profile")
        asked = given.get("associate", getattr(options, "associate", None))
        return _associates(asked, self.profile if profile is None else get_profile(profile))

    def _standing(self, hits: HitList) -> Sequence[Hit]:
        """The instructions that apply to every cue, in the scope of a recall, newest first."""
        request = _request_of(hits)
        found = self.searcher.unconditional_instructions(request, _MAX_RULES)
        self._confine(found, request.selection)
        return found

    def _hits_of(
        self, request: RecallRequest, kind: str | None, usual: RecallRequest, first: int
    ) -> tuple[HitList, HitList]:
        """The answer to a request, and that of its ``first`` hits, where there are more.

        Args:
            kind: how the parts of the cue are read, which are answered too; None for none.
            usual: the request without its mode, which fills up too few hits by likeness.
        """
        if request.reading.window is not None:
            inside = answer_in_window(
                request,
                usual,
                lambda asked, filling: self._hits_of(asked, kind, filling, 0)[0],
                self.config.max_k,
            )
            return inside, inside._holding(inside[:first]) if 0 < first < len(inside) else inside
        if request.seed is not None:
            self.finder.get_within(request.seed, request.selection.scope)
        preferred = only_preferred(request)
        hits = None if preferred is None else self.searcher.recall(preferred)
        if not hits:
            hits = self.searcher.recall(request)
        if len(hits) < min(LEAST_HITS, request.k) and request is not usual and request.lexical:
            hits = filled_up(hits, self.searcher.recall(semantic(usual)), request.k)
        if not hits and (reason := self.listing.why_empty(request.selection)):
            hits = hits._holding((), abstained=True, reason=reason)
        if hits and kind is not None:
            hits = answer_parts(self.searcher, self.embedder, request, kind, hits)
        if not hits or not first or first >= request.k:
            return hits, hits
        return hits, self._hits_of(replace(request, k=first), kind, usual, first)[0]

    def _confine(self, hits: Sequence[Hit], selection: Selection) -> None:
        """Let the records of hits name no memory outside of the selection's scope."""
        scope = selection.scope
        if not scope.is_open:
            confine(hits, partial(self.finder.within, scope=scope))

    def _cue_vector(self, text: str | None, vector: ArrayLike | None, *, hyde: bool = False) -> Any:
        given = None if vector is None else parse_vector(vector, self.dim)
        if text is None or self.embedder is None:
            return given

        more = hypotheses(text) if hyde else []
        if given is not None and not more:
            return given
        made = embedded(self.embedder, more if given is not None else [text, *more])
        return centroid(made, given) if more else made[0]


def _page(hits: HitList, skipped: int, looked_at: int, min_score: float | None) -> HitList:
    """The hits behind those of the pages before, and of these the ones that score enough.

    What edges and entities tie to the best hits comes with the first page.

    Args:
        looked_at: so many memories were chosen from for the pages before, which had at most
            ``skipped`` of them.
    """
    if skipped:
        before = min(skipped, looked_at - bisect_left(hits._left_out, looked_at))
        hits = hits._holding([hit for hit in hits if not hit.graph_distance][before:])
    if min_score is None:
        return hits
    return hits._holding([hit for hit in hits if hit.score >= min_score])


def _associates(given: bool | None, profile: ScoringProfile) -> bool:
    return profile.name == _ASSOCIATIVE if given is None else given


def _selecting(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say which memories are meant."""
    found = {name: given.get(name) for name in _SELECTING}
    if found["below"] is False:  # then nothing may be chosen at all
        found["below"] = None
    return found


def _request_of(hits: HitList) -> RecallRequest:
    assert isinstance(hits.request, RecallRequest), "each recall notes its request"
    return hits.request


def _dropped(flags: int, moment_ms: int | None) -> tuple[int, bool]:
    """The flags that drop a record, and whether what was superseded since a moment passes."""
    if moment_ms is None or not flags & Flag.SUPERSEDED:
        return flags, False
    return int(flags & ~Flag.SUPERSEDED), True


# Merges the answers to the parts of a compound cue into one.


def answer_parts(
    searcher: Searcher,
    embedder: Embedder | None,
    request: RecallRequest,
    named: str,
    hits: HitList,
) -> HitList:
    """The answer to a cue, ``hits``, and to its parts; embeds only what has a part."""
    parts = split_cue(request.cue.text or "", searcher.speakers())
    if len(parts) == 1:
        return hits
    by_time = request.ranks_by_evidence and request.profile.ranking.by_time
    now_ms = request.now_ms if by_time else None

    def read(part: str) -> Reading:
        """Of the part, but for the present, which the whole cue asks about or not."""
        found = read_cue(part, named=named, topic=None, may_be_now=False, now_ms=now_ms)
        return replace(found, asks_for_now=request.reading.asks_for_now)

    vectors = [request.cue.vector] * len(parts)
    if embedder is not None:
        vectors = list(embedded(embedder, parts))
    found = searcher.recall_all(
        [
            replace(request, k=max(request.k, POOL)),
            *(
                replace(request, cue=Cue(part, vector), reading=read(part), k=POOL)
                for part, vector in zip(parts, vectors, strict=True)
            ),
        ]
    )
    return merge_answers(found, request.k)


def merge_answers(lists: Sequence[HitList], k: int) -> HitList:
    """The best k of several answers by the mean of their scores above the last hit.

    A memory that is not in a list gets 0 from it.

    Args:
        lists: the answer to the whole cue first; it gives statistics and signals. The first `POOL`
            of each are merged; what the whole has behind them stays there.
        k: hits wanted.

    Returns:
        Hits, best first, ties by id. ``explain()`` says under "parts" what merging changed.
    """
    whole = lists[0]
    base = min((hit.score for hit in whole[:POOL]), default=0.0)
    above: dict[int, float] = {}
    first: dict[int, Hit] = {}
    for hits in [each[:POOL] for each in lists]:
        floor = min((hit.score for hit in hits), default=0.0)
        for hit in hits:
            first.setdefault(hit.id, hit)
            above[hit.id] = above.get(hit.id, 0.0) + (hit.score - floor) / len(lists)
    for hit in whole.standing:  # a part may have it as an ordinary hit
        above.pop(hit.id, None)
    best = sorted(above, key=lambda each: (-above[each], each))
    merged = []
    for each in best[:k]:
        hit, score = first[each], base + above[each]
        merged.append(with_score(hit, score, partial(_explain, hit, score)))
    rest = [hit for hit in whole[POOL:] if hit.id not in above]
    return whole._holding([*merged, *rest][:k])


def _explain(hit: Hit, score: float) -> Explanation:
    why = hit.explain()
    return replace(why, evidence={**why.evidence, "parts": score - why.score})


# Hypothetical answers to a cue (HyDE), made from templates.
#
# A question is not worded like its answer. So templates turn the cue's topic into a few sentences
# that an answer may resemble, and the search uses the mean of their vectors and the cue's; see
# bench/log, "Template HyDE".


class Shape(NamedTuple):
    """The shape of an answer: its name, the cues that ask for it, and sentences like it."""

    name: str
    asked: str
    english: tuple[str, ...]
    turkish: tuple[str, ...]


#: the first one that a cue asks for is that of its answer
_SHAPES: Final = (
    Shape(
        "technical",
        r"\b(?:error|bug|exception|crash\w{0,3}|config\w{0,12}|code|api|deploy\w{0,4}|debug\w{0,4}"
        r"|function|library|database|hata|kod|ayar\w{0,5}|sunucu)\b",
        ("The setting for {} in the code is", "{} failed with an error, the fix was"),
        ("{} için koddaki ayar", "{} hata verdi, çözümü"),
    ),
    Shape(
        "howto",
        r"\b(?:how (?:to|do i|do you|can i|should i)|steps to|nasil)\b",
        ("To {} you first", "These are the steps to {}", "I showed how to {}"),
        ("{} için önce", "{} adımları şunlar"),
    ),
    Shape(
        "reasoning",
        r"\b(?:why|how come|what (?:caused|made|inspired|motivated)|reason|neden|nicin|niye)\b",
        ("The reason is that {}", "{} because of"),
        ("{} çünkü", "{} nedeni şu"),
    ),
    Shape(
        "preference",
        r"\b(?:prefer\w{0,5}|favou?rites?|likes?|enjoys?|loves?|hates?|recommend\w{0,4}"
        r"|suggest\w{0,4}|tercih\w{0,6}|sever\w{0,4}|oner\w{0,6}|favori\w{0,3})\b",
        ("I like {}", "I prefer {}", "I do not enjoy {}"),
        ("{} severim", "{} tercih ederim", "{} sevmem"),
    ),
    Shape(
        "definition",
        r"^\s*(?:what (?:is|are) (?:an? )?\w+\s*\??$|what does .{1,60} mean|define )|\bnedir\b",
        ("{} is a kind of", "By {} we mean"),
        ("{} şu demektir", "{} bir tür"),
    ),
    Shape(
        "lookup",
        r"^\s*(?:who|where|when|which|what|whose|how (?:many|much|long|old|often)|did|does|do|is"
        r"|was|are|were|has|have)\b|\b(?:kim|nerede|hangi|kac|ne zaman)\b",
        ("It was {}", "I told you that {}", "The answer about {} is"),
        ("{} şuydu", "Sana {} demiştim"),
    ),
    Shape("general", "", ("{}", "We talked about {}"), ("{}", "{} hakkında konuştuk")),
)
#: what a question begins with, before its topic
_OPENING: Final = re.compile(
    r"^\s*(?:(?:please|can you|could you|would you|do you (?:know|remember))\s+)?"
    r"(?:(?:tell me|remind me)\s+(?:about\s+)?)?"
    r"(?:(?:what|who|whom|whose|where|when|why|which"
    r"|how(?: (?:many|much|long|old|often|to|come))?)\s+)?"
    r"(?:(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had)\s+)?",
    re.IGNORECASE,
)
#: Turkish questions: particles and question words anywhere
_ASKED_TR: Final = re.compile(
    r"\b(?:nedir|neydi|ne zaman|nerede|nereye|neden|niçin|niye|nasıl|hangi|kim|kaç|mi|mı|mu|mü)\b",
    re.IGNORECASE,
)
#: longer cues are situations, not questions with a topic
_MOST_CHARS: Final = 400


def shape_of(cue: str) -> Shape:
    """What an answer to a cue would look like."""
    folded = plain(cue[:_MOST_CHARS])
    return next(shape for shape in _SHAPES if re.search(shape.asked, folded))


def hypotheses(cue: str) -> list[str]:
    """Two or three sentences that an answer may be like; none for long texts and several lines."""
    text = compose(cue.strip())
    if not text or len(text) > _MOST_CHARS or "\n" in text:
        return []
    turkish = is_turkish(text, plain(text))
    if turkish:
        topic = _ASKED_TR.sub(" ", text)
    else:
        topic = text[_OPENING.match(text).end() :]  # type: ignore[union-attr]  # matches anything
    topic = " ".join(topic.strip(" ?!.").split()) or text.strip(" ?!.")
    if not topic:
        return []
    shape = shape_of(text)
    sentences = shape.turkish if turkish else shape.english
    return list(dict.fromkeys(each.format(topic) for each in sentences))


def centroid(
    vectors: NDArray[np.float32], given: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """(dim,) f32 of length 1: the mean direction of (n, dim) f32 and one that is given, (dim,).

    The first of them if they cancel out.
    """
    if given is not None:
        vectors = np.concatenate([given[None], vectors])
    lengths = lengths_of(vectors)[:, None]
    mean = (vectors / np.maximum(lengths, np.float32(1e-9))).mean(axis=0)
    length = norm(mean)
    found: NDArray[np.float32] = (mean / length if length > 1e-6 else vectors[0]).astype(np.float32)
    return found
