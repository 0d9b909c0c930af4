"""From messages to memories: the stages in their order, and one commit for what they decide."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from spector.clock import Clock, from_ms
from spector.config import Config
from spector.errors import SpectorError
from spector.knowledge import Changes, KnowledgeReader, plan_mentions, stated_of
from spector.language.formation import Referents
from spector.language.frames import Statement as Triple
from spector.language.words import plain
from spector.observe.analysis import Analyst, reclass
from spector.observe.committing import (
    Committer,
    UpdateNeeded,
    observed_of,
    put_details,
    strengthened,
)
from spector.observe.gate import Candidate, Comparer, Judging, Ordering, cosines, stated, to_judge
from spector.observe.importance import Rater
from spector.observe.jobs import (
    Analysis,
    Done,
    Job,
    SessionMemory,
    Unit,
    asked,
    facts_of,
    fields_of,
)
from spector.observe.messages import Message
from spector.observe.models import Models
from spector.observe.relating import causal_edges, followed
from spector.observe.resolving import heard, speaker_key
from spector.records import LLMUsage, MemoryRecord, ObservedUnit, ObserveResult, Statement
from spector.write import Beside, Change, ChangedError, Draft, Series, SeriesWriter

__all__ = ["Observer", "Options"]

#: filters of messages that ask or order, and so are what "No, ..." corrects
_ASKED: Final = frozenset(("question", "request"))
#: attempts before other writers have to wait
_ATTEMPTS: Final = 3
#: facts fade half as fast as texts (UCMA)
_FACT_GROWTH: Final = 2.0
#: stages of what a judge, and a chat model, are asked
_JUDGE: Final = "judge"
_MODEL: Final = "llm"
#: older memories that one question about a message shows
_MOST_EARLIER: Final = 8
_entries = itertools.count(1)
T = TypeVar("T")
Updating = Callable[[int, dict[str, Any], Beside], MemoryRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How messages are observed.

    Attributes:
        force: no filter stops them. dry_run: nothing is kept.
    """

    force: bool = False
    dry_run: bool = False
    modality: str = "text"


@dataclass(slots=True)
class Work:
    """One message on its way through the stages."""

    analysis: Analysis
    entry_id: str
    session: SessionMemory | None
    #: predicates that callers registered as having one value at a time
    single: frozenset[str]
    jobs: list[Job] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)
    #: the message or memory that it corrects
    corrected: Work | int | None = None
    #: an earlier commit has kept what is attached to it
    is_attached: bool = False
    #: what asking the chat model cost
    llm: LLMUsage | None = None


class Observer:
    """Observes messages. Callers check that the store is open and writable.

    Args:
        reinforcing: the change of a memory that helped.
        models: the chat model, which reads whole messages. judging: the caller's judge.
        ordering: says which older memories a new one may have changed where neither does.
        relate: says how a statement is related to older memories.
        updating: gives a memory, by its id, other words, importance and tags, and rows beside it.
    """

    def __init__(
        self,
        *,
        series: SeriesWriter,
        comparer: Comparer,
        analyst: Analyst,
        rater: Rater,
        reinforcing: Callable[[bool], Change],
        clock: Clock,
        config: Config,
        updating: Updating,
        models: Models | None = None,
        judging: Judging | None = None,
        ordering: Ordering | None = None,
        relate: Callable[[str, list[tuple[int, str]]], dict[int, tuple[str, float]]] | None = None,
    ) -> None:
        self._updating = updating
        self._models = models
        self._judging = judging
        self._ordering = ordering
        self._relations = relate
        self._series = series
        self._comparer = comparer
        self._analyst = analyst
        self._rater = rater
        self._reinforcing = reinforcing
        self._clock = clock
        self._config = config

    def observe(
        self,
        messages: Sequence[Message],
        sessions: Sequence[SessionMemory | None],
        options: Options,
    ) -> list[ObserveResult]:
        """Take messages through all stages, in their order, and commit once.

        Args:
            sessions: the session of each message, or None.

        Raises:
            InvalidInputError: a message has a field that cannot be; nothing was stored.
        """
        began = time.perf_counter()
        works = self._read(messages, sessions, options)
        self._prepare(works, options)
        self._rate(works)
        self._commit(works, options)
        spent = (time.perf_counter() - began) * 1000 / max(1, len(works))
        return [_result(each, spent, options) for each in works]

    # -- before the commit -------------------------------------------------------------------------

    def _read(
        self,
        messages: Sequence[Message],
        sessions: Sequence[SessionMemory | None],
        options: Options,
    ) -> list[Work]:
        """The analysis of each message; each knows who was named before it in its session."""
        single = self._comparer.registered()
        known: dict[Any, Any] = {}
        silent: dict[int, str | None] = {}
        #: what each said last; None where that was left out, so that nothing corrects what is older
        last: dict[Any, Work | None] = {}
        worths = [None] * len(messages) if options.force else self._analyst.worths(messages)
        out = []
        for message, session, worth in zip(messages, sessions, worths, strict=True):
            now_ms = self._clock.now_ms() if message.event_ms is None else message.event_ms
            key = id(session)
            talk = message.scope if session is None else key
            if session is None:  # a list is a talk, which names no one beyond a message
                before = Referents() if len(messages) > 1 else None
            else:
                before = session.referents or Referents()
            who = (talk, speaker_key(message))
            earlier, words = None, ("", "")
            if who not in last or last[who] is not None:
                earlier, words = self._said_before(last.get(who), session, who[1])
            told = heard(
                message,
                session,
                None if session is None else silent.get(key, session.off_record),
                now_ms,
                self._config.observe,
            )
            if options.force:
                told = told._replace(news=message, stopped=None)
            entry_id = self._sense(message, session, options, keeps=told.stopped != "unwanted")
            analysis = self._analyst.read(
                told.news,
                now_ms,
                referents=known.get(talk, before),
                stopped=told.stopped,
                force=options.force,
                single_valued=single,
                before=words,
                worth=worth if told.news is message else self._analyst.worth_of_rest(told.news),
            )
            if told.news is not message and (analysis.filter or analysis.doubt):
                analysis.filter, analysis.doubt, analysis.units = "echo", "", []
                analysis.unnamed.clear()
            analysis.off_record = told.off_record
            known[talk] = analysis.referents
            if session is None:
                known[talk] = replace(analysis.referents, turns=())
            else:
                silent[key] = told.off_record
            out.append(Work(analysis, entry_id, session, single))
            if analysis.turn_before[0] == "corrects":
                out[-1].corrected = earlier
            if analysis.units:
                last[who] = out[-1]
            elif analysis.filter in _ASKED:
                last[who] = None
        self._analyst.name([each.analysis for each in out])
        return out

    def _said_before(
        self, work: Work | None, session: SessionMemory | None, speaker: str
    ) -> tuple[Work | int | None, tuple[str, str]]:
        """What someone said last; the words that a correction of it corrects, and its own."""
        if work is not None:
            unit = work.analysis.units[-1]
            return work, (_words_of(unit.turn_before, unit.said), unit.said)
        known = None if session is None else session.said.get(speaker)
        record = None if known is None else self._series.record(known)
        if record is None:
            return None, ("", "")
        said = record.said or record.text
        return record.id, (_words_of(record.turn_before, said), said)

    def _sense(
        self, message: Message, session: SessionMemory | None, options: Options, *, keeps: bool
    ) -> str:
        if session is None or options.dry_run or not keeps:
            return f"entry-{next(_entries)}"
        entry = session.sensory.ingest(
            message.text, source=message.role or "user", modality=options.modality
        )
        return str(entry.entry_id)

    def _prepare(self, works: Sequence[Work], options: Options) -> None:
        """Drafts and vectors of all statements and their facts, embedded in one call."""
        units = [(work, unit) for work in works for unit in work.analysis.units]
        items = [fields_of(work.analysis, unit, self._config) for work, unit in units]
        drafts = self._series.drafts(items)
        for (work, _), draft in zip(units, drafts, strict=True):
            draft.quarantined = work.analysis.quarantined
        self._series.speakers(drafts)
        facts = [self._drafts_of_facts(work.analysis, unit) for work, unit in units]
        ready = self._series.ready([*drafts, *itertools.chain.from_iterable(facts)])
        rest = iter(ready[len(drafts) :])
        for (work, unit), one, own in zip(units, ready, facts, strict=False):
            work.jobs.append(
                Job(
                    analysis=work.analysis,
                    unit=unit,
                    ready=one,
                    facts=list(itertools.islice(rest, len(own))),
                    session=work.session,
                    entry_id=work.entry_id,
                    is_forced=options.force,
                )
            )
        for job in itertools.chain.from_iterable(work.jobs for work in works):
            self._rater.ask(job)
            job.worth = self._analyst.importance_of(job.unit, job.ready.vector)
        for work in works:
            if len(work.jobs) == 1 and (vector := work.jobs[0].ready.vector) is not None:
                self._analyst.feel_again(work.analysis, vector)

    def _drafts_of_facts(self, analysis: Analysis, unit: Unit) -> list[Draft]:
        drafts = [] if analysis.quarantined else self._series.drafts(facts_of(analysis, unit))
        for each in drafts:
            each.growth = _FACT_GROWTH
        return drafts

    def _look(self, works: Sequence[Work]) -> None:
        """The memories that each statement may concern, as of now."""
        if not self._config.observe.gate:
            return
        now_ms = self._clock.now_ms()
        for work in works:
            for job in work.jobs:
                if not job.analysis.quarantined:
                    job.candidates = self._comparer.candidates(
                        job.unit.incoming,
                        job.ready.vector,
                        user_id=job.user_id,
                        now_ms=now_ms,
                        single_valued=work.single,
                    )
                    job.sample = self._comparer.sample(job.user_id, now_ms)

    # -- the commit --------------------------------------------------------------------------------

    def _commit(self, works: Sequence[Work], options: Options) -> None:
        if not any(work.jobs for work in works):
            self._note_sessions(works, options)
        elif self._config.observe.on_update == "merge":
            self._commit_apart(works, options)
        elif self._judging or self._models:  # which see what the message before has made
            for each in works:
                self._commit_tries([each], options)
        else:
            self._commit_tries(works, options)

    def _commit_tries(self, works: Sequence[Work], options: Options) -> None:
        """Decide and commit; again when another writer came in between."""
        for _ in range(_ATTEMPTS):
            since = self._series.moment()
            self._look(works)
            self._judge(works)
            self._ask(works)
            self._order(works)
            self._relate(works)
            try:
                self._commit_since(works, options, since)
            except ChangedError:  # another writer came in between
                continue
            return
        with self._series.exclusive():
            since = self._series.moment()
            self._look(works)
            self._commit_since(works, options, since)

    def _judge(self, works: Sequence[Work]) -> None:
        """Ask the judge about the nearest memories that it has not seen; no lock is held."""
        judging = self._judging
        if judging is None:
            return
        for work in works:
            analysis = work.analysis
            for job in work.jobs:
                if not (analysis.quarantined or _JUDGE in analysis.fallbacks):
                    known = job.outside.verdicts
                    ask = partial(judging.verdicts, job.unit.incoming, job.candidates, known)
                    known.update(asked(analysis, _JUDGE, ask) or {})

    def _order(self, works: Sequence[Work]) -> None:
        """Ask the offline model which older memories, and messages before it in the list, each new
        one may have changed; no lock is held."""
        ordering = self._ordering
        if ordering is None or not self._config.observe.gate:
            return
        jobs = [
            job
            for work in works
            for job in work.jobs
            if not (work.analysis.quarantined or work.analysis.doubt or _is_judged(work))
        ]
        vectors = np.array([each.ready.vector for each in jobs])
        for n, job in enumerate(jobs):
            new = job.unit.incoming
            near = ordering.near(new, job.candidates, _likeness(job, jobs[:n], vectors))
            if not job.outside.changes.keys() >= set(near):
                job.outside.changes = ordering.changes(new.said, near)

    def _rate(self, works: Sequence[Work]) -> None:
        """Ask the judge what messages are worth: one without content is kept as doubtful."""
        judging = self._judging
        chosen = [each for each in works if each.jobs and not each.analysis.quarantined]
        if judging is None or not chosen:
            return
        said = [_message_of(each.analysis) for each in chosen]
        ask = partial(judging.messages, said)
        found = asked(chosen[0].analysis, _JUDGE, ask)
        for work, verdict in zip(chosen, found or (), strict=bool(found)):
            if verdict.content <= 1.0 - self._config.observe.hide_at:
                work.analysis.doubt = work.analysis.doubt or _JUDGE
            for job in work.jobs:
                job.outside.importance = verdict.importance

    def _relate(self, works: Sequence[Work]) -> None:
        """Ask the caller's detector of relations; no lock is held."""
        if (relate := self._relations) is None:
            return
        for work in works:
            for job in work.jobs if not work.analysis.quarantined else ():
                near = [
                    (each.id, each.said)
                    for each in job.candidates
                    if not each.is_knowledge and not each.is_dormant
                ][: self._config.observe.relate_neighbours]
                if near and "relations" not in work.analysis.fallbacks:
                    ask = partial(relate, job.unit.said, near)
                    job.outside.relations = asked(work.analysis, "relations", ask)

    def _ask(self, works: Sequence[Work]) -> None:
        """Ask the chat model once about each message; no lock is held."""
        for work in works:
            analysis = work.analysis
            is_new = work.llm is None and not (analysis.quarantined or analysis.message.is_call)
            if self._models is not None and work.jobs and is_new:
                self._ask_about(work, self._models)

    def _ask_about(self, work: Work, models: Models) -> None:
        shown = _earlier(work.jobs) if self._judging is None else [[] for _ in work.jobs]
        parts = [
            (job.unit.said, [stated(each.record, each.said) for each in own])
            for job, own in zip(work.jobs, shown, strict=True)
        ]
        answer, work.llm = models.ask(_message_of(work.analysis), parts)
        if answer is None:
            work.analysis.fallbacks.append(_MODEL)
            return
        faults: list[str] = []

        def part(name: str, check: Callable[[], T]) -> T | None:
            try:
                return check()
            except SpectorError as error:
                faults.append(str(error))
                work.analysis.fallbacks.append(name)
                return None

        kind, importance = part("class", answer.kind), part("importance", answer.importance)
        content, facts = part("content", answer.has_content), part("facts", answer.facts)
        verdicts = iter(part(_JUDGE, answer.verdicts) or ())
        if faults:
            models.note_failure()
            work.llm = replace(work.llm, fallback="; ".join(faults))
        if kind is not None:
            reclass(work.analysis, kind)
        for job, own in zip(work.jobs, shown, strict=True):
            job.ready.draft.category = job.unit.category
            if self._judging is None:
                job.outside.importance = importance
            job.outside.verdicts.update(zip((each.id for each in own), verdicts, strict=False))
        for job, found in zip(work.jobs, facts or (), strict=False):
            self._take_facts(job, found)
        stated_any = any(job.unit.reading.facts for job in work.jobs)
        if content is False and not (stated_any or work.analysis.is_asked):
            work.analysis.doubt = work.analysis.doubt or _JUDGE

    def _take_facts(self, job: Job, found: Sequence[Triple]) -> None:
        """Have a statement of a user state what the model read in it, in the words of the rules
        where they read the same; denials, of which the model is not asked, are the rules'."""
        analysis, unit = job.analysis, job.unit
        if (
            analysis.message.data_source != "user_message"
            or analysis.doubt
            or unit.incoming.corrects
            or self._analyst.has_extractor
        ):
            return
        by_rules = unit.incoming.statements
        own = {_ends_of(each): each for each in by_rules if each.polarity}
        chosen = [own.get(_ends_of(each), each) for each in found]
        denied = [each for each in by_rules if not each.polarity]
        unit.reading = replace(unit.reading, facts=stated_of([*chosen, *denied]))
        job.facts = self._series.ready(self._drafts_of_facts(analysis, unit))

    def _commit_apart(self, works: Sequence[Work], options: Options) -> None:
        """Commit statement by statement: each may give new words to a memory."""
        for work in works:
            if self._models is not None:
                self._look([work])
                self._ask([work])
            jobs: list[Job] = work.jobs
            done: list[Done] = []
            for job in jobs:
                work.jobs = [job]
                try:
                    self._commit_tries([work], options)
                    done += work.done
                    work.is_attached |= any(each.is_new for each in work.done)
                except UpdateNeeded as needed:
                    done.append(self._update(job, needed, options))
            work.jobs, work.done = jobs, done

    def _update(self, job: Job, needed: UpdateNeeded, options: Options) -> Done:
        """Give a memory the words of two."""
        decision, done = needed.decision, needed.done
        assert decision.nearest is not None, "it names what is updated"
        assert decision.merged is not None, "it has the words"
        if options.dry_run:
            return done
        old = next(each.record for each in job.candidates if each.id == decision.nearest)
        reinforce, observed = self._reinforcing(True), observed_of(job, decision, done)

        def rows(reader: KnowledgeReader) -> Changes:
            changes = Changes()
            put_details(changes, job, old.id, observed)
            mentions = job.unit.reading.mentions
            plan_mentions(reader, changes, old.user_id or "", old.id, mentions)
            return changes

        record = self._updating(
            old.id,
            {
                "text": decision.merged,
                "importance": max(old.importance, done.unit.importance.composite),
                "tags": [*dict.fromkeys((*old.tags, *job.ready.draft.tags))] or None,
                **_attached(job, old),
            },
            Beside(lambda header: strengthened(reinforce, header, old), rows),
        )
        done.unit = replace(done.unit, record=record, text=decision.merged)
        done.reason = "merged"
        return done

    def _committer(self, series: Series, options: Options) -> Committer:
        return Committer(
            self._config,
            series,
            reinforce=self._reinforcing(True),
            rater=self._rater,
            dry_run=options.dry_run,
        )

    def _commit_since(self, works: Sequence[Work], options: Options, since: int) -> None:
        committers: list[Committer] = []

        def work_on(series: Series) -> None:
            committer = self._committer(series, options)
            committers.append(committer)
            for each in works:
                self._take(each, committer, options)

        try:
            self._series.commit(work_on, since=since, dry_run=options.dry_run)
        except BaseException:
            for each in committers:
                each.undo()
            raise

    def _take(self, work: Work, committer: Committer, options: Options) -> None:
        """One message: its statements, then what ties them, then what its session notes."""
        work.done, is_attached = [], work.is_attached
        for job in work.jobs:  # the first memory of a message has what is attached to it
            corrected = None if work.done else _corrected(work)
            work.done.append(committer.step(job, attaches=not is_attached, corrected=corrected))
            is_attached |= work.done[-1].is_new
        made = [
            (job, done.unit.record)
            for job, done in zip(work.jobs, work.done, strict=True)
            if done.unit.record is not None
        ]
        ids = [record.id for _, record in made]
        if not work.analysis.quarantined:
            before = () if work.session is None else work.session.previous
            edges = [
                *followed(before, ids),
                *itertools.chain.from_iterable(
                    followed([one], [other]) for one, other in itertools.pairwise(ids)
                ),
                *causal_edges(
                    work.analysis.message.text,
                    [
                        (*_span(job.unit, work.analysis.message.text), record.id)
                        for job, record in made
                    ],
                ),
            ]
            committer.tie(edges)
        if work.session is not None and not options.dry_run:
            self._note(work, ids)

    def _note_sessions(self, works: Sequence[Work], options: Options) -> None:
        if not options.dry_run:
            for work in works:
                if work.session is not None:
                    self._note(work, ())

    def _note(self, work: Work, ids: Sequence[int]) -> None:
        """What a session keeps of a message."""
        session, analysis = work.session, work.analysis
        assert session is not None
        vector = work.jobs[0].ready.vector if work.jobs else None
        is_user = analysis.message.data_source == "user_message"
        session.note_message(vector, analysis.emotion.valence if is_user else None)
        session.referents, session.off_record = analysis.referents, analysis.off_record
        for job, done in zip(work.jobs, work.done, strict=True):
            if done.unit.action == "skip":
                session.note_skipped(job.unit.text, done.unit.importance.composite)
        if ids:
            session.previous = tuple(ids)
            session.said[speaker_key(analysis.message)] = ids[-1]
        elif analysis.filter in _ASKED:  # a correction after it is not of what was said before
            session.said.pop(speaker_key(analysis.message), None)


def _message_of(analysis: Analysis) -> Statement:
    message = analysis.message
    return Statement(
        text=message.text,
        speaker=message.speaker,
        role=message.role,
        time=from_ms(analysis.event_ms),
        before=analysis.turn_before[1] or None,
    )


def _earlier(jobs: Sequence[Job]) -> list[list[Candidate]]:
    """The older memories that a chat model is asked about with each statement of a message, each
    with the one that it is nearest to."""
    found = [to_judge(job.unit.incoming, job.candidates) for job in jobs]
    nearest: dict[int, tuple[float, int]] = {}
    for n, own in enumerate(found):
        for each in own:
            near = (each.likeness or 0.0, -n)
            nearest[each.id] = max(nearest.get(each.id, near), near)
    kept = set(
        sorted(nearest, key=lambda each: (nearest[each], each), reverse=True)[:_MOST_EARLIER]
    )
    return [
        [each for each in own if each.id in kept and nearest[each.id][1] == -n]
        for n, own in enumerate(found)
    ]


def _is_judged(work: Work) -> bool:
    """Whether a chat model has said what a message does to those before it."""
    return work.llm is not None and not {_MODEL, _JUDGE} & set(work.analysis.fallbacks)


def _ends_of(one: Triple) -> tuple[str, str]:
    return plain(one.subject), plain(one.object)


def _words_of(turn_before: tuple[str, str], said: str) -> str:
    """What is corrected with a message: what it corrects itself, else its words and those that
    they answer."""
    name, words = turn_before
    return words if name == "corrects" else f"{words} {said}".strip()


def _corrected(work: Work) -> int | None:
    """The memory that a message corrects."""
    if not isinstance(work.corrected, Work):
        return work.corrected
    records = [each.unit.record for each in work.corrected.done]
    return records[-1].id if records and records[-1] is not None else None


def _attached(job: Job, old: MemoryRecord) -> dict[str, Any]:
    """What is attached to a message, for the memory that gets its words and has nothing yet."""
    given = job.analysis.message.fields.get("attachment")
    return {} if given is None or old.attachment_bytes is not None else {"attachment": given}


def _span(unit: Unit, text: str) -> tuple[int, int]:
    start = text.find(unit.said)
    return (start, start + len(unit.said)) if start >= 0 else (0, 0)


def _likeness(job: Job, before: Sequence[Job], vectors: NDArray[np.float32]) -> dict[str, float]:
    """Words of earlier messages of the same speaker -> their likeness to a later one.

    Args:
        vectors: (n, dim) f32, unit rows: those of the earlier messages, its own, and others.
    """
    own, count = job.unit.incoming, len(before)
    alike = cosines(vectors[:count], vectors[count], [1.0] * count)
    return {
        each.unit.said: share
        for each, share in zip(before, alike, strict=True)
        if each.user_id == job.user_id
        and each.unit.incoming.speaker == own.speaker
        and each.unit.incoming.data_source == own.data_source
        and each.unit.incoming.event_ms <= own.event_ms
    }


def _result(work: Work, spent_ms: float, options: Options) -> ObserveResult:
    analysis = work.analysis
    units: list[ObservedUnit] = [each.unit for each in work.done]
    stored = any(each.is_new for each in work.done) and not options.dry_run
    reason = ""
    if analysis.filter is not None:
        reason = analysis.filter
    elif not stored and not options.dry_run:
        reason = next((each.reason for each in work.done if each.reason), "nothing to store")
    captured: Iterable[int] = itertools.chain.from_iterable(each.captured for each in work.done)
    return ObserveResult(
        entry_id=work.entry_id,
        stored=stored,
        reason=reason,
        filter=analysis.filter,
        kind=analysis.kind,
        doubt=analysis.doubt,
        category=analysis.category.name.lower(),
        class_confidence=analysis.class_confidence,
        entities=analysis.entities,
        emotion=analysis.emotion,
        units=tuple(units),
        captured=tuple(dict.fromkeys(captured)),
        fallbacks=tuple(dict.fromkeys(analysis.fallbacks)),
        llm=work.llm or LLMUsage(),
        elapsed_ms=spent_ms,
        dry_run=options.dry_run,
    )
