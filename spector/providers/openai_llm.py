"""A chat model of OpenAI, or of any server with its wire format, as an ``LLM``."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Final

from spector.errors import EmbeddingError, InvalidInputError, LLMError
from spector.messages import shown
from spector.providers.openai import Retry
from spector.providers.openai_client import OpenAIConnection

__all__ = ["OpenAILLM"]

_JITTER: Final = random.SystemRandom().random


class OpenAILLM:
    """A chat model. Safe to share between threads; the first call opens the connection.

    Args:
        model: name of the model on the server.
        api_key: default is the environment variable OPENAI_API_KEY.
        base_url: another server with the same wire format.
        timeout_s: timeout of one attempt in seconds.
        client: an ``openai.OpenAI`` of your own; api_key and base_url are then ignored.
        max_retries: further attempts after rate limits, server errors and lost connections.
        sleep, jitter: functions that wait and that return numbers in [0, 1); for tests.

    Raises:
        InvalidInputError: an empty model name, or numbers out of range.
    """

    def __init__(
        self,
        model: str = "gpt-4o-mini",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 20.0,
        client: Any = None,
        max_retries: int = 1,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = _JITTER,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise InvalidInputError(
                f"model must be the name of a model, not {shown(model)}", hint="try gpt-4o-mini"
            )
        if max_retries < 0 or not timeout_s > 0:
            raise InvalidInputError(
                f"max_retries={max_retries}, timeout_s={timeout_s}: out of range",
                hint="pass at least 0, and more than 0",
            )
        self.model_id = model.strip()
        self._connection = OpenAIConnection(api_key, base_url, timeout_s, client, LLMError)
        self._retry = Retry(max_retries, sleep, jitter, wanted="answer")

    def complete(
        self,
        system: str,
        user: str,
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
        json: bool = False,
    ) -> str:
        """The model's answer to one question.

        Args:
            system, user: The instruction, and what it is about.
            json: Ask for a JSON object.

        Raises:
            LLMError: The server failed, or answered without a text.
        """
        client = self._connection.client()
        extra: dict[str, Any] = {"response_format": {"type": "json_object"}} if json else {}

        def attempt() -> Any:
            return client.chat.completions.create(
                model=self.model_id,
                max_tokens=max_tokens,
                temperature=temperature,
                messages=[
                    {"role": "system", "content": system},
                    {"role": "user", "content": user},
                ],
                **extra,
            )

        try:
            answer = self._retry.run(attempt)
        except EmbeddingError as error:
            key = self._connection.key()
            cause = error.__cause__ if key not in str(error) else None
            raise LLMError(error.message.replace(key, "[the key]"), hint=error.hint) from cause
        try:
            choice = answer.choices[0]
            text, ended = choice.message.content, choice.finish_reason
        except (AttributeError, IndexError, TypeError) as error:
            raise LLMError(
                f"the response has no choices: {str(answer)[:200]}",
                hint="the server does not follow the wire format; check base_url=",
            ) from error
        if not isinstance(text, str) or not text.strip() or ended == "length":
            raise LLMError(
                f"the answer has no complete text (finish_reason={ended})",
                hint="raise max_tokens, or use another model",
            )
        return text
