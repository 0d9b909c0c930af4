"""The steps of ``spector demo``; every claim is checked when it is printed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spector.arguments import SORTS
from spector.cli.output import Console, bytes_text, clean, wrap
from spector.clock import MS_PER_DAY, ManualClock, from_ms, to_ms
from spector.importers import iter_messages
from spector.messages import counted
from spector.records import Explanation, Hit, MemoryRecord, ObserveResult

if TYPE_CHECKING:
    from spector.memory import Memory


# What every step of the demonstration does: print, measure, and note each claim.

#: the morning after the last session; fixed, so that every run has the same ages and scores
NOW = "2026-10-19T08:00:00Z"


@dataclass(slots=True)
class Step:
    """One heading of the demonstration with its claims."""

    title: str
    elapsed_ms: float = 0.0
    claims: list[tuple[str, bool]] = field(default_factory=list)


class Stage:
    """One store, the steps that were run on it, and what they claimed."""

    def __init__(self, path: Path, embedder: str, console: Console) -> None:
        self._path = path
        self._embedder = embedder
        self._console = console
        self._steps: list[Step] = []
        self._started = time.perf_counter()
        self._clock = ManualClock(to_ms(NOW))
        self._memory: Memory | None = None

    def finish(self, kept: Path | None) -> int:
        """Print the verdict and return the exit code: 0 if no claim failed."""
        claims = [(step.title, text, ok) for step in self._steps for text, ok in step.claims]
        failed = [(title, text) for title, text, ok in claims if not ok]
        elapsed_s = time.perf_counter() - self._started
        self._console.document(
            {
                "ok": not failed,
                "elapsed_s": round(elapsed_s, 3),
                "store": None if kept is None else str(kept),
                "steps": [
                    {
                        "title": step.title,
                        "elapsed_ms": round(step.elapsed_ms, 3),
                        "claims": [{"claim": text, "ok": ok} for text, ok in step.claims],
                    }
                    for step in self._steps
                ],
            }
        )
        say, style = self._console.say, self._console.style
        say()
        if failed:
            say(style(f"{len(failed)} of {len(claims)} claims FAILED:", "bold", "red"))
            for title, text in failed:
                say(f"  {title}: {text}")
        else:
            say(style(f"all {len(claims)} claims passed, {elapsed_s:.1f} s in total", "bold"))
        if kept is not None:
            say(f'the store is at {kept}; try: spector recall {kept} "Who works on Fridays?"')
        return 1 if failed else 0

    def _open(self) -> Memory:
        import spector

        return spector.open(str(self._path), embedder=self._embedder, clock=self._clock)

    @property
    def _open_memory(self) -> Memory:
        assert self._memory is not None, "opened by run()"
        return self._memory

    @contextmanager
    def _step(self, title: str, *cues: str) -> Iterator[Callable[[], Any]]:
        """Print the heading, collect claims, print the time spent in ``timed()`` blocks."""
        step = Step(title)
        self._steps.append(step)
        self._console.say()
        self._console.say(self._console.style(f"{len(self._steps)}. {title}", "bold"))
        for cue in cues:
            self._show(self._console.style(f"> {cue}", "cyan"))
        spent: list[float] = []

        @contextmanager
        def timed() -> Iterator[None]:
            start = time.perf_counter()
            try:
                yield
            finally:
                spent.append((time.perf_counter() - start) * 1000)

        yield timed
        step.elapsed_ms = sum(spent)
        parts = " + ".join(f"{ms:.1f}" for ms in spent)
        remark = ", most of it embedding" if len(self._steps) == 1 else ""
        self._show(self._console.style(f"{parts} ms{remark}", "dim"))

    def _show(self, text: str) -> None:
        self._console.say(f"   {text}")

    def _claim(self, text: str, ok: bool) -> None:
        self._steps[-1].claims.append((text, ok))
        mark, color = ("[ok]", "green") if ok else ("[FAILED]", "red")
        self._show(f"{self._console.style(mark, color)} {text}")

    def _hits(self, hits: Any) -> None:
        for hit in hits:
            self._show(f"{hit.score:6.3f}  {hit.event_time:%b %d}  {self._short(hit.text)}")

    def _short(self, text: str) -> str:
        text, room = clean(text), self._console.width - 19
        return text if len(text) <= room else text[: room - 3].rstrip() + "..."

    def _vector_bytes(self, record_id: int) -> bytes:
        """The stored vector of a record, read from its file."""
        from spector.layout import HEADER_BYTES
        from spector.store.repair import RawStore

        with RawStore(self._path) as raw:
            place = raw.find(record_id)
        assert place is not None, "it was recalled a moment ago"
        with open(self._path / place["file"], "rb") as stream:
            stream.seek(place["offset"] + HEADER_BYTES)
            return stream.read(64)

    def _found_in(self, needle: bytes) -> int:
        """Number of files of the store that contain these bytes."""
        every = [path for path in self._path.rglob("*") if path.is_file()]
        return sum(1 for path in every if needle in path.read_bytes())


# Steps about a conversation that is observed: what is dropped, replaced, planned, captured.

#: a user apart from those of the sample conversation
_USER = "juno"
_PORTS = ("The staging server uses port 8080.", "The staging server uses port 8443.")
_PLAN = "I'm going to the dentist tomorrow."
_WEAK = "The harbour cafe opens at nine."
_VIVID = "I am FURIOUS!!! The production server is DOWN!"


class ObservedSteps(Stage):
    """A conversation, message by message, and what became of it."""

    def _observed(self) -> None:
        memory = self._open_memory
        with self._step("A conversation is observed", "memory.observe(message)") as timed:
            with memory.session("juno-1", user_id=_USER) as session:

                def observe(text: str) -> ObserveResult:
                    with timed():
                        result = session.observe({"role": "user", "content": text})
                    became = result.filter or ", ".join(each.action for each in result.units)
                    self._show(f"{text}  -> {became}")
                    return result

                thanks = observe("lol ok thanks!")
                first = observe(_PORTS[0])
                weak = observe(_WEAK)
                plan = observe(_PLAN)
                vivid = observe(_VIVID)
                self._clock.advance(hours=1)
                second = observe(_PORTS[1])
            self._claim("small talk is left out", thanks.filter == "small_talk")
            self._claim(
                "a correction takes the place of what it corrects",
                second.units[0].action == "supersede"
                and first.records[0].id in second.units[0].superseded,
            )
            self._claim(
                "the vivid message is pinned, and strengthened the weak one before it",
                vivid.units[0].flashbulb and weak.records[0].id in vivid.captured,
            )
            self._recalled_then_and_now()
            self._plan_passes(plan)
            print_of = str(second).splitlines()
            self._show("what the last one went through:")
            for line in print_of[1:]:
                self._show(line.strip())

    def _recalled_then_and_now(self) -> None:
        memory, cue = self._open_memory, "Which port does the staging server use?"
        now = [hit.text for hit in memory.recall(cue, user_id=_USER, k=5)]
        earlier = from_ms(self._clock.now_ms()) - timedelta(minutes=30)
        then = [hit.text for hit in memory.recall(cue, user_id=_USER, k=5, as_of=earlier)]
        self._claim(
            "today's answer is 8443 alone, and as of half an hour ago it is 8080",
            any("8443" in each for each in now)
            and not any("8080" in each for each in now)
            and any("8080" in each for each in then),
        )

    def _plan_passes(self, plan: ObserveResult) -> None:
        memory, record = self._open_memory, plan.records[0]
        before = record.id in [hit.id for hit in memory.recall("dentist", user_id=_USER)]
        self._clock.advance(days=2)
        after = record.id in [hit.id for hit in memory.recall("dentist", user_id=_USER)]
        self._show(f"the plan: {record.text}")
        self._claim("the plan is recalled before its day and after it", before and after)


# Steps about what is known: facts with their sources, a path of causes, a procedure.

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
        self._show(f"    {record.event_time:%b %d}  {self._short(record.text)}")


# The last step: a night months later, what it changed, and that it can be taken back.

#: dull memories, and when the night comes
_DULL = ("Noted, the printer hums.", "Good to know about the lift music.")
_LATER_DAYS = 120


class NightSteps(Stage):
    """One night of sleep with its report."""

    def _night(self) -> None:
        memory = self._open_memory
        with self._step("Four months later, a night", "print(memory.reflect())") as timed:
            dull = [memory.remember(text, importance=0.1, role="assistant").id for text in _DULL]
            self._clock.advance(days=_LATER_DAYS)
            before = {each.id for each in memory}
            with timed():
                night = memory.reflect()
            for line in str(night).splitlines():
                self._show(line)
            asleep = [each for each in memory.records(include=["dormant"]) if each.dormant]
            for each in asleep[:5]:
                self._show(f"asleep: {clean(each.text)[: self._console.width - 14]}")
            self._claim(
                "what is dull fell asleep, and no memory was lost",
                set(dull) <= {each.id for each in asleep} and before <= {e.id for e in memory},
            )
            with timed():
                memory.reflect_undo(night.cycle)
            self._claim(
                "taken back, the night has put nothing to sleep",
                not any(memory.get(each).dormant for each in dull),
            )


SECRET = "marigold-otter-58-trellis"
VITAL_CUE = "The bakery asks for the filling of Alma's cake. What should I answer?"
OTHER_CUE = "How do I roll back a bad deploy?"
_DANGER = ("cashew", "pistachio")


class Demonstration(KnownSteps, ObservedSteps, NightSteps):
    """Runs the steps in order on one store."""

    def run(self) -> None:
        """Run every step; the store is closed at the end in any case."""
        try:
            self._memory = self._open()
            for step in (
                self._import,
                self._paraphrase,
                self._rare_word,
                self._filters,
                self._validity,
                self._vital,
                self._correct,
                self._reinforce,
                self._facts,
                self._causes,
                self._procedure,
                self._forget,
                self._sleep,
                self._reopen,
                self._observed,
                self._night,
            ):
                step()
        finally:
            if self._memory is not None:
                self._memory.close()

    # --- steps -------------------------------------------------------------------------------

    def _import(self) -> None:
        with self._step("Import six weeks of conversation") as timed:
            with as_file(files("spector.cli") / "data" / "sample_conversation.jsonl") as path:
                messages = list(iter_messages(path, "jsonl"))
            with timed():
                self._open_memory.remember_many(messages)
            sessions = {message["session_id"] for message in messages}
            first, last = messages[0]["event_time"], messages[-1]["event_time"]
            self._show(
                f"{len(messages)} turns in {len(sessions)} sessions, {first:%Y-%m-%d} to "
                f"{last:%Y-%m-%d}, between Maya, a developer, and her agent."
            )
            self._show("The turns have tags, importance and mood, as an agent would set them.")
            self._show(f"The clock is fixed at {NOW}, so that every run prints the same scores.")
            count = len(self._open_memory)
            self._claim(f"the store holds {count} memories", count == len(messages) >= 150)

    def _paraphrase(self) -> None:
        cue = "How do we get the data back after an accidental deletion?"
        with self._step("Recall by meaning", cue) as timed:
            with timed():
                hits = self._open_memory.recall(cue, k=3)
            self._hits(hits)
            found = any("pgbackrest restore" in hit.text for hit in hits)
            self._claim("the restore procedure is among the three", found)

    def _rare_word(self) -> None:
        with self._step("Recall by a rare word or an id", "E_LEASE_STALE", "palimpsest") as timed:
            for cue in ("E_LEASE_STALE", "palimpsest"):
                with timed():
                    (hit,) = self._open_memory.recall(cue, k=1)
                self._hits([hit])
                self._claim(f"the first hit contains {cue}", cue.lower() in hit.text.lower())

    def _filters(self) -> None:
        start, end = "2026-09-07", "2026-10-01"
        cue = "Why did we choose NATS and not Kafka?"
        with self._step("Filter by tag and time, before ranking", cue) as timed:
            self._show(f'tags=["decision"], time_range=("{start}", "{end}")')
            with timed():
                hits = self._open_memory.recall(
                    cue, k=100, tags=["decision"], time_range=(start, end)
                )
            self._hits(hits[:3])
            expected = {
                record.id
                for record in self._open_memory
                if "decision" in record.tags and to_ms(start) <= record.event_ms < to_ms(end)
            }
            same = {hit.id for hit in hits} == expected and len(hits) == len(expected)
            self._claim(f"exactly the {len(expected)} records that a full read would find", same)
            explanation = hits[0].explain()
            first, *terms = str(explanation).splitlines()
            self._show(f"why the first is first: {first}")
            for line in terms:
                self._show(line)
            self._claim("the terms add up to the score", _adds_up(explanation))

    def _validity(self) -> None:
        cue = "Are we in a feature freeze?"
        with self._step("Facts that expire", cue) as timed:
            with timed():
                now = self._open_memory.recall(cue, k=10)
            self._clock.set(to_ms("2026-10-07T08:00:00Z"))
            then = self._open_memory.recall(cue, k=10)
            self._clock.set(to_ms(NOW))
            expiring = {hit.id for hit in then if hit.record.valid_until and "freeze" in hit.text}
            self._hits(then[:1])
            self._show(f"valid until {then[0].record.valid_until or 'further notice'}")
            self._claim("recalled with the clock at October 7", then[0].id in expiring)
            self._claim("not recalled on October 19", not expiring & {hit.id for hit in now})

    def _vital(self) -> None:
        recall = self._open_memory.recall
        with self._step("Old but vital", VITAL_CUE) as timed:
            everything = len(self._open_memory)
            with timed():
                plain = recall(VITAL_CUE, k=everything, profile="similarity", lexical=False)
            with timed():
                vital = recall(VITAL_CUE, k=everything, profile="importance")
            default = recall(VITAL_CUE, k=everything)
            self._show("cosine only, as a vector index would rank:")
            self._hits(plain[:5])
            self._show('profile="importance", the same scan over the same records:')
            self._hits(vital[:3])
            best = vital[0].record
            age_days = (to_ms(NOW) - best.event_ms) // MS_PER_DAY
            self._show(f"the first is {age_days} days old and has importance {best.importance}:")
            for line in wrap(clean(best.text), self._console.width - 7):
                self._show(f"  | {line}")
            missed = not any(_is_danger(hit) for hit in plain[:5])
            self._claim(f"by cosine the allergy is not in the top 5, it is {_rank(plain)}", missed)
            self._claim("weighted by importance it comes first", _is_danger(vital[0]))
            self._show(f"     (the default profile, led by similarity, has it {_rank(default)})")
            other = recall(OTHER_CUE, k=everything, profile="importance")
            self._claim(
                f'it does not intrude: for "{OTHER_CUE}" it is {_rank(other)}',
                not any(_is_danger(hit) for hit in other[:5]),
            )

    def _correct(self) -> None:
        cue = "What is the extension of the on-call phone?"
        with self._step("Correct a fact", cue) as timed:
            (before,) = self._open_memory.recall(cue, k=1)
            self._hits([before])
            with timed():
                self._open_memory.update(before.id, text=before.text.replace("4417", "4471"))
            (after,) = self._open_memory.recall(cue, k=1)
            self._hits([after])
            self._claim("same id, new text", after.id == before.id and "4471" in after.text)
            old = self._open_memory.recall("4417", k=20)
            self._claim("no hit contains 4417 any more", not any("4417" in hit.text for hit in old))

    def _reinforce(self) -> None:
        memory = self._open_memory
        with self._step("Reinforce what helped") as timed:
            (hit,) = memory.recall("How do I deploy to production?", k=1, tags=["procedure"])
            before = memory.get(hit.id)
            with timed():
                memory.reinforce(hit.id, success=True)
            after = memory.get(hit.id)
            self._hits([hit])
            self._show(
                f"stability {before.stability_days:.1f} -> {after.stability_days:.1f} days, "
                f"utility {before.utility:.2f} -> {after.utility:.2f}, "
                f"used {before.access_count} -> {after.access_count} times"
            )
            grown = (
                after.stability_days > before.stability_days
                and after.utility > before.utility
                and after.access_count == before.access_count + 1
            )
            self._claim("it fades more slowly from now on", grown)
            again = memory.recall("deploy", k=5)
            same = [(h.id, h.score) for h in memory.recall("deploy", k=5)]
            self._claim(
                "a plain recall changes nothing: two recalls give the same answer",
                same == [(h.id, h.score) for h in again],
            )

    def _forget(self) -> None:
        memory = self._open_memory
        with self._step("Forget a pasted secret, down to the bytes") as timed:
            (hit,) = memory.recall(SECRET, k=1)
            vector = self._vector_bytes(hit.id)
            before = self._found_in(SECRET.encode()), self._found_in(vector)
            self._show(f"the passphrase is in {before[0]} file(s), its vector in {before[1]}")
            self._claim("the secret is on disk before", before[0] > 0 and before[1] > 0)
            with timed():
                memory.forget(hit.id)
            with timed():
                report = memory.compact(threshold=0.0)
            self._show(
                f"forget, then compact: {report.records_reclaimed} dead records and "
                f"{bytes_text(report.bytes_reclaimed)} reclaimed"
            )
            after = sum(self._found_in(needle) for needle in (SECRET.encode(), b"marigold", vector))
            self._claim("no byte of text or vector is left in any file", after == 0)
            again = memory.recall(SECRET, k=5)
            self._claim("recall does not find it", not any("otter" in h.text for h in again))

    def _sleep(self) -> None:
        memory = self._open_memory
        with self._step("Sleep, then prove the store") as timed:
            with timed():
                report = memory.reflect()
            self._show(f"reflect: {report.marked_reflectable} partitions marked reflectable")
            with timed():
                check = memory.check()
            self._show(
                f"check: {check.records} records in {check.partitions} partitions; every header, "
                "checksum and row was read"
            )
            for problem in check.problems[:5]:
                self._show(f"  {problem}")
            self._claim("no problem found", check.ok)
            whole = memory.count(sorts=SORTS)
            self._claim("all memories except the secret are there", check.records == whole)

    def _reopen(self) -> None:
        cue = "When may we deploy to production now?"
        with self._step("Close, reopen, recall again", cue) as timed:
            before = [(hit.id, hit.score) for hit in self._open_memory.recall(cue, k=5)]
            count = len(self._open_memory)
            self._open_memory.close()
            with timed():
                self._memory = self._open()
            with timed():
                hits = self._open_memory.recall(cue, k=5)
            self._hits(hits[:3])
            newer = "only on Tuesdays" in hits[0].text
            self._claim("the corrected rule ranks above the old one", newer)
            self._claim(f"all {count} memories are there", len(self._open_memory) == count)
            self._claim(
                "same ids, same scores as before", [(hit.id, hit.score) for hit in hits] == before
            )


def _is_danger(hit: Hit) -> bool:
    return any(word in hit.text for word in _DANGER)


def _rank(hits: Any) -> str:
    """ "at rank 3 of 204": the first hit that names the allergy."""
    for n, hit in enumerate(hits, 1):
        if _is_danger(hit):
            return f"at rank {n} of {len(hits)}"
    return f"not among {len(hits)}"


def _adds_up(explanation: Explanation) -> bool:
    terms, factor = explanation.terms, math.prod(explanation.modifiers.values())
    if explanation.fusion == "multiplicative":
        rest = sum(value for name, value in terms.items() if name != "similarity")
        total = terms.get("similarity", 0.0) * (1 + rest)
    else:
        total = sum(terms.values())
    total = total * factor + sum(explanation.evidence.values())
    return math.isclose(total, explanation.score, abs_tol=1e-4)
