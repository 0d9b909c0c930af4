"""Random operations of five users: what is purged is gone, and nothing is tied across users.

Mechanism: one commit changes a memory and all that lives by it. Damage without it: a name that only
a purged memory said, a fact without a source, an edge from one user to another. Guard: after every
purge all files are searched, and every row is checked; a failing run prints its seed.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory, Percept
from spector.arguments import SORTS
from spector.knowledge import plan_merge
from tests.crash.harness import scratch
from tests.facets.promoting import promote
from tests.facets.test_erasure import commit, mention
from tests.fakes import FakeEmbedder
from tests.proof import Proof

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


# -- Nothing ties, shows or derives from memories of two users, whatever five of them do -----------
#
# Mechanism: scopes are walls for every decider. Damage without it: a concept, a pattern, a profile
# or a hit of one user that names what another said. Guard: each name belongs to one memory; after
# random operations of five users every text, row and answer of one names only what this user said;
# a failing run prints its seed.


_NAME_TENANCY = re.compile(r"zq\d{6}person")
_THINGS = ("mug", "pot", "kettle")


class Tenants(Walk):
    """A walk in which everything that decides has its turn, too."""

    def __init__(self, memory: spector.Memory, seed: int) -> None:
        super().__init__(memory, seed)
        self.cursor = 0
        self.answers = 0
        #: their details stay as they are, whatever becomes of their words
        self.episodes: set[int] = set()

    #: memories of callers that live at any time
    most = 120

    def step(self) -> None:
        if len(self.alive) > self.most:
            self.forget()
            return
        weighted = self.weighted()
        [chosen] = self.random.choices(list(weighted), list(weighted.values()))
        if chosen in (self.remember, self.episode) or len(self.alive) > 8:
            chosen()

    def weighted(self) -> dict[Callable[[], None], float]:
        """What a step may do, and how often."""
        return {
            self.remember: 6,
            self.episode: 6,
            self.add_fact: 4,
            self.link: 4,
            self.mention: 4,
            self.merge: 1,
            self.update: 1,
            self.move: 1,
            self.forget: 6,
            self.extract: 1,
            self.promote: 0.2,
            self.ground: 0.5,
            self.ask: 8,
        }

    def episode(self) -> None:
        user, name = self.random.choice(USERS), self.name()
        things = [name, self.random.choice(_THINGS)]
        made = self.memory.layers["episodes"].store(
            f"{name} was met",
            user_id=user,
            session_id=f"s{self.random.randrange(4)}",
            episode={
                "objects": things,
                "tool": self.random.choice(["lift", "push"]),
                "success": self.random.random() < 0.8,
            },
        )
        self.alive[made] = user, name
        self.episodes.add(made)

    def update(self) -> None:
        memory = self.any()
        if memory not in self.episodes:
            self.rename(memory)

    def extract(self) -> None:
        done = self.memory._parts.extractor.extract_concepts(self.cursor, 50)
        self.cursor = done.last_id

    def promote(self) -> None:
        promote(self.memory)

    def ground(self) -> None:
        user = self.random.choice(USERS)
        thing = self.random.choice(_THINGS)
        if self.memory.concepts.of(thing, user_id=user) is not None:
            self.memory.concepts.ground(thing, user_id=user)

    def ask(self) -> None:
        """One question of one user: every answer is of this user."""
        user, memory = self.random.choice(USERS), self.memory
        name = self.alive[self.any()][1]
        thing = self.random.choice(_THINGS)
        percept = Percept(objects=(thing, name), goal="lift")
        kind = self.random.randrange(8)
        found: Any
        if kind < 3:
            found = memory.recall(
                f"{name} {thing}", k=8, user_id=user, learn=True, associate=True, expand=kind == 0
            )
            assert {hit.record.user_id for hit in found} <= {user}
            found = [(hit.text, str(hit.payload)) for hit in found]
        elif kind == 3:
            found = [
                memory.entities.profile(name, user_id=user),
                memory.entities.find(name, user_id=user),
            ]
        elif kind == 4:
            found = [
                memory.facts.about(name, user_id=user),
                memory.facts.traverse(name, user_id=user),
            ]
        elif kind == 5:
            found = memory.concepts.context(percept, user_id=user, budget_ms=0)
            found += memory.concepts.context(percept, user_id=user, limit=2)
        elif kind == 6:
            found = memory.graph.complete(percept, user_id=user)
        else:
            found = memory.context(f"what of {name} and the {thing}?", user_id=user, max_tokens=200)
        self.answers += 1
        self.refuse_others(user, repr(found) if kind != 7 else str(found))

    def refuse_others(self, user: str, text: str) -> None:
        """Every name in a text is of a memory of this user, or of none that lives."""
        owner = {name: of for of, name in self.alive.values()}
        others = {each for each in _NAME_TENANCY.findall(text) if owner.get(each, user) != user}
        # a cue that is quoted back is no answer
        assert not others, (user, others, text[:500])

    def apart(self) -> None:
        """Every text and row of a user names what this user said, and what still lives."""
        self.cursor = min(self.cursor, self.memory._parts.store.head.last_id)
        owner = {name: of for of, name in self.alive.values()}
        user_of = {}
        for record in self.memory.records(sorts=SORTS):
            user_of[record.id] = record.user_id
            for each in _NAME_TENANCY.findall(record.text):
                assert owner.get(each) == record.user_id, (record, each, owner.get(each))
        store = self.memory._parts.store
        with store.catalog.reading() as db:
            ties = [
                *db.execute("SELECT source_id, target_id, kind FROM edge"),
                *db.execute("SELECT a, b, kind FROM link"),
            ]
            scopes = dict(db.execute("SELECT item_id, scope FROM item"))
            rows = [
                *db.execute("SELECT id, json FROM payload"),
                *db.execute("SELECT id, json FROM fact"),
                *db.execute("SELECT item_id, json FROM item"),
                *db.execute("SELECT id, folded FROM name"),
            ]
        whose = {**scopes, **user_of}
        for a, b, kind in ties:
            assert whose[a] == whose[b], (a, b, kind)
        for each, text in rows:
            for name in _NAME_TENANCY.findall(text):
                assert owner.get(name) == whose[each], (each, whose[each], name, text[:200])


class Sleepers(Tenants):
    """A walk with many merged entities and many nights."""

    most = 40

    def weighted(self) -> dict[Callable[[], None], float]:
        return {
            self.remember: 6,
            self.episode: 1,
            self.add_fact: 4,
            self.link: 1,
            self.mention: 6,
            self.merge: 6,
            self.update: 2,
            self.move: 1,
            self.forget: 6,
            self.promote: 0.2,
            self.extract: 1,
            self.ground: 0.5,
            self.ask: 3,
        }


@pytest.mark.parametrize(
    ("steps", "seed"),
    [
        (420, 100),
        *(pytest.param(1_500, n, marks=pytest.mark.slow) for n in range(101, 116)),
    ],
)
def test_what_a_night_made_names_nobody_who_is_gone(steps: int, seed: int) -> None:
    """Themes are of the words of now, and a merged entity has the names that are still said."""
    print("seed", seed)
    with (
        scratch() as folder,
        spector.open(Path(folder, "mind"), embedder=FakeEmbedder(), durability="relaxed") as memory,
    ):
        walk = Sleepers(memory, seed)
        for step in range(1, steps + 1):
            walk.step()
            if step % 200 == 0:
                memory.reflect()
            if step > 200 and step % 20 == 0:
                walk.apart()
        assert memory.check().ok


@pytest.mark.parametrize(
    ("steps", "seed"),
    [(500, 1), pytest.param(100_000, 2, marks=[pytest.mark.slow, pytest.mark.timeout(7_200)])],
)
def test_five_users_never_meet(steps: int, seed: int, proof: Proof) -> None:
    print("seed", seed)
    with (
        scratch() as folder,
        spector.open(Path(folder, "mind"), embedder=FakeEmbedder(), durability="relaxed") as memory,
    ):
        walk = Tenants(memory, seed)
        for step in range(1, steps + 1):
            walk.step()
            if step % 250 == 0:
                walk.apart()
            if step % 2_500 == 0:
                memory.reflect()
                walk.apart()
        report = memory.check()
        assert report.ok, report
        assert walk.answers > steps // 10
        made = memory.concepts.stats()["concepts"]
    proof("tenancy", operations=steps, answers=walk.answers, leaks=0, seeds=str(seed))
    assert made > 5, json.dumps(made)


@pytest.mark.parametrize(
    ("steps", "every", "seed"),
    [
        (100, 50, 3),
        pytest.param(10_000, 200, 4, marks=[pytest.mark.slow, pytest.mark.timeout(3_600)]),
    ],
)
def test_what_is_made_of_purged_memories_is_gone_with_them(
    steps: int, every: int, seed: int, proof: Proof
) -> None:
    """Concepts, causal links, patterns and statistics: no file has a name that was purged."""
    print("seed", seed)
    purges = 0
    with (
        scratch() as folder,
        spector.open(Path(folder, "mind"), embedder=FakeEmbedder(), durability="relaxed") as memory,
    ):
        walk = Tenants(memory, seed)
        for step in range(1, steps + 1):
            walk.step()
            if step % every == 0:
                walk.purge(user=USERS[step // every % 5] if step % (4 * every) == 0 else None)
                walk.apart()
                purges += 1
    proof("erasure", operations_of_deciders=steps, purges_searched=purges, hits=0, seeds=str(seed))
