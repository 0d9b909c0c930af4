"""What real exports have beside messages: marks of programs, copies of sessions, odd tables.

Damage without it: "citeturn0search0" in what was answered, a session twice because it was gone on
with, the fifth of March instead of the third of May. Guard: entries made after real exports.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import ImportFormatError
from spector.importers import import_files
from spector.importers.times import iso_of, order_of
from tests.cases import Cases
from tests.importers.files import imported, lines, opened, read, reasons, told, written
from tests.importers.test_assistants import CLAUDE, line
from tests.importers.test_messengers import DAY, USERS, message, post

cases = Cases(__file__)

MOMENT = datetime(2024, 5, 3, 10, tzinfo=UTC)


# --- assistants ----------------------------------------------------------------------------------


def test_marks_of_sources_are_no_words_of_an_answer(tmp_path: Path) -> None:
    city = '\ue200entity\ue202["city","Rize"]\ue201'
    cite, old = "\ue200cite\ue202turn0search0\ue201", "\u30103\u2020source\u3011"
    text = f"A fern {cite}. It grows in {city}.{old}"
    node = {
        "id": "a",
        "parent": None,
        "message": {
            "id": "a",
            "author": {"role": "assistant"},
            "create_time": 1714730000.5,
            "content": {"content_type": "text", "parts": [text]},
            "metadata": {
                "content_references": [
                    {"matched_text": city, "name": "Rize"},
                    {"matched_text": 5, "name": "x"},
                    "y",
                ]
            },
        },
    }
    talk = {"title": "Fern", "conversation_id": "c", "current_node": "a", "mapping": {"a": node}}
    (found,) = read(written(tmp_path / "conversations.json", [talk]))
    assert found["text"] == "A fern. It grows in Rize."


def test_a_session_that_is_gone_on_with_brings_only_what_is_new(tmp_path: Path) -> None:
    inserted = [
        {"type": "text", "text": "<ide_opened_file>a.py is open</ide_opened_file>"},
        {"type": "text", "text": "Fix the test"},
    ]
    first = [line(1, "user", inserted), line(2, "assistant", [{"type": "text", "text": "I will."}])]
    made_up = line(3, "assistant", [{"type": "text", "text": "No response requested."}])
    made_up["message"]["model"] = "<synthetic>"
    later = [{**each, "sessionId": "9aa"} for each in [*first, made_up, line(4, "user", "Thanks")]]
    folder = tmp_path / "project"
    folder.mkdir()
    for name, entries in (("8f1", first), ("9aa", later)):
        lines(folder / f"{name}.jsonl", *entries)
    with opened() as memory:
        report = import_files(memory, folder)
        assert [each.text for each in memory] == ["Fix the test", "I will.", "Thanks"]
        assert (report.stored, report.known) == (3, 2)


def test_lists_beside_the_messages_of_an_export_are_counted(tmp_path: Path) -> None:
    written(tmp_path / "slack" / "users.json", USERS)
    written(tmp_path / "slack" / "canvases.json", [])
    written(tmp_path / "slack" / "general" / "2024-05-03.json", DAY)
    with opened() as memory:
        report = import_files(memory, tmp_path / "slack")
    assert report.others[".json"] == 2
    assert not [each.error for each in report.files if each.error]


@pytest.mark.parametrize("in_folder", [False, True])
def test_documents_of_projects_and_notes_of_the_assistant_come_along(
    tmp_path: Path, in_folder: bool
) -> None:
    project = {
        "uuid": "p",
        "name": "Garden",
        "prompt_template": "Be short",
        "docs": [
            {
                "uuid": "d1",
                "filename": "soil.md",
                "content": "# Soil\n\nClay.",
                "created_at": "2026-02-02T10:00:00Z",
            },
            {"uuid": "d2", "content": " "},
            7,
        ],
    }
    written(tmp_path / "conversations.json", [CLAUDE])
    written(tmp_path / "users.json", [{"uuid": "a"}])
    written(
        tmp_path / "memories.json",
        [
            {
                "conversations_memory": "Ann gardens.",
                "project_memories": {"p": "Six beds.", "q": None},
            }
        ],
    )
    if in_folder:
        written(tmp_path / "projects" / "p.json", project)
    else:
        written(tmp_path / "projects.json", [project])
    found = [each for each in read(tmp_path) if "session_id" not in each]
    assert sorted((each["role"], each["source"], each["text"]) for each in found) == [
        ("assistant", "claude", "Ann gardens."),
        ("assistant", "claude", "Six beds."),
        ("document", "soil.md", "# Soil\n\nClay."),
    ]
    (document,) = [each for each in found if each["role"] == "document"]
    assert document["event_time"] == datetime(2026, 2, 2, 10, tzinfo=UTC)
    assert document["metadata"]["project"] == "Garden"
    with opened() as memory:
        first = import_files(memory, tmp_path)
        assert first.others[".json"] == 1, "the list of users"
        assert import_files(memory, tmp_path).known == first.stored


# --- messengers ----------------------------------------------------------------------------------


def test_words_that_stand_beside_an_empty_text(tmp_path: Path) -> None:
    section = {
        "type": "rich_text_section",
        "elements": [
            {"type": "text", "text": "only blocks & <"},
            {"type": "user", "user_id": "U2"},
            {"type": "link", "url": "https://example.org/a"},
            {"type": "emoji", "name": "wave"},
        ],
    }
    blocks = [{"type": "rich_text", "elements": [section, section]}]
    entries = [
        {"type": "message", "user": "U1", "text": "", "ts": "1714730000.0001", "blocks": blocks},
        {
            "type": "message",
            "subtype": "bot_message",
            "username": "Git",
            "text": "",
            "bot_id": "B",
            "ts": "1714730001.0001",
            "attachments": [
                {"fallback": "x", "title": "PR #7", "text": "Fix <https://e.org/x|login>"}
            ],
        },
        {"type": "message", "user": "U1", "text": "", "ts": "1714730002.0001", "blocks": [[7]]},
        {
            "type": "message",
            "user": "U1",
            "text": "to <mailto:a@b.org|a@b.org> &lt;3",
            "ts": "1714730003.0001",
        },
    ]
    written(tmp_path / "users.json", USERS)
    written(tmp_path / "general" / "2024-05-03.json", entries)
    said = "only blocks & <@Benhttps://example.org/a:wave:"
    assert told(read(tmp_path)) == [
        ("Ann Lee", f"{said}\n{said}"),
        ("Git", "PR #7\nFix login (https://e.org/x)"),
        ("Ann Lee", "to a@b.org <3"),
    ]


def test_discord_passes_words_on_and_programs_show_cards(tmp_path: Path) -> None:
    robot = {"id": "8", "name": "robot", "nickname": "robot", "isBot": True}
    card = [{"title": "News", "description": "The harbour is closed"}]
    path = written(
        tmp_path / "harbour.json",
        {
            "guild": {"name": "Boats"},
            "channel": {"id": "77", "name": "harbour"},
            "messages": [
                post(1, "", forwardedMessage={"content": "passed on"}),
                post(2, "", embeds=card, author=robot),
                post(3, "", embeds=card),
            ],
        },
    )
    found = read(path)
    assert told(found) == [("Ann", "passed on"), ("robot", "News\nThe harbour is closed")]
    assert found[0]["metadata"]["forwarded"] is True
    assert reasons(path, "discord") == ["picture"]


def test_a_link_behind_words_of_telegram_stays(tmp_path: Path) -> None:
    text = ["See ", {"type": "text_link", "text": "the page", "href": "https://e.org/p"}, "."]
    chat = {"name": "A", "type": "personal_chat", "id": 1, "messages": [message(2, text)]}
    assert read(written(tmp_path / "result.json", chat))[0]["text"] == (
        "See the page (https://e.org/p)."
    )


# --- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_as_a_spreadsheet_saves_it(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    long = "word " * 40_000
    text = (
        'sep=;\r\nid;tarih;gönderen;mesaj;not 2;\r\n1;13.05.2024 22:00;Ayşe;"Merhaba; '
        f'""dünya""\r\nikinci satır";x;\r\n2;14.05.2024 09:01;Can;{long};;\r\n'
    )
    path.write_text(text, encoding=encoding, newline="")
    found = read(path, timezone="Europe/Istanbul")
    assert told(found) == [("Ayşe", 'Merhaba; "dünya"\nikinci satır'), ("Can", long)]
    assert found[0]["event_time"] == datetime(2024, 5, 13, 19, tzinfo=UTC)
    with pytest.raises(ImportFormatError, match=r"line 3: .* no time zone"):
        read(path)


@cases("days", "wanted")
def test_days_of_a_table_are_read_in_the_order_that_all_rows_allow(
    days: list[str], wanted: list[str | None]
) -> None:
    assert [iso_of(each, order_of(days)) for each in days] == wanted


def test_an_order_of_day_and_month_that_is_not_clear_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "date,author,content\n5/3/2024,Ann,hello\n")
    with pytest.raises(ImportFormatError, match=r"line 2: the order of day and month in '5/3"):
        read(path)


# --- chats and tables of strangers ---------------------------------------------------------------


def test_telegram_has_polls_deleted_accounts_and_mentions(tmp_path: Path) -> None:
    poll = {
        "question": "Tea?",
        "closed": False,
        "answers": [{"text": "Yes", "voters": 2}, {"text": "No"}, 7],
    }
    chat = {
        "name": "A",
        "type": "private_group",
        "id": 1,
        "messages": [
            message(2, "", poll=poll),
            message(3, "Gone", **{"from": None, "from_id": None}),
            message(4, "", text_entities=[{"type": "plain", "text": "In pieces"}]),
            message(5, [{"type": "mention_name", "text": "Can", "user_id": 7}, " comes"]),
            message(6, "", poll={"question": 5}),
            message(7, ["a", 5, None, ["b"]]),
        ],
    }
    path = written(tmp_path / "result.json", chat)
    assert [(each["metadata"]["speaker"], each["text"]) for each in read(path)] == [
        ("Ira", "Tea?\n- Yes\n- No"),
        ("deleted account", "Gone"),
        ("Ira", "In pieces"),
        ("Ira", "Can comes"),
        ("Ira", "a"),
    ]
    assert reasons(path, "telegram") == ["poll"]


def test_lines_with_dates_are_no_chat(tmp_path: Path) -> None:
    for name, text in (
        ("notes.txt", "13/02/2025, 22:01 - bought milk\n14/02/2025, 22:01 - bought bread\n"),
        ("run.txt", "2025-02-13 22:01:00 - INFO: started\n2025-02-13 22:01:01 - ERROR: failed\n"),
    ):
        (tmp_path / name).write_text(text)
        (found,) = read(tmp_path / name)
        assert found["text"] == text.strip()
        assert "speaker" not in found["metadata"]


def test_names_of_persons_may_have_colons(tmp_path: Path) -> None:
    lines = [
        "Ann: Home: hi",
        "Ann: Home: milk: two",
        "Ben: plan: x",
        "Ann: Home: 10:30 it is",
        "Ben: no",
        "Cem: one: word",
    ]
    path = written(
        tmp_path / "_chat.txt",
        "".join(f"[13/02/2025, 22:01:0{n}] {each}\n" for n, each in enumerate(lines)),
    )
    assert [(each["metadata"]["speaker"], each["text"]) for each in read(path)] == [
        ("Ann: Home", "hi"),
        ("Ann: Home", "milk: two"),
        ("Ben", "plan: x"),
        ("Ann: Home", "10:30 it is"),
        ("Ben", "no"),
        ("Cem", "one: word"),
    ]


def test_words_of_programs_in_channels(tmp_path: Path) -> None:
    day = written(
        tmp_path / "2024-05-03.json",
        [
            {
                "type": "message",
                "bot_id": "B1",
                "bot_profile": {"name": "Gitbot"},
                "text": "green",
                "ts": "1714730400.0002",
            },
            {
                "type": "message",
                "subtype": "tombstone",
                "user": "U1",
                "text": "This was deleted.",
                "ts": "1714730401.0002",
            },
        ],
    )
    (found,) = read(day)
    assert (found["role"], found["metadata"]["speaker"]) == ("assistant", "Gitbot")
    assert reasons(day, "slack") == ["notice"]
    channel = tmp_path / "harbour.json"
    robot = {"id": "8", "name": "robot", "isBot": True}
    written(
        channel,
        {
            "channel": {"id": "7", "name": "h"},
            "messages": [
                {
                    "id": "1",
                    "type": "20",
                    "timestamp": "2024-05-03T12:00:00+02:00",
                    "author": robot,
                    "content": "<@9> asked <@!5>",
                    "mentions": [{"id": "9", "name": "a", "nickname": "Ann"}],
                },
                {
                    "id": "2",
                    "type": "Default",
                    "timestamp": "2024-05-03T12:00:00+02:00",
                    "author": None,
                    "content": "who was it",
                },
            ],
        },
    )
    assert [(each.get("role"), each["text"]) for each in read(channel)] == [
        ("assistant", "@Ann asked @5"),
        (None, "who was it"),
    ]


def test_a_role_that_a_data_set_does_not_have_refuses_it(tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    entry: dict[str, Any] = {"question_id": "q", "haystack_dates": ["2023/05/20 (Sat) 02:21"]}
    turns = [
        {"role": "system", "content": "Obey."},
        {"role": "user", "content": "A red kettle", "has_answer": True},
    ]
    written(path, [{**entry, "haystack_sessions": [turns], "answer": "red"}])
    (found,) = read(path)
    assert (found["role"], found["text"]) == ("user", "A red kettle")
    assert "has_answer" not in json.dumps(found, default=str), "it would give the answer away"
    for role in (None, "bot", 5, {"parts": True}, ["user"]):
        turn = {"content": "x", "role": role}
        written(path, [{**entry, "haystack_sessions": [[turn]]}])
        with pytest.raises(ImportFormatError, match="turn 1: role is"):
            read(path)


def test_a_table_with_the_day_and_the_hour_in_two_columns(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t.csv",
        '\n;;\nmesaj;tarih;saat;etiketler\na;03.05.2024;10:00;"[""x"", ""y""]"\n'
        "b;3.5.2024;9.30;x, y\nc;2024-05-03;10:00 PM;\nd;2024-05-03;;\ne;;10:00;\nf;45415;;\n",
    )
    found = read(path, timezone="UTC")
    assert [each.get("event_time") for each in found] == [
        MOMENT,
        MOMENT.replace(hour=9, minute=30),
        MOMENT.replace(hour=22),
        MOMENT.replace(hour=0),
        None,
        None,
    ]
    assert [each.get("tags") for each in found[:2]] == [["x", "y"], ["x", "y"]]
    assert [each.get("metadata") for each in found[4:]] == [{"saat": "10:00"}, {"tarih": "45415"}]
    path.write_text("name,value\nthreads,4\n")
    with pytest.raises(ImportFormatError, match="no column has texts"):
        read(path)


def test_fields_of_mem0_that_have_no_place_are_kept(tmp_path: Path) -> None:
    path = written(
        tmp_path / "m.json",
        {
            "results": [
                {
                    "id": "a",
                    "memory": "Plays chess",
                    "score": 0.4,
                    "hash": "h",
                    "actor_id": "Ann",
                    "role": "system",
                    "metadata": {"level": 3},
                },
                {"id": "a", "memory": "Plays go"},
            ]
        },
    )
    chess, go = read(path)
    assert chess["metadata"] == {"actor_id": "Ann", "role": "system", "level": 3}
    assert "role" not in chess
    with opened() as memory:
        assert import_files(memory, path).stored == 2
    assert go["text"] == "Plays go"


def test_properties_that_are_not_understood_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    matter = "book:\n  author: Lem\n  year: 1961\naliases: [x]\naliases: y\n"
    path.write_text(f"---\n{matter}---\nGood.\n")
    (found,) = read(path)
    assert "author: Lem\nyear: 1961" in found["text"]
    assert found["aliases"] == ["x", "y"]


# -- What one entry lacks costs no other entry of its file, and forms of products are read as
#    meant
#
# Mechanism: readers say what is no message, and the import names it. Damage without it: half of an
# emoji keeps a whole export out; a comment that no reader sees becomes a memory; the lines of a
# file of fine-tuning become one long talk. Guard: small files in the forms of the products.


def test_half_of_an_emoji_costs_its_message_alone(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "talk.jsonl",
        {"text": "The ferry leaves at six."},
        {"text": "cut off \ud83d"},
        {"text": "Bring the blue rope.", "metadata": {"by": "Ivo"}},
    )
    report, records = imported(file)
    assert [each.text for each in records] == ["The ferry leaves at six.", "Bring the blue rope."]
    [bad] = report.files[0].bad
    assert "line 2" in bad
    assert "half of an emoji" in bad


@pytest.mark.parametrize("text", ["\u200b\u200e", "\u00ad", "\ufeff \u2060"])
def test_a_text_that_nobody_sees_stores_nothing_of_its_file(tmp_path: Path, text: str) -> None:
    notes = [{"text": f"note {n}"} for n in range(30)]
    file = lines(tmp_path / "x.jsonl", *notes, {"text": text})
    config = spector.Config(batch_records=10)
    with opened(config=config) as memory:
        with pytest.raises(spector.InvalidTextError, match="invisible"):
            memory.import_(file)
        assert len(memory) == 0


def test_each_line_of_fine_tuning_is_a_conversation(tmp_path: Path) -> None:
    talks = [
        {
            "messages": [
                {"role": "user", "content": f"My punt is number {n}."},
                {"role": "assistant", "content": "Noted."},
            ]
        }
        for n in range(3)
    ]
    file = lines(tmp_path / "tune.jsonl", *talks)
    _, records = imported(file)
    assert len(records) == 6
    assert len({each.session_id for each in records}) == 3
    with opened() as memory:
        import_files(memory, file)
        first = {"messages": [{"role": "user", "content": "First of all: hello Oulu."}]}
        lines(file, first, *talks)
        import_files(memory, file)
        assert len(memory) == 7, "a line further up makes no other message of those below"


def test_a_comment_of_a_note_is_not_read(tmp_path: Path) -> None:
    note = tmp_path / "vault" / "boat.md"
    note.parent.mkdir()
    written(
        note,
        "The keel is sound. %%ask Ivo%% Paint it.\n\n%%\nold plan\n%%\n\nUp 5%% or 6%% a year.\n\n"
        '```\nprintf("%%d %%s")\n```\n\nOpen %% sign.\n',
    )
    whole = "\n".join(each.text for each in imported(note.parent)[1])
    assert "ask Ivo" not in whole
    assert "old plan" not in whole
    for kept in ("Paint it.", "Up 5%% or 6%% a year.", "%%d %%s", "Open %% sign."):
        assert kept in whole


def test_notes_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("north", "south"):
        (tmp_path / "vault" / folder).mkdir(parents=True)
        (tmp_path / "vault" / folder / "Pier.md").write_text(f"The {folder} pier is open.\n")
    _, records = imported(tmp_path / "vault")
    assert {each.source for each in records} == {"north/Pier.md", "south/Pier.md"}


def test_a_database_of_notion_says_its_rows(tmp_path: Path) -> None:
    table = 'Name,Status,Due\nBuy rope,Open,"February 5, 2026"\n'
    named = written(tmp_path / "Tasks 0a1b2c3d4e5f60718293a4b5c6d7e8f9.csv", table)
    _, [record] = imported(named)
    assert record.text == "Name: Buy rope\nStatus: Open\nDue: February 5, 2026"
    other = written(tmp_path / "tasks.csv", table)
    with pytest.raises(spector.ImportFormatError, match="no column has texts"):
        imported(other)
