"""Fixtures that every test shares, and the rules of a run: seeds, profiles, where the data is."""

from __future__ import annotations

import gc
import os
import signal
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from spector.clock import ManualClock
from tests.proof import proof

if TYPE_CHECKING:
    from spector import Memory

__all__ = ["proof"]

REPO = Path(__file__).resolve().parent.parent
#: of so many cases of a sampled test one runs in ``make test``
_OF_SAMPLED = 5
#: of a test of more cases every second one runs in ``make test``
_MANY_CASES = 20
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

# Same examples on every CI run, so an unrelated change never lands on a new random failure; a
# developer's runs explore, and `make test-slow` explores ten times as far. print_blob gives the
# line that reproduces a failure. No example is too slow: that would be a judgement on the machine.
settings.register_profile(
    "dev", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.register_profile("explore", settings.get_profile("dev"), max_examples=1000)
_DEFAULT_PROFILE = "ci" if os.environ.get("CI") else "dev"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", _DEFAULT_PROFILE))


def shared_data() -> Path:
    """Where the conversations of other projects lie; they are never part of this repository."""
    named = os.environ.get("SPECTOR_DATA")
    return Path(named) if named else REPO.parent / "shared" / "data"


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what is behind it so
    signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # until all is collected: hundreds of modules and no garbage among them


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gc.freeze()
    gc.enable()
    _sample(items)
    for item in items:  # the limit is there to end what hangs, not what a busy machine slows down
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(1800))
    known = (REPO / "tests" / "known_failures.txt").read_text(encoding="utf-8").splitlines()
    for item in items:
        if item.nodeid.partition("[")[0] in known:
            item.add_marker(pytest.mark.xfail(reason="listed in known_failures.txt", strict=False))
    items.sort(key=lambda item: item.get_closest_marker("longest") is None)
    if shared_data().is_dir():
        return
    skip = pytest.mark.skip(reason=f"no data at {shared_data()}; set SPECTOR_DATA")
    for item in items:
        if item.get_closest_marker("needs_data"):
            item.add_marker(skip)


def _sample(items: list[pytest.Item]) -> None:
    """Leave ``make test`` a sample of the cases of some tests, and make the others slow ones.

    Of a test marked ``sampled`` every fifth case stays, of one with many cases every second.
    """
    families = [item.nodeid.partition("[")[0] for item in items]
    cases, met = Counter(families), Counter[str]()
    for item, family in zip(items, families, strict=True):
        sampled = item.get_closest_marker("sampled") is not None
        every = _OF_SAMPLED if sampled else 2 if cases[family] > _MANY_CASES else 1
        if met[family] % every:
            item.add_marker(pytest.mark.slow)
        met[family] += 1


@pytest.fixture(autouse=True)
def _no_ambient_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's keys and defaults must not decide a test. SPECTOR_KERNEL may: it is how the
    whole suite runs on another backend."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SPECTOR_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session", autouse=True)
def _one_model_a_process() -> None:
    """The offline model stays loaded, once a test has used it: loading takes longer than a test."""
    from spector.providers import minilm

    minilm._NETWORKS = {}  # type: ignore[assignment, misc]


@pytest.fixture(scope="session")
def repo() -> Path:
    """The root of the source tree."""
    return REPO


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The shared conversations; skips where they are absent."""
    path = shared_data()
    if not path.is_dir():
        pytest.skip(f"no data at {path}; set SPECTOR_DATA")
    return path


@pytest.fixture
def clock() -> ManualClock:
    """2026-11-21 12:00 UTC, standing still."""
    return ManualClock(NOW)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers whose seed a failing test prints; SPECTOR_SEED repeats or varies a run."""
    seed = int(os.environ.get("SPECTOR_SEED", zlib.crc32(request.node.nodeid.encode())))
    request.node.add_report_section("setup", "seed", f"SPECTOR_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    """A place for a store; nothing exists there yet."""
    return tmp_path / "mind"


@pytest.fixture
def memory(store_path: Path, clock: ManualClock) -> Iterator[Memory]:
    """An empty store with a fast deterministic embedder of 32 dimensions."""
    import spector
    from tests.fakes import FakeEmbedder

    with spector.open(str(store_path), embedder=FakeEmbedder(dim=32), clock=clock) as opened:
        yield opened
