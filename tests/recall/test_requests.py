"""What requests share, "can you recommend", is no evidence for a memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import spector
from spector.providers import resolve
from spector.search.evidence import Limits
from spector.search.view import Cue
from tests.fakes import FakeEmbedder

ASKED = "My sister asked me to recommend and suggest something, so I gave her some ideas."
KNOWN = "Films with a lot of violence put me off."
CUE = "Can you recommend a film for tonight?"


def test_what_was_asked_for_before_is_less_near_than_what_is_known() -> None:
    with spector.open(":memory:") as memory:
        memory.remember_many([ASKED, KNOWN])
        request, statement = (
            {hit.text: hit.score for hit in memory.recall(CUE, kind=kind)}
            for kind in ("request", "talk")
        )
        assert request[KNOWN] - request[ASKED] > statement[KNOWN] - statement[ASKED] + 0.05


def test_the_cue_loses_what_requests_share_and_keeps_its_length_of_matter() -> None:
    embedder = resolve("default")
    cue, other = np.asarray(embedder.embed([CUE, "What would you suggest?"]), np.float32)
    with spector.open(":memory:") as memory:
        memory.remember_many([ASKED, KNOWN])
        request = memory.recall(CUE).request
    assert isinstance(request.cue, Cue)
    assert request.vector is not None
    left = request.vector / np.linalg.norm(request.vector)
    assert left @ other < cue @ other - 0.1
    assert replace(request, asking=None).vector is request.cue.vector


def test_a_model_whose_vectors_are_not_shipped_is_asked_for_none() -> None:
    assert Limits(FakeEmbedder()).asking() is None
    assert Limits(None).asking() is None
