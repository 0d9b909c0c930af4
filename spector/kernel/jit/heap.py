"""The heap of the best hits, compiled by Numba.

The worst hit is at the root. A heap has two spare entries behind its k: one for the candidate, one
for swapping.
"""

from __future__ import annotations

from spector.kernel.jit.compile import borrowing

__all__ = ["offer", "sort_best_first"]


@borrowing
def _is_worse(a, b):  # type: ignore[no-untyped-def]
    """Whether a ranks behind b: lower score, then higher id, then higher place."""
    if a.score != b.score:
        return a.score < b.score
    if a.id != b.id:
        return a.id > b.id
    if a.part != b.part:
        return a.part > b.part
    return a.slot > b.slot


@borrowing
def _swap(heap, a, b):  # type: ignore[no-untyped-def]
    spare = len(heap) - 1
    heap[spare] = heap[a]
    heap[a] = heap[b]
    heap[b] = heap[spare]


@borrowing
def _sift_down(heap, n, at):  # type: ignore[no-untyped-def]
    while True:
        child = 2 * at + 1
        if child >= n:
            return
        if child + 1 < n and _is_worse(heap[child + 1], heap[child]):
            child += 1
        if not _is_worse(heap[child], heap[at]):
            return
        _swap(heap, at, child)
        at = child


@borrowing
def _push(heap, n, k):  # type: ignore[no-untyped-def]
    """Take in the candidate, which is at n; returns how many hits there are."""
    if n == k:
        if k > 0 and _is_worse(heap[0], heap[n]):
            heap[0] = heap[n]
            _sift_down(heap, n, 0)
        return n
    at = n
    while at > 0 and _is_worse(heap[at], heap[(at - 1) // 2]):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    return n + 1


@borrowing
def sort_best_first(heap, n):  # type: ignore[no-untyped-def]
    while n > 1:
        n -= 1
        _swap(heap, 0, n)
        _sift_down(heap, n, 0)


@borrowing
def offer(heap, n, k, record_id, score, sim, part, slot):  # type: ignore[no-untyped-def]
    """Add a record to the best k; returns their number."""
    candidate = heap[n]
    candidate.id = record_id
    candidate.score = score
    candidate.similarity = sim
    candidate.part = part
    candidate.slot = slot
    return _push(heap, n, k)
