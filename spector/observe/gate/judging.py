"""Judges at the gate: the rules as one of them, any other asked within limits, the offline model."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from spector.clock import from_ms, to_ms
from spector.config import ObserveConfig
from spector.errors import EmbeddingError, ModelFileError, StoreClosedError
from spector.language.observing import classify, substance_of, worth_of_words
from spector.language.statements import USERS
from spector.language.tables import common_share, language_of
from spector.observe.gate.candidates import (
    Candidate,
    Incoming,
    candidate_of,
    incoming_of,
    name_of_speaker,
)
from spector.observe.gate.contradiction import distrust, vetoes_of
from spector.observe.gate.decision import decide
from spector.providers import ChangeModel, Patience
from spector.records import (
    Decision,
    Judge,
    Judgement,
    MemoryRecord,
    MessageVerdict,
    PairRelation,
    PairVerdict,
    Statement,
)

T = TypeVar("T")

#: older memories that are judged for one new one
_MOST: Final = 4
#: how sure the rules are of what they do not doubt; the rest goes to "apart"
_SURE: Final = 0.9
#: content of what the filters keep, doubt and stop; substance of a text that is worth much
_CONTENT: Final = {"keep": 0.95, "doubtful": 0.5, "empty": 0.05}
_SUBSTANCE: Final = 10.0
_OLD, _NEW = 1, 2


class Judging:
    """Asks a judge, and checks what it answers; an error of any kind leaves its place to the rules."""

    def __init__(self, judge: Judge, config: ObserveConfig) -> None:
        self._judge = judge
        self._config = config
        self._patience = Patience(config.judge_timeout_s, "ObserveConfig.judge_timeout_s")

    def verdicts(
        self, new: Incoming, candidates: Sequence[Candidate], known: Collection[int] = ()
    ) -> dict[int, PairVerdict]:
        """Verdicts on the nearest memories of the same speaker; memory -> verdict.

        Args:
            known: memories that were judged before.
        """
        near = to_judge(new, [each for each in candidates if each.id not in known])
        if not near:
            return {}
        said = _statement(new)
        found = self.pairs([(stated(each.record, each.said), said) for each in near])
        return {each.id: verdict for each, verdict in zip(near, found, strict=True)}

    def pairs(self, pairs: Sequence[tuple[Statement, Statement]]) -> tuple[PairVerdict, ...]:
        """One verdict for each pair."""
        return self._answer(lambda: self._judge.pairs(pairs), len(pairs), PairVerdict)

    def messages(self, messages: Sequence[Statement]) -> tuple[MessageVerdict, ...]:
        """One verdict for each message."""
        return self._answer(lambda: self._judge.messages(messages), len(messages), MessageVerdict)

    def says_the_same(self, one: MemoryRecord, other: MemoryRecord) -> bool:
        """Whether two memories that rules take for the same are so."""
        old, new = sorted((one, other), key=lambda each: (each.event_ms, each.id))

        def asked() -> bool:
            (verdict,) = self.pairs([(stated(old, old.said), stated(new, new.said))])
            return verdict.same >= self._config.hide_at

        return self.or_rules(asked, True)

    def or_rules(self, ask: Callable[[], T], otherwise: T) -> T:
        """What a question to the judge gives; what the rules say, with a warning, where it fails."""
        try:
            return ask()
        except StoreClosedError:
            raise
        except Exception as error:  # a judge may fail in any way; nothing is lost by it
            warnings.warn(f"the judge failed, and rules decide: {error}", stacklevel=2)
            return otherwise

    def _answer(self, ask: Callable[[], Sequence[T]], count: int, kind: type[T]) -> tuple[T, ...]:
        found = self._patience.answer(lambda: tuple(itertools.islice(ask(), count + 1)))
        answers: tuple[T, ...] = found
        if len(answers) != count or not all(isinstance(each, kind) for each in answers):
            raise TypeError(f"the judge did not return {count} of {kind.__name__}")
        return answers


def to_judge(new: Incoming, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The nearest memories of the same speaker that a new one may change."""
    near = [
        each
        for each in candidates
        if not (each.is_knowledge or each.is_dormant)
        and each.speaker == new.speaker
        and not distrust(new, each)
    ]
    return sorted(near, key=lambda each: (-(each.likeness or 0.0), each.id))[:_MOST]


class RuleJudge:
    """The rules of the gate as a judge: what a message does to one older message."""

    def __init__(self, config: ObserveConfig | None = None) -> None:
        self._config = config or ObserveConfig()

    def pairs(self, pairs: Sequence[tuple[Statement, Statement]]) -> list[PairVerdict]:
        """One verdict for each (old, new)."""
        return [_of_rules(decide(*_compared(old, new), self._config)) for old, new in pairs]

    def messages(self, messages: Sequence[Statement]) -> list[MessageVerdict]:
        """One verdict for each message."""
        out = []
        for each in messages:
            worth = worth_of_words(each.text, is_own=(each.role or "user") in USERS)
            out.append(
                MessageVerdict(
                    content=_CONTENT[worth.verdict],
                    importance=min(1.0, substance_of(each.text) / _SUBSTANCE),
                    kind=classify(each.text).kind,
                    states=worth.verdict == "keep",
                )
            )
        return out


def judgement(
    config: ObserveConfig,
    old: Statement,
    new: Statement,
    found: PairVerdict | None,
    fallback: str,
    ordering: Ordering | None,
) -> Judgement:
    """What becomes of two statements under a judge's verdict; under the rules of the gate for None.

    Args:
        ordering: the offline model, asked as it is where messages are observed.
    """
    incoming, candidates = _compared(old, new)
    if found is None:
        changes: Mapping[str, float] = {}
        if ordering is not None:
            changes = ordering.changes(new.text, ordering.near(incoming, candidates, {}))
        decided = decide(incoming, candidates, config, changes=changes)
        found = _of_rules(decided)
    else:
        decided = decide(incoming, candidates, config, verdicts={_OLD: found})
    return Judgement(
        verdict=decided.verdict,
        probabilities=found,
        vetoes=vetoes_of(incoming, candidates[0]),
        fallback=fallback,
    )


def _of_rules(decided: Decision) -> PairVerdict:
    named: PairRelation = "changes" if decided.verdict == "may change" else decided.verdict
    sure = _SURE if decided.confidence is None or named == "same" else decided.confidence
    if named == "apart":
        return PairVerdict(apart=1.0, rule=decided.rule)
    return PairVerdict.of({named: sure, "apart": 1.0 - sure}, rule=decided.rule)


def _compared(old: Statement, new: Statement) -> tuple[Incoming, list[Candidate]]:
    """Two statements as the gate sees them; what has no time was said one after the other."""
    times = [None if each.time is None else to_ms(each.time) for each in (old, new)]
    first = times[0] if times[0] is not None else (times[1] or _NEW) - _NEW
    second = times[1] if times[1] is not None else first + _NEW
    record = MemoryRecord(
        id=_OLD,
        text=old.text,
        tier="episodic",
        event_ms=first,
        role=old.role,
        metadata={} if old.speaker is None else {"speaker": old.speaker},
    )
    incoming = incoming_of(
        new.text, second, role=new.role, speaker=new.speaker, turn_before=new.before or ""
    )
    return incoming, [candidate_of(record)]


def _statement(new: Incoming) -> Statement:
    return Statement(
        text=new.said,
        speaker=new.speaker or None,
        role=new.data_source.removesuffix("_message"),
        time=from_ms(new.event_ms),
        before=new.turn_before or None,
    )


def stated(record: MemoryRecord, said: str) -> Statement:
    """What a memory says, as a judge sees it: without the notes of dates and names."""
    return Statement(
        text=said,
        speaker=name_of_speaker(said, record.role, record.speaker),
        role=record.role,
        time=from_ms(record.event_ms),
        before=record.turn_before[1] or None,
    )


# Which older memory a new one may have changed, by the offline model.
#
# What another text changes is far rarer among the memories near it than among the pairs that the
# model was trained on, so of those near it only the likeliest gets a probability.

#: share of common English words that each of two texts must have, and both on average; 96 % of
#: the pairs of hands have it, and hardly one of another language
_ENGLISH: Final = (0.05, 0.2)
#: log-odds added to those of the model, whose bar was chosen on the lists of development
_PRIOR: Final = 0.6
#: log-odds of what is as good as impossible
_LEAST: Final = -50.0


class Ordering:
    """Asks the offline model about new memories and the older ones near them.

    Args:
        model: loads at the first question. Where it fails, one warning, and the cues decide.
    """

    def __init__(self, model: ChangeModel) -> None:
        self._model: ChangeModel | None = model

    @property
    def works(self) -> bool:
        """Whether the model has not failed."""
        return self._model is not None

    @staticmethod
    def reads(old: str, new: str) -> bool:
        """Whether the model reads two texts: it knows no language but English."""
        shares = [_english_share(each) for each in (old, new)]
        return min(shares) >= _ENGLISH[0] and sum(shares) / 2 >= _ENGLISH[1]

    def near(
        self, new: Incoming, candidates: Iterable[Candidate], more: Mapping[str, float]
    ) -> list[str]:
        """The words of the older memories that a new one may have changed, the nearest first; none
        for what no user says, as the model knows messages of users only.

        Args:
            more: words of messages that will be memories before it -> likeness.
        """
        if new.data_source != "user_message" or _english_share(new.said) < _ENGLISH[0]:
            return []
        found = dict(more)
        for each in candidates:
            if not (
                each.is_knowledge
                or each.is_dormant
                or each.speaker != new.speaker
                or each.record.event_ms > new.event_ms
                or distrust(new, each)
            ):
                found[each.said] = max(each.likeness or 0.0, found.get(each.said, 0.0))
        found.pop(new.said, None)
        ordered = sorted(found, key=lambda each: (-found[each], each))
        return list(islice((each for each in ordered if self.reads(each, new.said)), _MOST))

    def changes(self, new: str, olds: Sequence[str]) -> dict[str, float]:
        """Words of older memories -> probability that a new text changes what they say; of all but
        the likeliest it is 0. Nothing where the model has failed."""
        model = self._model
        if model is None or not olds:
            return {}
        try:
            odds = model.odds([(old, new) for old in olds])
        except (ModelFileError, EmbeddingError) as error:
            if self.works:
                self._model = None
                warnings.warn(f"cues alone decide what may have changed: {error}", stacklevel=2)
            return {}
        best = int(odds.argmax())
        share = 1.0 / (1.0 + math.exp(-max(_LEAST, float(odds[best]) + _PRIOR)))
        return {old: share if n == best else 0.0 for n, old in enumerate(olds)}


def _english_share(text: str) -> float:
    """Share of a text's words that are common English ones; 0 for a text of another language."""
    return common_share(text, "en") if language_of(text) == "en" else 0.0
