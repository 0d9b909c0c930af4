"""Names of files of words are the store's own, however many digits they have.

Mechanism: a block's file is named by a number. Damage without the guard: a stray file with the
greatest number makes the next ones a digit longer, which nothing recognises: an erasure leaves the
words in them. Guard: the lowest free number is taken, and longer ones are removed with the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.kernel import get_kernel
from spector.lexical.files import MOST_BLOCKS, NAMED_DTYPE, pack_rows, read_rows
from spector.store.files.disk import DiskFile, DiskFiles
from spector.store.words import files as word_files
from spector.store.words.checks import notes_on_words
from spector.store.words.files import FOLDER, LIST, is_words
from tests.store.test_word_files import agree, durable, files_in, fill, make, opened


@pytest.fixture(autouse=True)
def _always_worth_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_files, "_WORTH_WRITING", 1)


def names(files: Iterable[Path]) -> set[str]:
    return {each.name for each in files}


@pytest.mark.parametrize("stray", ["99999999.lex", "100000000.lex", "99999999.lex.tmp"])
def test_words_beside_a_stray_file_of_the_greatest_number_are_saved_and_erased(
    tmp_path: Path, stray: str
) -> None:
    path = tmp_path / "mind"
    made = make(path, 60)
    with opened(path) as memory:
        agree(memory)
        made += fill(memory, 1000, 30)
        (path / FOLDER / stray).write_bytes(b"words of somebody")
    found = names(files_in(path))
    assert stray not in found
    assert "rows.lex" in found
    assert all(len(name) == len("00000000.lex") for name in found - {"rows.lex"})
    with opened(path) as memory:
        agree(memory)
        (path / FOLDER / stray).write_bytes(b"words of somebody")
        for each in made[:5]:
            memory.forget(each, purge=True)
        assert not names(files_in(path))
    assert spector.check(path).ok


def test_names_with_more_digits_than_are_written_are_those_of_words() -> None:
    for name in ("00000001.lex", "100000000.lex", "4294967295.lex.tmp", "rows.lex"):
        assert is_words(FOLDER + name), name
    for name in ("0000001.lex", "100000000", "notes.lex", "-00000001.lex"):
        assert not is_words(FOLDER + name), name


def test_a_list_of_numbers_that_no_file_has_is_no_list(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    make(path, 60)
    with opened(path) as memory:
        uuid = durable(memory).uuid
    image = np.frombuffer((path / LIST).read_bytes(), np.uint8).copy()
    analysis = int(image[32:40].view("<u8")[0])
    saved, problem = read_rows(image, uuid=uuid, analysis=analysis)
    assert saved is not None, problem
    saved.named["number"][0] = MOST_BLOCKS
    assert read_rows(
        np.frombuffer(pack_rows(saved, uuid=uuid, analysis=analysis), np.uint8),
        uuid=uuid,
        analysis=analysis,
    ) == (None, "a block number is out of range")


def test_a_list_that_is_cut_off_while_it_is_read_is_no_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mind"
    make(path, 60)
    with opened(path) as memory:
        uuid = durable(memory).uuid
    real = DiskFile.read_at

    def short(file: DiskFile, offset: int, length: int) -> bytes:
        data = real(file, offset, length)
        return data[:-3] if length % NAMED_DTYPE.itemsize == 0 and offset else data

    monkeypatch.setattr(DiskFile, "read_at", short)
    files = DiskFiles(str(path))
    unnamed = {name for name, _ in notes_on_words(files, uuid, get_kernel())}
    assert unnamed >= {FOLDER + each for each in names(files_in(path)) - {"rows.lex"}}
