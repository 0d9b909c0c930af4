"""Warnings: what failed and was done otherwise later, and what failed again and again."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.knowledge.changes import Changes
from spector.knowledge.induction.runs import (
    MOST_EVIDENCE,
    MOST_GOAL,
    REPEATED,
    Run,
    once,
    put_origin,
)
from spector.knowledge.learnings import learning_title, plan_learning
from spector.knowledge.reader import KnowledgeReader
from spector.language.words import concept_key, normalize_tokens

__all__ = ["Lesson", "lessons_of", "plan_lesson"]

#: of a learning that is not validated yet
_SURE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Lesson:
    """What failed, and what worked instead."""

    scope: str
    goal: str
    insight: str
    #: tells the same lesson when it is met again
    key: str
    evidence: tuple[int, ...]
    tools: tuple[str, ...]

    @property
    def applies_to(self) -> tuple[str, ...]:
        """Tags of the situations that it is for."""
        words = [each for text in (self.goal, *self.tools) for each in normalize_tokens(text)]
        return tuple(dict.fromkeys(words))[:64]


def lessons_of(
    reader: KnowledgeReader, runs: Sequence[Run], fresh: Collection[int]
) -> list[Lesson]:
    """Failures that were followed by success with the same goal, and goals that failed twice."""
    by_goal: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if concept_key(run.goal):
            by_goal[run.scope, concept_key(run.goal)].append(run)
    out: list[Lesson] = []
    for (scope, _), group in by_goal.items():
        if not {each for run in group for each in run.ids} & set(fresh):
            continue
        out += _within(scope, group)
        out += _between(scope, group)
    known = _known_lessons(reader)
    unique = {(each.scope, each.key): each for each in out}
    return [each for key, each in unique.items() if key not in known]


def _within(scope: str, runs: Sequence[Run]) -> list[Lesson]:
    """Attempts of a run that failed, and what came after them."""
    out = []
    for run in runs:
        if run.success is not True:
            continue
        for n, (each, values) in enumerate(run.episodes):
            if values["success"] is not False:
                continue
            then = next(
                (
                    (other, found)
                    for other, found in run.episodes[n + 1 :]
                    if found["success"] is not False
                ),
                None,
            )
            if then is None:
                continue
            failed, worked = _action(values), _action(then[1])
            again = failed == worked
            insight = f"{_short(run.goal)}: {failed} failed" + (
                " once and worked when it was tried again." if again else f"; {worked} worked."
            )
            out.append(
                Lesson(
                    scope,
                    run.goal,
                    insight,
                    _key(run.goal, [failed], [worked]),
                    (each, then[0]),
                    once([values["tool"], then[1]["tool"]]),
                )
            )
    return out


def _between(scope: str, runs: Sequence[Run]) -> list[Lesson]:
    """Whole runs that failed: what the next one that worked did, or else the last one before."""
    out = []
    lost = [run for run in runs if run.success is False]
    good = [run for run in runs if run.success is True]
    for run in lost:
        after = (each for each in runs[runs.index(run) + 1 :] if each.success is True)
        better = next(after, good[-1] if good else None)
        if better is not None:
            way = f"failed; {_list(better.worked)} worked."
            if better.worked == run.tools:
                way = "failed, and worked another time."
            out.append(
                Lesson(
                    scope,
                    run.goal,
                    f"{_short(run.goal)}: {_list(run.tools)} {way}",
                    _key(run.goal, run.tools, better.worked),
                    (*run.ids, *better.ids)[:MOST_EVIDENCE],
                    once([*run.tools, *better.worked]),
                )
            )
    if len(lost) >= REPEATED and all(run.success is not True for run in runs):
        last = lost[-1]
        evidence = sorted({each for run in lost for each in run.ids})[-MOST_EVIDENCE:]
        out.append(
            Lesson(
                scope,
                last.goal,
                f"{_short(last.goal)}: failed {len(lost)} times, last with {_list(last.tools)}.",
                _key(last.goal, ["*"], []),
                tuple(evidence),
                last.tools,
            )
        )
    return out


def _short(goal: str) -> str:
    """A goal as a lesson begins with it, cut at a word."""
    if len(goal) <= MOST_GOAL:
        return goal.rstrip(".!?: ")
    return goal[:MOST_GOAL].rsplit(" ", 1)[0].rstrip(".!?,: ") + " …"


def _action(values: Mapping[str, Any]) -> str:
    """What was done, in the words of the episode."""
    said = " ".join((values["decision"] or "").split())
    return f"{values['tool']} ({said[:100]})" if said and said != values["tool"] else values["tool"]


def _list(tools: Sequence[str]) -> str:
    shown = list(tools[:12])
    return ", ".join(shown) + (" …" if len(tools) > len(shown) else "")


def _key(goal: str, failed: Sequence[str], worked: Sequence[str]) -> str:
    text = "\x00".join([concept_key(goal), *failed, "\x01", *worked])
    return f"lesson:{zlib.crc32(text.encode()):08x}"


def _known_lessons(reader: KnowledgeReader) -> set[tuple[str, str]]:
    learnings = reader.all_payloads("learning")
    observed = reader.payloads(list(learnings), "observed") if learnings else {}
    owners = reader.owners(list(observed))
    return {
        (owners[each].scope, known["kind"]) for each, known in observed.items() if each in owners
    }


def plan_lesson(reader: KnowledgeReader, lesson: Lesson, now_ms: int) -> Changes:
    """What a lesson changes: a learning that is not validated yet."""
    living = reader.living(lesson.evidence)
    if (lesson.scope, lesson.key) in _known_lessons(reader) or len(living) < len(lesson.evidence):
        return Changes()
    values = {
        "type": "failure_analysis",
        "title": learning_title(lesson.insight),
        "confidence": _SURE,
        "impact": _SURE,
    }
    changes = plan_learning(values, lesson.applies_to, lesson.evidence, lesson.scope, now_ms)
    put_origin(changes, lesson.key)
    return changes
