"""What a store knows beside its memories, row by row, and things to do that change it.

For proofs that compare whole stores: after a kill, an interrupt or a power cut a store must show a
memory with all that belongs to it, as it was before a change or after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector import Memory
from spector.store.payloads import PAYLOAD_TABLES, tables_in
from tests.crash.workload import DIM, vector_of

__all__ = ["Vectors", "deeds", "known_rows", "rows_of_store"]


class Vectors:
    """An embedder of the vectors that the texts of the crash tests have."""

    dim, model_id, fingerprint = DIM, "vectors-of-texts", "vectors-of-texts:1"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([vector_of(each) for each in texts])


def rows_of_store(memory: Memory) -> dict[str, list[list[Any]]]:
    """Every row of knowledge, by table; of sleep only what depends on a memory."""
    store = memory._parts.store
    store.view()
    with store.catalog.reading() as db:
        return {
            each.name: sorted(
                (list(row) for row in db.execute(f"SELECT * FROM {each.name}")), key=repr
            )
            for each in tables_in(db)
            if each.owners
        }


def known_rows(memory: Memory) -> dict[int, list[Any]]:
    """Rows of knowledge by the memories that they belong to; items with those that name them.

    What belongs to no memory, as registered relations, is under the first one.
    """
    tables = rows_of_store(memory)
    by_name = {each.name: each for each in PAYLOAD_TABLES}
    living = [record.id for record in memory]
    out: dict[int, list[Any]] = {}
    of_items: dict[int, set[int]] = {}
    for row in tables.get("link", ()):
        of_items.setdefault(row[0], set()).add(row[2])
    for name, rows in sorted(tables.items()):
        table = by_name[name]
        at = [n for n, each in enumerate(table.columns) if each.owner]
        for row in rows:
            owners = {row[n] for n in at}
            owners |= {each for owner in owners for each in of_items.get(owner, ())}
            for each in sorted(owners & set(living)) or sorted(living)[:1]:
                plain = (value.hex() if type(value) is bytes else value for value in row)
                out.setdefault(each, []).append([name, *plain])
    return out


def deeds(
    memory: Memory, ids: dict[str, int] | None = None
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Changes of knowledge, each with its name; later ones build on earlier ones.

    Args:
        ids: of what earlier ones made, by name; filled in.
    """
    ids = {} if ids is None else ids

    def remember(name: str, **more: Any) -> None:
        ids[name] = memory.remember(f"{name} version 0", user_id="u", **more).id

    def episode(name: str, **details: Any) -> None:
        ids[name] = memory.layers["episodes"].store(
            f"{name} version 0", user_id="u", episode={"tool": "lift", "success": True, **details}
        )

    def fact(subject: str, predicate: str, object: str, source: str | None = None) -> None:
        ids[f"fact {object}"] = memory.facts.add(
            subject, predicate, object, source=None if source is None else ids[source], user_id="u"
        ).id

    yield "remember", lambda: remember("knowone")
    yield "remember", lambda: remember("knowtwo")
    yield "facts.add", lambda: fact("Ada", "lives_in", "Paris", "knowone")
    yield "facts.add a source", lambda: fact("Ada", "lives_in", "Paris", "knowtwo")
    yield "facts.add another value", lambda: fact("Ada", "lives_in", "Kars", "knowtwo")
    yield "graph.register", lambda: memory.graph.register("mentors", inverse="mentored_by")
    yield (
        "graph.link",
        lambda: memory.graph.link(
            ids["knowone"], ids["knowtwo"], "mentors", weight=0.5, note={"why": "because"}
        ),
    )
    yield "episode", lambda: episode("epione", objects=["mug"], people=["Ümit"])
    yield "episode", lambda: episode("epitwo", objects=["mug"], goal="pour_tea")
    yield "concepts.extract", lambda: memory.concepts.extract([ids["epione"], ids["epitwo"]])
    yield (
        "procedures.add",
        lambda: ids.setdefault(
            "deploy",
            memory.procedures.add("deploy", ["build", "push"], triggers=["ship"], user_id="u").id,
        ),
    )
    yield "procedures.record_outcome", lambda: memory.procedures.record_outcome(ids["deploy"], True)
    yield (
        "learnings.add",
        lambda: ids.setdefault(
            "learn",
            memory.learnings.add(
                "ship early",
                "success_pattern",
                evidence=[ids["knowone"]],
                applies_to=["ship"],
                user_id="u",
            ).id,
        ),
    )
    yield "learnings.validate", lambda: memory.learnings.validate(ids["learn"], True)
    yield "remember by key", lambda: remember("keyone", key="k", namespace=("a", "b"))
    yield "replace by key", lambda: remember("keytwo", key="k", namespace=("a", "b"))
    yield (
        "attach",
        lambda: remember("keytwo", key="k", namespace=("a", "b"), attachment=b"\0attached" * 40),
    )
    yield "forget by key", lambda: memory.forget(key="k", namespace=("a", "b"), user_id="u")
    yield (
        "remember by key again",
        lambda: remember(
            "keynew", key="k", namespace=("a", "b"), attachment={"said": "attachednew"}
        ),
    )
    yield "graph.unlink", lambda: memory.graph.unlink(ids["knowone"], ids["knowtwo"], "mentors")
    yield "facts.forget", lambda: memory.facts.forget(ids["fact Paris"])
    yield "forget a source", lambda: memory.forget(ids["knowtwo"])
    yield "purge an episode", lambda: memory.forget(ids["epione"], purge=True, verify=True)
    yield "move", lambda: memory.update(ids["epitwo"], move_to={"user_id": "v"})
    yield "observe", lambda: memory.observe("I live in Oslo.", user_id="u")
    yield "observe a change", lambda: memory.observe("I moved to Bergen.", user_id="u")
    yield (
        "observe a batch",
        lambda: memory.observe_many(
            ["Ada met Bob in Kars.", "I moved to Izmir.", "Bob called Ada."], user_id="u"
        ),
    )
