"""Spans and metrics of OpenTelemetry for the verbs of a memory; off unless a program asks for them.

Counts, kernels and times leave the process, never a text, a name, or an id of a memory or user.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import fields
from typing import Any, Final

from spector._version import __version__
from spector.errors import InvalidInputError
from spector.records import HitList, MemoryList, ObserveResult, ReflectReport, ScanStats

_TRACED: Final = frozenset(
    "recall context remember remember_many observe observe_many reflect forget update".split()
)
_COUNTS: Final = tuple(
    each.name for each in fields(ScanStats) if each.name not in ("backend", "dormant")
)
#: classes whose verbs these are: a facet's "forget" is another
_OWNERS: Final = frozenset(("Memory", "Session"))
_API: Final = ("opentelemetry.trace", "opentelemetry.metrics")
#: calls a verb with its memory, positional and named arguments
Tracer = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]


class _Inside(threading.local):
    """The milliseconds of the parts of the verb that this thread is in; None outside of verbs."""

    ms: dict[str, float] | None = None


_inside: Final = _Inside()


def time_parts(scanner: Any, stores: Iterable[Any]) -> None:
    """Time the scans of a memory, and its waits for the lock of a store, in the spans of verbs."""
    scan = scanner.scan

    def timed(*args: Any, **named: Any) -> Any:
        began = time.perf_counter()
        found = scan(*args, **named)
        _note("scan", began)
        return found

    def waiting(hold: Callable[[], AbstractContextManager[Any]]) -> Any:
        @contextmanager
        def exclusive() -> Iterator[Any]:
            began = time.perf_counter()
            with hold() as held:
                _note("lock", began)
                yield held

        return exclusive

    scanner.scan = timed
    for store in stores:
        store.exclusive = waiting(store.exclusive)


def _note(part: str, began: float) -> None:
    if (ms := _inside.ms) is not None:
        ms[part] = ms.get(part, 0.0) + 1000 * (time.perf_counter() - began)


def tracer_of(label: str) -> Tracer:
    """What calls the verbs of a store within spans and counts them.

    Args:
        label: names the store in spans and metrics; the path never leaves the process.

    Raises:
        InvalidInputError: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import metrics, trace
    except ImportError as error:
        raise InvalidInputError(
            "telemetry needs OpenTelemetry, which is not installed",
            hint='run: pip install "spector-memory[otel]"',
        ) from error
    tracer = trace.get_tracer("spector", __version__)
    meter = metrics.get_meter("spector", __version__)
    calls = meter.create_counter("spector.calls", "{call}", "calls of verbs")
    hits = meter.create_counter("spector.hits", "{hit}", "hits of recalls")
    abstained = meter.create_counter("spector.abstentions", "{call}", "recalls that gave nothing")
    duration = meter.create_histogram("spector.duration", "s", "duration of verbs")
    waits = meter.create_histogram("spector.lock.wait", "s", "waits for the lock of a store")

    def is_heard() -> bool:
        """Whether a program has set a provider: those of the API itself take nothing."""
        return not (
            type(trace.get_tracer_provider()).__module__.startswith(_API)
            and type(metrics.get_meter_provider()).__module__.startswith(_API)
        )

    def call(
        method: Callable[..., Any], memory: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        verb = method.__name__
        if (
            verb not in _TRACED
            or type(memory).__name__ not in _OWNERS
            or _inside.ms is not None
            or not is_heard()
        ):
            return method(memory, *args, **named)
        about, found, began = (
            {"spector.store": label, "spector.verb": verb},
            None,
            time.perf_counter(),
        )
        with ExitStack() as scope:
            span = None
            with suppress(Exception):  # a provider that fails changes nothing of what a verb does
                span = scope.enter_context(
                    tracer.start_as_current_span(
                        f"spector.{verb}",
                        attributes=about,
                        record_exception=False,  # its message may have words of a memory
                        set_status_on_exception=False,
                        end_on_exit=False,
                    )
                )
            ms = _inside.ms = dict[str, float]()
            try:
                found = method(memory, *args, **named)
                return found
            except BaseException as error:
                about["error.type"] = type(error).__name__
                raise
            finally:
                _inside.ms = None
                with suppress(Exception):
                    end(span, about, found, time.perf_counter() - began, ms)

    def end(
        span: trace.Span | None,
        about: dict[str, str],
        found: Any,
        seconds: float,
        ms: dict[str, float],
    ) -> None:
        calls.add(1, about)
        duration.record(seconds, about)
        if "lock" in ms:
            waits.record(ms["lock"] / 1000, about)
        if isinstance(found, HitList):
            hits.add(len(found), about)
            abstained.add(int(found.abstained), about)
        if span is not None:
            span.set_attributes(_counts_of(found))
            span.set_attributes({f"spector.{part}.ms": each for part, each in ms.items()})
            if kind := about.get("error.type"):
                span.set_attribute("error.type", kind)
                span.set_status(trace.StatusCode.ERROR, kind)
            span.end()

    return call


def _counts_of(found: Any) -> dict[str, str | int | float]:
    """Numbers of what a verb returned, as attributes of its span."""
    out: dict[str, str | int | float] = {}
    if isinstance(found, HitList):
        out = {"hits": len(found), "abstained": found.abstained}
        if (stats := found.stats) is not None:
            out |= {"kernel": stats.backend, **{name: getattr(stats, name) for name in _COUNTS}}
    elif isinstance(found, MemoryList):
        out = {"memories": len(found)}
    elif isinstance(found, ObserveResult):
        out = {"memories": len(found.records), "filter": found.filter or ""}
        out["superseded"] = sum(len(each.superseded) for each in found.units)
    elif isinstance(found, ReflectReport):
        out = {f"step.{each.name}.ms": each.elapsed_ms for each in found.steps}
        out["cycle"] = found.cycle or 0
    elif hasattr(found, "quotes"):
        out = {"quotes": len(found.quotes), "tokens": found.tokens, "abstained": found.abstained}
    return {f"spector.{name}": value for name, value in out.items()}
