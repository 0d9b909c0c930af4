"""Presets of a recall by its cue: by intent, and for a cue without a vector.

An option (`recall(intent="auto")`), not the default: measured on LoCoMo it loses (bench/log,
"Intents"). A preset favours categories and tiers rather than filtering by them, so a wrong guess
hides nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from spector.kernel.contract import MOST_WEIGHT, ScoringProfile
from spector.language.cues import PARAMS, Intent, Params, route_cue
from spector.layout import Category, Flag, TierCode
from spector.search.view import RecallRequest

__all__ = ["apply_intent", "by_importance", "intent_in"]

#: the factor of a category or tier that an intent favours
_FAVOUR: Final = 1.1
#: the share of words at which the default weights were found: that of factual cues
_USUAL: Final = PARAMS[Intent.FACTUAL].lexical_weight / PARAMS[Intent.FACTUAL].vector_weight


def intent_in(
    cue: str | None, intent: Intent | Literal["auto"] | None = "auto"
) -> Intent | None:
    """The intent given, or with "auto" the one that a cue's wording shows; None for none."""
    if intent != "auto":
        return intent
    return None if cue is None else route_cue(cue).intent


def apply_intent(request: RecallRequest, intent: Intent | None) -> RecallRequest:
    """A recall with an intent's parameters; the same one for None.

    - ``include_superseded``: what is no longer so is among the answers.
    - ``lexical_weight`` / ``vector_weight``: words count by it, compared with a factual cue.
    - ``utility_boost``: utility counts by this share of the weight of similarity, on top.
    - ``categories``, and for procedures their tier: count 1.1.

    Its limit and sort are for callers (`spector.language.cues.intent.PARAMS`).
    """
    if intent is None:
        return request
    params = PARAMS[intent]
    drop = request.drop_flags
    if params.include_superseded:
        drop &= ~int(Flag.SUPERSEDED)
    return replace(request, drop_flags=drop, profile=_tuned(request.profile, intent, params))


def _tuned(profile: ScoringProfile, intent: Intent, params: Params) -> ScoringProfile:
    share = params.lexical_weight / params.vector_weight / _USUAL
    ranking = profile.ranking
    categories = dict(profile.category_factors)
    for name in params.categories:
        code = int(Category[name.upper()])
        categories[code] = categories.get(code, 1.0) * _FAVOUR
    tiers = dict(profile.tier_factors)
    if intent is Intent.PROCEDURAL:
        code = int(TierCode.PROCEDURAL)
        tiers[code] = tiers.get(code, 1.0) * _FAVOUR
    return replace(
        profile,
        name=f"{profile.name}+{intent}",
        w_utility=profile.w_utility + params.utility_boost * profile.w_similarity,
        category_factors=tuple(categories.items()),
        tier_factors=tuple(tiers.items()),
        ranking=replace(
            ranking,
            words_fact=ranking.words_fact * share,
            words_talk=ranking.words_talk * share,
            words_request=ranking.words_request * share,
        ),
    )


def by_importance(profile: ScoringProfile) -> ScoringProfile:
    """A profile for cues without a vector: the weight of similarity goes to importance."""
    if profile.fusion == "multiplicative":
        return profile
    importance = min(MOST_WEIGHT, profile.w_importance + profile.w_similarity)
    return replace(profile, w_similarity=0.0, w_importance=importance)
