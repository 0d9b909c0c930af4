"""Arguments that open, check or copy a store, and paths in general."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from spector.arguments.values import parse_integer, parse_number, parse_switch, refusal
from spector.clock import Clock, zone_named
from spector.config import STEPS, Config
from spector.errors import InvalidInputError
from spector.layout import MAX_DIM
from spector.messages import hint_for_argument, items_of, shown

#: seconds that a shared writer waits for others by default
SHARED_WAIT_S = 5.0
#: a day
_MOST_WAIT_S = 86_400.0
_Choice = TypeVar("_Choice", bound=str)


def parse_choice(value: Any, name: str, *choices: _Choice) -> _Choice:
    """One of a few words."""
    if isinstance(value, str) and value in choices:
        return value
    raise refusal(value, name, "pass " + " or ".join(map(repr, choices)))


def parse_dim(dim: Any) -> int | None:
    """The length of the vectors of a store; None where an embedder or the store tells it."""
    if dim is None:
        return None
    return parse_integer(dim, "dim", 1, MAX_DIM, "it is the length of your vectors")


def parse_wait(wait: Any) -> float:
    """Seconds to wait for another writer."""
    return parse_number(wait, "wait", 0.0, _MOST_WAIT_S)


@dataclass(frozen=True, slots=True)
class OpenArguments:
    """How a store is opened."""

    mode: Literal["rw", "r"]
    durability: str
    shared: bool
    #: seconds to wait for other writers
    wait_s: float

    @property
    def holds_up_others(self) -> bool:
        """Whether it has waited for others, who may wait for it as well."""
        return self.wait_s > 0 and self.mode == "rw" and not self.shared


def parse_access(mode: Any, durability: Any, shared: Any, wait: Any, ops_log: Any) -> OpenArguments:
    """How to open a store, in turn with other processes or alone."""
    mode = parse_choice(mode, "mode", "rw", "r")
    durability = parse_choice(durability, "durability", "strict", "relaxed")
    if shared := parse_switch(shared, "shared"):
        if mode == "r":
            raise InvalidInputError(
                'shared=True is for writing, and mode is "r"',
                hint="leave shared out: any number of processes read beside writers",
            )
        if durability == "relaxed":
            raise InvalidInputError(
                'shared=True needs durability="strict": a writer lets go only of what is safe',
                hint="leave durability out",
            )
        if ops_log is True:
            raise InvalidInputError(
                "ops_log=True is one file in the store, and shared=True has several writers",
                hint="pass the path of a file of its own for each process",
            )
    if wait is None:
        wait = SHARED_WAIT_S if shared else 0.0
    return OpenArguments(mode, durability, shared, parse_wait(wait))


def parse_threads(threads: Any) -> int | None:
    """The threads of one recall; None for as many as there are cores."""
    if threads is None:
        return None
    return parse_integer(threads, "threads", 1, None, "None uses the cores that there are")


def parse_config(config: Any, timezone: Any = None) -> Config:
    """The limits and capacities of a store, in a time zone; the default ones for None."""
    found = Config() if config is None else config
    if not isinstance(found, Config):
        raise InvalidInputError(
            f"config must be a spector.Config, got {type(config).__name__}",
            hint="write it like config=Config(max_tags=8)",
        )
    if timezone is None:
        return found
    zone_named(timezone)
    return replace(found, timezone=timezone)


def parse_clock(clock: Any) -> Clock | None:
    """A clock of the caller's; None for that of the system."""
    if clock is None or isinstance(clock, Clock):
        return clock
    raise InvalidInputError(
        f"clock must be a spector.Clock, got {type(clock).__name__}",
        hint="pass an object with now_ms()",
    )


def parse_limit(limit: Any) -> int | None:
    """The number of problems that a check lists; None lists all."""
    if limit is None:
        return None
    return parse_integer(limit, "limit", 1, None, "None lists all problems")


def parse_place(path: Any) -> str:
    """The directory of a store to open, or ":memory:"; ``~`` is not expanded yet."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInputError(
            f"path must be a str or a path, got {type(path).__name__}",
            hint='pass a directory, or ":memory:" for none',
        )
    where = os.fspath(path) if is_nameable(path) else None
    if not isinstance(where, str):
        raise refusal(path, "path", 'pass a directory, or ":memory:" for none')
    return where


def parse_ops_log(given: Any, where: str) -> str | None:
    """The path of an operations log, "" for one in the directory of the store, None for none."""
    if isinstance(given, bool):
        if given and where == ":memory:":
            raise InvalidInputError(
                "ops_log=True writes into the directory of a store, and this one has none",
                hint='pass the path of a file, like ops_log="ops-log.jsonl"',
            )
        return "" if given else None
    if not is_nameable(given):
        raise refusal(given, "ops_log", "pass True, False or the path of a file")
    return os.path.realpath(without_tilde(given, "ops_log"))


def parse_directory(path: Any, name: str) -> str:
    """The path of a directory of the caller's, with ``~`` expanded; ":memory:" is not one."""
    if not is_nameable(path) or os.fspath(path) == ":memory:":
        raise refusal(path, name, "pass the path of a directory")
    return without_tilde(path, name)


def parse_path(path: Any, name: str) -> str:
    """The path of a file of the caller's, with ``~`` expanded."""
    if not is_nameable(path):
        raise refusal(path, name, "pass the path of a file")
    return without_tilde(path, name)


def is_nameable(path: object) -> bool:
    """False for what cannot name a file: nothing, a NUL in it, half of a surrogate pair."""
    if not isinstance(path, (str, os.PathLike)):
        return False
    try:
        name = os.fsencode(path)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # half of a surrogate pair, or an object whose own method fails
        return False
    return bool(name) and b"\0" not in name


def without_tilde(path: str | os.PathLike[str], name: str) -> str:
    """A path with the home directory in place of a leading ``~`` or ``~user``.

    Raises:
        InvalidInputError: there is no such home directory, so a folder "~" would be made.
    """
    # through bytes: the name that the system gets, whatever the object's other methods say
    given = os.fsdecode(os.fsencode(path))
    found = os.path.expanduser(given)
    user, slash, _ = given.partition("/")
    if (
        found == given
        and user.startswith("~")
        and (slash or user == "~")
        and not os.path.isdir(user)
    ):
        raise InvalidInputError(
            f"{name} is {given!r}, and there is no home directory {user}",
            hint=f"write ./{given} for a directory of this name here",
        )
    return found


# Arguments of sleep: which steps, how long, which cycle.


def parse_steps(value: Any) -> tuple[str, ...]:
    """Steps by name, in the order of a cycle, each once.

    Raises:
        InvalidInputError: There is no such step, or none is named.
    """
    names = [value] if isinstance(value, str) else list(items_of(value, "steps"))
    for each in names:
        if each not in STEPS:
            hint = hint_for_argument(each, STEPS) if isinstance(each, str) else "name a step"
            raise InvalidInputError(f"there is no step {shown(each)}", hint=hint)
    if not names:
        raise InvalidInputError("steps names no step", hint="leave steps out for a whole cycle")
    return tuple(each for each in STEPS if each in names)


def parse_seconds(value: Any, usual: float) -> float:
    """Seconds of a cycle; 0 is no limit."""
    return usual if value is None else parse_number(value, "max_seconds", 0.0, 1e9)


def parse_cycle(value: Any) -> int:
    """The number of a cycle, which its report gives."""
    return parse_integer(value, "cycle", 1, (1 << 63) - 1, "a report of reflect has it as .cycle")
