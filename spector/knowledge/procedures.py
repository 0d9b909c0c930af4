"""Procedures: steps that do something, how often they worked, and the situations they are for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from spector.errors import InvalidInputError
from spector.knowledge.changes import Changes, New
from spector.language.words import folded, normalize_tokens
from spector.records import Step

_MOST_STEPS: Final = 1000
_MOST_CHARS: Final = 10_000
_MOST_RETRIES: Final = 1000
#: weight of the edge from what was learned to what it was learned from
_EVIDENCE: Final = 0.8
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "action_type": ("llm_reasoning", "tool_call", "condition"),
    "on_failure": ("retry", "skip", "abort", "escalate"),
}
_STEP_FIELDS: Final = tuple(each.name for each in fields(Step))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureToAdd:
    """A procedure as a caller gives it, checked."""

    name: str
    steps: tuple[Step, ...]
    description: str = ""
    triggers: tuple[str, ...] = ()
    status: str = "draft"
    scope: str = ""
    #: memories that it was learned from
    evidence: tuple[int, ...] = field(default=())


def parse_steps(steps: Any) -> tuple[Step, ...]:
    """Steps of a procedure; a text is a step with that description.

    Raises:
        InvalidInputError: There are none, too many, or one is malformed.
    """
    if isinstance(steps, (str, Step)) or not isinstance(steps, Iterable):
        raise InvalidInputError(
            f"steps must be a sequence, not {type(steps).__name__}",
            hint='write it like steps=["build", "deploy"]',
        )
    out = tuple(_parse_step(each, n) for n, each in enumerate(steps))
    if not 0 < len(out) <= _MOST_STEPS:
        raise InvalidInputError(
            f"steps has {len(out)} entries", hint=f"a procedure has 1..{_MOST_STEPS} steps"
        )
    ids = [each.step_id for each in out if each.step_id is not None]
    if len(set(ids)) < len(ids):
        raise InvalidInputError(
            "two steps have the same step_id", hint="a failed step is counted by its step_id"
        )
    return out


def _parse_step(given: Any, n: int) -> Step:
    where = f"steps[{n}]"
    if isinstance(given, str):
        given = Step(given)
    elif isinstance(given, Mapping):
        unknown = [each for each in given if each not in _STEP_FIELDS]
        if unknown or "description" not in given:
            raise InvalidInputError(
                f"{where} has {f'no field {unknown[0]!r:.60}' if unknown else 'no description'}",
                hint=f"the fields of a step: {', '.join(_STEP_FIELDS)}",
            )
        given = Step(**given)
    if not isinstance(given, Step):
        raise InvalidInputError(
            f"{where} must be a text or a Step, not {type(given).__name__}",
            hint='write it like steps=["build", Step("deploy", action_type="tool_call")]',
        )
    _check_text(given.description, f"{where}.description", least=1)
    _check_text(given.success_criteria, f"{where}.success_criteria")
    if given.step_id is not None:
        _check_text(given.step_id, f"{where}.step_id", least=1)
    for name, choices in _CHOICES.items():
        if getattr(given, name) not in choices:
            raise InvalidInputError(
                f"{where}.{name} is {getattr(given, name)!r:.60}",
                hint=f"one of: {', '.join(choices)}",
            )
    if type(given.max_retries) is not int or not 0 <= given.max_retries <= _MOST_RETRIES:
        raise InvalidInputError(
            f"{where}.max_retries is {given.max_retries!r:.60}",
            hint=f"pass an integer in 0..{_MOST_RETRIES}",
        )
    if not isinstance(given.action, Mapping):
        raise InvalidInputError(
            f"{where}.action must be a dictionary, not {type(given.action).__name__}",
            hint='write it like action={"tool": "deploy"}',
        )
    return given


def _check_text(value: Any, name: str, least: int = 0) -> None:
    if not isinstance(value, str) or not least <= len(value.strip()) <= _MOST_CHARS:
        raise InvalidInputError(
            f"{name} must be a text of {least}..{_MOST_CHARS} characters, not {value!r:.60}",
            hint="remember() keeps long texts",
        )


def procedure_text(name: str, description: str, steps: Sequence[Step]) -> str:
    """A procedure as the words of its memory: name, description, one step a line."""
    lines = [name, description, *(each.description for each in steps)]
    return "\n".join(each for each in lines if each)


def procedure_score(values: Mapping[str, Any], trust: int = 10) -> float:
    """Success rate, less while there are fewer than ``trust`` executions."""
    rate: float = values["success_rate"]
    executions: int = values["execution_count"]
    return rate * min(executions / trust, 1.0)


def plan_item(
    changes: Changes,
    sort: str,
    values: Mapping[str, Any],
    scope: str,
    tags: Iterable[str],
    evidence: Iterable[int],
    now_ms: int,
) -> None:
    """Add a procedure or a learning: memory 0 gets its payload, triggers and edges."""
    made = New(0)
    changes.store.append(0)
    changes.payload(made, sort, values)
    put_triggers(changes, scope, made, tags)
    for each in evidence:
        changes.tie(made, "derived_from", each, f"{sort}s", now_ms, _EVIDENCE)


def plan_procedure(
    changes: Changes,
    given: ProcedureToAdd,
    now_ms: int,
    *,
    replaced: tuple[int, Mapping[str, Any]] | None = None,
    **counts: Any,
) -> None:
    """Add a procedure.

    Args:
        replaced: id and payload of the procedure whose place it takes: deprecated, superseded.
        counts: further fields: how often it was seen to work.
    """
    values = {
        "name": given.name,
        "description": given.description,
        "status": given.status,
        "steps": [each.to_dict() for each in given.steps],
        **counts,
    }
    plan_item(changes, "procedure", values, given.scope, given.triggers, given.evidence, now_ms)
    if replaced is not None:
        old, before = replaced
        changes.payload(old, "procedure", {**before, "status": "deprecated"})
        changes.supersedes[New(0)] = (old,)


def put_triggers(changes: Changes, scope: str, memory: int | New, tags: Iterable[str]) -> None:
    """Let a memory be found by these tags."""
    for each in dict.fromkeys(map(folded, tags)):
        changes.name(scope, "trigger", each, memory)


def tools_of(steps: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The tools that steps call, in their order."""
    return tuple(
        each["action"]["tool"]
        for each in steps
        if each["action_type"] == "tool_call" and isinstance(each["action"].get("tool"), str)
    )


def learned_procedure(
    episodes: Sequence[tuple[int, Mapping[str, Any]]], scope: str
) -> ProcedureToAdd | None:
    """The procedure that a run of episodes shows, None unless its last tool succeeded.

    Args:
        episodes: (id, fields of the episode) in the order of time. Attempts that failed are left
            out: what comes after them is how it was done.
    """
    run = [(each, values) for each, values in episodes if values["tool"]]
    if not run or run[-1][1]["success"] is not True:
        return None
    done = [(each, values) for each, values in run if values["success"] is not False]
    goals = [values["goal"] for _, values in done if values["goal"]]
    steps = tuple(
        Step(
            values["decision"] or values["tool"],
            action_type="tool_call",
            action={"tool": values["tool"]},
        )
        for _, values in done
    )
    words: list[str] = [
        each
        for text in (*goals, *(values["tool"] for _, values in done))
        for each in normalize_tokens(text)
    ]
    return ProcedureToAdd(
        name=goals[-1] if goals else " then ".join(values["tool"] for _, values in done),
        steps=steps,
        triggers=tuple(dict.fromkeys(words)),
        scope=scope,
        evidence=tuple(each for each, _ in done),
    )


# Learnings: insights drawn from evidence, how sure they are, and whether they held.

_TITLE_CHARS: Final = 80


def learning_title(insight: str) -> str:
    """The first 80 characters of an insight."""
    return insight[:_TITLE_CHARS]
