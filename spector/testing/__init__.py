"""Test suites for what you add to spector: subclass one per tier or embedder and run pytest.

    from spector.testing import EmbedderTests

    class TestMyEmbedder(EmbedderTests):
        def make_embedder(self):
            return MyEmbedder()

Nothing here imports pytest. A ``conftest.py`` with
``pytest.register_assert_rewrite("spector.testing")`` gives failures with the compared values.
"""

from __future__ import annotations

from spector.testing.embedders import EmbedderTests
from spector.testing.tiers import TierTests

__all__ = ["EmbedderTests", "TierTests"]
