"""Files that were changed at random: a typed error or a report, and never half a file.

Damage without it: a traceback, an import that never ends, messages with the date or the speaker of
others. Guard: every format's sample, cut off, in another order, in other encodings, with other
types, nested deeply, with huge lines.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import SpectorError
from spector.importers import ImportReport, import_files, iter_messages
from tests.fakes import FakeEmbedder
from tests.fuzz.test_parsers import _changed, _dirty
from tests.importers.samples import SAMPLES
from tests.proof import seed

Change = Callable[[str, random.Random], bytes]


def cut_off(text: str, rng: random.Random) -> bytes:
    whole = text.encode()
    return whole[: rng.randrange(len(whole))]


def reordered(text: str, rng: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    rng.shuffle(lines)
    return "".join(lines).encode()


def encoded(text: str, rng: random.Random) -> bytes:
    """The same letters in another encoding; one that lacks some of them would be another text."""
    name = rng.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1254", "big5"])
    try:
        return text.encode(name)
    except UnicodeEncodeError:
        return text.encode("utf-16-be")


def huge(text: str, rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return (text[:at] + "x" * rng.choice([70_000, 300_000]) + text[at:]).encode()


def nested(text: str, rng: random.Random) -> bytes:
    deep = rng.choice([50, 5_000])
    return text.replace('"text"', '"text": ' + "[" * deep + "]" * deep + ', "y"', 1).encode()


def retyped(text: str, rng: random.Random) -> bytes:
    try:
        return json.dumps(_changed(json.loads(text), rng)).encode("utf-8", "surrogatepass")
    except ValueError:
        lines = text.splitlines()
        at = rng.randrange(len(lines))
        try:
            lines[at] = json.dumps(_changed(json.loads(lines[at]), rng))
        except ValueError:
            lines[at] = lines[at][::-1]
        return "\n".join(lines).encode("utf-8", "surrogatepass")


def dirty(text: str, rng: random.Random) -> bytes:
    return _dirty(text.encode(), rng)


#: these change no entry, so what is read of one is as it was
WHOLE: tuple[Change, ...] = (cut_off, reordered, encoded)
CHANGES: tuple[Change, ...] = (*WHOLE, huge, nested, retyped, dirty)


def facts(path: Path) -> Iterator[tuple[str, Any, Any]]:
    """Text, time and speaker of every message."""
    for message in iter_messages(path, timezone="UTC"):
        speaker = message.get("metadata", {}).get("speaker") or message.get("role")
        yield message["text"], message.get("event_time"), speaker


@pytest.mark.parametrize(
    "count", [pytest.param(200, id="some"), pytest.param(10_000, id="all", marks=pytest.mark.slow)]
)
def test_a_changed_file_is_refused_or_reported(tmp_path: Path, count: int) -> None:
    rng = random.Random(seed(33))
    known: dict[str, set[tuple[str, Any, Any]]] = {}
    for name, (file, text) in SAMPLES.items():
        (tmp_path / name).mkdir()
        path = tmp_path / name / file
        path.write_text(text, encoding="utf-8")
        known[name] = set(facts(path))
        assert known[name], name
    refused = stored = 0
    with spector.open(":memory:", embedder=FakeEmbedder(dim=8)) as memory:
        for _ in range(count):
            name = rng.choice(list(SAMPLES))
            change = rng.choice(CHANGES)
            path = tmp_path / name / SAMPLES[name][0]
            path.write_bytes(change(SAMPLES[name][1], rng))
            before = len(memory)
            what = (name, change.__name__, path.read_bytes()[:3000])
            report = _report(memory, path, what)
            if report is None:
                assert len(memory) == before, what
                refused += 1
                continue
            assert len(memory) - before == report.stored, what
            stored += report.stored
            if change in WHOLE:
                texts = {each[0] for each in known[name]}
                for fact in facts(path):
                    is_said = report.files[0].dated_by_others or report.files[0].undated
                    assert fact[0] not in texts or fact in known[name] or is_said, (what, fact)
    assert 0 < refused < count
    assert stored


def _report(memory: spector.Memory, path: Path, what: Any) -> ImportReport | None:
    """The report of an import; None when the file was refused with a reason."""
    try:
        return import_files(memory, path, timezone="UTC")
    except SpectorError as error:
        if error.message:
            return None
        raise AssertionError(f"SPECTOR_SEED={seed(33)}: no reason: {what!r}") from error
    except Exception as error:
        raise AssertionError(f"SPECTOR_SEED={seed(33)}: {what!r}") from error
