"""A local server that speaks the wire format of an embeddings API, mistakes included."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

Body = dict[str, Any]


@dataclass
class Reply:
    """What the server answers to one request; the default is a correct answer."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    #: raw bytes instead of JSON
    raw: bytes | None = None
    body: Any = None
    #: keep the client waiting until the server is shut down
    hold: bool = False
    #: close the connection instead of answering
    hang_up: bool = False
    #: changes a correct answer into a wrong one
    change: Callable[[Body], object] | None = None


def vector_of(text: str, dim: int) -> NDArray[np.float32]:
    """The server's vector for a text, not normalised."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).normal(size=dim).astype(np.float32)


class WireServer:
    """Answers POST /v1/embeddings. ``script`` holds the replies for the next requests."""

    def __init__(self, *, dim: int = 8, base64_answers: bool = True) -> None:
        self.dim = dim
        self.base64_answers = base64_answers
        self.script: list[Reply] = []
        #: bodies and headers of all requests
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    def __enter__(self) -> WireServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def _next(self, body: Body, headers: dict[str, str]) -> Reply:
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            return self.script.pop(0) if self.script else Reply()

    def _correct(self, body: Body) -> Body:
        data = []
        for index, text in enumerate(body["input"]):
            vector = vector_of(text, body.get("dimensions", self.dim))
            wants_base64 = body.get("encoding_format") == "base64" and self.base64_answers
            value = base64.b64encode(vector.tobytes()).decode() if wants_base64 else vector.tolist()
            data.append({"object": "embedding", "index": index, "embedding": value})
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = outer._next(body, {k.lower(): v for k, v in self.headers.items()})
                if reply.hold:
                    outer._closing.wait()
                if reply.hang_up or reply.hold:
                    self.close_connection = True
                    return
                self._answer(reply, body)

            def _answer(self, reply: Reply, body: Body) -> None:
                answer: Any = reply.body
                if answer is None and reply.status == 200:
                    answer = outer._correct(body)
                    if reply.change is not None:
                        reply.change(answer)
                raw = reply.raw if reply.raw is not None else json.dumps(answer).encode()
                try:
                    self.send_response(reply.status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(raw)))
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(raw)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client had lost patience

            def log_message(self, format: str, *args: Any) -> None:
                return

        return Handler


def error_body(message: str, *, code: str | None = None, kind: str | None = None) -> Body:
    """The JSON of an error as the API writes it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
