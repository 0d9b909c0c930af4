"""Whose knowledge a command shows: options for a user and an agent."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_owner", "owner_in"]


def add_owner(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scope")
    group.add_argument("--user", metavar="ID", dest="user_id", help="user id")
    group.add_argument("--agent", metavar="ID", dest="agent_id", help="agent id")


def owner_in(args: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(args, name) for name in ("user_id", "agent_id")}
    return {name: value for name, value in given.items() if value is not None}
