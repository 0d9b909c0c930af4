"""Warnings: what failed and was done otherwise later, and what failed again and again."""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.knowledge.changes import Changes, New
from spector.knowledge.procedures import (
    ProcedureToAdd,
    learned_procedure,
    learning_title,
    plan_item,
    plan_procedure,
    procedure_text,
    tools_of,
)
from spector.knowledge.reader import KnowledgeReader
from spector.knowledge.statistics import running_rate
from spector.language.words import concept_key, normalize_tokens

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

    def plan(self, reader: KnowledgeReader, now_ms: int) -> Changes:
        """What it changes: a learning that is not validated yet."""
        changes, living = Changes(), reader.living(self.evidence)
        if (self.scope, self.key) in _known_lessons(reader) or len(living) < len(self.evidence):
            return changes
        title, sure = learning_title(self.insight), {"confidence": _SURE, "impact": _SURE}
        values = {"type": "failure_analysis", "title": title, **sure}
        tags = self.applies_to
        plan_item(changes, "learning", values, self.scope, tags, self.evidence, now_ms)
        changes.dreamt(New(0), data_source="system", kind=self.key)
        return changes


def lessons_of(
    reader: KnowledgeReader, runs: Sequence[Run], fresh: Collection[int]
) -> list[Lesson]:
    """Failures that were followed by success with the same goal, and goals that failed twice."""
    by_goal: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if concept_key(run.goal):
            by_goal[run.scope, concept_key(run.goal)].append(run)
    out: list[Lesson] = []
    for group in by_goal.values():
        if {each for run in group for each in run.ids} & set(fresh):
            out += (*_within(group), *_between(group))
    known = _known_lessons(reader)
    unique = {(each.scope, each.key): each for each in out}
    return [each for key, each in unique.items() if key not in known]


def _within(runs: Sequence[Run]) -> Iterator[Lesson]:
    """Attempts of a run that failed, and what came after them."""
    for run in runs:
        for n, (each, values) in enumerate(run.episodes if run.success is True else ()):
            if values["success"] is not False:
                continue
            rest = run.episodes[n + 1 :]
            then = next((after for after in rest if after[1]["success"] is not False), None)
            if then is None:
                continue
            failed, worked = _action(values), _action(then[1])
            way = f"failed; {worked} worked."
            if failed == worked:
                way = "failed once and worked when it was tried again."
            tools = once([values["tool"], then[1]["tool"]])
            yield _lesson(run, f"{failed} {way}", [failed], [worked], (each, then[0]), tools)


def _between(runs: Sequence[Run]) -> Iterator[Lesson]:
    """Whole runs that failed: what the next one that worked did, or else the last one before."""
    lost = [run for run in runs if run.success is False]
    good = [run for run in runs if run.success is True]
    for run in lost:
        after = (each for each in runs[runs.index(run) + 1 :] if each.success is True)
        better = next(after, good[-1] if good else None)
        if better is not None:
            way = f"failed; {_list(better.worked)} worked."
            if better.worked == run.tools:
                way = "failed, and worked another time."
            evidence = (*run.ids, *better.ids)[:MOST_EVIDENCE]
            tools = once([*run.tools, *better.worked])
            said = f"{_list(run.tools)} {way}"
            yield _lesson(run, said, run.tools, better.worked, evidence, tools)
    if len(lost) >= REPEATED and all(run.success is not True for run in runs):
        last = lost[-1]
        evidence = tuple(sorted({each for run in lost for each in run.ids})[-MOST_EVIDENCE:])
        said = f"failed {len(lost)} times, last with {_list(last.tools)}."
        yield _lesson(last, said, ["*"], [], evidence, last.tools)


def _lesson(
    run: Run,
    said: str,
    failed: Sequence[str],
    worked: Sequence[str],
    evidence: tuple[int, ...],
    tools: tuple[str, ...],
) -> Lesson:
    text = "\x00".join([concept_key(run.goal), *failed, "\x01", *worked])
    key = f"lesson:{zlib.crc32(text.encode()):08x}"
    return Lesson(run.scope, run.goal, f"{_short(run.goal)}: {said}", key, evidence, tools)


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


def _known_lessons(reader: KnowledgeReader) -> set[tuple[str, str]]:
    learnings = reader.all_payloads("learning")
    observed = reader.payloads(list(learnings), "observed") if learnings else {}
    owners = reader.owners(list(observed))
    return {
        (owners[each].scope, known["kind"]) for each, known in observed.items() if each in owners
    }


# Runs: what was done with tools for a goal, in which order, and how it ended.
#
# A run is the episodes with a tool that share a `run_id`; without one, those of a session that follow
# one another with the same goal. What worked twice in the same order is a procedure.

#: runs of the same tools from which they are a procedure, or a warning
REPEATED: Final = 2
#: tools of a procedure at least, unless its runs say what they were for
_LEAST_TOOLS: Final = 2
#: episodes that a procedure or a warning names as its evidence
MOST_EVIDENCE: Final = 200
MOST_GOAL: Final = 200
#: goals of its runs that a procedure names
_MOST_GOALS: Final = 8


@dataclass(frozen=True, slots=True)
class Run:
    """One run; the newest of its episodes says how it ended."""

    scope: str
    #: (id, details) by time
    episodes: tuple[tuple[int, Mapping[str, Any]], ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(each for each, _ in self.episodes)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it called, each row of the same one once."""
        return once(values["tool"] for _, values in self.episodes)

    @property
    def worked(self) -> tuple[str, ...]:
        """The same without the attempts that failed."""
        return once(v["tool"] for _, v in self.episodes if v["success"] is not False)

    @property
    def success(self) -> bool | None:
        outcome: bool | None = self.episodes[-1][1]["success"]
        return outcome

    @property
    def goal(self) -> str:
        """What it was for, as it was named last; "" if it has none."""
        goals = (values["goal"] for _, values in reversed(self.episodes) if values["goal"])
        return " ".join(str(next(goals, "")).split())


def once(tools: Iterable[str]) -> tuple[str, ...]:
    """Tools in their order, each row of the same one once."""
    return tuple(each for each, _ in itertools.groupby(tools))


def runs_of(reader: KnowledgeReader, episodes: Mapping[int, Mapping[str, Any]]) -> list[Run]:
    """The runs of episodes, by the time of their ends.

    Args:
        episodes: memory -> the fields of its payload ``episode``.
    """
    known = {each: values for each, values in episodes.items() if values["tool"]}
    owners = reader.owners(list(known))
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for each in sorted(owners, key=lambda each: (owners[each].event_ms, each)):
        scope, session, run = owners[each].scope, owners[each].session, known[each]["run_id"]
        if run is not None or session is not None:
            groups[scope, session if run is None else None, run].append(each)
    out = []
    for (scope, _, run), ids in groups.items():
        parts = [ids] if run is not None else _by_goal(ids, known)
        out += [Run(scope, tuple((each, known[each]) for each in part)) for part in parts]
    return sorted(out, key=lambda run: (owners[run.ids[-1]].event_ms, run.ids))


def _by_goal(ids: Sequence[int], known: Mapping[int, Mapping[str, Any]]) -> list[list[int]]:
    """Episodes of a session, cut where the goal changes; one without a goal belongs to the run."""
    out: list[list[int]] = []
    goal = ""
    for each in ids:
        own = concept_key(known[each]["goal"] or "")
        if not out or (own and goal and own != goal):
            out.append([])
            goal = ""
        goal = own or goal
        out[-1].append(each)
    return out


@dataclass(frozen=True, slots=True)
class Practice:
    """A sequence of tools that worked repeatedly, and every run of it."""

    scope: str
    tools: tuple[str, ...]
    runs: tuple[Run, ...]
    #: runs of these tools that failed
    failed: tuple[Run, ...]
    #: the procedure that says so already
    known: int | None = None

    @property
    def evidence(self) -> tuple[int, ...]:
        """The episodes of its runs, the newest ones."""
        ids = [each for run in (*self.runs, *self.failed) for each in run.ids]
        return tuple(sorted(dict.fromkeys(ids))[-MOST_EVIDENCE:])

    def draft(self) -> ProcedureToAdd:
        """The procedure of the newest run, with the goals of all."""
        newest = self.runs[-1]
        worked = (each for each in newest.episodes if each[1]["success"] is not False)
        rows = itertools.groupby(worked, key=lambda each: each[1]["tool"])
        done = [next(row) for _, row in rows]
        found = learned_procedure([*done[:-1], newest.episodes[-1]], self.scope)
        assert found is not None, "a practice ends in success"
        goals = {concept_key(run.goal): run.goal for run in reversed(self.runs) if run.goal}
        goals.pop(concept_key(newest.goal), None)
        words = [
            token
            for text in (*(run.goal for run in self.runs), *self.tools)
            for token in normalize_tokens(text)
        ]
        return ProcedureToAdd(
            name=found.name[:MOST_GOAL].strip(),
            steps=found.steps,
            scope=self.scope,
            description="\n".join(goal[:MOST_GOAL] for goal in list(goals.values())[:_MOST_GOALS]),
            triggers=tuple(dict.fromkeys(words))[:64],
            evidence=self.evidence,
        )

    @property
    def text(self) -> str:
        """The words of its draft."""
        given = self.draft()
        return procedure_text(given.name, given.description, given.steps)

    def plan(self, reader: KnowledgeReader, now_ms: int) -> Changes:
        """What it changes: a draft, or one more execution of the one that is there."""
        known, changes = self.known, Changes()
        if known is None:
            good, bad = len(self.runs), len(self.failed)
            plan_procedure(
                changes,
                self.draft(),
                now_ms,
                success_rate=good / (good + bad),
                execution_count=good + bad,
                last_used_ms=now_ms,
            )
            changes.dreamt(New(0), data_source="system", kind="practice")
            return changes
        values = reader.payloads([known], "procedure").get(known)
        if values is None:
            return changes
        named = {e.target for e in reader.edges([known], direction="out", kinds=["derived_from"])}
        living = reader.living(self.evidence)
        fresh = [
            (run, success)
            for runs, success in ((self.runs, True), (self.failed, False))
            for run in runs
            if not named & set(run.ids) and living >= set(run.ids)
        ]
        rate, count = values["success_rate"], values["execution_count"]
        for run, success in sorted(fresh, key=lambda each: each[0].ids):
            count += 1
            rate = running_rate(rate, count, success)
            for each in run.ids:
                changes.tie(known, "derived_from", each, "runs", now_ms, 0.8)
        if fresh:
            changed = {
                "success_rate": min(1.0, max(0.0, rate)),
                "execution_count": count,
                "last_used_ms": now_ms,
            }
            changes.payload(known, "procedure", {**values, **changed})
        return changes


def practices_of(
    reader: KnowledgeReader, runs: Sequence[Run], fresh: Collection[int]
) -> list[Practice]:
    """Sequences of tools that worked at least twice, where a run is fresh.

    One tool alone is one where its runs have a goal.
    A procedure of a caller that calls the same tools is left to the caller.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Run]] = defaultdict(list)
    failed: dict[tuple[str, tuple[str, ...]], list[Run]] = defaultdict(list)
    for run in runs:
        if run.success is True and (len(run.worked) >= _LEAST_TOOLS or run.goal):
            groups[run.scope, run.worked].append(run)
        elif run.success is False:
            failed[run.scope, run.tools].append(run)
    procedures = reader.all_payloads("procedure") if groups else {}
    owners = reader.owners(list(procedures))
    dreamt = _dreamt(reader, procedures)
    known: dict[tuple[str, tuple[str, ...]], int] = {}
    for each, values in sorted(procedures.items()):
        if each in owners:
            known.setdefault((owners[each].scope, once(tools_of(values["steps"]))), each)
    out = []
    for key, worked in groups.items():
        old = known.get(key)
        every = {each for run in (*worked, *failed[key]) for each in run.ids}
        if (
            len(worked) < REPEATED
            or not every & set(fresh)
            or (old is not None and old not in dreamt)
        ):
            continue
        out.append(Practice(*key, tuple(worked), tuple(failed[key]), old))
    return out


def _dreamt(reader: KnowledgeReader, ids: Collection[int]) -> set[int]:
    """Those that sleep has made."""
    observed = reader.payloads(ids, "observed") if ids else {}
    return {each for each, known in observed.items() if known["write_source"] == "dream"}


# Which concepts are retired: weak ones that nothing has used for a month, and what is too many.

_DAY_MS: Final = 86_400_000
#: confidence from which a concept is kept whenever it was used last
SURE: Final = 0.6
MOST_CONCEPTS: Final = 5_000
#: hours around the phase of a rhythm that count as its time
_NEAR_H: Final = 1.0


@dataclass(frozen=True, slots=True)
class ConceptUse:
    """What decides whether a concept is retired."""

    id: int
    confidence: float
    #: last use of its memory, or its newest reference, whichever came later
    used_ms: int
    #: pinned or immutable
    is_protected: bool = False
    #: hour of the day at which it is used, if it has one
    phase: float | None = None


def concepts_to_retire(
    concepts: Iterable[ConceptUse],
    now_ms: int,
    *,
    hour: float | None = None,
    most: int = MOST_CONCEPTS,
    max_age_days: float = 30.0,
) -> dict[int, str]:
    """The active concepts of one scope that are to be retired, each with the reason.

    ``age``: its confidence is below 0.6 and it was not used for ``max_age_days``.
    ``capacity``: more than ``most`` are left; the least sure goes first, of equals the one unused
    for longest, and those that are used at this hour of the day go last.

    Args:
        hour: the present hour of the day, 0..24, in the zone of the store; None: no hour matters.
    """
    left, out = [], {}
    for each in concepts:
        idle_days = (now_ms - each.used_ms) / _DAY_MS
        if not each.is_protected and each.confidence < SURE and idle_days >= max_age_days:
            out[each.id] = "age"
        else:
            left.append(each)
    free = sorted(
        (each for each in left if not each.is_protected),
        key=lambda each: (_is_its_time(each, hour), each.confidence, each.used_ms, each.id),
    )
    out |= {each.id: "capacity" for each in free[: max(0, len(left) - most)]}
    return out


def _is_its_time(concept: ConceptUse, hour: float | None) -> bool:
    if hour is None or concept.phase is None:
        return False
    apart = abs(hour - concept.phase) % 24.0
    return min(apart, 24.0 - apart) <= _NEAR_H


# References follow a memory that another takes the place of.


def plan_moved_references(
    reader: KnowledgeReader, changes: Changes, gone: int, kept: int | New
) -> list[int]:
    """Have the concepts that refer to a memory refer to the one that replaces it.

    For a memory that is merged into another, compressed to another id, or retired because another
    says the same. A concept that refers to both keeps one reference: the earlier place, and the
    earlier time of counting. Both must be of one user.

    Returns:
        The concepts whose references moved.
    """
    if gone == kept:
        return []
    ids = [gone] if isinstance(kept, New) else [gone, kept]
    rows = reader.references(ids)
    known = {(row["a"], row["kind"]): row for row in rows if row["b"] == kept}
    moved = []
    for row in rows:
        if row["b"] != gone or row["a"] == kept:
            continue
        changes.drop("link", row["a"], row["kind"], gone)
        other = known.get((row["a"], row["kind"]))
        n, t_ms = row["n"], row["t_ms"]
        if other is not None:
            n = min((each for each in (n, other["n"]) if each is not None), default=None)
            t_ms = min((each for each in (t_ms, other["t_ms"]) if each is not None), default=None)
        changes.link(row["a"], row["kind"], kept, n, t_ms)
        moved.append(row["a"])
    return moved
