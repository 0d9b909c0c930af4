"""A backup made while the store changes shows one moment of it, whoever makes it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash.harness import in_fresh_process
from tests.proof import seed

pytestmark = pytest.mark.crash


def _run(name: str, proof: Any, *, default_seed: int, **more: Any) -> dict[str, Any]:
    number = seed(default_seed)
    print(f"SPECTOR_SEED={number}")
    found: dict[str, Any] = in_fresh_process(f"tests.backup.live:{name}", seed=number, **more)
    proof(
        "T33",
        backups_of_live_stores=found["backups"],
        seeds=str(number),
        wrong=len(found["wrong"]),
    )
    assert found["wrong"] == [], found
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("reader", [False, True])
def test_what_is_written_between_the_steps_of_a_backup_is_not_in_it(
    reader: bool, proof: Any
) -> None:
    found = _run("at_every_step", proof, default_seed=3, backups=2, reader=reader)
    assert found["steps_between"] > 20


@pytest.mark.slow
def test_a_backup_beside_a_writing_thread_is_one_moment(proof: Any) -> None:
    found = _run("beside_threads", proof, default_seed=4, backups=5)
    assert found["lines"] > 20, "the writer had no time"


def test_a_backup_beside_a_writing_process_is_one_moment(proof: Any) -> None:
    found = _run("beside_process", proof, default_seed=5, backups=5)
    assert found["lines"] > 20, "the writer had no time"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["beside_threads", "beside_process"])
def test_many_backups_beside_a_writer_are_one_moment_each(name: str, proof: Any) -> None:
    _run(name, proof, default_seed=6, backups=80, timeout_s=890)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("reader", [False, True])
def test_many_backups_with_writes_between_their_steps(reader: bool, proof: Any) -> None:
    _run("at_every_step", proof, default_seed=7, backups=25, reader=reader, timeout_s=890)
