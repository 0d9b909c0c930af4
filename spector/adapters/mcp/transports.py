"""Runs a server on stdio or HTTP until its client leaves, or a signal ends it after its writes."""

from __future__ import annotations

import hmac
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from spector.errors import InvalidInputError

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from spector.adapters.mcp.opening import Opening

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
#: seconds that answers have to leave after the last write
_ANSWERS_S: Final = 1.0
#: fewest characters of a token, and most of its file
_LEAST, _MOST = 16, 4096

#: escapes of JSON: whole surrogate pairs, halves of pairs, any other
_ESCAPE: Final = re.compile(rb"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u[dD][89a-fA-F]\w\w|\\.")
_HALF_BYTES: Final = 6

_Message = MutableMapping[str, Any]
_App = Callable[
    [_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]],
    Awaitable[None],
]


class _Lines(io.RawIOBase):
    """Lines of a client in which half an emoji is U+FFFD, as what is no UTF-8 is.

    The SDK cannot read a line with half of a surrogate pair, and would never answer it.
    """

    def __init__(self, lines: BinaryIO) -> None:
        self._lines, self._left = lines, b""

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self._left:
            self._left = _ESCAPE.sub(
                lambda each: rb"\ufffd" if len(each[0]) == _HALF_BYTES else each[0],
                self._lines.readline(),
            )
        size = min(len(room), len(self._left))
        room[:size], self._left = self._left[:size], self._left[size:]
        return size


def serve_stdio(server: MCPServer[Any], opening: Opening) -> None:
    """Serve one client until it closes the pipe."""
    _end_by_signal(server, opening)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Lines(sys.stdin.buffer)))
    try:
        server.run("stdio")
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client has left while an answer was written
    finally:
        opening.close()


def serve_http(
    server: MCPServer[Any], opening: Opening, host: str, port: int, token: str | None
) -> None:
    """Serve clients at ``http://HOST:PORT/mcp`` until a signal.

    Args:
        token: what the header ``Authorization: Bearer`` of each request must have.
    """
    import uvicorn

    app: _App = server.streamable_http_app(host=host)
    if token is not None:
        app = _with_token(app, token)
    _end_by_signal(server, opening)
    config = uvicorn.Config(app, host, port, log_level="warning", timeout_graceful_shutdown=1)
    try:
        uvicorn.Server(config).run()
    finally:
        opening.close()


def token_of(path: str) -> str:
    """The token in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MOST + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"the token file {path} cannot be read: {error}", hint="name a text file"
        ) from None
    token = text.strip() if len(text) <= _MOST else ""
    if len(token) < _LEAST or not token.isascii() or not token.isprintable():
        raise InvalidInputError(
            f"the token in {path} is not {_LEAST} to {_MOST} printable ASCII characters",
            hint=f"make one: openssl rand -hex 32 > {path}",
        )
    return token


def _with_token(app: _App, token: str) -> _App:
    """The application behind a check of the token."""
    expected = token.encode()

    async def checked(scope: _Message, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            given = dict(scope["headers"]).get(b"authorization", b"")
            scheme, _, found = given.partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(found.strip(), expected):
                header = (b"www-authenticate", b"Bearer")
                await send({"type": "http.response.start", "status": 401, "headers": [header]})
                await send({"type": "http.response.body", "body": b"a token is needed"})
                return
        await app(scope, receive, send)

    return checked


def _end_by_signal(server: MCPServer[Any], opening: Opening) -> None:
    """Let SIGTERM and SIGINT end the process once running calls have ended; a second one at once.

    The thread that reads the client's pipe cannot be interrupted, so the process ends around it.
    """
    begun = threading.Event()

    def end() -> None:
        opening.close()
        until = time.monotonic() + _ANSWERS_S
        while getattr(server, "running", 0) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.05)  # the last answer is being written
        os._exit(0)

    def on_signal(number: int, frame: object) -> None:
        if begun.is_set():
            os._exit(128 + number)
        begun.set()
        threading.Thread(target=end, daemon=True).start()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, on_signal)
