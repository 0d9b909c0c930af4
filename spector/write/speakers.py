"""Reads the speakers of drafts that open with a name: "Ann: hello"."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.arguments import check_metadata
from spector.config import Config
from spector.errors import CatalogCorruptError, InvalidMetadataError, PartitionCorruptError
from spector.kernel.contract import dots, norm
from spector.language.statements import (
    UNSEEN,
    Opening,
    folded_name,
    is_question,
    says_i,
    searched_words,
    speaker_in,
    words_of,
)
from spector.language.words import plain
from spector.layout import (
    CERTAIN,
    CERTAIN_BYTE,
    HEADER_BYTES,
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    RECORD_DTYPE,
    Flag,
)
from spector.records import MemoryRecord
from spector.store.catalog import Row, verify_row
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Store, Transaction, header_of, verified_image
from spector.store.files import Bytes
from spector.store.words import Utterance, newest_utterances
from spector.tiers import TierRouter, TierStore
from spector.write.append import reseal, with_flag
from spector.write.draft import Draft

Opens = Callable[[str], Opening | None]
_Scope = tuple[str | None, str | None]

#: memories of a session that must open with a name
_OPENINGS: Final = 2
#: share of a session's memories that open with one of its names, where it is a dialogue
_DIALOGUE: Final = 0.8
#: users whose speakers are cached
_MOST_SCOPES: Final = 1024
#: cached speakers of one user
_MOST_NAMES: Final = 4096
#: characters at the start of a text in which its opening name is looked for
_HEAD_CHARS: Final = 64
_SENTENCE_START: Final = re.compile('(?:^|[.!?\u2026:\\n"\u201c\u00ab])\\s*\\Z')
_LETTER: Final = re.compile(r"[^\W\d_]")


@dataclass(slots=True)
class Reading:
    """Speakers by the number of a draft, and by the id of an earlier memory."""

    drafts: dict[int, str] = field(default_factory=dict)
    earlier: dict[int, str] = field(default_factory=dict)


class _Line(NamedTuple):
    """A memory of a scope, or a draft (no id). ``given``: its speaker is not from the text."""

    id: int | None
    session_id: str | None
    text: str
    opening: Opening | None
    given: bool


class Speakers:
    """Reads speakers for one writer. Its caller holds the store's lock.

    Args:
        opens: the name that a text opens with, if it may be its speaker's.
    """

    def __init__(self, opens: Opens) -> None:
        self._opens = opens
        #: (store, user, agent) -> folded name -> as it is written
        self._known: dict[tuple[bytes, str | None, str | None], dict[str, str]] = {}

    def openings(self, drafts: Sequence[Draft]) -> dict[int, Opening]:
        """The names that drafts without a speaker open with, by number; reads no store."""
        return {
            n: opening
            for n, draft in enumerate(drafts)
            if not _is_given(draft)
            and not _is_doubtful(draft)
            and (opening := self._opens(draft.text)) is not None
            and not (opening.role and draft.source is not None)
        }

    def read(
        self,
        store: Store,
        drafts: Sequence[Draft],
        openings: Mapping[int, Opening],
        *,
        without: int | None = None,
    ) -> Reading:
        """The speakers of drafts for a store, and of earlier memories that these decide.

        Args:
            openings: of these drafts.
            without: id of the memory that a draft replaces.
        """
        out = Reading()
        scopes: dict[_Scope, list[int]] = defaultdict(list)
        for n in openings:
            scopes[drafts[n].user_id, drafts[n].agent_id].append(n)
        for scope, members in scopes.items():
            self._read_scope(store, scope, members, drafts, openings, without, out)
        return out

    def _read_scope(
        self,
        store: Store,
        scope: _Scope,
        members: list[int],
        drafts: Sequence[Draft],
        openings: Mapping[int, Opening],
        without: int | None,
        out: Reading,
    ) -> None:
        known = dict(self._names(store, scope))
        own = [n for n, draft in enumerate(drafts) if (draft.user_id, draft.agent_id) == scope]
        for n in own:
            _learn(known, speaker_in(drafts[n].role, drafts[n].metadata))
        if any(_is_new(openings[n], known) for n in members):
            sessions = {drafts[n].session_id for n in members if _is_new(openings[n], known)}
            earlier = newest_utterances(store, *scope, sorted(filter(None, sessions)))
            for each in earlier:
                _learn(known, each.speaker)
            earlier = [each for each in earlier if each.id != without]
            wanted = {openings[n].folded for n in members if _is_new(openings[n], known)}
            lines: list[_Line] = []
            if _may_repeat(wanted, earlier, [openings[n] for n in members]):
                lines = list(map(self._line_of, earlier))
                lines += [
                    _Line(
                        None,
                        drafts[n].session_id,
                        drafts[n].text,
                        openings.get(n),
                        _is_given(drafts[n]),
                    )
                    for n in own
                ]
            found = _names_among(lines, known)
            known |= found
            silent = [
                (line.id, found[line.opening.folded])
                for line in lines
                if line.id is not None and line.opening and line.opening.folded in found
            ]
            out.earlier.update(silent)
        for n in members:
            name = known.get(openings[n].folded)
            if name is None and openings[n].role:
                name = openings[n].name
                name = known[openings[n].folded] = name.lower() if name.isascii() else name
            if name is not None:
                out.drafts[n] = name

    def _line_of(self, line: Utterance) -> _Line:
        opening = self._opens(line.text)
        if line.speaker and opening and opening.folded != folded_name(line.speaker):
            opening = None
        given = opening is None and line.speaker is not None
        return _Line(line.id, line.session_id, line.text, opening, given)

    def _names(self, store: Store, scope: _Scope) -> dict[str, str]:
        """The known speakers of a user and agent."""
        key = (store.uuid, *scope)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_SCOPES:
                self._known.clear()
            known = self._known[key] = {}
            for each in newest_utterances(store, *scope):
                _learn(known, each.speaker)
        return known

    def learn(self, store: Store, drafts: Iterable[Draft]) -> None:
        """Add the speakers of stored drafts to the cache."""
        if not self._known:
            return
        for draft in drafts:
            known = self._known.get((store.uuid, draft.user_id, draft.agent_id))
            if known is not None and (speaker := speaker_in(draft.role, draft.metadata)):
                _learn(known, speaker)

    def forget(self) -> None:
        """Empty the cache: memories were forgotten, or moved to another user."""
        self._known.clear()


def draft_words(draft: Draft) -> str:
    """The part of a draft that is embedded."""
    return searched_words(draft.text, draft.role, draft.metadata)


def words_with(drafts: Sequence[Draft], names: Mapping[int, str]) -> list[str]:
    """The words of drafts that are embedded; some of the drafts get a speaker."""
    return [
        searched_words(draft.text, None, {**(draft.metadata or {}), "speaker": names[n]})
        if n in names
        else draft_words(draft)
        for n, draft in enumerate(drafts)
    ]


def name_speakers(drafts: Sequence[Draft], names: Mapping[int, str], config: Config) -> None:
    """Write speakers into the metadata of drafts, which have room for them (`with_room`)."""
    for n, name in names.items():
        drafts[n].metadata, drafts[n].metadata_json = check_metadata(
            {**(drafts[n].metadata or {}), "speaker": name}, config
        )


def with_room(drafts: Sequence[Draft], names: Mapping[int, str], config: Config) -> dict[int, str]:
    """The speakers that fit into the metadata of their drafts."""
    out = {}
    for n, name in names.items():
        with contextlib.suppress(InvalidMetadataError):
            check_metadata({**(drafts[n].metadata or {}), "speaker": name}, config)
            out[n] = name
    return out


def without_speaker(before: MemoryRecord, draft: Draft, config: Config) -> str | None:
    """Remove a speaker that was read from a record's text from its new state; returns it.

    None when the speaker was given, or there is none.
    """
    was = before.metadata.get("speaker")
    if (
        not isinstance(was, str)
        or before.role is not None
        or words_of(before.text, was) == before.text
    ):
        return None
    kept = dict(draft.metadata or {})
    if kept.get("speaker") == was:
        del kept["speaker"]
        draft.metadata, draft.metadata_json = check_metadata(kept, config)
    return was


def _is_given(draft: Draft) -> bool:
    """Whether the caller has named the speaker, or has ruled one out (``None``)."""
    metadata = draft.metadata
    return draft.role is not None or (
        metadata is not None and ("speaker" in metadata or speaker_in(None, metadata) is not None)
    )


def _is_doubtful(draft: Draft) -> bool:
    """Whether it is uncertain that the words are the user's; then they cannot claim it."""
    return draft.confidence is not None and draft.confidence < CERTAIN


def _is_new(opening: Opening, known: Mapping[str, str]) -> bool:
    return opening.proper and not opening.role and opening.folded not in known


def _learn(known: dict[str, str], speaker: str | None) -> None:
    if speaker and len(known) < _MOST_NAMES:
        known.setdefault(folded_name(speaker), speaker)


# -- what is a name --------------------------------------------------------------------------------


def _may_repeat(
    wanted: Set[str], earlier: Iterable[Utterance], openings: Iterable[Opening]
) -> bool:
    """Whether any of the folded names may open two memories; a cheap test before the full one."""
    firsts = tuple({name.partition(" ")[0] for name in wanted})
    count = sum(opening.folded in wanted for opening in openings)
    heads = (plain(each.text[:_HEAD_CHARS]).lstrip(UNSEEN) for each in earlier)
    return count + sum(head.startswith(firsts) for head in heads) >= _OPENINGS


def _names_among(lines: Sequence[_Line], known: Mapping[str, str]) -> dict[str, str]:
    """Unknown folded names that speak in a session -> as they are written."""
    sessions: dict[str | None, list[_Line]] = defaultdict(list)
    for line in lines:
        sessions[line.session_id].append(line)
    out: dict[str, str] = {}
    for session, members in sessions.items():
        turns: dict[str, list[_Turn]] = defaultdict(list)
        for line in members:
            if line.opening is not None and not _is_value(line.text[line.opening.start :]):
                turns[line.opening.folded].append(_turn_of(line, line.opening))
        talkers = _talkers(members, turns, known)
        answered = any(line.given for line in members)
        for folded, mine in turns.items():
            proper = [turn.name for turn in mine if turn.proper]
            if folded in known or mine[0].role or len(mine) < _OPENINGS or not proper:
                continue
            personal = sum(turn.says_i for turn in mine)
            talks = folded in talkers and (len(talkers) > 1 or (answered and personal))
            alone = session is not None and personal
            if talks or (alone and not _is_common(proper[0], lines)):
                out.setdefault(folded, proper[0])
    return out


class _Turn(NamedTuple):
    """What the text after an opening name shows about its speaker.

    ``says_i``: it is in the first person; "Python: how do I sort?" only asks, under a heading.
    """

    name: str
    proper: bool
    role: bool
    says_i: bool
    asks: bool


def _turn_of(line: _Line, opening: Opening) -> _Turn:
    words = line.text[opening.start :]
    question = is_question(words)
    return _Turn(
        opening.name, opening.proper, opening.role, says_i(words) and not question, question
    )


def _talkers(
    lines: Sequence[_Line], turns: Mapping[str, list[_Turn]], known: Mapping[str, str]
) -> Set[str]:
    """The names that take turns in a session: each has spoken, and together they open nearly all
    lines without a given speaker."""
    names = {
        folded
        for folded, mine in turns.items()
        if mine[0].role
        or folded in known
        or (
            len(mine) >= _OPENINGS
            and any(turn.proper for turn in mine)
            and any(turn.says_i or turn.asks for turn in mine)
        )
    }
    bare = sum(not line.given for line in lines)
    opened = sum(len(turns[folded]) for folded in names)
    return names if opened >= _DIALOGUE * bare else frozenset()


def _is_value(words: str) -> bool:
    """Whether what follows a name is a number, a code or a link: "Passport: X1234567"."""
    head = words[:80]
    if not _LETTER.search(head):
        return not any(map(_is_pictured, head))
    first, *more = head.split(maxsplit=1)
    return not more and any(char.isdigit() or char in "@/\\_=" for char in first)


def _is_pictured(char: str) -> bool:
    """Whether a character has a meaning of its own, like an emoji."""
    return ord(char) > 0x2000


def _is_common(name: str, lines: Iterable[_Line]) -> bool:
    """Whether the texts have the name in lower case more often than as a name in a sentence."""
    if name.lower() == name:
        return False
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    small = capital = 0
    for line in lines:
        text = line.text if line.opening is None else line.text[line.opening.start :]
        for found in pattern.finditer(text):
            if found.group() == name.lower():
                small += 1
            elif not _SENTENCE_START.search(text, max(0, found.start() - 8), found.start()):
                capital += 1
    return small > capital


# Gives earlier memories their speaker once a later one opens with the same name.
#
# Their words, vectors and ids stay. The speaker is part of a memory's index entry, so each gets a new
# slot, in the commit of the later one. Nothing is embedded again: the name in the vectors of a
# speaker's first memories hardly changes a rank (bench/log), and embedding them again could make one
# write take as long as all of them took.

#: cosine from which a stored vector, quantized, is the one that the embedder makes
_SAME = 0.995


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """A memory's row as it is and will be, and its new bytes, (1, stride) u8."""

    before: Row
    after: Row
    image: Bytes
    tier: TierStore

    def stage(self, tx: Transaction) -> None:
        dead = with_flag(self.before.mutable, Flag.TOMBSTONE)
        segment_id, slot = self.tier.relocate(
            tx, self.before, self.image, self.before.event_ms, dead
        )
        after = replace(self.after, segment_id=segment_id, slot=slot)
        catalog_rows.update_row(tx.connection, self.before, after)


def namings(
    store: Store, router: TierRouter, names: Mapping[int, str], config: Config
) -> list[Naming]:
    """The changes that give memories of a store their speakers, by id; the lock is held.

    A memory that is immutable, damaged, uncertain, or has no room in its metadata is skipped.
    """
    out = []
    for record_id, name in names.items():
        try:
            found = _naming(store, router, record_id, name, config)
        except (CatalogCorruptError, PartitionCorruptError, InvalidMetadataError):
            continue
        if found is not None:
            out.append(found)
    return out


def _naming(
    store: Store, router: TierRouter, record_id: int, name: str, config: Config
) -> Naming | None:
    row = store.catalog.fetch([record_id]).get(record_id)
    if row is None:
        return None
    found = renoted(store, router, row, {**row.metadata, "speaker": name}, config)
    certain = found is not None and header_of(found.image[0])["confidence"] >= CERTAIN_BYTE
    return found if certain else None


def renoted(
    store: Store, router: TierRouter, row: Row, metadata: Mapping[str, Any], config: Config
) -> Naming | None:
    """The change that gives a memory other metadata; None where it must not change.

    Raises:
        CatalogCorruptError, PartitionCorruptError: it is damaged.
        InvalidMetadataError: the metadata have no room.
    """
    segment = store.segments.get(row.segment_id)
    if segment is None:
        return None
    verify_row(row, store.catalog.path)
    image = verified_image(store, row).copy()
    image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = np.frombuffer(row.mutable, np.uint8)
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)[0]
    if Flag.IMMUTABLE & int(header["flags"]):
        return None
    header["centroid"] = 0  # its new partition has no clusters yet
    sealed = reseal(image.reshape(1, -1), store.uuid).images
    checked, metadata_json = check_metadata(metadata, config)
    after = replace(row, metadata=checked, metadata_json=metadata_json, stored=None)
    return Naming(row, after, sealed, router.by_code(segment.row.tier))


def is_vector_of(image: Bytes, vector: NDArray[np.float32]) -> bool:
    """Whether a record's bytes, (stride,) u8, hold a vector (dim,), within the codes' precision."""
    if not header_of(image)["scale"]:
        return False
    codes = image[HEADER_BYTES : HEADER_BYTES + len(vector)].view(np.int8).astype(np.float32)
    norms = norm(codes) * norm(vector)
    return norms > 0.0 and float(dots(codes[None], vector)[0]) >= _SAME * norms
