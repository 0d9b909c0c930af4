"""Spans and metrics of OpenTelemetry for the verbs of a memory; off unless a program asks for them.

Counts, kernels and times leave the process, never a text, a name, or an id of a memory or user.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
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
#: calls a verb with its memory, positional and named arguments
Tracer = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]


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

    inside = threading.local()

    def call(
        method: Callable[..., Any], memory: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        verb = method.__name__
        if (
            verb not in _TRACED
            or type(memory).__name__ not in _OWNERS
            or getattr(inside, "busy", False)
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
            inside.busy = True
            try:
                found = method(memory, *args, **named)
                return found
            except BaseException as error:
                about["error.type"] = type(error).__name__
                raise
            finally:
                inside.busy = False
                with suppress(Exception):
                    end(span, about, found, time.perf_counter() - began)

    def end(span: trace.Span | None, about: dict[str, str], found: Any, seconds: float) -> None:
        calls.add(1, about)
        duration.record(seconds, about)
        if isinstance(found, HitList):
            hits.add(len(found), about)
            abstained.add(int(found.abstained), about)
        if span is not None:
            span.set_attributes(_counts_of(found))
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
