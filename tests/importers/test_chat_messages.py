"""Messages of chat models go into a memory as their makers write them.

Damage without it: a transcript with one call of a tool is refused whole; a tool's answer passes for
the user's words. Guard: messages of four makers and of their libraries' objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock
from spector.errors import InvalidInputError, InvalidTextError
from spector.importers import import_files, iter_messages
from tests.cases import Cases
from tests.importers.files import opened, written

cases = Cases(__file__)


@pytest.fixture
def memory() -> Iterator[spector.Memory]:
    with opened() as made:
        yield made


class Dumped:
    """Stands for an object of a maker's library."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self._fields


CALL = {"id": "c", "type": "function", "function": {"name": "book", "arguments": '{"n": 2}'}}
#: who made a message -> the message, its text and its role
SPOKEN = {
    name: (Dumped(**message["dumped"]) if "dumped" in message else message, text, role)
    for name, message, text, role in cases.rows("SPOKEN")
}


@pytest.mark.sampled
@pytest.mark.parametrize(("message", "text", "role"), SPOKEN.values(), ids=SPOKEN)
def test_a_message_of_any_maker_is_remembered(
    memory: spector.Memory, message: Any, text: str, role: str | None
) -> None:
    record = memory.remember(message)
    assert (record.text, record.role) == (text, role)
    (again,) = memory.remember_many([message])
    assert (again.text, again.role) == (text, role)
    assert memory.observe(message, dry_run=True, force=True).units is not None


@pytest.mark.parametrize(("message", "text", "role"), SPOKEN.values(), ids=SPOKEN)
def test_and_imported(tmp_path: Path, message: Any, text: str, role: str | None) -> None:
    if isinstance(message, Dumped):
        message = message.model_dump()
    path = written(tmp_path / "m.jsonl", json.dumps(message) + "\n" + json.dumps(message) + "\n")
    found = list(iter_messages(path))
    assert [(each["text"], each.get("role")) for each in found] == [(text, role)] * 2


#: what a message has in place of a text -> the message, the reason and what the error says
WORDLESS = {name: tuple(rest) for name, *rest in cases.rows("WORDLESS")}


@pytest.mark.parametrize(("message", "reason", "found"), WORDLESS.values(), ids=WORDLESS)
def test_a_message_without_a_text_is_refused_alone_and_left_out_of_many(
    memory: spector.Memory, message: Any, reason: str, found: str
) -> None:
    if message.get("content") != "":
        with pytest.raises(InvalidTextError, match=found) as caught:
            memory.remember(message)
        assert caught.value.hint
    stored = memory.remember_many(["first", message, {"role": "user", "content": "last"}])
    assert [each.text for each in stored] == ["first", "last"]
    assert stored.skipped == (spector.Skipped(1, reason),)
    assert len(memory) == 2


def test_calls_beside_a_text_are_kept_and_a_name_is_the_speaker(memory: spector.Memory) -> None:
    record = memory.remember({"role": "assistant", "content": "I book it.", "tool_calls": [CALL]})
    assert record.attachment() == {"tool_calls": [{"name": "book", "arguments": '{"n": 2}'}]}
    assert "tool_calls" not in record.metadata
    message = {"role": "assistant", "content": "I book it.", "tool_calls": [CALL]}
    assert memory.remember(message, attachment=b"mine").attachment() == b"mine"
    with pytest.raises(InvalidInputError, match="the message calls tools"):
        memory.remember(message, tier="working")
    long = {"function": {"name": "write", "arguments": json.dumps({"text": "x" * 100_000})}}
    kept = memory.remember({**message, "tool_calls": [long, CALL]}).attachment()["tool_calls"]
    assert json.loads(kept[0]["arguments"])["text"] == "x" * 100_000
    assert len(kept) == 2
    record = memory.remember({"role": "user", "name": "Mirela", "content": "I sail."})
    assert (record.speaker, record.role) == ("Mirela", "user")


def test_what_is_no_message_is_refused_still(memory: spector.Memory) -> None:
    for wrong in (
        {"content": "x", "colour": "red"},
        {"content": [7]},
        {"content": 7},
        {"text": ""},
        "",
        {"role": "user", "content": "x", "tool_calls": 7},
        {"content": "a", "text": "b"},
        7,
        {},
        {"role": "user", "content": [{"type": "text", "text": "x"}], "tags": 5},
    ):
        with pytest.raises(InvalidInputError):
            memory.remember(wrong)
        with pytest.raises(InvalidInputError):
            memory.remember_many([wrong])
    deep: Any = "x"
    for _ in range(200):
        deep = [{"type": "tool_result", "content": deep}]
    with pytest.raises(InvalidTextError, match="nested"):
        memory.remember({"role": "user", "content": deep})
    assert len(memory) == 0


def test_a_cue_may_have_parts(memory: spector.Memory) -> None:
    memory.remember("I sail a red boat.")
    hits = memory.recall({"role": "user", "content": [{"type": "text", "text": "a red boat"}]})
    assert [hit.text for hit in hits] == ["I sail a red boat."]


def test_imports_attach_calls_and_what_a_line_attaches(tmp_path: Path) -> None:
    lines: list[Any] = [
        {"role": "assistant", "content": "I book it.", "tool_calls": [CALL]},
        {"role": "user", "content": "Thanks.", "attachment": {"seat": 9}},
        {"role": "assistant", "content": "x " * 300_000, "tool_calls": [CALL]},
    ]
    file = written(tmp_path / "chat.jsonl", "\n".join(map(json.dumps, lines)))
    config = spector.Config(max_text_bytes=400_000)
    with opened(config=config) as memory:
        import_files(memory, file)
        called = {"tool_calls": [{"name": "book", "arguments": '{"n": 2}'}]}
        found = [(each.text[:9], each.attachment()) for each in memory.records()]
        assert found == [
            ("I book it", called),
            ("Thanks.", {"seat": 9}),
            ("x x x x x", called),
            ("x x x x x", None),
        ]
        assert not any("tool_calls" in each.metadata for each in memory.records())


# -- A message of a chat model was said when it says that it was sent ------------------------------
#
# Damage: ``timestamp`` was taken for one of the keys that mean nothing here, and "last week" in a
# message of March was counted from the day of the import.


NOW = datetime(2026, 11, 25, 9, tzinfo=UTC)
SENT = datetime(2026, 3, 2, 6, tzinfo=UTC)
SAYS = {"role": "user", "content": "Ada moved to Lisbon last week."}


@pytest.mark.parametrize(
    "time",
    [
        {"timestamp": "2026-03-02T09:00:00+03:00"},
        {"timestamp": SENT},
        {"created": 1772431200},
        {"created_at": 1772431200.0},
        {"timestamp": 1772431200000},
        {"timestamp": datetime(2026, 3, 2, 9, tzinfo=timezone(timedelta(hours=3)))},
        {"timestamp": "10:42 AM", "created_at": "2026-03-02T06:00:00"},  # of the store's zone
    ],
)
def test_the_time_of_a_message_is_its_event_time(time: dict[str, Any]) -> None:
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        observed = memory.observe({**SAYS, **time}).records[0]
        assert observed.event_time == SENT
        assert "2026-02-23/2026-03-01" in observed.text
        assert memory.remember({**SAYS, **time}, user_id="ada").event_time == SENT


@pytest.mark.parametrize("time", ["10:42 AM", "", None, 12, True, -5, 1e30, float("nan"), [], {}])
def test_what_is_no_time_is_as_if_it_were_not_there(time: Any) -> None:
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        assert memory.remember({**SAYS, "timestamp": time}).event_time == NOW


def test_a_time_that_is_given_wins() -> None:
    given = "2026-05-04T00:00:00Z"
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        message = {**SAYS, "timestamp": SENT}
        observed = memory.observe(message, event_time=given).records[0]
        assert observed.event_time.isoformat() == "2026-05-04T00:00:00+00:00"
        kept = memory.remember(message, event_time=given, user_id="ada")
        assert kept.event_time.isoformat() == "2026-05-04T00:00:00+00:00"
        assert memory.remember({**message, "event_time": given}, user_id="bo").event_time == (
            kept.event_time
        )
