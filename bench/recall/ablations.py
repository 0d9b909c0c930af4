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


#: weights of the default profile that count
_WEIGHTS: Final = tuple(
    field.name for field in fields(ScoringProfile)
    if field.name.startswith("w_") and getattr(_DEFAULT, field.name)
)  # fmt: skip


def _changed(title: str, name: str = "ablated", **changed: Any) -> Product:
    """The product's default profile with other weights; 0 takes a term away."""
    return Product(title, options=(("profile", replace(_DEFAULT, name=name, **changed)),))


def _without_each_term() -> dict[str, Arm]:
    out: dict[str, Arm] = {"spector": ARMS["spector"]}
    for name in _WEIGHTS:
        out[f"spector without {name}"] = _changed(f"without {name}", **{name: 0.0})
    out["spector exact"] = Product("every vector read", options=(("exact", True),))
    return out


def _with_other_weights() -> dict[str, Arm]:
    """What a choice on other conversations may fall on: each weight nothing, half, double."""
    out: dict[str, Arm] = {"spector": ARMS["spector"]}
    for name in _WEIGHTS:
        for factor in (0.0, 0.5, 2.0):
            title = f"{name} x {factor:g}"
            out[f"spector {title}"] = _changed(title, **{name: factor * getattr(_DEFAULT, name)})
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

#: the product with one more idea at a time; the last is its default
LADDER: Final[dict[str, Arm]] = {
    "ladder vectors": Product("vectors", options=(("lexical", False), ("profile", "similarity"))),
    "ladder words": Product("+ words", options=(("profile", "similarity"),)),
    "spector": ARMS["spector"],
}
#: the default and its neighbours, for the choice on other conversations
SETTINGS: Final = _with_other_weights()


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
