"""Random operations with keys in processes that are killed, beside a dictionary, as one scenario.

A writer tells what it is about to do and what was acknowledged. The parent has a dictionary of the
same operations: after each kill the store is the dictionary, or the dictionary after the operation
that was in doubt. A reader of another process looks on while the writer works.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np

import spector
from tests.crash.harness import run_and_exit, scratch
from tests.crash.workload import START, TINY, open_tiny, vector_of

#: user, agent, labels of the namespace, key
Path = tuple[str | None, str | None, tuple[str, ...], str]
#: text and revision of what is kept
Kept = tuple[str, int]
Model = dict[Path, Kept]
Tell = Callable[[dict[str, Any]], None]

_USERS = (None, "u0", "u1")
_AGENTS = (None, "a")
_SPACES: tuple[tuple[str, ...], ...] = ((), ("x",), ("x", "y"))


def run(operations: int, seed: int) -> dict[str, Any]:
    """Live until so many operations were acknowledged; what was wrong, and how much was done."""
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {"wrong": [], "operations": 0, "kills": 0, "looks": 0}
    model: Model = {}
    with scratch() as root:
        path = os.path.join(root, "mind")
        with open_tiny(path) as memory:
            memory.remember("first", vector=vector_of("first"), key="first")
        model[None, None, (), "first"] = ("first", 1)
        while found["operations"] < operations and not found["wrong"]:
            left = operations - found["operations"]
            lines = _killed(path, model, int(rng.integers(1 << 30)), found, min(left, 400), rng)
            found["kills"] += 1
            doubt: dict[str, Any] | None = None
            for line in lines:
                if "ok" in line:
                    assert doubt is not None
                    model = _states(model, doubt)[-1]
                    found["operations"] += 1
                doubt = line if "do" in line else None
            found["wrong"] += _wrong(path, model, doubt)
            with open_tiny(path, mode="r") as memory:
                model = _seen(memory)
    return found


def _killed(
    path: str,
    model: Model,
    seed: int,
    found: dict[str, Any],
    most: int,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """What a writer told until it was killed after some of its lines, with a reader beside it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        run_and_exit(lambda: _write(path, dict(model), seed, writing))
    os.close(writing)
    after = int(rng.integers(1, 2 * most + 1))
    data = b""
    try:
        with open_tiny(path, mode="r") as reader:
            while data.count(b"\n") <= after:
                if found["looks"] % 3 == 0:
                    found["wrong"] += _twice(reader)
                found["looks"] += 1
                chunk = os.read(reading, 1 << 13)
                if not chunk:
                    break
                data += chunk
        os.kill(pid, signal.SIGKILL)
        while chunk := os.read(reading, 1 << 16):
            data += chunk
    finally:
        os.close(reading)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != -signal.SIGKILL:
        raise AssertionError(f"the writer ended with {code}; its traceback is above")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def _write(path: str, model: Model, seed: int, fd: int) -> None:
    rng = np.random.default_rng(seed)
    at = START + timedelta(hours=int(rng.integers(90)))
    with open_tiny(path, at=at) as memory:
        n = 0
        while True:
            n += 1
            if rng.integers(40) == 0:
                memory.compact() if rng.integers(2) else memory.checkpoint()
            line = _operation(rng, model, f"s{seed}x{n}")
            os.write(fd, (json.dumps(line) + "\n").encode())
            _perform(memory, line)
            os.write(fd, b'{"ok": 1}\n')
            model = _states(model, line)[-1]


def _operation(rng: np.random.Generator, model: Model, text: str) -> dict[str, Any]:
    """What to do next, with all that it takes."""
    dice = int(rng.integers(10))
    if dice < 4:
        return {"do": "remember", "items": [_item(rng, text)]}
    if dice < 7:
        items = [_item(rng, f"{text}n{m}") for m in range(int(rng.integers(2, 6)))]
        if rng.integers(4) == 0:
            items.append({"text": f"{text} plain", "path": None})
        known = "keep" if rng.integers(3) == 0 else "replace"
        return {"do": "many", "items": items, "known": known}
    if not model:
        return {"do": "remember", "items": [_item(rng, text)]}
    chosen = list(model)[int(rng.integers(len(model)))]
    if dice == 7:
        return {"do": "update", "items": [{"text": text, "path": chosen}]}
    return {"do": "forget", "items": [{"text": "", "path": chosen}], "purge": dice == 9}


def _item(rng: np.random.Generator, text: str) -> dict[str, Any]:
    user = _USERS[int(rng.integers(3))]
    agent = _AGENTS[int(rng.integers(5)) // 4]
    space = _SPACES[int(rng.integers(3))]
    return {"text": text, "path": [user, agent, space, f"k{int(rng.integers(4))}"]}


def _perform(memory: spector.Memory, line: Mapping[str, Any]) -> None:
    items = [
        {"text": item["text"], "vector": vector_of(item["text"]), **_named(item["path"])}
        for item in line["items"]
        if line["do"] != "forget"
    ]
    if line["do"] == "many":
        memory.remember_many(items, if_known=line["known"])
    elif line["do"] == "remember":
        memory.remember(items[0].pop("text"), **items[0])
    elif line["do"] == "update":
        memory.update(**items[0])
    else:
        memory.forget(**_named(line["items"][0]["path"]), purge=line["purge"])


def _named(path: Any) -> dict[str, Any]:
    if path is None:
        return {}
    user, agent, space, key = path
    return {"user_id": user, "agent_id": agent, "namespace": tuple(space), "key": key}


def _path(item: Mapping[str, Any]) -> Path:
    user, agent, space, key = item["path"]
    return user, agent, tuple(space), key


def _states(model: Model, line: Mapping[str, Any]) -> list[Model]:
    """The dictionary after each commit of an operation; batches are commits of their own."""
    out, size = [], TINY.batch_records
    for start in range(0, len(line["items"]), size):
        model = dict(model)
        batch = [each for each in line["items"][start : start + size] if each["path"] is not None]
        for item in {_path(each): each for each in batch}.values():  # the last of a key counts
            path = _path(item)
            if line["do"] == "forget":
                del model[path]
            elif not (path in model and line.get("known") == "keep"):
                model[path] = item["text"], model.get(path, ("", 0))[1] + 1
        out.append(model)
    return out


def _seen(memory: spector.Memory) -> Model:
    return {
        (each.user_id, each.agent_id, each.namespace, each.key): (each.text, each.revision)
        for each in memory.records()
        if each.key is not None
    }


def _twice(memory: spector.Memory) -> list[str]:
    """Keys that two memories have which are both there: a long list is of more than one moment."""
    found: dict[Path, list[int]] = {}
    for each in memory.records():
        if each.key is not None:
            path = each.user_id, each.agent_id, each.namespace, each.key
            found.setdefault(path, []).append(each.id)
    return [
        f"{path} is there twice"
        for path, ids in found.items()
        if len(ids) > 1 and sum(_is_there(memory, each) for each in ids) > 1
    ]


def _is_there(memory: spector.Memory, record_id: int) -> bool:
    try:
        memory.get(record_id)
    except spector.UnknownRecordError:
        return False
    return True


def _wrong(path: str, model: Model, doubt: Mapping[str, Any] | None) -> list[str]:
    """What a reader beside the dead writer, and the next writer, do not see."""
    wrong: list[str] = []
    allowed = [model] if doubt is None else [model, *_states(model, doubt)]
    for mode in ("r", "rw"):
        with open_tiny(path, mode=mode) as memory:
            wrong += _twice(memory)
            seen = _seen(memory)
            if seen not in allowed:
                expected = allowed[-1]
                odd = [each for each in {*seen, *expected} if seen.get(each) != expected.get(each)]
                wrong.append(f"{mode}: {[(e, seen.get(e), expected.get(e)) for e in odd[:3]]}")
            for each, (text, _) in list(seen.items())[::7]:
                found = memory.get(**_named(each))
                if found.text != text:
                    wrong.append(f"{each} leads to {found.text!r}")
            wrong += [str(each) for each in memory.check().problems]
    return wrong
