"""A format of one's own is one file: a reader, and what shows it.

Damage without it: who has another chat program waits for us. Guard: a toy format that is written
through the public package alone, and gets all that imports promise.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import spector
from spector.errors import ImportFormatError, InvalidInputError
from spector.importers import (
    READERS,
    Broken,
    Format,
    Found,
    Head,
    LeftOut,
    Options,
    SourceFile,
    detect_format,
    import_files,
    label,
    parse_time,
    register,
)
from tests.fakes import FakeEmbedder


def read(source: SourceFile, options: Options) -> Iterator[Found | LeftOut | Broken]:
    """Lines like "2024-05-03T10:00Z ann> hello"; "#" begins a notice."""
    with source.open_text() as stream:
        for number, line in enumerate(stream, 1):
            place = f"line {number}"
            if line.startswith("#"):
                yield LeftOut("notice", place)
                continue
            head, mark, text = line.rstrip("\n").partition("> ")
            when, _, who = head.rpartition(" ")
            if not mark or not who:
                yield Broken(source.error(place, "has no speaker", hint='write "ann> hello"'))
                continue
            moment = parse_time(when, source, place, options, name="the time")
            yield Found(
                {"text": text, "role": label(who), "source": source.name}
                | ({"event_time": moment} if moment else {}),
                place,
            )


def recognizes(head: Head) -> bool:
    return head.text.startswith("#chevrons")


CHEVRONS = Format("chevrons", "lines like ann> hello", read, recognizes)
LOG = "#chevrons\n2024-05-03T10:00Z ann> Who feeds the cat?\n ben> I do\n2024-05-03T10:01Z ann> \n"


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register(CHEVRONS)
    register(CHEVRONS)  # a module that is loaded twice
    yield
    del READERS["chevrons"]


def test_a_toy_format_is_recognized_dated_counted_and_known_again(tmp_path: Path) -> None:
    path = tmp_path / "cat.chv"
    path.write_text(LOG)
    assert detect_format(path) == "chevrons"
    with spector.open(":memory:", embedder=FakeEmbedder(dim=16)) as memory:
        report = import_files(memory, path)
        assert [(each.role, each.text) for each in memory] == [
            ("ann", "Who feeds the cat?"),
            ("ben", "I do"),
        ]
        moment = datetime(2024, 5, 3, 10, tzinfo=UTC)
        assert {each.event_time for each in memory} == {moment}, "ben's is that of the line before"
        assert report.files[0].left_out == {"notice": 1, "no text": 1}
        assert report.files[0].dated_by_others == 1
        path.write_text(LOG + "2024-05-03T10:02Z ann> Thanks\n")
        again = import_files(memory, path)
        assert (again.stored, again.known) == (1, 2)


def test_it_is_read_in_archives_and_its_bad_lines_store_nothing(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("cat.txt", LOG)
        archive.writestr("odd.txt", LOG + "nothing at all\n")
    with spector.open(":memory:", embedder=FakeEmbedder(dim=16)) as memory:
        report = import_files(memory, tmp_path / "all.zip")
        assert [each.error for each in report.files] == [
            "",
            f"{tmp_path}/all.zip!odd.txt, line 5: has no speaker",
        ]
        assert len(memory) == 2
        assert import_files(memory, tmp_path / "all.zip", skip_bad=True).stored == 2
        (tmp_path / "bare.chv").write_text("2024-05-03T10:00Z ann> hi\n")
        with pytest.raises(ImportFormatError, match="may be anything"):
            import_files(memory, tmp_path / "bare.chv")
        assert import_files(memory, tmp_path / "bare.chv", format="chevrons").stored == 1


def test_a_name_stands_for_one_format() -> None:
    for name in ("auto", "chatgpt", "chevrons"):
        with pytest.raises(InvalidInputError, match="already"):
            register(Format(name, "another", read, lambda head: False))
    with pytest.raises(InvalidInputError, match="must be a"):
        register(read)  # type: ignore[arg-type]
    assert READERS["chevrons"] is CHEVRONS
