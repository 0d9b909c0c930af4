"""The cost of words in a large store: cues of several kinds, a write, a close, an opening.

    python -m bench.words [memories]        1,000,000 unless said otherwise

Texts are windows of 20 to 40 words over real turns; 35 % of their rarer words are replaced by
coined ones, whose number grows with the 0.58th power of the words seen (Heaps), as it does in life.
Times are of each cue the least of three calls, warm. Prints a table for bench/log.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench import machine
from bench.data import NOW, RECORDS_PER_DAY, SEED, Corpus, batches, load_corpus
from bench.stores import BUILD_BATCH, bytes_by_kind, open_store

_WORD: Final = re.compile(r"[^\W_]+")
_SYLLABLES: Final = [c + v for c in "bcdfghklmnprstvz" for v in "aeiou"]
_COINED: Final = 0.35
#: words that are never replaced: stop words, mostly
_COMMON: Final = 400
_SESSION: Final = 20
_CUES: Final = 50
_BEST: Final = 128
_REPEATS: Final = 3


class Texts:
    """Texts with a vocabulary that grows as one of people does; a pure function of their number."""

    def __init__(self, turns: Sequence[str]) -> None:
        known: dict[str, int] = {}
        stream = [known.setdefault(w, len(known)) for t in turns for w in _WORD.findall(t.lower())]
        self._stream = np.array(stream, np.int64)
        self._words = list(known)
        counts = np.bincount(self._stream)
        self.common = [self._words[i] for i in np.argsort(-counts)[:_COMMON].tolist()]
        self._kept = np.zeros(len(counts), bool)
        self._kept[np.argsort(-counts)[:_COMMON]] = True

    def some(self, start: int, stop: int) -> list[str]:
        """Texts start..stop, in pieces that start at multiples of ``BUILD_BATCH``."""
        rng = np.random.default_rng([SEED, start])
        sizes = rng.integers(20, 41, stop - start)
        firsts = rng.integers(0, len(self._stream) - 41, stop - start)
        ends = np.cumsum(sizes)
        at = np.repeat(firsts - (ends - sizes), sizes) + np.arange(ends[-1])
        words = self._stream[at]
        swapped = ~self._kept[words] & (rng.random(len(words)) < _COINED)
        vocabulary = 60 * (10.0 * max(start, 1000)) ** 0.58
        coined = (vocabulary * rng.random(int(swapped.sum())) ** 4).astype(np.int64)
        out = [self._words[i] for i in words.tolist()]
        for place, number in zip(np.flatnonzero(swapped).tolist(), coined.tolist(), strict=True):
            out[place] = _coin(number)
        edges = [0, *ends.tolist()]
        return [" ".join(out[a:b]) for a, b in pairwise(edges)]


def _coin(number: int) -> str:
    number += len(_SYLLABLES) ** 2
    out = []
    while number:
        out.append(_SYLLABLES[number % len(_SYLLABLES)])
        number //= len(_SYLLABLES)
    return "".join(out)


def build(path: Path, corpus: Corpus, texts: Texts, count: int) -> None:
    """A store of so many memories, in sessions of twenty, by two speakers."""
    with open_store(path, corpus.dim) as memory:
        for start, stop in batches(count, BUILD_BATCH):
            vectors = corpus.vectors(start, stop)
            memory.remember_many(
                [
                    {
                        "text": text,
                        "vector": vectors[n - start],
                        "session_id": f"s{n // _SESSION}",
                        "event_time": NOW - timedelta(days=(count - n) / RECORDS_PER_DAY),
                        "metadata": {"speaker": ("Ann", "Bob")[n % 2]},
                    }
                    for n, text in enumerate(texts.some(start, stop), start)
                ]
            )


def cues_of(view: Any, corpus: Corpus, texts: Texts, count: int) -> dict[str, list[str]]:
    """Cues by kind."""
    from spector.language.words.analysis import cue_terms

    rng = np.random.default_rng(SEED)
    some = texts.some(0, min(count, BUILD_BATCH))
    words = sorted({w for text in some[:2000] for w in text.split()})
    chosen = [words[i] for i in rng.permutation(len(words))[:600].tolist()]
    share = {w: int(view.df(cue_terms(w)).min()) / view.n_rows for w in chosen + texts.common}
    eight = [" ".join(rng.permutation(sorted(set(some[i].split())))[:8]) for i in range(_CUES)]
    questions = [cue for cue in corpus.cue_texts if 7 <= len(cue.split()) <= 10]
    return {
        "word of 10 to 50 %": [w for w, part in share.items() if 0.1 <= part <= 0.5],
        "word of 1 to 10 %": [w for w, part in share.items() if 0.01 <= part < 0.1],
        "word of 1 to 20 texts": [w for w in chosen if 1 <= share[w] * view.n_rows <= 20],
        "question": questions,
        "eight words": eight,
    }


def least(call: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of wall and of processor, each the least of a few."""
    wall, own = [], []
    for _ in range(_REPEATS):
        begin, mine = time.perf_counter(), time.thread_time()
        call()
        own.append(time.thread_time() - mine)
        wall.append(time.perf_counter() - begin)
    return min(wall) * 1e3, min(own) * 1e3


def row(name: str, calls: Sequence[Callable[[], Any]]) -> str:
    wall, own = (np.array(each) for each in zip(*map(least, calls), strict=True))
    figures = (np.median(own), np.quantile(own, 0.95), np.median(wall), np.quantile(wall, 0.95))
    return f"| {name} | {len(calls)} | " + " | ".join(f"{each:.3f}" for each in figures) + " |"


def measure(path: Path, corpus: Corpus, texts: Texts, count: int) -> Iterator[str]:
    """Lines of the report."""
    from spector.language.statements.form import MARK_VERSION, mark_of
    from spector.language.words.analysis import cue_terms
    from spector.store.words.index import Words

    yield from _openings(path, corpus.cues[0])
    with open_store(path, corpus.dim, mode="r", threads=1) as memory:
        store = next(store for store in memory._parts.router.stores() if store.files.durable)
        words = Words(store, mark=mark_of, mark_version=MARK_VERSION)
        with store.snapshot() as at:
            view = words.at(at)
        yield f"{view.n_rows:,} memories, {view.nbytes / 1e6:.0f} MB of words in memory"
        kinds = cues_of(view, corpus, texts, count)
        gate: NDArray[np.bool_] = np.random.default_rng(SEED).random(len(view)) < 0.01
        yield "| ms | cues | processor p50 | p95 | wall p50 | p95 |"
        yield "|---|--:|--:|--:|--:|--:|"
        looked = {name: [cue_terms(cue) for cue in cues[:_CUES]] for name, cues in kinds.items()}
        for name, every in looked.items():
            yield row(f"{name}: best {_BEST}", [_best(view, terms) for terms in every])
        yield row("question, 1 % allowed", [_best(view, t, gate) for t in looked["question"]])
        yield row("question: looked up", [_look_up(view, t) for t in looked["question"]])
        yield row(
            "question: counts around the best", [_counts(view, t) for t in looked["question"]]
        )
        vectors = dict(zip(corpus.cue_texts, corpus.cues, strict=True))
        chosen = kinds["question"][:_CUES]
        memory.recall(chosen[0], vector=vectors[chosen[0]])
        yield row("recall by words and vector", [_recall(memory, c, vectors[c]) for c in chosen])
        yield row("recall by vector", [_recall(memory, None, vectors[c]) for c in chosen])
        nowhere = np.random.default_rng(SEED).standard_normal((_CUES, corpus.dim), np.float32)
        unlike = [_recall(memory, None, each) for each in nowhere]
        yield row("recall by a vector that nothing is like", unlike)
        both = [_recall(memory, c, each) for c, each in zip(chosen, nowhere, strict=False)]
        yield row("recall by words and such a vector", both)


def _best(view: Any, terms: Any, gate: Any = None) -> Callable[[], Any]:
    return lambda: view.best(view.look_up(terms), k=_BEST, allow=gate)


def _look_up(view: Any, terms: Any) -> Callable[[], Any]:
    return lambda: view.look_up(terms)


def _counts(view: Any, terms: Any) -> Callable[[], Any]:
    lookup = view.look_up(terms)
    rows, _ = view.best(lookup, k=_BEST)
    near = view.neighbours(rows, 4).ravel()
    every = np.unique(np.concatenate((rows, near[near >= 0])))
    return lambda: view.counts(every, lookup)


def _recall(memory: Any, cue: str | None, vector: Any) -> Callable[[], Any]:
    return lambda: memory.recall(cue, vector=vector, k=10)


def _openings(path: Path, vector: NDArray[np.float32]) -> Iterator[str]:
    """The first words without files and with them; a close that writes; a write that is seen."""
    for what in ("texts analysed", "files read"):
        begin, mine = time.perf_counter(), time.process_time()
        with open_store(path, len(vector)) as memory:
            opened = time.perf_counter()
            memory.recall("guitar lessons", vector=vector, k=1)
            first, own = time.perf_counter() - opened, time.process_time() - mine
            lags = []
            for n in range(20):
                memory.remember(f"zyzzyva{n} again", vector=vector)
                after = time.perf_counter()
                hits = memory.recall(f"zyzzyva{n}", vector=vector, k=3)
                lags.append(time.perf_counter() - after)
                assert any(hit.record.text.startswith(f"zyzzyva{n} ") for hit in hits)
            closing = time.perf_counter()
        closed = time.perf_counter() - closing
        yield (
            f"{what}: opened in {opened - begin:.3f} s, first recall {first:.2f} s ({own:.1f} s of "
            f"processor), a recall right after a write {np.median(lags) * 1e3:.2f} ms, closed in "
            f"{closed:.2f} s, files {bytes_by_kind(path)}"
        )


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 1_000_000
    corpus = load_corpus()
    texts = Texts(corpus.texts)
    print(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(dir=machine.scratch_root()) as root:
        begin = time.process_time()
        build(Path(root) / "store", corpus, texts, count)
        print(f"built in {time.process_time() - begin:.0f} s of processor", flush=True)
        for line in measure(Path(root) / "store", corpus, texts, count):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
