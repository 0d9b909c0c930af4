"""Files to import and texts to print may have been made to hurt.

Mechanism: every JSON of strangers is read by code that expects it to be nested, large or false, and
whatever a terminal would obey is made visible. Damage without it: a chat log that ends the command
with a traceback, a memory that rewrites the screen of whoever recalls it. Guard: bombs of each kind
through every importer, and control characters through every command that prints.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import spector
from spector import ImportFormatError, InvalidInputError, Memory
from spector.cli.main import main
from spector.cli.output import clean
from spector.importers import FORMATS, iter_messages
from spector.providers.minilm import MiniLMEmbedder
from spector.store.repair.inspect import RawStore
from tests.cases import Cases
from tests.cli.conftest import Run, fake_model, run
from tests.crash.workload import open_tiny, vector_of

cases = Cases(__file__)

__all__ = ["fake_model", "run"]

DEEP = "[" * 100_000 + "]" * 100_000
BOMBS = {
    "deep value": '{"text": "x", "metadata": {"a": ' + DEEP + "}}",
    "deep line": DEEP,
    "deep object": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "a number of 100,000 digits": '{"text": "x", "event_time": ' + "9" * 100_000 + "}",
    "infinite time": '{"text": "x", "event_time": 1e999}',
    "a hundred thousand keys": '{"text": "x", "metadata": {'
    + ", ".join(f'"k{n}": 1' for n in range(100_000))
    + "}}",
    "keys of a megabyte": json.dumps({"text": "x", "metadata": {"k" * 1_000_000: 1}}),
    "text of ten megabytes": json.dumps({"text": "x" * 10_000_000}),
    "tags by the thousand": json.dumps({"text": "x", "tags": [f"t{n}" for n in range(5000)]}),
    "a tag that moves the cursor": json.dumps({"text": "x", "tags": ["\x1b[2J"]}),
    "a user that moves the cursor": json.dumps({"text": "x", "user_id": "\x1b[2J"}),
    "a tag that is a number": '{"text": "x", "tags": [1]}',
    "text that is a number": '{"text": 7}',
    "importance beyond 1": '{"text": "x", "importance": 1e300}',
    "importance that is no number": '{"text": "x", "importance": NaN}',
    "half a surrogate pair": '{"text": "\\ud800"}',
    "NUL in the metadata": '{"text": "x", "metadata": {"a": "\\u0000"}}',
    "a vector of text": '{"text": "x", "vector": ["a"]}',
    "ids that are objects": '{"text": "x", "id": {"a": 1}, "parents": [{"b": 2}]}',
    "an id of 100 digits": '{"text": "x", "id": ' + "9" * 100 + "}",
    "binary": "\x00\x01\x02",
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", BOMBS)
@pytest.mark.parametrize("kind", ["auto", "jsonl", "chatgpt", "locomo"])
def test_a_file_made_to_hurt_stores_nothing_or_something_and_never_ends_in_a_traceback(
    run: Run, tmp_path: Path, what: str, kind: str
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(BOMBS[what], encoding="utf-8")
    result = run("import", tmp_path / "mind", source, "--format", kind)
    assert result.code in (0, 2), result.err
    assert "Traceback" not in result.err
    assert len(result.err) < 2000
    if result.code == 0 and (tmp_path / "mind").exists():
        assert run("check", tmp_path / "mind").code == 0


@pytest.mark.parametrize("what", BOMBS)
def test_the_librarys_own_import_raises_typed_errors_only(
    memory: Memory, tmp_path: Path, what: str
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(BOMBS[what], encoding="utf-8")
    with suppress(ImportFormatError, InvalidInputError):
        memory.import_(source)
    assert memory.check().ok


@pytest.mark.parametrize("text", ['{"a": ' + DEEP + "}", '{"a": ' + "9" * 10_000 + "}", "[1]"])
def test_json_of_the_command_line_is_a_usage_error(run: Run, tmp_path: Path, text: str) -> None:
    assert run("remember", tmp_path / "mind", "x", "--metadata", text).code == 2


# -- what is printed -------------------------------------------------------------------------------

#: clear the screen, set the title, 8-bit CSI, turn the line round, an alarm, an invisible word
EVIL = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202egnp.exe \u200f \x7f \U000e0041\U000e0042 end"
OBEYED = [c for c in EVIL if c in "\x1b\x07\x9b\u202e\u200f\x7f\U000e0041\U000e0042"]


@pytest.mark.sampled
@cases("command")
@pytest.mark.parametrize("columns", ["60", "160"])
def test_nothing_that_was_remembered_drives_the_terminal(
    run: Run, tmp_path: Path, command: list[str], columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    path = tmp_path / "mind"
    made = run("remember", path, EVIL, "--metadata", json.dumps({EVIL: {EVIL: EVIL}}), "--json")
    assert made.code == 0, made.err
    (path / "a\x1b[2J.mem").write_bytes(b"stray")
    result = run(*({"PATH": path, "ID": made.json["id"]}.get(part, part) for part in command))
    shown = result.out + result.err
    assert [c for c in OBEYED if c in shown] == []
    assert result.code in (0, 1)
    if "--json" in command and command[0] != "inspect":
        assert result.json["hits"][0]["text"] == EVIL, "the document says what was remembered"


def test_an_error_that_quotes_a_hostile_name_is_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(tmp_path / "mind"), str(tmp_path / "a\x1b[2J\x9b.json")]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_ordinary_letters_of_every_script_are_left_as_they_are() -> None:
    for text in ("naïve café", "日本語", "עברית", "👩‍👩‍👧 family", "नमस्ते"):
        assert clean(text) == text


# -- A pipe, a socket or a device in the place of a file that a user names is refused at once ------
#
# Mechanism: opening a pipe waits for its other end, and a device never ends. Damage: a call, or a
# command, that never returns. Guard: every path that is taken from outside, with an alarm.


def _pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the name of a socket has room for 100 bytes
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)
    return path


def _device(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


@pytest.fixture
def alarm() -> Iterator[None]:
    signal.alarm(60)
    yield
    signal.alarm(0)


def _in_memory(verb: str) -> Callable[[Path], object]:
    def call(path: Path) -> None:
        with spector.open(":memory:", embedder=None, dim=3) as memory:
            getattr(memory, verb)(path)

    return call


VERBS: dict[str, Callable[[Path], object]] = {
    **{verb: _in_memory(verb) for verb in ("import_", "export", "backup")},
    "open": lambda path: spector.open(path, embedder=None, dim=3),
    "open r": lambda path: spector.open(path, embedder=None, dim=3, mode="r"),
    "check": spector.check,
    "repair": lambda path: spector.repair(path, path.with_name("dest")),
    "restore": lambda path: spector.restore(path, path.with_name("dest")),
    "model": lambda path: MiniLMEmbedder(path=str(path)).fingerprint,
    "inspect": RawStore,
    "importer": lambda path: list(iter_messages(path)),
    **{
        f"importer {each}": lambda path, each=each: list(iter_messages(path, each))
        for each in FORMATS
        if each != "auto"
    },
}


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("make", [_pipe, _socket, _device])
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_file_is_refused(
    tmp_path: Path, verb: str, make: Callable[[Path], Path]
) -> None:
    strange = make(tmp_path / "strange")
    with pytest.raises(spector.SpectorError):
        VERBS[verb](strange)
    assert os.path.lexists(strange)


@pytest.mark.usefixtures("alarm")
def test_a_partition_that_becomes_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        made = memory.remember("a word", vector=vector_of("a"))
    (partition,) = path.rglob("*.mem")
    with RawStore(path) as raw:
        partition.unlink()
        _pipe(partition)
        with pytest.raises(spector.StoreError, match="pipe"):
            raw.record(made.id) if hasattr(raw, "record") else raw._rows(raw.names[0])
