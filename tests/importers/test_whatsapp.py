"""WhatsApp chats of phones in many languages: dates, halves of days, notices, names of chats.

Damage without it: a whole chat as one memory without a time, "Ann created group" as a speaker, the
morning instead of the evening. Guard: lines made by hand after what phones of each language write.
"""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spector.errors import ImportFormatError
from spector.importers import detect_format, import_files
from tests.cases import Cases
from tests.importers.files import opened, read, reasons, told, written

cases = Cases(__file__)

EVENING = datetime(2025, 2, 13, 22, 1, tzinfo=UTC)

#: two lines of a phone -> its speakers, and why the second is left out
PHONES = {name: tuple(rest) for name, *rest in cases.rows("PHONES")}


@cases("first", "second", "day")
def test_a_year_of_two_digits_is_found_in_its_place(
    tmp_path: Path, first: str, second: str, day: str
) -> None:
    file = written(
        tmp_path / "WhatsApp Chat with Ivo.txt", f"{first} - Ivo: one\n{second} - Wren: two\n"
    )
    with opened(timezone="UTC") as memory:
        import_files(memory, file, assume_utc=True)
        begins = [each.event_time.date().isoformat() for each in memory.records()]
    assert begins[0] == day


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", PHONES)
def test_lines_of_a_phone_in_its_language(tmp_path: Path, name: str, encoding: str) -> None:
    text, speaker, reason = PHONES[name]
    path = tmp_path / "WhatsApp Chat with Ann.txt"
    path.write_text(text.replace("\n", "\r\n"), encoding=encoding, newline="")
    assert detect_format(path) == "whatsapp"
    (found,) = read(path)
    assert found["metadata"]["speaker"] == speaker
    assert found["text"] == text.split(": ", 1)[1].split("\n")[0].split(" <")[0]
    assert found["event_time"] == EVENING
    assert reasons(path, "whatsapp") == [reason]


IPHONE = (
    "\u200e[2/13/25, 9:59:00\u202fPM] Garden: \u200eMessages and calls are end-to-end encrypted.\n"
    "\u200e[2/13/25, 9:59:10\u202fPM] Garden: \u200eAnn created this group\n"
    "[2/13/25, 10:01:10\u202fPM] ~\u202fBen: I\u00a0do \u200e<This message was edited>\n"
    "\u200e[2/13/25, 10:02:10\u202fPM] Ann: plan.pdf • \u200e3 pages \u200edocument omitted\n"
    "\u200e[2/13/25, 10:03:00\u202fPM] Ann: \u200eVoice call, \u200eNo answer\n"
    "[2/13/25, 10:03:05\u202fPM] Ann: look \u200e<attached: 00000008-PHOTO-2025.jpg>\n"
    "[2/13/25, 10:04:00\u202fPM] \u2068+90\u00a0555\u00a0111\u2069: Call me\n"
    "\u200e[2/13/25, 10:05:00\u202fPM] Ann: \u200ePOLL:\nTea?\n\u200eOPTION: Yes (\u200e1 vote)\n"
    "[2/13/25, 10:07:00\u202fPM] Ann: \u200e+90 555 444\n"
    "[2/13/25, 10:08:00\u202fPM] Ann: \u200eLocation: https://maps.google.com/?q=1,2\n"
)


def test_what_an_iphone_says_itself_is_no_message(tmp_path: Path) -> None:
    path = written(tmp_path / "_chat.txt", IPHONE)
    found = read(path)
    assert told(found) == [
        ("Ben", "I\u00a0do"),
        ("Ann", "look"),
        ("+90 555 111", "Call me"),
        ("Ann", "POLL:\nTea?\nOPTION: Yes (1 vote)"),
        ("Ann", "+90 555 444"),
    ]
    assert {each["session_id"] for each in found} == {"whatsapp/Garden"}
    assert reasons(path, "whatsapp") == ["notice", "notice", "file", "notice", "place"]


ANDROID = (
    "2/13/25, 9:59\u202fPM - Messages and calls are end-to-end encrypted. Learn more.\n"
    '2/13/25, 10:00\u202fPM - Ann changed the group name from "A: b" to "C"\n'
    "2/13/25, 10:02\u202fPM - Ben: IMG 1.jpg (file attached)\nmy bed: new\n"
    "2/13/25, 10:03\u202fPM - Ben: null\n"
    "2/13/25, 10:05\u202fPM - Ben: <View once voice message omitted>\n"
    "2/13/25, 10:06\u202fPM - Ben: a < b: 2 - 1\n"
)


def test_what_android_says_itself_is_no_message(tmp_path: Path) -> None:
    path = written(tmp_path / "WhatsApp Chat with Garden (2).txt", ANDROID)
    found = read(path)
    assert told(found) == [("Ben", "my bed: new"), ("Ben", "a < b: 2 - 1")]
    assert {each["session_id"] for each in found} == {"whatsapp/Garden"}, "whichever download it is"
    assert reasons(path, "whatsapp") == ["notice", "notice", "no text", "sound"]


@cases("line", "fault")
def test_a_date_that_cannot_be_known_is_refused_with_its_line(
    tmp_path: Path, line: str, fault: str
) -> None:
    path = written(
        tmp_path / "WhatsApp Chat with Ann.txt", f"13/2/25, 10:00 - Ann: first\n{line}\n"
    )
    with pytest.raises(ImportFormatError, match=f"line 2: .*{fault}"):
        read(path)


@cases("name", "chat")
def test_the_name_of_the_chat_is_in_that_of_the_file(tmp_path: Path, name: str, chat: str) -> None:
    path = tmp_path / name
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("_chat.txt", PHONES["tr"][0])
            archive.writestr("__MACOSX/._chat.txt", b"\0\0")
    else:
        path.write_text(PHONES["tr"][0], encoding="utf-8")
    assert read(path)[0]["session_id"] == f"whatsapp/{chat}"
