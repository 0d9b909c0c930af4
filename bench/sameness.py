"""Whether two trees of this project write the same stores and give the same answers, bit by bit.

    python -m bench.sameness BEFORE [AFTER]

BEFORE and AFTER (default: this tree) are folders that hold ``spector/`` and its built kernel. Each
lives one life in a process of its own, on one thread, with one clock, one embedder of its own, and
random numbers that are given: stores of every tier, every verb that writes, a backup and a restore,
new vectors, stores of older formats taken up. Then every file is compared byte by byte, and so are
recalls with their explanations and contexts. Exit code 1 tells of a difference.

With SPECTOR_DATA, or ../shared/data, the answers about one conversation of its kind are compared
as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import secrets
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
SEED = 20261125
CUES = (
    "Where does Ann work?",
    "What is the rent?",
    "Which allergy does the user have?",
    "Order 4711",
    "When is the dentist?",
    "What did I say about the garden?",
    "Nerede çalışıyorum?",
    "Please suggest a restaurant.",
    "thanks",
    "What do you know about me?",
)


def texts() -> list[dict[str, Any]]:
    """What is remembered: people, instructions, numbers, Turkish, speakers, tags."""
    chooser = random.Random(SEED)
    who = ("Ann", "Ben", "my sister", "the landlord", "our doctor", "I")
    does = ("works at", "moved to", "likes", "repaired", "asked about", "pays for")
    what = ("Contoso", "Lisbon", "dark coffee", "the garden fence", "the rent", "a red bicycle")
    out: list[dict[str, Any]] = [
        {
            "text": f"{chooser.choice(who)} {chooser.choice(does)} {chooser.choice(what)}, {n}.",
            "session_id": f"s{n // 8}",
            "user_id": ("ann", "ben", None)[n % 3],
            "tags": ["home", f"t{n % 5}"],
            "importance": (n % 10) / 10,
            "metadata": {"n": n, "place": "a" * (n % 7)},
            "tier": ("episodic", "semantic", "procedural", "working")[n % 4],
        }
        for n in range(240)
    ]
    said = (
        "Ann: I work at Northwind now.",
        "Ann: I have an allergy to nuts.",
        "user: The rent is 900 euros.",
        "Order 4711 is packed.",
        "Always answer in metric units when I ask for recipes.",
        "Bundan sonra kısa cevap ver.",
        "Ankara'da çalışıyorum.",
        "The dentist is on 3 May at nine.",
        "thanks",
        "I don't like jazz any more.",
    )
    return out + [{"text": each, "session_id": "talk"} for each in said]


def live(root: Path) -> None:
    """One life in ``root``: stores, and answers.json."""
    leap = random.Random(SEED)
    uuid.uuid4 = lambda: uuid.UUID(int=leap.getrandbits(128), version=4)  # type: ignore[assignment]
    secrets.randbelow = leap.randrange  # type: ignore[assignment]
    secrets.token_hex = lambda n=16: leap.randbytes(n).hex()  # type: ignore[assignment]
    import spector
    from spector import clock as clocks

    clock = spector.ManualClock(1_772_352_000_000)
    # what asks the system instead of the store gets the same time
    clocks.SystemClock.now_ms = lambda self: clock.now_ms()  # type: ignore[method-assign]

    class Embedder:
        model_id, fingerprint, dim = "sameness", "1", 96

        def embed(self, some: list[str]) -> Any:
            import numpy as np

            out = np.zeros((len(some), self.dim), np.float32)
            for row, text in enumerate(some):
                for word in text.lower().split():
                    at = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
                    out[row, at % self.dim] += 1 + at % 7
                out[row, 0] += 0.1
            return out

    answers: dict[str, Any] = {}

    def opened(name: str, **more: Any) -> spector.Memory:
        return spector.open(root / name, **{"embedder": Embedder(), "clock": clock, **more})

    with opened("mind") as memory:
        ids = []
        for n, each in enumerate(texts()):
            clock.advance(seconds=2220)
            ids.append(memory.remember(each))
            if n % 50 == 49:
                memory.checkpoint()
        memory.remember_many([{**each, "text": "again " + each["text"]} for each in texts()])
        memory.update(ids[3], text="Ben moved to Porto.", tags=["moved"])
        memory.update(ids[5], importance=0.9)
        memory.reinforce(ids[4])
        memory.pin(ids[8])
        memory.unpin(ids[8])
        memory.pin(ids[9])
        newer = memory.remember("Ann works at Fabrikam.", supersedes=ids[0], user_id="ann")
        memory.remember("Ann works at Litware.", supersedes=newer, user_id="ann")
        last = memory.remember("Ben lives in Faro.", supersedes=ids[1], user_id="ben")
        memory.forget(last)
        memory.reinstate(ids[1])
        matter = memory.remember("The boiler leaks.", user_id="ann", unresolved=True)
        memory.resolve(matter)
        memory.forget(ids[12])
        memory.forget(where={"n": 13})
        answers["first"] = asked(memory)
        clock.advance(days=3)
        memory.reflect()
        memory.forget(ids[16], purge=True)
        memory.compact()
        memory.export(root / "out.jsonl")
        memory.backup(root / "backup")
        answers["later"] = asked(memory)
        answers["count"] = memory.count()
        answers["checked"] = [str(each) for each in memory.check().problems]
    spector.restore(root / "backup", root / "restored")
    with opened("restored") as memory:
        answers["restored"] = asked(memory)
    spector.restore(root / "backup", root / "renewed")
    Embedder.fingerprint = "2"
    spector.reembed(root / "renewed", Embedder())
    with opened("renewed") as memory:
        answers["renewed"] = asked(memory)
    Embedder.fingerprint = "1"
    with opened("imported") as memory:
        memory.import_(root / "out.jsonl")
        answers["imported"] = asked(memory)
    for archive in sorted((REPO / "tests" / "fixtures").glob("format-*/*.tar.xz")):
        where = root / f"{archive.parent.name}-{archive.name.partition('.')[0]}"
        where.mkdir()
        with tarfile.open(archive) as packed:
            packed.extractall(where, filter="data")
        for store in sorted(path.parent for path in where.rglob("catalog.db")):
            with spector.open(store, embedder=None, clock=clock) as memory:
                kept = [each.text for each in memory.records()][:50]
                answers[where.name] = [memory.count(), kept]
    answers["data"] = list(conversations(opened))
    (root / "answers.json").write_text(json.dumps(answers, indent=1, sort_keys=True))


def asked(memory: Any) -> list[Any]:
    """Recalls in several ways, with every number of their explanations, and contexts."""
    out: list[Any] = []
    for cue in CUES:
        for more in ({}, {"user_id": "ann"}, {"profile": "recent", "k": 3}, {"selective": True}):
            hits = memory.recall(cue, **more)
            out.append(
                [[hit.text, hit.score.hex(), explained(hit), list(hit.also)] for hit in hits]
                + [[hit.text for hit in hits.standing], hits.abstained, list(hits.notes)]
            )
        out.append(str(memory.context(cue, max_tokens=400)))
    return out


def explained(hit: Any) -> dict[str, str]:
    why = hit.explain()
    parts = {**why.values, **why.terms, **why.modifiers, **why.evidence, "fused": why.fused}
    return {name: float(value).hex() for name, value in sorted(parts.items())}


def conversations(opened: Any) -> Iterator[Any]:
    """The answers about the first conversation of every kind that is here."""
    data = Path(os.environ.get("SPECTOR_DATA", REPO.parent / "shared" / "data"))
    for file in sorted(data.glob("locomo/*.json"))[:2] if data.is_dir() else []:
        said = list(words_in(json.loads(file.read_text(encoding="utf-8"))))[:600]
        with opened(f"data-{file.stem}") as memory:
            memory.remember_many(
                [{"text": each[:2000], "session_id": f"s{n // 20}"} for n, each in enumerate(said)]
            )
            yield [file.name, asked(memory)]


def words_in(part: Any) -> Iterator[str]:
    """The texts of any JSON document."""
    if isinstance(part, dict):
        for name, each in part.items():
            if name == "text" and isinstance(each, str) and each.strip():
                yield each
            else:
                yield from words_in(each)
    elif isinstance(part, list):
        for each in part:
            yield from words_in(each)


def digests(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "LOCK"
    }


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--live"]:
        live(Path(arguments[1]))
        return 0
    before = Path(arguments[0]).resolve()
    after = Path(arguments[1]).resolve() if len(arguments) > 1 else REPO
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name, tree in (("before", before), ("after", after)):
            # one path for both, for paths stand in stores and answers
            root = Path(folder) / "life"
            root.mkdir()
            subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), "--live", str(root)],
                check=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(tree), "SPECTOR_THREADS": "1"},
            )
            found.append(digests(root))
            root.rename(Path(folder) / name)
        one, other = found
        every = one.keys() | other.keys()
        different = sorted(each for each in every if one.get(each) != other.get(each))
        for each in different:
            print(f"different: {each}")
        print(f"{len(one)} files before, {len(other)} after, {len(different)} differ")
        return bool(different)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
