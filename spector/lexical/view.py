"""Queries of an index of words at one moment; read-only."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import Kernel, PostingsTable, QueryTerms
from spector.language.words import SPACELESS, Term, normalize_unicode, term_hash
from spector.lexical.columns import FieldTable, label_hashes, living_rows
from spector.lexical.postings import Stack
from spector.records import MOST_ALIASES

# Terms by which the index of words finds a memory's aliases, one typo allowed.
#
# A memory with the alias "Ledger DB" has the term of that name and terms of its parts: its first
# half, its second half, and the name without the two letters in the middle. A name with one typo
# keeps one of those parts unchanged, so its memory is among the few that have the term of that part.
# The names of those few are then compared (`is_typo`): a name is found exactly when its optimal
# string alignment distance (Damerau-Levenshtein, no part edited twice) is at most 1.
#
# Typos are in letters only: a different digit is a different number.

#: words of a name at most
MOST_WORDS: Final = 8
#: letters that a name needs before typos in it are allowed, and characters at most
_LEAST_LETTERS: Final = 5
_MOST_CHARS: Final = 64
#: the first so many words of a cue are searched for names
_CUE_WORDS: Final = 64

#: the term of every memory with an alias
HAS_ALIAS: Final = "\x1e"
_NAME, _FIRST, _SECOND, _AROUND = "\x1ep", "\x1ef", "\x1es", "\x1ea"

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring words of a cue that may be a name, ``words[start:stop]`` joined by spaces."""

    start: int
    stop: int
    text: str

    def covers(self, other: Span) -> bool:
        return self.start <= other.start and other.stop <= self.stop

    @property
    def term(self) -> str:
        return _NAME + self.text


def name_words(text: str) -> list[str]:
    """Words of a name or cue without case and marks; each ideograph is a word."""
    if text.isascii():
        return _WORD.findall(text.lower())
    apart = normalize_unicode("NFD", text.replace("\u0131", "i")).casefold()
    bare = "".join(each for each in apart if not unicodedata.combining(each))
    words: list[str] = []
    for word in _WORD.findall(normalize_unicode("NFC", bare)):
        for piece in SPACELESS.split(word):
            if SPACELESS.match(piece):
                words += piece
            elif piece:
                words.append(piece)
    return words


def fold_alias(alias: str) -> str:
    """The form in which names are compared; "" for a name without letters and digits."""
    return " ".join(name_words(alias)[:MOST_WORDS])


def alias_terms(aliases: Sequence[str]) -> list[str]:
    """Terms of a memory's aliases; distinct, at most four a name, and `HAS_ALIAS`."""
    out: dict[str, None] = {}
    for name in filter(None, map(fold_alias, aliases[:MOST_ALIASES])):
        out[HAS_ALIAS] = out[_NAME + name] = None
        if _may_be_mistaken(name):
            half = len(name) // 2
            out.update(
                dict.fromkeys(
                    (
                        _part(_FIRST, name, len(name), name[:half]),
                        _part(_SECOND, name, len(name), name[half:]),
                        _part(_AROUND, name, len(name), name[: half - 1] + name[half + 1 :]),
                    )
                )
            )
    return list(out)


def alias_hashes(aliases: Sequence[str], key: bytes) -> NDArray[np.uint64]:
    """(n,) ascending hashes of `alias_terms`."""
    return np.array(sorted({term_hash(term, key) for term in alias_terms(aliases)}), np.uint64)


def typo_terms(text: str) -> list[str]:
    """Terms, one of which every name has that ``text`` is a typo of; other names may too."""
    size = len(text)
    if not _LEAST_LETTERS - 1 <= size <= _MOST_CHARS + 1:
        return []
    half = size // 2
    out = [_part(_AROUND, text, size, text[: half - 1] + text[half + 1 :])]
    for long in (size - 1, size, size + 1):  # letters of the name
        half = long // 2
        out.append(_part(_FIRST, text, long, text[:half]))
        out.append(_part(_SECOND, text, long, text[size - (long - half) :]))
    return out


def _part(kind: str, text: str, size: int, part: str) -> str:
    """The term of a part of a name of ``size`` letters; it has the digits of the whole name."""
    return f"{kind}{size}{''.join(filter(str.isdigit, text))}\0{part}"


def _may_be_mistaken(name: str) -> bool:
    return len(name) <= _MOST_CHARS and sum(map(str.isalpha, name)) >= _LEAST_LETTERS


def is_typo(text: str, name: str) -> bool:
    """Whether a text is a name with one letter too many, too few or wrong, or two swapped."""
    if text == name or abs(len(text) - len(name)) > 1 or not _may_be_mistaken(name):
        return False
    if [c for c in text if c.isdigit()] != [c for c in name if c.isdigit()]:
        return False
    at = next(
        (n for n, (a, b) in enumerate(zip(text, name, strict=False)) if a != b),
        min(len(text), len(name)),
    )
    if len(text) != len(name):
        longer, shorter = sorted((text, name), key=len, reverse=True)
        return longer[at + 1 :] == shorter[at:]
    wrong = 1 if text[at + 1 :] == name[at + 1 :] else 2
    if not (text[at : at + wrong] + name[at : at + wrong]).isalpha():
        return False
    swapped = text[at : at + 2] == name[at : at + 2][::-1]
    return wrong == 1 or (swapped and text[at + 2 :] == name[at + 2 :])


def spans(words: Sequence[str]) -> Iterator[Span]:
    """Spans of a cue's words that may be names, the longest first."""
    words = words[:_CUE_WORDS]
    for length in range(min(MOST_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            yield Span(start, start + length, " ".join(words[start : start + length]))


#: BM25 of the ranking (bench/log, "Ranking research"): saturation of repeats, and weight of length
K1: Final = 0.6
B: Final = 0.75

#: users whose part of a view is kept
_USERS: Final = 16

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Terms with their positions in one view, so that several queries look them up once.

    Attributes:
        terms: t of them.
        df: (t,) i64, rows that have the term, in text or field.
        hashes: (n,) u64 ascending, of all forms of all terms.
        positions: of the hashes, see ``LexicalKernel.lexical_find``.
        forms: per term the indexes of its hashes.
    """

    terms: tuple[Term, ...]
    df: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    positions: NDArray[np.int32]
    forms: tuple[tuple[int, ...], ...]


def idf(df: NDArray[Any], rows: int) -> NDArray[np.float64]:
    """ln(1 + (rows - df + 0.5) / (df + 0.5)), in nats: 0.. for common words, ln(rows) for rare."""
    df = np.minimum(np.asarray(df, np.float64), rows)
    return np.asarray(np.log1p((rows - df + 0.5) / (df + 0.5)))


@dataclass(eq=False, repr=False)
class WordView:
    """The words of all rows of an index at one moment.

    Rows are numbers from 0 to ``len(view) - 1``, valid for this view only. Some belong to memories
    that are gone (``alive``); no result contains them. -1 in a result means no row (no neighbour,
    unknown id); for -1 in a query the result is 0 or -1.
    """

    kernel: Kernel
    stack: Stack
    columns: dict[str, NDArray[Any]]
    fields: FieldTable
    key: bytes
    #: of ids and their rows, see `IdMap.arrays`
    order: tuple[NDArray[np.int64], NDArray[np.int32]]
    #: rows that are memories, and the sum of their sizes
    n_rows: int
    size: int
    turkish: bool
    #: the user whose memories these are alone; None for everybody's
    user: str | None = None
    _marked: dict[int, Rows] = field(default_factory=dict, init=False)
    _users: dict[str, WordView] = field(default_factory=dict, init=False)

    @property
    def mean_length(self) -> float:
        """Mean size of all memories; 1 for none."""
        return max(1.0, self.size / max(1, self.n_rows))

    @property
    def _whole(self) -> bool:
        return self.n_rows == len(self)

    def __len__(self) -> int:
        return len(self.columns["id"])

    @property
    def alive(self) -> NDArray[np.bool_]:
        """(rows,) bool: whether the row is a memory."""
        return self.columns["alive"]

    def within(self, user_id: str | None) -> WordView:
        """The memories of one user, as if there were no others; all of them for None."""
        if user_id is None or user_id == self.user:
            return self
        found = self._users.get(user_id)
        if found is None:
            mine = label_hashes([user_id], self.key)[0]
            alive = self.alive & (self.columns["user"] == mine)
            count = int(np.count_nonzero(alive))
            if len(self._users) >= _USERS:
                self._users.clear()
            found = self if count == self.n_rows else self._part(user_id, alive, count)
            self._users[user_id] = found
        return found

    def _part(self, user_id: str, alive: NDArray[np.bool_], count: int) -> WordView:
        columns = self.columns
        turkish = bool(self.fields.turkish()[columns["field"][alive]].any())
        part = replace(
            self,
            columns={**columns, "alive": alive},
            n_rows=count,
            size=int(columns["size"][alive].sum(dtype=np.int64)),
            turkish=turkish,
            user=user_id,
        )
        part._table = self._table
        return part

    @property
    def nbytes(self) -> int:
        """Memory that postings and columns take."""
        return self.stack.nbytes + sum(column.nbytes for column in self.columns.values())

    @cached_property
    def _table(self) -> PostingsTable:
        return self.stack.table(self.columns["id"], self.columns["code"])

    @cached_property
    def _living(self) -> NDArray[np.uint64] | None:
        """Bitmap of the rows that are memories; None when all are."""
        return None if self._whole else self._table.allow_of(self.alive)

    # -- terms --------------------------------------------------------------------------------

    def look_up(self, terms: Sequence[Term] | Lookup) -> Lookup:
        """Look terms up once; every method that takes terms takes the result as well."""
        if isinstance(terms, Lookup):
            return terms
        hashes = self._hashes(terms)
        ascending = sorted({value for each in hashes for value in each})
        known = np.array(ascending, np.uint64)
        positions, found = self.kernel.lexical_find(self._table, known, self._living)
        at, rows = {value: n for n, value in enumerate(ascending)}, found.tolist()
        forms = tuple([tuple([at[value] for value in each]) for each in hashes])
        df = [
            rows[each[0]] if len(each) == 1 else self._either(known, rows, each) for each in forms
        ]
        return Lookup(tuple(terms), np.array(df, np.int64), known, positions, forms)

    def _hashes(self, terms: Sequence[Term]) -> list[list[int]]:
        """Hashes of the forms of each term; most second forms matter only with Turkish texts."""
        out: list[list[int]] = []
        for term in terms:
            forms = term.forms if self.turkish or term.anyway else term.forms[:1]
            out.append(list(map(term_hash, forms, repeat(self.key))))
        return out

    def _either(
        self, hashes: NDArray[np.uint64], rows: Sequence[int], forms: tuple[int, ...]
    ) -> int:
        """Number of memories that have any form of a term."""
        there = [n for n in dict.fromkeys(forms) if rows[n]]
        if len(there) < 2:
            return rows[there[0]] if there else 0
        both = np.sort(hashes[there])  # a word has two forms at most
        places, _ = self.kernel.lexical_find(self._table, both)
        twice = self.kernel.lexical_having(self._table, both, places, len(self), self._living)
        return sum(rows[n] for n in there) - len(twice)

    def df(self, terms: Sequence[Term] | Lookup) -> NDArray[np.int64]:
        """(t,) i64: the number of memories that have each term, in text or field."""
        return self.look_up(terms).df

    def informative(self, terms: Sequence[Term], limit: int) -> list[Term]:
        """The rarest ``limit`` of the terms that occur; terms that do not occur fill the rest."""
        df = self.df(terms)
        order = sorted(range(len(terms)), key=lambda n: (df[n] == 0, df[n], n))
        return [terms[n] for n in sorted(order[:limit])]

    def best(
        self,
        terms: Sequence[Term] | Lookup,
        k: int = 128,
        allow: NDArray[np.bool_] | None = None,
        *,
        k1: float = K1,
        b: float = B,
    ) -> tuple[Rows, Floats]:
        """The k memories with the highest BM25, best first, those with equal scores by id.

        Args:
            terms: t of them.
            k: at most so many.
            allow: (rows,) bool, rows to consider; None for all.
            k1, b: of BM25; the length is that of text and field, stop words excluded.

        Returns:
            rows (m,) i64 and scores (m,) f32: sum of idf (k1 + 1) tf / (tf + k1 (1 - b + b length /
            mean length)), added up in the order of the terms' hashes (Robertson and Zaragoza 2009,
            with Lucene's idf).
        """
        lookup = self.look_up(terms)
        weight = idf(lookup.df, self.n_rows)
        total = np.zeros(len(lookup.hashes))
        for forms, value in zip(lookup.forms, weight.tolist(), strict=True):
            for n in set(forms):
                total[n] += value
        words = QueryTerms.make(lookup.hashes, total, mean_length=self.mean_length, k1=k1, b=b)
        gate = self._living
        if allow is not None:
            gate = self._table.allow_of(allow if self._whole else allow & self.alive)
        hits = self.kernel.lexical_best(self._table, words, lookup.positions, k, gate)
        return hits["row"].astype(np.int64), hits["score"].copy()

    # -- names --------------------------------------------------------------------------------

    @cached_property
    def has_aliases(self) -> bool:
        """Whether any memory has an alias."""
        return bool(self.n_rows and self.having([HAS_ALIAS], most=1)[0][1])

    def having(self, terms: Sequence[str], most: int) -> list[tuple[Rows, int]]:
        """Per term up to ``most`` memories that have it in their text or their names, and how
        many do in all."""
        hashes = list(map(term_hash, terms, repeat(self.key)))
        ascending = sorted(set(hashes))
        known = np.array(ascending, np.uint64)
        _, counts = self.kernel.lexical_find(self._table, known, self._living)
        place = dict(zip(ascending, counts.tolist(), strict=True))
        out = []
        for term, value in zip(terms, hashes, strict=True):
            count = place[value]
            wanted = bool(count and most)
            out.append((self._rows_of(term, most) if wanted else np.zeros(0, np.int64), count))
        return out

    def _rows_of(self, term: str, most: int) -> Rows:
        one = np.array([term_hash(term, self.key)], np.uint64)
        positions, _ = self.kernel.lexical_find(self._table, one)
        rows = self.kernel.lexical_having(self._table, one, positions, most, self._living)
        return np.asarray(rows, np.int64)

    # -- rows ---------------------------------------------------------------------------------

    def counts(
        self, rows: Rows, lookup: Lookup, fields: Sequence[tuple[int, NDArray[np.bool_]]]
    ) -> NDArray[np.uint8]:
        """(t, n) u8: how often each row's text has each term (not its field).

        ``fields``: the `field_lines` of the same rows.
        """
        found = self._counts(rows, lookup)
        out = found[[forms[0] for forms in lookup.forms]]
        for line, forms in zip(out, lookup.forms, strict=True):
            if len(forms) > 1:
                line[:] = found[list(forms)].max(axis=0)
        for n, there in fields:
            out[n] -= there & (out[n] > 0)
        return out

    def _counts(self, rows: Rows, lookup: Lookup) -> NDArray[np.uint8]:
        """(hashes, n) u8: occurrences in text and field; 0 for -1."""
        runs = [0, *(np.flatnonzero(rows[1:] <= rows[:-1]) + 1).tolist(), len(rows)]
        if len(runs) > 3 or int(rows.min(initial=0)) < 0:
            known, back = np.unique(rows, return_inverse=True)
            absent = int(np.searchsorted(known, 0))
            found = np.zeros((len(lookup.hashes), len(known)), np.uint8)
            found[:, absent:] = self._counts(known[absent:], lookup)
            return found[:, back]
        # rows of interest and those around them: each ascends
        each = [
            self.kernel.lexical_counts(
                self._table, lookup.hashes, lookup.positions, rows[start:stop]
            )[0]
            for start, stop in pairwise(runs)
        ]
        return each[0] if len(each) == 1 else np.concatenate(each, axis=1)

    def field_numbers(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) numbers of the fields of rows, for `field_lines`; -1 for -1."""
        rows = np.asarray(rows, np.int64)
        if not len(rows) or int(rows.min()) >= 0:
            return self.columns["field"][rows].astype(np.int64)
        return np.where(rows < 0, -1, self.column("field", rows))

    def field_lines(
        self, numbers: NDArray[np.int64], lookup: Lookup
    ) -> list[tuple[int, NDArray[np.bool_]]]:
        """Indexes of terms that occur in fields, and (n,) the given fields that have them."""
        known = lookup.hashes.tolist()
        hashes = [[known[n] for n in forms] for forms in lookup.forms]
        found = [(n, self.fields.having(forms)) for n, forms in enumerate(hashes)]
        # behind the last field is that of row -1, which has no terms
        return [(n, np.append(pairs, False)[numbers]) for n, pairs in found if pairs is not None]

    def column(self, name: str, rows: Rows) -> NDArray[np.int64]:
        """(n,) a column at rows; 0 for -1.

        "content": words of the text without stop words; "size": the same plus the terms of its
        field, the length that ``best`` uses; "marks": the ``mark`` of the text, 0 to 255; "seal":
        changes with any part of a memory, -1 of a damaged row; "event_ms": since 1970 UTC.
        """
        rows = np.asarray(rows, np.int64)
        if not len(self):
            return np.zeros(len(rows), np.int64)
        return np.where(rows < 0, 0, self.columns[name][rows].astype(np.int64))

    def marked(self, bits: int) -> Rows:
        """Rows of memories whose mark has all of some bits; cached, as the view never changes."""
        found = self._marked.get(bits)
        if found is None:
            found = np.flatnonzero((self.columns["marks"] & np.uint8(bits)) == bits)
            found = self._marked[bits] = found[self.alive[found]]
        return found

    def ids(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) ids of rows; -1 for -1."""
        return (
            np.where(rows < 0, -1, self.columns["id"][rows])
            if len(self)
            else np.full(len(rows), -1, np.int64)
        )

    def places(self, rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(n,) segment ids and slots of rows."""
        return self.columns["segment"][rows], self.columns["slot"][rows]

    def rows(self, ids: Sequence[int] | NDArray[np.int64]) -> Rows:
        """(n,) rows of memories by id; -1 for unknown ids."""
        return living_rows(self.order, np.asarray(ids, np.int64), self.alive)

    def speakers(self) -> list[str]:
        """Names of all speakers, in the order of their codes; "" for none, or of another user."""
        return self._names

    @cached_property
    def _names(self) -> list[str]:
        names = self.fields.speakers()
        if self.user is None:
            return names
        mine = np.bincount(self.speaker_codes(np.flatnonzero(self.alive)), minlength=len(names))
        return [name if there else "" for name, there in zip(names, mine.tolist(), strict=True)]

    def speaker_codes(self, rows: Rows) -> NDArray[np.int64]:
        """(n,) position in ``speakers()`` of each row's speaker; -1 for -1."""
        if not len(self):
            return np.full(len(rows), -1, np.int64)
        return np.where(rows < 0, -1, self.fields.speaker_codes()[self.column("field", rows)])

    def neighbours(self, rows: Rows, reach: int = 4) -> Rows:
        """(n, 2 * reach) rows before and after each in its session, -1 where none.

        Columns: 1 before, 2 before, ..., ``reach`` before, 1 after, ..., ``reach`` after. The chain
        is that of the memories of one session, by event time, then id.
        """
        columns = self.columns
        return self.kernel.walk_chains(
            columns["before"],
            columns["after"],
            None if self._whole else self.alive,
            np.asarray(rows, np.int64),
            reach,
        )
