"""Verbs of a memory beyond storing, recalling and forgetting: sessions."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, cast

from spector.arguments import check_scope
from spector.facets import Faceted
from spector.kernel.contract import ScoringProfile, get_profile
from spector.process import verb
from spector.providers import token_counter
from spector.session import Remembering, Session, SessionKey

__all__ = ["Verbs"]

Id = str | None


class Verbs(Faceted):
    """What has the facets of a memory, and verbs that need several of its parts."""

    @verb
    def session(
        self, session_id: Id = None, *, user_id: Id = None, agent_id: Id = None,
        profile: str | ScoringProfile | None = None,
        tokenizer: str | Callable[[str], int] | None = None,
    ) -> Session:
        """The session of a user, an agent and an id, begun if there is none.

        The same three give the same session; others share nothing with it. It lives in this
        process and ends by ``end()``, with its ``with`` block, after ``SessionConfig.idle_s``
        (4 hours) without a call, and when the memory is closed.

        Args:
            session_id: of the conversation; 32 hex digits are made up without one.
            user_id: recalls are restricted to this user's memories; None restricts nothing.
            agent_id: what is stored is of this agent; what is recalled is of all.
            profile: ranks the session's recalls; the memory's own if None.
            tokenizer: counts the tokens of its zones and contexts, as in :meth:`context`.

        Raises:
            InvalidInputError: naming the argument.
        """
        parts = self._parts
        parts.access.ensure()
        scopes: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id}
        named = uuid.uuid4().hex if session_id is None else session_id
        for name, value in (*scopes.items(), ("session_id", named)):
            check_scope(value, name, parts.config)
        ranking = None if profile is None else get_profile(profile)
        counter = token_counter(tokenizer)
        state = parts.sessions.state(SessionKey(user_id, agent_id, named), counter)
        return self._session_of(state, ranking, tokenizer)

    @verb
    def sessions(self) -> list[Session]:
        """The live sessions of this process, in the order in which they began."""
        self._parts.access.ensure()
        return [self._session_of(each) for each in self._parts.sessions.states()]

    def _session_of(self, state: Any, profile: Any = None, tokenizer: Any = None) -> Session:
        registry, memory = self._parts.sessions, cast(Remembering, self)
        found: Session = registry.handle(state, lambda: Session(memory, state, registry))
        found.prefer(profile, tokenizer)
        return found
