"""``forget``: which memories a caller means, then their rows, then on request their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spector.arguments import (
    SCOPES,
    ids_in,
    parse_integer,
    parse_namespace,
    parse_switch,
    parse_truth,
)
from spector.errors import InvalidFilterError, InvalidInputError, UnknownRecordError
from spector.records import ForgetReport
from spector.search import Listing
from spector.store.catalog import Scope
from spector.store.payloads import KeyPath
from spector.tiers import Finder, key_path
from spector.upkeep import Keeper
from spector.write import Forgetter, Manner, refuse_missing


class Forgetting:
    """Chooses what to forget, and has it forgotten and erased."""

    def __init__(
        self, listing: Listing, finder: Finder, forgetter: Forgetter, keeper: Keeper
    ) -> None:
        self._listing = listing
        self._finder = finder
        self._forgetter = forgetter
        self._keeper = keeper

    def forget(
        self,
        target: Any,
        selection: dict[str, Any],
        labels: tuple[Any, Any, Any],
        *,
        key: Any = None,
        namespace: Any = None,
        if_revision: Any = None,
        **how: Any,
    ) -> ForgetReport:
        """Forget ids, a key or a selection; see ``Memory.forget``.

        Args:
            labels: user, agent and session.
            how: the fields of `Manner`.
        """
        scope, manner = self._listing.scope(*labels), _manner(**how)
        expected = None if if_revision is None else parse_integer(if_revision, "if_revision", 0)
        path = None if key is None else key_path(target, key, namespace, scope)
        was_kept = manner.purge and path is not None and self._finder.is_kept(path)
        if manner.purge:  # no selection finds what has expired, and the files have it still
            self._forgetter.forget_expired()
        if path is not None:
            try:
                target = self._keyed(path, scope, manner, was_kept=was_kept)
            except UnknownRecordError:
                refuse_missing(key, expected)
                raise
        elif namespace is not None:
            means_keys = "key_prefix" in selection or selection.get("below")
            if not (parse_namespace(namespace) or means_keys):
                raise InvalidFilterError(
                    "forget was given the outermost namespace without a key",
                    hint='pass key=, or key_prefix="" to forget every memory with a key in it',
                )
            selection["namespace"] = namespace
        if isinstance(target, Mapping):
            if "where" in selection:
                raise InvalidFilterError("a filter was given twice", hint="combine them with and")
            selection["where"], target = target, None
        ids = None if target is None else ids_in(target, "target")
        if expected is not None and (ids is None or len(ids) != 1):
            raise InvalidInputError(
                "if_revision is the revision of one memory", hint="name that one by its id or key"
            )
        if ids is not None:
            if selection:
                raise InvalidFilterError("give either ids or a filter, not both")
            report, needles = self._forgetter.forget_ids(ids, manner, scope, expected)
        else:
            given = dict(zip(SCOPES, labels, strict=True))
            chosen = self._listing.select({**selection, **given}, "forget")
            if chosen.is_everything:
                raise InvalidFilterError(
                    "forget was given neither ids nor a filter",
                    hint="to empty a store, delete its directory or forget(tiers=[...])",
                )
            scope = chosen.scope
            report, needles = self._forgetter.forget_found(
                lambda: [each.id for each, _ in self._listing.records(chosen, proven=True)],
                manner,
                chosen.only_scopes,
            )
        return self._keeper.erase_forgotten(report, needles, scope) if manner.purge else report

    def _keyed(self, path: KeyPath, scope: Scope, manner: Manner, *, was_kept: bool) -> list[int]:
        """The memory that has a key; none when it is gone, and the purge erases the last of it."""
        try:
            found = self._finder.find_by_key(path, scope)
        except UnknownRecordError:
            if (
                manner.purge
                and not self._finder.has_key(path)
                and (self._forgetter.unmark(path) or was_kept)
            ):
                return []
            raise
        if manner.purge:
            self._forgetter.unmark(path)
        return [found]


def _manner(
    *, purge: Any, verify: Any, include_protected: Any, skip_protected: Any, cascade: Any = True
) -> Manner:
    manner = Manner(
        purge=parse_truth(purge, "purge"),
        verify=parse_truth(verify, "verify"),
        include_protected=parse_switch(include_protected, "include_protected"),
        skip_protected=parse_switch(skip_protected, "skip_protected"),
        cascade=parse_switch(cascade, "cascade"),
    )
    if manner.include_protected and manner.skip_protected:
        raise InvalidInputError(
            "include_protected and skip_protected say opposite things", hint="pass one of the two"
        )
    if manner.verify and not manner.purge:
        raise InvalidInputError(
            "verify=True searches for what purge=True has erased", hint="pass both"
        )
    return manner
