"""What is done to a store while its calls are recorded for the power-loss replay."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spector
from spector.clock import ManualClock
from tests.crash.observing import MERGING, Alike, merges, observations
from tests.crash.power import STORE, Recorder, describe, vector
from tests.crash.prepared import exported_before, ordered
from tests.crash.trace import MARK, Call
from tests.crash.workload import DIM, START, TINY, Worker
from tests.images import codes_of
from tests.knowing import Vectors, deeds

__all__ = ["OPENED", "PREPARED", "WORKLOADS"]

#: says that an opening has returned
OPENED = Call(MARK, data=b"{}")

_BULK = replace(TINY, episodic_capacity=200, batch_records=80, checkpoint_bytes=4000)
#: journals are emptied after few commits
_EARLY = replace(TINY, checkpoint_bytes=4000)


class Model:
    """An embedder of those vectors."""

    def __init__(self, dim: int) -> None:
        self.dim, self.model_id, self.fingerprint = dim, f"model-{dim}", f"model:{dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([vector(text, self.dim) for text in texts])


def _all(words: str, *, dim: int = DIM, **more: Any) -> list[dict[str, Any]]:
    return [
        {"text": f"{w} version 0", "vector": vector(f"{w} version 0", dim), **more}
        for w in words.split()
    ]


def life(recorder: Recorder, durability: str = "strict") -> None:
    """Every verb once or twice, with a good end and a second session."""
    memory = recorder.open(durability=durability)
    later = START + timedelta(days=1)
    ids = {}
    for words, more in (
        ("alpha beta", {"event_time": START}),
        ("gamma delta eps zeta eta", {"event_time": later}),
        ("fact0 fact1 fact2 fact3", {"tier": "semantic", "tags": ["f"]}),
    ):
        found = memory.remember_many(_all(words, **more))
        ids.update((record.text.split()[0], record.id) for record in found)
    for text in ("alpha version 1", "fact0 version 1"):
        memory.update(ids[text.split()[0]], text=text, vector=vector(text, DIM))
    memory.reinforce(ids["beta"])
    memory.forget(ids["gamma"])
    memory.recall(vector=vector("delta version 0", DIM), k=2, learn=True)
    memory.checkpoint()
    recorder.safe()
    memory.forget(ids["delta"])
    memory.forget(ids["fact1"])
    memory._parts.clock.advance(days=3)  # type: ignore[attr-defined]
    memory.reflect()
    memory.remember_many(_all("omega"))
    memory.export(os.path.join(recorder.top, "out.jsonl"))
    recorder.file("out.jsonl")
    memory.compact()
    recorder.close()
    memory = recorder.open(durability=durability)
    memory.remember_many(_all("psi"))
    memory.pin(ids["alpha"])


def mixed(recorder: Recorder, durability: str = "strict") -> None:
    """Random verbs, closed and opened in between."""
    alive: dict[int, str] = {}
    for session in range(2):
        memory = recorder.open(durability=durability, clock=ManualClock(START))
        worker = Worker(memory, alive, recorder.seed * 10 + session, lambda line: None)
        for _ in range(14):
            worker.step()
        memory.reflect()
        memory.compact()
        alive = worker.alive
        recorder.close()


def bulk(recorder: Recorder) -> None:
    """Appends that go into the partition before the commit, between small ones."""
    memory = recorder.open(config=_BULK)
    memory.remember_many(_all("a b c"))
    memory.remember_many(_all(" ".join(f"m{n}" for n in range(70))))
    found = memory.remember_many(_all("d e"))
    memory.forget(found[0].id)
    memory.remember_many(_all(" ".join(f"n{n}" for n in range(66)), tier="semantic"))
    recorder.close()


def reembed(recorder: Recorder) -> None:
    """Change to a model of another dimension, and go on there."""
    memory = recorder.open(embedder=Model(DIM))
    found = memory.remember_many(_all("one two three four five"))
    memory.remember_many(_all("six seven eight", tier="semantic"))
    memory.forget(found[2].id)
    state = describe(memory)
    recorder.close()
    spector.reembed(recorder.path, Model(80))
    recorder.say(state, 80)
    memory = recorder.open(embedder=Model(80), dim=80)
    memory.remember("nine version 0")
    memory.compact()
    recorder.close()


def backup(recorder: Recorder) -> None:
    """A copy of a store in use, another in its place, and one of the copy."""
    memory = recorder.open()
    found = memory.remember_many(_all("one two three four five"))
    memory.remember_many(_all("six seven", tier="semantic"))
    memory.backup(os.path.join(recorder.top, "copy"))
    recorder.copy("copy")
    memory.forget(found[1].id)
    memory.remember_many(_all("eight", tier="semantic"))
    memory.compact()
    memory.backup(os.path.join(recorder.top, "copy"))
    recorder.copy("copy")
    spector.restore(os.path.join(recorder.top, "copy"), os.path.join(recorder.top, "restored"))
    recorder.copy("restored")
    memory.remember_many(_all("nine"))


def short(recorder: Recorder) -> None:
    """Few changes, so that every subset of what is pending can be built."""
    memory = recorder.open()
    found = memory.remember_many(_all("one two three"))
    memory.update(found[0].id, text="one again", vector=vector("one again", DIM))
    memory.forget(found[1].id)
    memory.checkpoint()
    memory.compact()
    recorder.close()


def again(recorder: Recorder) -> None:
    """What a later process does with a store that a killed one left."""
    memory = recorder.open()
    memory.remember_many(_all("back", dim=memory.dim))
    memory.checkpoint()
    memory.remember_many(_all("again", dim=memory.dim, tier="semantic"))


def reopen(recorder: Recorder, durability: str = "strict") -> None:
    """A recovery, and the first thing that is remembered then."""
    memory = recorder.open(durability=durability)
    recorder.shim.mark(OPENED.data.decode())
    memory.remember_many(_all("first", dim=memory.dim))


def erase(recorder: Recorder, durability: str = "strict") -> None:
    """Each way to erase, until its receipt is complete."""
    memory = recorder.open(durability=durability)
    memory.remember_many(_all("alpha beta gamma delta"))
    memory.remember_many(_all("fact0 fact1 fact2", tier="semantic"))
    first, needles = _secret(memory, "zqone")
    kept, more = _secret(memory, "zqtwo")
    last, most = _secret(memory, "zqsix", tier="semantic")
    recorder.done(memory.forget(first, purge=True).receipt, needles)
    memory.remember_many(_all("eps"))
    memory.update(kept, text="two again", vector=vector("two again", DIM), tags=[], metadata={})
    recorder.done(memory.compact().receipt, more)
    memory.forget(last)
    memory._parts.clock.advance(days=3)  # type: ignore[attr-defined]
    recorder.done(memory.reflect().compaction.receipt, most)
    memory.remember_many(_all("zeta", tier="semantic"))
    memory.checkpoint()
    recorder.close()


def _secret(memory: spector.Memory, word: str, **more: Any) -> tuple[int, list[bytes]]:
    """A memory, and bytes that only it has."""
    text = f"{word}text version 0"
    found = memory.remember(
        text, vector=vector(text, DIM), tags=[f"{word}tag"], metadata={"k": f"{word}meta"}, **more
    ).id
    return found, [
        *(f"{word}{end}".encode() for end in ("text", "tag", "meta")),
        codes_of(memory, found),
    ]


def _told(
    recorder: Recorder, events: Callable[[Any], Any], every: int, embedder: Any, **more: Any
) -> None:
    """Do one event after the other, with a checkpoint after so many, and compact at the end."""
    memory = recorder.open(embedder=embedder, **more)
    for n, (_, do) in enumerate(events(memory), 1):
        do()
        if n % every == 0:
            memory.checkpoint()
    memory.compact()
    recorder.close()


#: facts, edges, concepts, procedures and learnings: made, changed, forgotten, moved
know = partial(_told, events=deeds, every=7, embedder=Vectors())
#: a conversation: each way in which the gate decides, and a batch
observe = partial(_told, events=observations, every=4, embedder=Vectors())
#: messages that give memories more words
merge = partial(_told, events=merges, every=1 << 20, embedder=Alike(), config=MERGING)


def keyed(recorder: Recorder, **more: Any) -> None:
    """Keys that are given, replaced, moved and freed, ends, and what is attached."""
    memory = recorder.open(config=_EARLY, **more)
    memory.remember_many(_all("alpha beta", tags=["k"]))

    def put(word: str, **fields: Any) -> int:
        text = f"{word} version 0"
        return memory.remember(text, vector=vector(text, DIM), **fields).id

    put("gamma", key="a", user_id="ada", namespace=("x",), attachment=b"1" * 6000)
    put("delta", key="a", user_id="ada", namespace=("x",), attachment=b"2" * 3000)
    put("eps", key="a", user_id="bob", expires_in=60)
    memory.remember(attachment={"n": [1, None, "ş"]}, key="b")
    memory.remember_many(
        [
            {**each, "key": key, "attachment": key * 900}
            for key, each in zip("cdc", _all("zeta eta theta"), strict=True)
        ]
    )
    memory.checkpoint()
    memory.update(key="d", text="eta again", vector=vector("eta again", DIM), attachment=None)
    memory.update(key="a", user_id="bob", expires_in=None)
    memory.forget(key="c")
    memory.forget(key="b", purge=True)
    put("iota", key="c")
    memory.compact()
    recorder.close()


def night(recorder: Recorder) -> None:
    """Three nights, the first of them undone: strengths fade, tiers and flags change."""
    memory = recorder.open()
    made = memory.remember_many(
        _all("alpha beta gamma delta eps zeta eta theta iota", importance=0.6, event_time=START)
    )
    for each in [*made[:3]] * 3:
        memory.reinforce(each.id, success=True)
    for days in (3, 8, 30):
        memory._parts.clock.advance(days=days)  # type: ignore[attr-defined]
        report = memory.reflect()
        if days == 3:
            memory.reflect_undo(report.cycle)
    recorder.close()


def gather(recorder: Recorder, durability: str = "strict") -> None:
    """An import, and a sleep that puts partitions in order; ``gathered`` has made the store."""
    memory = recorder.open(durability=durability)
    memory.import_(os.path.join(recorder.top, os.path.dirname(STORE), "in.jsonl"))
    assert memory.reflect().clustered, "there is something to put in order"
    recorder.close()


def gathered(folder: str) -> None:
    exported_before(folder)
    ordered(folder)


#: those that a relaxed writer is recorded with, too
_BOTH: dict[str, Callable[..., None]] = {
    "life": life,
    "mixed": mixed,
    "reopen": reopen,
    "erase": erase,
    "know": know,
    "observe": observe,
    "keyed": keyed,
}
WORKLOADS: dict[str, Callable[[Recorder], None]] = {
    **_BOTH,
    **{f"{name}_relaxed": partial(each, durability="relaxed") for name, each in _BOTH.items()},
    "bulk": bulk,
    "reembed": reembed,
    "backup": backup,
    "short": short,
    "again": again,
    "gather": gather,
    "merge": merge,
    # by a writer that has the lock for the length of each write
    "shared": partial(keyed, shared=True),
    "night": night,
}
#: workload -> what makes the store that it begins with, all of it durable, in a directory
PREPARED: dict[str, Callable[[str], None]] = {"gather": gathered}
