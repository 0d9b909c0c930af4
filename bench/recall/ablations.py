"""One change at a time: lists of arms that differ from the first in one setting each."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

from bench.recall.arms import ARMS, TURNS, Arm, Plain
from bench.recall.product import Product
from bench.recall.shape import DataSet
from spector import ScoringProfile
from spector.kernel.profile import get_profile

_DEFAULT: Final = get_profile("balanced")


def _without_each_term() -> dict[str, Arm]:
    """The product's default profile with one weight at a time set to nothing."""
    out: dict[str, Arm] = {"spector": ARMS["spector"]}
    for field in fields(ScoringProfile):
        if field.name.startswith("w_") and getattr(_DEFAULT, field.name):
            changed: dict[str, Any] = {field.name: 0.0}
            profile = replace(_DEFAULT, name="ablated", **changed)
            title = f"without {field.name}"
            out[f"spector {title}"] = Product(title, options=(("profile", profile),))
    out["spector exact"] = Product("every vector read", options=(("exact", True),))
    return out


#: name of the base -> arms; the base is the first of them
ABLATIONS: Final[dict[str, dict[str, Arm]]] = {
    "turns": {
        "turns": ARMS["turns"],
        "no words": Plain("without BM25 of the text itself", replace(TURNS, words=0)),
        "no near": Plain("without BM25 of the neighbourhood", replace(TURNS, near=0)),
        "no dense": Plain("without vectors", replace(TURNS, dense=0)),
        "no smooth": Plain("without neighbours' vectors", replace(TURNS, smooth=0)),
        "no centre": Plain("without centring", replace(TURNS, centred=False)),
        "no length": Plain("without the length prior", replace(TURNS, length=0)),
        "no speaker": Plain("vectors without speakers", replace(TURNS, template="plain")),
        "no date": Plain("BM25 without dates", replace(TURNS, lexical_template="items")),
        "bare": Plain("BM25 without dates and speakers", replace(TURNS, lexical_template="plain")),
        "no stop": Plain("without a stop list", replace(TURNS, stop=False)),
        "k1 0.9, b 0.4": Plain("BM25 with k1 0.9, b 0.4", replace(TURNS, k1=0.9, b=0.4)),
    },
    "spector": _without_each_term(),
}


def ablations_of(data: DataSet) -> dict[str, dict[str, Arm]]:
    """The lists without the arms that cannot differ on this set."""
    return {
        base: {name: arm for name, arm in arms.items() if _can_differ(arm, data)}
        for base, arms in ABLATIONS.items()
    }


def _can_differ(arm: Arm, data: DataSet) -> bool:
    """Not in speakers where nobody has a name, not in neighbours where each text stands alone."""
    if not isinstance(arm, Plain):
        return True
    changed = set(arm.formula.differences(TURNS))
    items = [item for store in data.stores for item in store.items]
    if not any(item.speaker for item in items):
        changed -= {"template"}
        if not any(item.time for item in items):
            changed -= {"lexical_template"}
        elif arm.formula.lexical_template == "plain":
            return False
    if len({item.session for item in items}) == len(items):
        changed -= {"near", "smooth"}
    return bool(changed) or arm.formula == TURNS
