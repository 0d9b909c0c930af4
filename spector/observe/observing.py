"""``Memory.observe`` as its parts see it: arguments checked, sessions found, batches made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

from spector.arguments import (
    SCOPES,
    check_scope,
    parse_callback,
    parse_switch,
    refuse_scopes_in,
)
from spector.clock import zone_named
from spector.config import Config
from spector.errors import InvalidInputError, SpectorError
from spector.messages import reading, shown
from spector.observe.jobs import SessionMemory
from spector.observe.messages import message_of
from spector.observe.observer import Observer, Options
from spector.process import each_elsewhere
from spector.records import Episode, ObserveResult

#: finds the session of (user, agent, session)
FindSession = Callable[[str | None, str | None, str], Any]
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Observing:
    """Observes messages of callers. Callers check that the store is open and writable."""

    observer: Observer
    session: FindSession
    config: Config

    def observe(self, message: Any, common: Mapping[str, Any], how: Mapping[str, Any]) -> Any:
        """Observe one message; see ``Memory.observe``."""
        return self._observe([message], common, how)[0]

    def observe_many(
        self,
        messages: Iterable[Any],
        common: Mapping[str, Any],
        how: Mapping[str, Any],
        progress: Progress | None,
        noted: Callable[[Any, ObserveResult], None],
    ) -> list[ObserveResult]:
        """Observe many messages; each batch is embedded in one call and committed as one.

        Args:
            noted: called with each message and what became of it.
        """
        parse_callback(progress, "progress")
        if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
            raise InvalidInputError(
                f"observe_many takes several messages, got one {type(messages).__name__}",
                hint="pass a list of them, or use observe for one",
            )
        with reading("messages"):
            total = len(messages) if isinstance(messages, Sized) else None
        names_scopes = parse_switch(how["scopes_from_message"], "scopes_from_message")
        refuse_scopes_in(messages, common, may_fill=names_scopes)
        out: list[ObserveResult] = []
        batch: list[Any] = []

        def commit() -> None:
            found = self._observe(batch, common, how)
            for message, result in zip(batch, found, strict=True):
                noted(message, result)
            out.extend(found)
            batch.clear()
            if progress is not None:
                progress(len(out), total)

        try:
            for message in each_elsewhere(messages):
                batch.append(message)
                if len(batch) == self.config.observe.batch:
                    commit()
            if batch:
                commit()
        except SpectorError as error:
            error.add_note(
                f"message {len(out) + 1} or a later one failed; the first {len(out)} are observed"
            )
            raise
        return out

    def _observe(
        self, items: Sequence[Any], common: Mapping[str, Any], how: Mapping[str, Any]
    ) -> list[ObserveResult]:
        given = dict(how)
        zone = given.pop("timezone", None)
        episode = given.pop("episode", None)
        if episode is not None and not isinstance(episode, Episode):
            raise InvalidInputError(
                f"episode is {shown(episode)}", hint="write it like spector.Episode(goal=...)"
            )
        names_scopes = parse_switch(how["scopes_from_message"], "scopes_from_message")
        parsed = [
            message_of(
                each,
                common,
                zone=self.config.zone if zone is None else zone_named(zone),
                data_source=given.get("data_source"),
                episode=episode,
                names_scopes=names_scopes,
            )
            for each in items
        ]
        options = Options(
            force=parse_switch(given.get("force", False), "force"),
            dry_run=parse_switch(given.get("dry_run", False), "dry_run"),
        )
        sessions = [self._session(each.scope) for each in parsed]
        return self.observer.observe(parsed, sessions, options)

    def _session(self, scope: tuple[Any, Any, Any]) -> SessionMemory | None:
        for name, value in zip(SCOPES, scope, strict=True):
            check_scope(value, name, self.config)
        user, agent, session = scope
        if session is None:
            return None
        found: SessionMemory = self.session(user, agent, session)
        return found
