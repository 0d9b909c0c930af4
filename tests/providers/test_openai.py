"""The OpenAI embedder: the real client against a local server that speaks its wire format.

Damage without these tests: vectors given to the wrong texts, a zero or short vector stored after a
failure, a caller blocked for minutes, a retry storm, money spent on requests that must fail.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.errors import EmbeddingError, InvalidInputError, InvalidTextError
from spector.providers import Embedder, OpenAIEmbedder
from spector.providers import openai as module
from tests.providers.wire import Reply, WireServer, error_body, vector_of

openai = pytest.importorskip("openai", reason="the openai client is not installed")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


class Sleeps(list[float]):
    """Writes down how long it was asked to sleep, and returns at once."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def embedder_for(server: WireServer, sleeps: Sleeps | None = None, **more: Any) -> OpenAIEmbedder:
    arguments: dict[str, Any] = {
        "model": "house-model",
        "dimensions": 8,
        "api_key": "test-key",
        "base_url": server.url,
        "sleep": Sleeps() if sleeps is None else sleeps,
        "jitter": lambda: 1.0,
    }
    return OpenAIEmbedder(**{**arguments, **more})


def expected(texts: list[str], dim: int = 8) -> NDArray[np.float32]:
    vectors = np.stack([vector_of(text, dim).astype(np.float64) for text in texts])
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("base64_answers", [True, False])
def test_answers_in_base64_and_in_numbers_become_unit_vectors(base64_answers: bool) -> None:
    with WireServer(base64_answers=base64_answers) as server:
        vectors = embedder_for(server).embed(["one", "two"])
    np.testing.assert_allclose(vectors, expected(["one", "two"]), atol=1e-6)
    assert vectors.dtype == np.float32
    assert server.requests[0]["input"] == ["one", "two"]
    assert server.headers[0]["authorization"] == "Bearer test-key"


def test_nothing_is_sent_before_the_first_embed_and_nothing_for_no_texts(
    server: WireServer,
) -> None:
    embedder = embedder_for(server)
    assert (embedder.model_id, embedder.dim) == ("house-model", 8)
    assert embedder.fingerprint
    assert isinstance(embedder, Embedder)
    assert embedder.embed([]).shape == (0, 8)
    assert server.requests == []


def test_vectors_follow_the_index_and_not_the_order_of_the_answer(server: WireServer) -> None:
    server.script = [Reply(change=lambda answer: answer["data"].reverse())]
    vectors = embedder_for(server).embed(["one", "two", "three"])
    np.testing.assert_allclose(vectors, expected(["one", "two", "three"]), atol=1e-6)


def test_requests_are_limited_by_number(server: WireServer) -> None:
    texts = [f"text {n}" for n in range(10)]
    vectors = embedder_for(server, batch_size=4).embed(texts)
    assert [len(request["input"]) for request in server.requests] == [4, 4, 2]
    np.testing.assert_allclose(vectors, expected(texts), atol=1e-6)


def test_requests_are_limited_by_tokens(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_REQUEST_TOKENS", 100)
    embedder_for(server).embed(["word " * 20] * 5)
    sizes = [len(request["input"]) for request in server.requests]
    assert sum(sizes) == 5
    assert max(sizes) < 5


def test_a_text_over_the_limit_is_sent_in_windows_and_pooled(server: WireServer) -> None:
    long = " ".join(f"word{n}" for n in range(12_000))
    vectors = embedder_for(server).embed(["short", long, "last"])
    sent = [text for request in server.requests for text in request["input"]]
    assert sent[0] == "short"
    assert sent[-1] == "last"
    windows = sent[1:-1]
    assert len(windows) > 1
    assert long.startswith(windows[0])
    assert long.endswith(windows[-1])
    assert all(len(window) < len(long) for window in windows)
    np.testing.assert_allclose(vectors[[0, 2]], expected(["short", "last"]), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors[1]), 1.0, atol=1e-6)
    # all but the last window hold about the same number of tokens, and so count about the same
    mean = expected(windows[:-1]).sum(axis=0)
    assert float(vectors[1] @ mean) / float(np.linalg.norm(mean)) > 0.7


def test_a_rate_limit_is_waited_for_as_long_as_the_server_asks(server: WireServer) -> None:
    sleeps = Sleeps()
    server.script = [
        Reply(429, {"Retry-After": "7"}, body=error_body("slow down")),
        Reply(429, {"retry-after-ms": "1500"}, body=error_body("slow down")),
    ]
    vectors = embedder_for(server, sleeps).embed(["one"])
    np.testing.assert_allclose(vectors, expected(["one"]), atol=1e-6)
    assert sleeps == [7.0, 1.5]


def trouble(status: int, text: str = "no", **headers: str) -> Reply:
    return Reply(
        status, {k.replace("_", "-"): v for k, v in headers.items()}, body=error_body(text)
    )


#: what the server answers, words of the error and of its hint, requests (of up to three attempts)
FAILURES: list[tuple[Reply, str, str, int]] = [
    *((trouble(n), f"after 3 attempts: HTTP {n}", "", 3) for n in (408, 409, 429, 500, 502, 503)),
    (Reply(hold=True), "after 3 attempts: APITimeoutError", "", 3),
    (trouble(429, retry_after="3600"), "wait 3600 s", "", 1),
    (Reply(429, body=error_body("no money", code="insufficient_quota")), "billing", "", 1),
    (trouble(400), "HTTP 400", "refused the request", 1),
    (trouble(401), "HTTP 401", "OPENAI_API_KEY", 1),
    (trouble(403), "HTTP 403", "permissions", 1),
    (trouble(404), "HTTP 404", "model=", 1),
    *((Reply(raw=raw), "", "", 1) for raw in (b"{", b"<html>gateway</html>", b"[]", b"null")),
    *((Reply(raw=raw), "", "", 1) for raw in (b"", b"\xff\xfe")),
    (Reply(change=lambda answer: answer["data"][0].update(embedding=[1.0] * 9)), "(1, 8)", "", 1),
]


@pytest.mark.parametrize(("reply", "message", "hint", "requests"), FAILURES)
def test_passing_trouble_alone_is_tried_again(
    server: WireServer, reply: Reply, message: str, hint: str, requests: int
) -> None:
    server.script, sleeps = [reply] * 3, Sleeps()
    timeout = 0.1 if reply.hold else 30.0
    with pytest.raises(EmbeddingError, match=re.escape(message) or None) as failed:
        embedder_for(server, sleeps, max_retries=2, timeout_s=timeout).embed(["one"])
    assert len(sleeps) == requests - 1
    # the client's own retries must be off; a busy machine may not see the end of a request
    assert len(server.requests) == requests or reply.hold
    assert hint in (failed.value.hint or "")
    assert failed.value.hint or requests == 1
    assert "HTTP" not in message or isinstance(failed.value.__cause__, openai.APIStatusError)


def test_a_slow_answer_times_out_and_is_tried_again(server: WireServer) -> None:
    server.script = [Reply(hold=True)]
    # a busy machine may be too slow for a good answer, too
    vectors = embedder_for(server, timeout_s=0.5, max_retries=50).embed(["one"])
    assert len(server.requests) >= 2
    np.testing.assert_allclose(vectors, expected(["one"]), atol=1e-6)


def test_a_dropped_connection_is_tried_again(server: WireServer) -> None:
    server.script = [Reply(hang_up=True)]
    vectors = embedder_for(server).embed(["one"])
    np.testing.assert_allclose(vectors, expected(["one"]), atol=1e-6)


def test_a_refused_connection_ends_in_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        sleeps = Sleeps()
        embedder = OpenAIEmbedder(api_key="k", base_url=url, max_retries=2, sleep=sleeps)
        with pytest.raises(EmbeddingError, match="after 3 attempts: APIConnectionError"):
            embedder.embed(["one"])
    assert len(sleeps) == 2


def _drop_last(answer: Any) -> None:
    answer["data"].pop()


def _same_index(answer: Any) -> None:
    for item in answer["data"]:
        item["index"] = 0


def _set_first(value: Any) -> Callable[[Any], None]:
    def change(answer: Any) -> None:
        answer["data"][0]["embedding"] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _drop_last,
        _same_index,
        lambda answer: answer["data"].append(dict(answer["data"][0], index=2)),
        lambda answer: answer.pop("data"),
        lambda answer: answer["data"].clear(),
        _set_first([1.0, 2.0]),
        _set_first([float("nan")] * 8),
        _set_first([1e39] * 8 + [0.0]),
        _set_first([float("inf"), *[0.0] * 7]),
        _set_first([0.0] * 8),
        _set_first([]),
        _set_first(None),
        _set_first(["a"] * 8),
        _set_first("not base64!"),
        _set_first("AAA="),
    ],
    ids=(
        "count_low index_repeated count_high no_data empty_data short nan long inf zero "
        "empty_vector null strings bad_base64 torn_base64"
    ).split(),
)
def test_a_wrong_answer_is_an_error_and_never_a_vector(
    server: WireServer, change: Callable[[Any], None]
) -> None:
    server.script = [Reply(change=change)]
    with pytest.raises(EmbeddingError):
        embedder_for(server).embed(["one", "two"])
    assert len(server.requests) == 1, "a wrong answer is not passing trouble"


def test_dimensions_are_sent_only_where_they_mean_something(server: WireServer) -> None:
    model = "text-embedding-3-small"
    embedder_for(server, model=model, dimensions=256).embed(["one"])
    embedder_for(server).embed(["one"])
    embedder_for(server, send_dimensions=True).embed(["one"])
    assert [request.get("dimensions") for request in server.requests] == [256, None, 8]


def test_known_models_know_their_dimension_and_unknown_ones_must_be_told() -> None:
    assert OpenAIEmbedder().dim == 1536
    assert OpenAIEmbedder("text-embedding-3-large").dim == 3072
    assert OpenAIEmbedder("text-embedding-3-large", dimensions=1024).dim == 1024
    for wrong in (
        {"model": "unheard-of"},
        {"model": ""},
        {"dimensions": 0},
        {"dimensions": 4096},
        {"model": "text-embedding-ada-002", "dimensions": 256},
        {"batch_size": 0},
        {"batch_size": 4096},
        {"timeout_s": 0},
        {"max_retries": -1},
    ):
        with pytest.raises(InvalidInputError):
            OpenAIEmbedder(**wrong)  # type: ignore[arg-type]


def test_model_and_dimension_are_in_the_fingerprint_and_the_server_is_not() -> None:
    prints = {
        OpenAIEmbedder().fingerprint,
        OpenAIEmbedder(dimensions=512).fingerprint,
        OpenAIEmbedder("text-embedding-3-large").fingerprint,
    }
    assert len(prints) == 3
    proxied = OpenAIEmbedder(base_url="http://127.0.0.1:9/v1", api_key="k")
    assert proxied.fingerprint in prints


def test_a_missing_key_is_an_error_that_says_where_to_put_one() -> None:
    with pytest.raises(EmbeddingError) as failed:
        OpenAIEmbedder().embed(["one"])
    assert "OPENAI_API_KEY" in failed.value.hint


def test_a_client_of_the_callers_own_is_used_without_its_retries(server: WireServer) -> None:
    own = openai.OpenAI(api_key="own-key", base_url=server.url, max_retries=9)
    server.script = [Reply(500, body=error_body("oops"))]
    embedder = OpenAIEmbedder("m", dimensions=8, client=own, max_retries=0)
    with pytest.raises(EmbeddingError):
        embedder.embed(["one"])
    assert len(server.requests) == 1
    assert embedder.embed(["one"]).shape == (1, 8)
    assert server.headers[-1]["authorization"] == "Bearer own-key"


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_blank_texts_cost_no_request(server: WireServer, blank: str) -> None:
    with pytest.raises(EmbeddingError, match="text 1 is empty"):
        embedder_for(server).embed(["fine", blank])
    with pytest.raises(InvalidTextError):
        embedder_for(server).embed("one string")
    assert server.requests == []


def test_one_failed_batch_fails_the_whole_call(server: WireServer) -> None:
    server.script = [Reply(), Reply(400, body=error_body("no"))]
    with pytest.raises(EmbeddingError):
        embedder_for(server, batch_size=1).embed(["one", "two", "three"])
    assert len(server.requests) == 2


def test_retry_after_may_be_a_date(server: WireServer) -> None:
    sleeps = Sleeps()
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    server.script = [Reply(503, {"Retry-After": later}), Reply(503, {"Retry-After": "soon"})]
    embedder_for(server, sleeps).embed(["one"])
    assert 20 < sleeps[0] <= 30
    assert sleeps[1] == pytest.approx(1.0), "nonsense falls back to our own delay"
