"""Exports of messengers: who said what and when, and nothing that nobody said.

Damage without it: the time of the import instead of that of the message, join notices as memories,
a whole chat as one memory. Guard: files made by hand after public descriptions, with their traps.
"""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spector.errors import ImportFormatError
from spector.importers import Importing, ImportOptions, detect_format
from tests.cases import Cases
from tests.importers.files import opened, read, reasons, told, written

cases = Cases(__file__)

# --- Telegram ------------------------------------------------------------------------------------


def message(number: int, text: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "type": "message",
        "date": "2025-01-15T10:30:00",
        "date_unixtime": str(1736929800 + number),
        "from": "Ira",
        "from_id": "user2",
        "text": text,
        **more,
    }


TELEGRAM = [
    *cases.rows("TELEGRAM"),
    message(
        2,
        [
            "Read ",
            {"type": "link", "text": "https://example.org/a"},
            " before ",
            {"type": "bold", "text": "Monday"},
            ".",
        ],
    ),
    message(3, "", photo="photos/1.jpg", width=100),
    message(4, "", media_type="voice_message", file="v.ogg"),
    message(5, "Look at this", photo="photos/2.jpg"),
    message(6, "Forwarded words", forwarded_from="A channel"),
    message(7, "An answer", reply_to_message_id=2, edited_unixtime="1736930000", **{"from": None}),
    message(8, "Yarın\ngörüşürüz", **{"from": "Çağla Öz"}),
]


@pytest.mark.parametrize("whole_account", [False, True])
def test_telegram(tmp_path: Path, whole_account: bool) -> None:
    chat = {"name": "Garden", "type": "private_group", "id": 4711, "messages": TELEGRAM}
    document = {"about": "x", "chats": {"list": [chat]}} if whole_account else chat
    path = written(tmp_path / "result.json", json.dumps(document, indent=1))
    assert detect_format(path) == "telegram"
    found = read(path)
    assert told(found) == [
        ("Ira", "Read https://example.org/a before Monday."),
        ("Ira", "Look at this"),
        ("Ira", "Forwarded words"),
        ("user2", "An answer"),
        ("Çağla Öz", "Yarın\ngörüşürüz"),
    ]
    assert found[0]["event_time"] == datetime(2025, 1, 15, 8, 30, 2, tzinfo=UTC)
    assert {each["session_id"] for each in found} == {"telegram/4711"}
    assert found[2]["metadata"]["forwarded_from"] == "A channel"
    assert found[3]["metadata"]["reply_to"] == 2
    assert reasons(path, "telegram") == ["notice", "picture", "sound"]


def test_telegram_without_instants_is_read_in_the_zone_that_is_named(tmp_path: Path) -> None:
    old = {key: value for key, value in message(2, "Hi").items() if key != "date_unixtime"}
    path = written(
        tmp_path / "result.json", {"name": "I", "type": "personal_chat", "id": 1, "messages": [old]}
    )
    (found,) = read(path, timezone="Europe/Istanbul")
    assert found["event_time"] == datetime(2025, 1, 15, 7, 30, tzinfo=UTC)
    broken = {**old, "date": "yesterday"}
    written(path, {"name": "I", "type": "personal_chat", "id": 1, "messages": [broken]})
    with pytest.raises(ImportFormatError, match=r"message 1 \(id 2\): date 'yesterday'"):
        read(path)


# --- WhatsApp ------------------------------------------------------------------------------------

IOS = (
    "[13/02/2025, 22:01:00] \u200eGarden: \u200eMessages and calls are end-to-end encrypted.\n"
    "[13/02/2025, 22:01:07] Ann: Who feeds the cat?\n"
    "Ben said: not me\n"
    "\n"
    "[13/02/2025, 22:02:00] ~\u202fBen: \u200eimage omitted\n"
    "[13/02/2025, 22:03:00] Ben: I do: at 8:30, twice\n"
    "[14/02/2025, 00:00:01] Ben: This message was deleted.\n"
    "\u200e[14/02/2025, 00:00:02] Ann: \u200e<attached: 00000042-PHOTO.jpg>\n"
)
ANDROID_US = (
    "2/13/25, 10:01\u202fPM - Messages and calls are end-to-end encrypted.\n"
    "2/13/25, 10:01\u202fPM - Ann: Who feeds the cat?\n"
    "2/13/25, 12:30\u202fAM - Ben: <Media omitted>\n"
    "2/14/25, 12:30\u202fAM - Ben: I do\n"
    "2/14/25, 12:31\u202fPM - Ben left\n"
)
TURKISH = (
    "13.02.2025 22:01 - Ayşe: Kediyi kim besliyor?\n"
    "13.02.2025 22:02 - Ayşe: <Medya dahil edilmedi>\n"
    "14.02.2025 09:00 - Çağrı: Ben.\nSabah ve akşam.\n"
    "14.02.2025 09:01 - Çağrı kişisi ayrıldı\n"
    "14.02.2025 09:02 - Ayşe: Bu mesaj silindi\n"
)


def test_whatsapp_of_ios(tmp_path: Path) -> None:
    path = written(tmp_path / "_chat.txt", IOS)
    assert detect_format(path) == "whatsapp"
    found = read(path, timezone="Europe/Istanbul")
    assert told(found) == [
        ("Ann", "Who feeds the cat?\nBen said: not me"),
        ("Ben", "I do: at 8:30, twice"),
    ]
    assert found[0]["event_time"] == datetime(2025, 2, 13, 19, 1, 7, tzinfo=UTC)
    assert found[0]["session_id"] == "whatsapp/Garden", "as its first notice names it"
    assert reasons(path, "whatsapp") == ["notice", "picture", "deleted", "file"]


def test_whatsapp_of_android_with_the_month_first(tmp_path: Path) -> None:
    path = written(tmp_path / "WhatsApp Chat with Ann.txt", ANDROID_US)
    found = read(path)
    assert told(found) == [("Ann", "Who feeds the cat?"), ("Ben", "I do")]
    assert [each["event_time"] for each in found] == [
        datetime(2025, 2, 13, 22, 1, tzinfo=UTC),
        datetime(2025, 2, 14, 0, 30, tzinfo=UTC),
    ]
    assert found[0]["session_id"] == "whatsapp/Ann"
    assert reasons(path, "whatsapp") == ["notice", "picture", "notice"]


def test_whatsapp_in_turkish_from_its_zip(tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat - Aile.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_chat.txt", TURKISH)
        archive.writestr("IMG-1.jpg", b"\xff\xd8")
    found = read(path)
    assert told(found) == [("Ayşe", "Kediyi kim besliyor?"), ("Çağrı", "Ben.\nSabah ve akşam.")]
    assert {each["session_id"] for each in found} == {"whatsapp/Aile"}


@cases("days", "first")
def test_the_order_of_day_and_month_is_the_one_in_which_time_goes_on(
    tmp_path: Path, days: list[str], first: list[int]
) -> None:
    path = written(
        tmp_path / "_chat.txt", "".join(f"{day}, 10:00 - Ann: hello there\n" for day in days)
    )
    moment = read(path)[0]["event_time"]
    assert [moment.month, moment.day] == first


def test_an_order_that_cannot_be_known_is_said(tmp_path: Path) -> None:
    path = written(
        tmp_path / "_chat.txt", "03/04/25, 10:00 - Ann: hello\n03/04/25, 10:01 - Ben: hello you\n"
    )
    importing = Importing([(str(path), path)], ImportOptions())

    with opened() as memory:
        report = importing.check(memory).files[0]
    assert "the day first" in report.notes[0]
    assert report.zoneless == 2


# --- Slack ---------------------------------------------------------------------------------------

USERS = [
    {"id": "U1", "name": "ann", "real_name": "Ann Lee", "profile": {"display_name": ""}},
    {"id": "U2", "name": "ben", "profile": {"display_name": "Ben", "real_name": "Benjamin"}},
    {"id": "U3", "deleted": True, "profile": None},
]
DAY = cases.rows("DAY")


@pytest.mark.parametrize("packed", [False, True])
def test_slack(tmp_path: Path, packed: bool) -> None:
    files = {
        "users.json": USERS,
        "channels.json": [{"id": "C1", "name": "general"}],
        "general/2024-05-03.json": DAY,
        "general/2024-05-04.json": [],
        "integration_logs.json": [{"a": 1}],
    }
    path = tmp_path / ("export.zip" if packed else "export")
    if packed:
        with zipfile.ZipFile(path, "w") as archive:
            for name, value in files.items():
                archive.writestr(name, json.dumps(value))
    else:
        for name, value in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            written(path / name, value)
    assert detect_format(path) == "slack"
    found = read(path)
    assert told(found) == [
        ("Ann Lee", "Ask @Ben in #general & read the page (https://example.org/a) <now>"),
        ("Ben", "In the thread"),
        ("Deploys", "Build 7 is green"),
        ("Guest", "Hello"),
    ]
    assert found[0]["event_time"] == datetime(2024, 5, 3, 10, 0, 0, tzinfo=UTC)
    assert {each["session_id"] for each in found} == {"slack/general"}
    assert found[1]["metadata"]["thread"] == "1714730400.000200"
    assert found[2]["role"] == "assistant"


def test_slack_day_alone_keeps_its_times_and_leaves_notices_out(tmp_path: Path) -> None:
    path = written(tmp_path / "2024-05-03.json", DAY)
    assert detect_format(path) == "slack"
    assert [each["metadata"]["speaker"] for each in read(path)] == ["U1", "U2", "Deploys", "Guest"]
    assert reasons(path, "slack") == ["notice", "picture"]


# --- Discord -------------------------------------------------------------------------------------


def post(number: int, content: str, kind: str = "Default", **more: Any) -> dict[str, Any]:
    return {
        "id": str(number),
        "type": kind,
        "timestamp": "2024-05-03T12:00:00.123+02:00",
        "timestampEdited": None,
        "content": content,
        "attachments": [],
        "embeds": [],
        "author": {"id": "9", "name": "ann#1", "nickname": "Ann", "isBot": False},
        **more,
    }


def test_discord(tmp_path: Path) -> None:
    bot = {"id": "8", "name": "robot", "nickname": "", "isBot": True}
    document = {
        "guild": {"id": "1", "name": "Boats"},
        "channel": {"id": "77", "name": "harbour"},
        "dateRange": {},
        "messages": [
            post(1, "joined the server.", "GuildMemberJoin"),
            post(2, "The tide turns at six"),
            post(3, "", attachments=[{"fileName": "a.PNG"}]),
            post(4, "", attachments=[{"fileName": "log.txt"}]),
            post(5, "An answer", "Reply", reference={"messageId": "2", "channelId": "77"}),
            post(6, "beep", author=bot),
            post(7, "  ", stickers=[{"name": "wave"}]),
        ],
        "messageCount": 7,
    }
    path = written(tmp_path / "Boats - harbour [77].json", document)
    assert detect_format(path) == "discord"
    found = read(path)
    assert told(found) == [
        ("Ann", "The tide turns at six"),
        ("Ann", "An answer"),
        ("robot", "beep"),
    ]
    assert found[0]["event_time"] == datetime(2024, 5, 3, 10, 0, 0, 123000, tzinfo=UTC)
    assert found[0]["metadata"]["channel"] == "harbour"
    assert found[1]["metadata"]["reply_to"] == "2"
    assert [each["role"] for each in found] == ["Ann", "Ann", "assistant"]
    assert reasons(path, "discord") == ["notice", "picture", "file", "sticker"]
