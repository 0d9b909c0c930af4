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
_RANKING: Final = _DEFAULT.ranking
#: constants of the ranking that take a term away, or make it what it might have been
_RANKINGS: Final[dict[str, dict[str, Any]]] = {
    "without words": {
        "words_fact": 0.0, "words_talk": 0.0, "words_request": 0.0, "by_name": False,
    },
    "without pairs of words": {"pairs": 0.0},
    "without the neighbours' words": {"before": (), "after": ()},
    "words of one turn around only": {
        "before": _RANKING.before[:1], "after": _RANKING.after[:1],
    },
    "turns before as heavy as those after": {
        "before": (0.45, 0.3, 0.2, 0.12), "after": (0.45, 0.3, 0.2, 0.12),
    },
    "long turns give all their words": {"long_words": 1000.0},
    "without the neighbours' vectors": {"near": 0.0},
    "without whom the cue is about": {"about": 0.0},
    "without dates": {"date": 0.0},
    "without days that memories tell of": {"told": 0.0},
    "without days of events": {"events": False},
    "times favour and never restrict": {"restrict": False},
    "without preferences": {"preference": 0.0},
    "without the length prior": {"short": 0.0},
    "without the question prior": {"question": 0.0},
    "without words of time": {"time_words": 0.0},
    "without the shift of requests": {"request_shift": 0.0},
    "words 0.4 for every kind of cue": {"words_talk": 0.4, "words_request": 0.4},
    "words 0.2 for every kind of cue": {"words_fact": 0.2, "words_request": 0.2},
    "without names and identifiers first": {"by_name": False},
    "with feedback of the best three (0.3)": {"feedback": 0.3},
    "reciprocal ranks instead of the sum": {"fusion": "rrf"},
}  # fmt: skip
#: other weights of single terms, for the choice on other conversations
_FACTORS: Final = (0.5, 2.0)
_SCALED: Final = (
    "near", "request_shift", "words_fact", "words_talk", "words_request", "pairs", "about", "date",
    "told", "short", "question",
)  # fmt: skip
#: options of ``recall`` that are off by default, or on
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "every vector read (exact)": {"exact": True},
    "parts of compound cues as well (compound)": {"compound": True},
    "only what stands out (selective)": {"selective": True},
    "parameters of the cue's intent (intent)": {"intent": "auto"},
    "sentences like answers beside the cue (hyde)": {"hyde": True},
    "newness among the hits (mmr 0.7)": {"mmr": 0.7},
    "at most two hits of a session (per_session)": {"per_session": 2},
}


def _profile(title: str, ranking: dict[str, Any], **weights: Any) -> Product:
    """The product's default profile with other weights or constants."""
    changed = replace(
        _DEFAULT, name="changed", ranking=replace(_RANKING, **ranking), **weights
    )  # fmt: skip
    return Product(title, options=(("profile", changed),))


def _one_change() -> dict[str, Arm]:
    """The product's defaults, and what each stage and term is worth in them."""
    out: dict[str, Arm] = {"spector": ARMS["spector"]}
    out["spector vectors alone"] = Product("vectors alone", options=(
        ("lexical", False), ("profile", "similarity"),
    ))  # fmt: skip
    out["spector no vectors"] = _profile("without vectors", {}, w_similarity=0.0)
    for name in _WEIGHTS:
        if name not in ("w_similarity", "w_lexical"):
            out[f"spector {name}"] = _profile(f"without {name}", {}, **{name: 0.0})
    for title, changed in _RANKINGS.items():
        out[f"spector {title}"] = _profile(title, changed)
    for title, options in _OPTIONS.items():
        out[f"spector {title}"] = Product(title, options=tuple(sorted(options.items())))
    return out


def _ladder() -> dict[str, Arm]:
    """The product with one idea more at a time; the last is its default."""
    kinds = ("words_fact", "words_talk", "words_request")
    none: dict[str, Any] = {
        "near": 0.0, "request_shift": 0.0, "pairs": 0.0, "before": (), "after": (), "about": 0.0,
        "date": 0.0, "told": 0.0, "events": False, "restrict": False, "preference": 0.0,
        "short": 0.0, "question": 0.0, "time_words": 0.0, "by_name": False,
        **dict.fromkeys(kinds, 0.0),
    }  # fmt: skip
    steps: dict[str, dict[str, Any]] = {
        "vectors": {},
        "+ words (BM25)": dict.fromkeys(kinds, _RANKING.words_fact),
        "+ words of the turns around": {"before": _RANKING.before, "after": _RANKING.after},
        "+ vectors of the turns around": {"near": _RANKING.near},
        "+ weights by kind of cue": {name: getattr(_RANKING, name) for name in kinds},
        "+ shift of requests": {"request_shift": _RANKING.request_shift},
        "+ whom the cue is about": {"about": _RANKING.about},
        "+ pairs of words": {"pairs": _RANKING.pairs},
        "+ days and times": {
            name: getattr(_RANKING, name) for name in ("date", "told", "events", "restrict")
        },
        "+ forms of text": {
            name: getattr(_RANKING, name) for name in ("short", "question", "time_words")
        },
    }  # fmt: skip
    out: dict[str, Arm] = {}
    for title, more in steps.items():
        none |= more
        out[f"ladder {title}"] = _profile(title, dict(none))
    out["spector"] = ARMS["spector"]
    return out


def _neighbours() -> dict[str, Arm]:
    """What a choice on other conversations may fall on: one constant away from the default."""
    out: dict[str, Arm] = {"spector": ARMS["spector"]}
    for title, changed in _RANKINGS.items():
        out[f"spector {title}"] = _profile(title, changed)
    for name in _SCALED:
        for factor in _FACTORS:
            title = f"{name} x {factor:g}"
            out[f"spector {title}"] = _profile(title, {name: factor * getattr(_RANKING, name)})
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
    "spector": _one_change(),
}

LADDER: Final = _ladder()
LAST_STEP: Final = "+ preferences, names first: the default"
#: the default and its neighbours, for the choice on other conversations
SETTINGS: Final = _neighbours()


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
