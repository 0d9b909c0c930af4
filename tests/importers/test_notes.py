"""Notes: titles, folders and properties can be found, lines and rows stay whole.

Damage without it: a note that is found by no word of its name, properties as prose, a table row in
two halves. Guard: a vault made by hand, and texts at every limit.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spector.importers.formats.markdown import properties_of, tags_in
from tests.cases import Cases
from tests.importers.files import read

cases = Cases(__file__)

DAILY = """---
date: 2024-05-03
tags: [journal, "health"]
aliases:
  - My run
mood: good # a comment
rating: 4
done: true
people: ["[[Ann Lee|Ann]]", Ben]
---

Ran 5 km with [[Ann Lee|Ann]] before breakfast, see [[Plan#May]]. #sport/running

```
# no heading, #notag
```
"""


def test_properties_tags_dates_links_and_names_of_a_note(tmp_path: Path) -> None:
    (tmp_path / "Daily.md").write_text(DAILY)
    (chunk,) = read(tmp_path / "Daily.md")
    assert chunk["text"].startswith(
        "Daily\n\nmood: good\nrating: 4\npeople: [[Ann Lee|Ann]], Ben\n\nRan 5 km"
    )
    assert chunk["event_time"] == datetime(2024, 5, 3, tzinfo=UTC)
    assert chunk["tags"] == ["journal", "health", "sport/running"]
    assert chunk["aliases"] == ["My run"]
    assert chunk["metadata"]["links"] == ["Ann Lee", "Plan"]
    assert chunk["metadata"]["properties"] == {
        "date": "2024-05-03",
        "tags": ["journal", "health"],
        "aliases": ["My run"],
        "mood": "good",
        "rating": 4,
        "done": True,
        "people": ["[[Ann Lee|Ann]]", "Ben"],
    }
    assert "[[Ann Lee|Ann]]" in chunk["text"], "links stay as they are"


def test_a_vault_names_folder_and_title_and_skips_what_is_empty(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for folder in (".obsidian", "Trips/2024", "Trips/.trash"):
        (vault / folder).mkdir(parents=True, exist_ok=True)
    (vault / ".obsidian" / "app.json").write_text("{}")
    (vault / "Trips" / "2024" / "Passport.md").write_text("Ends in 4471.\n")
    (vault / "Trips" / "Kars.md").write_text("# Kars by train\n\nTwo days.\n")
    (vault / "Trips" / ".trash" / "old.md").write_text("gone")
    (vault / "Untitled.md").write_text("\n\n")
    (vault / "2024-05-03 Walk.md").write_text("Along the river.\n")
    (vault / "Bare.md").write_text("---\nkind: game\n---\n")
    found = {each["source"]: each for each in read(vault)}
    assert found["Trips/2024/Passport.md"]["text"] == "Trips > 2024 > Passport\n\nEnds in 4471."
    assert found["Trips/Kars.md"]["text"] == "Trips > Kars > Kars by train\n\nTwo days."
    assert found["Trips/2024/Passport.md"]["metadata"]["folder"] == "Trips/2024"
    assert found["2024-05-03 Walk.md"]["event_time"] == datetime(2024, 5, 3, tzinfo=UTC)
    assert found["Bare.md"]["text"] == "Bare\n\nkind: game"
    assert set(found) == {
        "Trips/2024/Passport.md",
        "Trips/Kars.md",
        "2024-05-03 Walk.md",
        "Bare.md",
    }
    (only,) = read(vault / "Trips" / "2024" / "Passport.md")
    assert only["text"] == "Passport\n\nEnds in 4471."


def test_properties_are_no_memory_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "Kars.md").write_text(
        "\ufeff---\r\ntags:\r\n  - travel\r\naliases: [East]\r\ncreated: 2024-05-03\r\n"
        "cssclasses: wide\r\npublish: false\r\nplace: Kale\r\n---\r\n# Kars\r\n\r\nTwo days.\r\n",
        newline="",
    )
    (chunk,) = read(tmp_path / "Kars.md")
    assert chunk["text"] == "Kars\n\nplace: Kale\n\nTwo days."
    assert (chunk["tags"], chunk["aliases"]) == (["travel"], ["East"])
    assert chunk["metadata"]["properties"]["place"] == "Kale"
    (tmp_path / "Bare.md").write_text("---\ntags: [a]\ndate: 2024-05-03\nid: 7\n---\n")
    assert read(tmp_path / "Bare.md") == []
    long = "word " * 230
    (tmp_path / "Long.md").write_text(f"---\nplace: Kale\n---\n# A\n\n{long}\n\n# B\n\ntext\n")
    assert read(tmp_path / "Long.md")[0]["text"].startswith("A\n\nplace: Kale\n\nword")


@cases("name", "day")
def test_a_day_in_the_name_of_a_note_is_its_date(
    tmp_path: Path, name: str, day: int | None
) -> None:
    (tmp_path / f"{name}.md").write_text("Along the river.\n")
    (chunk,) = read(tmp_path / f"{name}.md")
    wanted = None if day is None else datetime(2024, 5, day, tzinfo=UTC)
    assert chunk.get("event_time") == wanted


@cases("matter", "moment")
def test_dates_of_properties_are_read_in_the_zone_of_the_user(
    tmp_path: Path, matter: str, moment: str | None
) -> None:
    (tmp_path / "n.md").write_text(f"---\n{matter}\n---\ntext\n")
    (chunk,) = read(tmp_path / "n.md", timezone="Europe/Istanbul")
    assert chunk.get("event_time") == (moment and datetime.fromisoformat(moment))


@cases("text", "wanted")
def test_properties(text: str, wanted: dict[str, Any]) -> None:
    assert properties_of(text.split("\n")) == wanted


def test_tags_may_be_a_list_or_a_text() -> None:
    assert tags_in({"Tags": "#a, b c", "tag": ["d", 5]}) == ["a", "b", "c", "d", "5"]


def test_a_rule_at_the_top_is_no_front_matter(tmp_path: Path) -> None:
    (tmp_path / "n.md").write_text("---\nnot: closed\n\ntext of the note\n")
    text = "\n".join(each["text"] for each in read(tmp_path / "n.md"))
    assert "not: closed" in text
    assert "text of the note" in text


@pytest.mark.parametrize("limit", [200, 401, 1200])
def test_line_breaks_of_long_paragraphs_and_rows_of_tables_stay(tmp_path: Path, limit: int) -> None:
    log = [f"{hour:02}:00 Ana: I will bring the cake number {hour}." for hour in range(48)]
    rows = [f"| host{n} | role number {n}. Primary. |" for n in range(60)]
    (tmp_path / "log.txt").write_text("\n".join(log) + "\n")
    (tmp_path / "t.md").write_text("# T\n\n| host | role |\n|---|---|\n" + "\n".join(rows) + "\n")
    said = [each["text"] for each in read(tmp_path / "log.txt", chunk_chars=limit)]
    assert [line for text in said for line in text.split("\n")] == log
    told = [each["text"] for each in read(tmp_path / "t.md", chunk_chars=limit)]
    lines = [line for text in told for line in text.split("\n") if line.startswith("| host")]
    assert lines == ["| host | role |", *rows]


def test_a_long_paragraph_is_cut_where_a_sentence_ends(tmp_path: Path) -> None:
    lines = [f"This is line {n} of the text,\nwhich ends here." for n in range(40)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    for text in (each["text"] for each in read(tmp_path / "a.txt", chunk_chars=300)):
        assert text.endswith("."), text
        assert len(text) <= 300
