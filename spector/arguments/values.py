"""Single values of plain types: each check returns the value as it is used, or names its fault."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeVar

import numpy as np

from spector.config import Config
from spector.errors import InvalidFilterError, InvalidInputError, InvalidScopeError
from spector.messages import items_of, reading, shown
from spector.process import keeps
from spector.records import KEY_BYTES, UserSummary, stored_namespace

#: a thousand years
_MOST_SECONDS = 31_556_952_000.0
_Callback = TypeVar("_Callback")


def refusal(value: Any, name: str, hint: str) -> InvalidInputError:
    """The error of an argument with this value."""
    return InvalidInputError(f"{name} is {shown(value)}", hint=hint)


def parse_number(value: Any, name: str, low: float, high: float, advice: str = "") -> float:
    """A finite number in ``low..high`` as a float; booleans are not numbers."""
    if type(value) is float and low <= value <= high:  # NaN fails the comparison
        return value
    numbers = (int, float, np.floating, np.integer)
    is_number = isinstance(value, numbers) and not isinstance(value, bool)
    # compared before it is converted: an integer may be too large for a float
    if not is_number or not low <= value <= high:
        raise refusal(
            value,
            name,
            f"pass a number in {low:g}..{high:g}{advice and f'; {advice}'}",
        )
    return float(value)


def parse_integer(
    value: Any, name: str, low: int, high: int | None = None, advice: str = ""
) -> int:
    """An integer of Python or NumPy in ``low..high``; booleans are not integers."""
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or value < low or (high is not None and value > high):
        wanted = f"of at least {low}" if high is None else f"in {low}..{high}"
        raise refusal(value, name, f"pass an integer {wanted}{advice and f'; {advice}'}")
    return int(value)


def parse_duration_ms(value: Any, name: str) -> int:
    """Milliseconds of a positive time, which is a number of seconds or a `timedelta`."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, (int, float, np.integer, np.floating)) and seconds == 0:
        raise InvalidInputError(f"{name} is 0", hint="pass more seconds, or forget it instead")
    return max(
        1,
        round(
            1000
            * parse_number(
                seconds, name, 0.0, _MOST_SECONDS, "it is the number of seconds, or a timedelta"
            )
        ),
    )


def parse_switch(value: Any, name: str) -> bool:
    """True or False, of Python or NumPy; nothing else counts as either."""
    if not isinstance(value, (bool, np.bool_)):
        raise refusal(value, name, f"pass {name}=True or {name}=False")
    return bool(value)


def parse_truth(value: object, name: str) -> bool:
    """The truth of any value, for switches that take whatever Python can test.

    Raises:
        InvalidInputError: testing it fails.
    """
    with reading(name, hint=f"pass {name}=True or {name}=False"):
        return bool(value)


def parse_callback(value: _Callback, name: str) -> _Callback:
    """A function that is called later, or None.

    Raises:
        InvalidInputError: it cannot be called.
    """
    if value is None or callable(value):
        return value
    raise refusal(value, name, f"pass a function, or leave {name} out")


def parse_enum(kind: Any, value: Any, name: str) -> Any:
    """A member of ``kind`` from itself, its name in any case, or its number."""
    if isinstance(value, kind):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value in iter(kind):
        return kind(value)
    if isinstance(value, str) and value.upper() in kind.__members__:
        return kind[value.upper()]
    known = ", ".join(member.lower() for member in kind.__members__)
    raise InvalidInputError(f"unknown {name} {shown(value)}", hint=f"one of: {known}")


def several(value: Any, name: str, expected: str) -> tuple[Any, ...]:
    """One or several values as a tuple."""
    if isinstance(value, (str, int)):
        return (value,)
    if not isinstance(value, Iterable):
        raise InvalidFilterError(
            f"{name}: got {type(value).__name__}", hint=f"pass {expected}, or leave it out"
        )
    return tuple(items_of(value, name, InvalidFilterError))


# Keys of memories, and the namespaces within which a key is unique.

#: labels of a namespace
_MOST_LABELS: Final = 32


def parse_key(key: Any, name: str = "key") -> str:
    """A key as it is given: nothing is trimmed, folded or composed."""
    text = _text(key, name)
    if not text:
        raise InvalidInputError(f"{name} is empty", hint=f"leave {name} out, or name something")
    return text


def parse_prefix(prefix: Any) -> str:
    """The beginning of keys; "" is that of every key."""
    return _text(prefix, "key_prefix")


def parse_namespace(namespace: Any) -> str:
    """A namespace as it is stored: each of its labels, and what ends a label.

    One text is one label, None and () are the outermost namespace.
    """
    labels = (namespace,) if isinstance(namespace, str) else namespace
    labels = () if labels is None else labels
    if not isinstance(labels, (tuple, list)) or len(labels) > _MOST_LABELS:
        raise refusal(
            namespace,
            "namespace",
            f'pass at most {_MOST_LABELS} labels: namespace=("users", "ada")',
        )
    if {*map(type, labels)} <= {str}:
        return _stored(tuple(labels))
    return stored_namespace([_label(each) for each in labels])


@keeps(4096)
def _stored(labels: tuple[str, ...]) -> str:
    return stored_namespace([_label(each) for each in labels])


def _label(label: Any) -> str:
    text = _text(label, "a label of namespace")
    if not text or "\0" in text:
        raise InvalidInputError(
            f"a label of namespace is {shown(label)}",
            hint="pass a text that is not empty, without NUL",
        )
    return text


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise refusal(value, name, "pass a text: str(...)")
    text = value if type(value) is str else str.__str__(value)
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} cannot be stored as UTF-8: {error.reason} at {error.start}",
            hint='decode it with errors="replace"',
        ) from None
    if size > KEY_BYTES:
        raise InvalidInputError(
            f"{name} has {size} bytes, the limit is {KEY_BYTES}",
            hint="use a hash of what is longer",
        )
    return text


# Scopes: which user, agent and session a memory belongs to, and who says so.

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
