"""Keys of memories, and the namespaces within which a key is unique."""

from __future__ import annotations

from typing import Any, Final

from spector.errors import InvalidInputError
from spector.messages import shown
from spector.records import KEY_BYTES, stored_namespace

__all__ = ["parse_key", "parse_namespace", "parse_prefix"]

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
        raise InvalidInputError(
            f"namespace is {shown(namespace)}",
            hint=f'pass at most {_MOST_LABELS} labels: namespace=("users", "ada")',
        )
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
        raise InvalidInputError(f"{name} is {shown(value)}", hint="pass a text: str(...)")
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
