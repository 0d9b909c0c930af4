"""What a text says: the names that it mentions and the facts that it states, as one change set.

Facts learned so hang on the memory that states them. What a user said is superseded, or gains
confidence, only through what a user says: an assistant's or a tool's statement of the same, or
against it, makes no fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.arguments import parse_choice, parse_number, parse_switch
from spector.config import Config
from spector.errors import InvalidInputError
from spector.knowledge.changes import Changes, New
from spector.knowledge.entities import plan_mentions
from spector.knowledge.facts import (
    MOST_CHARS,
    SAID,
    FactToAdd,
    checked_part,
    confirm_fact,
    contradict,
    declared,
    is_single_valued,
    put_fact,
    sentence,
)
from spector.knowledge.reader import KnowledgeReader
from spector.language.entities import (
    Mention,
    Whole,
    entities_of,
    load_head,
    person_mentions,
    seen_in,
)
from spector.language.frames import (
    BY_HEAD,
    Statement,
    canonical,
    compare,
    extract,
    is_of_before,
    is_read,
    load_statement_head,
    meets,
    normal_value,
    tagged_statements,
    unread_clauses,
)
from spector.language.statements import may_instruct, person_of
from spector.language.words import folded
from spector.providers import Fact
from spector.records import MemoryRecord, is_user_said

#: entities of one text
MOST_ENTITIES: Final = 8
#: facts of one text that the head may add
MOST_FOUND: Final = 8
#: confidence from which on a memory changes facts
_BELIEVED: Final = 0.5
#: confidence of a memory of the user's words; what others state is less sure by as much as they are
_USERS_TRUST: Final = 0.9
_AGENT_ROLES: Final = ("assistant", "agent", "ai")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says.

    Attributes:
        said: its words, which a fact that ends another is read in once more.
    """

    #: (name, type) -> how often
    mentions: Mapping[tuple[str, str], int]
    facts: tuple[Stated, ...]
    said: str = ""


def with_names(reader: KnowledgeReader, scope: str, reading: Reading) -> Reading:
    """A reading whose facts name each entity by its own name instead of an alias."""
    asked = {
        folded(part)
        for each in reading.facts
        for part in (each.statement.subject, each.statement.object)
    }
    rows = reader.named(sorted(asked), ("alias",), scope)
    if not rows:
        return reading
    items = reader.items({row["id"] for row in rows})
    names = {row["folded"]: items[row["id"]]["json"]["name"] for row in rows if row["id"] in items}
    facts = stated_of(
        replace(
            one,
            subject=names.get(folded(one.subject), one.subject),
            object=names.get(folded(one.object), one.object),
        )
        for one in (each.statement for each in reading.facts)
    )
    return replace(reading, facts=facts)


def read_text(
    text: str,
    *,
    role: str | None = None,
    speaker: str | None = None,
    reference_ms: int | None = None,
    vectors: Any = None,
    single_valued: Collection[str] = (),
    statements: Sequence[Statement] | None = None,
    names: bool = True,
) -> Reading:
    """The mentions of a text, at most 8, and its statements.

    Args:
        role: Of the message: "user", "assistant", "tool", ...
        speaker: The name of the one who speaks, if it is known; "I" then names that person.
        reference_ms: Time of the message, which "tomorrow" is counted from.
        vectors: The embedder; the trained head is asked if it was trained on this one.
        statements: What a model found, instead of the frames.
        names: Whether mentions are looked for.
    """
    name = person_of(role, speaker)
    if statements is None:
        statements = extract(
            text,
            speaker=name,
            role=role or "user",
            reference_time=reference_ms,
            single_valued=single_valued,
        )
    mentions = heard_in([ToName(text, role, name)], vectors)[0].mentions if names else {}
    return Reading(mentions, stated_of(statements), text)


def stated_of(statements: Iterable[Statement]) -> tuple[Stated, ...]:
    """Statements that can be kept, each once."""
    out: dict[tuple[str, ...], Stated] = {}
    for each in map(canonical, statements):
        parts = (each.subject, each.predicate, each.object)
        if all(folded(part) and len(part) <= MOST_CHARS for part in parts):
            made = Stated(each)
            out.setdefault((folded(parts[0]), made.predicate, folded(parts[2])), made)
    return tuple(out.values())


@dataclass(frozen=True, slots=True)
class ToName:
    """A text in which names are looked for, and who says it; see `read_text`.

    Attributes:
        whole: what is embedded of it anyway; its words are then seen in that one.
        is_seen: heads read it; else rules alone do.
    """

    text: str
    role: str | None = None
    speaker: str | None = None
    whole: Whole | None = None
    reference_ms: int | None = None
    is_seen: bool = True


class Heard(NamedTuple):
    """What heads find in a text: its mentions, as `read_text`, and statements with vectors."""

    mentions: dict[tuple[str, str], int]
    facts: tuple[Stated, ...] = ()


def heard_in(texts: Sequence[ToName], vectors: Any = None) -> list[Heard]:
    """The mentions and the statements of each text; the embedder sees all texts at once."""
    asked = [(each.text, [each.speaker] if each.speaker else []) for each in texts]
    head, stating = load_head(), load_statement_head()
    fingerprint = "" if head is None else head.fingerprint
    shown = [each for each in texts if each.is_seen]
    parts = iter(
        seen_in([each.text for each in shown], vectors, fingerprint, [each.whole for each in shown])
    )
    seen = [next(parts) if each.is_seen else None for each in texts]
    out = []
    for each, own, named in zip(texts, seen, entities_of(asked, head=head, seen=seen), strict=True):
        facts: list[Stated] = []
        if own is not None and stating is not None:
            found = tagged_statements(
                each.text,
                own,
                stating,
                speaker=person_of(each.role, each.speaker),
                role=each.role or "user",
                reference_time=each.reference_ms,
            )
            facts = [Stated(canonical(one.statement), one.vector) for one in found]
        out.append(Heard(_counted(each, named), tuple(facts)))
    return out


def with_facts(reading: Reading, found: Iterable[Stated]) -> Reading:
    """A reading with facts of the head whose value no frame has read."""
    spans = [each.statement.object_span for each in reading.facts]
    new = [
        each for each in found if not any(meets(each.statement.object_span, own) for own in spans)
    ]
    return replace(reading, facts=(*reading.facts, *new[:MOST_FOUND])) if new else reading


def _counted(about: ToName, found: list[Mention]) -> dict[tuple[str, str], int]:
    found = found + _persons(about.text, about.role, about.speaker)
    counts: Counter[str] = Counter()
    best: dict[str, Mention] = {}
    for each in found:
        key = folded(each.name)
        if key:
            counts[key] += 1
            if key not in best or each.confidence > best[key].confidence:
                best[key] = each
    chosen = sorted(best.items(), key=lambda item: (-item[1].confidence, item[1].start))
    return {(each.name, each.type): counts[key] for key, each in chosen[:MOST_ENTITIES]}


def _persons(text: str, role: str | None, speaker: str | None) -> list[Mention]:
    """First and second person as the entities that they stand for."""
    agent = role in _AGENT_ROLES
    if not agent and not is_user_said(role) and speaker is None:
        return []  # a tool or a document has no "I"
    out = []
    for each in person_mentions(text):
        first = each.name == "user"
        if speaker is not None:
            if first:
                out.append(each._replace(name=speaker, type="person"))
        elif agent:
            name = "agent" if first else "user"
            out.append(each._replace(name=name, type=name))
        else:
            out.append(each)
    return out


#: predicate -> what its subject and its object are, where that is sure
_KINDS_OF_ENDS: Final[Mapping[str, tuple[str, str]]] = {
    "lives_in": ("person", "place"),
    "born_in": ("person", "place"),
    "works_at": ("person", "org"),
    "works_as": ("person", ""),
    "partner": ("person", "person"),
}
_MOST_NAME_WORDS: Final = 3
#: looks living memories up by their ids
Lookup = Callable[[Collection[int]], Mapping[int, MemoryRecord]]


def plan_reading(
    reader: KnowledgeReader,
    memory: MemoryRecord,
    reading: Reading,
    records: Lookup,
    *,
    now_ms: int,
    config: Config,
    first: int = 0,
) -> tuple[Changes, list[int | New]]:
    """What reading a memory changes, and the facts that it states.

    Args:
        memory: The memory that was read.
        first: Number of the prepared text that is the first fact of the reading.
        records: Looks up facts and their sources, for who said them and when.
        config: How sure it must be that a fact replaces another, and what a further source adds.
    """
    plan = _Plan(reader, memory, reading, records, now_ms, config)
    changes, scope = plan.changes, memory.user_id or ""
    named = {**reading.mentions, **_named_by(reading)}
    for name, kind in [*named]:
        if kind != "thing":
            named.pop((name, "thing"), None)
    plan_mentions(reader, changes, scope, memory.id, dict([*named.items()][:MOST_ENTITIES]))
    facts: list[int | New] = []
    aliases = declared(reader).aliases if reader.holds_any else {}
    trust = 1.0 if _is_of_user(memory) else min(1.0, memory.confidence / _USERS_TRUST)
    for n, one in enumerate(reading.facts, first):
        if (alias := one.statement.predicate) in aliases:
            one = replace(one, statement=replace(one.statement, predicate=aliases[alias]))
        fact = fact_of(one, scope, memory.id, trust)
        known = reader.facts(scope=scope, fact_key=fact.key)
        row = next((each for each in known if each["holds"]), None)
        if row is not None:
            sources = reader.sources([row["id"]]).get(row["id"], ())
            if plan.may_change(records((row["id"], *sources))):
                step = config.knowledge.fact_step
                confirm_fact(changes, row, sources, fact.sources, now_ms=now_ms, step=step)
                facts.append(row["id"])
            continue
        before = reader.sources([each["id"] for each in known])
        if any(memory.id in each for each in before.values()):
            continue  # it said so, and a newer fact has taken the place of that
        if not _is_of_user(memory) and plan.is_denied(one.statement):
            continue
        made = New(n)
        changes.store.append(n)
        put_fact(changes, made, fact, now_ms=now_ms)
        facts.append(made)
        if not one.by_head:
            plan.settle(one.statement, made)
    return changes, facts


def _named_by(reading: Reading) -> dict[tuple[str, str], int]:
    """Names at the ends of statements that are of one sort, where the words do not say of which.

    The subject of "lives in" or "works at" is a person, also with a name that no list has.
    """
    taken = {
        word for name, kind in reading.mentions if kind != "thing" for word in folded(name).split()
    }
    out: dict[tuple[str, str], int] = {}
    for one in (each.statement for each in reading.facts if not each.by_head):
        kinds = _KINDS_OF_ENDS.get(one.predicate)
        for name, kind in zip((one.subject, one.object), kinds or (), strict=False):
            words = name.split()
            if not 0 < len(words) <= _MOST_NAME_WORDS or taken & set(folded(name).split()):
                continue
            if kind and all(each[0].isupper() for each in words):
                out[name, kind] = 1
    return out


@dataclass(slots=True)
class _Plan:
    """What reading a memory changes, as it grows; see `plan_reading`."""

    reader: KnowledgeReader
    memory: MemoryRecord
    reading: Reading
    records: Lookup
    now_ms: int
    config: Config
    changes: Changes = field(default_factory=Changes)
    #: statements that have been made facts
    earlier: list[tuple[Statement, New]] = field(default_factory=list)

    def settle(self, new: Statement, made: New) -> None:
        """Supersede, or tie by ``contradicts``, what a new statement contradicts."""
        memory, gone = self.memory, list[int]()
        for row in self._rivals(new):
            verdict = compare([statement_of_fact(row)], new, memory.text)
            if verdict.kind == "none":
                continue
            found = self._grounds(row)
            own = found.get(row["id"])
            if (
                own is not None
                and not (own.pinned or own.immutable)
                and memory.event_ms >= own.event_ms
                and not is_of_before(memory.text, memory.event_ms, own.event_ms)
                and all(row["id"] not in each for each in self.changes.supersedes.values())
                and verdict.kind == "replaces"
                and verdict.confidence >= self.config.observe.hide_at
                and self.may_change(found)
                and self._is_understood(row, found)
            ):
                gone.append(row["id"])
            else:
                contradict(self.changes, row["id"], made, verdict.confidence, self.now_ms)
        for before, other in self.earlier:
            verdict = compare([before], new, memory.text)
            if verdict.kind != "none":
                contradict(self.changes, other, made, verdict.confidence, self.now_ms)
        if gone:
            self.changes.supersedes[made] = tuple(gone)
        self.earlier.append((new, made))

    def _is_understood(self, row: Mapping[str, Any], found: Mapping[int, MemoryRecord]) -> bool:
        """Whether a text that ends a fact is understood whole, or else about that fact."""
        stated = [each.statement for each in self.reading.facts if not each.by_head]
        unread = unread_clauses(self.reading.said, stated, self.memory.event_ms)
        old = " ".join(each.text for each in found.values())
        return is_read(unread, old, [statement_of_fact(row).object])

    def is_denied(self, new: Statement) -> bool:
        """Whether a statement is against what a user said, and its origin may not change that."""
        return any(
            compare([statement_of_fact(row)], new, self.memory.text).kind != "none"
            and not self.may_change(self._grounds(row))
            for row in self._rivals(new)
        )

    def _rivals(self, new: Statement) -> list[dict[str, Any]]:
        """Facts that hold and may contradict a statement: of its slot, or of its subject."""
        if new.modality != "asserted":
            return []
        conditions: dict[str, Any] = {"subject": folded(new.subject), "holds": 1}
        if not new.replaced:
            conditions["predicate"] = [folded(new.predicate), folded(f"{DENIED}{new.predicate}")]
        return self.reader.facts(scope=self.memory.user_id or "", **conditions)

    def _grounds(self, row: Mapping[str, Any]) -> Mapping[int, MemoryRecord]:
        """A fact and the memories that state it."""
        return self.records((row["id"], *self.reader.sources([row["id"]]).get(row["id"], ())))

    def may_change(self, found: Mapping[int, MemoryRecord]) -> bool:
        """Whether the memory may change a fact, given the fact and its sources: rule of trust."""
        memory = self.memory
        if memory.confidence < _BELIEVED or not (
            may_instruct(None, None, memory.source)
            or any(each.source == memory.source for each in found.values())
        ):
            return False
        if is_user_said(memory.role):
            return True
        return not any(is_user_said(each.role) for each in found.values())


def is_still_said(was: MemoryRecord, now: MemoryRecord) -> bool:
    """Whether a memory has the words and the user that were read."""
    return (was.text, was.user_id) == (now.text, now.user_id)


def _is_of_user(memory: MemoryRecord) -> bool:
    return is_user_said(memory.role) and may_instruct(None, None, memory.source)


# Statements as facts, and facts as the statements that they were.

#: the predicate of a denied statement begins with it: ``not_likes``
DENIED: Final = "not_"
#: before the predicate of a state that is over: "formerly lives in"
FORMER: Final = "formerly_"


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement as a fact is made of it.

    Attributes:
        vector: of its words in their text, where the embedder has seen them.
    """

    statement: Statement
    vector: NDArray[np.float32] | None = field(default=None, compare=False)

    @property
    def by_head(self) -> bool:
        """Whether the head found it: it is filed, and changes nothing that is kept."""
        return self.statement.frame == BY_HEAD

    @property
    def predicate(self) -> str:
        """The predicate of the fact; one that is denied, or was so before, says so."""
        one = self.statement
        name = f"{FORMER}{one.predicate}" if _is_over(one) else one.predicate
        return name if one.polarity else f"{DENIED}{name}"

    @property
    def text(self) -> str:
        """How the fact reads."""
        return sentence(self.statement.subject, self.predicate, self.statement.object)


def statement_of_fact(row: Mapping[str, Any]) -> Statement:
    """A fact that is kept, as a statement."""
    said = {**SAID, **row["json"]}
    predicate = str(row["predicate"])
    if not said["polarity"]:
        predicate = predicate.removeprefix(DENIED)
    return Statement(
        subject=said["subject"],
        object=said["object"],
        predicate=predicate.removeprefix(FORMER),
        value=normal_value(said["object"]),
        frame=said["by"],
        **{name: said[name] for name in _OF_STATEMENT},
    )


def _is_over(one: Statement) -> bool:
    """Whether a state is of the past; what was done is not over: "adopted", "visited"."""
    return one.tense == "past" and one.predicate.partition("_")[0].endswith("s")


#: fields of a statement that the row of its fact has under the same names
_OF_STATEMENT: Final = SAID.keys() - {"spans", "by"}


def fact_of(stated: Stated, scope: str, memory: int, trust: float = 1.0) -> FactToAdd:
    """The fact of a statement in a memory, as sure as the statement is, by a factor."""
    one = stated.statement
    about = {name: getattr(one, name) for name in _OF_STATEMENT}
    about |= {"spans": [list(one.span)], "by": BY_HEAD if stated.by_head else ""}
    return FactToAdd(
        subject=one.subject,
        predicate=stated.predicate,
        object=one.object,
        scope=scope,
        confidence=round(one.confidence * trust, 9),
        sources=(memory,),
        about=about,
    )


# Facts that a caller's extractor found, checked, as the statements of a text.


def statement_of(fact: Fact, text: str, single_valued: Collection[str] = frozenset()) -> Statement:
    """A caller's fact as a statement of a text.

    Raises:
        InvalidInputError: A part is empty, or a number is out of range.
    """
    span = fact.span or (0, len(text))
    if not 0 <= span[0] < span[1] <= len(text):
        raise InvalidInputError(f"span {span!r} is not in the text", hint="quote the text")
    predicate = "_".join(checked_part(fact.predicate, "predicate").lower().split())
    return Statement(
        subject=checked_part(fact.subject, "subject"),
        predicate=predicate,
        object=checked_part(fact.object, "object"),
        polarity=parse_switch(fact.polarity, "polarity"),
        modality=parse_choice(fact.modality, "modality", "asserted", "hedged"),
        confidence=parse_number(fact.confidence, "confidence", low=0.0, high=1.0),
        span=span,
        single=is_single_valued(predicate, single_valued),
    )


def statements_of(
    facts: Iterable[Fact], text: str, single_valued: Collection[str] = frozenset()
) -> list[Statement] | None:
    """Those of a model that can be kept; None when one is nonsense, as then none is trusted."""
    try:
        return [statement_of(each, text, single_valued) for each in facts]
    except Exception:  # any object may come from any model
        return None
