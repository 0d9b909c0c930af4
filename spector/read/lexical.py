"""The lexical channel: which memories have the words of a cue, on the scale of the fused score."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import Final

from spector.config import Config
from spector.read.request import RecallRequest
from spector.store.filters import SqlFilter
from spector.store.store import Store, View
from spector.tiers.router import TierRouter
from spector.unicode import normalize

__all__ = [
    "MAX_TERMS", "Evidence", "LexicalChannel", "best_score", "match_query", "match_terms", "quoted",
]

#: more words than this do not make a cue clearer, but each costs a posting list
MAX_TERMS: Final = 32
#: FTS5's k1 is fixed at 1.2
_K1_PLUS_1: Final = 2.2
#: evidence is full when a memory earns this share of what the whole cue could earn
#: (0 made every best match full evidence: the same on LoCoMo, 1.2 points less on PrefEval)
_COVERAGE: Final = 0.6
_LEAST: Final = 1e-6
#: memories that may be asked for by name at once
_FEW: Final = 10
#: what the factors of a usual profile (mood, tier, category, ...) multiply out to at most
_HIGHEST_MODIFIER: Final = 1.25
#: evidence of the memory whose id the cue is
_IDENTITY: Final = 100.0

_WORD = re.compile(r"[^\W_]+(?:['’._/:@#+-][^\W_]+)*", re.UNICODE)
_PART = re.compile(r"[^\W_]+", re.UNICODE)

#: words that say nothing about which memory is meant; they stay when a cue has no others
_STOP = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could
    did do does doing for from had has have having he her here hers him his how i if in into is it
    its itself just let me more most my no nor not now of off on once only or other our out over own
    please same she should so some such tell than that the their them then there these they this
    those through to too under until up us very was we were what when where which while who whom
    whose why will with would you your yours ve ll re don didn doesn isn wasn aren won""".split()
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Weighted full-text evidence in one store: every match, best first."""

    weights: dict[int, float]

    def of(self, record_id: int) -> float:
        return self.weights.get(record_id, 0.0)

    def best(self, count: int) -> list[int]:
        """Ids of the ``count`` strongest matches."""
        return list(itertools.islice(self.weights, count))

    def bound(self, count: int) -> float:
        """The most that any match beyond the best ``count`` has; 0 when there are no more."""
        return next(itertools.islice(self.weights.values(), count, None), 0.0)


class LexicalChannel:
    """Full-text evidence for one recall, store by store."""

    def __init__(self, router: TierRouter, config: Config) -> None:
        self._router = router
        self._config = config

    def evidence(
        self, store: Store, view: View, request: RecallRequest, condition: SqlFilter | None
    ) -> Evidence:
        """What the words of the cue say for each memory that passes the filter."""
        if request.cue is None or not request.lexical:
            return Evidence({})
        tiers = request.selection.tiers
        codes = None if tiers is None else [tier.code for tier in self._router.select(tiers)]
        gates = request.selection.with_times(condition, codes)
        terms = match_terms(request.cue) if request.profile.w_lexical else []
        weights = self._weights(store, view, request, terms, gates)
        for record_id in _named(store, request, gates):
            weights[record_id] = _IDENTITY
        return Evidence(dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))))

    def _weights(
        self, store: Store, view: View, request: RecallRequest, terms: list[str], gates: SqlFilter
    ) -> dict[int, float]:
        chosen, ideal, missing = self._weigh(store, view, terms)
        expression = match_query(chosen)
        if expression is None:
            return {}
        found = store.catalog.matches(expression, sql=gates.sql, params=gates.params)
        scale = request.profile.w_lexical / max([ideal, *(score for _, score in found[:1])])
        weights = {record_id: scale * max(0.0, score) for record_id, score in found}
        named = [quoted(term) for term in chosen if _is_identifier(term)]
        if not missing and weights:
            named.append(" AND ".join(quoted(term) for term in chosen))
        for expression in named:
            exact = store.catalog.matches(expression, sql=gates.sql, params=gates.params)
            if len(exact) <= _FEW:
                for record_id, _ in exact:
                    if record_id in weights:  # a store in memory may have it only since just now
                        weights[record_id] = max(weights[record_id], self._first(request))
        return weights

    def _first(self, request: RecallRequest) -> float:
        """Evidence that no likeness and no strength can make up for.

        For memories that have all the words of a cue which few memories have all of, or an
        identifier of it: they were asked for by name.
        """
        profile = request.profile
        rest = sum(profile.weights().values()) - profile.w_similarity
        span = 2 * profile.w_similarity + rest  # from cosine -1 and no strength to 1 and all of it
        if profile.fusion == "multiplicative":
            span = profile.w_similarity * (1 + rest)
        return span * _HIGHEST_MODIFIER + profile.w_lexical

    def _weigh(
        self, store: Store, view: View, terms: list[str]
    ) -> tuple[list[str], float, bool]:
        """The terms to look up, the BM25 score from which evidence is full, is any term missing.

        At most ``Config.lexical_matches`` records are ranked: BM25 costs about a microsecond a
        match, counting a twentieth of it, and a word that very many memories share says next to
        nothing about which one is meant. So the commonest terms are left out first, and a term
        that no memory has neither counts nor is asked for.
        """
        total = sum(partition.live for partition in view.partitions)
        budget = self._config.lexical_matches
        limit = total + 1 if total <= budget else budget + 1
        counts = {term: store.catalog.count_matches(quoted(term), limit) for term in terms}
        present = sorted((term for term in terms if counts[term]), key=counts.__getitem__)
        ideal = sum(best_score(counts[term], total) for term in present)
        chosen: list[str] = []
        for term in present:
            budget -= counts[term]
            if total > self._config.lexical_matches and budget < 0:
                break
            chosen.append(term)
        return chosen, max(_COVERAGE * ideal, _LEAST), len(present) < len(terms)


def _named(store: Store, request: RecallRequest, gates: SqlFilter) -> list[int]:
    """The memory whose id the cue is, if there is one and it passes the gates."""
    text = (request.cue or "").strip()
    if not text.isdecimal() or len(text) > 18:
        return []
    return list(store.catalog.fetch([int(text)], sql=gates.sql, params=gates.params))


def _is_identifier(term: str) -> bool:
    """True for what stood joined in the cue and has a digit, like INC-2219 or 2026-10-02."""
    return " " in term and any(char.isdigit() for char in term)


def match_query(terms: list[str]) -> str | None:
    """An FTS5 expression that any of the terms satisfies; None when there are none.

    Every term is quoted: nothing of a cue is FTS5 syntax.
    """
    return " OR ".join(quoted(term) for term in terms) or None


def quoted(term: str) -> str:
    """A term as an FTS5 string; terms hold letters, digits and spaces only."""
    return f'"{term}"'


def match_terms(cue: str) -> list[str]:
    """The words of a cue that are worth looking up.

    Words joined by punctuation ("INC-2219", "foo.bar") are searched as a phrase and as parts, so
    an identifier outranks its pieces.
    """
    phrases: dict[str, None] = {}
    words: dict[str, None] = {}
    folded = normalize("NFC", cue).lower().replace("i\u0307", "i")  # as FTS5 does: "İ" is an i
    for match in _WORD.finditer(folded):
        token = match.group()
        parts = _PART.findall(token)
        if len(parts) > 1:
            phrases[" ".join(parts)] = None
        for part in parts:
            words[part] = None
    strong = [word for word in words if word not in _STOP and len(word) > 1]
    return [*phrases, *(strong or words)][:MAX_TERMS]


def best_score(matches: int, total: int) -> float:
    """The most that one term can add to a BM25 score: idf x (k1 + 1), as FTS5 computes idf.

    A writer may have added matches since ``total`` was counted.
    """
    matches = min(matches, total)
    return _K1_PLUS_1 * max(math.log((total - matches + 0.5) / (matches + 0.5)), 0.0)
