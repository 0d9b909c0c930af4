"""Arguments that several commands share, and the types that check them."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from typing import TYPE_CHECKING, Any, Literal

from spector.errors import InvalidInputError
from spector.store.below import no_store_at

if TYPE_CHECKING:
    from spector.memory import Memory

__all__ = [
    "add_embedder",
    "add_json",
    "add_path",
    "add_scopes",
    "chosen_embedder",
    "json_object",
    "natural",
    "open_memory",
    "place",
    "record_id",
    "require_store",
    "scopes",
    "signed_unit",
    "unit",
]


def add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", type=place, help="directory of the store")


def place(text: str) -> str:
    """A path with ``~`` as the home, which the shell leaves alone in ``--repair=~/saved``."""
    if not text.startswith("~"):
        return text
    from spector.store.places import without_tilde

    try:
        return without_tilde(text, "path")
    except InvalidInputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", dest="as_json", help="print one JSON document on stdout"
    )


def add_embedder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--embedder",
        metavar="NAME",
        default=None,
        help="default (offline), openai, openai:MODEL or none; $SPECTOR_EMBEDDER otherwise",
    )


def add_scopes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scope")
    group.add_argument("--user", metavar="ID", dest="user_id", help="user id")
    group.add_argument("--agent", metavar="ID", dest="agent_id", help="agent id")
    group.add_argument("--session", metavar="ID", dest="session_id", help="session id")


def scopes(args: argparse.Namespace) -> dict[str, str]:
    """The scope arguments that were given."""
    given = {name: getattr(args, name) for name in ("user_id", "agent_id", "session_id")}
    return {name: value for name, value in given.items() if value is not None}


def natural(text: str) -> int:
    """A whole number from 1."""
    value = int(text) if text.strip().isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return value


def record_id(text: str) -> int:
    """The id of a record."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a record id; ids are whole numbers")
    return int(text)


def unit(text: str) -> float:
    """A number in 0..1."""
    return _number(text, 0.0, 1.0)


def signed_unit(text: str) -> float:
    """A number in -1..1."""
    return _number(text, -1.0, 1.0)


def _number(text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number in {low:g}..{high:g}")
    return value


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as exc:
        raise argparse.ArgumentTypeError(f"not JSON: {exc.msg} at column {exc.colno}") from exc
    except (RecursionError, ValueError) as exc:  # nested too deeply, or a million digits
        raise argparse.ArgumentTypeError(f"not JSON of a sane size: {str(exc)[:80]}") from exc
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('expected a JSON object such as \'{"key": "value"}\'')
    return value


def open_memory(
    args: argparse.Namespace,
    mode: Literal["rw", "r"] = "rw",
    *,
    create: bool = False,
    **options: Any,
) -> Memory:
    """The store at ``args.path``; commands that do not embed open it without an embedder.

    Raises:
        StoreNotFoundError: nothing is there and the command does not create stores.
    """
    if not create:
        require_store(args.path)
    import spector

    embedder = chosen_embedder(args) if hasattr(args, "embedder") else None
    return spector.open(args.path, mode=mode, embedder=embedder, **options)


def require_store(path: str, *, existing: bool = False) -> None:
    """Refuse a path without a store, before anything creates one there.

    ``existing``: a new one would not help, as with a backup that is to be restored.
    """
    if os.path.exists(os.path.join(path, "catalog.db")):
        return
    if existing or os.path.exists(path):  # of a name that is too long, Path.exists raises
        raise no_store_at(path)
    raise no_store_at(
        path, f'create one: spector remember {shlex.quote(path)} "something worth keeping"'
    )


def chosen_embedder(args: argparse.Namespace) -> str | None:
    """The embedder of the command line, of the environment, or the default; None for none."""
    name: str = args.embedder or os.environ.get("SPECTOR_EMBEDDER") or "default"
    return None if name == "none" else name
