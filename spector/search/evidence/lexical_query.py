"""A cue as it is put to the words of the stores: terms, names, aliases, speakers."""

from __future__ import annotations

from dataclasses import dataclass, field

from spector._types import I64
from spector.language.words import Term
from spector.lexical import Lookup
from spector.search.evidence.named import AliasMatch, Name

__all__ = ["LexicalQuery"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalQuery:
    """What the words of a cue ask for.

    Attributes:
        kind: "fact", "talk" or "request": how much words count.
        rows: memories of all stores.
        terms: what is looked up; ``words`` has their postings, by store.
        about: code of the one speaker that the cue is about, by store; -1 for none.
        said_by: code of the one speaker whose words are asked for ("what did I say about ..."), by
            store; -1 for none.
        is_name: the cue is a word or two and no question, see
            `spector.language.cues.intent.is_name`.
        names: what names memories, see `identify_names`.
        aliases: the aliases of memories that the cue has, see
            `spector.search.evidence.named.match_aliases`.
        proper_names: words with a capital, not at the start of a sentence; of questions of fact.
    """

    kind: str
    rows: int
    terms: tuple[Term, ...]
    words: tuple[Lookup, ...]
    about: tuple[int, ...] = ()
    said_by: tuple[int, ...] = ()
    is_name: bool = False
    names: tuple[Name, ...] = ()
    aliases: AliasMatch | None = None
    proper_names: tuple[str, ...] = ()
    _df: list[I64] = field(default_factory=list, repr=False, compare=False)

    def df(self) -> I64:
        """(t,) memories of all stores that have each term."""
        if not self._df:
            first, *others = (lookup.df for lookup in self.words)
            self._df.append(sum(others, first))
        return self._df[0]
