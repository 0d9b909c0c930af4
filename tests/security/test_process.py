"""What lives in the process survives no erasure.

Mechanism: sessions hear of what is forgotten, and drop all that is of a user who is forgotten; an
entry of a buffer that a memory on disk had is never written again. Damage without it: after the
receipt the end of a session, here or in another process, writes the words of the user again.
Guard: a walk over every object that a memory leads to, and every cache of answers, after the
receipt; every file after the sessions have ended; another process that still has a session.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector import ManualClock, Memory, Session
from spector.providers import CachedEmbedder
from tests.test_layers import REPO

WORD = "zqxkestrel"


class Plain:
    """An embedder that keeps nothing."""

    model_id, dim, fingerprint = "plain", 16, "plain-1"

    def embed(self, texts: Any) -> NDArray[np.float32]:
        out = np.ones((len(texts), 16), np.float32)
        out[:, 0] += [len(each) for each in texts]
        return out


def places_of(root: object) -> Iterator[str]:
    """Where the word is among all that an object leads to."""
    seen: set[int] = set()
    ahead: list[tuple[Any, str]] = [(root, "")]
    while ahead:
        each, path = ahead.pop()
        if id(each) in seen or isinstance(each, (type, ModuleType, CodeType)):
            continue
        seen.add(id(each))
        text = str(each) if isinstance(each, str) else ""
        if isinstance(each, (bytes, bytearray)):
            text = bytes(each).decode("latin-1")
        if WORD in text.casefold():
            yield path
        if isinstance(each, FunctionType):
            ahead += [(cell, path) for cell in each.__closure__ or ()]
        else:
            here = f"{path[-300:]}/{type(each).__name__}"
            ahead += [(other, here) for other in gc.get_referents(each)]


def talk(memory: Memory, session: Session) -> None:
    """Let the word come to every place that words come to."""
    session.observe(f"My sister {WORD} lives in Oulu and works at Initech.")
    session.observe({"role": "assistant", "content": f"So {WORD} is your sister?"})
    session.observe(f"lol {WORD}")
    session.observe(f"What did I say of {WORD}?")
    session.remember(f"{WORD} sails on Sundays", importance=0.2)
    session.remember(f"{WORD} has a blue boat", importance=0.9)
    session.recall(f"who is {WORD}?")
    session.context(f"tell me of {WORD}")
    session.zones.add("item", f"{WORD} matters", "system", 0.5)
    session.buffer.add(None, f"{WORD} may matter", importance=0.9)
    session.outcome("dial", True, goal=f"call {WORD}")
    memory.remember(f"working on {WORD}", tier="working", user_id="ann")
    memory.recall(f"{WORD} boat", user_id="ann", learn=True)
    memory.hot(user_id="ann")


def test_after_the_receipt_no_object_of_the_memory_has_a_word_of_the_user(tmp_path: Path) -> None:
    clock = ManualClock("2026-06-01T09:00:00Z")
    where, log = tmp_path / "mind", tmp_path / "log.jsonl"
    with spector.open(
        where, embedder=CachedEmbedder(Plain()), clock=clock, ops_log=log, ops_log_text=True
    ) as memory:
        session = memory.session("chat", user_id="ann")
        talk(memory, session)
        assert list(places_of(memory)), "the walk comes to where words are"
        report = memory.forget(user_id="ann", purge=True, verify=True, include_protected=True)
        assert report.receipt.complete
        gc.collect()
        assert list(places_of(memory)) == list(places_of(session)) == []
        report = session.end()
        assert report.promoted == ()
        memory.reflect()
        assert not [each for each in memory.records(include=["dormant"]) if WORD in each.text]
    for each in [log, *where.rglob("*")]:
        assert each.is_dir() or WORD.encode() not in each.read_bytes().lower(), each


def test_an_expired_memory_is_not_kept_by_the_end_of_a_session() -> None:
    clock = ManualClock("2026-06-01T09:00:00Z")
    with spector.open(":memory:", embedder=Plain(), clock=clock) as memory:
        session = memory.session("chat", user_id="ann")
        session.remember(f"the code is {WORD}", importance=0.9, expires_in=60)
        clock.advance(seconds=61)
        assert session.end().promoted == ()
        assert len(memory) == 0


def test_another_user_keeps_what_the_session_has(tmp_path: Path) -> None:
    with spector.open(":memory:", embedder=Plain()) as memory:
        session = memory.session("chat", user_id="ben")
        session.buffer.add(None, "a thought", importance=0.9)
        memory.remember("x", user_id="ann")
        memory.forget(user_id="ann", purge=True)
        assert len(session.end().promoted) == 1


#: says that it has sessions, waits for the other process, and ends them
OTHER = """
import sys, spector
from tests.security.test_process import Plain, WORD
with spector.open(sys.argv[1], embedder=Plain(), shared=True) as memory:
    session, other = (memory.session("chat", user_id=each) for each in ("ann", "ben"))
    session.remember(f"{WORD} has a blue boat", importance=0.9)
    session.observe(f"My sister {WORD} lives in Oulu.")
    session.remember(f"call {WORD} at noon", importance=0.9, tier="working")
    session.buffer.add(None, f"{WORD} may matter", importance=0.9)
    session.recall(WORD), session.recall(WORD), session.context(WORD)
    other.remember("the garden is wet", importance=0.9)
    other.buffer.add(None, "the well is deep", importance=0.9)
    print("ready", flush=True)
    sys.stdin.readline()
    memory.remember("the lamp is lit", user_id="cyd")
    if sys.argv[2] == "goes on":
        memory.session("next", user_id="ann").context(WORD)
    kept = [len(each.end().promoted) for each in (session, other)]
    print(*kept, *memory.recall(WORD, user_id="ann"), flush=True)
    memory.reflect()
"""


@pytest.mark.parametrize("then", ["ends", "goes on"])
def test_a_session_of_another_process_writes_nothing_of_an_erased_user(
    tmp_path: Path, then: str
) -> None:
    where = tmp_path / "mind"
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(where), then],
        cwd=REPO,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with other, spector.open(where, embedder=Plain(), shared=True) as memory:
        try:
            assert other.stdout.readline() == "ready\n"
            report = memory.forget(user_id="ann", purge=True, include_protected=True)
            assert report.receipt.complete
            assert other.communicate("\n", timeout=120) == ("0 1\n", None)
        finally:
            other.kill()
        assert {each.user_id for each in memory.records()} == {"ben", "cyd"}
    for each in where.rglob("*"):
        assert each.is_dir() or WORD.encode() not in each.read_bytes().lower(), each


def test_others_keep_what_this_process_has_when_another_one_erases_a_user(tmp_path: Path) -> None:
    """A note has one byte of a hash: some two of the others look like the user who has gone."""
    where = tmp_path / "mind"
    with (
        spector.open(where, embedder=Plain(), shared=True) as memory,
        spector.open(where, embedder=Plain(), shared=True) as other,
    ):
        names = ["ann", *(f"user {n}" for n in range(400))]
        for each in names:
            other.remember("a step of a plan", tier="working", user_id=each)
        memory.forget(user_id="ann", purge=True)
        other.session("chat", user_id="user 0")
        left = {each.user_id for each in other.records(tiers=["working"])}
        assert "ann" not in left
        assert len(left) > 380
