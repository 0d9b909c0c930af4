"""Embeddings from OpenAI, or from any server with its wire format.

The first ``embed()`` imports the client library and sends the first byte. The library's own retries
are off, so that ``Retry`` below is the only policy.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.clock import SystemClock, to_ms
from spector.errors import EmbeddingError, InvalidInputError, LLMError, SpectorError
from spector.messages import install_command, shown
from spector.process import said_as_memory_error
from spector.providers.protocols import check_texts, unit_rows
from spector.providers.token_counts import count_tokens, split_windows

# The client library of OpenAI: made at first use, once a process, its key kept out of errors.

KEY_HINT: Final = "check the key: api_key= or the environment variable OPENAI_API_KEY"


@dataclass(eq=False, repr=False)
class OpenAIConnection:
    """One connection to a server, shared between threads.

    Args:
        retry: repeats a request that failed.
        api_key: default is the environment variable OPENAI_API_KEY.
        base_url: another server with the same wire format.
        timeout_s: timeout of one attempt in seconds.
        given: an ``openai.OpenAI`` of the caller; api_key and base_url are then ignored.
        error: class of the errors.
    """

    retry: Retry
    api_key: str | None
    base_url: str | None
    timeout_s: float
    given: Any
    error: type[SpectorError]

    def __post_init__(self) -> None:
        self._made: Any = None
        self._pid = 0
        self._lock = threading.Lock()

    def ask(self, request: Callable[[Any], Any]) -> Any:
        """What a request answers, which is given the client; repeated until it succeeds or fails
        for good. Errors do not have the key, which servers quote: errors are logged."""
        client = self.client()
        try:
            return self.retry.run(lambda: request(client))
        except EmbeddingError as error:
            key = self._key()
            cause = error.__cause__ if key not in str(error) else None
            raise self.error(error.message.replace(key, "[the key]"), hint=error.hint) from cause

    def _key(self) -> str:
        """The key in use; without one, a text that no message contains."""
        given = self.given
        key = getattr(given, "api_key", None) if given is not None else self.api_key
        return key or os.environ.get("OPENAI_API_KEY") or "\0"

    def client(self) -> Any:
        """The client; made again in a forked child, which must not share its parent's sockets."""
        with self._lock:
            if self._made is None or self._pid != os.getpid():
                self._made = self._make()
                self._pid = os.getpid()
            return self._made

    def _make(self) -> Any:
        if self.given is not None:
            return self.given.with_options(max_retries=0, timeout=self.timeout_s)
        try:
            with said_as_memory_error():
                import openai
        except ImportError as error:
            raise self.error(
                f"the openai client cannot be loaded: {error}", hint=install_command("openai")
            ) from error
        try:
            return openai.OpenAI(
                api_key=self.api_key,
                base_url=self.base_url,
                timeout=self.timeout_s,
                max_retries=0,
            )
        except Exception as error:  # a missing key, a malformed URL
            raise self.error(f"the openai client cannot be made: {error}", hint=KEY_HINT) from error


#: native dimensions, and whether the model can shorten them
_KNOWN_MODELS: Final = {
    "text-embedding-3-small": (1536, True),
    "text-embedding-3-large": (3072, True),
    "text-embedding-ada-002": (1536, False),
}
MAX_INPUTS: Final = 2048
MAX_REQUEST_TOKENS: Final = 300_000
MAX_INPUT_TOKENS: Final = 8191
OVERLAP_TOKENS: Final = 200
#: bump when windows or pooling change
_RECIPE: Final = f"w{MAX_INPUT_TOKENS}-o{OVERLAP_TOKENS}-plain-v1"

#: system randomness, so that processes with the same seed do not retry at the same time
_JITTER: Final = random.SystemRandom().random

_HINTS: Final = {
    400: "the server refused the request; check model and dimensions",
    401: KEY_HINT,
    403: "this key may not use this model; check the project's permissions",
    404: "check model= and base_url=",
    429: "the rate limit is reached; wait, raise max_retries, or embed fewer texts at a time",
}


class OpenAIEmbedder:
    """An OpenAI embedding model. Safe to share between threads.

    Args:
        model: name of the model on the server.
        dimensions: length of the vectors. Optional for OpenAI's own models; required for others,
            because the dimension must be known without a request.
        api_key: default is the environment variable OPENAI_API_KEY.
        base_url: another server with the same wire format. It is not part of the fingerprint,
            because a model behind a proxy is the same model.
        timeout_s: timeout of one attempt in seconds.
        max_retries: further attempts after rate limits, server errors, timeouts and lost
            connections.
        batch_size: texts per request, at most 2048.
        send_dimensions: send ``dimensions`` with requests. Default: if the model can shorten its
            vectors and the requested length is not its native one.
        client: an ``openai.OpenAI`` of your own; api_key and base_url are then ignored.
        sleep, jitter: functions that wait and that return numbers in [0, 1); for tests.

    Raises:
        InvalidInputError: an unknown model without dimensions, or arguments out of range.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        dimensions: int | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 30,
        max_retries: int = 5,
        batch_size: int = 512,
        send_dimensions: bool | None = None,
        client: Any = None,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = _JITTER,
    ) -> None:
        self._model = model
        self._dim, self._send_dimensions = _dimensions(model, dimensions, send_dimensions)
        if not 1 <= batch_size <= MAX_INPUTS or max_retries < 0 or not timeout_s > 0:
            raise InvalidInputError(
                f"batch_size={batch_size}, max_retries={max_retries}, timeout_s={timeout_s}: "
                f"expected 1..{MAX_INPUTS}, at least 0, and more than 0"
            )
        self._batch_size = batch_size
        retry = Retry(max_retries, sleep, jitter)
        self._connection = OpenAIConnection(
            retry, api_key, base_url, timeout_s, client, EmbeddingError
        )

    @property
    def model_id(self) -> str:
        return self._model

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def fingerprint(self) -> str:
        return f"openai:{self._model}:{self._dim}:{_RECIPE}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """``n`` texts -> (n, dim) float32, each row with L2 norm 1.

        Texts that may exceed 8191 tokens are sent as overlapping windows, and the vectors of the
        windows are averaged by token count.

        Raises:
            EmbeddingError: a blank text, or the server did not return every vector.
            InvalidTextError: not a sequence of strings.
        """
        texts = check_texts(texts)
        windows: list[str] = []
        owners: list[int] = []
        for i, text in enumerate(texts):
            parts = split_windows(text, limit=MAX_INPUT_TOKENS, overlap=OVERLAP_TOKENS)
            windows += parts
            owners += [i] * len(parts)
        tokens = [count_tokens(window) for window in windows]
        sums = np.zeros((len(texts), self._dim), dtype=np.float64)
        for start, stop in _requests(tokens, self._batch_size):
            vectors = self._request(windows[start:stop])
            for at, row in zip(range(start, stop), vectors, strict=True):
                sums[owners[at]] += tokens[at] * row.astype(np.float64)
        return unit_rows(sums, rows=len(texts), dim=self._dim, source=self._model)

    def _request(self, inputs: list[str]) -> NDArray[np.float32]:
        extra: dict[str, Any] = {"dimensions": self._dim} if self._send_dimensions else {}
        answer = self._connection.ask(
            lambda client: client.embeddings.create(model=self._model, input=inputs, **extra)
        )
        return unit_rows(
            _ordered(answer, len(inputs)), rows=len(inputs), dim=self._dim, source=self._model
        )


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with jitter; the server's Retry-After takes precedence."""

    max_retries: int
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    first_s: float = 0.5
    longest_s: float = 20.0
    #: longest Retry-After that is waited for; a longer one fails at once
    patience_s: float = 60.0
    #: what is missing, for the error
    wanted: str = "embeddings"

    def run(self, attempt: Callable[[], Any]) -> Any:
        """The result of ``attempt``, or the EmbeddingError that ends it."""
        for tried in range(self.max_retries + 1):
            try:
                return attempt()
            except Exception as error:  # the client raises many classes, json's own among them
                asked_s = _retry_after_s(error)
                if (
                    tried == self.max_retries
                    or not _is_retryable(error)
                    or (asked_s or 0) > self.patience_s
                ):
                    raise _error_of(
                        error, self.wanted, attempts=tried + 1, asked_s=asked_s
                    ) from error
            self.sleep(self._delay_s(tried) if asked_s is None else asked_s)
        raise AssertionError("the last attempt returns or raises")

    def _delay_s(self, tried: int) -> float:
        # half to all of the doubling delay, so that many clients do not retry at the same time
        return float(min(self.longest_s, self.first_s * 2**tried) * (0.5 + self.jitter() / 2))


def _is_retryable(error: Exception) -> bool:
    import openai

    if isinstance(error, openai.APIConnectionError):  # includes timeouts
        return True
    if not isinstance(error, openai.APIStatusError):
        return False
    if error.status_code == 429:
        # waiting does not help an account without credit
        return "insufficient_quota" not in (error.code, error.type)
    return error.status_code in (408, 409) or error.status_code >= 500


def _retry_after_s(error: Exception) -> float | None:
    """Seconds that a response asks to wait (retry-after-ms, seconds or a date); else None."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            wait_s = float(text) / per_second
        except ValueError:
            from email.utils import parsedate_to_datetime  # rare, and slow to import

            try:
                when_ms = to_ms(parsedate_to_datetime(text))
            except ValueError:  # neither a number nor a date: ignored
                continue
            wait_s = (when_ms - SystemClock().now_ms()) / 1000.0
        if np.isfinite(wait_s):
            return max(0.0, wait_s)
    return None


def _error_of(
    error: Exception, wanted: str, *, attempts: int, asked_s: float | None
) -> EmbeddingError:
    """The EmbeddingError for an error of the client, with cause and next step."""
    status = getattr(error, "status_code", None)
    kind = f"HTTP {status}" if isinstance(status, int) else type(error).__name__
    times = "" if attempts == 1 else f" after {attempts} attempts"
    hint = _HINTS.get(status or 0, "nothing was stored; try again, or check base_url and network")
    if "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None)):
        hint = "the account has no credit left; check plan and billing"
    elif status == 429 and asked_s:
        hint = f"the server asks to wait {asked_s:.0f} s; {_HINTS[429]}"
    return EmbeddingError(f"no {wanted}{times}: {kind}: {error}", hint=hint)


def _ordered(answer: Any, expected: int) -> list[Any]:
    """The vectors of a response in the order of the inputs."""
    try:
        found = {item.index: item.embedding for item in answer.data}
        count = len(answer.data)
    except (AttributeError, TypeError) as error:
        raise EmbeddingError(
            f"the response has no embeddings: {str(answer)[:200]}", hint=_HINTS[404]
        ) from error
    if count != expected or found.keys() != set(range(expected)):
        raise EmbeddingError(
            f"the server returned {count} vectors with {len(found)} different indexes for "
            f"{expected} texts",
            hint="nothing was stored; the server does not follow the wire format",
        )
    return [found[i] for i in range(expected)]


def _requests(tokens: list[int], batch_size: int) -> Iterator[tuple[int, int]]:
    """Ranges [start, stop) of inputs that fit into one request by count and by tokens."""
    start = total = 0
    for at, count in enumerate(tokens):
        if at > start and (at - start == batch_size or total + count > MAX_REQUEST_TOKENS):
            yield start, at
            start, total = at, 0
        total += count
    if start < len(tokens):
        yield start, len(tokens)


def _dimensions(model: str, wanted: int | None, send: bool | None) -> tuple[int, bool]:
    """The length of the vectors, and whether requests name it."""
    if not model.strip():
        raise InvalidInputError("model is empty", hint="write text-embedding-3-small or the like")
    if wanted is not None and wanted < 1:
        raise InvalidInputError(f"dimensions must be at least 1, got {shown(wanted)}")
    known = _KNOWN_MODELS.get(model)
    if known is None:
        if wanted is None:
            raise InvalidInputError(
                f"the dimension of {model!r} is unknown",
                hint=f"write OpenAIEmbedder({model!r}, dimensions=...)",
            )
        return wanted, bool(send)
    native, can_shorten = known
    if wanted is None or wanted == native:
        return native, bool(send)
    if wanted > native or not can_shorten:
        raise InvalidInputError(
            f"{model} does not support {wanted} dimensions, only {native}"
            + (" or fewer" if can_shorten else "")
        )
    return wanted, True if send is None else send


# A chat model of OpenAI, or of any server with its wire format, as an ``LLM``.


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
        retry = Retry(max_retries, sleep, jitter, wanted="answer")
        self._connection = OpenAIConnection(retry, api_key, base_url, timeout_s, client, LLMError)

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
        extra: dict[str, Any] = {"response_format": {"type": "json_object"}} if json else {}
        answer = self._connection.ask(
            lambda client: client.chat.completions.create(
                model=self.model_id,
                max_tokens=max_tokens,
                temperature=temperature,
                messages=[
                    {"role": "system", "content": system},
                    {"role": "user", "content": user},
                ],
                **extra,
            )
        )
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
