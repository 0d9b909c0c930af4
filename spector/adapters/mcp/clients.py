"""What MCP clients read to start the server, as each writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

#: client -> the file that its document belongs to
CLIENTS: Final = {
    "claude": ".mcp.json of a project",
    "claude-desktop": "claude_desktop_config.json, in the folder that Settings > Developer opens",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    "vscode": ".vscode/mcp.json of a project",
}


def config_for(
    client: str, command: Sequence[str], url: str | None = None, token_file: str | None = None
) -> dict[str, Any]:
    """The document of a client that names this server.

    Args:
        command: starts the server on stdio.
        url: where it is served, in place of the command.
        token_file: a file whose token the client must send; it is named, and not read.
    """
    server: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    if url is not None:
        server = {"url": url}
    if token_file is not None:
        server["headers"] = {"Authorization": f"Bearer <the token in {token_file}>"}
    if client in ("claude", "vscode"):
        server = {"type": "stdio" if url is None else "http", **server}
    return {"servers" if client == "vscode" else "mcpServers": {"spector": server}}
