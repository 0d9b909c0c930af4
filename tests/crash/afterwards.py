"""Opens what a power cut left, in forked children, and says what is to be seen there."""

from __future__ import annotations

import json
import os
import shutil
import traceback
from collections.abc import Sequence
from typing import Any

import spector
from tests.crash.disk import Image, materialise
from tests.crash.harness import run_and_exit, scratch
from tests.crash.power import COPIES, STORE, describe, digest_of, open_any, vector

__all__ = ["examine", "examine_all"]

_NEW = "after the cut"


def examine(root: str, thorough: bool) -> dict[str, Any]:
    """Open the store in ``root``; its state, and what is wrong with it, as text."""
    path, wrong = os.path.join(root, STORE), []
    beside = _read_beside(path) if thorough and os.path.exists(f"{path}/catalog.db") else None
    with open_any(path) as memory:
        state = describe(memory)
        found = digest_of(state, memory.dim)
        if beside is not None and beside != found:
            wrong.append(f"a reader had seen {beside}")
        wrong += [f"check: {p}" for p in memory.check().problems]
        if len(memory) != len(state):
            wrong.append(f"len is {len(memory)}, but {len(state)} can be iterated")
        new = memory.remember(_NEW, vector=vector(_NEW, memory.dim)).id
        for record_id in [new, *list(state)[:: max(1, len(state) // 2)]]:
            text = state[record_id]["text"] if record_id in state else _NEW
            if not memory.get(record_id).superseded:  # those are not recalled unless asked for
                wrong += _not_recalled(memory, record_id, text)
    if thorough:
        with open_any(path) as memory:
            if {i: e for i, e in describe(memory).items() if i != new} != state:
                wrong.append("the next opening shows something else")
            wrong += [f"check after that: {p}" for p in memory.check().problems]
            memory.compact()
            wrong += [f"check after compaction: {p}" for p in memory.check().problems]
    beside = {name: _copy_of(os.path.join(root, name), wrong) for name in COPIES}
    texts = [entry["text"] for entry in state.values()]
    return {"state": found, "texts": texts, "beside": beside, "wrong": wrong}


def _copy_of(path: str, wrong: list[str]) -> str:
    """The state of a copy, or "" where there is none."""
    if not os.path.isdir(path) or not os.listdir(path):
        return ""
    with open_any(path, mode="r") as reader:
        wrong += [f"check of {path}: {p}" for p in reader.check().problems]
        return digest_of(describe(reader), reader.dim)


def _read_beside(path: str) -> str | None:
    try:
        with open_any(path, mode="r") as reader:
            return digest_of(describe(reader), reader.dim)
    except spector.StoreNotFoundError:  # not created completely
        return None


def _not_recalled(memory: spector.Memory, record_id: int, text: str) -> list[str]:
    if not text:  # what has none comes in no recall
        return []
    wrong = []
    if " version " in text or text == _NEW:  # of others the vector does not follow from the text
        hits = memory.recall(
            vector=vector(text, memory.dim), k=3, lexical=False, profile="similarity"
        )
        # what may have changed it comes before it, and is less similar
        like = {hit.id: hit.explain().terms["similarity"] for hit in hits}
        if max(like, key=like.__getitem__, default=None) != record_id:
            wrong.append(f"recall by vector misses {text!r}")
    found = memory.recall(text.split()[0], k=3)
    # a fact and its source are one hit
    if record_id not in [each for hit in found for each in (hit.id, *hit.also)]:
        wrong.append(f"recall by word misses {text!r}")
    return wrong


def examine_all(images: Sequence[Image], thorough: Sequence[bool]) -> list[dict[str, Any]]:
    """What a forked child finds in each image; if the child dies, how it ended."""
    found: list[dict[str, Any]] = []
    while len(found) < len(images):
        start = len(found)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            run_and_exit(lambda: _examine_from(images, thorough, start, writing))  # noqa: B023
        os.close(writing)
        with os.fdopen(reading) as lines:
            found += [json.loads(line) for line in lines if line.endswith("\n")]
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            found.append(_nothing(f"the process ended with {code}"))
    return found


def _nothing(why: str) -> dict[str, Any]:
    return {"state": "", "texts": [], "beside": {}, "wrong": [why]}


def _examine_from(images: Sequence[Image], thorough: Sequence[bool], start: int, fd: int) -> None:
    with scratch() as root:
        for n in range(start, len(images)):
            place = os.path.join(root, str(n))
            materialise(images[n], place)
            try:
                found = examine(place, thorough[n])
            except Exception:
                last = traceback.format_exc().strip().splitlines()
                found = _nothing(" | ".join(last[-9:]))
            shutil.rmtree(place)
            data = (json.dumps(found) + "\n").encode()
            while data:
                data = data[os.write(fd, data) :]
