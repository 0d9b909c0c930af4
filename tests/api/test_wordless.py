"""A memory that has an attachment may have no text: it is looked up, and never comes to mind.

Mechanism: no vector, and two flags that every recall drops, one of which older programs know, too.
Damage without it: an empty line in a prompt, scores that move, a night that stumbles over nothing.
Guard: every recall answers as if such memories were not there; every other verb has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Flag, InvalidInputError, InvalidTextError, ManualClock, Memory
from spector.cli.main import main
from tests.fakes import FakeEmbedder

NOON = "2026-05-04T12:00:00Z"
CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "book"}}]}
WORDS = [
    "Ada: I sail to Kars on Friday",
    "the boat is red",
    "we moved the boat to pier 9",
    "Ada lives in Oslo",
    "Ada has moved to Bergen",
    "what is left to do?",
    "call the harbour",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mind"


def opened(path: Path | str, **more: Any) -> Memory:
    return spector.open(path, embedder=FakeEmbedder(), clock=ManualClock(NOON), **more)


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with opened(path) as made:
        yield made


def add(memory: Memory) -> list[int]:
    """Memories without words, with all that could bring one to mind."""
    made = [
        memory.remember(
            attachment={"boat": "red"},
            key="k",
            user_id="u",
            tags=["t"],
            pinned=True,
            metadata={"n": 1, "aliases": ["boat"]},
            unresolved=True,
            importance=1.0,
        ),
        memory.remember(CALL, attachment=CALL, session_id="s"),
        memory.remember("", attachment=b"raw", tier="semantic", arousal=1.0, metadata={"n": 1}),
        *memory.remember_many([{"attachment": [n], "role": "user"} for n in range(3)]),
    ]
    return [each.id for each in made]


def answers(memory: Memory) -> list[Any]:
    """What recalls, contexts and sessions say."""
    out: list[Any] = []
    for cue in (None, "boat", "where does Ada live?", "book", "what is open?", "yesterday"):
        for given in (
            {},
            {"tags": ["t"]},
            {"where": {"n": 1}},
            {"user_id": "u"},
            {"exact": True},
            {"include": ["derived", "dormant", "superseded", "quarantined"]},
            {"k": 100},
            {"profile": "similarity"},
            {"session_id": "s"},
        ):
            hits = memory.recall(cue, **given)  # type: ignore[arg-type]
            out.append([(hit.text, hit.score, hit.confidence) for hit in hits])
        out.append(str(memory.context(cue, always="pinned")))
        out.append(str(memory.context(cue, user_id="u", always=True)))
    out.append([each.text for each in memory.hot()])
    return out


@pytest.mark.parametrize("first", [pytest.param(False, marks=pytest.mark.slow), True])
def test_recalls_answer_as_if_it_were_not_there(
    path: Path, tmp_path: Path, first: bool, proof: Any
) -> None:
    with opened(tmp_path / "plain") as plain, opened(path) as memory:
        if first:
            add(memory)
        for each in (plain, memory):
            each.remember_many(WORDS)
        if not first:
            add(memory)
        assert answers(memory) == answers(plain)
    with opened(tmp_path / "plain", mode="r") as plain, opened(path, mode="r") as memory:
        found = answers(memory)
        assert found == answers(plain)
    proof("attachments", recalls_compared=2 * len(found))


def bare(memory: Memory, numbers: range) -> list[int]:
    return [
        each.id
        for each in memory.remember_many(
            [
                {
                    "attachment": [n],
                    "session_id": f"s{n % 3}",
                    "role": "tool",
                    "user_id": "u" if n % 2 else None,
                    "metadata": {"aliases": ["boat"], "speaker": "Ada"},
                    "event_time": f"2026-04-{1 + n % 28:02}T09:30:00Z",
                }
                for n in numbers
            ]
        )
    ]


def test_every_other_verb_has_it(memory: Memory) -> None:
    memory.remember_many(WORDS)
    made = add(memory)
    assert len(memory) == memory.count() == len(WORDS) + len(made)
    assert [r.id for r in memory.records() if not r.text] == made
    assert [r.id for r in memory.records(include=[]) if not r.text] == made
    assert [r.id for r in memory.records(where={"n": 1})] == [made[0], made[2]]
    assert memory.count(tags=["t"]) == memory.count(user_id="u") == 1
    record = memory.get(key="k", user_id="u")
    assert (record.id, record.text, record.attachment()) == (made[0], "", {"boat": "red"})
    assert Flag.NO_TEXT in record.flags
    assert memory.get(made[1]).role == "assistant"
    assert {each.id: each.count for each in memory.users()}["u"] == 1
    assert memory.retire(made[0])[0].dormant
    assert not memory.reactivate(made[0])[0].dormant
    memory.reinforce(made[0])
    memory.unpin(made[0])
    newer = memory.remember(attachment=[9], supersedes=made[1], session_id="s")
    assert [each.id for each in memory.history(newer.id)] == [made[1], newer.id]
    memory.forget(made[2], purge=True, verify=True)
    assert memory.forget(user_id="u", include_protected=True).ids == (made[0],)
    assert memory.check().ok


def test_words_come_and_go(memory: Memory) -> None:
    record = memory.remember(attachment=[1], key="k")
    worded = memory.update(record.id, text="the boat is red")
    assert not worded.flags & (Flag.NO_TEXT | Flag.AUXILIARY)
    assert [hit.id for hit in memory.recall("boat")] == [record.id]
    assert worded.attachment() == [1]
    bare = memory.update(record.id, text="")
    assert (bare.text, Flag.NO_TEXT in bare.flags, bare.attachment()) == ("", True, [1])
    assert memory.recall("boat") == []
    assert memory.update(record.id, tags=["t"], attachment=[2]).attachment() == [2]
    assert memory.remember("a boat", key="k").text == "a boat"
    assert len(memory.recall("boat")) == 1
    assert memory.remember(attachment=[3], key="k").text == ""
    assert memory.recall("boat") == []
    assert memory.check().ok


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m, b, w: m.remember(), "NoneType"),
        (lambda m, b, w: m.remember(""), "empty"),
        (lambda m, b, w: m.remember("  ", attachment=[1]), "empty"),
        (lambda m, b, w: m.remember(attachment=[1], vector=[1.0] * 32), "vector"),
        (lambda m, b, w: m.remember(attachment=[1], supersedes="auto"), "auto"),
        (lambda m, b, w: m.update(b, attachment=None), "empty"),
        (lambda m, b, w: m.update(w, text=""), "empty"),
        (lambda m, b, w: m.update(b, vector=[1.0] * 32), "vector"),
        (lambda m, b, w: m.remember(attachment=None), "NoneType"),
        (lambda m, b, w: m.remember(7, attachment=[1]), "int"),
    ],
)
def test_what_has_neither_is_refused(memory: Memory, call: Any, said: str) -> None:
    bare, worded = memory.remember(attachment=[0]).id, memory.remember("words").id
    with pytest.raises(InvalidInputError, match=said) as caught:
        call(memory, bare, worded)
    assert caught.value.hint
    assert len(memory) == 2
    assert memory.get(bare).attachment() == [0]


def test_a_message_that_says_nothing_names_the_way(memory: Memory) -> None:
    with pytest.raises(InvalidTextError, match="a call of the tool book") as caught:
        memory.remember(CALL)
    assert "attachment=" in caught.value.hint
    stored = memory.remember_many([CALL, {**CALL, "attachment": CALL}])
    assert [each.attachment() for each in stored] == [CALL]
    assert len(stored.skipped) == 1


def test_a_store_without_a_model_keeps_it_too(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=8) as memory:
        record = memory.remember(attachment=[1])
        memory.remember("words", vector=[1.0] * 8)
        assert memory.recall(vector=[1.0] * 8)[0].text == "words"
        with pytest.raises(InvalidInputError, match="vector"):
            memory.update(record.id, text="words")
        assert memory.update(record.id, text="words", vector=[0.5] * 8).text == "words"
        assert memory.check().ok


def test_nights_and_observing_learn_nothing_from_it(memory: Memory) -> None:
    memory.observe("I live in Kars.", user_id="u")
    made = add(memory)
    before = [memory.get(each).to_dict() for each in made]
    memory.observe("I moved to Oslo.", user_id="u")
    for _ in range(2):
        report = memory.reflect()
        assert report.finished
    for was, each in zip(before, made, strict=True):
        now = memory.get(each).to_dict()
        assert (now["text"], now["tier"], now["flags"]) == ("", was["tier"], was["flags"])
    with memory._parts.store.catalog.reading() as db:
        tied = {a for row in db.execute("SELECT a, b FROM link") for a in row}
    assert tied.isdisjoint(made)
    assert memory.check().ok
    memory.compact()
    assert [memory.get(each).attachment() is not None for each in made] == [True] * len(made)


def test_it_travels_and_a_new_model_gives_it_no_vector(path: Path, tmp_path: Path) -> None:
    with opened(path) as memory:
        memory.remember_many(WORDS)
        made = add(memory)
        was = [(r.metadata, r.attachment(), r.flags, r.key) for r in memory.records() if not r.text]
        memory.export(tmp_path / "all.jsonl")
    with opened(tmp_path / "other") as other:
        other.import_(tmp_path / "all.jsonl")
        assert [
            (r.metadata, r.attachment(), r.flags, r.key) for r in other.records() if not r.text
        ] == was
        assert other.recall("boat", k=50) == [h for h in other.recall("boat", k=50) if h.text]
        assert other.check().ok
    spector.reembed(path, FakeEmbedder(dim=48))
    with spector.open(path, embedder=FakeEmbedder(dim=48)) as memory:
        assert [r.id for r in memory.records() if not r.text] == made
        assert all(hit.text for hit in memory.recall("boat", k=50))
        assert memory.check().ok
    report = spector.repair(path, tmp_path / "mended")
    assert (report.kept, report.lost) == (len(WORDS) + len(made), ())
    with spector.open(tmp_path / "mended", embedder=FakeEmbedder(dim=48)) as memory:
        assert [
            (r.metadata, r.attachment(), r.flags, r.key) for r in memory.records() if not r.text
        ] == was
        assert memory.check().ok


def test_the_command_line_attaches_a_file_and_gives_it_back(
    path: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "log.bin").write_bytes(b"\x00\xfflog\n" * 99)
    opened(path).close()
    file = str(tmp_path / "log.bin")
    with opened(path) as memory:
        memory.remember(attachment={"ü": 1}, key="json")
        memory.remember("plain", key="plain")
        log = memory.remember("the log", attachment=Path(file).read_bytes())
    assert main(["get", str(path), str(log.id), "--attachment"]) == 0
    assert capfdbinary.readouterr().out == Path(file).read_bytes()
    assert main(["get", str(path), "--key", "json", "--attachment"]) == 0
    assert capfdbinary.readouterr().out == '{"ü": 1}\n'.encode()
    assert main(["get", str(path), str(log.id)]) == 0
    assert b"594 bytes" in capfdbinary.readouterr().out
    assert main(["get", str(path), "--key", "plain", "--attachment"]) == 2
    assert b"nothing is attached" in capfdbinary.readouterr().err
    new = str(tmp_path / "shell")
    assert main(["remember", new, "", "--attach", f"{file}.gone", "--key", "k"]) == 2
    assert b"cannot be read" in capfdbinary.readouterr().err
    assert main(["remember", new, "", "--attach", file, "--key", "k"]) == 0
    capfdbinary.readouterr()
    assert main(["get", new, "--key", "k", "--attachment"]) == 0
    assert capfdbinary.readouterr().out == Path(file).read_bytes()
