"""A client of the protocol that writes and reads its lines itself, and sees all that is on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["HELLO", "Wire"]

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "1"},
}


class Wire:
    """A server in a process of its own, over its pipes."""

    def __init__(self, store: Path, *options: str, errors: Any = subprocess.DEVNULL) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spector.mcp", str(store), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={name: value for name, value in os.environ.items() if name != "SPECTOR_STORE"},
        )
        self._sent = 0

    def send(self, method: str, params: dict[str, Any] | None = None, *, asks: bool = True) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if asks:
            self._sent += 1
            message["id"] = self._sent
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next line of stdout, which must be a message; {} at the end."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            return {}
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.send(method, params)
        while message := self.read():
            if message.get("id") == self._sent:
                return message
        return {}

    def begin(self) -> dict[str, Any]:
        """Shake hands; the answer of the server."""
        found = self.ask("initialize", HELLO)
        self.send("notifications/initialized", asks=False)
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool; {} if the server has ended."""
        found = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return found.get("result", {}) if found else {}

    def close(self) -> int:
        """Close the pipe, as a client that leaves does; the exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code
