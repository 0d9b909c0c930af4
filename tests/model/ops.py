"""The operations of a life: names, arguments, and how often each is drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.model.oracle import WHERES
from tests.model.spec import Fields, Handle, Int, Known, Many, Pick, Spec
from tests.model.world import VECTORS, World

__all__ = ["Step", "draw"]

#: serial number, name, arguments: plain data
Step = tuple[int, str, dict[str, Any]]

_V = Int(0, len(VECTORS) - 1)
_TAGS = Pick([["a"], ["b"], ["a", "b"], ["c", "a"], ["d"], ["b", "a", "d", "c"]])
_USER = Pick(["u0", "u1", "u2"])
#: hours from the start: days around, 1969, the year 1900 or so, 2107, 2262
_WHEN = Pick([-50, -23, -22, -2, -1, 0, 1, 2, 3, 25, 49, -500_000, -1_100_000, 710_000, 2_067_000])
_WINDOW = Pick([(-5, None), (None, 1), (0, 30), (2, 4), (-9, -3), (None, 90), (20, None)])
_SELECTION: dict[str, Spec] = {
    "tags": Pick([["a"], ["b", "a"], ["d"]]),
    "any_tags": Pick([["a"], ["c", "d"]]),
    "tiers": Pick([["episodic"], ["semantic"], ["working", "procedural"], ["working"]]),
    "user_id": _USER,
    "where": Int(0, len(WHERES) - 1),
    "time": Pick([(None, 0), (-24, 2), (0, 1), (2, None), (-600_000, 0), (3, 30)]),
}
_NEW = Fields(
    {"v": _V, "words": Pick(["alpha beta", "beta", "gamma alpha beta pad pad", "δ ünï"])},
    {
        "tier": Pick(["episodic", "semantic", "procedural", "working", "working"]),
        "tags": _TAGS,
        "importance": Pick([0.0, 0.2, 0.9, 1.0]),
        "valence": Pick([-1.0, -0.5, 0.3, 1.0]),
        "arousal": Pick([0.1, 0.6, 0.8, 1.0]),
        "when": _WHEN,
        "window": _WINDOW,
        "metadata": Pick([{"n": 0}, {"n": 1, "s": "x"}, {"n": 2}, {"n": 3, "s": "y"}, {"s": "x"}]),
        "user_id": _USER,
        "confidence": Pick([0.0, 0.5, 0.9]),
        "pinned": Pick([True, False]),
        "immutable": Pick([True, False, False]),
        "unresolved": Pick([True]),
        "category": Pick(["fact", "pattern"]),
        "role": Pick(["user", "assistant"]),
    },
)
_CHANGES = Fields(
    {},
    {
        "version": _V,
        "tags": _TAGS,
        "when": _WHEN,
        "window": _WINDOW,
        "user_id": _USER,
        "metadata": Pick([{"n": 1}, {"n": 2, "s": "y"}, None]),
        "importance": Pick([0.0, 0.4, 1.0]),
        "valence": Pick([-1.0, 0.0, 0.3]),
        "confidence": Pick([0.2, 1.0]),
        "pinned": Pick([True, False]),
    },
)
_ASKED = Fields(
    {
        "k": Pick([1, 2, 3, 5, 8, 40]),
        "v": Pick([None, *range(len(VECTORS))]),
        "profile": Pick(
            "similarity balanced balanced importance recent ucma cognitive spector utility".split()
        ),
    },
    {
        **_SELECTION,
        "valence": Pick([(-1.0, 0.0), (0.0, 1.0), (0.3, 1.0), (-0.5, -0.5)]),
        "min_importance": Pick([0.3, 0.5, 0.95]),
        "mood": Pick([-1.0, 0.5]),
        "categories": Pick([["fact"], ["other", "pattern"]]),
        "then": Pick([-30, -1, 0, 2, 26, 800_000]),
        "include": Pick([["superseded"]]),
    },
    share=0.12,
)
_HOUR, _DAY = 3_600_000, 86_400_000
_JUMPS = (0, 1, 1000, _HOUR, _DAY, 30 * _DAY, 400 * _DAY)


@dataclass(frozen=True)
class Operation:
    weight: int
    args: Mapping[str, Spec]


OPERATIONS: dict[str, Operation] = {
    "remember": Operation(10, {"new": _NEW}),
    "remember_many": Operation(5, {"news": Many(_NEW, 1, 7)}),
    "remember_bad": Operation(1, {"news": Many(_NEW, 1, 8), "wrong": Int(0, 7)}),
    "supersede": Operation(5, {"new": _NEW, "which": Many(Known(), 1, 2)}),
    "reinstate": Operation(1, {"which": Known()}),
    "update": Operation(9, {"which": Known(), "changes": _CHANGES}),
    "reinforce": Operation(4, {"which": Known(), "success": Pick([True, False])}),
    "flag": Operation(4, {"which": Known(), "verb": Pick(["pin", "unpin", "resolve"])}),
    "get": Operation(2, {"which": Known()}),
    "forget": Operation(6, {"which": Many(Known(), 1, 3), "purge": Pick([False] * 7 + [True])}),
    "forget_by": Operation(1, {"chosen": Fields({}, _SELECTION, share=0.4)}),
    "select": Operation(2, {"chosen": Fields({}, _SELECTION)}),
    "recall": Operation(11, {"asked": _ASKED, "learn": Pick([True, False, False, False])}),
    "by_text": Operation(5, {"asked": _ASKED, "cue": Pick(["alpha", "beta alpha", "ünï pad"])}),
    "by_word": Operation(3, {"which": Known()}),
    "upkeep": Operation(5, {"verb": Pick(["reflect", "compact", "checkpoint", "reflect"])}),
    "reopen": Operation(2, {}),
    "days": Operation(2, {"count": Int(1, 9)}),
    "clock": Operation(4, {"ms": Pick([sign * ms for sign in (1, -1) for ms in _JUMPS])}),
    "check": Operation(1, {}),
}
#: what only a store on disk can be asked for
ON_DISK: dict[str, Operation] = {
    "doom": Operation(6, {"after": Int(0, 40)}),
    "reader": Operation(
        12, {"which": Int(0, 3), "verb": Pick(["open", "open", "open", "recall", "check", "close"])}
    ),
    "backup": Operation(5, {"where": Int(0, 2), "by_reader": Pick([True, False]), "new": _NEW}),
    "restore": Operation(5, {"where": Int(0, 2)}),
    "intruder": Operation(1, {}),
}
#: a store of more than this is cut down, so that every step stays small
_CROWDED = 20


def draw(rng: random.Random, serial: int, world: World) -> Step:
    """The next operation of a life; memories that are gone are asked for now and then."""
    on_disk = world.setup.store != "memory"
    known: list[Handle] = list(world.handles)
    alive = [h for h in known if world.handles[h] in world.oracle.records]
    if len(alive) > _CROWDED and rng.random() < 0.5:
        return serial, "forget", {"which": rng.sample(alive, 9), "purge": False}
    every = {**OPERATIONS, **ON_DISK} if on_disk else OPERATIONS
    name = rng.choices(list(every), [each.weight for each in every.values()])[0]
    if name == "reopen" and not on_disk and rng.random() < 0.8:
        name = "recall"  # else it would be empty most of the time
    among = alive if alive and rng.random() < 0.93 else known[-40:]
    return serial, name, {key: spec.sample(rng, among) for key, spec in every[name].args.items()}
