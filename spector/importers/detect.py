"""Detects the format of a file from its content; the file name only breaks ties."""

from __future__ import annotations

import json
import re
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

from spector.importers.common import BAD_JSON, SourceFile, iter_array

__all__ = ["detect_format"]

_HEAD_CHARS = 1 << 16
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_MARKDOWN_SUFFIXES = {".md", ".markdown", ".mdown"}
_JSONL_SUFFIXES = {".jsonl", ".ndjson"}
_TEXT_KEYS = {"text", "content"}


def detect_format(path: str | Path) -> str:
    """Return the name of the format of a file.

    Raises:
        ImportFormatError: JSON of an unknown layout, an empty file, or binary data.
    """
    source = SourceFile(Path(path))
    source.require_file()
    if zipfile.is_zipfile(source.path):
        return "chatgpt"
    with source.open_text() as stream:
        head = stream.read(_HEAD_CHARS)
    if "\0" in head:
        raise source.error("", "it has binary data", hint="import text, JSON, JSONL or Markdown")
    if not head.strip():
        raise source.error("", "the file is empty", hint="name a file with messages")
    suffix = source.path.suffix.lower()
    start = head.lstrip()[0]
    if start == "[" and suffix not in _MARKDOWN_SUFFIXES:
        return _format_of_array(source, head)
    if start == "{":
        return _format_of_object(source, head, suffix)
    if suffix in _JSONL_SUFFIXES:
        return "jsonl"
    if suffix == ".json":
        raise source.error("line 1", "not JSON", hint="choose the format with --format")
    return "markdown" if suffix in _MARKDOWN_SUFFIXES or _HEADING.search(head) else "text"


def _format_of_array(source: SourceFile, head: str) -> str:
    # text may begin with "[", too: JSON continues with an object
    if not re.match(r"\s*\[\s*[{\]]", head):
        return "text"
    with source.open_text() as stream:
        first = next((element for _, element in islice(iter_array(stream, source), 1)), {})
    return _format_of_keys(source, first)


def _format_of_object(source: SourceFile, head: str, suffix: str) -> str:
    first_line = head.lstrip().splitlines()[0]
    try:
        first = json.loads(first_line)
    except json.JSONDecodeError:
        if suffix in _JSONL_SUFFIXES:
            return "jsonl"  # its reader reports the broken line
        first = _whole_object(source)
    except BAD_JSON as exc:
        raise source.json_error("line 1", exc) from exc
    return _format_of_keys(source, first)


def _whole_object(source: SourceFile) -> dict[str, Any]:
    with source.open_text() as stream:
        try:
            found: dict[str, Any] = json.load(stream)
        except json.JSONDecodeError as exc:
            raise source.error(
                f"line {exc.lineno}",
                f"broken JSON: {exc.msg}",
                hint="choose --format text or jsonl",
            ) from exc
        except BAD_JSON as exc:
            raise source.json_error("", exc) from exc
    return found


def _format_of_keys(source: SourceFile, first: dict[str, Any]) -> str:
    if "mapping" in first:
        return "chatgpt"
    if {"text", "tier", "recorded_at"} <= first.keys() or isinstance(first.get("spector"), str):
        return "spector"
    if isinstance(first.get("conversation"), dict):
        return "locomo"
    if _TEXT_KEYS & first.keys() or isinstance(first.get("messages"), list):
        return "jsonl"
    keys = ", ".join(sorted(first)[:6]) or "none"
    raise source.error(
        "entry 1",
        f"unknown JSON layout (keys: {keys})",
        hint='give each message "role" and "content", or choose the format with --format',
    )
