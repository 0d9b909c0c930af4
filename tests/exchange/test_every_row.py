"""A store with every sort of row travels: an export of the import is the export, and of a copy.

Mechanism: each verb of memories, facets, sessions and nights leaves rows of its own. Damage without
it: a row has no line, or a line that no import takes, so a store cannot be moved any more. Guard: a
random life, and now and then a journey of the whole store, of one user, of one tier; in the end a
backup, a repair and another embedding of it. A failing run prints its seed. That a life has every
sort of row is asserted, too.
"""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock, Memory
from spector.arguments import SORTS as EVERY_SORT
from spector.exchange.lines import KNOWN
from spector.knowledge.lines import _ITEMS
from spector.store.payloads import SORTS
from tests.exchange.travels import exported, normal, travelled
from tests.fakes import FakeEmbedder
from tests.knowing import rows_of_store

_USERS = ("u0", "u1", None)
_NAMES = "Nadia Ivo Halina Tomasz Wren Cork Graz Oulu Faro".split()
_SAID = (
    "I live in {}.",
    "I moved to {} last week.",
    "My sister {} lives in Kars.",
    "I work at {} as a nurse!",
    "I am flying to {} tomorrow.",
    "I no longer live in {}.",
    "From now on answer in Spanish when I ask about {}.",
    "{} toplantısı çok güzeldi!",
)
_FIELDS: tuple[dict[str, Any], ...] = (
    {"expires_in": 50},
    {"expires_in": 1e6, "refresh": True},
    {"attachment": b"\x00\xff"},
    {"attachment": {"a": [1, None], "ö": ""}},
    {"attachment": 0},
    {"valid_until": "2026-09-01T00:00:00Z"},
    {"valid_from": "2026-03-01T00:00:00Z"},
)


class Life:
    """A store in use, by every verb that leaves rows."""

    def __init__(self, memory: Memory, clock: ManualClock, seed: int) -> None:
        self.memory, self.clock, self.random = memory, clock, random.Random(seed)
        self.steps = {
            self.observe: 10,
            self.plain: 6,
            self.keyed: 4,
            self.episode: 5,
            self.mark: 4,
            self.update: 3,
            self.supersede: 3,
            self.forget: 2,
            self.fact: 5,
            self.procedure: 2,
            self.learning: 2,
            self.concept: 4,
            self.link: 3,
            self.entity: 4,
            self.use: 3,
            self.night: 1,
        }

    def step(self) -> None:
        [chosen] = self.random.choices(list(self.steps), list(self.steps.values()))
        self.clock.advance(seconds=self.random.choice([1, 60, 4_000]))
        with suppress(spector.InvalidInputError, spector.UnknownRecordError):
            chosen()  # not across users, of a version that has ended, of a name that is taken

    def pick(self, given: Any) -> Any:
        return self.random.choice(given)

    def any(self, user: str | None = None, *, everyone: bool = False) -> int:
        found = self.memory.records(sorts=EVERY_SORT)
        return int(
            self.pick([each.id for each in found if everyone or each.user_id == user] or [0])
        )

    def observe(self) -> None:
        self.memory.observe(
            {
                "role": self.pick(["user", "user", "assistant"]),
                "content": self.pick(_SAID).format(self.pick(_NAMES)),
            },
            user_id=self.pick(_USERS),
            session_id=self.pick("st"),
        )

    def plain(self) -> None:
        self.memory.remember(
            f"{self.pick(_NAMES)} was in {self.pick(_NAMES)} {self.random.randrange(99)}",
            user_id=self.pick(_USERS),
            agent_id=self.pick([None, "ag"]),
            tier=self.pick(["episodic", "semantic", "procedural"]),
            importance=self.random.random(),
            valence=self.random.uniform(-1, 1),
            tags=self.random.sample(["red", "Blue", "yeşil"], self.random.randrange(3)),
            metadata=self.pick([None, {"a": 1, "ö": [1, {"x": None}]}, {"speaker": "Jon"}]),
            unresolved=self.random.random() < 0.2,
            aliases=self.pick([None, ["foo", "bar baz"]]),
            source=self.pick([None, "mail"]),
            role=self.pick([None, "user", "tool"]),
        )

    def keyed(self) -> None:
        self.memory.remember(
            f"note {self.random.randrange(999)}",
            key=self.pick("abcd"),
            namespace=self.pick([(), ("x",), ("x", "y")]),
            user_id=self.pick(_USERS),
            **self.pick(_FIELDS),
        )

    def episode(self) -> None:
        self.memory.layers["episodes"].store(
            f"Took the mug to {self.pick(_NAMES)}",
            user_id=self.pick(_USERS),
            episode={
                "objects": self.random.sample(["red mug", "key", "Mug"], 2),
                "people": [self.pick(_NAMES)],
                "goal": self.pick([None, "make tea"]),
                "tool": self.pick([None, "grasp", "grasp mug"]),
                "success": self.pick([None, True, False]),
                "context": {"n": self.random.random()},
                "salience": self.pick([None, self.random.random()]),
            },
        )

    def mark(self) -> None:
        verb = self.pick(["pin", "unpin", "resolve", "retire", "reactivate", "reinforce"])
        getattr(self.memory, verb)(self.any(everyone=True))

    def update(self) -> None:
        self.memory.update(
            self.any(everyone=True),
            **self.pick(
                [
                    {"importance": 0.7},
                    {"text": "changed"},
                    {"tags": ["new"]},
                    {"valid_until": "2027-01-01T00:00:00Z"},
                    {"expires_at": "2026-12-01T00:00:00Z"},
                ]
            ),
        )

    def supersede(self) -> None:
        user = self.pick(_USERS)
        self.memory.remember(
            f"Now it is {self.pick(_NAMES)}", supersedes=self.any(user), user_id=user
        )

    def forget(self) -> None:
        self.memory.forget(self.any(everyone=True))

    def fact(self) -> None:
        user = self.pick(_USERS)
        source = {"source": self.any(user)} if self.random.random() < 0.5 else {}
        self.memory.facts.add(
            self.pick(_NAMES),
            self.pick(["lives_in", "likes", "works_at"]),
            self.pick(_NAMES),
            user_id=user,
            **source,
        )
        self.memory.facts.declare(self.pick(["owns", "likes_most"]), single_valued=True)

    def procedure(self) -> None:
        made = self.memory.procedures.add(
            self.pick(["deploy", "roll back"]),
            [{"description": "build"}, "push"],
            user_id=self.pick(_USERS),
            triggers=["release", "gece"],
        )
        self.memory.procedures.record_outcome(made.id, self.random.random() < 0.7)

    def learning(self) -> None:
        user = self.pick(_USERS)
        self.memory.learnings.add(
            f"insight {self.random.randrange(9)}",
            "domain_insight",
            applies_to=["release"],
            evidence=[self.any(user)],
            user_id=user,
        )

    def concept(self) -> None:
        user = self.pick(_USERS)
        made, _ = self.memory.concepts.find_or_create(
            self.pick(["coffee mug", "train"]),
            self.pick(["object", "person"]),
            user_id=user,
            properties={"n": self.random.randrange(3)},
        )
        self.memory.concepts.add_ref(made.id, "episodes", self.any(user))
        for each in self.memory.layers["episodes"].recall(9, user_id=user):
            self.memory.concepts.reinforce(made.id, each)
        self.memory.concepts.ground(made.id)
        self.memory.concepts.extract(list(self.memory.records(user_id=user)))

    def link(self) -> None:
        user = self.pick(_USERS)
        self.memory.graph.register("mentors", inverse="mentored_by")
        self.memory.graph.link(
            self.any(user),
            self.any(user),
            self.pick(["causes", "contradicts", "mentors"]),
            weight=self.pick([0.1, 1 / 3, 1.0]),
            note=self.pick([None, {"q": 1}]),
        )

    def entity(self) -> None:
        user = self.pick(_USERS)
        found = [each for each in self.memory.entities.all() if each.user_id == user]
        if len(found) > 1:
            a, b = self.random.sample(found, 2)
            self.memory.entities.alias(f"Nick{self.random.randrange(9)}", a)
            if self.random.random() < 0.4:
                kept = self.memory.entities.merge(a, b)
                if self.random.random() < 0.3:
                    self.memory.entities.split(kept)

    def use(self) -> None:
        self.memory.recall(self.pick(_NAMES), user_id=self.pick(_USERS), learn=True, k=4)

    def night(self) -> None:
        self.clock.advance(days=self.pick([1, 30, 900]))
        report = self.memory.reflect()
        if self.random.random() < 0.2:
            assert report.cycle is not None
            self.memory.reflect_undo(report.cycle)


_JOURNEYS: tuple[dict[str, Any], ...] = ({}, {"user_id": "u0"}, {"tiers": ["semantic"]})


@pytest.mark.parametrize(
    ("steps", "seed"),
    [(300, 5), *(pytest.param(900, n, marks=pytest.mark.slow) for n in range(6))],
)
def test_every_journey_and_every_copy_has_every_row(tmp_path: Path, steps: int, seed: int) -> None:
    print("seed", seed)
    clock = ManualClock("2026-03-02T09:00:00Z")
    lines: list[dict[str, Any]] = []
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), clock=clock) as memory:
        life = Life(memory, clock, seed)
        for step in range(1, steps + 1):
            life.step()
            if step % (steps // 2):
                continue
            for n, selection in enumerate(_JOURNEYS):
                first = exported(memory, tmp_path / "a.jsonl", **selection)
                with travelled(first, tmp_path / f"{n}-{step}", clock=clock) as other:
                    assert normal(exported(other, tmp_path / "b.jsonl")) == normal(first)
                    assert other.check().ok
                lines += first
        kept = exported(memory, tmp_path / "a.jsonl")
        memory.compact()  # ends what has expired, and changes nothing else
        assert exported(memory, tmp_path / "b.jsonl") == kept
        rows = rows_of_store(memory)
        memory.backup(tmp_path / "copy")
    spector.restore(tmp_path / "copy", tmp_path / "back")
    assert spector.repair(tmp_path / "mind", tmp_path / "mended").complete
    spector.reembed(tmp_path / "mind", FakeEmbedder())
    for name in ("back", "mended", "mind"):
        with spector.open(tmp_path / name, embedder=FakeEmbedder(), clock=clock) as other:
            assert exported(other, tmp_path / "b.jsonl") == kept, name
            assert rows_of_store(other) == rows, name
            assert other.check().ok
    assert {sort for line in lines for sort in line.get("payload", ())} == {"fact", *SORTS}
    assert {line["spector"] for line in lines if "spector" in line} == set(_ITEMS)
    assert KNOWN - {key for line in lines for key in line} <= {"content", "vector", "vector_model"}
    flags = {flag for line in lines for flag in line.get("flags", ())}
    assert {"pinned", "superseded", "dormant", "unresolved", "auxiliary"} <= flags
