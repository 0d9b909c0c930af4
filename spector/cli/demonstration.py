"""The steps of ``spector demo``; every claim is checked when it is printed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from spector.arguments import SORTS
from spector.cli.output import Console, bytes_text, clean, wrap
from spector.clock import MS_PER_DAY, ManualClock, from_ms, to_ms
from spector.importers import iter_messages
from spector.messages import counted
from spector.records import Explanation, Hit, MemoryRecord, ObserveResult

if TYPE_CHECKING:
    from spector.memory import Memory

#: the morning after the last session; fixed, so that every run has the same ages and scores
NOW = "2026-10-19T08:00:00Z"
#: what a step says is so, and whether it is
Claims = Iterator[tuple[str, bool]]
T = TypeVar("T")


@dataclass(slots=True)
class _Done:
    """A step that was run, with its claims."""

    title: str
    elapsed_ms: float = 0.0
    claims: list[tuple[str, bool]] = field(default_factory=list)


class Demonstration:
    """One store, the steps that are run on it in their order, and what they claim."""

    memory: Memory

    def __init__(self, path: Path, embedder: str, console: Console) -> None:
        self.path, self.console, self.clock = path, console, ManualClock(to_ms(NOW))
        self._embedder = embedder
        self._done: list[_Done] = []
        self._spent_ms: list[float] = []
        self._started = time.perf_counter()

    def run(self) -> None:
        """Run every step; the store is closed at the end in any case."""
        self.memory = self.open()
        try:
            for title, cues, step in _STEPS:
                self._run(_Done(title), cues, step)
        finally:
            self.memory.close()

    def _run(
        self, done: _Done, cues: Iterable[str], step: Callable[[Demonstration], Claims]
    ) -> None:
        """Print the heading, each claim as it is made, and the time of what was timed."""
        say, style = self.console.say, self.console.style
        self._done.append(done)
        self._spent_ms = []
        say()
        say(style(f"{len(self._done)}. {done.title}", "bold"))
        for cue in cues:
            self.show(style(f"> {cue}", "cyan"))
        for claim, ok in step(self):
            done.claims.append((claim, ok))
            mark, color = ("[ok]", "green") if ok else ("[FAILED]", "red")
            self.show(f"{style(mark, color)} {claim}")
        done.elapsed_ms = sum(self._spent_ms)
        parts = " + ".join(f"{ms:.1f}" for ms in self._spent_ms)
        remark = ", most of it embedding" if len(self._done) == 1 else ""
        self.show(style(f"{parts} ms{remark}", "dim"))

    def finish(self, kept: Path | None) -> int:
        """Print the verdict and return the exit code: 0 if no claim failed."""
        claims = [(step.title, text, ok) for step in self._done for text, ok in step.claims]
        failed = [(title, text) for title, text, ok in claims if not ok]
        elapsed_s = time.perf_counter() - self._started
        self.console.document(
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
                    for step in self._done
                ],
            }
        )
        say, style = self.console.say, self.console.style
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

    # what steps do

    def open(self) -> Memory:
        """The store."""
        import spector

        return spector.open(str(self.path), embedder=self._embedder, clock=self.clock)

    def timed(self, call: Callable[..., T], *args: Any, **named: Any) -> T:
        """What a call returns; its time is printed below the step."""
        start = time.perf_counter()
        try:
            return call(*args, **named)
        finally:
            self._spent_ms.append((time.perf_counter() - start) * 1000)

    def show(self, text: str) -> None:
        """Print a line of the step."""
        self.console.say(f"   {text}")

    def hits(self, hits: Iterable[Hit]) -> None:
        """Print hits, one a line."""
        for hit in hits:
            self.show(f"{hit.score:6.3f}  {hit.event_time:%b %d}  {self._short(hit.text)}")

    def quote(self, record: MemoryRecord) -> None:
        """Print a memory."""
        self.show(f"    {record.event_time:%b %d}  {self._short(record.text)}")

    def _short(self, text: str) -> str:
        text, room = clean(text), self.console.width - 19
        return text if len(text) <= room else text[: room - 3].rstrip() + "..."

    def vector_bytes(self, record_id: int) -> bytes:
        """The stored vector of a record, read from its file."""
        from spector.layout import HEADER_BYTES
        from spector.store.repair import RawStore

        with RawStore(self.path) as raw:
            place = raw.find(record_id)
        assert place is not None, "it was recalled a moment ago"
        with open(self.path / place["file"], "rb") as stream:
            stream.seek(place["offset"] + HEADER_BYTES)
            return stream.read(64)

    def files_with(self, needle: bytes) -> int:
        """Number of files of the store that contain these bytes."""
        every = [path for path in self.path.rglob("*") if path.is_file()]
        return sum(1 for path in every if needle in path.read_bytes())


_Step = Callable[[Demonstration], Claims]
#: heading, cues, and what makes and checks the claims
_STEPS: Final[list[tuple[str, tuple[str, ...], _Step]]] = []


def _step(title: str, *cues: str) -> Callable[[_Step], _Step]:
    """Put a step behind those before it."""

    def add(step: _Step) -> _Step:
        _STEPS.append((title, cues, step))
        return step

    return add


@_step("Import six weeks of conversation")
def _import(on: Demonstration) -> Claims:
    with as_file(files("spector.cli") / "data" / "sample_conversation.jsonl") as path:
        messages = list(iter_messages(path, "jsonl"))
    on.timed(on.memory.remember_many, messages)
    sessions = {message["session_id"] for message in messages}
    first, last = messages[0]["event_time"], messages[-1]["event_time"]
    on.show(
        f"{len(messages)} turns in {len(sessions)} sessions, {first:%Y-%m-%d} to "
        f"{last:%Y-%m-%d}, between Maya, a developer, and her agent."
    )
    on.show("The turns have tags, importance and mood, as an agent would set them.")
    on.show(f"The clock is fixed at {NOW}, so that every run prints the same scores.")
    count = len(on.memory)
    yield f"the store holds {count} memories", count == len(messages) >= 150


_DELETED: Final = "How do we get the data back after an accidental deletion?"


@_step("Recall by meaning", _DELETED)
def _paraphrase(on: Demonstration) -> Claims:
    hits = on.timed(on.memory.recall, _DELETED, k=3)
    on.hits(hits)
    found = any("pgbackrest restore" in hit.text for hit in hits)
    yield "the restore procedure is among the three", found


_RARE: Final = ("E_LEASE_STALE", "palimpsest")


@_step("Recall by a rare word or an id", *_RARE)
def _rare_word(on: Demonstration) -> Claims:
    for cue in _RARE:
        (hit,) = on.timed(on.memory.recall, cue, k=1)
        on.hits([hit])
        yield f"the first hit contains {cue}", cue.lower() in hit.text.lower()


_CHOICE: Final = "Why did we choose NATS and not Kafka?"


@_step("Filter by tag and time, before ranking", _CHOICE)
def _filters(on: Demonstration) -> Claims:
    start, end = "2026-09-07", "2026-10-01"
    on.show(f'tags=["decision"], time_range=("{start}", "{end}")')
    hits = on.timed(on.memory.recall, _CHOICE, k=100, tags=["decision"], time_range=(start, end))
    on.hits(hits[:3])
    expected = {
        record.id
        for record in on.memory
        if "decision" in record.tags and to_ms(start) <= record.event_ms < to_ms(end)
    }
    same = {hit.id for hit in hits} == expected and len(hits) == len(expected)
    yield f"exactly the {len(expected)} records that a full read would find", same
    explanation = hits[0].explain()
    first, *terms = str(explanation).splitlines()
    on.show(f"why the first is first: {first}")
    for line in terms:
        on.show(line)
    yield "the terms add up to the score", _adds_up(explanation)


def _adds_up(explanation: Explanation) -> bool:
    terms, factor = explanation.terms, math.prod(explanation.modifiers.values())
    if explanation.fusion == "multiplicative":
        rest = sum(value for name, value in terms.items() if name != "similarity")
        total = terms.get("similarity", 0.0) * (1 + rest)
    else:
        total = sum(terms.values())
    total = total * factor + sum(explanation.evidence.values())
    return math.isclose(total, explanation.score, abs_tol=1e-4)


_FREEZE: Final = "Are we in a feature freeze?"


@_step("Facts that expire", _FREEZE)
def _validity(on: Demonstration) -> Claims:
    now = on.timed(on.memory.recall, _FREEZE, k=10)
    on.clock.set(to_ms("2026-10-07T08:00:00Z"))
    then = on.memory.recall(_FREEZE, k=10)
    on.clock.set(to_ms(NOW))
    expiring = {hit.id for hit in then if hit.record.valid_until and "freeze" in hit.text}
    on.hits(then[:1])
    on.show(f"valid until {then[0].record.valid_until or 'further notice'}")
    yield "recalled with the clock at October 7", then[0].id in expiring
    yield "not recalled on October 19", not expiring & {hit.id for hit in now}


_CAKE: Final = "The bakery asks for the filling of Alma's cake. What should I answer?"
_ROLLBACK: Final = "How do I roll back a bad deploy?"


@_step("Old but vital", _CAKE)
def _vital(on: Demonstration) -> Claims:
    recall, everything = on.memory.recall, len(on.memory)
    plain = on.timed(recall, _CAKE, k=everything, profile="similarity", lexical=False)
    vital = on.timed(recall, _CAKE, k=everything, profile="importance")
    default = recall(_CAKE, k=everything)
    on.show("cosine only, as a vector index would rank:")
    on.hits(plain[:5])
    on.show('profile="importance", the same scan over the same records:')
    on.hits(vital[:3])
    best = vital[0].record
    age_days = (to_ms(NOW) - best.event_ms) // MS_PER_DAY
    on.show(f"the first is {age_days} days old and has importance {best.importance}:")
    for line in wrap(clean(best.text), on.console.width - 7):
        on.show(f"  | {line}")
    missed = not any(map(_is_danger, plain[:5]))
    yield f"by cosine the allergy is not in the top 5, it is {_rank(plain)}", missed
    yield "weighted by importance it comes first", _is_danger(vital[0])
    on.show(f"     (the default profile, led by similarity, has it {_rank(default)})")
    other = recall(_ROLLBACK, k=everything, profile="importance")
    yield (
        f'it does not intrude: for "{_ROLLBACK}" it is {_rank(other)}',
        not any(map(_is_danger, other[:5])),
    )


def _is_danger(hit: Hit) -> bool:
    return "cashew" in hit.text or "pistachio" in hit.text


def _rank(hits: Any) -> str:
    """ "at rank 3 of 204": the first hit that names the allergy."""
    for n, hit in enumerate(hits, 1):
        if _is_danger(hit):
            return f"at rank {n} of {len(hits)}"
    return f"not among {len(hits)}"


_PHONE: Final = "What is the extension of the on-call phone?"


@_step("Correct a fact", _PHONE)
def _correct(on: Demonstration) -> Claims:
    (before,) = on.memory.recall(_PHONE, k=1)
    on.hits([before])
    on.timed(on.memory.update, before.id, text=before.text.replace("4417", "4471"))
    (after,) = on.memory.recall(_PHONE, k=1)
    on.hits([after])
    yield "same id, new text", after.id == before.id and "4471" in after.text
    old = on.memory.recall("4417", k=20)
    yield "no hit contains 4417 any more", not any("4417" in hit.text for hit in old)


@_step("Reinforce what helped")
def _reinforce(on: Demonstration) -> Claims:
    memory = on.memory
    (hit,) = memory.recall("How do I deploy to production?", k=1, tags=["procedure"])
    before = memory.get(hit.id)
    on.timed(memory.reinforce, hit.id, success=True)
    after = memory.get(hit.id)
    on.hits([hit])
    on.show(
        f"stability {before.stability_days:.1f} -> {after.stability_days:.1f} days, "
        f"utility {before.utility:.2f} -> {after.utility:.2f}, "
        f"used {before.access_count} -> {after.access_count} times"
    )
    yield (
        "it fades more slowly from now on",
        after.stability_days > before.stability_days
        and after.utility > before.utility
        and after.access_count == before.access_count + 1,
    )
    again, same = ([(h.id, h.score) for h in memory.recall("deploy", k=5)] for _ in range(2))
    yield "a plain recall changes nothing: two recalls give the same answer", same == again


# What is known: facts with their sources, a path of causes, a procedure.


@_step("Facts, with who said them", 'memory.facts.about("Alma")')
def _facts(on: Demonstration) -> Claims:
    memory = on.memory
    turns = [each for each in memory if each.role == "user" and "Alma" in each.text]
    report = on.timed(memory.facts.learn, turns)
    kept = counted(len(report.facts), "fact")
    on.show(f"{len(report.ids)} turns by Maya were read, {kept} kept")
    found = on.timed(memory.facts.about, "Alma")
    for fact in found:
        on.show(f"{fact.subject} - {fact.predicate} - {fact.object}, sure {fact.confidence:.2f}")
        for source in fact.sources:
            on.quote(memory.get(source))
    said = [memory.get(each).text for fact in found for each in fact.sources]
    yield (
        "that Alma is Maya's daughter is known, and which turn said so",
        any(fact.object == "Alma" and "daughter" in fact.predicate for fact in found)
        and any("My daughter Alma" in text for text in said),
    )
    again = memory.facts.learn(turns)
    yield (
        "reading the same turns again adds nothing",
        {each.id for each in again.facts} == {each.id for each in report.facts}
        and [each.confidence for each in memory.facts.about("Alma")]
        == [each.confidence for each in found],
    )


#: words of three turns about one incident: the cause, what it led to, what was seen first
_CHAIN: Final = (
    "latency went from two seconds to fifty",
    "the berth lease expired before",
    "Two crews are standing on the same jetty",
)


@_step("A path in the graph: why were berths sold twice?")
def _causes(on: Demonstration) -> Claims:
    memory, graph = on.memory, on.memory.graph
    chain = [next(each for each in memory if words in each.text) for words in _CHAIN]
    links = [(cause.id, effect.id) for cause, effect in pairwise(chain)]
    on.timed(lambda: [graph.link(*each, "causes", weight=0.9) for each in links])
    path = on.timed(graph.path, chain[0], chain[-1]) or []
    on.quote(chain[0])
    for edge in path:
        on.show(f"  {edge.kind}, weight {edge.weight}")
        on.quote(memory.get(edge.target))
    yield (
        "the path leads from the slow bank to the two crews in two steps",
        [(each.source, each.target) for each in path] == links,
    )
    reached = graph.neighbours(chain[-1], kinds=["caused_by"], hops=2)
    root = [(each.id, round(each.weight, 2)) for each in reached][-1:]
    yield "backwards, the root cause weighs 0.81", root == [(chain[0].id, 0.81)]


_DEPLOY: Final = (
    "merge to main",
    "wait for the green build",
    "tiller ship staging",
    "click through one booking by hand",
    "tiller ship prod",
    "watch the lease graph",
)
#: how eight deploys ended
_OUTCOMES: Final = (True, True, False, True, True, True, True, True)


@_step("A procedure and how often it worked", 'memory.procedures.for_situation(["deploy"])')
def _procedure(on: Demonstration) -> Claims:
    procedures = on.memory.procedures

    def deploy() -> Any:
        made = procedures.add("deploy to production", _DEPLOY, triggers=["deploy", "release"])
        for success in _OUTCOMES:
            failed = None if success else _DEPLOY[-1]
            procedures.record_outcome(made.id, success, failed_step=failed)
        (found,) = procedures.for_situation(["deploy"])
        return found

    found = on.timed(deploy)
    on.show(f"{clean(found.name)}, {len(found.steps)} steps, {found.status}")
    on.show(
        f"success rate {found.success_rate:.3f} of {found.executions} executions;"
        f" it failed at: {', '.join(map(clean, found.failed_steps))}"
    )
    yield (
        "seven of eight executions succeeded, and the draft has become active",
        (round(found.success_rate, 3), found.executions, found.status) == (0.875, 8, "active"),
    )
    yield "no other situation brings it up", procedures.for_situation(["holiday"]) == []


SECRET: Final = "marigold-otter-58-trellis"


@_step("Forget a pasted secret, down to the bytes")
def _forget(on: Demonstration) -> Claims:
    (hit,) = on.memory.recall(SECRET, k=1)
    vector = on.vector_bytes(hit.id)
    before = on.files_with(SECRET.encode()), on.files_with(vector)
    on.show(f"the passphrase is in {before[0]} file(s), its vector in {before[1]}")
    yield "the secret is on disk before", before[0] > 0 and before[1] > 0
    on.timed(on.memory.forget, hit.id)
    report = on.timed(on.memory.compact, threshold=0.0)
    on.show(
        f"forget, then compact: {report.records_reclaimed} dead records and "
        f"{bytes_text(report.bytes_reclaimed)} reclaimed"
    )
    after = sum(on.files_with(needle) for needle in (SECRET.encode(), b"marigold", vector))
    yield "no byte of text or vector is left in any file", after == 0
    again = on.memory.recall(SECRET, k=5)
    yield "recall does not find it", not any("otter" in h.text for h in again)


@_step("Sleep, then prove the store")
def _sleep(on: Demonstration) -> Claims:
    report = on.timed(on.memory.reflect)
    on.show(f"reflect: {report.marked_reflectable} partitions marked reflectable")
    check = on.timed(on.memory.check)
    on.show(
        f"check: {check.records} records in {check.partitions} partitions; every header, "
        "checksum and row was read"
    )
    for problem in check.problems[:5]:
        on.show(f"  {problem}")
    yield "no problem found", check.ok
    whole = on.memory.count(sorts=SORTS)
    yield "all memories except the secret are there", check.records == whole


_RULE: Final = "When may we deploy to production now?"


@_step("Close, reopen, recall again", _RULE)
def _reopen(on: Demonstration) -> Claims:
    before = [(hit.id, hit.score) for hit in on.memory.recall(_RULE, k=5)]
    count = len(on.memory)
    on.memory.close()
    on.memory = on.timed(on.open)
    hits = on.timed(on.memory.recall, _RULE, k=5)
    on.hits(hits[:3])
    yield "the corrected rule ranks above the old one", "only on Tuesdays" in hits[0].text
    yield f"all {count} memories are there", len(on.memory) == count
    yield "same ids, same scores as before", [(hit.id, hit.score) for hit in hits] == before


# A conversation that is observed: what is dropped, replaced, planned, captured.

#: a user apart from those of the sample conversation
_USER: Final = "juno"


@_step("A conversation is observed", "memory.observe(message)")
def _observed(on: Demonstration) -> Claims:
    with on.memory.session("juno-1", user_id=_USER) as session:

        def observe(text: str) -> ObserveResult:
            result = on.timed(session.observe, {"role": "user", "content": text})
            became = result.filter or ", ".join(each.action for each in result.units)
            on.show(f"{text}  -> {became}")
            return result

        thanks = observe("lol ok thanks!")
        first = observe("The staging server uses port 8080.")
        weak = observe("The harbour cafe opens at nine.")
        plan = observe("I'm going to the dentist tomorrow.")
        vivid = observe("I am FURIOUS!!! The production server is DOWN!")
        on.clock.advance(hours=1)
        second = observe("The staging server uses port 8443.")
    yield "small talk is left out", thanks.filter == "small_talk"
    yield (
        "a correction takes the place of what it corrects",
        second.units[0].action == "supersede" and first.records[0].id in second.units[0].superseded,
    )
    yield (
        "the vivid message is pinned, and strengthened the weak one before it",
        vivid.units[0].flashbulb and weak.records[0].id in vivid.captured,
    )
    cue = "Which port does the staging server use?"
    now = _texts(on, cue)
    then = _texts(on, cue, as_of=from_ms(on.clock.now_ms()) - timedelta(minutes=30))
    yield (
        "today's answer is 8443 alone, and as of half an hour ago it is 8080",
        "8443" in now and "8080" not in now and "8080" in then,
    )
    record = plan.records[0]
    before = record.id in [hit.id for hit in on.memory.recall("dentist", user_id=_USER)]
    on.clock.advance(days=2)
    after = record.id in [hit.id for hit in on.memory.recall("dentist", user_id=_USER)]
    on.show(f"the plan: {record.text}")
    yield "the plan is recalled before its day and after it", before and after
    on.show("what the last one went through:")
    for line in str(second).splitlines()[1:]:
        on.show(line.strip())


def _texts(on: Demonstration, cue: str, **when: Any) -> str:
    return "\n".join(hit.text for hit in on.memory.recall(cue, user_id=_USER, k=5, **when))


# A night months later, what it changed, and that it can be taken back.

_DULL: Final = ("Noted, the printer hums.", "Good to know about the lift music.")


@_step("Four months later, a night", "print(memory.reflect())")
def _night(on: Demonstration) -> Claims:
    memory = on.memory
    dull = [memory.remember(text, importance=0.1, role="assistant").id for text in _DULL]
    on.clock.advance(days=120)
    before = {each.id for each in memory}
    night = on.timed(memory.reflect)
    for line in str(night).splitlines():
        on.show(line)
    asleep = [each for each in memory.records(include=["dormant"]) if each.dormant]
    for each in asleep[:5]:
        on.show(f"asleep: {clean(each.text)[: on.console.width - 14]}")
    yield (
        "what is dull fell asleep, and no memory was lost",
        set(dull) <= {each.id for each in asleep} and before <= {e.id for e in memory},
    )
    on.timed(memory.reflect_undo, night.cycle)
    yield (
        "taken back, the night has put nothing to sleep",
        not any(memory.get(each).dormant for each in dull),
    )
