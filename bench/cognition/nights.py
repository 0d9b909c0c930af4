"""What recall keeps when sleep forgets, and what nights cost that forget nothing.

    python -m bench.cognition.nights [--sets locomo beam] [--stores N] [--keep]

Each conversation is observed at its own times, once: it is kept beside the vectors (see
``bench.vectors``), and made anew when what observes has changed. Every experiment works on a
copy. Recall is any@10 of what a budget leaves, divided by any@10 with everything at the same time.

* months: six months of nights with a budget of half and of three tenths of its memories.
* curves: the same in one step, beside three ways to choose: the oldest first, by chance, and the
  least used first (used by the questions with even numbers, asked the odd ones).
* weeks: two weeks of nights without a budget. A question counts as lost unless every memory that
  answers it rests, for which the report of the night gives a reason.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import spector
from bench.cognition.keeping import found_by, message_of, owners_of
from bench.cognition.score import Score, scores
from bench.machine import REPO
from bench.recall.sets import load
from bench.recall.shape import Question, Store
from bench.results import RESULTS
from bench.vectors import Memoised, default_folder
from spector import Config, ManualClock, Memory, MemoryRecord, SleepConfig
from spector.providers import MiniLMEmbedder

__all__ = ["curve_section", "rows", "weeks_rows"]

FILE: Final = RESULTS / "sleep-nights.json"
MONTHS, WEEKS = 180, 14
SHARES: Final = (0.7, 0.5, 0.3)
BUDGETS: Final = (0.5, 0.3)
_WAYS: Final = ("spector", "least used first", "oldest first", "by chance")
#: what decides how a message is stored
_OBSERVES: Final = ("observe", "language", "write", "store", "config")


# -- conversations on disk -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation: its store on disk, its questions, the moment after its last message."""

    name: str
    folder: Path
    questions: tuple[Question, ...]
    ends_ms: int
    embedder: Memoised

    @contextmanager
    def waking(
        self, sleep: SleepConfig | None = None, *, days: float = 0
    ) -> Iterator[tuple[Memory, ManualClock]]:
        """A copy of its store, some days after its last message."""
        clock = ManualClock(self.ends_ms)
        clock.advance(days=days)
        with tempfile.TemporaryDirectory() as folder:
            path = shutil.copytree(self.folder, Path(folder, self.name))
            with spector.open(
                path,
                embedder=self.embedder,
                clock=clock,
                config=Config(sleep=sleep or SleepConfig()),
                durability="relaxed",
            ) as memory:
                yield memory, clock


def talks(name: str, count: int | None = None) -> Iterator[Talk]:
    """The first ``count`` conversations of a set, each observed at its own times."""
    embedder, data = Memoised(MiniLMEmbedder()), load(name)
    for store in data.stores[:count]:
        asked = tuple(each for each in data.answerable if each.store == store.name)
        ends_ms = int(store.until().timestamp() * 1000) + 60_000
        yield Talk(store.name, _observed(store, embedder), asked, ends_ms, embedder)


def _observed(store: Store, embedder: Memoised) -> Path:
    """The store of a conversation, observed session by session as its time went on."""
    digest = hashlib.sha256()
    for name in _OBSERVES:
        for each in sorted((REPO / "spector" / name).rglob("*")):
            if each.is_file() and "__pycache__" not in each.parts:
                digest.update(each.read_bytes())
    path = default_folder() / "observed" / digest.hexdigest()[:16] / store.name
    if path.is_dir():
        return path
    clock, unfinished = ManualClock(store.items[0].time or store.until()), path.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with spector.open(unfinished, embedder=embedder, clock=clock) as memory:
        for _, group in itertools.groupby(store.items, key=lambda each: each.session):
            items = list(group)
            clock.set(items[-1].time or store.until())
            memory.observe_many([message_of(each) for each in items], scopes_from_message=True)
    os.rename(unfinished, path)
    return path


# -- measured --------------------------------------------------------------------------------------


def guarded(memory: Memory) -> dict[str, set[Any]]:
    """What must outlast every budget: ids of pinned memories and rules, and the facts of names and
    slots, each with the memories that state it."""
    from spector.knowledge import is_single_valued

    active = {each.id for each in memory.records(include=[])}
    with memory._parts.sleeper.survey.knowledge() as reader:
        observed = reader.payloads(sorted(active), "observed")
        facts = reader.facts(holds=1)
        sources = reader.sources([row["id"] for row in facts])
    stated = [row for row in facts if {row["id"], *sources.get(row["id"], ())} & active]
    is_name = {row["id"]: row["predicate"] in ("is_named", "is_called") for row in stated}
    return {
        "pinned": {each.id for each in memory.records(include=[]) if each.pinned},
        "rules": {each for each, known in observed.items() if known["kind"] == "rule"},
        "names": {id_ for id_, named in is_name.items() if named},
        "slots": {
            row["id"]
            for row in stated
            if not is_name[row["id"]] and is_single_valued(row["predicate"])
        },
    }


def curve(talk: Talk) -> dict[str, dict[str, tuple[float, ...]]]:
    """Way to choose -> share -> (share that is active, questions answered, answered before)."""
    out: dict[str, dict[str, tuple[float, ...]]] = defaultdict(dict)
    odd, every = np.arange(len(talk.questions)) % 2 == 1, np.ones(len(talk.questions), bool)
    uses: dict[int, int] = defaultdict(int)
    with talk.waking(days=1) as (memory, _):
        for question in talk.questions[::2]:
            for hit in memory.recall(question.cue, k=10):
                uses[hit.id] += 1
    with talk.waking(days=MONTHS) as (memory, _):
        owners, records = owners_of(memory), list(memory.records(include=[]))
        whole = found_by(memory, talk.questions, owners)
    ways: dict[str, Callable[[MemoryRecord], Any]] = {
        "oldest first": lambda each: (each.event_ms, each.id),
        "by chance": lambda each: each.id * 0x9E3779B97F4A7C15 % (1 << 64),
        "least used first": lambda each: (uses[each.id], each.event_ms, each.id),
    }
    for name, order in ways.items():
        asked, ranked = odd if "used" in name else every, sorted(records, key=order)
        with talk.waking(days=MONTHS) as (memory, _):
            gone = 0
            for share in SHARES:
                upto = len(records) - math.ceil(share * len(records))
                memory.retire([each.id for each in ranked[gone:upto]])
                gone, found = upto, found_by(memory, talk.questions, owners)
                figures = (float(each[asked].sum()) for each in (found, whole))
                out[name][str(share)] = (1 - gone / len(records), *figures)
    for share in SHARES:
        with talk.waking(SleepConfig(keep_share=share, blast_radius=1.0), days=MONTHS) as (m, _):
            m.reflect("forget")
            found = found_by(m, talk.questions, owners)
            active = sum(1 for _ in m.records(include=[])) / len(records)
            out["spector"][str(share)] = (active, float(found.sum()), float(whole.sum()))
    return out


def months(talk: Talk, share: float) -> dict[str, Any]:
    """Daily cycles with a budget: recall before and after, and what was lost of what is guarded."""
    with talk.waking(days=MONTHS) as (memory, _):
        whole = found_by(memory, talk.questions, owners_of(memory))
    with talk.waking(SleepConfig(keep_share=share)) as (memory, clock):
        before, active = guarded(memory), []
        for day in range(MONTHS):
            clock.advance(days=1)
            memory.reflect()
            if day % 30 == 29:
                active.append(sum(1 for _ in memory.records(include=[])))
        after = guarded(memory)
        return {
            "talk": talk.name,
            "share": share,
            "whole": int(whole.sum()),
            "kept": int(found_by(memory, talk.questions, owners_of(memory)).sum()),
            "active": active,
            "total": memory.count(),
            "guarded": {name: len(each) for name, each in before.items()},
            "lost": {name: len(each - after[name]) for name, each in before.items()},
        }


def weeks(talk: Talk) -> dict[str, Any]:
    """Nights without a budget: answers before and after, and those lost that are still awake."""
    firsts = {"any@10": 10, "hit@1": 1}
    with talk.waking() as (memory, clock):
        owners = owners_of(memory)
        before = {way: found_by(memory, talk.questions, owners, k) for way, k in firsts.items()}
        for _ in range(WEEKS):
            clock.advance(days=1)
            memory.reflect()
        after = {way: found_by(memory, talk.questions, owners, k) for way, k in firsts.items()}
        awake = set[str]().union(*(owners.get(r.id, ()) for r in memory.records(include=[])))
    there = np.array([bool(awake & set(each.gold)) for each in talk.questions])
    return {
        "talk": talk.name,
        "asked": len(talk.questions),
        "before": {way: int(each.sum()) for way, each in before.items()},
        "after": {way: int(each.sum()) for way, each in after.items()},
        "lost": {way: int((before[way] & ~after[way] & there).sum()) for way in firsts},
    }


# -- the page, from the last full run --------------------------------------------------------------


def _kept() -> dict[str, Any]:
    if not FILE.is_file():
        return {"curves": {}, "months": [], "weeks": []}
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def rows() -> list[Score]:
    """Row 19; it takes an hour, so it is a command of its own."""
    out, found = [], _kept()["months"]
    for share in BUDGETS:
        for name in dict.fromkeys(each["set"] for each in found):
            own = [each for each in found if each["share"] == share and each["set"] == name]
            gone, safe = (sum(sum(r[key].values()) for r in own) for key in ("lost", "guarded"))
            out += scores(
                f"months {share}",
                set=name,
                talks=len(own),
                kept=sum(each["kept"] for each in own) / sum(each["whole"] for each in own),
                worst=min(each["kept"] / max(1, each["whole"]) for each in own),
                active=np.mean([each["active"][-1] / each["total"] for each in own]),
                gone=gone,
                safe=safe,
            )
    return out


def weeks_rows() -> list[Score]:
    """Row 20."""
    out, found = [], _kept()["weeks"]
    for name in dict.fromkeys(each["set"] for each in found):
        own = [each for each in found if each["set"] == name]
        asked = sum(each["asked"] for each in own)
        for way in own[0]["before"]:
            figures = {
                key: sum(each[key][way] for each in own) for key in ("before", "after", "lost")
            }
            out += scores("weeks", set=name, talks=len(own), way=way, asked=asked, **figures)
    return out


def pooled(curves: Sequence[Mapping[str, Any]], way: str, share: float) -> float:
    """The part of recall that is kept, over conversations."""
    cells = [each[way][str(share)] for each in curves]
    return float(sum(cell[1] for cell in cells) / max(1.0, sum(cell[2] for cell in cells)))


def curve_section() -> str:
    """Recall against the share that is kept, as a part of the page."""
    curves = _kept()["curves"]
    if not curves:
        return ""
    lines = [
        "## What a budget keeps",
        "",
        "any@10 of what a budget leaves awake, divided by any@10 of everything, six months after",
        "the last message, in one step and by messages alone; of what observing stored. Above 1,",
        "what rests was in the way. Used is what half of the questions recall; the others ask.",
        "Goals and floors are those of row 19.",
    ]
    for title, start in (("LoCoMo", "conv-"), ("BEAM", "beam-")):
        part = {name: each for name, each in curves.items() if name.startswith(start)}
        if part:
            heads = " | ".join(f"{share:.0%} awake" for share in SHARES)
            lines += ["", f"| {title} ({', '.join(sorted(part))}): chosen by | {heads} |"]
            lines += ["|---|" + "---:|" * len(SHARES)]
        for way in _WAYS if part else ():
            cells = (f"{pooled(list(part.values()), way, share):.3f}" for share in SHARES)
            lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=["locomo", "beam"])
    parser.add_argument("--stores", type=int, help="the first N conversations of each set")
    parser.add_argument("--keep", action="store_true", help="write bench/results")
    options = parser.parse_args()
    found: dict[str, Any] = {"curves": {}, "months": [], "weeks": []}
    for name in options.sets:
        for talk in talks(name, options.stores):
            found["curves"][talk.name] = curve(talk)
            found["months"] += [{"set": name, **months(talk, share)} for share in BUDGETS]
            found["weeks"].append({"set": name, **weeks(talk)})
            print(talk.name, json.dumps(found["weeks"][-1]), flush=True)
    if options.keep:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
