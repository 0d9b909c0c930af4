"""What may be attached to a memory: bytes, or a value that JSON gives back as it was."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from spector.config import Config
from spector.errors import InvalidInputError
from spector.messages import reading, shown
from spector.records import Attached

__all__ = ["parse_attachment"]

#: lists within lists: a reader of any program can follow so many
_DEEPEST: Final = 128
_HINT: Final = (
    "attach bytes, or what JSON has: texts, finite numbers, True, False, None, lists, and"
    " dictionaries whose keys are texts"
)


def parse_attachment(value: Any, config: Config) -> Attached:
    """An attachment as it is stored; the value may change afterwards.

    Raises:
        InvalidInputError: it is too large, or JSON would give back something else.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        with reading("attachment", hint="pass bytes(...) of it"):
            size = value.nbytes if isinstance(value, memoryview) else len(value)
            _check_size(size, config)
            return Attached("bytes", bytes(value))
    with reading("attachment", hint=_HINT):
        _check(value, config)
        try:
            data = json.dumps(
                value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
            ).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise InvalidInputError(
                f"the attachment cannot be written as JSON: {error}", hint=_HINT
            ) from None
    _check_size(len(data), config)
    return Attached("json", data)


def _check_size(size: int, config: Config) -> None:
    most = config.max_attachment_bytes
    if size > most:
        raise InvalidInputError(
            f"the attachment has {size:,} bytes, the limit is {most:,}",
            hint="keep it in a file and attach its path, or raise Config.max_attachment_bytes",
        )


def _check(value: Any, config: Config) -> None:
    """Refuse what JSON has not, what is nested too deeply, and what is too long already."""
    room = config.max_attachment_bytes
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        room -= 1
        if isinstance(each, str):
            room -= len(each)
        elif isinstance(each, dict):
            for key in each:
                if not isinstance(key, str):
                    raise InvalidInputError(
                        f"a dictionary in the attachment has the key {shown(key)}, which JSON"
                        " would make a text",
                        hint="make its keys texts: {str(key): value}",
                    )
                room -= len(key) + 3
            waiting += ((inner, depth + 1) for inner in each.values())
        elif isinstance(each, (list, tuple)):
            waiting += ((inner, depth + 1) for inner in each)
        elif isinstance(each, float) and not math.isfinite(each):
            raise InvalidInputError(
                f"the attachment holds {each}, which JSON has not",
                hint="leave it out, or write None or a text",
            )
        elif not isinstance(each, (int, float)) and each is not None:
            raise InvalidInputError(
                f"the attachment holds a {type(each).__name__}, which JSON has not", hint=_HINT
            )
        if depth > _DEEPEST:
            raise InvalidInputError(
                f"the attachment is nested more than {_DEEPEST} deep, or contains itself",
                hint="attach the bytes of it: json.dumps(...).encode()",
            )
        if room < 0:
            _check_size(config.max_attachment_bytes - room, config)
