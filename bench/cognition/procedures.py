"""What was done before finds what to do now: tools of like tasks, and runs that are known to work.

tau (retail): five folds over the users' instructions; the tools of the nearest ones that a recall
finds are compared with those that are right. BFCL: the same for single turns, folds over tasks.
Airline: a run that succeeded is held out, and the store knows the task's other runs with what came
of them; a night makes procedures and warnings of them. Its tools that write are compared with
those of the run that the product chooses: the nearest one that succeeded, else the last one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

import spector
from bench.cognition.score import Score, scores
from bench.data import NOW, data_root, json_lines
from bench.vectors import Memoised
from spector import ManualClock
from spector.providers import MiniLMEmbedder

__all__ = ["rows"]

FOLDS: Final = 5
K: Final = 5
_CALL: Final = re.compile(r"(\w+)\(")
#: tools that only look
_LOOKS: Final = ("get_", "search_", "calculate", "think", "list_", "find_", "transfer_")

Task = tuple[str, str, frozenset[str]]


def _lines(name: str) -> list[dict[str, Any]]:
    return json_lines(data_root() / "cognition/procedures" / name)


def writing(tools: Sequence[str]) -> frozenset[str]:
    """Those that change something."""
    return frozenset(each for each in tools if not each.startswith(_LOOKS))


def tau() -> list[Task]:
    """(group, instruction, tools) of each task."""
    return [
        (str(n), each["instruction"], writing([one["name"] for one in each["actions"]]))
        for n, each in enumerate(_lines("tau_retail.jsonl"))
    ]


def bfcl() -> list[Task]:
    """(task, turn, tools) of each turn."""
    return [
        (each["id"], turn, frozenset(_CALL.findall(" ".join(calls))))
        for each in _lines("bfcl_turns.jsonl")
        for turn, calls in zip(each["turns"], each["calls"], strict=True)
        if calls
    ]


def f1(found: frozenset[str], right: frozenset[str]) -> float:
    """Of two sets of tools; 1 for two empty ones."""
    if not found and not right:
        return 1.0
    return 2 * len(found & right) / max(1, len(found) + len(right))


def _folds(tasks: Sequence[Task]) -> Iterator[tuple[list[Task], list[Task]]]:
    groups = list(dict.fromkeys(each[0] for each in tasks))
    fold = {each: n % FOLDS for n, each in enumerate(groups)}
    for n in range(FOLDS):
        yield (
            [each for each in tasks if fold[each[0]] != n],
            [each for each in tasks if fold[each[0]] == n],
        )


def nearest(tasks: Sequence[Task], embedder: Memoised) -> dict[str, float]:
    """How well the tools of the nearest tasks fit: of the first, by votes of five, of any of five."""
    out: dict[str, list[float]] = defaultdict(list)
    for known, asked in _folds(tasks):
        usual = Counter(tools for _, _, tools in known).most_common(1)[0][0]
        with spector.open(":memory:", embedder=embedder, clock=ManualClock(NOW)) as memory:
            memory.remember_many(
                [{"text": text, "metadata": {"tools": sorted(tools)}} for _, text, tools in known]
            )
            for _, text, right in asked:
                found = [
                    frozenset(hit.record.metadata["tools"]) for hit in memory.recall(text, k=K)
                ]
                out["first"].append(f1(found[0], right) if found else 0.0)
                out["vote"].append(f1(_voted(found), right))
                out["exact"].append(float(right in found))
                out["usual"].append(f1(usual, right))
    return {name: round(float(np.mean(each)), 3) for name, each in out.items()}


def _voted(found: Sequence[frozenset[str]]) -> frozenset[str]:
    """The set that most hits have; of equally many the one of the better hit."""
    counts = Counter(found)
    return max(found, key=lambda each: (counts[each], -found.index(each)), default=frozenset())


def chosen_runs(embedder: Memoised) -> dict[str, float]:
    """How well the tools of a chosen run fit those of one that succeeded, and what is warned of."""
    runs = _lines("airline_runs.jsonl")
    out: dict[str, list[float]] = defaultdict(list)
    for held in (each for each in runs if each["reward"] == 1.0):
        others = [each for each in runs if each["task"] == held["task"] and each is not held]
        right = _tools(held)
        tools = {_name(each): _tools(each) for each in others}
        clock = ManualClock(NOW)
        with spector.open(":memory:", embedder=embedder, clock=clock) as memory:
            for each in others:
                _store(memory, each)
                clock.advance(days=1)
            clock.advance(days=3)
            memory.reflect()
            choice = _choice(memory, held["instruction"], others[-1])
            out["chosen"].append(f1(tools[choice], right))
            if any(each["reward"] == 0.0 for each in others):
                words = [*re.findall(r"\w+", held["instruction"].lower())[:64]]
                out["warned"].append(float(bool(memory.learnings.relevant(words))))
        out["any"].append(float(np.mean([f1(each, right) for each in tools.values()])))
        out["last"].append(f1(_tools(others[-1]), right))
        good = [_tools(each) for each in others if each["reward"] == 1.0]
        if good:
            out["chosen where one worked"].append(out["chosen"][-1])
            out["last where one worked"].append(out["last"][-1])
    return {name: round(float(np.mean(each)), 3) for name, each in out.items()} | {
        "asked": len(out["chosen"]),
        "where one worked": len(out["chosen where one worked"]),
    }


def _name(run: dict[str, Any]) -> str:
    return f"{run['task']}-{run['trial']}"


def _tools(run: dict[str, Any]) -> frozenset[str]:
    return writing([each["name"] for each in run["calls"]])


def _store(memory: spector.Memory, run: dict[str, Any]) -> None:
    """An episode for each call that writes, with what came of the run."""
    calls = [each["name"] for each in run["calls"] if writing([each["name"]])] or ["nothing"]
    for tool in calls:
        memory.layers["episodes"].store(
            f"{run['instruction']} Attempt {_name(run)}: {tool}.",
            episode={
                "goal": run["instruction"][:200],
                "tool": tool,
                "run_id": _name(run),
                "success": bool(run["reward"]),
            },
        )


def _choice(memory: spector.Memory, instruction: str, last: dict[str, Any]) -> str:
    """The nearest run that succeeded, else the last one."""
    hits = memory.recall(instruction, k=30)
    with memory._parts.sleeper.survey.knowledge() as reader:
        details = reader.payloads([each.id for each in hits], "episode")
    known = [details[each.id] for each in hits if each.id in details]
    return next((each["run_id"] for each in known if each["success"]), _name(last))


def rows() -> list[Score]:
    """Row 22."""
    embedder = Memoised(MiniLMEmbedder())
    runs = chosen_runs(embedder)
    return [
        *scores("tau", **nearest(tau(), embedder)),
        *scores("bfcl", **nearest(bfcl(), embedder)),
        *scores("airline", **runs, percent=100 * runs["warned"]),
    ]
