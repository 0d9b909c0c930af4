"""Two simulated years of a chat, a night after each day: what is awake, what sleeps, what is found.

    python -m bench.cognition.years [--days 730] [--share 0.6] [--keep]

Every third day a session brings small talk, events, preferences, plans, and facts that change.
A budget lets a share of all memories stay awake. Every thirty days the store is asked for what was
said so far, evenly over the time, with what is awake and with everything: recall kept is the first
number of answers among ten hits divided by the second. The survival curve follows the memories of
the first month. With ``--keep`` the plot of docs/sleep.md and its table are written. Vectors are
hashed words, so it is the same everywhere.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from datetime import UTC, datetime
from typing import Any, Final

import spector
from bench.cognition.night import Hashed
from bench.machine import REPO
from bench.results import RESULTS
from bench.rivals import svg
from spector import Config, ManualClock, Memory, SleepConfig

__all__ = ["PLOT", "plot", "simulate", "table"]

PLOT: Final = REPO / "docs" / "sleep_two_years.svg"
FILE: Final = RESULTS / "sleep-years.json"
BEGIN: Final = datetime(2024, 1, 1, 9, tzinfo=UTC)
EVERY: Final = 30
_ASKED: Final = 60
_PEOPLE: Final = ("Ada", "Berk", "Ceren", "Deniz", "Emre", "Fatma", "Gul", "Hakan")
_PLACES: Final = ("Kars", "Lisbon", "Oslo", "Izmir", "Quito", "Bergen", "Lyon", "Kyoto", "Mardin")
_THINGS: Final = (
    "harpsichord",
    "kayak",
    "greenhouse",
    "telescope",
    "bicycle",
    "bakery",
    "orchard",
    "quilt",
    "violin",
    "sailboat",
    "mosaic",
    "apiary",
    "printer",
    "balcony",
    "aquarium",
    "loom",
)
_DEEDS: Final = ("repaired", "sold", "painted", "found", "borrowed", "finished", "visited", "lost")
_TALK: Final = (
    "ok thanks, that was quick {n}",
    "haha yes exactly {n}",
    "hm let me think about it {n}",
    "good morning again {n}",
    "sounds great to me {n}",
    "wow, nice one {n}",
)


def session(day: int, chance: random.Random) -> list[tuple[str, str]]:
    """(message, cue that asks for it) of one day; small talk has no cue."""
    out = [(chance.choice(_TALK).format(n=day * 10 + n), "") for n in range(2)]
    who, where, thing, other = (
        chance.choice(_PEOPLE),
        chance.choice(_PLACES),
        *chance.sample(_THINGS, 2),
    )
    deed, number = chance.choice(_DEEDS), 100 + day
    out.append(
        (
            f"{who} {deed} the {thing} number {number} in {where}.",
            f"What did {who} do with the {thing} number {number}?",
        )
    )
    out.append(
        (
            f"My {other} from {where} cost {number} lira.",
            f"Which {other} from {where} cost {number} lira?",
        )
    )
    if day % 30 == 0:
        out.append((f"I live in {where} now.", "Where do I live?"))
    if day % 12 == 0:
        out.append((f"I prefer the {thing} to the {other}.", f"{thing} or {other}?"))
    if day % 21 == 0:
        out.append((f"I will meet {who} in {where} next week.", f"When do I meet {who}?"))
    return out


def simulate(days: int = 730, share: float = 0.6, *, seed: int = 20261126) -> dict[str, Any]:
    """The rows of every month, and how the memories of the first one fare."""
    chance, clock = random.Random(seed), ManualClock(BEGIN)
    config = Config(sleep=SleepConfig(keep_share=share))
    months: list[dict[str, Any]] = []
    asked: list[tuple[str, frozenset[int]]] = []
    first: set[int] = set()
    with spector.open(":memory:", embedder=Hashed(), clock=clock, config=config) as memory:
        for day in range(days):
            clock.advance(hours=24)
            if day % 3 == 0:
                told = session(day, chance)
                found = memory.observe_many([text for text, _ in told], session_id=f"day {day}")
                for (_, cue), result in zip(told, found, strict=True):
                    ids = frozenset(one.id for one in result.records)
                    if cue and ids:
                        asked.append((cue, ids))
                    if day < EVERY:
                        first |= ids
            memory.reflect()
            if day % EVERY == EVERY - 1:
                months.append({"day": day + 1, **_month(memory, asked, first)})
    return {"share": share, "days": days, "months": months, "first_month": len(first)}


def _month(
    memory: Memory, asked: list[tuple[str, frozenset[int]]], first: set[int]
) -> dict[str, Any]:
    active = list(memory.records(include=[]))
    step = max(1, len(asked) // _ASKED)
    part = asked[::step]
    found, whole = (
        sum(
            bool(
                ids
                & {
                    one
                    for hit in memory.recall(cue, k=10, include=include)
                    for one in (hit.id, *hit.also)
                }
            )
            for cue, ids in part
        )
        for include in ((), ("dormant",))
    )
    awake = {each.id for each in active}
    return {
        "memories": memory.count(),
        "active": len(active),
        "dormant": sum(each.dormant for each in memory.records()),
        "semantic": sum(each.tier == "semantic" for each in active),
        "found": round(found / max(1, whole), 3),
        "whole": round(whole / len(part), 3),
        "survive": round(len(first & awake) / len(first), 3),
    }


def plot(found: dict[str, Any]) -> str:
    """The two years as SVG."""
    months = found["months"]
    return svg.curves(
        "Two simulated years, a night after each day",
        "days",
        "memories",
        {
            name: [(each["day"], each[name]) for each in months]
            for name in ("memories", "active", "dormant", "semantic")
        },
        {
            "recall kept, %": [(each["day"], 100 * each["found"]) for each in months],
            "first month awake, %": [(each["day"], 100 * each["survive"]) for each in months],
        },
    )


def table(found: dict[str, Any]) -> str:
    """A line a quarter, as Markdown."""
    lines = [
        "| day | memories | active | dormant | semantic | recall kept | of the first month awake |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {each['day']} | {each['memories']} | {each['active']} | {each['dormant']}"
        f" | {each['semantic']} | {each['found']:.0%} | {each['survive']:.0%} |"
        for each in found["months"][2::3]
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--share", type=float, default=0.6)
    parser.add_argument("--keep", action="store_true", help="write the plot and bench/results")
    options = parser.parse_args()
    found = simulate(options.days, options.share)
    sys.stdout.write(table(found) + "\n")
    for each in found["months"]:
        bar = "#" * round(40 * each["survive"])
        sys.stdout.write(f"day {each['day']:4} {bar:<40} {each['survive']:.0%}\n")
    if options.keep:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        PLOT.write_text(plot(found), encoding="utf-8")


if __name__ == "__main__":
    main()
