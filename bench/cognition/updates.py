"""Rows 15 and 16: statements of long chats that are updated or contradicted later (BEAM).

Every message goes through the product as it comes; the user's ask for ``supersedes="auto"``. Asked
are the set's own questions, ten hits each. Nothing is fitted to the set.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import spector
from bench.cognition.score import Score
from bench.cognition.statements import data
from bench.data import NOW
from spector.clock import ManualClock

__all__ = ["Chat", "Found", "chats", "measured", "update_rows"]

_HITS: Final = 10
#: what the generator of the set left at the end of a message
_LEFTOVER: Final = "->->"


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages as (id, role, text) in their order, and questions by ability."""

    name: str
    messages: tuple[tuple[int, str, str], ...]
    questions: Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(slots=True)
class Found:
    """Counts of one chat.

    Attributes:
        updates: questions about an updated value; first and among: those whose newer statement
            comes before the older one, or is in the ten hits.
        pairs: questions about a contradiction; both and flagged: those of which both statements
            are in the ten hits, and shown as a conflict.
        flags: conflicts of the chat; false: those that no question is about. messages: of the user.
    """

    updates: int = 0
    first: int = 0
    among: int = 0
    pairs: int = 0
    both: int = 0
    flagged: int = 0
    flags: int = 0
    false: int = 0
    superseded: int = 0
    messages: int = 0
    details: list[str] = field(default_factory=list)


def chats() -> Iterator[Chat]:
    """The chats of the development part."""
    folder = data() / "beam_100k"
    for path in sorted(folder.glob("chat_*.json"), key=lambda each: int(each.stem[5:])):
        asked = json.loads((folder / f"probing_{path.stem[5:]}.json").read_text(encoding="utf-8"))
        messages = sorted(_messages(json.loads(path.read_text(encoding="utf-8"))))
        yield Chat(path.stem, tuple(messages), asked)


def _messages(node: Any) -> Iterator[tuple[int, str, str]]:
    if isinstance(node, dict):
        if "content" in node and "id" in node:
            yield node["id"], node["role"], node["content"].partition(_LEFTOVER)[0].strip()
        else:
            for value in node.values():
                yield from _messages(value)
    elif isinstance(node, list):
        for value in node:
            yield from _messages(value)


def measured(chat: Chat, *, auto: bool = True) -> Found:
    """What recall makes of the updates and contradictions of one chat."""
    out = Found()
    with tempfile.TemporaryDirectory() as folder:
        clock = ManualClock(round(NOW.timestamp() * 1000))
        with spector.open(Path(folder) / "mind", clock=clock, durability="relaxed") as memory:
            ids = _told(memory, chat, out, auto)
            old_of = {record: message for message, record in ids.items()}
            for asked in chat.questions["knowledge_update"]:
                _update(memory, asked, ids, out)
            meant: set[frozenset[int]] = set()
            for asked in chat.questions["contradiction_resolution"]:
                _contradiction(memory, asked, ids, out)
                meant.add(frozenset(_sources(asked, ids)))
            for asked in chat.questions["knowledge_update"]:
                meant.add(frozenset(_sources(asked, ids)))
            for edge in _ties(memory, ids):
                out.flags += 1
                if not any(edge <= each for each in meant):
                    out.false += 1
                    out.details.append(f"false {sorted(old_of[each] for each in edge)}")
    return out


def _ties(memory: spector.Memory, ids: Mapping[int, int]) -> set[frozenset[int]]:
    known = set(ids.values())
    return {
        frozenset((edge.source, edge.target))
        for each in known
        for edge in memory.graph.edges(each, kinds=["contradicts"])
    }


def _told(memory: spector.Memory, chat: Chat, out: Found, auto: bool) -> dict[int, int]:
    """Message -> memory."""
    ids: dict[int, int] = {}
    last = len(chat.messages)
    for n, (message, role, text) in enumerate(chat.messages):
        if not text:
            continue
        record = memory.remember(
            {"role": role, "content": text},
            event_time=NOW - timedelta(hours=last - n),
            supersedes="auto" if auto and role == "user" else None,
        )
        ids[message] = record.id
        out.messages += role == "user"
        out.superseded += len(record.supersedes)
        if record.supersedes:
            out.details.append(f"superseded by {message}: {record.decision}")
    return ids


def _sources(asked: Mapping[str, Any], ids: Mapping[int, int]) -> list[int]:
    return [
        ids[each]
        for side in asked["source_chat_ids"].values()
        for each in _flat(side)
        if each in ids
    ]


def _flat(side: Any) -> Iterator[int]:
    for each in side if isinstance(side, list) else [side]:
        if isinstance(each, list):
            yield from _flat(each)
        else:
            yield each


def _update(
    memory: spector.Memory, asked: Mapping[str, Any], ids: Mapping[int, int], out: Found
) -> None:
    sides = asked["source_chat_ids"]
    old = {ids[each] for each in _flat(sides["original_info"]) if each in ids}
    new = {ids[each] for each in _flat(sides["updated_info"]) if each in ids} - old
    if not new or not old:
        return
    found = [hit.id for hit in memory.recall(asked["question"], k=_HITS)]
    place = min((found.index(each) for each in new if each in found), default=None)
    before = min((found.index(each) for each in old if each in found), default=None)
    out.updates += 1
    out.among += place is not None
    is_first = place is not None and (before is None or place < before)
    out.first += is_first
    if not is_first:
        out.details.append(f"update {place} {before}: {asked['question']}")


def _contradiction(
    memory: spector.Memory, asked: Mapping[str, Any], ids: Mapping[int, int], out: Found
) -> None:
    sides = list(asked["source_chat_ids"].values())
    one, other = ({ids[each] for each in _flat(side) if each in ids} for side in sides[:2])
    hits = {hit.id: hit for hit in memory.recall(asked["question"], k=_HITS)}
    both = bool(one & hits.keys()) and bool(other & hits.keys())
    flagged = any(set(hits[each].conflicts) & other for each in one & hits.keys())
    out.pairs += 1
    out.both += both
    out.flagged += flagged
    if not (both and flagged):
        out.details.append(f"contradiction both {both} flagged {flagged}: {asked['question']}")


def update_rows() -> list[Score]:
    """Rows 15 and 16, over all chats."""
    total = Found()
    for chat in chats():
        found = measured(chat)
        for each in fields(total):
            if each.name != "details":
                setattr(total, each.name, getattr(total, each.name) + getattr(found, each.name))
    updates, pairs = max(1, total.updates), max(1, total.pairs)
    rate = 100 * total.false / max(1, total.messages)
    return [
        Score(
            15,
            f"updates in long chats, BEAM dev, {total.updates} questions: the newer statement"
            " before the older one · in ten hits",
            f"{100 * total.first / updates:.0f} % · {100 * total.among / updates:.0f} %",
            "40 % · 85 %",
            "85 % · 90 %",
            total.first >= 0.85 * updates and total.among >= 0.9 * updates,
        ),
        Score(
            16,
            f"contradictions kept, BEAM dev, {total.pairs} questions: both in ten hits ·"
            " shown as a conflict · conflicts that no question is about, of 100 messages",
            f"{100 * total.both / pairs:.0f} % · {100 * total.flagged / pairs:.0f} % · {rate:.1f}",
            "75 % · 0 % · 0",
            "90 % · 50 % · 1",
            total.both >= 0.9 * pairs and total.flagged >= 0.5 * pairs and rate <= 1,
        ),
    ]
