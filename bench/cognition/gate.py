"""Rows 13 and 14: what the gate makes of pairs of an old and a new message.

The pairs are decided without a store: the old message is the only candidate. Nothing is fitted to
them here; figures are given for each attribute's author-made group, so that the spread shows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.cognition.facts import asked, changed_pairs
from bench.cognition.score import Score, scores
from bench.data import data_root, json_lines
from bench.recall.sets import load
from spector.language.cues import need_gate
from spector.language.statements import is_question
from spector.language.worth import Wording, same_particulars
from spector.observe.gate import Incoming, candidate_of, decide, statements_in
from spector.providers import MiniLMEmbedder
from spector.records import Decision, MemoryRecord

__all__ = ["gate_rows", "near_duplicates"]

_MONTH: Final = 30 * 86_400_000
_NOW: Final = 1_790_000_000_000
_SEED: Final = 7
_STS: Final = "sts-dev.csv"
#: what other particulars take off a cosine
_GUARD: Final = 0.1


def decided(old: str, new: str) -> Decision:
    """The gate's decision on a new message, with a month-old one as the only candidate."""
    record = MemoryRecord(id=1, text=old, tier="episodic", event_ms=_NOW - _MONTH, role="user")
    stated = statements_in(new, role="user", speaker=None, event_ms=_NOW)
    return decide(
        Incoming(text=new, said=new, statements=stated, event_ms=_NOW),
        [candidate_of(record, likeness=0.8)],
    )


def label_of(old: str, new: str) -> str:
    """create, update (a detail), supersede, reinforce or skip (a filter's)."""
    if is_question(new) or not need_gate(new).needed:
        return "skip"
    found = decided(old, new)
    if found.relation == "elaborates":
        return "update"
    return found.action


def macro_f1(gold: Sequence[str], found: Sequence[str]) -> float:
    """Mean of the F1 of the labels that the gold has."""
    scores = []
    for label in sorted(set(gold)):
        hits = sum(a == b == label for a, b in zip(gold, found, strict=True))
        total = gold.count(label) + found.count(label)
        scores.append(2 * hits / total if total else 0.0)
    return sum(scores) / max(1, len(scores))


def shares(gold: Sequence[str], found: Sequence[str]) -> tuple[float, float]:
    """(updates that are strengthened or skipped, others that are superseded)."""
    pairs = list(zip(gold, found, strict=True))
    changed = gold.count("supersede")
    lost = sum(a == "supersede" and b in ("reinforce", "skip") for a, b in pairs)
    false = sum(a != "supersede" and b == "supersede" for a, b in pairs)
    return lost / max(1, changed), false / max(1, len(gold) - changed)


def gate_rows() -> list[Score]:
    """Row 13: the gate on pairs of three authors; rules are fitted to none of them."""
    pairs = json_lines(data_root() / "cognition/gate/gate.jsonl")
    found = [label_of(each["old"], each["new"]) for each in pairs]
    out = []
    for name in ("en", "tr", ""):
        some = [n for n, each in enumerate(pairs) if not name or each["lang"] == name]
        gold, mine = [pairs[n]["label"] for n in some], [found[n] for n in some]
        lost, false = shares(gold, mine)
        f1 = macro_f1(gold, mine)
        worst = min(
            macro_f1([pairs[n]["label"] for n in own], [found[n] for n in own])
            for each in {pairs[n]["attribute"] for n in some}
            for own in [[n for n in some if pairs[n]["attribute"] == each]]
        )
        out += scores(f"gate {name or 'all'}", f1=f1, worst=worst, lost=lost, false=false)
    return [*out, *_fact_rows(), *_random_row()]


def _fact_rows() -> list[Score]:
    facts = asked("32k").facts
    changed = [(f"{old}.", f"{new}.") for old, new in changed_pairs(facts)]
    labels = [label_of(old, new) for old, new in changed]
    seen, lost = (
        labels.count("supersede") / len(labels),
        sum(each in ("reinforce", "skip") for each in labels) / len(labels),
    )
    rng = random.Random(_SEED)
    same = {(old.rstrip("."), new.rstrip(".")) for old, new in changed}
    others = [
        pair
        for pair in (tuple(rng.sample(facts, 2)) for _ in range(2_000))
        if (pair[0].rstrip("."), pair[1].rstrip(".")) not in same
    ]
    false = sum(label_of(old, new) == "supersede" for old, new in others) / len(others)
    return scores("gate facts", seen=seen, lost=lost, false=false)


def _random_row() -> list[Score]:
    """Random pairs of one speaker's turns: nothing of them is a change."""
    by: dict[tuple[str, str], list[str]] = {}
    for store in load("locomo").stores:
        for item in store.items:
            by.setdefault((store.name, item.speaker), []).append(item.text)
    rng = random.Random(_SEED)
    groups = sorted(by)
    labels = []
    for _ in range(4_000):
        said = by[rng.choice(groups)]
        first, second = sorted(rng.sample(range(len(said)), 2))
        labels.append(decided(said[first], said[second]).action)
    false = labels.count("supersede") / len(labels)
    lost = labels.count("reinforce") / len(labels)
    return scores("gate random", false=false, lost=lost)


def near_duplicates() -> list[Score]:
    """Row 14: cosine, less a tenth for other numbers; and what bands of likeness would merge."""
    rows = []
    for line in (data_root() / "cognition/stsbenchmark" / _STS).read_text("utf-8").splitlines():
        parts = line.split("\t")
        rows.append((float(parts[4]), parts[5], parts[6]))
    embedder = MiniLMEmbedder()
    texts = [each for _, one, other in rows for each in (one, other)]
    vectors = np.asarray(embedder.embed(texts), np.float64)
    vectors /= np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    cosines = (vectors[::2] * vectors[1::2]).sum(axis=1)
    guarded = np.array(
        [
            cosine - _GUARD * _has_other_numbers(one, other)
            for cosine, (_, one, other) in zip(cosines, rows, strict=True)
        ]
    )
    gold = np.array([score >= 4.5 for score, _, _ in rows])
    merged = sum(
        cosine > 0.92
        and _has_other_numbers(one, other)
        and same_particulars(Wording(one, 0), Wording(other, 0))
        for cosine, (_, one, other) in zip(cosines, rows, strict=True)
    )
    precision, guarded_precision = (precision_of(gold, each) for each in (cosines, guarded))
    return scores("near", plain=precision, guarded=guarded_precision, merged=merged)


def _has_other_numbers(one: str, other: str) -> bool:
    first, second = Wording(one, 0).numbers, Wording(other, 0).numbers
    return bool(first) and bool(second) and first != second


def precision_of(gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Average precision of a ranking."""
    order = np.argsort(-scores, kind="stable")
    hits = gold[order]
    ranks = np.arange(1, len(hits) + 1)
    return float((hits.cumsum() / ranks)[hits].mean())
