"""Mechanism: the words of a store are written when it is closed, and taken up when it is opened.

Damage: words of another moment, store or analysis answer a cue; words of an erased memory stay in a
file; a crash leaves half an index. Guard: whatever was written, lost or changed in between, a
reopened store answers like one whose texts are all read anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Config, Memory
from spector.clock import ManualClock
from spector.errors import StoreError
from spector.language.words.analysis import analyse, cue_terms, term_hash
from spector.lexical import index as index_module
from spector.store import words as word_files
from spector.store.core.store import Store
from spector.store.words import FOLDER, Words, is_words
from tests.conftest import NOW

CUES = ("guitar river", "tent", "coffee with Ann", "boat 8", "Bob music lake", "qzjvault")
CONFIG = Config(episodic_capacity=40)


@pytest.fixture(autouse=True)
def _always_worth_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_files, "_WORTH_WRITING", 1)


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[Memory]:
    with spector.open(
        path, embedder=None, dim=8, clock=ManualClock(NOW), config=CONFIG, **options
    ) as memory:
        assert memory._parts.searcher, "it has an index of words of its own once it is used"
        yield memory


def durable(memory: Memory) -> Store:
    return next(store for store in memory._parts.router.stores() if store.files.durable)


def fill(memory: Memory, first: int, count: int) -> list[int]:
    rng = np.random.default_rng(first)
    words = "guitar tent music lake river bank coffee tea run walk boat car".split()
    return [
        memory.remember(
            " ".join(rng.choice(words, 6)) + f" {n}",
            vector=rng.standard_normal(8).astype("f4"),
            session_id=f"s{n % 7}",
            metadata={"speaker": ["Ann", "Bob"][n % 2]},
        ).id
        for n in range(first, first + count)
    ]


def answers(store: Store, words: Words) -> list[Any]:
    """What an index says: of cues, and of every memory's neighbours and columns."""
    with store.snapshot() as view:
        found = words.at(view)
        out: list[Any] = [found.n_rows, round(found.mean_length, 4)]
        for cue in CUES:
            rows, scores = found.best(cue_terms(cue), k=500)
            out.append((found.ids(rows).tolist(), scores.tolist()))
            lines = found.field_lines(found.field_numbers(rows), found.look_up(cue_terms(cue)))
            out.append([(n, there.tolist()) for n, there in lines])
        rows = np.flatnonzero(found.alive)
        rows = rows[np.argsort(found.ids(rows))]
        near = found.neighbours(rows, 3)
        out.append(np.where(near < 0, -1, found.ids(near.ravel()).reshape(near.shape)).tolist())
        speakers = found.speakers()
        out.append([speakers[code] for code in found.speaker_codes(rows).tolist()])
        segment, slot = found.places(rows)
        out += [segment.tolist(), slot.tolist(), found.ids(rows).tolist()]
        out += [found.column(name, rows).tolist() for name in ("content", "size")]
        return out


class Reading:
    """Counts the texts that are analysed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts = 0

        def counting(text: str) -> Any:
            self.texts += 1
            return analyse(text)

        monkeypatch.setattr(index_module, "analyse", counting)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    return Reading(monkeypatch)


def agree(memory: Memory) -> Words:
    """The index that took up the files says what one says that reads every text."""
    store = durable(memory)
    kept = Words(store)
    fresh = Words(store)
    fresh._index._load_image = None
    assert answers(store, kept) == answers(store, fresh)
    store.words = kept
    return kept


def files_in(path: Path) -> list[Path]:
    return sorted((path / FOLDER).glob("*"))


def make(path: Path, count: int = 100) -> list[int]:
    """A store that was closed with its words written."""
    with opened(path) as memory:
        made = fill(memory, 0, count)
        agree(memory)
    assert files_in(path)
    return made


def test_a_reopened_store_reads_no_text_again(tmp_path: Path, reading: Reading) -> None:
    make(tmp_path / "mind")
    with opened(tmp_path / "mind") as memory:
        store = durable(memory)
        reading.texts = 0
        words = Words(store)
        answers(store, words)
        assert reading.texts == 0
        agree(memory)


def test_a_reader_takes_them_up_and_writes_nothing(tmp_path: Path, reading: Reading) -> None:
    path = tmp_path / "mind"
    make(path)
    before = {each: each.read_bytes() for each in files_in(path)}
    with opened(path, mode="r") as memory:
        store = durable(memory)
        reading.texts = 0
        answers(store, Words(store))
        assert reading.texts == 0
        assert store.words is None
    assert {each: each.read_bytes() for each in files_in(path)} == before


def add(memory: Memory, made: list[int]) -> None:
    fill(memory, 1000, 30)  # the same texts the second time, as other memories


def forget(memory: Memory, made: list[int]) -> None:
    for each in made[::7]:
        memory.forget(each)
    del made[::7]


def update(memory: Memory, made: list[int]) -> None:
    for each in made[::9]:
        memory.update(each, text="qzjvault by the river", vector=np.ones(8, np.float32))


def compact(memory: Memory, made: list[int]) -> None:
    forget(memory, made)
    memory.compact(threshold=0.0)


def purge(memory: Memory, made: list[int]) -> None:
    memory.forget(made.pop(3), purge=True)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("change", [add, forget, update, compact, purge])
def test_what_changed_meanwhile_is_seen_and_written(
    tmp_path: Path, change: Callable[[Memory, list[int]], None], asked: bool, reading: Reading
) -> None:
    """By a process that never asked for the words, or by one that closes with them."""
    path = tmp_path / "mind"
    made = make(path)
    for _ in range(1 + asked):
        with opened(path) as memory:
            if asked:
                agree(memory)
            change(memory, made)
    if not asked:
        with opened(path) as memory:
            agree(memory)
    with opened(path) as memory:  # and what is written after that is right as well
        store = durable(memory)
        reading.texts = 0
        answers(store, Words(store))
        assert reading.texts == 0
        agree(memory)


def damaged(path: Path) -> Iterator[Callable[[], None]]:
    """Every way of losing or spoiling one of the files."""
    for each in files_in(path):
        data = each.read_bytes()
        yield each.unlink
        yield lambda each=each, data=data: each.write_bytes(data[: len(data) // 2])  # type: ignore[misc]
        yield lambda each=each: each.write_bytes(b"")  # type: ignore[misc]
        middle = bytearray(data)
        middle[len(data) // 2] ^= 255
        yield lambda each=each, middle=middle: each.write_bytes(middle)  # type: ignore[misc]
        other = bytearray(data)
        other[44] ^= 255  # of the uuid
        yield lambda each=each, other=other: each.write_bytes(other)  # type: ignore[misc]


def test_files_that_are_lost_or_spoiled_cost_nothing_but_time(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    make(path, 60)
    whole = {each: each.read_bytes() for each in files_in(path)}
    done = 0
    for spoil in list(damaged(path)):
        for each in files_in(path):
            each.unlink()
        for each, data in whole.items():
            each.write_bytes(data)
        spoil()
        with opened(path) as memory:
            agree(memory)
            done += 1
        with opened(path) as memory:
            agree(memory)
    assert done >= 10


def test_files_of_an_older_moment_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    made = make(path)
    old = {each: each.read_bytes() for each in files_in(path)}
    with opened(path) as memory:
        agree(memory)
        update(memory, made)
        compact(memory, made)
        add(memory, made)
    for each in files_in(path):
        each.unlink()
    for each, data in old.items():
        each.write_bytes(data)
    with opened(path) as memory:
        agree(memory)


def _stopping(patch: pytest.MonkeyPatch, files: Any, after: int, run: Callable[[], None]) -> bool:
    """Run with files of words that fail for good after so many calls; True if they did."""
    calls = 0

    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(name: str, *rest: Any, **options: Any) -> Any:
            nonlocal calls
            if name.startswith(FOLDER):
                calls += 1
                if calls > after:
                    raise StoreError(f"stopped at {name}")
            return real(name, *rest, **options)

        return call

    for method in ("open", "replace", "remove"):
        patch.setattr(files, method, failing(getattr(files, method)))
    run()
    return calls > after


def test_a_write_that_stops_anywhere_leaves_an_index_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mind"
    made = make(path)
    stops = 0
    for stop in range(12):
        with opened(path) as memory, monkeypatch.context() as patch:
            agree(memory)
            fill(memory, 100 * stop + 1000, 3)
            memory.forget(made.pop())
            (path / FOLDER / "00000990.lex").write_bytes(b"SLEX and no more")  # to be removed
            stops += _stopping(patch, durable(memory).files, stop, memory.close)
        with opened(path, mode="r") as memory:
            agree(memory)
        with opened(path) as memory:
            assert memory.check().ok
    assert stops >= 5


def test_an_erasure_removes_words_in_a_way_that_outlives_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mind"
    made = make(path)
    old = {file.name for file in files_in(path)}
    folder, real, seen = (path / FOLDER).stat().st_ino, os.fsync, list[set[str]]()

    def fsync(fd: int) -> None:
        real(fd)
        if os.fstat(fd).st_ino == folder:
            seen.append(set(os.listdir(fd)))

    monkeypatch.setattr(os, "fsync", fsync)
    with opened(path) as memory:
        memory.forget(made[0], purge=True)
        assert seen, "the names of what was removed may come back"
        assert not old & seen[-1]


def test_an_erasure_leaves_no_hash_of_a_word_that_only_the_erased_had(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    secret = "qzjvault zqxswordfish"
    first, second = secret.split()
    with opened(path) as memory:
        fill(memory, 0, 300)
        key = durable(memory).uuid
        forgotten = memory.remember(
            secret,
            vector=np.ones(8, np.float32),
            metadata={"speaker": "Zqmallory"},
            session_id="zqsession",
        ).id
        columns = agree(memory)._index._columns
        session = columns["session"][columns["id"] == forgotten].tobytes()
        assert len(session) == 8
    hashes = [np.uint64(term_hash(word, key)) for word in (*analyse(secret).words, "zqmallori")]
    needles = [int(each).to_bytes(8, "little") for each in hashes[:2]]
    needles += [b"Zqmallory", session]

    def found() -> list[bytes]:
        data = b"".join(each.read_bytes() for each in files_in(path))
        return [needle for needle in needles if needle in data]

    assert found() == needles, f"{first} and {second} are in the files"
    with opened(path) as memory:
        words = agree(memory)  # an index in memory that knows them
        report = memory.forget(forgotten, purge=True, verify=True)
        assert report.receipt is not None
        assert report.receipt.complete
        assert any(each.where == FOLDER for each in report.receipt.purged)
        assert not files_in(path)
        fill(memory, 400, 3)
        assert words is durable(memory).words
    assert files_in(path)
    assert found() == []
    with opened(path) as memory:
        agree(memory)
        assert "Zqmallory" not in agree(memory)._index._fields.speakers()


def test_an_erasure_says_when_the_files_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mind"
    made = make(path)
    with opened(path) as memory:
        files = durable(memory).files
        real = files.remove

        def refuse(name: str) -> None:
            if name.startswith(FOLDER):
                raise StoreError(f"cannot remove {name}")
            real(name)

        monkeypatch.setattr(files, "remove", refuse)
        receipt = memory.forget(made[0], purge=True).receipt
        assert receipt is not None
        assert not receipt.complete
        assert any("index of words" in each for each in receipt.pending)
        monkeypatch.undo()
        again = memory.compact().receipt
        assert again is None or again.complete
        assert not files_in(path)


def noted(path: Path) -> dict[str, str]:
    """What a check says of the files, of which nothing may fail the store."""
    report = spector.check(path)
    assert report.ok, report.problems
    return {str(note.where): note.message for note in report.notes}


def test_a_check_names_spoilt_files_of_words_and_fails_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    make(path, 60)
    assert noted(path) == {}
    whole = {each: each.read_bytes() for each in files_in(path)}
    (block,) = (each for each in whole if each.name != "rows.lex")
    for each, data in whole.items():
        flips = [0, 5, 17, 36, 44, 60, 126, *range(128, len(data), max(1, len(data) // 24))]
        for cut in (0, 3, 127, 128, len(data) - 1):
            each.write_bytes(data[:cut])
            assert f"{FOLDER}{each.name}" in noted(path), cut
        for at in flips:
            changed = bytearray(data)
            changed[at] ^= 16
            each.write_bytes(changed)
            said = noted(path)
            assert "rebuilt" in said[f"{FOLDER}{each.name}"], at
        each.write_bytes(data)
    block.unlink()
    assert "absent" in noted(path)[f"{FOLDER}{block.name}"]
    block.write_bytes(whole[block])
    assert noted(path) == {}


@pytest.mark.parametrize("way", ["opening", "compact", "reflect"])
def test_words_that_no_list_names_are_noted_and_removed(tmp_path: Path, way: str) -> None:
    path = tmp_path / "mind"
    make(path, 60)
    whole = set(files_in(path))
    copied = path / FOLDER / "00000777.lex"
    leftovers = (copied, path / FOLDER / "00000778.lex.tmp", path / FOLDER / "rows.lex.tmp")

    def leave() -> None:
        for each in leftovers:
            each.write_bytes(next(iter(whole)).read_bytes())

    leave()
    (path / FOLDER / "notes.lex").write_text("mine")  # a name that is not the store's
    assert all(is_words(f"{FOLDER}{each.name}") for each in whole)
    report = spector.check(path)
    assert {str(each.where) for each in report.notes} == {
        f"{FOLDER}{each.name}" for each in leftovers
    }
    assert [each.where for each in report.problems] == [f"{FOLDER}notes.lex"]
    with opened(path) as memory:
        if way != "opening":
            assert set(files_in(path)) == {*whole, path / FOLDER / "notes.lex"}
            leave()
            getattr(memory, way)(*(("upkeep",) if way == "reflect" else ()))
        assert set(files_in(path)) == {*whole, path / FOLDER / "notes.lex"}
        agree(memory)


@pytest.mark.parametrize("at", [0, 128])
def test_an_erasure_removes_words_whose_file_is_damaged(tmp_path: Path, at: int) -> None:
    """One flipped bit of the first bytes used to make it a file of somebody else, that stays."""
    path = tmp_path / "mind"
    made = make(path, 60)
    for each in files_in(path):
        changed = bytearray(each.read_bytes())
        changed[at] ^= 1
        each.write_bytes(changed)
    with opened(path) as memory:
        receipt = memory.forget(made[0], purge=True).receipt
        assert receipt is not None
        assert receipt.complete
        assert not receipt.unknown_files
        assert not files_in(path)


def test_a_check_names_words_of_another_store_block_or_list(tmp_path: Path) -> None:
    path, other = tmp_path / "mind", tmp_path / "other"
    make(path, 60)
    make(other, 60)
    (block,) = (each for each in files_in(path) if each.name != "rows.lex")
    mine = block.read_bytes()
    block.write_bytes((other / FOLDER / block.name).read_bytes())
    assert "another store" in noted(path)[f"{FOLDER}{block.name}"]
    block.write_bytes(b"a letter that somebody put here\n" * 9)
    assert "not a lexical block" in noted(path)[f"{FOLDER}{block.name}"]
    with opened(path) as memory:  # a block of this store, but not the one that was written
        memory.forget(next(iter(memory)).id)
        agree(memory)
    (renewed,) = (each for each in files_in(path) if each.name != "rows.lex")
    renewed.write_bytes(mine)
    assert "not the block that the list names" in noted(path)[f"{FOLDER}{renewed.name}"]
    (path / FOLDER / "rows.lex").write_bytes((other / FOLDER / "rows.lex").read_bytes())
    said = noted(path)
    assert "another store" in said[f"{FOLDER}rows.lex"]
    assert "no list names" in said[f"{FOLDER}{renewed.name}"]
    with opened(path) as memory:
        agree(memory)
    assert noted(path) == {}


def test_files_are_removed_by_an_opening_whose_list_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    make(path, 60)
    (path / FOLDER / "rows.lex").write_bytes(bytes(128))
    with opened(path) as memory:
        assert not files_in(path)
        agree(memory)
    assert len(files_in(path)) == 2
    assert noted(path) == {}
