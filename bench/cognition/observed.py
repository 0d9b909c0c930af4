"""Rows 17 and 18: which messages are kept and as what, and what they say is worth.

``small_talk.txt`` names the turns of LoCoMo that were judged small talk by reading a sample of 240,
before there were rules. Word lists and limits were then chosen with sight of these conversations.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.cognition.feelings import valence
from bench.cognition.score import Score
from bench.cognition.statements import data
from spector.language.emotion import emotion_in
from spector.language.entities import rule_mentions
from spector.language.observing import (
    classify,
    kind_of_filter,
    substance_of,
    worth_of_words,
)

__all__ = ["classes", "evidence_ids", "kept_of_chats", "observed", "worth"]

_FLASHBULB = 0.8
_ID = re.compile(r"D:?(\d+):0*(\d+)")


class Message(NamedTuple):
    """A message of a set: whether a question needs it, and whether it was judged small talk."""

    source: str
    text: str
    is_evidence: bool
    is_small_talk: bool
    group: str


def observed(text: str) -> tuple[str, str | None]:
    """(kind, the filter that stopped it or None) of a message, as the rules of observing decide."""
    found = worth_of_words(text)
    if found.verdict == "empty":
        return kind_of_filter(found.reason), found.reason
    names = len({each.name for each in rule_mentions(text)})
    return classify(text, entities=names).kind, None


def classes() -> list[Score]:
    """Row 17: what is kept of sets that other hands wrote."""
    return [preferences(), *kept_of_chats()]


def preferences() -> Score:
    """Preferences of another author: 56 % at first; rules were widened by reading the misses."""
    files = sorted((data() / "prefeval").glob("*.json"))
    shares = []
    for part in (files[: len(files) // 2], files[len(files) // 2 :]):
        texts = [row["preference"] for path in part for row in json.loads(path.read_text("utf-8"))]
        shares.append(sum(observed(each)[0] == "preference" for each in texts) / len(texts))
    return Score(
        17,
        "PrefEval: preferences that are taken for one, two halves of the files",
        f"{100 * shares[0]:.0f} % / {100 * shares[1]:.0f} %",
        "-",
        "-",
        False,
    )


def kept_of_chats() -> list[Score]:
    """Which messages of conversations are left out."""
    found = list(messages())
    out = []
    for source, goal in (("LoCoMo", "3 %"), ("BEAM, users", "3 %"), ("BEAM, assistants", "-")):
        rows = [each for each in found if each.source == source]
        needed = [each for each in rows if each.is_evidence]
        lost = Counter(_stop(each.text) for each in needed)
        share = 1 - lost[None] / len(needed)
        why = ", ".join(f"{name} {n}" for name, n in lost.most_common() if name)
        out.append(
            Score(
                17,
                f"{source}: evidence that is dropped ({why})",
                f"{100 * share:.1f} %",
                "-",
                goal,
                share <= 0.03,
            )
        )
    talk = [each for each in found if each.is_small_talk]
    share = sum(_stop(each.text) is not None for each in talk) / len(talk)
    out.append(
        Score(
            17,
            f"LoCoMo: {len(talk)} turns judged small talk that are dropped",
            f"{100 * share:.0f} %",
            "-",
            "60 %",
            share >= 0.6,
        )
    )
    bulbs = sum(emotion_in(each.text).arousal >= _FLASHBULB for each in found)
    out.append(
        Score(
            17,
            f"LoCoMo and BEAM: flashbulbs of {len(found)} messages",
            f"{100 * bulbs / len(found):.2f} %",
            "-",
            "1 %",
            bulbs <= 0.01 * len(found),
        )
    )
    return out


@lru_cache(maxsize=10_000)
def _stop(text: str) -> str | None:
    return observed(text)[1]


def worth() -> list[Score]:
    """Row 18: whether a turn is ever evidence, by what it says; no weight is trained."""
    rows = [each for each in messages() if each.source == "LoCoMo"]
    wanted = np.array([each.is_evidence for each in rows], np.float32)

    def auc(value: Callable[[str], float]) -> float:
        return valence(np.array([value(each.text) for each in rows]), wanted)

    groups = sorted({each.group for each in rows})
    values = np.array([substance_of(each.text) for each in rows])
    inside = [np.array([each.group == name for each in rows]) for name in groups]
    spread = [valence(values[rows_of], wanted[rows_of]) for rows_of in inside]
    whole, length = valence(values, wanted), auc(lambda text: float(len(text)))
    return [
        Score(
            18,
            "worth of a turn, LoCoMo dev evidence, AUC by what it says (5 conversations: "
            f"{min(spread):.2f} to {max(spread):.2f})",
            f"{whole:.3f}",
            "0.778",
            "0.80",
            whole >= 0.80,
        ),
        Score(18, "the same by length", f"{length:.3f}", "0.735", "-", False),
    ]


def evidence_ids(questions: list[dict[str, Any]]) -> set[str]:
    """Ids of the turns that questions of LoCoMo name, malformed ones repaired."""
    return {
        f"D{session}:{turn}"
        for question in questions
        for each in question.get("evidence", ())
        for session, turn in _ID.findall(each)
    }


def messages() -> Iterator[Message]:
    """Every turn of LoCoMo and every message of BEAM."""
    judged = set((Path(__file__).parent / "small_talk.txt").read_text(encoding="utf-8").split("\n"))
    sets = json.loads((data() / "locomo/locomo_dev.json").read_text(encoding="utf-8"))
    for each in sets:
        needed = evidence_ids(each["qa"])
        for name, session in each["conversation"].items():
            if name.startswith("session_") and isinstance(session, list):
                for turn in session:
                    key = f"{each['sample_id']} {turn['dia_id']}"
                    yield Message(
                        "LoCoMo",
                        turn["text"],
                        turn["dia_id"] in needed,
                        key in judged,
                        each["sample_id"],
                    )
    for path in sorted((data() / "beam_100k").glob("chat_*.json")):
        probing = path.with_name(path.name.replace("chat", "probing"))
        needed_ids = set(_source_ids(json.loads(probing.read_text(encoding="utf-8"))))
        for batch in json.loads(path.read_text(encoding="utf-8")):
            for turn in (each for turns in batch["turns"] for each in turns):
                source = "BEAM, users" if turn["role"] == "user" else "BEAM, assistants"
                text = turn["content"].partition("->->")[0].strip()
                yield Message(source, text, turn["id"] in needed_ids, False, path.stem)


def _source_ids(found: Any, inside: bool = False) -> Iterator[int]:
    """All numbers below ``source_chat_ids``, however they are nested."""
    if isinstance(found, int) and inside:
        yield found
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from _source_ids(value, inside or key == "source_chat_ids")
    elif isinstance(found, list):
        for value in found:
            yield from _source_ids(value, inside)
