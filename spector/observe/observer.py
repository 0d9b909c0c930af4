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
    followed,
    put_details,
    strengthened,
)
from spector.observe.detecting import relate
from spector.observe.gate import (
    Candidate,
    Comparer,
    Judging,
    Ordering,
    cosines,
    stated,
    to_judge,
)
from spector.observe.importance import Rater
from spector.observe.jobs import SessionMemory, Unit, Work, asked, facts_of, fields_of
from spector.observe.judges import Judges
from spector.observe.messages import Message
from spector.observe.models import Models
from spector.observe.resolving import heard, speaker_key
from spector.providers import RelationDetector
from spector.records import Decision, LLMUsage, MemoryRecord, ObserveResult, Statement
from spector.write import Beside, Change, ChangedError, Draft, Series, SeriesWriter

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


@dataclass(slots=True, kw_only=True, eq=False)
class Observer:
    """Observes messages. Callers check that the store is open and writable.

    Args:
        reinforcing: the change of a memory that helped.
        models: the chat model, which reads whole messages. judging: the caller's judge.
        ordering: says which older memories a new one may have changed where neither does.
        relations: says how a statement is related to older memories.
        updating: gives a memory, by its id, other words, importance and tags, and rows beside it.
    """

    series: SeriesWriter
    comparer: Comparer
    analyst: Analyst
    rater: Rater
    reinforcing: Callable[[bool], Change]
    clock: Clock
    config: Config
    updating: Updating
    judges: Judges
    models: Models | None = field(init=False)
    judging: Judging | None = field(init=False)
    ordering: Ordering | None = field(init=False)
    relations: RelationDetector | None = None

    def __post_init__(self) -> None:
        judges = self.judges
        self.models, self.judging, self.ordering = judges.models(), judges.own, judges.ordering()

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
        self._prepare(works)
        self._rate(works)
        for work in works:
            for unit in () if work.states else work.units:
                unit.reading, unit.facts = replace(unit.reading, facts=()), ()
                unit.incoming = replace(unit.incoming, statements=())
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
        single = self.comparer.registered()
        known: dict[Any, Any] = {}
        silent: dict[int, str | None] = {}
        #: what each said last; None where that was left out, so that nothing corrects what is older
        last: dict[Any, Work | None] = {}
        worths = [None] * len(messages) if options.force else self.analyst.worths(messages)
        out = []
        for message, session, worth in zip(messages, sessions, worths, strict=True):
            now_ms = self.clock.now_ms() if message.event_ms is None else message.event_ms
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
                self.config.observe,
            )
            if options.force:
                told = told._replace(news=message, stopped=None)
            entry_id = self._sense(message, session, options, keeps=told.stopped != "unwanted")
            work = self.analyst.read(
                told.news,
                now_ms,
                referents=known.get(talk, before),
                stopped=told.stopped,
                force=options.force,
                single_valued=single,
                before=words,
                worth=worth if told.news is message else self.analyst.worth_of_rest(told.news),
            )
            work.session, work.entry_id, work.off_record = session, entry_id, told.off_record
            if told.news is not message and (work.filter or work.doubt):
                work.filter, work.doubt, work.units = "echo", "", []
            known[talk] = work.referents
            if session is None:
                known[talk] = replace(work.referents, turns=())
            else:
                silent[key] = told.off_record
            out.append(work)
            if work.turn_before[0] == "corrects":
                work.corrected = earlier
            if work.units:
                last[who] = work
            elif work.filter in _ASKED:
                last[who] = None
        self.analyst.name(out)
        return out

    def _said_before(
        self, work: Work | None, session: SessionMemory | None, speaker: str
    ) -> tuple[Work | int | None, tuple[str, str]]:
        """What someone said last; the words that a correction of it corrects, and its own."""
        if work is not None:
            unit = work.units[-1]
            return work, (_words_of(unit.turn_before, unit.said), unit.said)
        known = None if session is None else session.said.get(speaker)
        record = None if known is None else self.series.record(known)
        if record is None:
            return None, ("", "")
        said = record.said or record.text
        return record.id, (_words_of(record.turn_before, said), said)

    def _sense(
        self, message: Message, session: SessionMemory | None, options: Options, *, keeps: bool
    ) -> str:
        if session is None or options.dry_run or not keeps:
            return f"entry-{next(_entries)}"
        entry = session.sensory.ingest(message.text, source=message.role or "user")
        return str(entry.entry_id)

    def _prepare(self, works: Sequence[Work]) -> None:
        """Drafts and vectors of all statements and their facts, embedded in one call."""
        units = _units_of(works)
        drafts = self.series.drafts([fields_of(each, self.config) for each in units])
        for unit, draft in zip(units, drafts, strict=True):
            draft.quarantined = unit.work.quarantined
        self.series.speakers(drafts)
        facts = [self._drafts_of_facts(each) for each in units]
        ready = iter(self.series.ready([*drafts, *itertools.chain.from_iterable(facts)]))
        for unit in units:
            unit.ready = next(ready)
        for unit, own in zip(units, facts, strict=True):
            unit.facts = list(itertools.islice(ready, len(own)))
            self.rater.ask(unit)
            work, vector = unit.work, unit.ready.vector
            unit.worth = self.analyst.verdict_of(unit.said, vector).importance
            if len(work.units) == 1 and vector is not None:
                self.analyst.feel_again(work, vector)
            if unit.said == work.message.text and not self.analyst.is_meant(work, vector):
                work.states = False

    def _drafts_of_facts(self, unit: Unit) -> list[Draft]:
        drafts = [] if unit.work.quarantined else self.series.drafts(facts_of(unit))
        for each in drafts:
            each.growth = _FACT_GROWTH
        return drafts

    def _look(self, works: Sequence[Work]) -> None:
        """The memories that each statement may concern, as of now."""
        now_ms = self.clock.now_ms()
        for unit in _units_of(works) if self.config.observe.gate else ():
            if not unit.work.quarantined:
                unit.candidates = self.comparer.candidates(
                    unit.incoming,
                    unit.ready.vector,
                    user_id=unit.user_id,
                    now_ms=now_ms,
                    single_valued=unit.work.single,
                )
                unit.sample = self.comparer.sample(unit.user_id, now_ms)

    # -- the commit --------------------------------------------------------------------------------

    def _commit(self, works: Sequence[Work], options: Options) -> None:
        if not _units_of(works):
            for each in works if not options.dry_run else ():
                if each.session is not None:
                    self._note(each, each.session, ())
        elif self.config.observe.on_update == "merge":
            self._commit_apart(works, options)
        elif self.judging or self.models:  # which see what the message before has made
            for each in works:
                self._commit_tries([each], options)
        else:
            self._commit_tries(works, options)

    def _commit_tries(self, works: Sequence[Work], options: Options) -> None:
        """Decide and commit; again when another writer came in between."""
        for _ in range(_ATTEMPTS):
            since = self.series.moment()
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
        with self.series.exclusive():
            since = self.series.moment()
            self._look(works)
            self._commit_since(works, options, since)

    def _judge(self, works: Sequence[Work]) -> None:
        """Ask the judge about the nearest memories that it has not seen; no lock is held."""
        if (judging := self.judging) is None:
            return
        for unit in _units_of(works):
            if not (unit.work.quarantined or _JUDGE in unit.work.fallbacks):
                ask = partial(judging.verdicts, unit.incoming, unit.candidates, unit.verdicts)
                unit.verdicts.update(asked(unit.work, _JUDGE, ask) or {})

    def _order(self, works: Sequence[Work]) -> None:
        """Ask the offline model which older memories, and messages before it in the list, each new
        one may have changed; no lock is held."""
        ordering = self.ordering
        if ordering is None or not self.config.observe.gate:
            return
        units = _units_of(
            each
            for each in works
            if each.states and not (each.quarantined or each.doubt or _is_judged(each))
        )
        vectors = np.array([each.ready.vector for each in units])
        for n, unit in enumerate(units):
            near = ordering.near(
                unit.incoming, unit.candidates, _likeness(unit, units[:n], vectors)
            )
            if not unit.changes.keys() >= set(near):
                unit.changes = ordering.changes(unit.incoming.said, near)

    def _rate(self, works: Sequence[Work]) -> None:
        """Ask the judge what messages are worth: one without content is kept as doubtful, one that
        states nothing changes nothing."""
        judging = self.judging
        chosen = [each for each in works if each.units and not each.quarantined]
        if judging is None or not chosen:
            return
        ask = partial(judging.messages, list(map(_message_of, chosen)))
        found = asked(chosen[0], _JUDGE, ask)
        for work, verdict in zip(chosen, found or (), strict=bool(found)):
            if verdict.content <= 1.0 - self.config.observe.hide_at:
                work.doubt = work.doubt or _JUDGE
            work.states &= verdict.states
            for unit in work.units:
                unit.judged = verdict.importance

    def _relate(self, works: Sequence[Work]) -> None:
        """Ask the caller's detector of relations; no lock is held."""
        if self.relations is None:
            return
        for unit in _units_of(works):
            near = [
                (each.id, each.said)
                for each in unit.candidates
                if not each.is_knowledge and not each.is_dormant
            ][: self.config.observe.relate_neighbours]
            work = unit.work
            if near and not work.quarantined and "relations" not in work.fallbacks:
                ask = partial(relate, self.relations, unit.said, near)
                unit.relations = asked(work, "relations", ask)

    def _ask(self, works: Sequence[Work]) -> None:
        """Ask the chat model once about each message; no lock is held."""
        if (models := self.models) is None:
            return
        for work in works:
            is_new = work.llm is None and not (work.quarantined or work.message.is_call)
            if work.units and is_new:
                self._ask_about(work, models)

    def _ask_about(self, work: Work, models: Models) -> None:
        shown = _earlier(work.units) if self.judging is None else [[] for _ in work.units]
        parts = [
            (unit.said, [stated(each.record, each.said) for each in own])
            for unit, own in zip(work.units, shown, strict=True)
        ]
        answer, work.llm = models.ask(_message_of(work), parts)
        if answer is None:
            work.fallbacks.append(_MODEL)
            return
        faults: list[str] = []

        def part(name: str, check: Callable[[], T]) -> T | None:
            try:
                return check()
            except SpectorError as error:
                faults.append(str(error))
                work.fallbacks.append(name)
                return None

        kind, importance = part("class", answer.kind), part("importance", answer.importance)
        content, facts = part("content", answer.has_content), part("facts", answer.facts)
        verdicts = iter(part(_JUDGE, answer.verdicts) or ())
        if faults:
            models.note_failure()
            work.llm = replace(work.llm, fallback="; ".join(faults))
        if kind is not None:
            reclass(work, kind)
        for unit, own in zip(work.units, shown, strict=True):
            unit.ready.draft.category = unit.category
            if self.judging is None:
                unit.judged = importance
            unit.verdicts.update(zip((each.id for each in own), verdicts, strict=False))
        for unit, found in zip(work.units, facts or (), strict=False):
            self._take_facts(unit, found)
        stated_any = any(unit.reading.facts for unit in work.units)
        if content is False and not (stated_any or work.is_asked):
            work.doubt = work.doubt or _JUDGE

    def _take_facts(self, unit: Unit, found: Sequence[Triple]) -> None:
        """Have a statement of a user state what the model read in it, in the words of the rules
        where they read the same; denials, of which the model is not asked, are the rules'."""
        if (
            unit.work.message.data_source != "user_message"
            or unit.work.doubt
            or not unit.work.states
            or unit.incoming.corrects
            or self.analyst.extractor is not None
        ):
            return
        by_rules = unit.incoming.statements
        own = {_ends_of(each): each for each in by_rules if each.polarity}
        chosen = [own.get(_ends_of(each), each) for each in found]
        denied = [each for each in by_rules if not each.polarity]
        unit.reading = replace(unit.reading, facts=stated_of([*chosen, *denied]))
        unit.facts = self.series.ready(self._drafts_of_facts(unit))

    def _commit_apart(self, works: Sequence[Work], options: Options) -> None:
        """Commit statement by statement: each may give new words to a memory."""
        for work in works:
            if self.models is not None:
                self._look([work])
                self._ask([work])
            units = work.units
            for unit in units:
                work.units = [unit]
                try:
                    self._commit_tries([work], options)
                    work.is_attached |= unit.is_new
                except UpdateNeeded as needed:
                    if not options.dry_run:
                        self._update(unit, needed.decision)
            work.units = units

    def _update(self, unit: Unit, decision: Decision) -> None:
        """Give a memory the words of two."""
        assert decision.nearest is not None, "it names what is updated"
        assert decision.merged is not None, "it has the words"
        old = next(each.record for each in unit.candidates if each.id == decision.nearest)
        reinforce = self.reinforcing(True)
        given = unit.work.message.fields.get("attachment")
        if old.attachment_bytes is not None:  # what is attached is for one that has nothing
            given = None

        def rows(reader: KnowledgeReader) -> Changes:
            changes = Changes()
            put_details(changes, unit, old.id)
            plan_mentions(reader, changes, old.user_id or "", old.id, unit.reading.mentions)
            return changes

        record = self.updating(
            old.id,
            {
                "text": decision.merged,
                "importance": max(old.importance, unit.result.importance.composite),
                "tags": [*dict.fromkeys((*old.tags, *unit.ready.draft.tags))] or None,
                **({} if given is None else {"attachment": given}),
            },
            Beside(lambda header: strengthened(reinforce, header, old), rows),
        )
        unit.result = replace(unit.result, record=record, text=decision.merged)
        unit.reason = "merged"

    def _commit_since(self, works: Sequence[Work], options: Options, since: int) -> None:
        committers: list[Committer] = []

        def work_on(series: Series) -> None:
            committer = Committer(
                config=self.config,
                series=series,
                reinforce=self.reinforcing(True),
                rater=self.rater,
                is_forced=options.force,
                dry_run=options.dry_run,
            )
            committers.append(committer)
            for each in works:
                self._take(each, committer, options)

        try:
            self.series.commit(work_on, since=since, dry_run=options.dry_run)
        except BaseException:
            for each in committers:
                each.undo()
            raise

    def _take(self, work: Work, committer: Committer, options: Options) -> None:
        """One message: its statements, then what ties them, then what its session notes."""
        is_attached, ids = work.is_attached, list[int]()
        for unit in work.units:  # the first memory of a message has what is attached to it
            corrected = _corrected(work) if unit is work.units[0] else None
            committer.step(unit, attaches=not is_attached, corrected=corrected)
            is_attached |= unit.is_new
            if unit.result.record is not None:
                ids.append(unit.result.record.id)
        if not work.quarantined:
            before = () if work.session is None else work.session.previous[-1:]
            committer.tie(list(followed((*before, *ids))))
        if work.session is not None and not options.dry_run:
            self._note(work, work.session, ids)

    def _note(self, work: Work, session: SessionMemory, ids: Sequence[int]) -> None:
        """What a session keeps of a message."""
        vector = work.units[0].ready.vector if work.units else None
        is_user = work.message.data_source == "user_message"
        session.note_message(vector, work.emotion.valence if is_user else None)
        session.referents, session.off_record = work.referents, work.off_record
        for unit in work.units:
            if unit.result.action == "skip":
                session.note_skipped(unit.text, unit.result.importance.composite)
        if ids:
            session.previous = tuple(ids)
            session.said[speaker_key(work.message)] = ids[-1]
        elif work.filter in _ASKED:  # a correction after it is not of what was said before
            session.said.pop(speaker_key(work.message), None)


def _units_of(works: Iterable[Work]) -> list[Unit]:
    return [unit for work in works for unit in work.units]


def _message_of(work: Work) -> Statement:
    message = work.message
    return Statement(
        text=message.text,
        speaker=message.speaker,
        role=message.role,
        time=from_ms(work.event_ms),
        before=work.turn_before[1] or None,
    )


def _earlier(units: Sequence[Unit]) -> list[list[Candidate]]:
    """The older memories that a chat model is asked about with each statement of a message, each
    with the one that it is nearest to."""
    found = [to_judge(unit.incoming, unit.candidates) for unit in units]
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
    return work.llm is not None and not {_MODEL, _JUDGE} & set(work.fallbacks)


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
    record = work.corrected.units[-1].result.record
    return None if record is None else record.id


def _likeness(unit: Unit, before: Sequence[Unit], vectors: NDArray[np.float32]) -> dict[str, float]:
    """Words of earlier messages of the same speaker -> their likeness to a later one.

    Args:
        vectors: (n, dim) f32, unit rows: those of the earlier messages, its own, and others.
    """
    own, count = unit.incoming, len(before)
    alike = cosines(vectors[:count], vectors[count], [1.0] * count)
    return {
        each.said: share
        for each, share in zip(before, alike, strict=True)
        if each.user_id == unit.user_id
        and each.incoming.speaker == own.speaker
        and each.incoming.data_source == own.data_source
        and each.incoming.event_ms <= own.event_ms
    }


def _result(work: Work, spent_ms: float, options: Options) -> ObserveResult:
    stored = any(each.is_new for each in work.units) and not options.dry_run
    reason = work.filter or ""
    if not (reason or stored or options.dry_run):
        reason = next((each.reason for each in work.units if each.reason), "nothing to store")
    captured = itertools.chain.from_iterable(each.captured for each in work.units)
    return ObserveResult(
        entry_id=work.entry_id,
        stored=stored,
        reason=reason,
        filter=work.filter,
        kind=work.kind,
        doubt=work.doubt,
        states=work.states,
        category=work.category.name.lower(),
        class_confidence=work.class_confidence,
        entities=work.entities,
        emotion=work.emotion,
        units=tuple(each.result for each in work.units),
        captured=tuple(dict.fromkeys(captured)),
        fallbacks=tuple(dict.fromkeys(work.fallbacks)),
        llm=work.llm or LLMUsage(),
        elapsed_ms=spent_ms,
        dry_run=options.dry_run,
    )
