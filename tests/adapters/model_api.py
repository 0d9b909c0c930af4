"""A local stand-in for the API of Anthropic's models: canned answers, and what was asked is kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ModelApi", "running"]

#: what the model says when it calls no tool
SAID = "That is all."


class ModelApi(ThreadingHTTPServer):
    """Answers ``/v1/messages``, each time with the next call of a tool, and then with `SAID`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        #: the bodies of the requests for an answer that has tools, in their order
        self.asked: list[dict[str, Any]] = []
        #: calls that the model makes: the name of a tool, and its arguments
        self.calls: list[tuple[str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def told(self) -> str:
        """All texts that the model was told last, one a paragraph."""
        return "\n\n".join(_texts(self.asked[-1]["messages"]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value if isinstance(value, list) else ():
        yield from _texts(each)
    if isinstance(value, dict):
        yield from _texts(value.get("text"))
        yield from _texts(value.get("content"))


@contextmanager
def running() -> Iterator[ModelApi]:
    with ModelApi() as api:
        thread = threading.Thread(target=api.serve_forever)
        thread.start()
        try:
            yield api
        finally:
            api.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelApi

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(b"{}")

    def do_GET(self) -> None:
        self._answer(b"{}")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path.split("?")[0] != "/v1/messages":
            self._answer(b'{"input_tokens": 1}')
            return
        block: dict[str, Any] = {"type": "text", "text": SAID}
        if asked.get("tools"):  # else it is about something beside the talk, as a title
            self.server.asked.append(asked)
            if self.server.calls:
                name, arguments = self.server.calls.pop(0)
                block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": asked.get("model", ""),
            "content": [block],
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if asked.get("stream"):
            self._answer("".join(_events(message, block)).encode(), "text/event-stream")
        else:
            self._answer(json.dumps(message).encode())

    def _answer(self, data: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _events(message: dict[str, Any], block: dict[str, Any]) -> Iterator[str]:
    """A message as it is streamed."""
    empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block.get("text")}
    if block["type"] == "tool_use":
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    begun = {**message, "content": [], "stop_reason": None}
    for name, more in (
        ("message_start", {"message": begun}),
        ("content_block_start", {"index": 0, "content_block": empty}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": stop, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ):
        yield f"event: {name}\ndata: {json.dumps({'type': name, **more})}\n\n"
