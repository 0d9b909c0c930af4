"""An import stores a file whole or not at all, and says what became of each entry.

Mechanism: two passes; the first reads and checks every message as the memory will. Damage without
it: half a file in the store and a wrong count, a tier that vanishes with the process, a folder that
one odd file stops. Guard: bad entries at every place, in files, folders and zip archives.
"""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import ImportFormatError, SpectorError
from spector.importers import FORMATS, ImportReport, import_files, iter_messages
from tests.cases import Cases
from tests.fakes import FakeEmbedder
from tests.fuzz.test_parsers import _changed
from tests.importers.files import lines, opened, written
from tests.importers.samples import SAMPLES
from tests.proof import seed

cases = Cases(__file__)


@pytest.fixture
def memory() -> Iterator[spector.Memory]:
    with opened() as made:
        yield made


GOOD = {"role": "user", "content": "The pump reads three bar.", "timestamp": 1714730000}
BAD: dict[str, Any] = {
    "cut off": '{"role": "user", "content": "x',
    "importance": {**GOOD, "importance": 7},
    "no text": {"colour": "red"},
    "a number": {"text": 7},
    "a list": "[1]",
    "a time": {**GOOD, "timestamp": "yesterday"},
    "a tier": {**GOOD, "tier": "nowhere"},
    "a session": {**GOOD, "session_id": "a\nb"},
    "a tag": {**GOOD, "tags": ["x" * 300]},
    "a vector": {**GOOD, "vector": [1.0, 2.0]},
    "metadata": {**GOOD, "metadata": {"a": "x" * 70000}},
    "a window": {**GOOD, "valid_from": "2026-01-01", "valid_until": "2025-01-01"},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("at", [0, 70, 139])
def test_a_bad_entry_stores_nothing_and_is_named(
    memory: spector.Memory, tmp_path: Path, bad: Any, at: int
) -> None:
    entries = [GOOD] * 139
    entries.insert(at, bad)
    path = lines(tmp_path / "chat.jsonl", *entries)
    for dry_run in (True, False):
        with pytest.raises(ImportFormatError) as caught:
            import_files(memory, path, dry_run=dry_run)
        assert "chat.jsonl" in caught.value.message
        assert f"line {at + 1}" in caught.value.message or "entry 1:" in caught.value.message
        assert caught.value.hint
    assert len(memory) == 0


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_entry_that_may_be_skipped_is_listed(
    memory: spector.Memory, tmp_path: Path, bad: Any
) -> None:
    path = lines(tmp_path / "chat.jsonl", GOOD, bad, {**GOOD, "content": "A second one."})
    report = import_files(memory, path, skip_bad=True)
    assert [each.text for each in memory] == [GOOD["content"], "A second one."]
    (listed,) = report.files[0].bad
    assert "chat.jsonl" in listed
    assert "line 2" in listed
    assert (report.files[0].read, report.stored) == (3, 2)


def test_what_is_no_message_is_counted_by_reason(memory: spector.Memory, tmp_path: Path) -> None:
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "book", "arguments": "{}"}}]}
    path = lines(
        tmp_path / "chat.jsonl",
        GOOD,
        call,
        {**call, "content": None},
        {**call, "content": ""},
        {"role": "user", "content": "\u200b \ufeff"},
        {"role": "user", "content": "\ue000\ufffd"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {**GOOD, "tier": "working"},
    )
    report = import_files(memory, path)
    assert len(memory) == 1
    assert report.files[0].left_out == {
        "tool call": 3,
        "no text": 2,
        "picture": 1,
        "working tier, which is not kept": 1,
    }
    assert "left out" in str(report)


def test_a_folder_is_read_past_an_odd_file(memory: spector.Memory, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "deep" / "er").mkdir(parents=True)
    lines(vault / "chat.jsonl", GOOD)
    lines(vault / "broken.jsonl", GOOD, "{")
    (vault / "odd.json").write_text('{"rows": 3}')
    (vault / "deep" / "er" / "note.md").write_text("A note of the deep.")
    (vault / "deep" / "empty.md").write_text("")
    (vault / "photo.jpg").write_bytes(b"\xff\xd8")
    (vault / ".hidden.md").write_text("Not for anyone.")
    outside = written(tmp_path / "outside.md", "Not of this folder.")
    (vault / "link.md").symlink_to(outside)
    report = import_files(memory, vault)
    texts = {each.text for each in memory}
    assert texts == {GOOD["content"], "deep > er > note\n\nA note of the deep."}
    assert {Path(each.file).name for each in report.files if each.error} == {
        "broken.jsonl",
        "odd.json",
    }
    assert not report.ok
    assert report.others == {".jpg": 1, "link out of the folder": 1}


def test_a_zip_is_read_like_a_folder_and_nothing_is_written(
    memory: spector.Memory, tmp_path: Path
) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/chat.jsonl", json.dumps(GOOD))
        archive.writestr("../../evil.md", "From above.")
        archive.writestr("__MACOSX/._chat.jsonl", "\0")
        archive.writestr("bomb.txt", b"x" * (80 << 20))
    report = import_files(memory, path)
    assert {each.text for each in memory} >= {GOOD["content"]}
    (refused,) = [each for each in report.files if each.error]
    assert "bomb.txt: grows to 83,886,080 bytes" in refused.error
    assert sorted(each.name for each in tmp_path.iterdir()) == ["all.zip"]


def test_our_own_export_is_checked_to_its_end_and_leaves_the_working_tier_out(
    memory: spector.Memory, tmp_path: Path
) -> None:
    first = memory.remember("The key is with Mirela.", pinned=True)
    memory.remember("For a while only.", tier="working")
    memory.export(tmp_path / "out.jsonl")
    with opened() as other:
        report = import_files(other, tmp_path / "out.jsonl")
        assert [(each.text, each.pinned) for each in other] == [(first.text, True)]
        assert report.files[0].left_out.total() == 1
        whole = (tmp_path / "out.jsonl").read_text()
        (tmp_path / "cut.jsonl").write_text(whole * 300 + whole[:40])
        before = len(other)
        with pytest.raises(ImportFormatError):
            other.import_(tmp_path / "cut.jsonl")
        with pytest.raises(ImportFormatError):
            import_files(other, tmp_path / "cut.jsonl")
        assert len(other) == before


def test_a_text_beyond_the_limit_is_split_and_loses_no_word(tmp_path: Path) -> None:
    config = spector.Config(max_text_bytes=2000)
    words = [f"word{n}" for n in range(900)]
    path = lines(tmp_path / "chat.jsonl", {**GOOD, "content": " ".join(words)}, GOOD)
    with opened(config=config) as memory:
        report = import_files(memory, path)
        parts = [each for each in memory if each.metadata.get("parts")]
        assert " ".join(each.text for each in parts).split() == words
        assert [each.metadata["part"] for each in parts] == list(range(1, len(parts) + 1))
        assert report.files[0].split == 1


def test_a_time_that_is_missing_is_that_of_the_nearest_or_said(
    memory: spector.Memory, tmp_path: Path
) -> None:
    talk = cases.rows("talk")
    found = [each.get("event_time") for each in iter_messages(lines(tmp_path / "c.jsonl", *talk))]
    moment = datetime(2024, 5, 3, 10, tzinfo=UTC)
    assert found == [moment, moment, moment, None]
    report = import_files(memory, tmp_path / "c.jsonl")
    assert (report.files[0].dated_by_others, report.files[0].undated) == (2, 1)
    assert "1 are dated as they are stored" in str(report)


@cases("name", "value")
def test_times_are_found_under_the_names_that_people_give_them(
    tmp_path: Path, name: str, value: Any
) -> None:
    wanted = datetime(2024, 5, 3, 10, tzinfo=UTC)
    for entry in ({name: value}, {"metadata": {name: value}}):
        path = lines(tmp_path / "m.jsonl", {"role": "user", "content": "x y", **entry})
        (message,) = iter_messages(path)
        assert message["event_time"].replace(microsecond=0) == wanted
    written(path, {"messages": [{"role": "user", "content": "x y"}], name: value})
    (message,) = iter_messages(path)
    assert message["event_time"].replace(microsecond=0) == wanted


def test_what_only_looks_like_a_time_is_a_property(tmp_path: Path) -> None:
    entry = {"role": "user", "content": "x", "created": "by Ann", "ts": 7}
    path = lines(tmp_path / "m.jsonl", entry)
    (message,) = iter_messages(path)
    assert "event_time" not in message
    assert message["metadata"]["created"] == "by Ann"


def test_a_format_that_is_not_known_is_refused_and_not_guessed(tmp_path: Path) -> None:
    files = dict(cases.rows("files"))
    for name, text in files.items():
        path = written(tmp_path / name, text)
        with pytest.raises(ImportFormatError) as caught:
            list(iter_messages(path))
        assert caught.value.hint, name


# Files that were changed at random: a typed error or a report, and never half a file.
#
# Damage without it: a traceback, an import that never ends, messages with the date or the speaker of
# others. Guard: every format's sample, cut off, in another order, in other encodings, with other
# types, nested deeply, with huge lines.

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


def _dirty(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(out) + 1)
        action = rng.randrange(4)
        if action == 0 and at < len(out):
            out[at] = rng.randrange(256)
        elif action == 1:
            out[at:at] = rng.choice((b"\0", b"\xff", b"{", b"]", b'"', b"\\u", b"\n", b"1e999"))
        elif action == 2:
            del out[at : at + rng.randrange(1, 40)]
        else:
            out[at:at] = out[rng.randrange(len(out) + 1) :][:50]
    return bytes(out)


@pytest.mark.parametrize(
    "count", [pytest.param(200, id="some"), pytest.param(10_000, id="all", marks=pytest.mark.slow)]
)
def test_a_changed_file_is_refused_or_reported(tmp_path: Path, count: int) -> None:
    rng = random.Random(seed(33))
    known: dict[str, set[tuple[str, Any, Any]]] = {}
    for name, (file, text) in SAMPLES.items():
        (tmp_path / name).mkdir()
        path = written(tmp_path / name / file, text)
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
            with suppress(SpectorError):  # whatever it is taken for
                list(iter_messages(path, rng.choice(FORMATS), assume_utc=True))
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
