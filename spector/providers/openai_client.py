"""The client library of OpenAI: made at first use, once a process, its key kept out of errors."""

from __future__ import annotations

import os
import threading
from typing import Any, Final

from spector.errors import SpectorError
from spector.messages import install_command
from spector.process import said_as_memory_error

__all__ = ["KEY_HINT", "OpenAIConnection"]

KEY_HINT: Final = "check the key: api_key= or the environment variable OPENAI_API_KEY"


class OpenAIConnection:
    """One connection to a server, shared between threads.

    Args:
        api_key: default is the environment variable OPENAI_API_KEY.
        base_url: another server with the same wire format.
        timeout_s: timeout of one attempt in seconds.
        given: an ``openai.OpenAI`` of the caller; api_key and base_url are then ignored.
        error: class of the errors when there can be no client.
    """

    def __init__(
        self,
        api_key: str | None,
        base_url: str | None,
        timeout_s: float,
        given: Any,
        error: type[SpectorError],
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._given = given
        self._error = error
        self._made: Any = None
        self._pid = 0
        self._lock = threading.Lock()

    def key(self) -> str:
        """The key in use; without one, a text that no message contains."""
        given = self._given
        key = getattr(given, "api_key", None) if given is not None else self._api_key
        return key or os.environ.get("OPENAI_API_KEY") or "\0"

    def client(self) -> Any:
        """The client; made again in a forked child, which must not share its parent's sockets."""
        with self._lock:
            if self._made is None or self._pid != os.getpid():
                self._made = self._make()
                self._pid = os.getpid()
            return self._made

    def _make(self) -> Any:
        if self._given is not None:
            return self._given.with_options(max_retries=0, timeout=self._timeout_s)
        try:
            with said_as_memory_error():
                import openai
        except ImportError as error:
            raise self._error(
                f"the openai client cannot be loaded: {error}", hint=install_command("openai")
            ) from error
        try:
            return openai.OpenAI(
                api_key=self._api_key,
                base_url=self._base_url,
                timeout=self._timeout_s,
                max_retries=0,
            )
        except Exception as error:  # a missing key, a malformed URL
            raise self._error(
                f"the openai client cannot be made: {error}", hint=KEY_HINT
            ) from error
