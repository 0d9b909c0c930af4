"""Procedures: outcomes are counted once, the proven come first, and what is replaced is not used.

Mechanism: payload rows beside memories, triggers as names. Damage without it: a rate that forgets
executions, a deprecated procedure that is followed. Guard: the statements of the design, with other
values beside them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import spector
from spector import InvalidInputError, Memory, UnknownRecordError
from spector.errors import ImmutableRecordError, UnknownArgumentError
from spector.knowledge import learned_procedure
from spector.records import Step
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


def run(memory: Memory, procedure: int, outcomes: str) -> None:
    for each in outcomes:
        memory.procedures.record_outcome(procedure, each == "S")


def test_a_procedure_is_kept_as_it_was_given(memory: Memory, tmp_path: Path) -> None:
    steps = (
        Step(
            "build the image",
            step_id="b",
            action_type="tool_call",
            action={"tool": "docker"},
            success_criteria="exit 0",
            on_failure="abort",
            max_retries=0,
        ),
        Step("is it green?", action_type="condition", on_failure="escalate"),
        Step("ship"),
    )
    made = memory.procedures.add(
        "Deploy",
        [*steps[:2], "ship"],
        description="to production",
        triggers=["Deploy", "CI"],
        user_id="u",
        importance=0.8,
        tags=["ops"],
    )
    assert (made.steps, made.triggers, made.status) == (steps, ("Deploy", "CI"), "draft")
    assert (made.success_rate, made.executions, made.last_used) == (0.0, 0, None)
    assert made.record.text == "Deploy\nto production\nbuild the image\nis it green?\nship"
    assert (made.record.tier, made.record.category) == ("procedural", spector.Category.PROCEDURE)
    assert made.record.importance == pytest.approx(0.8, abs=0.01)
    memory.close()
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as again:
        found = again.procedures.get(made.id)
        assert found.to_dict() == made.to_dict()
        assert again.check().ok


@pytest.mark.parametrize(
    ("outcomes", "rate"),
    [("SFS", 0.6667), ("F", 0.0), ("S", 1.0), ("FFFFS", 0.2), ("SSSSSSSSSF", 0.9)],
)
def test_the_rate_is_that_of_all_executions(memory: Memory, outcomes: str, rate: float) -> None:
    made = memory.procedures.add("x", ["y"])
    run(memory, made.id, outcomes)
    found = memory.procedures.get(made.id)
    assert found.success_rate == pytest.approx(rate, abs=1e-4)
    assert found.executions == len(outcomes)
    assert found.last_used is not None


def test_the_proven_come_first(memory: Memory) -> None:
    eight, twenty, new = (
        memory.procedures.add(name, ["go"], triggers=tags)
        for name, tags in (("a", ["Yayın"]), ("b", ["yayin"]), ("c", ["yayın", "gece"]))
    )
    run(memory, eight.id, "S" * 8)
    run(memory, twenty.id, "S" * 18 + "FF")
    found = memory.procedures.for_situation(["YAYIN"])
    assert [each.id for each in found] == [twenty.id, eight.id, new.id]
    assert [each.id for each in memory.procedures.for_situation(["yayin"], limit=1)] == [twenty.id]
    proven = memory.procedures.for_situation(["yayin"], min_success_rate=0.95)
    assert [each.id for each in proven] == [eight.id]
    memory.procedures.set_status(twenty.id, "deprecated")
    assert twenty.id not in {each.id for each in memory.procedures.for_situation(["yayin"])}
    assert memory.procedures.for_situation(["elsewhere"]) == []
    assert memory.procedures.for_situation([]) == []


def test_of_equally_proven_the_one_with_more_tags_then_the_newest(memory: Memory) -> None:
    one = memory.procedures.add("a", ["x"], triggers=["p", "q"])
    two = memory.procedures.add("b", ["x"], triggers=["p"])
    three = memory.procedures.add("c", ["x"], triggers=["p"])
    found = [each.id for each in memory.procedures.for_situation(["q", "p"])]
    assert found == [one.id, three.id, two.id]


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [("SS", "draft"), ("SSF", "active"), ("SFF", "draft"), ("SFFS", "draft"), ("SFFSS", "active")],
)
def test_a_draft_that_mostly_works_becomes_active(
    memory: Memory, outcomes: str, status: str
) -> None:
    made = memory.procedures.add("x", ["y"])
    run(memory, made.id, outcomes)
    assert memory.procedures.get(made.id).status == status
    assert [each.id for each in memory.procedures.all(status)] == [made.id]  # type: ignore[arg-type]


def test_an_outcome_strengthens_or_weakens_the_memory_in_the_same_commit(memory: Memory) -> None:
    made = memory.procedures.add("x", ["y"])
    better = memory.procedures.record_outcome(made.id, True).record
    assert better.stability_days > made.record.stability_days
    assert better.utility > made.record.utility
    worse = memory.procedures.record_outcome(made.id, False).record
    assert worse.stability_days < better.stability_days
    assert worse.access_count == made.record.access_count + 2


def test_failed_steps_are_counted(memory: Memory) -> None:
    made = memory.procedures.add("x", [Step("build", step_id="b"), "ship"])
    for step in ("b", "ship", "b"):
        memory.procedures.record_outcome(made.id, False, failed_step=step)
    assert memory.procedures.get(made.id).failed_steps == {"b": 2, "ship": 1}
    for success, step in ((False, "fly"), (True, "b")):
        with pytest.raises(InvalidInputError, match="failed_step"):
            memory.procedures.record_outcome(made.id, success, failed_step=step)
    assert memory.procedures.get(made.id).executions == 3


def test_a_replaced_procedure_is_deprecated_and_superseded(memory: Memory) -> None:
    old = memory.procedures.add("Deploy", ["a"], triggers=["deploy"], user_id="u")
    run(memory, old.id, "SSS")
    new = memory.procedures.replace(old.id, ["a", "b"])
    assert (new.name, new.triggers, new.executions, new.status) == (
        "Deploy",
        ("deploy",),
        0,
        "draft",
    )
    assert new.record.supersedes == (old.id,)
    assert new.record.user_id == "u"
    assert memory.procedures.get(old.id).status == "deprecated"
    assert [each.id for each in memory.procedures.for_situation(["deploy"])] == [new.id]
    assert [each.id for each in memory.history(new.id)] == [old.id, new.id]
    with pytest.raises(UnknownRecordError):
        memory.procedures.replace(new.id, ["c"], user_id="v")


def test_what_is_immutable_only_counts(memory: Memory) -> None:
    made = memory.procedures.add("x", ["y"], immutable=True)
    assert memory.procedures.record_outcome(made.id, True).executions == 1
    with pytest.raises(ImmutableRecordError):
        memory.procedures.set_status(made.id, "deprecated")
    with pytest.raises(ImmutableRecordError):
        memory.procedures.replace(made.id, ["z"])


@pytest.mark.parametrize(
    "steps",
    [
        [],
        "build",
        None,
        [1],
        [""],
        [{"text": "x"}],
        [Step("x", on_failure="cry")],  # type: ignore[arg-type]
        [Step("x", max_retries=-1)],
        [Step("x", action={"a": float("nan")})],
        [Step("x", step_id="a"), Step("y", step_id="a")],
    ],
)
def test_malformed_steps_are_refused(memory: Memory, steps: object) -> None:
    with pytest.raises(InvalidInputError):
        memory.procedures.add("x", steps)  # type: ignore[arg-type]
    assert len(memory) == 0


def test_bad_arguments_are_named(memory: Memory) -> None:
    made = memory.procedures.add("x", ["y"])
    plain = memory.remember("plain")
    with pytest.raises(UnknownArgumentError, match="importnce"):
        memory.procedures.add("x", ["y"], importnce=1)
    with pytest.raises(InvalidInputError, match="status"):
        memory.procedures.set_status(made.id, "gone")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no procedure"):
        memory.procedures.get(plain.id)
    with pytest.raises(UnknownRecordError):
        memory.procedures.record_outcome(1 << 50, True)
    with pytest.raises(InvalidInputError, match="success"):
        memory.procedures.record_outcome(made.id, "yes")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"memory\.procedures"):
        memory.update(made.id, text="z")


def test_users_do_not_see_the_procedures_of_others(memory: Memory) -> None:
    for user in ("a", "b", None):
        memory.procedures.add("x", ["y"], triggers=["t"], user_id=user)
    (found,) = memory.procedures.for_situation(["t"], user_id="a")
    assert found.record.user_id == "a"
    assert len(memory.procedures.for_situation(["t"])) == 3
    assert [each.record.user_id for each in memory.procedures.all(user_id="b")] == ["b"]


def episode(**values: object) -> dict[str, object]:
    known = {"tool": None, "success": None, "goal": None, "decision": None}
    return known | values


def test_a_run_that_succeeded_is_a_draft() -> None:
    made = learned_procedure(
        [
            (1, episode(tool="find_file", success=True, goal="fix_build")),
            (2, episode()),
            (3, episode(tool="edit", success=False)),
            (4, episode(tool="edit", success=True, decision="replace the flag")),
            (5, episode(tool="make", success=True, goal="fix_build")),
        ],
        "u",
    )
    assert [each.action["tool"] for each in made.steps] == ["find_file", "edit", "make"]
    assert [each.description for each in made.steps] == ["find_file", "replace the flag", "make"]
    assert (made.name, made.evidence) == ("fix_build", (1, 4, 5))
    assert made.triggers == ("fix", "build", "find", "file", "edit", "make")


@cases("run")
def test_a_run_without_success_teaches_nothing(run: list[dict[str, object]]) -> None:
    assert learned_procedure(list(enumerate(run)), "") is None


def test_a_session_is_learned_from_like_its_episodes(memory: Memory) -> None:
    def store(tool: str, **scopes: str) -> None:
        memory.layers["episodes"].store(
            f"called {tool}", episode={"tool": tool, "success": True}, **scopes
        )

    with memory.session("s", user_id="u", agent_id="a") as session:
        assert memory.procedures.learn(session) is None
        for tool in ("fetch", "parse"):
            store(tool, user_id="u", agent_id="a", session_id="s")
        store("foreign", user_id="v", agent_id="a", session_id="s")
        store("later", user_id="u", agent_id="a", session_id="t")
        made = memory.procedures.learn(session)
    assert made.status == "draft"
    assert [each.description for each in made.steps] == ["fetch", "parse"]
