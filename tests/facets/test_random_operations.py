"""Random operations of five users: what is purged is gone, and nothing is tied across users.

Mechanism: one commit changes a memory and all that lives by it. Damage without it: a name that only
a purged memory said, a fact without a source, an edge from one user to another. Guard: after every
purge all files are searched, and every row is checked; a failing run prints its seed.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from spector import Memory
from spector.knowledge import plan_merge
from tests.facets.test_erasure import commit, mention

USERS = ("u0", "u1", "u2", "u3", "u4")
_NAME = re.compile(rb"zq\d{6}person")


class Walk:
    """A store under random operations, and which names may still be in it."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self.memory, self.random = memory, random.Random(seed)
        #: memory -> (user, the name that only it says)
        self.alive: dict[int, tuple[str, str]] = {}
        self.made = 0

    def step(self) -> None:
        weighted = {
            self.remember: 8,
            self.add_fact: 6,
            self.link: 5,
            self.mention: 5,
            self.merge: 2,
            self.update: 2,
            self.move: 1,
            self.forget: 3,
        }
        [chosen] = self.random.choices(list(weighted), list(weighted.values()))
        if chosen == self.remember or len(self.alive) > 8:
            chosen()

    def name(self) -> str:
        self.made += 1
        return f"zq{self.made:06d}person"

    def any(self, user: str | None = None) -> int:
        return self.random.choice(
            [each for each, (of, _) in self.alive.items() if user in (None, of)]
        )

    def remember(self) -> None:
        user, name = self.random.choice(USERS), self.name()
        record = self.memory.remember(f"{name} was here", user_id=user)
        self.alive[record.id] = user, name

    def add_fact(self) -> None:
        source = self.any()
        verb = self.random.choice(["lives_in", "likes", "knows"])
        place = self.random.choice(["Paris", "Berlin", "tea"])
        self.memory.facts.add(self.alive[source][1], verb, place, source=source)

    def link(self) -> None:
        a = self.any()
        b = self.any(self.alive[a][0])
        if a != b:
            kind = self.random.choice(["causes", "related_to", "derived_from"])
            self.memory.graph.link(a, b, kind, note={"said": self.alive[a][1]})
            # the note goes with either end, so it is no longer than the memory it names

    def mention(self) -> None:
        memory = self.any()
        mention(self.memory, self.memory.get(memory), self.alive[memory][1])

    def merge(self) -> None:
        with self.memory.graph._read() as reader:
            items = list(reader.items_of("entity", self.random.choice(USERS)))
        if len(items) > 1:
            kept, gone = self.random.sample(items, 2)
            commit(self.memory, lambda reader, changes: plan_merge(reader, changes, kept, gone))

    def update(self) -> None:
        self.rename(self.any())

    def rename(self, memory: int) -> None:
        name = self.name()
        with self.memory.graph._read() as reader:
            noted = reader.edges([memory])
        for edge in noted:  # a caller's note stays what it is
            if edge.note:
                self.memory.graph.unlink(edge.source, edge.target, edge.kind)
        self.memory.update(memory, text=f"{name} was here")
        self.alive[memory] = self.alive[memory][0], name

    def move(self) -> None:
        memory, user = self.any(), self.random.choice(USERS)
        self.memory.update(memory, move_to={"user_id": user})
        self.alive[memory] = user, self.alive[memory][1]

    def forget(self) -> None:
        memory = self.any()
        self.memory.forget(memory)
        del self.alive[memory]

    def purge(self, *, user: str | None = None) -> None:
        """Erase, then prove that nothing is left of what went."""
        if user is None:
            gone = [self.any()]
            receipt = self.memory.forget(gone, purge=True, verify=True).receipt
        else:
            gone = [each for each, (of, _) in self.alive.items() if of == user]
            receipt = self.memory.forget(user_id=user, purge=True, verify=True).receipt
        for each in gone:
            del self.alive[each]
        assert receipt is not None
        assert receipt.complete, receipt
        self.prove()

    def prove(self) -> None:
        living = {name.encode() for _, name in self.alive.values()}
        self.memory.checkpoint()
        for file in Path(str(self.memory.path)).rglob("*"):
            if file.is_file():
                left = set(_NAME.findall(file.read_bytes().lower())) - living
                assert not left, (file, left)
        store = self.memory.graph._parts.store
        with store.catalog.reading() as db:
            for table, a, b in (("edge", "source_id", "target_id"), ("link", "a", "b")):
                assert not db.execute(
                    f"SELECT * FROM {table} AS tie JOIN record AS one ON one.id = tie.{a}"
                    f" JOIN record AS two ON two.id = tie.{b} WHERE one.user_id IS NOT two.user_id"
                ).fetchall()
            assert not db.execute(
                "SELECT * FROM link JOIN item ON item.item_id = link.a"
                " JOIN record ON record.id = link.b WHERE record.user_id IS NOT item.scope"
            ).fetchall()
            assert not db.execute(
                "SELECT id FROM fact WHERE id NOT IN (SELECT a FROM link WHERE kind = 'source')"
            ).fetchall()
            assert not db.execute(
                "SELECT * FROM fact JOIN record USING (id) WHERE scope IS NOT user_id"
            ).fetchall()
        report = self.memory.check()
        assert report.ok, report
