"""Fuzzing guided by the product's own branches: ``python -m tests.fuzz.guided TARGET [-runs=N]``.

A process of its own, because Atheris takes over the process: it instruments the product's modules
as they are imported, keeps inputs that reach something new, and ends with a trace of what crashed.
Inputs are changes to sound files: random bytes alone would never get behind the first check.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

#: what reads what others have written; kernels are compiled and have a harness in C
_READERS = tuple(
    (
        "store write upkeep search recall language exchange records layout assembly api importers"
    ).split()
)

with atheris.instrument_imports(
    include=[f"spector.{name}" for name in _READERS], enable_loader_override=False
):
    import spector
    import spector.memory
    from spector.errors import SpectorError
    from spector.importers import FORMATS, iter_messages

from tests.crash.workload import open_tiny, vector_of  # noqa: E402
from tests.fuzz.sealed import Forgery  # noqa: E402
from tests.store.damage import STRENGTH, Patient, ram  # noqa: E402

__all__ = ["TARGETS"]

Target = Callable[[bytes], None]


def _import(root: Path) -> Target:
    """A file of any format: messages, or a typed error."""
    path = root / "import.dat"

    def run(data: bytes) -> None:
        given = atheris.FuzzedDataProvider(data)
        form = given.PickValueInList(list(FORMATS))
        path.write_bytes(given.ConsumeBytes(1 << 20))
        try:
            for _ in iter_messages(path, form, assume_utc=True):
                pass
        except SpectorError:
            pass

    return run


def _export(root: Path) -> Target:
    """A file in the product's own format, taken into a store that must stay sound."""
    path = root / "export.jsonl"
    memory = open_tiny(":memory:")
    with open_tiny(":memory:") as sound:
        sound.remember("w", vector=vector_of("w"), tags=["t"], metadata={"n": 1})
        sound.export(root / "corpus" / "sound")
    counter = [0]

    def run(data: bytes) -> None:
        path.write_bytes(data)
        with contextlib.suppress(SpectorError):
            memory.import_(path)
        counter[0] += 1
        if counter[0] % 500 == 0:
            assert memory.check().ok

    return run


def _store(root: Path) -> Target:
    """Files of a store with bytes replaced, taken out or put in: found, harmless, never a lie."""
    patient = Patient(root / "mind")

    def run(data: bytes) -> None:
        given = atheris.FuzzedDataProvider(data)
        changed = False
        for _ in range(given.ConsumeIntInRange(1, 4)):
            name = given.PickValueInList(patient.names)
            whole = (patient.root / name).read_bytes()
            at = given.ConsumeIntInRange(0, len(whole))
            out = given.ConsumeIntInRange(0, 64)
            into = given.ConsumeBytes(given.ConsumeIntInRange(0, 64))
            if given.ConsumeBool():  # in place: what stands behind stays where it is
                out = len(into)
            patient.put(name, whole[:at] + into + whole[at + out :])
            changed = True
        try:
            found = patient.ask()
        finally:
            if changed:
                patient.restore()
        if found.verdict == "WRONG":
            raise AssertionError(f"shown as true: {found.lies or 'something is missing'}")

    return run


def _sealed(root: Path) -> Target:
    """Forged files and rows with valid checksums: answered or refused."""
    forgery = Forgery(root)
    return lambda data: forgery.run(atheris.FuzzedDataProvider(data))


def _opened(root: Path) -> Target:
    """The same forgeries, many times as many: opened, read by id, and once searched or written."""
    forgery = Forgery(root)
    return lambda data: forgery.open(atheris.FuzzedDataProvider(data))


def _repair(root: Path) -> Target:
    """What is salvaged from such files is a sound store of true memories."""
    patient = Patient(root / "mind")
    saved = root / "saved"

    def run(data: bytes) -> None:
        given = atheris.FuzzedDataProvider(data)
        name = given.PickValueInList([n for n in patient.names if not n.endswith(".idx")])
        whole = (patient.root / name).read_bytes()
        at = given.ConsumeIntInRange(0, len(whole))
        into = given.ConsumeBytes(256)
        patient.put(name, whole[:at] + into + whole[at + len(into) :])
        try:
            report = spector.repair(patient.root, saved)
            unsure = {note.id for note in report.notes if "differ in" in note.reason}
            with open_tiny(str(saved)) as memory:
                for record in memory:
                    shown, truth = record.to_dict(), patient.truth[record.id]
                    if record.id in unsure:  # nothing proves either copy, and it is said
                        shown |= {name: truth[name] for name in STRENGTH}
                    assert not record.text or shown == truth
                memory.recall(vector=vector_of("w1"), k=20)
                assert memory.check().ok
        except SpectorError:
            pass
        finally:
            shutil.rmtree(saved, ignore_errors=True)
            patient.restore()

    return run


def _arguments(root: Path) -> Target:
    """What a model's tool call may hand to recall: JSON of any shape."""
    memory = open_tiny(":memory:")
    memory.remember("one", vector=vector_of("one"), tags=["a"], metadata={"a": {"b": [1, "x"]}})
    names = tuple(
        (
            "where tags any_tags user_id time_range tiers k valence min_importance mood "
            "include categories modalities cue"
        ).split()
    )

    def run(data: bytes) -> None:
        given = atheris.FuzzedDataProvider(data)
        name = given.PickValueInList(list(names))
        text = given.ConsumeUnicode(4096)
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        with contextlib.suppress(SpectorError):
            memory.recall(**{"vector": vector_of("one"), name: value})

    return run


#: name -> what makes the target, and inputs to begin with
TARGETS: dict[str, tuple[Callable[[Path], Target], tuple[bytes, ...]]] = {
    "import": (
        _import,
        (
            b'{"role": "user", "content": "hello", "timestamp": "2026-01-01T00:00:00Z"}\n\0',
            b'[{"title": "t", "mapping": {"a": {"id": "a", "message": null}}}]\x01',
            b"# Title\n\ntext\n\n- a\n\n```py\nx\n```\n\x04",
        ),
    ),
    "export": (
        _export,
        (
            b'{"spector_export": 1}\n{"text": "x", "tier": "semantic", "tags": ["a"], "flags": []}\n',
        ),
    ),
    "store": (_store, (b"\x01" * 40, bytes(range(64)))),
    "sealed": (_sealed, tuple(random.Random(n).randbytes(256) for n in range(20))),
    "opened": (_opened, tuple(random.Random(n).randbytes(256) for n in range(20))),
    "repair": (_repair, (b"\x01" * 40, bytes(range(64)))),
    "arguments": (_arguments, (b'{"a.b": {"$contains": 1}, "$or": [{"c": {"$gt": 1}}]}\x00',)),
}


def main() -> None:
    name = sys.argv[1]
    make, seeds = TARGETS[name]
    # Atheris ends the process without a clean-up, so the caller of SPECTOR_FUZZ_ROOT cleans up
    root = Path(tempfile.mkdtemp(dir=os.environ.get("SPECTOR_FUZZ_ROOT") or ram()))
    corpus = root / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
    atheris.Setup([sys.argv[0], *sys.argv[2:], str(corpus)], make(root))
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
