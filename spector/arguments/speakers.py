"""Talks of several people, one of them the user: what has his name is his own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spector.arguments.values import refusal
from spector.chat import as_message
from spector.language.statements import USERS, person_of, speaker_in, speaker_opening
from spector.language.words import plain

#: keys under which a message names its speaker, beside its metadata
_NAMES: Final = ("role", "name")


def parse_speaker(value: Any, name: str = "speaker") -> str | None:
    """The name of the user in a talk; None for none.

    Raises:
        InvalidInputError: it is no name.
    """
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or person_of(None, value) is None:
        raise refusal(value, name, f'pass the user\'s name, as in {name}="Ann"')
    return value.strip()


def as_user(message: Any, user: str) -> Any:
    """A message of a talk as the user's own where it is that of one so named.

    What another person says is his: a label in the text names him. The label of the user leaves.

    Args:
        user: how the talk names the user.
    """
    from spector.language.frames import is_label  # most calls need none of them

    item = as_message(message)
    if not isinstance(item, (str, Mapping)):
        return message
    given: dict[str, Any] = {"text": item} if isinstance(item, str) else dict(item)
    role, metadata = given.get("role"), given.get("metadata")
    named = given.get("name") or speaker_in(role, metadata)
    person = person_of(role if isinstance(role, str) else None, str(named) if named else None)
    if person is None and role is not None and plain(str(role)).strip() not in USERS:
        return message  # an assistant's, or that of a tool
    key = "text" if "text" in given else "content"
    text = given.get(key)
    opening = speaker_opening(text) if isinstance(text, str) else None
    label = opening if opening and opening.proper and not opening.role else None
    label = None if label and is_label(label.name) else label
    if person is None and label is not None and not _is_same(label.name, user):
        return {**given, "metadata": {**(metadata or {}), "speaker": label.name}}
    if not _is_same(label.name if person is None and label else person, user):
        return message
    own = {name: value for name, value in given.items() if name not in _NAMES}
    if isinstance(text, str) and label is not None and _is_same(label.name, user):
        own[key] = text[label.start :].lstrip() or text
    if isinstance(metadata, Mapping):
        own["metadata"] = {
            name: value for name, value in metadata.items() if name not in ("speaker", "name")
        }
    return {"role": "user", **own}


def _is_same(name: str | None, other: str) -> bool:
    return name is not None and plain(name).strip() == plain(other).strip()
