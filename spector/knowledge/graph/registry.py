"""The kinds of relations: built-in ones, and those that callers register.

An edge is stored once. Of a symmetric kind the smaller id is its source; an inverse name turns the
edge round. So two callers who say the same thing from two ends store the same row.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Final

from spector.errors import InvalidInputError, UnknownRelationError
from spector.messages import shown
from spector.records import BUILTIN_KINDS, RelationKind

__all__ = ["BUILTIN_KINDS", "Registry"]

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Registry:
    """Kinds by name; spellings of other systems (``IS_A``, ``Part-Of``) are accepted.

    Args:
        registered: Kinds of the store, beside the built-in ones.
    """

    def __init__(self, registered: Iterable[RelationKind] = ()) -> None:
        self._kinds: dict[str, RelationKind] = {each.name: each for each in BUILTIN_KINDS}
        self._inverses: dict[str, str] = {
            each.inverse: each.name for each in BUILTIN_KINDS if each.inverse is not None
        }
        for each in registered:
            self.add(each)

    def __iter__(self) -> Iterator[RelationKind]:
        return iter(self._kinds.values())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _spelt(name) in {*self._kinds, *self._inverses}

    def add(self, kind: RelationKind) -> RelationKind:
        """Register a kind; the same again is no change.

        Raises:
            InvalidInputError: The name is malformed, taken with another meaning, or a symmetric
                kind has an inverse.
        """
        name = self._free_name(kind.name, "name")
        inverse = None if kind.inverse is None else self._free_name(kind.inverse, "inverse")
        if kind.symmetric and inverse is not None:
            raise InvalidInputError(
                f"{name!r} is symmetric and has the inverse {inverse!r}",
                hint="leave inverse= out: a symmetric relation reads the same from both ends",
            )
        if name == inverse:
            raise InvalidInputError(
                f"{name!r} is its own inverse", hint="register it with symmetric=True"
            )
        known = self._kinds.get(name)
        meaning = RelationKind(
            name=name,
            symmetric=kind.symmetric,
            inverse=inverse,
            prunable=kind.prunable,
            priority=kind.priority,
            origin=known.origin if known else kind.origin,
        )
        if known is not None:
            if known != meaning:
                raise InvalidInputError(
                    f"relation {name!r} is registered with another meaning: {known}",
                    hint="choose another name; a kind that edges use does not change",
                )
            return known
        if name in self._inverses:
            raise InvalidInputError(
                f"{name!r} is the inverse of {self._inverses[name]!r}",
                hint=f"link with {self._inverses[name]!r}, or choose another name",
            )
        if inverse is not None:
            if inverse in self._kinds or inverse in self._inverses:
                raise InvalidInputError(
                    f"inverse {inverse!r} of {name!r} is a relation of its own",
                    hint="choose another name for the inverse",
                )
            self._inverses[inverse] = name
        self._kinds[name] = meaning
        return meaning

    def resolve(self, name: str) -> tuple[RelationKind, bool]:
        """The kind of a name, and whether the name reads it from the target.

        Raises:
            UnknownRelationError: No such kind; the error names near ones.
        """
        spelt = _spelt(name) if isinstance(name, str) else ""
        if spelt in self._kinds:
            return self._kinds[spelt], False
        if spelt in self._inverses:
            return self._kinds[self._inverses[spelt]], True
        near = difflib.get_close_matches(spelt, [*self._kinds, *self._inverses], n=3, cutoff=0.5)
        raise UnknownRelationError(
            f"unknown relation {shown(name)}",
            hint=(f"did you mean {', '.join(near)}? " if near else "")
            + "graph.kinds() lists all; graph.register() adds one",
        )

    def stored(self, source: int, target: int, name: str) -> tuple[int, int, RelationKind]:
        """Ends and kind as an edge is stored: inverses turned round, symmetric ones ordered."""
        kind, reversed_ = self.resolve(name)
        if reversed_ or (kind.symmetric and target < source):
            source, target = target, source
        return source, target, kind

    def names(self, kinds: Iterable[str] | None) -> dict[str, str] | None:
        """Which way edges of the asked kinds count: kind -> "out", "in" or "both"; None: all."""
        if kinds is None:
            return None
        if isinstance(kinds, str):
            kinds = (kinds,)
        ways: dict[str, str] = {}
        for name in kinds:
            kind, reversed_ = self.resolve(name)
            way = "both" if kind.symmetric else "in" if reversed_ else "out"
            ways[kind.name] = way if ways.get(kind.name, way) == way else "both"
        return ways

    @staticmethod
    def _free_name(name: str, argument: str) -> str:
        spelt = _spelt(name) if isinstance(name, str) else ""
        if not _NAME.fullmatch(spelt):
            raise InvalidInputError(
                f"{argument} {shown(name)} is no name of a relation",
                hint="use 1 to 64 letters a-z, digits and underscores, a letter first",
            )
        return spelt


def _spelt(name: str) -> str:
    """The stored spelling of a name: ``IS_A``, ``is-a`` and ``Is A`` are ``is_a``."""
    return re.sub(r"[\s\-]+", "_", name.strip()).lower()
