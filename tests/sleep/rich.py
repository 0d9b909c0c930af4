"""A store in which every step of a night has something to do, and how it is compared."""

from __future__ import annotations

import itertools
import json
import re
from datetime import timedelta
from typing import Any

import spector
from spector import Config, ManualClock, Memory, SleepConfig
from spector.arguments import SORTS
from spector.knowledge import Changes, KnowledgeReader
from tests.sleep.nights import set_strength

#: a night of it has some sixty units
CONFIG = Config(
    sleep=SleepConfig(
        batch_records=7,
        rehearse_most=5,
        compress_below="dormant",
        keep_share=0.6,
        blast_radius=0.3,
        redundancy_most=4,
        short_term_ttl_h=48,
    ),
    knowledge=spector.KnowledgeConfig(max_edges=6, edges_per_memory=0),
)
WORDS = "boat river lamp chair clock bread stone glass paper garden window bridge".split()


def fill(memory: Memory, clock: ManualClock, users: int = 2, scale: int = 1) -> None:
    """Memories of some users, months old, of every kind that a step looks at."""
    from tests.facets.test_erasure import mention

    for number in range(users):
        user: dict[str, Any] = {"user_id": f"u{number}"}
        dull = memory.remember_many(
            [{"text": f"hm {n} {WORDS[n % 12]}", "importance": 0.1} for n in range(8 * scale)],
            **user,
        )
        memory.graph.link(dull[0], dull[1], "related_to", confidence=0.5)
        for a, b in itertools.pairwise(dull):
            memory.graph.link(a, b, "related_to", confidence=0.3)
        used = memory.remember_many([f"used thing {n} of u{number}" for n in range(3)], **user)
        for each in used:
            for _ in range(3):
                memory.reinforce(each)
        for n in range(4 * scale):
            memory.remember(
                f"I like {WORDS[n]} number {n}, said u{number}.",
                category="preference",
                importance=0.4 + n / 50,
                **user,
            )
        memory.remember_many(
            [f"I like tea, u{number} {n}" for n in range(8)],
            category="preference",
            importance=0.6,
            **user,
        )
        twins = [
            memory.remember(
                f"Ben parks the red boat u{number}", session_id=f"s{number}", importance=0.6, **user
            )
            for _ in range(3)
        ]
        trip = [
            memory.remember(
                f"Ada of u{number} bought a {word} in Kars",
                session_id=f"t{number}",
                importance=0.7,
                **user,
            )
            for word in WORDS[:4]
        ]
        for each in (*twins, *trip):
            mention(memory, each, "Ada" if each in trip else "Ben")
        for each, word in zip(trip, WORDS, strict=False):
            memory.facts.add("Ada", "bought", word, source=each)
        shock = memory.remember(f"the house of u{number} burned", arousal=0.9, **user)
        memory.remember(
            f"a meeting of u{number}", valid_until=shock.event_time + timedelta(days=1), **user
        )
        old = memory.remember(f"an old saying of u{number}", tier="semantic", **user)
        set_strength(memory, old.id, utility=0.1)
        for n in range(9):
            run = {
                "goal": f"return the {WORDS[n % 2]}",
                "objects": [WORDS[n % 2], "shop"],
                "run_id": f"r{number}{n // 3}",
                "success": n != 4,
                "tool": ("find", "pay", "send")[n % 3],
                "salience": n / 9,
            }
            memory.layers["episodes"].store(
                f"step {n} of u{number}", episode=run, importance=0.5, **user
            )
        for day in range(3):
            when = shock.event_time - timedelta(days=9 * day)
            memory.remember("I play chess.", importance=0.6, event_time=when, **user)
        pair(memory, twins[0].id, trip[0].id, clock)
    clock.advance(days=100)
    for number in range(users):
        memory.remember_many([f"new {n} u{number}" for n in range(3)], user_id=f"u{number}")
    memory.reflect("upkeep")


def pair(memory: Memory, a: int, b: int, clock: ManualClock) -> None:
    """Two memories that were recalled together often."""

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        changes.put("link", a=min(a, b), kind="pair", b=max(a, b), n=5, t_ms=now_ms)
        return changes

    memory._parts.knowledge.commit(decide)


def told(memory: Memory) -> dict[str, Any]:
    """All that a store says, with places in the order of time for ids, and no times of commits."""
    records = list(memory.records(sorts=SORTS))
    names = {
        each.id: n
        for n, each in enumerate(
            sorted(records, key=lambda r: (r.recorded_ms, r.text, r.user_id or "", r.id))
        )
    }
    return {
        "memories": sorted(
            (
                names[r.id],
                r.text,
                r.tier,
                r.user_id,
                round(r.stability_days, 6),
                round(r.utility, 6),
                int(r.flags),
                r.access_count,
                r.summary,
            )
            for r in records
        ),
        "rows": rows_told(memory, names),
    }


def rows_told(memory: Memory, names: dict[int, int]) -> list[str]:
    """Rows of knowledge but those of sleep, ids by their places, times left out."""
    store = memory._parts.store
    with store.catalog.reading() as db:
        reader = KnowledgeReader(db, store.catalog.path)
        ids = list(names)
        items = {
            **reader.items_of("association"),
            **reader.items_of("entity"),
        }
        known = dict(names) | {
            each: f"{row['sort']} {row['scope']} {row['json'].get('cue', row['json'].get('name'))}"
            for each, row in items.items()
        }
        out = [
            f"{known[each]}: {json.dumps(p, sort_keys=True)}"
            for each, p in reader.payload_fields(ids).items()
        ]
        out += [f"fact {known[r['id']]} {r['holds']} {r['confidence']}" for r in reader.facts()]
        out += [
            f"{known[e.source]} {e.kind} {known[e.target]} {e.weight:.6f}"
            for e in reader.edges(ids)
        ]
        out += [
            f"{known[r['a']]} {r['kind']} {known[r['b']]} {r['n']}"
            for r in reader.link_kinds([*ids, *items])
        ]
        out += [f"{known[each]} {sorted(row['json'].items())}" for each, row in items.items()]
    return sorted(
        re.sub(r'"(?:computed_ms|last_used_ms|concept_id)": \d+', "", each) for each in out
    )
