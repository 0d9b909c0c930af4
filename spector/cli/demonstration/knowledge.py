"""Steps about what is known: facts with their sources, a path of causes, a procedure."""

from __future__ import annotations

from itertools import pairwise

from spector.cli.demonstration.stage import Stage
from spector.cli.output import clean
from spector.messages import counted
from spector.records import MemoryRecord

__all__ = ["KnownSteps"]

#: words of three turns about one incident: the cause, what it led to, what was seen first
_CHAIN = (
    "latency went from two seconds to fifty",
    "the berth lease expired before",
    "Two crews are standing on the same jetty",
)
_STEPS = (
    "merge to main",
    "wait for the green build",
    "tiller ship staging",
    "click through one booking by hand",
    "tiller ship prod",
    "watch the lease graph",
)
#: how eight deploys ended
_OUTCOMES = (True, True, False, True, True, True, True, True)


class KnownSteps(Stage):
    """Facts, a path and a procedure, drawn from the conversation."""

    def _facts(self) -> None:
        memory = self._open_memory
        with self._step("Facts, with who said them", 'memory.facts.about("Alma")') as timed:
            turns = [each for each in memory if each.role == "user" and "Alma" in each.text]
            with timed():
                report = memory.facts.learn(turns)
            kept = len(report.facts)
            self._show(f"{len(report.ids)} turns by Maya were read, {counted(kept, 'fact')} kept")
            with timed():
                found = memory.facts.about("Alma")
            for fact in found:
                self._show(
                    f"{fact.subject} - {fact.predicate} - {fact.object}, sure {fact.confidence:.2f}"
                )
                for source in fact.sources:
                    self._quote(memory.get(source))
            said = [memory.get(each).text for fact in found for each in fact.sources]
            self._claim(
                "that Alma is Maya's daughter is known, and which turn said so",
                any(fact.object == "Alma" and "daughter" in fact.predicate for fact in found)
                and any("My daughter Alma" in text for text in said),
            )
            again = memory.facts.learn(turns)
            self._claim(
                "reading the same turns again adds nothing",
                {each.id for each in again.facts} == {each.id for each in report.facts}
                and [each.confidence for each in memory.facts.about("Alma")]
                == [each.confidence for each in found],
            )

    def _causes(self) -> None:
        memory = self._open_memory
        with self._step("A path in the graph: why were berths sold twice?") as timed:
            chain = [next(each for each in memory if words in each.text) for words in _CHAIN]
            with timed():
                for cause, effect in pairwise(chain):
                    memory.graph.link(cause.id, effect.id, "causes", weight=0.9)
            with timed():
                path = memory.graph.path(chain[0], chain[-1]) or []
            self._quote(chain[0])
            for edge in path:
                self._show(f"  {edge.kind}, weight {edge.weight}")
                self._quote(memory.get(edge.target))
            self._claim(
                "the path leads from the slow bank to the two crews in two steps",
                [(each.source, each.target) for each in path]
                == [(a.id, b.id) for a, b in pairwise(chain)],
            )
            reached = memory.graph.neighbours(chain[-1], kinds=["caused_by"], hops=2)
            self._claim(
                "backwards, the root cause weighs 0.81",
                [(each.id, round(each.weight, 2)) for each in reached][-1:]
                == [(chain[0].id, 0.81)],
            )

    def _procedure(self) -> None:
        memory = self._open_memory
        with self._step(
            "A procedure and how often it worked", 'memory.procedures.for_situation(["deploy"])'
        ) as timed:
            with timed():
                made = memory.procedures.add(
                    "deploy to production", _STEPS, triggers=["deploy", "release"]
                )
                for success in _OUTCOMES:
                    failed = None if success else _STEPS[-1]
                    memory.procedures.record_outcome(made.id, success, failed_step=failed)
                (found,) = memory.procedures.for_situation(["deploy"])
            self._show(f"{clean(found.name)}, {len(found.steps)} steps, {found.status}")
            self._show(
                f"success rate {found.success_rate:.3f} of {found.executions} executions;"
                f" it failed at: {', '.join(map(clean, found.failed_steps))}"
            )
            self._claim(
                "seven of eight executions succeeded, and the draft has become active",
                (round(found.success_rate, 3), found.executions, found.status)
                == (0.875, 8, "active"),
            )
            self._claim(
                "no other situation brings it up",
                memory.procedures.for_situation(["holiday"]) == [],
            )

    def _quote(self, record: MemoryRecord) -> None:
        room = self._console.width - 19
        text = " ".join(clean(record.text).split())
        short = text if len(text) <= room else text[: room - 3].rstrip() + "..."
        self._show(f"    {record.event_time:%b %d}  {short}")
