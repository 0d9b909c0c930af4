"""Fields of a memory: each check returns the value as it is stored, or names its fault.

Most values are valid and of a plain type, so each check tries that case first and takes the slow
path only for the rest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.errors import (
    DimensionMismatchError,
    InvalidInputError,
    InvalidMetadataError,
    InvalidTagError,
    InvalidTextError,
    InvalidVectorError,
)
from spector.kernel.contract import squared
from spector.messages import counted, items_of, reading, said, shown
from spector.process import keeps
from spector.records import ALIAS_CHARS, MOST_ALIASES, Attached


def check_text(text: Any, config: Config) -> str:
    """``text`` itself when it can be stored."""
    if type(text) is str and text.isascii() and len(text) <= config.max_text_bytes:
        if _is_seen(text):
            return text
    elif not isinstance(text, str):
        raise InvalidTextError(
            f"the text must be a str, got {type(text).__name__}", hint="convert it first"
        )
    if not _is_seen(text):
        fault = "has only invisible characters" if text.strip() else "is empty"
        raise InvalidTextError(f"the text {fault}", hint="pass something worth remembering")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"the text cannot be stored as UTF-8: {error.reason} at {error.start}",
            hint='decode it with errors="replace"',
        ) from None
    if size > config.max_text_bytes:
        raise InvalidTextError(
            f"the text has {size} bytes, the limit is {config.max_text_bytes}",
            hint="split it into passages, or raise Config.max_text_bytes",
        )
    return text if type(text) is str else str.__str__(text)


def _is_seen(text: str) -> bool:
    """Whether a text has a character that is no space, control or mark of format."""
    return any(
        not each.isspace() and (each.isprintable() or category(each) not in ("Cc", "Cf"))
        for each in text
    )


def parse_tags(tags: Any, config: Config) -> tuple[str, ...]:
    """Distinct tags in the order given: trimmed, Unicode NFC, case kept."""
    if tags is None:
        return ()
    if type(tags) is not list or len(tags) > _FEW_TAGS:
        return _parse_tags(tags, config.max_tags, config.max_tag_bytes)
    try:
        return _few_tags(tuple(tags), config.max_tags, config.max_tag_bytes)
    except Exception:  # an unhashable one among them, or one whose own hash raises
        return _parse_tags(tags, config.max_tags, config.max_tag_bytes)


def _parse_tags(tags: Any, max_tags: int, max_bytes: int) -> tuple[str, ...]:
    if isinstance(tags, str):
        tags = (tags,)
    if not isinstance(tags, Iterable):
        raise InvalidTagError(
            f"tags must be strings, got {type(tags).__name__}", hint='write it like tags=["home"]'
        )
    out: dict[str, None] = {}
    for tag in items_of(tags, "tags", InvalidTagError):
        out[_tag(tag, max_bytes)] = None
        if len(out) > max_tags:
            raise InvalidTagError(
                f"more than {max_tags} tags",
                hint="use metadata for values; a tag filter works best with few tags",
            )
    return tuple(out)


#: the same few tags are used together again and again
_few_tags = keeps(4096)(_parse_tags)
_FEW_TAGS = 8


def _tag(tag: Any, max_bytes: int) -> str:
    if not isinstance(tag, str):
        raise InvalidTagError(
            f"a tag must be a str, got {type(tag).__name__}", hint="convert it: str(tag)"
        )
    return _clean_tag(tag if type(tag) is str else str.__str__(tag), max_bytes)


#: characters that NFC composes into one at most; a longer text is too long in any form
_COMPOSED = 4


@keeps(16_384)
def _clean_tag(tag: str, max_bytes: int) -> str:
    clean = tag.strip()
    if len(clean) <= _COMPOSED * max_bytes:
        from spector.language.words import normalize_unicode

        clean = normalize_unicode("NFC", clean)
    if not clean:
        raise InvalidTagError("a tag is empty", hint="leave it out")
    if not clean.isprintable():
        raise InvalidTagError(
            f"tag {shown(tag)} holds control or invisible characters", hint="remove them"
        )
    if len(clean.encode("utf-8", "replace")) > max_bytes:
        raise InvalidTagError(
            f"a tag is longer than {max_bytes} bytes: {clean[:40]}...",
            hint="put long values into metadata, or raise Config.max_tag_bytes",
        )
    return clean


def parse_aliases(aliases: Any) -> tuple[str, ...]:
    """Distinct names in the order given, trimmed; one text is one name."""
    if aliases is None:
        return ()
    from spector.lexical import name_words

    if isinstance(aliases, str):
        aliases = (aliases,)
    if not isinstance(aliases, Iterable) or isinstance(aliases, (bytes, Mapping)):
        raise InvalidInputError(
            f"aliases must be names, got {type(aliases).__name__}",
            hint='write it like aliases=["Ledger DB", "pgpay"]',
        )
    out: dict[str, None] = {}
    for alias in items_of(aliases, "aliases", InvalidInputError):
        if not isinstance(alias, str) or not name_words(alias):
            raise InvalidInputError(
                f"an alias must be a name, got {shown(alias)}", hint="leave it out"
            )
        name = " ".join(alias.split())
        if len(name) > ALIAS_CHARS or not name.isprintable():
            raise InvalidInputError(
                f"alias {shown(name)} is not a name of at most {ALIAS_CHARS} printable characters",
                hint="shorten it; a description belongs in the text",
            )
        out[name] = None
        if len(out) > MOST_ALIASES:
            raise InvalidInputError(
                f"more than {MOST_ALIASES} aliases", hint="keep the names that people use"
            )
    return tuple(out)


_encode_checked = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False
).encode
#: values that a shallow copy does not share
_PLAIN = {str, int, float, bool, type(None)}
_STR = {str}


def _make_encoder() -> Callable[[Any], str]:
    """An encoder of plain dictionaries; ``JSONEncoder.encode`` sets itself up at every call."""
    make = getattr(json.encoder, "c_make_encoder", None)
    quote = getattr(json.encoder, "c_encode_basestring", None)
    if make is None or quote is None:
        return _encode_checked
    encode = make(None, json.JSONEncoder().default, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(encode(value, 0))


_encode_plain = _make_encoder()


def check_metadata(metadata: Any, config: Config) -> tuple[dict[str, Any], str]:
    """A private copy of a JSON object, and its compact JSON text."""
    if type(metadata) is not dict and not isinstance(metadata, Mapping):
        metadata = {0: metadata}
    if not _STR.issuperset(map(type, metadata)) and not all(
        isinstance(key, str) for key in metadata
    ):
        raise InvalidMetadataError(
            "metadata must be a dict with str keys", hint='write it like {"project": "atlas"}'
        )
    copy = dict(metadata)
    plain = _PLAIN.issuperset(map(type, copy.values()))
    try:
        text = _encode_plain(copy) if plain else _encode_checked(copy)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMetadataError(
            f"metadata cannot be stored as JSON: {error}",
            hint="use only dict, list, str, finite numbers, bool and None",
        ) from None
    if "\\u0000" in text and _holds_nul(metadata):
        raise InvalidMetadataError(
            "metadata holds a NUL character", hint="SQLite's JSON ends there; replace it"
        )
    if size > config.max_metadata_bytes:
        raise InvalidMetadataError(
            f"metadata has {size} bytes, the limit is {config.max_metadata_bytes}",
            hint="keep large values elsewhere and store a reference",
        )
    return copy if plain else json.loads(text), text


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_holds_nul(key) or _holds_nul(each) for key, each in value.items())
    return isinstance(value, (list, tuple)) and any(_holds_nul(each) for each in value)


@cache
def _named() -> tuple[type[Any], ...]:
    """What verbs and facets return: each is a memory, and has its id."""
    from spector.records import (
        Concept,
        FactRecord,
        Hit,
        Learning,
        MemoryRecord,
        Procedure,
        Statistic,
    )

    return Hit, MemoryRecord, FactRecord, Procedure, Learning, Concept, Statistic


def id_of(target: Any) -> Any:
    """The id of a hit, a record or an item of knowledge, as an int; anything else as it is."""
    if type(target) is int:
        return target
    if isinstance(target, _named()):
        return target.id
    return int(target) if isinstance(target, np.integer) else target


def ids_in(target: Any, name: str) -> list[Any]:
    """The ids that one or several memories have, or those that a report forgot."""
    from spector.records import ForgetReport

    if isinstance(target, ForgetReport):
        return list(target.ids)
    several = isinstance(target, Iterable) and not isinstance(target, (str, bytes))
    return [id_of(each) for each in (items_of(target, name) if several else [target])]


def parse_parents(parents: Any, config: Config) -> tuple[int, ...]:
    """Ids of records, from one or several ids, hits or records."""
    ids = _ids_of(parents)
    if ids is None or len(ids) > config.max_parents:
        raise InvalidInputError(
            f"parents must be a record id, or at most {config.max_parents} of them",
            hint="write it like parents=[record.id]",
        )
    return ids


def parse_superseded(superseded: Any, config: Config) -> tuple[int, ...]:
    """Distinct ids of records, from one or several ids, hits or records."""
    ids = _ids_of(superseded)
    if ids is None or len(ids) > config.max_tags:
        raise InvalidInputError(
            f'supersedes must be a record id, at most {config.max_tags} of them, or "auto"',
            hint='write it like supersedes=hit.id, or supersedes="auto"',
        )
    return tuple(dict.fromkeys(ids))


def _ids_of(given: Any) -> tuple[int, ...] | None:
    """The ids of one or several ids, hits or records; None when anything else is among them."""
    if isinstance(given, (int, np.integer, *_named()[:2])):
        given = (given,)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        return None
    ids = [id_of(each) for each in given]
    if not all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < 1 << 63 for i in ids):
        return None
    return tuple(map(int, ids))


@np.errstate(over="ignore")  # of a sum of squares; the check below finds infinite components
def parse_vector(vector: Any, dim: int) -> NDArray[np.float32]:
    """(dim,) f32 copy of a finite, non-zero vector."""
    if type(vector) is np.ndarray and vector.dtype is _F32 and vector.shape == (dim,):
        array = vector.copy()
        if 0.0 < squared(array) < math.inf:  # finite and not zero
            return array
    array = _as_array(vector, dim)
    if array.ndim != 1:
        raise InvalidVectorError(
            f"the vector has shape {array.shape}, expected ({dim},)", hint="pass one vector"
        )
    if len(array) != dim:
        raise DimensionMismatchError(
            f"the vector has {counted(len(array), 'component')}, this store holds {dim}",
            hint="embed with the model that the store was made with",
        )
    norm = squared(array)  # finite unless a component is not, or the sum overflows
    if not math.isfinite(norm) and not np.isfinite(array).all():
        raise InvalidVectorError("the vector holds NaN or infinity", hint="check the embedder")
    if norm == 0.0 and not array.any():
        raise InvalidVectorError("the vector is all zeros", hint="check the embedder")
    return array


_F32 = np.dtype(np.float32)


def _as_array(vector: Any, dim: int) -> NDArray[np.float32]:
    try:
        if isinstance(vector, np.ndarray) and vector.dtype.kind == "c":
            raise TypeError("its components are complex")
        with np.errstate(over="ignore"):  # what float32 cannot hold is refused below, as infinity
            return np.array(vector, dtype=np.float32)
    except MemoryError:
        raise
    except Exception as error:  # an object may convert itself by a method of its own
        raise InvalidVectorError(
            f"the vector is not numeric: {said(error)}", hint=f"pass {dim} numbers"
        ) from None


# What may be attached to a memory: bytes, or a value that JSON gives back as it was.

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
