"""An import that is done again adds nothing, whatever ended the first one.

Mechanism: every message has a key. Damage without it: doubles after an interrupt, forgotten words
that come back with the next export. Guard: files imported twice, in part, longer, after forgetting,
and by processes that are killed at random moments.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.importers import Importing, ImportOptions, ImportReport, import_files, observing
from tests.fakes import FakeEmbedder
from tests.importers.files import lines, opened, written
from tests.importers.samples import SAMPLES
from tests.proof import seed


def essence(memory: spector.Memory) -> Counter[str]:
    """What the memories are, but for their ids and times of storing."""
    own = {"id", "recorded_at", "last_access"}
    return Counter(
        json.dumps({k: v for k, v in each.to_dict().items() if k not in own}, sort_keys=True)
        for each in memory
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_is_imported_twice_adds_nothing(tmp_path: Path, name: str) -> None:
    file, text = SAMPLES[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    with opened() as memory:
        first = import_files(memory, tmp_path / file, timezone="UTC")
        before = essence(memory)
        assert first.stored == len(memory) > 0
        foreseen = import_files(memory, tmp_path / file, timezone="UTC", dry_run=True)
        again = import_files(memory, tmp_path / file, timezone="UTC")
        assert (again.stored, again.known) == (0, first.stored) == (foreseen.stored, foreseen.known)
        assert essence(memory) == before
        assert "known already" in str(again)


def test_equal_messages_are_told_apart_and_a_longer_export_adds_the_difference(
    tmp_path: Path,
) -> None:
    chat = tmp_path / "_chat.txt"
    lines = [
        "13/02/25, 10:00 - Ann: ok",
        "13/02/25, 10:00 - Ann: ok",
        "13/02/25, 10:00 - Ben: ok",
        "13/02/25, 10:01 - Ann: ok",
    ]
    with opened() as memory:
        chat.write_text("\n".join(lines) + "\n")
        assert import_files(memory, chat).stored == 4
        chat.write_text("\n".join([*lines, lines[0], "14/02/25, 10:01 - Ann: new"]) + "\n")
        report = import_files(memory, chat)
        assert (report.stored, report.known) == (2, 4)
        assert len(memory) == 6


def test_what_was_forgotten_does_not_come_back(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "chat.jsonl",
        *({"role": "user", "content": f"line {n}", "timestamp": 1714730000 + n} for n in range(5)),
    )
    with opened() as memory:
        import_files(memory, path)
        (gone,) = [each for each in memory if each.text == "line 2"]
        memory.forget(gone)
        report = import_files(memory, path)
        assert (report.stored, report.known, report.files[0].forgotten) == (0, 4, 1)
        assert "line 2" not in {each.text for each in memory}
        assert "forgotten before" in str(report)


def test_a_change_by_the_user_is_kept_and_users_are_apart(tmp_path: Path) -> None:
    path = written(
        tmp_path / "chat.jsonl",
        '{"role": "user", "content": "I sail.", "id": "m1", "session_id": "s"}\n',
    )
    with opened() as memory:
        import_files(memory, path)
        (record,) = memory
        memory.update(record, tags=["mine"], importance=0.9)
        assert import_files(memory, path).known == 1
        (kept,) = memory
        assert (kept.tags, round(kept.importance, 2)) == (("mine",), 0.9)
        for user in ("ada", "ben", "ada"):
            import_files(memory, path, change=lambda m, user=user: {**m, "user_id": user})
        assert sorted(str(each.user_id) for each in memory) == ["None", "ada", "ben"]


def test_an_import_of_a_folder_is_known_wherever_the_folder_lies(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "note.md").write_text("Feed in April.\n")
        (tmp_path / name / "note.md").write_text("Feed in April.\n")
    with opened() as memory:
        assert import_files(memory, tmp_path / "here").stored == 2
        assert import_files(memory, tmp_path / "there").known == 2


def exported(tmp_path: Path, *texts: str, name: str = "e.jsonl", at: int = 0) -> Path:
    """An export of a store with these memories, a fact, and one that replaced another."""
    path = tmp_path / name
    with spector.open(tmp_path / f"origin{at}", embedder=FakeEmbedder(dim=16)) as memory:
        if not len(memory):
            old = memory.remember("I live in Ankara.", user_id="u")
            memory.remember("I live in İzmir.", user_id="u", supersedes=old)
            memory.remember("It has a key.", key="k1")
            memory.facts.add("Ann", "likes", "tea", user_id="u")
        for text in texts:
            memory.remember(text, user_id="u")
        memory.export(path, overwrite=True)
    return path


def test_our_own_export_that_is_imported_twice_adds_nothing(tmp_path: Path) -> None:
    first = exported(tmp_path)
    with opened() as memory:
        assert import_files(memory, first).stored == len(memory) == 4
        before = essence(memory)
        foreseen = import_files(memory, first, dry_run=True)
        report = import_files(memory, first)
        assert (foreseen.stored, foreseen.known) == (report.stored, report.known) == (0, 4)
        assert essence(memory) == before
        longer = exported(tmp_path, "One more.", name="later.jsonl")
        report = import_files(memory, longer)
        assert (report.stored, report.known) == (1, 4)
        new, old = (
            next(each for each in memory if each.text == f"I live in {city}.")
            for city in ("İzmir", "Ankara")
        )
        assert new.supersedes == (old.id,)
        other = exported(tmp_path, name="other.jsonl", at=1)
        assert import_files(memory, other).stored == 2, "a key and a fact are known"
        memory.export(tmp_path / "on.jsonl")
        with opened() as third:
            assert import_files(third, tmp_path / "on.jsonl").stored == len(memory)
            assert import_files(third, longer).stored == 0, "it came by another store before"


def test_a_store_knows_its_own_export(tmp_path: Path) -> None:
    path = exported(tmp_path)
    with spector.open(tmp_path / "origin0", embedder=FakeEmbedder(dim=16)) as memory:
        report = import_files(memory, path)
        assert (report.stored, report.known, len(memory)) == (0, 4, 4)
        memory.forget(next(each for each in memory if "Ankara" in each.text))
        assert import_files(memory, path).stored == 1, "a memory without a key comes back"
        for_ada = import_files(memory, path, change=lambda line: {**line, "user_id": "ada"})
        assert for_ada.stored == 4


@pytest.mark.parametrize("ours", [False, True])
def test_what_was_observed_is_not_observed_again(tmp_path: Path, ours: bool) -> None:
    said = ["My sister Ayşe works at Acme.", "ok", "I moved to Kars.", "I am allergic to nuts."]
    if ours:
        path = exported(tmp_path, *said)
    else:
        path = tmp_path / "chat.jsonl"
        lines = [json.dumps({"role": "user", "content": text}) for text in said]
        path.write_text("\n".join(lines) + "\n")
    seen: list[list[str]] = []
    with opened() as memory:

        def observe(messages: list[dict[str, Any]]) -> None:
            seen.append([each["text"] for each in messages])
            fields = ("text", "role", "user_id")
            memory.observe_many(
                [{name: each[name] for name in fields if name in each} for each in messages],
                scopes_from_message=True,
            )

        def run() -> ImportReport:
            importing = Importing([("x", path)], ImportOptions())
            importing.check(memory)
            return importing.store(memory, storing=observing(memory, observe))

        first = run()
        before = essence(memory)
        assert first.stored == len(seen[0]) > 0 < len(memory)
        again = run()
        assert (again.stored, again.known, len(seen)) == (0, first.stored, 1)
        assert essence(memory) == before, "not even strengthened"
        if not ours:
            with path.open("a") as file:
                file.write('{"role": "user", "content": "My dog is called Fındık."}\n')
            assert (run().stored, seen[-1]) == (1, ["My dog is called Fındık."])
            whole = import_files(memory, path)
            assert whole.stored == 5, "an import of everything is another matter"


def test_a_dry_run_foresees_what_is_known_forgotten_and_there_twice(tmp_path: Path) -> None:
    said = ["My sister Ayşe works at Acme.", "I moved to Kars.", "My dog is called Fındık."]
    path = tmp_path / "chat.jsonl"
    lines = [
        json.dumps({"role": "user", "content": text, "id": n, "session_id": "s"})
        for n, text in enumerate(said)
    ]
    path.write_text("\n".join([*lines, lines[0]]) + "\n")

    def counts(report: ImportReport) -> tuple[int, int, int]:
        return report.stored, report.known, report.total("forgotten")

    with opened() as memory:
        for wanted in ((3, 1, 0), (0, 4, 0)):
            assert counts(import_files(memory, path, dry_run=True)) == wanted
            assert counts(import_files(memory, path)) == wanted
        memory.forget(next(each for each in memory if "Kars" in each.text))
        assert counts(import_files(memory, path, dry_run=True)) == (0, 3, 1)
        assert counts(import_files(memory, path)) == (0, 3, 1)

        def observe(messages: list[dict[str, Any]]) -> None:
            memory.observe_many(messages, scopes_from_message=True)

        for wanted in ((3, 1, 0), (0, 4, 0)):
            importing = Importing([("x", path)], ImportOptions())
            assert counts(importing.check(memory, dry_run=True, observes=True)) == wanted
            assert counts(importing.store(memory, storing=observing(memory, observe))) == wanted


def test_every_field_of_a_message_can_be_observed(tmp_path: Path) -> None:
    path = tmp_path / "origin.jsonl"
    with opened() as memory:
        memory.remember(
            "My sister Ayşe works at Acme.",
            tier="semantic",
            valence=0.5,
            arousal=0.2,
            tags=["a"],
            importance=0.8,
            metadata={"x": 1},
            aliases=["Ayşe's job"],
            attachment=b"card",
            user_id="u",
            confidence=0.9,
            category="fact",
            key="k",
            pinned=True,
        )
        memory.export(path)
    with opened() as memory:
        importing = Importing([("x", path)], ImportOptions())
        importing.check(memory, observes=True)

        def observe(messages: list[dict[str, Any]]) -> None:
            memory.observe_many(messages, scopes_from_message=True)

        assert importing.store(memory, storing=observing(memory, observe)).stored == 1
        assert any(each.text.startswith("My sister Ayşe") for each in memory)


#: says when the store is open, how far the import is, and that it has ended
IMPORT = """
import sys
import spector
from pathlib import Path
from spector.importers import import_files
from tests.fakes import FakeEmbedder

with spector.open(sys.argv[1], embedder=FakeEmbedder(dim=16)) as memory:
    print("open", flush=True)
    import_files(memory, Path(sys.argv[2]), progress=lambda done, _: print(done, flush=True))
"""


def _run(store: Path, file: Path, steps: int | None = None, seconds: float = 0.0) -> bool:
    """Import in another process; whether it ended by itself.

    Args:
        steps: it is killed after so many reports of its progress; never if None.
        seconds: and so much later.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORT, str(store), str(file)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    if steps is not None:
        for _ in range(1 + steps):
            process.stdout.readline()
        time.sleep(seconds)
        process.kill()
    process.stdout.read()
    process.stdout.close()
    return process.wait() == 0


def _log(path: Path, count: int) -> Path:
    with path.open("w") as file:
        for n in range(count):
            entry: dict[str, Any] = {
                "role": "user",
                "content": f"Pump {n * 7 % 97} in hall {n % 13} reads {n % 9} bar",
                "timestamp": 1714730000 + n // 3,
            }
            if n % 2:
                entry["id"] = f"m{n}"
            file.write(json.dumps(entry) + "\n")
    return path


@pytest.mark.parametrize(
    ("count", "kills", "group"),
    [
        pytest.param(300, 1, 0, id="some"),
        *(pytest.param(2000, 10, n, id=f"all{n}", marks=pytest.mark.slow) for n in range(5)),
    ],
)
def test_killed_at_random_moments_and_run_again_equals_an_import_in_one_go(
    tmp_path: Path, count: int, kills: int, group: int
) -> None:
    rng = random.Random(seed(34) + group)
    path = _log(tmp_path / "log.jsonl", count)
    with opened() as memory:
        import_files(memory, path)
        wanted = essence(memory)
    assert wanted.total() == count
    parts = 0
    for n in range(kills):
        store = tmp_path / f"killed{n}"
        for _ in range(rng.randrange(1, 4) if kills > 1 else 1):
            # while the file is checked, or within a step
            steps = rng.choice([0, rng.randrange(count // 64 + 1)])
            _run(store, path, steps, rng.random() * (0.05 if steps else 0.5))
        with opened(store) as memory:
            parts += 0 < len(memory) < count
            assert essence(memory) <= wanted, "a part of it, and nothing else"
        assert _run(store, path)
        with opened(store) as memory:
            assert essence(memory) == wanted
            assert memory.check().ok
        shutil.rmtree(store)
    assert parts or kills < 10
