"""Random knowledge of five users: an export of the import equals the export, for each and for all.

Mechanism: rows become lines and lines rows. Damage without it: what one order of changes leaves in
the tables has no line, or a line that makes another row. Guard: random operations, and after every
few hundred a journey of the whole store and of one user; a failing run prints its seed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import spector
from tests.exchange.travels import exported, normal, travelled
from tests.facets.test_random_operations import USERS, Walk
from tests.fakes import FakeEmbedder


class WiderWalk(Walk):
    """Also procedures, learnings, concepts, aliases, pairs and kinds."""

    def step(self) -> None:
        if len(self.alive) > 8 and self.random.random() < 0.5:
            self.random.choice(
                [
                    self.procedure,
                    self.learning,
                    self.concept,
                    self.alias,
                    self.pair,
                    self.kind,
                    self.second_source,
                    self.ground,
                ]
            )()
        else:
            super().step()

    def procedure(self) -> None:
        user = self.random.choice(USERS)
        made = self.memory.procedures.add(
            self.random.choice(["deploy", "roll back"]),
            ["build", "push"],
            user_id=user,
            triggers=self.random.sample(["release", "İzmir", "night"], 2),
        )
        for _ in range(self.random.randrange(4)):
            self.memory.procedures.record_outcome(made.id, self.random.random() < 0.7)

    def learning(self) -> None:
        source = self.any()
        made = self.memory.learnings.add(
            f"insight {self.random.randrange(100)}",
            "domain_insight",
            applies_to=["release"],
            evidence=[source],
            user_id=self.alive[source][0],
        )
        if self.random.random() < 0.5:
            self.memory.learnings.validate(made.id, self.random.random() < 0.5)

    def concept(self) -> None:
        source = self.any()
        name = self.random.choice(["coffee mug", "coffee_mug", "train", "Ada"])
        made, _ = self.memory.concepts.find_or_create(
            name,
            self.random.choice(["object", "person"]),
            user_id=self.alive[source][0],
            properties={"n": self.random.randrange(3)},
        )
        if self.random.random() < 0.7:
            self.memory.concepts.reinforce(made.id, source)
        else:
            self.memory.concepts.add_ref(made.id, "episodes", source)

    def ground(self) -> None:
        for each in self.memory.concepts.find(name="coffee mug"):
            self.memory.concepts.ground(each.id)

    def alias(self) -> None:
        with self.memory.graph._read() as reader:
            items = sorted(reader.items_of("entity"))
        if items:
            chosen = self.random.choice(items)
            self.memory.entities.alias(self.name(), chosen)

    def pair(self) -> None:
        user = self.random.choice(USERS)
        self.memory.recall("was here", user_id=user, learn=True, k=4)

    def kind(self) -> None:
        name = self.random.choice(["mentors", "reports_to", "beside"])
        self.memory.graph.register(name)
        a = self.any()
        b = self.any(self.alive[a][0])
        if a != b:
            self.memory.graph.link(a, b, name, weight=self.random.choice([0.1, 1 / 3, 1.0]))

    def second_source(self) -> None:
        facts = self.memory.facts.query()
        if facts:
            fact = self.random.choice(facts)
            assert fact.record.user_id is not None
            source = [each for each, (of, _) in self.alive.items() if of == fact.record.user_id]
            if source:
                self.memory.facts.add(
                    fact.subject, fact.predicate, fact.object, source=self.random.choice(source)
                )


@pytest.mark.parametrize(
    ("steps", "every", "seed"),
    [
        (300, 100, 7),
        pytest.param(800, 200, 1, marks=pytest.mark.slow),
        pytest.param(8_000, 400, 2, marks=pytest.mark.slow),
    ],
)
def test_an_export_of_the_import_is_the_export(
    tmp_path: Path, steps: int, every: int, seed: int
) -> None:
    print("seed", seed)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        walk = WiderWalk(memory, seed)
        for step in range(1, steps + 1):
            walk.step()
            if step % every:
                continue
            user = USERS[step // every % 5]
            for name, selection in (("all", {}), ("one", {"user_id": user})):
                first = exported(memory, tmp_path / "a.jsonl", **selection)
                place = tmp_path / f"{name}-{step}"
                with travelled(first, place) as other:
                    assert normal(exported(other, tmp_path / "b.jsonl")) == normal(first)
                    report = other.check()
                    assert report.ok, report
                if selection:
                    names = {said for of, said in walk.alive.values() if of != user}
                    said = " ".join(each.text for each in memory.records(user_id=user))
                    text = (tmp_path / "a.jsonl").read_text()
                    # a fact with a second source stays when its first one moves to another user
                    assert not [each for each in names if each in text and each not in said]
