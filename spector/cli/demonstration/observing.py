"""Steps about a conversation that is observed: what is dropped, replaced, planned, captured."""

from __future__ import annotations

from datetime import timedelta

from spector.cli.demonstration.stage import Stage
from spector.clock import from_ms
from spector.records import ObserveResult

__all__ = ["ObservedSteps"]

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
