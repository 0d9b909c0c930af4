"""What nights cost: the questions that were answered before them and are not after.

    python -m bench.cognition.consolidation [--sets locomo beam] [--stores N] [--keep]

Every conversation is observed at its own times, and two weeks of nights pass. The same questions
are asked by their text before the first night and after the last: any@10, the first hit, and
contexts of 500 tokens. A question counts as lost unless every memory that answers it rests, for
which the report of the night gives a reason.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from bench.cognition.score import Score
from bench.cognition.slept import K, Talk, owners_of, talks, waking
from bench.recall.shape import Question
from bench.results import RESULTS
from spector import Memory
from spector.language.words import plain
from spector.language.worth import sentences_of

__all__ = ["answered", "lost_of", "measure", "rows"]

FILE: Final = RESULTS / "sleep-consolidation.json"
NIGHTS: Final = 14
CONTEXT: Final = 500
#: words of a sentence that is told apart from others
_LEAST: Final = 3
WAYS: Final = ("any@10", "hit@1", "context")

Answers = Mapping[str, np.ndarray[Any, np.dtype[np.bool_]]]


def sentences(text: str) -> list[str]:
    """Its sentences as they are compared, without short ones."""
    found = [" ".join(plain(each).strip(" .!?").split()) for each in sentences_of(text)]
    return [each for each in found if len(each.split()) >= _LEAST]


def answered(
    memory: Memory,
    questions: tuple[Question, ...],
    owners: Mapping[int, frozenset[str]],
    texts: Mapping[str, str],
) -> Answers:
    """Way -> (questions,) bool: which are answered."""
    out = {each: np.zeros(len(questions), bool) for each in WAYS}
    for n, question in enumerate(questions):
        gold = set(question.gold)
        right = [
            bool(gold & {owner for one in (hit.id, *hit.also) for owner in owners.get(one, ())})
            for hit in memory.recall(question.cue, k=K)
        ]
        said = " ".join(plain(memory.context(question.cue, max_tokens=CONTEXT).text).split())
        out["any@10"][n], out["hit@1"][n] = any(right), any(right[:1])
        out["context"][n] = any(one in said for each in gold for one in sentences(texts[each]))
    return out


def lost_of(
    memory: Memory,
    questions: tuple[Question, ...],
    owners: Mapping[int, frozenset[str]],
    before: Answers,
    after: Answers,
) -> dict[str, int]:
    """How many questions of each way are lost although a memory that answers them is awake."""
    awake = set[str]().union(*(owners.get(each.id, ()) for each in memory.records(include=[])))
    there = np.array([bool(awake & set(each.gold)) for each in questions], bool)
    return {way: int((before[way] & ~after[way] & there).sum()) for way in WAYS}


def measure(talk: Talk) -> dict[str, Any]:
    """Every figure of one conversation."""
    with waking(talk) as (memory, clock):
        owners = owners_of(memory)
        before = answered(memory, talk.questions, owners, talk.texts)
        for _ in range(NIGHTS):
            clock.advance(days=1)
            memory.reflect()
        after = answered(memory, talk.questions, owners, talk.texts)
        return {
            "talk": talk.name,
            "asked": len(talk.questions),
            "before": {way: int(before[way].sum()) for way in WAYS},
            "after": {way: int(after[way].sum()) for way in WAYS},
            "lost": lost_of(memory, talk.questions, owners, before, after),
        }


def rows() -> list[Score]:
    """Row 20, from the last full run."""
    if not FILE.is_file():
        return []
    by_set: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in json.loads(FILE.read_text(encoding="utf-8")):
        by_set[each["set"]].append(each)
    out = []
    for name, part in by_set.items():
        for way in WAYS:
            asked = sum(each["asked"] for each in part)
            before, after, lost = (
                sum(each[key][way] for each in part) for key in ("before", "after", "lost")
            )
            out.append(
                Score(
                    20,
                    f"{name}, {len(part)} conversations, two weeks of nights, {way}: answers before"
                    f" and after, and those lost, of {asked}",
                    f"{before} · {after} · {lost}",
                    f"{before}",
                    "0 lost",
                    not lost,
                )
            )
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
