"""Scopes: which user, agent and session a memory belongs to, and who says so."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

from spector.config import Config
from spector.errors import InvalidInputError, InvalidScopeError
from spector.messages import shown
from spector.records import UserSummary

__all__ = [
    "SCOPES",
    "check_scope",
    "parse_move",
    "refuse_scopes",
    "refuse_scopes_in",
    "without_owners",
]

#: the labels that say whose a memory is
SCOPES: Final = ("user_id", "agent_id", "session_id")
#: a note on a file
_LEFT_OUT: Final = (
    "users and agents that its messages name were left out; scopes_from_message=True takes them"
)


def check_scope(value: Any, name: str, config: Config) -> str | None:
    """A scope id or short label: a printable, non-empty str."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidScopeError(
            f"{name} must be a non-empty printable str, got {shown(value)}",
            hint=f"pass {name}=user.id"
            if isinstance(value, UserSummary)
            else f"convert it: {name}=str(...)",
        )
    if len(value.encode("utf-8", "replace")) > config.max_scope_bytes:
        raise InvalidScopeError(
            f"{name} is longer than {config.max_scope_bytes} bytes",
            hint="use a shorter one, or raise Config.max_scope_bytes",
        )
    return value if type(value) is str else str.__str__(value)


def refuse_scopes(message: Mapping[str, Any], call: Mapping[str, Any], *, may_fill: bool) -> None:
    """Refuse a message that says whose it is: it comes from a client.

    Args:
        call: the scopes of the call, which the message may repeat.
        may_fill: the message may have scopes that the call leaves open.

    Raises:
        InvalidScopeError: it has another one.
    """
    for name in SCOPES:
        own, given = message.get(name), call.get(name)
        if own is None or (may_fill and given is None):
            continue
        if not isinstance(own, str) or own != given:
            raise InvalidScopeError(
                f"the message has the {name} {shown(own)}, and the call has "
                f"{'none' if given is None else shown(given)}",
                hint=f"leave {name} out of the message, or pass scopes_from_message=True if it is"
                " yours to say"
                if given is None
                else f"leave {name} out of the message",
            )


def refuse_scopes_in(
    messages: Any,
    call: Mapping[str, Any],
    *,
    may_fill: bool,
    is_own: Callable[[Mapping[str, Any]], bool] = lambda _: False,
) -> None:
    """The same for each message of a list, before the first of them is stored.

    Args:
        is_own: whether the caller wrote it, and no client.
    """
    if isinstance(messages, (list, tuple)):
        for each in messages:
            if isinstance(each, Mapping):
                refuse_scopes(each, call, may_fill=may_fill or is_own(each))


def without_owners(
    message: dict[str, Any], notes: list[str], *, kept: Container[str] = ()
) -> dict[str, Any]:
    """A message of a file without the user and agent that it names; ``notes`` then say so.

    Args:
        kept: those of the two that it keeps.
    """
    named = [name for name in SCOPES[:2] if name not in kept and message.get(name) is not None]
    if named and _LEFT_OUT not in notes:
        notes.append(_LEFT_OUT)
    return {name: value for name, value in message.items() if name not in named}


def parse_move(move_to: Any, config: Config) -> dict[str, str | None]:
    """The new scopes of a memory, by name; None removes one."""
    if move_to is None:
        return {}
    if not isinstance(move_to, Mapping) or not move_to:
        raise InvalidInputError(
            f"move_to must name scopes and their new values, got {type(move_to).__name__}",
            hint='write it like move_to={"user_id": "b"}',
        )
    for name in move_to:
        if name not in SCOPES:
            raise InvalidInputError(
                f"move_to has the unknown key {name!r}", hint=f"one of: {', '.join(SCOPES)}"
            )
    return {name: check_scope(value, name, config) for name, value in move_to.items()}
