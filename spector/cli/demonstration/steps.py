"""The steps of ``spector demo``; every claim is checked when it is printed."""

from __future__ import annotations

import math
from importlib.resources import as_file, files
from typing import Any

from spector.arguments import SORTS
from spector.cli.demonstration.knowledge import KnownSteps
from spector.cli.demonstration.night import NightSteps
from spector.cli.demonstration.observing import ObservedSteps
from spector.cli.demonstration.stage import NOW
from spector.cli.output import bytes_text, clean, wrap
from spector.clock import MS_PER_DAY, to_ms
from spector.importers import iter_messages
from spector.records import Explanation, Hit

__all__ = ["Demonstration"]

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
