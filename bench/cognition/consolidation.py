"""What consolidation pays: recall at half and at three tenths of the tokens, and short contexts.

    python -m bench.cognition.consolidation [--sets locomo beam] [--stores N] [--keep]

A conversation is observed, and two weeks of nights make themes of it. For half of the tokens themes
have at most four tenths of those of their sources (``theme_share=0.4``), for three tenths at most
three; sources sleep as soon as these are made (``originals="dormant"``), and a budget that shrinks
by a hundredth a night lets more sleep. A question is answered when a hit is a message of its
evidence, a fact that one states, or a theme that *quotes a whole sentence* of one, with the dates
that observing resolved in it; being one of a theme's sources is not enough. Contexts of 500 tokens
are asked the same, by their text, before and after.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from bench.cognition.score import Score
from bench.cognition.slept import Talk, found_by, owners_of, talks, waking
from bench.results import RESULTS
from spector import Config, Memory, SleepConfig
from spector.language.words import plain
from spector.language.worth import sentences_of
from spector.providers import estimated_tokens

__all__ = ["measure", "quoted", "rows"]

FILE: Final = RESULTS / "sleep-consolidation.json"
BUDGETS: Final = (0.5, 0.3)
_GOALS: Final = ((0.5, "63.5 of 68.6", 67.0), (0.3, "53.0 of 68.6", 62.0))
NIGHTS: Final = 14
CONTEXT: Final = 500
#: words of a sentence that is told apart from others
_LEAST: Final = 3
#: share of the tokens of its sources that a theme has, for each budget
_OF_SOURCES: Final = {0.5: 0.4, 0.3: 0.3}
_SHARES: Final = tuple(n / 100 for n in range(99, 0, -1))
#: days after which no floor of a category holds any more
_FLOORS: Final = 60


def sentences(text: str) -> list[str]:
    """Its sentences as they are compared, without short ones."""
    found = [" ".join(plain(each).strip(" .!?").split()) for each in sentences_of(text)]
    return [each for each in found if len(each.split()) >= _LEAST]


def quoted(memory: Memory, owners: Mapping[int, frozenset[str]]) -> dict[int, frozenset[str]]:
    """Memory -> messages, with themes: those of its sources of which it has a whole sentence."""
    out = dict(owners)
    said = {each.id: each for each in memory.records()}
    for each in said.values():
        if each.write_source != "dream":
            continue
        words = f" {' '.join(plain(each.text).split())} "
        sources = {
            edge.target for edge in memory.graph.edges(each.id) if edge.kind == "derived_from"
            and edge.source == each.id and edge.target in said
        }  # fmt: skip
        out[each.id] = frozenset(
            item for source in sources
            if any(one in words for one in sentences(said[source].text))
            for item in owners.get(source, ())
        )
    return out


def tokens_of(memory: Memory) -> int:
    """Tokens of what is recalled as a rule."""
    return sum(estimated_tokens(each.text) for each in memory.records(include=[]))


def contexts(memory: Memory, talk: Talk) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each question, whether a context of 500 tokens has a sentence of its evidence."""
    out = np.zeros(len(talk.questions), bool)
    for n, question in enumerate(talk.questions):
        found = memory.context(question.cue, max_tokens=CONTEXT)
        said = " ".join(plain(found.text).split())
        out[n] = any(
            one in said for gold in question.gold for one in sentences(talk.texts[gold])
        )
    return out


def measure(talk: Talk) -> dict[str, Any]:
    """Every figure of one conversation."""
    with waking(talk, days=NIGHTS) as (memory, _):
        before, tokens = found_by(memory, talk.questions, owners_of(memory)), tokens_of(memory)
        short = contexts(memory, talk)
    row: dict[str, Any] = {
        "talk": talk.name, "asked": len(before), "before": int(before.sum()), "tokens": tokens,
        "context_before": int(short.sum()), "budgets": {},
    }  # fmt: skip
    with waking(talk) as (memory, clock):
        for _ in range(NIGHTS):
            clock.advance(days=1)
            memory.reflect()
        owners = quoted(memory, owners_of(memory))
        found = found_by(memory, talk.questions, owners)
        made = [each for each in memory.records(include=[]) if each.write_source == "dream"]
        row |= {
            "after": int(found.sum()), "context_after": int(contexts(memory, talk).sum()),
            "themes": len(made), "theme_tokens": sum(estimated_tokens(e.text) for e in made),
            "tokens_after": tokens_of(memory),
        }  # fmt: skip
    for budget in BUDGETS:
        row["budgets"][budget] = _within(talk, budget, tokens)
    return row


def _within(talk: Talk, budget: float, tokens: int) -> dict[str, Any]:
    """Recall once nights have brought the tokens below a share of what they were."""
    sleep = SleepConfig(originals="dormant", theme_share=_OF_SOURCES[budget])
    with waking(talk, Config(sleep=sleep)) as (memory, clock):
        for _ in range(NIGHTS):
            clock.advance(days=1)
            memory.reflect()
        clock.advance(days=_FLOORS)
        for share in _SHARES:
            if tokens_of(memory) <= budget * tokens:
                break
            _with(memory, Config(sleep=replace(sleep, keep_share=share, blast_radius=1.0)))
            clock.advance(days=1)
            memory.reflect("forget")
        own = owners_of(memory)
        found = found_by(memory, talk.questions, own)
        through = found_by(memory, talk.questions, quoted(memory, own))
        return {
            "tokens": round(tokens_of(memory) / tokens, 3), "own": int(found.sum()),
            "through": int(through.sum()), "context": int(contexts(memory, talk).sum()),
            "active": sum(1 for _ in memory.records(include=[])), "of": memory.count(),
        }  # fmt: skip


def _with(memory: Memory, config: Config) -> None:
    """Let the next nights have another configuration."""
    memory._parts.sleeper._config = config


def rows() -> list[Score]:
    """Row 20, from the last full run."""
    if not FILE.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    by_set: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in found:
        by_set[each["set"]].append(each)
    out = []
    for name, part in by_set.items():
        asked, before = (sum(each[key] for each in part) for key in ("asked", "before"))
        for budget, floor, goal in _GOALS:
            cells = [each["budgets"][str(budget)] for each in part]
            own, through = (sum(each[key] for each in cells) for key in ("own", "through"))
            tokens = max(each["tokens"] for each in cells)
            value = 100 * through / asked
            out.append(Score(
                20, f"{name}, any@10 through quotations at {budget:.0%} of the tokens (most"
                f" {tokens:.0%}; with all {100 * before / asked:.1f}, messages alone"
                f" {100 * own / asked:.1f})",
                f"{value:.1f}", floor, f"{goal:.0f}", value >= goal and tokens <= budget + 0.01,
            ))  # fmt: skip
        short = [sum(each[key] for each in part) for key in ("context_before", "context_after")]
        out.append(Score(
            20, f"{name}, contexts of {CONTEXT} tokens that have the evidence, after two weeks of"
            f" nights (before: {short[0]} of {asked})", f"{short[1]}", f"{short[0]}",
            f"{short[0]}", short[1] >= short[0],
        ))  # fmt: skip
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=["locomo", "beam"])
    parser.add_argument("--stores", type=int, help="the first N conversations of each set")
    parser.add_argument("--keep", action="store_true", help="write bench/results")
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    for name in options.sets:
        for talk in talks([name], options.stores):
            found.append({"set": name, **measure(talk)})
            print(json.dumps(found[-1]), flush=True)
    if options.keep:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
