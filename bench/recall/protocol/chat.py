"""PrefEval in a chat: ten preferences, one of each topic, among the messages of a BEAM chat.

The plain set asks which of five hundred people's preferences a request touches, and many fit as
well. A user has one of each topic, said somewhere in months of other talk.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.recall.sets import beam
from bench.recall.shape import DataSet, Item, Question, Store

__all__ = ["prefeval_chat"]

SEED: Final = 27
#: chats are told this often, each time with other preferences
ROUNDS: Final = 2


def prefeval_chat(root: Path) -> DataSet:
    """Two times ten stores and 200 requests; a group is a topic."""
    topics = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((root / "prefeval").glob("*.json"))
    }
    draw = random.Random(SEED)
    for pairs in topics.values():
        draw.shuffle(pairs)
    stores, questions = [], []
    for number in range(ROUNDS):
        for n, chat in enumerate(beam(root).stores):
            name = f"{chat.name}-{number}"
            at = number * 10 + n
            said = {topic: pairs[at % len(pairs)] for topic, pairs in topics.items()}
            stores.append(_with(chat, name, {t: p["preference"] for t, p in said.items()}, draw))
            last = max(item.time for item in chat.items if item.time is not None)
            questions += [
                Question(f"{name}-{topic}", name, pair["question"], topic, (topic,), last, topic)
                for topic, pair in said.items()
            ]
    return DataSet("prefeval-chat", "PrefEval in a chat", tuple(stores), tuple(questions))


def _with(chat: Store, name: str, said: dict[str, str], draw: random.Random) -> Store:
    """The chat with each text as a message of the user, before a message of the user's."""
    items = list(chat.items)
    places = [n for n, item in enumerate(items) if item.speaker == "user"]
    chosen = zip(draw.sample(places, len(said)), said.items(), strict=True)
    for place, (topic, text) in sorted(chosen, reverse=True):  # the last first: places stay
        before = items[place]
        items.insert(place, Item(topic, text, "user", before.session, before.time, 0))
    return Store(name, tuple(replace(item, order=n) for n, item in enumerate(items)))
