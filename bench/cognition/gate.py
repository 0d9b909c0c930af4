"""``python -m bench.cognition.gate``: what the gate makes of pairs of an old and a new message.

python -m bench.cognition.gate               every set
python -m bench.cognition.gate --misses      and what it decides otherwise than the gold

The pairs are decided without a store: the old message is the only candidate. Nothing is fitted to
them here; figures are given for each attribute's author-made group, so that the spread shows.
"""

from __future__ import annotations

import argparse
import collections
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from bench.cognition.statements import changed_pairs, data
from spector.language.cues import need_gate
from spector.language.statements import is_question
from spector.observe.gate import Decision, Incoming, candidate_of, decide, statements_in
from spector.records import MemoryRecord

__all__ = ["LABELS", "decided", "macro_f1", "pairs_of_facts"]

LABELS: Final = ("create", "update", "supersede", "reinforce", "skip")
_DAY: Final = 86_400_000
_NOW: Final = 1_790_000_000_000


def decided(old: str, new: str, *, days: int = 30, role: str = "user") -> Decision:
    """The gate's decision on a new message, with an old one as the only candidate."""
    record = MemoryRecord(id=1, text=old, tier="episodic", event_ms=_NOW - days * _DAY, role=role)
    stated = statements_in(new, role=role, speaker=None, event_ms=_NOW)
    return decide(
        Incoming(text=new, said=new, statements=stated, event_ms=_NOW),
        [candidate_of(record, likeness=0.8)],
    )


def label_of(old: str, new: str) -> str:
    """The decision as one of `LABELS`: a filter skips, a detail is an update."""
    if _is_skipped(new):
        return "skip"
    found = decided(old, new)
    if found.relation == "elaborates":
        return "update"
    return found.action


def _is_skipped(text: str) -> bool:
    return is_question(text) or not need_gate(text).needed


def macro_f1(gold: Sequence[str], found: Sequence[str]) -> float:
    """Mean of the F1 of the labels that the gold has."""
    scores = []
    for label in sorted(set(gold)):
        hits = sum(a == b == label for a, b in zip(gold, found, strict=True))
        total = gold.count(label) + found.count(label)
        scores.append(2 * hits / total if total else 0.0)
    return sum(scores) / max(1, len(scores))


def pairs_of_facts(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Changed facts of FactConsolidation, older first."""
    return [(f"{old}.", f"{new}.") for old, new in changed_pairs(lines)]


def gate_pairs() -> list[dict[str, Any]]:
    text = (data() / "cognition/gate/gate.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cognition.gate")
    parser.add_argument("--misses", action="store_true", help="print wrong decisions")
    options = parser.parse_args(arguments)
    pairs = gate_pairs()
    found = [label_of(each["old"], each["new"]) for each in pairs]
    for name in ("en", "tr", ""):
        some = [n for n, each in enumerate(pairs) if not name or each["lang"] == name]
        print(f"gate {name or 'all'}: " + figures(
            [pairs[n]["label"] for n in some], [found[n] for n in some]
        ))
    kinds: dict[str, collections.Counter[str]] = {}
    for each, label in zip(pairs, found, strict=True):
        name = f"{each['lang']} {each['kind']} ({each['label']})"
        kinds.setdefault(name, collections.Counter())[label] += 1
        if options.misses and label != each["label"]:
            print(f"{each['lang']} {each['label']} -> {label} | {each['kind']} | {each['old']}"
                  f" | {each['new']}")
    for name, counts in sorted(kinds.items()):
        print(f"  {name}: {dict(counts)}")
    sets = json.loads((data() / "cognition/factconsolidation/facts.json").read_text("utf-8"))
    facts = pairs_of_facts(sets["sh_32k"]["context"].splitlines())
    counts = collections.Counter(label_of(old, new) for old, new in facts)
    print(f"facts changed: {dict(counts)} of {len(facts)}")
    return 0


def figures(gold: Sequence[str], found: Sequence[str]) -> str:
    """Macro-F1, share of updates lost, share of others superseded."""
    pairs = list(zip(gold, found, strict=True))
    changed = gold.count("supersede")
    lost = sum(a == "supersede" and b in ("reinforce", "skip") for a, b in pairs)
    false = sum(a != "supersede" and b == "supersede" for a, b in pairs)
    return (f"macro-F1 {macro_f1(gold, found):.3f}, lost {lost / max(1, changed):.3f}, false "
            f"{false / max(1, len(gold) - changed):.3f}")


if __name__ == "__main__":
    raise SystemExit(main())
