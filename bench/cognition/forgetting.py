"""What recall keeps when sleep forgets: six months of nights, and curves beside three floors.

    python -m bench.cognition.forgetting [--sets locomo beam] [--stores N] [--no-months]

Each conversation is observed at its own times. Then six months of daily cycles pass with a budget
of half and of three tenths of its memories. The curve asks the same at every share at once, beside
three ways to choose: the oldest first, by chance, and the least used first (used by the questions
with even numbers, asked the odd ones). Recall is any@10 of what a budget leaves, divided by any@10
with everything at the same time.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from bench.cognition.score import Score
from bench.cognition.slept import DAYS, K, Talk, found_by, owners_of, talks, waking
from bench.results import RESULTS
from spector import Config, Memory, MemoryRecord, SleepConfig

__all__ = ["curve", "curve_section", "forgetting_rows", "guarded", "measure", "months"]

SHARES: Final = (0.7, 0.5, 0.3)
BUDGETS: Final = (0.5, 0.3)
#: (budget, floor, goal)
_GOALS: Final = ((0.5, "0.93", 0.95), (0.3, "0.84", 0.88))
FILE: Final = RESULTS / "sleep-forgetting.json"
_NAMES: Final = ("is_named", "is_called")


def guarded(memory: Memory) -> dict[str, set[Any]]:
    """What must outlast every budget: ids of pinned memories and rules, and the facts of names and
    slots, each with the memories that state it."""
    from spector.knowledge import is_single_valued

    active = {each.id for each in memory.records(include=[])}
    survey = memory._parts.sleeper._survey
    with survey.knowledge() as reader:
        observed = reader.payloads(sorted(active), "observed")
        facts = reader.facts(holds=1)
        sources = reader.sources([row["id"] for row in facts])
    out: dict[str, set[Any]] = {
        "pinned": {each.id for each in memory.records(include=[]) if each.pinned},
        "rules": {each for each, known in observed.items() if known["kind"] == "rule"},
        "names": set(),
        "slots": set(),
    }
    for row in facts:
        if {row["id"], *sources.get(row["id"], ())} & active:
            if row["predicate"] in _NAMES:
                out["names"].add(row["id"])
            elif is_single_valued(row["predicate"]):
                out["slots"].add(row["id"])
    return out


def lost(before: dict[str, set[Any]], memory: Memory) -> dict[str, int]:
    """How many of them are there no more."""
    after = guarded(memory)
    return {name: len(found - after[name]) for name, found in before.items()}


def curve(talk: Talk) -> dict[str, dict[float, tuple[float, ...]]]:
    """Way to choose -> share -> (share that is active, questions answered, answered before)."""
    out: dict[str, dict[float, tuple[float, ...]]] = defaultdict(dict)
    odd = np.arange(len(talk.questions)) % 2 == 1
    with waking(talk, days=DAYS) as (memory, _):
        owners = owners_of(memory)
        every = list(memory.records(include=[]))
        whole = found_by(memory, talk.questions, owners)
    uses = _uses(talk)
    ways: dict[str, Callable[[MemoryRecord], Any]] = {
        "oldest first": lambda each: (each.event_ms, each.id),
        "by chance": lambda each: _chance(each.id),
        "least used first": lambda each: (uses.get(each.id, 0), each.event_ms, each.id),
    }
    for name, order in ways.items():
        with waking(talk, days=DAYS) as (memory, _):
            ranked = [each.id for each in sorted(every, key=order)]
            gone = 0
            for share in SHARES:
                upto = len(every) - math.ceil(share * len(every))
                memory.retire(ranked[gone:upto])
                gone = upto
                found = found_by(memory, talk.questions, owners)
                asked = odd if name == "least used first" else np.ones(len(odd), bool)
                out[name][share] = (
                    1 - gone / len(every),
                    float(found[asked].sum()),
                    float(whole[asked].sum()),
                )
    for share in SHARES:
        sleep = SleepConfig(keep_share=share, blast_radius=1.0)
        with waking(talk, Config(sleep=sleep), days=DAYS) as (memory, _):
            memory.reflect("forget")
            found = found_by(memory, talk.questions, owners)
            active = sum(1 for _ in memory.records(include=[])) / len(every)
            out["spector"][share] = (active, float(found.sum()), float(whole.sum()))
    return out


def _uses(talk: Talk) -> dict[int, int]:
    """How often the even questions bring a memory up."""
    out: dict[int, int] = defaultdict(int)
    with waking(talk, days=1) as (memory, _):
        for question in talk.questions[::2]:
            for hit in memory.recall(question.cue, k=K):
                out[hit.id] += 1
    return out


def _chance(number: int) -> int:
    return number * 0x9E3779B97F4A7C15 % (1 << 64)


def months(talk: Talk, share: float, *, days: int = DAYS) -> dict[str, Any]:
    """Daily cycles with a budget: recall before and after, and what was lost of what is guarded."""
    sleep = SleepConfig(keep_share=share)
    with waking(talk, days=days) as (memory, _):
        whole = found_by(memory, talk.questions, owners_of(memory))
    with waking(talk, Config(sleep=sleep)) as (memory, clock):
        at_once = found_by(memory, talk.questions, owners_of(memory))
        before, years = guarded(memory), []
        for day in range(days):
            clock.advance(days=1)
            memory.reflect()
            if day % 30 == 29:
                years.append(sum(1 for _ in memory.records(include=[])))
        owners = owners_of(memory)
        found = found_by(memory, talk.questions, owners)
        total = memory.count()
        return {
            "talk": talk.name,
            "share": share,
            "asked": len(whole),
            "whole": int(whole.sum()),
            "fresh": int(at_once.sum()),
            "kept": int(found.sum()),
            "active": years,
            "total": total,
            "guarded": {name: len(each) for name, each in before.items()},
            "lost": lost(before, memory),
            "ok": memory.check().ok,
        }


def measure(
    names: Sequence[str] = ("locomo", "beam"),
    count: int | None = None,
    *,
    by_day: bool = True,
    budgets: Iterable[float] = BUDGETS,
    curves: bool = True,
) -> dict[str, Any]:
    """Curves and months of every conversation."""
    out: dict[str, Any] = {"curves": {}, "months": []}
    for name in names:
        for talk in talks([name], count):
            if curves:
                out["curves"][talk.name] = curve(talk)
                _print_curve(talk.name, [out["curves"][talk.name]])
            for share in budgets if by_day else ():
                row = {"set": name, **months(talk, share)}
                print(json.dumps(row), flush=True)
                out["months"].append(row)
    return out


def _print_curve(name: str, curves: Sequence[Any]) -> None:
    print(name)
    for way in ("spector", "least used first", "oldest first", "by chance"):
        cells = [pooled(curves, way, share) for share in SHARES]
        print(f"  {way:<18}" + "  ".join(f"{a:.2f}:{r:.3f}" for a, r in cells), flush=True)


def pooled(curves: Sequence[Any], way: str, share: float) -> tuple[float, float]:
    """(share that is active, part of recall that is kept) over conversations."""
    cells = [each[way].get(share) or each[way][str(share)] for each in curves]
    active = float(np.mean([cell[0] for cell in cells]))
    return active, sum(cell[1] for cell in cells) / max(1.0, sum(cell[2] for cell in cells))


def forgetting_rows() -> list[Score]:
    """Row 19, from the last full run; it takes an hour, so it is a command of its own."""
    if not FILE.is_file():
        return []
    found = json.loads(FILE.read_text(encoding="utf-8"))
    out = _by_curve(found.get("curves", {}))
    for share, floor, goal in _GOALS:
        for name in dict.fromkeys(each["set"] for each in found["months"]):
            rows = [r for r in found["months"] if r["share"] == share and r["set"] == name]
            kept = sum(r["kept"] for r in rows) / sum(r["whole"] for r in rows)
            worst = min(r["kept"] / max(1, r["whole"]) for r in rows)
            active = np.mean([r["active"][-1] / r["total"] for r in rows])
            gone = sum(sum(r["lost"].values()) for r in rows)
            guarded_ones = sum(sum(r["guarded"].values()) for r in rows)
            out.append(
                Score(
                    19,
                    f"{name}, {len(rows)} conversations, six months of nights with a budget of"
                    f" {share:.0%} of all memories: recall kept (worst"
                    f" conversation {worst:.2f}; {active:.0%} active; lost of {guarded_ones} pinned,"
                    f" rules, names, last holders: {gone})",
                    f"{kept:.3f}",
                    floor,
                    f"{goal}",
                    kept >= goal and not gone,
                )
            )
    return out


def _by_set(curves: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The curves of each set, by its title."""
    return [
        (title, found)
        for title, start in (("LoCoMo", "conv-"), ("BEAM", "beam-"))
        if (found := {name: each for name, each in curves.items() if name.startswith(start)})
    ]


def _by_curve(curves: Mapping[str, Any]) -> list[Score]:
    """What budgets keep when they are met in one step, by messages alone."""
    out = []
    for title, part in _by_set(curves):
        found = list(part.values())
        for share, floor, goal in _GOALS:
            kept = pooled(found, "spector", share)[1]
            worst = min(pooled([each], "spector", share)[1] for each in found)
            floors = ", ".join(
                f"{way} {pooled(found, way, share)[1]:.2f}"
                for way in ("oldest first", "by chance", "least used first")
            )
            out.append(
                Score(
                    19,
                    f"{title}, {len(found)} of its conversations, a budget of {share:.0%} of what"
                    " observing stored, in one step after six months: recall kept (worst conversation"
                    f" {worst:.2f}; {floors})",
                    f"{kept:.3f}",
                    floor,
                    f"{goal}",
                    kept >= goal,
                )
            )
    return out


def curve_section() -> str:
    """Recall against the share that is kept, from the last full run, as a part of the page."""
    if not FILE.is_file():
        return ""
    lines = [
        "## What a budget keeps",
        "",
        "any@10 of what a budget leaves awake, divided by any@10 of everything, six months after",
        "the last message, in one step and by messages alone; of what observing stored. Above 1,",
        "what rests was in the way. Used is what half of the questions recall; the others ask.",
    ]
    for title, part in _by_set(json.loads(FILE.read_text(encoding="utf-8"))["curves"]):
        lines += [
            "",
            f"| {title} ({', '.join(sorted(part))}): chosen by | "
            + " | ".join(f"{share:.0%} awake" for share in SHARES)
            + " |",
            "|---|" + "---:|" * len(SHARES),
        ]
        for way in ("spector", "least used first", "oldest first", "by chance"):
            cells = (f"{pooled(list(part.values()), way, share)[1]:.3f}" for share in SHARES)
            lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=["locomo", "beam"])
    parser.add_argument("--stores", type=int, help="the first N conversations of each set")
    parser.add_argument("--no-months", action="store_true", help="curves only")
    parser.add_argument("--no-curves", action="store_true", help="months only")
    parser.add_argument("--keep", action="store_true", help="write bench/results")
    options = parser.parse_args()
    found = measure(
        options.sets, options.stores, by_day=not options.no_months, curves=not options.no_curves
    )
    if found["curves"]:
        _print_curve("all", list(found["curves"].values()))
    if options.keep:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
