"""What a message is and says: whether it is kept, class, feeling, names, and its statements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.config import ObserveConfig
from spector.knowledge import (
    Reading,
    ToName,
    entity_uri,
    heard_in,
    read_text,
    statement_of,
    with_facts,
)
from spector.language.emotion import emotion_in, load_head
from spector.language.entities import MOST_WORDS, split_words
from spector.language.formation import Formed, Referents, cut, form, rewritten
from spector.language.frames import Statement
from spector.language.observing import (
    MOST_CHARS,
    Classified,
    Worth,
    alarm_of,
    asks_to_keep,
    classify,
    corrected,
    head_for,
    is_hedged,
    judged,
    kind_of_filter,
    news_of,
    worth_keeping,
)
from spector.language.statements import own_words, shorten_quotations
from spector.language.tables import in_languages, language_of
from spector.language.worth import Wording, is_event
from spector.layout import Category
from spector.observe.detecting import Resolved, feeling_of, names_of
from spector.observe.gate import Incoming, name_of_speaker
from spector.observe.jobs import Moves, Unit, Work, asked
from spector.observe.messages import Message
from spector.observe.resolving import (
    MACHINES,
    after_turn,
    moved_back,
    resolved,
    says_who,
    shortened,
    speaker_key,
    to_name,
    turn_before,
    without_questions,
)
from spector.process import elsewhere
from spector.providers import Detectors, FactExtractor, embedded
from spector.records import MessageVerdict, Reference

_NONE: Final = Detectors()
#: whose wish to have something remembered counts
_OF_ORDERS: Final = frozenset(("user_message", "system"))
_CATEGORIES: Final = {
    "rule": Category.PREFERENCE,
    "plan": Category.PLAN,
    "preference": Category.PREFERENCE,
    "decision": Category.DECISION,
    "correction": Category.CORRECTION,
    "fact": Category.FACT,
}
#: what leaves no message out that answers or corrects
_THIN: Final = frozenset(("small_talk", "request", "thin", "fragment"))
#: characters of a message that are read; what stands behind them is kept as it is
_MOST_READ: Final = 65_536
#: filters that stop texts that name no one to the next message
_SILENT: Final = frozenset(("system_content", "prompt_injection", "code", "echo", "unwanted"))


@dataclass(eq=False)
class Analyst:
    """Reads messages; it knows no memory.

    Args:
        vectors: the embedder, for heads that were trained on it.
        extractor: the caller's own, which reads statements in place of the frames.
        detectors: the caller's own; where none is given, or one fails, the rules decide.
    """

    config: ObserveConfig
    vectors: Any = None
    extractor: FactExtractor | None = None
    detectors: Detectors = _NONE

    def read(
        self,
        message: Message,
        event_ms: int,
        *,
        referents: Referents | None = None,
        stopped: str | None = None,
        force: bool = False,
        single_valued: Collection[str] = (),
        before: tuple[str, str] = ("", ""),
        worth: Worth | None = None,
    ) -> Work:
        """A message up to its statements; those of what a filter stops are none.

        It is read as one of the languages of the configuration.

        Args:
            referents: who was named before; None where no session goes on, which needs no one.
            stopped: what a session has against it: "echo" or "unwanted".
            force: no filter stops it.
            before: what a correction corrects, and the last words of the same speaker.
            worth: of the message, where it is known.
        """
        out = Work(
            message=message,
            event_ms=event_ms,
            single=single_valued,
            referents=referents or Referents(),
        )

        def read() -> Work:
            out.turn_before = turn_before(out.referents, message, before[0])
            out.filter = None if force or message.is_call else stopped or self._stopped(out, worth)
            if out.filter == "prompt_injection" and self.config.on_injection == "quarantine":
                out.kind, out.quarantined, out.filter = "injection", True, None
            if out.filter is None:
                quoted = shorten_quotations(message.text, self.config.max_quoted)
                out.message = replace(message, text=quoted)
                self._describe(out)
                out.units = self._units(out, out.referents, self._stated(out))
                if (len(out.units) > 1 or out.units[0].said != quoted) and not self.is_meant(out):
                    out.states = False
                    if len(quoted) < self.config.max_chars:  # no part stands without its frame
                        out.units = [self._unit(out, _whole(quoted), ())]
                self._tie(out, before[1])
            else:
                out.kind = kind_of_filter(out.filter)
            if referents is not None and out.filter not in _SILENT:
                out.referents = after_turn(referents, message)
            return out

        return in_languages(self.config.language, read)

    def _tie(self, out: Work, before: str) -> None:
        """Give the first statement of a message what it answers or corrects. A correction of one
        value is read as what it corrects with that value."""
        name, words = out.turn_before
        if not name or out.quarantined or not out.units:
            return
        unit = out.units[0]
        unit.turn_before = out.turn_before
        unit.incoming = replace(unit.incoming, turn_before=words)
        whole = corrected(before, unit.said) if name == "corrects" and len(out.units) == 1 else ""
        if whole:
            unit.reading = self._read(out, whole)[0]
            sign = "Düzeltme" if language_of(whole) == "tr" else "Correction"
            unit.incoming = replace(
                unit.incoming,
                said=f"{sign}: {whole}",
                corrects=before,
                statements=tuple(each.statement for each in unit.reading.facts),
            )

    def name(self, works: Sequence[Work]) -> None:
        """Have the trained heads look for names and facts in all statements, in one call of the
        model, which sees so many words of a message. The gate has read what may change others:
        these facts are filed, and no more."""
        units: list[Unit] = []
        asked: list[ToName] = []
        for work in works:
            if self.detectors.entities is not None and "entities" not in work.fallbacks:
                continue
            words = 0
            for unit in work.units:
                if (text := unit.unnamed) is None:
                    continue
                before = unit.turn_before[1]
                one = to_name(text, work.message, unit.text, unit.notes, before, work.event_ms)
                asked.append(replace(one, is_seen=words < MOST_WORDS))
                units.append(unit)
                words += len(split_words(text)) if words < MOST_WORDS else 0
        found = heard_in(asked, self.vectors)
        for unit, own in zip(units, found, strict=True):
            unit.unnamed = None
            unit.reading = replace(unit.reading, mentions=self._fewest(own.mentions))
            if unit.moves is not None and not unit.work.doubt:
                facts = [
                    replace(each, statement=moved_back(each.statement, unit.moves))
                    for each in own.facts
                ]
                unit.reading = with_facts(unit.reading, facts)
        for work in works:
            named = dict.fromkeys(entity for unit in work.units for entity in unit.entities)
            work.entities = tuple(named)[: self.config.max_entities] or work.entities

    @cached_property
    def _fingerprint(self) -> str | None:
        """The embedder's; heads were trained on one."""
        found: str | None = getattr(self.vectors, "fingerprint", None)
        return found

    def feel_again(self, work: Work, vector: NDArray[np.float32]) -> None:
        """Let the head judge the feeling of a message whose only statement has this vector.

        It says nothing for an embedder that it was not trained on, or where a detector has.
        """
        if self.detectors.emotion is not None and "emotion" not in work.fallbacks:
            return
        head = load_head(self._fingerprint)
        if head is not None:
            work.emotion = emotion_in(
                work.message.text,
                vector=vector,
                head=head,
                exclamation=self.config.exclamation,
            )

    def worths(self, messages: Sequence[Message]) -> list[Worth]:
        """Whether each message is worth a memory; heads read the vectors of those of which the
        rules cannot say it, where they were trained on the embedder."""

        def by_rules() -> list[Worth]:
            return [
                worth_keeping(each.text, is_own=each.data_source not in MACHINES)
                for each in messages
            ]

        worths = in_languages(self.config.language, by_rules)
        unsure = [n for n, each in enumerate(worths) if each.verdict == "unsure"]
        texts = [messages[n].text[:MOST_CHARS] for n in unsure]
        vectors: Sequence[NDArray[np.float32] | None] = [None] * len(texts)
        if texts and head_for(self._fingerprint).fingerprint:
            vectors = list(embedded(self.vectors, texts))

        def by_heads() -> list[Worth]:
            for n, text, vector in zip(unsure, texts, vectors, strict=True):
                worths[n] = judged(worths[n], text, vector, self._fingerprint)
            return worths

        return in_languages(self.config.language, by_heads)

    def worth_of_rest(self, message: Message) -> Worth:
        """The worth of what a message says beside an echo: no head is asked about it."""
        is_own = message.data_source not in MACHINES
        found = in_languages(
            self.config.language, lambda: worth_keeping(message.text, is_own=is_own)
        )
        return Worth("doubtful", found.reason) if found.verdict == "unsure" else found

    def verdict_of(self, text: str, vector: NDArray[np.float32] | None) -> MessageVerdict:
        """What a text is worth by its words and its vector; None in a store without vectors."""
        head = head_for(None if vector is None else self._fingerprint)
        return head.verdict(text, vector if head.fingerprint else None)

    def is_meant(self, work: Work, vector: NDArray[np.float32] | None = None) -> bool:
        """Whether a user means what his message says, by the head of the embedder, if it has one.

        What opens with the name of its speaker is of that one, and a caller's extractor decides
        what messages state.

        Args:
            vector: of the message; it is embedded without one.
        """
        message = work.message
        if (
            not (work.units and head_for(self._fingerprint).fingerprint)
            or self.extractor is not None
            or message.data_source != "user_message"
            or name_of_speaker(message.text, message.role, None)
        ):
            return True
        text = message.text[:MOST_CHARS]
        if vector is None:
            (vector,) = embedded(self.vectors, [text])
        return self.verdict_of(text, vector).states

    def _stopped(self, out: Work, worth: Worth | None) -> str | None:
        """What leaves a message out; a doubt is noted."""
        found = worth or self.worths([out.message])[0]
        if out.turn_before[0] and found.reason in _THIN:
            return None
        if found.verdict == "empty":
            return found.reason
        out.doubt = found.reason if found.verdict == "doubtful" else ""
        return None

    def _describe(self, out: Work) -> None:
        """Class, feeling and names of the whole message."""
        message, config = out.message, self.config
        text = message.text[:_MOST_READ]
        reading = self._read(out, text)[0]
        named = [(name, kind) for name, kind in reading.mentions if kind not in ("user", "agent")]
        found: Classified = classify(text, entities=len(named))
        out.class_confidence = found.confidence
        if not out.quarantined:
            out.kind = found.kind
        out.entities = tuple(
            entity_uri(name, kind) for name, kind in list(reading.mentions)[: config.max_entities]
        )
        out.category = self._category(found.kind, text, out.event_ms, reading)
        out.emotion = emotion_in(text, exclamation=config.exclamation)
        detector = self.detectors.emotion
        if detector is not None and not out.quarantined:
            felt = asked(
                out, "emotion", lambda: feeling_of(elsewhere(detector.detect, message.text))
            )
            out.emotion = out.emotion if felt is None else felt
        out.alarm, out.is_hedged = alarm_of(text), is_hedged(text)
        out.is_asked = message.data_source in _OF_ORDERS and asks_to_keep(text)

    def _units(
        self, out: Work, known: Referents, statements: Sequence[Statement] | None
    ) -> list[Unit]:
        message, config = out.message, self.config
        if out.quarantined:
            return [self._unit(out, _whole(message.text), ())]
        if (resolver := self.detectors.references) is not None:
            known = Resolved(known.turns, resolver=resolver, work=out)
        spans = (
            cut(message.text, config.max_chars)
            if len(message.text) >= config.max_chars
            else ((0, len(message.text)),)
        )
        made: list[Unit] = []
        for start, end in spans:
            part = message.text[start:end]
            if start >= _MOST_READ:
                made.append(self._unit(out, _whole(part), ()))
                continue
            formed = form(
                part,
                referents=known,
                now_ms=out.event_ms,
                timezone=message.zone,
                annotate=config.annotate,
                reference_precision=config.reference_precision,
                speaker=message.speaker,
            )
            own = statements if len(spans) == 1 else None
            made += [self._unit(out, each, own) for each in formed]
            known = known.after(part, speaker=message.speaker)
        return made or [self._unit(out, _whole(message.text), ())]

    def _stated(self, out: Work) -> list[Statement] | None:
        """What the caller's extractor reads in a message; None where there is none, or it failed.

        It is not asked about orders to a model: what it says would be kept as known.
        """
        extractor, text = self.extractor, out.message.text
        if extractor is None or out.quarantined or out.message.is_call:
            return None

        def ask() -> list[Statement]:
            found = elsewhere(extractor.extract, text)
            return [statement_of(each, text, out.single) for each in found]

        return asked(out, "facts", ask)

    def _unit(self, out: Work, formed: Formed, statements: Sequence[Statement] | None) -> Unit:
        message = out.message
        own = (
            None
            if statements is None
            else [each for each in statements if formed.start <= each.span[0] < formed.end]
        )
        reading, read, moves = self._read(
            out, formed.said, formed.references, own, formed.start, formed.subject
        )
        text, raw = formed.text, None
        if self.config.rewrite and not out.quarantined:
            text, raw = self._rewritten(out, formed)
        given = message.fields.get("category")
        category = self._category(out.kind, formed.said, out.event_ms, reading)
        if formed.plan and out.kind != "rule":
            category = Category.PLAN
        return Unit(
            work=out,
            text=text,
            said=formed.said,
            raw=raw if self.config.keep_raw else None,
            notes=formed.notes if raw is None else (),
            references=formed.references,
            category=category if given is None else given,
            reading=reading,
            incoming=Incoming(
                text=text,
                said=news_of(own_words(formed.said)),
                statements=tuple(each.statement for each in reading.facts),
                speaker=speaker_key(message),
                data_source=message.data_source,
                confidence=message.fields.get("confidence", out.confidence),
                source=message.fields.get("source"),
                event_ms=out.event_ms,
            ),
            unnamed=read,
            moves=moves if statements is None else None,
        )

    def _rewritten(self, out: Work, formed: Formed) -> tuple[str, str | None]:
        """The words in the third person and the words before, or the words as they were said."""
        message = out.message
        role = "Assistant" if message.data_source == "assistant_message" else "User"
        plain_text = resolved(formed.said, formed.references, formed.start, formed.subject)[0]
        made = rewritten(plain_text, message.speaker or role)
        made = shortened(made, self.config.max_rewritten_chars)
        return (made, formed.said) if made != formed.said else (formed.text, None)

    def _read(
        self,
        out: Work,
        said: str,
        references: Sequence[Reference] = (),
        statements: Sequence[Statement] | None = None,
        start: int = 0,
        subject: str = "",
    ) -> tuple[Reading, str, Moves]:
        """Names and statements of a text without its questions, the text as it was read, and where
        its words were.

        References are resolved, and nothing is read of what it quotes. The trained head is asked
        later (`name`), about all at once: most messages are stopped without it.
        """
        text, back = resolved(without_questions(own_words(said)), references, start, subject)
        reading = out.known.get(text) if statements is None else None
        if reading is None:
            about = to_name(text, out.message)
            reading = read_text(
                text,
                role=about.role,
                speaker=about.speaker,
                reference_ms=out.event_ms,
                single_valued=out.single,
                statements=statements,
            )
            reading = replace(reading, mentions=self._fewest(reading.mentions))
            if statements is None:
                out.known[text] = reading
        if back and statements is None:
            reading = replace(
                reading,
                facts=tuple(
                    replace(each, statement=moved_back(each.statement, back))
                    for each in reading.facts
                ),
            )
        if out.doubt:
            reading = replace(reading, facts=())
        return self._named(out, reading, text), text, back

    def _named(self, out: Work, reading: Reading, text: str) -> Reading:
        """A reading with the names that a detector finds."""
        extractor = self.detectors.entities
        if extractor is None or out.quarantined or "entities" in out.fallbacks:
            return reading
        found = asked(out, "entities", lambda: names_of(elsewhere(extractor.entities, text), text))
        if found is None:
            return reading
        own = {each: n for each, n in reading.mentions.items() if each[1] in ("user", "agent")}
        return replace(reading, mentions=self._fewest({**own, **found}))

    def _fewest(self, mentions: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
        """As many mentions as a message may have."""
        return dict(list(mentions.items())[: self.config.max_entities])

    def _category(self, kind: str, text: str, event_ms: int, reading: Reading) -> Category:
        if kind in _CATEGORIES:
            return _CATEGORIES[kind]
        if kind != "entity":
            return Category.OTHER
        if self.config.entity_by == "mention" or says_who(reading):
            return Category.ENTITY
        return Category.EVENT if is_event(Wording(text, event_ms)) else Category.OTHER


def reclass(out: Work, kind: str) -> None:
    """Give a message the class that a model found, and its statements the category of it."""
    if kind == "other" and out.kind == "entity":  # which says more
        return
    out.kind, out.category = kind, _CATEGORIES.get(kind, Category.OTHER)
    if out.message.fields.get("category") is None:
        for unit in out.units:
            unit.category = out.category


def _whole(text: str) -> Formed:
    """A text as it is."""
    return Formed(text, text, (), (), 0, len(text), False)
