"""The commands ``spector mcp`` and ``spector hook``."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from spector.adapters.mcp.clients import CLIENTS, config_for
from spector.adapters.mcp.hooks import EVENTS, answer, prompt_in
from spector.adapters.mcp.opening import Opening, scope_of, store_path
from spector.adapters.mcp.transports import LOOPBACK, serve_http, serve_stdio, token_of
from spector.cli.options import Arguments, chosen_embedder, wait_of
from spector.cli.output import Console, input_text
from spector.errors import InvalidInputError, SpectorError
from spector.messages import install_command

if TYPE_CHECKING:
    from spector.memory import Memory


MCP: Final = Arguments(
    """Serve a store to agents by the Model Context Protocol, on stdin and stdout or by HTTP. The
store is STORE, else $SPECTOR_STORE, else in the folder of the user's data; it is created when a
client first connects. Several servers may use one store.""",
    """
    @store
    --http [HOST:]PORT:address  serve HTTP (HOST: 127.0.0.1)
    --token-file FILE:path  a file with the token that clients of --http must send
    --read-only  only tools that change nothing
    --learn  what is recalled counts as used
    --observe  remember decides itself what is worth keeping
    --print-config :client  print what this client reads, and end
    @zone
    @embedder
    """,
    kinds=lambda: {"address": _address, "client": tuple(CLIENTS)},
    json="",
)


def run_mcp(args: argparse.Namespace, console: Console) -> int:
    path = console.path = store_path(args.store)
    scope = scope_of(args.user_id, args.agent_id)
    host, port = args.http or ("", 0)
    if args.token_file is not None and not port:
        raise InvalidInputError("--token-file was given without --http", hint="pass both")
    if port and host not in LOOPBACK and args.token_file is None:
        raise InvalidInputError(
            f"{host} can be reached by others", hint="pass --token-file, or leave HOST out"
        )
    if args.print_config is not None:
        return _print_config(args, console, path)
    if find_spec("mcp") is None:
        raise InvalidInputError("the package mcp is not installed", hint=install_command("mcp"))
    token = None if args.token_file is None else token_of(args.token_file)
    from spector.adapters.mcp.serving import server

    opening = Opening(path, lambda: _open(args, path, read_only=args.read_only))
    made = server(
        opening,
        **scope,
        read_only=args.read_only,
        learn=args.learn and not args.read_only,
        observe=args.observe,
    )
    if port:
        console.note(f"serving {path} at {_url(host, port)}")
        serve_http(made, opening, host, port, token)
        return 0
    if sys.stdin.isatty():
        console.note("a client starts this command: see --print-config; end with Ctrl-C")
    serve_stdio(made, opening)
    return 0


def _open(args: argparse.Namespace, path: str, *, read_only: bool) -> Memory:
    import spector

    options: dict[str, Any] = {"embedder": chosen_embedder(args), "timezone": args.timezone}
    if read_only:
        return spector.open(path, mode="r", **options)
    return spector.open(path, shared=True, wait=wait_of(args), **options)


def _print_config(args: argparse.Namespace, console: Console, path: str) -> int:
    command = [sys.executable, "-m", "spector.mcp", path]
    for option, value in (
        ("--user", args.user_id),
        ("--agent", args.agent_id),
        ("--tz", args.timezone),
        ("--embedder", args.embedder),
    ):
        command += [] if value is None else [option, value]
    for option in ("read_only", "learn", "observe"):
        command += [f"--{option.replace('_', '-')}"] if getattr(args, option) else []
    url = None
    if args.http:
        host, port = args.http
        url = _url({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port)
    document = config_for(args.print_config, command, url, args.token_file)
    console.data(json.dumps(document, indent=2))
    console.note(f"this belongs into {CLIENTS[args.print_config]}")
    if args.print_config == "claude" and url is None:
        added = shlex.join(["claude", "mcp", "add", "spector", "--scope", "user", "--", *command])
        console.note(f"or for all projects: {added}")
    return 0


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"


def _address(text: str) -> tuple[str, int]:
    """HOST and PORT."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK[0]
    if not (port.isdecimal() and 0 < int(port) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is not PORT or HOST:PORT, as 127.0.0.1:8931")
    return host, int(port)


_DEFAULTS: Final = ", ".join(f"{n} for {hook}" for hook, (_, n) in EVENTS.items())

HOOK: Final = Arguments(
    """Print a context from memory for a hook of an agent: JSON that Claude Code reads. The
prompt is read from the JSON on stdin. Without a store, or with nothing to say, nothing is printed.
The store is that of spector mcp. Exit code 1: the store cannot be read, or an argument is wrong;
stderr says why.""",
    f"""
    hook :hook
    @store
    -n/--max-tokens N:count  most tokens (default: {_DEFAULTS})
    @zone
    @embedder
    """,
    kinds=lambda: {"hook": tuple(EVENTS)},
    json="",
)


def run_hook(args: argparse.Namespace, console: Console) -> int:
    path = console.path = store_path(args.store)
    if not os.path.exists(os.path.join(path, "catalog.db")):
        return 0
    try:
        cue = prompt_in(input_text()) if args.hook == "prompt" else None
        if cue is None:
            args.embedder = "none"  # nothing is embedded without a cue
        scope = scope_of(args.user_id, args.agent_id)
        with _open(args, path, read_only=True) as memory:
            most = args.max_tokens or EVENTS[args.hook][1]
            found = answer(memory, args.hook, cue, most, scope)
    except SpectorError as error:
        console.failure(error, 1)
        return 1  # 2 would keep the prompt from the agent
    if found:
        console.data(found)
    return 0
