"""A conversation that is observed while its process is killed: made, superseded, merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector import Config, Memory, ObserveConfig
from tests.crash.workload import DIM, TINY, vector_of

__all__ = ["MERGING", "Alike", "alike", "merges", "observations"]

#: bands that take every text of the same particulars for an update of the nearest one
MERGING: Final[Config] = replace(
    TINY, observe=ObserveConfig(
        gate_by="bands", on_update="merge", create_below=0.0, update_from=0.0, reinforce_above=1.0,
    ),
)  # fmt: skip


def alike(text: str, dim: int = DIM) -> NDArray[np.float32]:
    """A vector of a text that is near to those of all others."""
    found = vector_of(text) + np.float32(1.5) * vector_of("what all texts share")
    return np.asarray(found / np.linalg.norm(found), np.float32)


class Alike:
    """An embedder of these vectors."""

    dim, model_id, fingerprint = DIM, "alike-texts", "alike-texts:1"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([alike(each) for each in texts])


def observations(memory: Memory) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Messages one by one and together: each way in which the gate decides, with its name."""
    def user(text: str, **more: Any) -> Callable[[], Any]:
        return lambda: memory.observe({"role": "user", "content": text}, user_id="u", **more)

    yield "create", user("Anchors rust in Kars.")
    yield "create-a-slot", user("The staging server uses port 8080.")
    yield "supersede", user("The staging server uses port 8443.")
    yield "contradict", lambda: memory.observe(
        {"role": "assistant", "content": "The staging server uses port 9000."}, user_id="u")
    yield "reinforce", user("Anchors rust in Kars.")
    yield "elaborate", user("Anchors rust in Kars in the salty winter wind.")
    yield "weak", user("Bob has a pen.", session_id="s")
    yield "capture", lambda: memory.observe(
        {"role": "user", "content": "Bob will never eat nuts.", "importance": 0.9}, user_id="u",
        session_id="s")
    yield "many", lambda: memory.observe_many(
        ["Ada met Bob in Izmir.", "thanks!", "I live in Oslo.", "I moved to Bergen.",
         "Ada called Bob because the ship was late."], user_id="u", session_id="s")


def merges(memory: Memory) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Messages whose words are added to those of a memory, under its id."""
    yield "create", lambda: memory.observe("Boats were painted by Ada.")
    yield "merge", lambda: memory.observe("Boats were painted by Ada in Kars.")
    yield "merge-more", lambda: memory.observe("Tar was bought for Ada.")
    yield "merge-a-number", lambda: memory.observe("Boats of Ada were painted 12 times.")
    yield "beside", lambda: memory.observe("Boats of Ada were painted 14 times.")
    yield "reinforce", lambda: memory.observe("Boats of Ada were painted 14 times.")
