"""How likely a later message makes an earlier one untrue: a network over the words of both.

A cross-encoder of the MiniLM-L6 family with int8 weights, trained on pairs of many writers by
``bench/judge/train.py``. Each pair runs alone, so that its bits do not depend on others.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from spector.providers.minilm import make_session, read_weights, run_session, verified
from spector.providers.wordpiece import CLS_ID, SEP_ID, UNK_ID, WordPiece

CHANGE_MODEL_SHA256: Final = "d007ca1a875524a905f68970c9bd25f7e600e0859ae4bab3975a5867ec3db7f4"
_PATH: Final = Path(__file__).parent / "data" / "changes.onnx"
_HINT: Final = "reinstall spector: pip install --force-reinstall spector-memory"
_CUES: Final = "reinstall onnxruntime, or set ObserveConfig(order_by='cues')"
#: tokens of one text that are read; the pairs it was trained on are shorter
MOST_TOKENS: Final = 64


class ChangeModel:
    """Log-odds that a later text changes or ends what an earlier one says.

    Loads on first use; safe to share between threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def odds(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """``n`` pairs (earlier, later) -> (n,) float32.

        Raises:
            ModelFileError: the weights are missing or damaged.
            EmbeddingError: onnxruntime failed.
        """
        loaded = self._load()
        return np.array([loaded.odds(each) for each in pairs], np.float32)

    def _load(self) -> _Loaded:
        """The network, which all models of this process share; loaded again in a forked child."""
        with self._lock:
            if self._loaded is None or self._loaded.pid != os.getpid():
                weights = read_weights(_PATH, _HINT)
                weights = verified(weights, _PATH, CHANGE_MODEL_SHA256, _HINT)
                key = os.getpid(), CHANGE_MODEL_SHA256
                known = _NETWORKS.get(key)
                self._loaded = known or _NETWORKS.setdefault(key, _Loaded(weights))
            return self._loaded


class _Loaded:
    """The running network in this process."""

    def __init__(self, weights: bytes) -> None:
        self.pid = os.getpid()
        self._session, self._tokens = make_session(weights, _HINT), WordPiece()

    def odds(self, pair: tuple[str, str]) -> float:
        old, new = ((self._tokens.encode(text) or [UNK_ID])[:MOST_TOKENS] for text in pair)
        ids = np.array([[CLS_ID, *old, SEP_ID, *new, SEP_ID]], np.int64)
        sides = np.zeros_like(ids)
        sides[0, len(old) + 2 :] = 1
        found = run_session(
            self._session, {"ids": ids, "sides": sides}, f"a pair of {ids.size} tokens", _CUES
        )
        return float(found.item())


#: (process, SHA-256 of the weights) -> the network, as long as a model has it
_NETWORKS: Final[WeakValueDictionary[tuple[int, str], _Loaded]] = WeakValueDictionary()
