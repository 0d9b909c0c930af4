"""Telemetry counts and times verbs, and nothing of what a memory says leaves the process.

Mechanism: a tracer that a verb asks for once. Damage without it: a text, a name or an error's
message in a trace; spans that nobody asked for; a verb that fails for its tracer.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

import spector
from tests.fakes import FakeEmbedder

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")


@pytest.fixture(scope="module")
def providers() -> Any:
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    return spans, reader


def test_verbs_are_spans_with_numbers_only(providers: Any) -> None:
    spans, reader = providers
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32), telemetry="shop") as memory:
        memory.remember("Rosalind lives in Ghent.", user_id="rosalind", tags=["rosalind"])
        memory.observe("My cat is called Zebedee.", user_id="rosalind")
        memory.recall("Where does Rosalind live?", user_id="rosalind")
        memory.context("Where does Rosalind live?", user_id="rosalind")
        memory.reflect()
        with pytest.raises(spector.InvalidInputError):
            memory.recall("Rosalind", k="Zebedee")  # type: ignore[arg-type]
    found = {each.name: dict(each.attributes) for each in spans.get_finished_spans()}
    verbs = "remember observe recall context reflect".split()
    assert {f"spector.{verb}" for verb in verbs} <= found.keys()
    recall = [dict(each.attributes) for each in spans.get_finished_spans()
              if each.name == "spector.recall"]  # fmt: skip
    assert recall[0]["spector.hits"] == 2
    assert recall[0]["spector.scanned"] >= 2
    assert recall[0]["spector.kernel"]
    assert 0 < recall[0]["spector.scan.ms"] < 10_000
    assert 0 <= found["spector.remember"]["spector.lock.ms"] < 10_000
    assert recall[-1]["error.type"] == "InvalidInputError"
    assert found["spector.reflect"]["spector.step.decay.ms"] >= 0
    told = str([each.to_json() for each in spans.get_finished_spans()])
    told += reader.get_metrics_data().to_json()
    assert "spector.calls" in told
    assert "spector.lock.wait" in told
    assert not [each for each in ("osalind", "ebedee", "Ghent") if each in told]


def test_no_telemetry_is_made_unasked(providers: Any) -> None:
    spans, _ = providers
    spans.clear()
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        memory.remember("one")
        memory.recall("one")
    assert spans.get_finished_spans() == ()


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(spector.InvalidInputError, match=r"spector-memory\[otel\]"):
        spector.open(":memory:", embedder=None, dim=4, telemetry="shop")


@pytest.mark.parametrize("label", ["", 3, "two\nlines"])
def test_a_label_is_a_short_text(label: Any) -> None:
    with pytest.raises(spector.InvalidInputError, match="telemetry"):
        spector.open(":memory:", embedder=None, dim=4, telemetry=label)


def test_a_provider_that_fails_changes_nothing_of_a_verb(
    providers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry.sdk.trace import Span, Tracer

    def fail(*args: Any, **named: Any) -> Any:
        raise RuntimeError("the collector is down")

    for owner, name in ((Tracer, "start_span"), (Span, "set_attributes"), (Span, "end")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with spector.open(":memory:", embedder=None, dim=4, telemetry="shop") as memory:
                memory.remember("one", vector=[1, 0, 0, 0])
                assert len(memory) == 1
                with pytest.raises(spector.InvalidInputError):
                    memory.recall(vector=[1, 0, 0, 0], k="many")  # type: ignore[arg-type]


def test_a_night_is_one_span(providers: Any) -> None:
    spans, _ = providers
    spans.clear()
    with spector.open(":memory:", embedder=None, dim=4, telemetry="shop") as memory:
        memory.reflect()
    assert [each.name for each in spans.get_finished_spans()] == ["spector.reflect"]
