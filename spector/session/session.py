"""A session: what one conversation has in mind, and the memory behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol, Self

from spector.arguments import as_user, parse_integer, parse_number, parse_switch, several
from spector.errors import (
    InvalidInputError,
    InvalidScopeError,
    SessionClosedError,
    StoreReadOnlyError,
)
from spector.kernel.contract import ScoringProfile
from spector.messages import shown, with_hints
from spector.process import Sole
from spector.providers import token_counter
from spector.recall import Context, quoted_line
from spector.records import HitList, MemoryRecord, ObserveResult, SessionReport
from spector.session.buffer import SensoryBuffer, SessionBuffer, SynapticTag
from spector.session.registry import Sessions
from spector.session.state import SessionState, Zones


class Remembering(Protocol):
    """The verbs of a memory that a session hands its calls on to."""

    @property
    def layers(self) -> Any: ...

    def observe(self, message: Any, **observe: Any) -> ObserveResult: ...
    def remember(self, text_or_message: Any, **fields: Any) -> MemoryRecord: ...
    def get(self, target: int) -> MemoryRecord: ...
    def recall(self, cue: Any = None, **recall: Any) -> HitList: ...
    def context(self, cue: Any = None, **context: Any) -> Context: ...
    def session(self, session_id: str | None = None, **scopes: Any) -> Session: ...


@with_hints
class Session(Sole):
    """One conversation with a user: what is in mind now, and what may be worth keeping.

    Made by :meth:`Memory.session`; thread-safe; a context manager. It lives in this process, and
    nothing of it is on disk before it ends: entries of its buffer that mattered become memories
    then. Its verbs are those of the memory, restricted to the user.
    """

    def __init__(self, memory: Remembering, state: SessionState, registry: Sessions) -> None:
        self._memory = memory
        self._registry = registry
        self._profile: ScoringProfile | None = None
        self._tokenizer: str | Callable[[str], int] | None = None
        #: what the steps of observing read and write
        self.state = state

    def __repr__(self) -> str:
        key = self.state.key
        scopes = [f"{name}={value!r}" for name, value in key._asdict().items() if value is not None]
        return f"Session({', '.join(scopes)}{', ended' if self.is_ended else ''})"

    def prefer(self, profile: Any, tokenizer: Any) -> None:
        """Rank recalls by a profile and count tokens by a tokenizer from now on, if given."""
        if profile is not None:
            self._profile = profile
        if tokenizer is not None and tokenizer is not self._tokenizer:
            self._tokenizer = tokenizer
            self.state.count_by(token_counter(tokenizer))

    # -- what it has ------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The session's id, which its memories have."""
        return self.state.key.session_id

    @property
    def user_id(self) -> str | None:
        """The user whose memories it recalls; None for all memories."""
        return self.state.key.user_id

    @property
    def agent_id(self) -> str | None:
        """The agent whose memories it stores."""
        return self.state.key.agent_id

    @property
    def speaker(self) -> str | None:
        """How the talk names the user: what one so named says is the user's."""
        return self.state.speaker

    @property
    def mood(self) -> float | None:
        """Valence of the user's last message that had any, -1..1; None after 30 minutes."""
        return self.state.mood

    @property
    def started_at(self) -> datetime:
        """When it began, by the memory's clock."""
        return self.state.started_at

    @property
    def sensory(self) -> SensoryBuffer:
        """The newest raw inputs."""
        return self.state.sensory

    @property
    def buffer(self) -> SessionBuffer:
        """The entries that matter now, nine at most."""
        return self.state.buffer

    @property
    def zones(self) -> Zones:
        """The budgets of a prompt: system, active and staging."""
        return self.state.zones

    @property
    def tags(self) -> tuple[SynapticTag, ...]:
        """The tags of weak memories that a strong one may strengthen."""
        self.state.tags.drop_expired()
        return self.state.tags.tags

    @property
    def is_ended(self) -> bool:
        """Whether it has ended; its verbs then raise."""
        return self.state.report is not None

    # -- verbs ------------------------------------------------------------------------------------

    def observe(self, message: str | Mapping[str, Any], **observe: Any) -> ObserveResult:
        """Take in a message of this session; see :meth:`Memory.observe`.

        It knows who was named before, what was just talked about, and what a context has quoted.

        Raises:
            SessionClosedError: the session has ended.
            InvalidScopeError: another user, agent or session was named.
        """
        self._use()
        self._registry.tools.interrupt()
        return self._memory.observe(self._heard(message), **self._own(observe))

    def remember(self, text_or_message: str | Mapping[str, Any], **fields: Any) -> MemoryRecord:
        """Store one memory of this session; see :meth:`Memory.remember`.

        A weak one (importance below 0.5) is tagged for four hours; a strong one (from 0.7)
        strengthens the tagged ones by 1.3, each once.

        Raises:
            SessionClosedError: the session has ended.
            InvalidScopeError: another user, agent or session was named.
        """
        self._use()
        text_or_message = self._heard(text_or_message)
        record = self._memory.remember(text_or_message, **self._own(fields))
        entry = self._sense(text_or_message)
        tags = self.state.tags
        lasting = bool(self._registry.tools.lasting([record.id]))
        captured = tags.capture(record.importance) if lasting else ()
        if captured:
            try:
                self._registry.tools.strengthen(captured, tags.factor)
            except BaseException:
                tags.release(captured)
                raise
        self.state.note_stored(record, entry_id=entry, tags=lasting)
        return record

    def recall(
        self,
        cue: str | Mapping[str, Any] | None = None,
        *,
        learn: bool = True,
        stage: int | None = None,
        **recall: Any,
    ) -> HitList:
        """The user's memories that come to mind, of all sessions and agents.

        Args:
            learn: mark the hits as used, which strengthens them. False changes nothing.
            stage: of the best hits, how many enter the zone ``staging`` as quoted lines;
                ``SessionConfig.stage`` (3) if None, 0 for none.
            **recall: the arguments of :meth:`Memory.recall`. ``session_id`` and ``agent_id``
                restrict it further.

        Raises:
            SessionClosedError: the session has ended.
            StoreReadOnlyError: ``learn``, and the memory was opened for reading.
        """
        self._use()
        self._registry.tools.interrupt()
        most = self._registry.staged if stage is None else parse_integer(stage, "stage", 0)
        hits = self._memory.recall(cue, learn=self._learns(learn), **self._reading(recall))
        self.state.note_recalled([hit.record for hit in hits[: self._registry.staged]])
        about = cue if isinstance(cue, str) else None
        for hit in hits[:most]:
            known = self.zones.get(hit.id)
            if known is None or known.zone == "staging":
                line = quoted_line(hit, self.state.counter, self.state.staging_tokens, about)
                if line:
                    self.zones.add(hit.id, line, "staging", hit.importance)
        return hits

    def context(
        self,
        cue: str | Mapping[str, Any] | None = None,
        *,
        learn: bool = True,
        max_tokens: int = 1000,
        **context: Any,
    ) -> Context:
        """The user's memories for a cue as a block of text; see :meth:`Memory.context`.

        The hot memories come first (``hot=False`` leaves them out), and concepts that the hits
        bring to mind last (``knowledge=False``). What it quotes is remembered: a message that only
        repeats it says nothing new.

        Raises:
            SessionClosedError: the session has ended.
            StoreReadOnlyError: ``learn``, and the memory was opened for reading.
        """
        self._use()
        given = self._reading(context)
        given.setdefault("hot", True)
        given.setdefault("knowledge", True)
        if self._tokenizer is not None:
            given.setdefault("tokenizer", self._tokenizer)
        found = self._memory.context(cue, learn=self._learns(learn), max_tokens=max_tokens, **given)
        self.state.note_recalled([hit.record for hit in found.hits[: self._registry.staged]])
        self.state.note_quoted(
            [hit.record for hit in (*found.hits, *found.standing, *found.pinned, *found.hot)]
        )
        return found

    def outcome(
        self,
        tool: str,
        success: bool,
        *,
        goal: str | None = None,
        confidence: float = 1.0,
        objects: Iterable[str] = (),
    ) -> MemoryRecord:
        """Store what came of using a tool, as an episode that sleep learns from.

        Args:
            tool: what was used.
            success: whether it did what it should.
            goal: what it was used for.
            confidence: 0..1, how sure the decision to use it was.
            objects: what it was used on.

        Raises:
            SessionClosedError: the session has ended. InvalidInputError: naming the argument.
        """
        self._use()
        things = several(objects, "objects", "names of things")
        for name, value in (("tool", tool), ("goal", goal)):
            if not (isinstance(value, str) and value.strip()) and (name, value) != ("goal", None):
                raise InvalidInputError(f"{name} is {shown(value)}", hint="pass a name as a str")
        worked = parse_switch(success, "success")
        what = f" for {goal}" if goal else ""
        on = f" with {', '.join(map(str, things))}" if things else ""
        stored = self._memory.layers["episodes"].store(
            f"{tool} {'succeeded' if worked else 'failed'}{what}{on}",
            **self.state.key._asdict(),
            role="tool",
            episode={
                "tool": tool,
                "success": worked,
                "goal": goal,
                "objects": things,
                "decision_confidence": parse_number(confidence, "confidence", 0.0, 1.0),
            },
        )
        record = self._memory.get(stored)
        self.state.note_stored(record)
        return record

    def new(self, session_id: str | None = None) -> Session:
        """End this session and begin the next one of the same user and agent.

        What the zone ``system`` has goes along; active and staging begin empty. A daemon that
        sleeps in the background is woken.

        Raises:
            SessionClosedError: this one has ended before.
        """
        self._use()
        kept = self.zones.items("system")
        self.end()
        made = self._memory.session(
            session_id,
            user_id=self.user_id,
            agent_id=self.agent_id,
            profile=self._profile,
            tokenizer=self._tokenizer,
            speaker=self.speaker,
        )
        for each in reversed(kept):
            made.zones.add(each.item_id, each.content, each.zone, each.importance)
        self._registry.tools.wake()
        return made

    def end(self) -> SessionReport:
        """End the session: keep what mattered, drop the rest. Idempotent.

        Entries of the buffer that no lasting memory has, and that were accessed twice or are of
        importance 0.6 or more, become episodic memories.

        Raises:
            SpectorError: an entry could not be kept, say on a full disk; the session has ended all
                the same.
        """
        return self._registry.end(self.state)

    def stats(self) -> dict[str, Any]:
        """Figures of the session, JSON-ready."""
        return {**self.state.stats(), "ended": self.is_ended}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            self.end()
            return
        try:
            self.end()
        except Exception as failure:  # the error of the body is what the caller must see
            error.add_note(f"the session could not keep all that it should: {failure}")

    # -- helpers ----------------------------------------------------------------------------------

    def _use(self) -> None:
        """Note that the session is used.

        Raises:
            SessionClosedError: it has ended.
        """
        if self.is_ended:
            raise SessionClosedError(
                f"session {shown(self.id)} has ended",
                hint="begin another one with memory.session(...)",
            )
        self.state.use()

    def _learns(self, learn: bool) -> bool:
        """Whether a recall strengthens what it finds.

        Raises:
            StoreReadOnlyError: it should, and the memory was opened for reading.
        """
        if parse_switch(learn, "learn") and not self._registry.tools.may_write():
            raise StoreReadOnlyError(
                'a session strengthens what it recalls, and the memory was opened with mode="r"',
                hint="pass learn=False to read only",
            )
        return learn

    def _own(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of a memory with the scopes of the session.

        Raises:
            InvalidScopeError: other scopes were given.
        """
        out = dict(fields)
        for name, value in {**self.state.key._asdict(), "scopes_from_message": False}.items():
            if out.setdefault(name, value) != value:
                raise InvalidScopeError(
                    f"{name} is {shown(out[name])}, and the session's is {shown(value)}",
                    hint=f"leave {name} out, or begin a session of its own",
                )
        return out

    def _reading(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a recall, restricted to the user.

        Raises:
            InvalidScopeError: another user was named.
        """
        out = dict(given)
        if out.setdefault("user_id", self.user_id) != self.user_id:
            raise InvalidScopeError(
                f"user_id is {shown(out['user_id'])}, and the session's is {shown(self.user_id)}",
                hint="leave user_id out, or begin a session of that user",
            )
        if self._profile is not None:
            out.setdefault("profile", self._profile)
        if self._registry.tools.associates(out):
            out.setdefault("near_session", self.id)
            if self.mood is not None:
                out.setdefault("mood", self.mood)
        return out

    def _heard(self, message: Any) -> Any:
        """A message as the user's own, if his name says so."""
        return message if self.speaker is None else as_user(message, self.speaker)

    def _sense(self, message: Any) -> str | None:
        """Let an input enter the sensory buffer; returns its entry."""
        if isinstance(message, Mapping):
            content, source = message.get("content", message.get("text")), message.get("role")
        else:
            content, source = message, None
        if not isinstance(content, str):
            return None
        named = source if isinstance(source, str) and source else "user"
        return self.sensory.ingest(content, source=named).entry_id
