"""Notes what the engine did and how long it took, for a log that the user asked for."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from spector.process.resources import managed

__all__ = ["SNIPPET", "Operation", "Operations"]

#: characters of a text in a log that may have texts
SNIPPET = 200


class Operation:
    """One thing that the engine did; what it was given and what came of it, without texts.

    Attributes:
        op: observe, gate, recall, context, reflect, and so on.
        input, output: ids and counts.
        texts: what the log may quote, if it was opened with ``ops_log_text=True``: by "input" and
            "output".
        details: further keys of the line, such as ``intent``.
    """

    __slots__ = (
        "at_ms",
        "details",
        "fallback",
        "input",
        "latency_ms",
        "model",
        "op",
        "output",
        "success",
        "texts",
    )

    # no dataclass: that would load ``inspect`` with the package
    def __init__(
        self,
        op: str,
        *,
        input: dict[str, Any] | None = None,
        output: dict[str, Any] | None = None,
        model: str | None = None,
        success: bool = True,
        fallback: bool = False,
        latency_ms: float = 0.0,
        texts: dict[str, str] | None = None,
    ) -> None:
        self.op, self.model, self.success, self.fallback = op, model, success, fallback
        self.input = {} if input is None else input
        self.output = {} if output is None else output
        self.texts = {} if texts is None else texts
        self.details: dict[str, Any] = {}
        self.latency_ms = latency_ms
        #: when it was noted, by the clock of the memory
        self.at_ms = 0

    def given(self, text: str | None, **scopes: Any) -> None:
        """Note the input: how long a text is, and in which scopes it was given."""
        self.input.update({name: each for name, each in scopes.items() if each is not None})
        if text is not None:
            self.input["chars"] = len(text)
            self.texts["input"] = text[:SNIPPET]

    def found(self, ids: Sequence[int], text: str | None = None, **counts: Any) -> None:
        """Note the output: ids of memories, the words of the first, counts."""
        self.output.update({"ids": list(ids), **counts})
        if text is not None:
            self.texts["output"] = text[:SNIPPET]


class Sink(Protocol):
    """Where operations are noted."""

    def note(self, operation: Operation) -> None: ...

    def note_gone(self, ids: Collection[int], texts: Collection[str]) -> None: ...

    def note_whole_gone(self, labels: Mapping[str, str]) -> None: ...

    def scrub(self) -> None: ...

    def stats(self) -> Mapping[str, Any]: ...

    def close(self) -> None: ...


class Operations:
    """Notes operations in a log, if there is one."""

    def __init__(self) -> None:
        self.sink: Sink | None = None

    @managed
    def noting(self, op: str) -> Iterator[Operation]:
        """An operation that is noted when the block ends; ``success`` is False when it raised."""
        operation, started = Operation(op), time.perf_counter()
        if self.sink is None:
            yield operation
            return
        try:
            yield operation
        except Exception as error:
            operation.success = False
            operation.output = {"error": type(error).__name__}
            raise
        finally:
            operation.latency_ms = (time.perf_counter() - started) * 1000
            self.sink.note(operation)

    def note(self, operation: Operation) -> None:
        """Note an operation that has ended."""
        if self.sink is not None:
            self.sink.note(operation)

    def note_gone(self, ids: Collection[int], texts: Collection[str]) -> None:
        """Leave out lines about memories that are gone."""
        if self.sink is not None:
            self.sink.note_gone(ids, texts)

    def note_whole_gone(self, labels: Mapping[str, str]) -> None:
        """Leave out lines with the labels of a user, agent or session that is gone."""
        if self.sink is not None:
            self.sink.note_whole_gone(labels)

    def scrub(self) -> None:
        """Rewrite the log without lines about memories that are gone."""
        if self.sink is not None:
            self.sink.scrub()

    def close(self) -> None:
        """Write what waits."""
        if self.sink is not None:
            self.sink.close()

    def stats(self) -> Mapping[str, Any] | None:
        """Figures of the log; None without one."""
        return None if self.sink is None else self.sink.stats()
