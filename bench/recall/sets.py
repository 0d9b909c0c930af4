"""Reading the public sets into one shape. Nothing is dropped in silence: see ``DataSet.notes``."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.data import data_root, json_lines
from bench.recall.shape import DataSet, Item, Question, Store

#: LoCoMo's numbers for its kinds of questions
LOCOMO_CATEGORIES: Final = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
#: questions come a day after the last word was spoken
_LATER: Final = timedelta(days=1)
#: turns of a session are this far apart, because only sessions have a time
_TURN: Final = timedelta(seconds=30)
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
#: what BEAM's generator left at the end of a message: " ->-> 1,2"
_LEFTOVER: Final = "->->"
#: of the preferences that are put into chats, and how often each chat is told
_SEED: Final = 27
_ROUNDS: Final = 2
_SPOKEN = re.compile(r'^<(?P<who>[^>]+)>:\s*"?(?P<what>.*?)"?\s*$', re.DOTALL)


class NoDataError(Exception):
    """The sets are not on this machine."""


def load(name: str, root: Path | None = None) -> DataSet:
    """One set by its name in ``LOADERS``."""
    root = root or data_root()
    if not root.is_dir():
        raise NoDataError(f"no data at {root}; set SPECTOR_DATA to the folder of the sets")
    return LOADERS[name](root)


# -- LoCoMo -----------------------------------------------------------------------------------


def locomo_turns(root: Path) -> DataSet:
    """Every turn is an item, gold is the turns that the evidence names."""
    stores, questions, notes = [], [], []
    for talk in json.loads((root / "locomo" / "locomo_dev.json").read_text(encoding="utf-8")):
        name, items = talk["sample_id"], tuple(_turns_of(talk))
        stores.append(Store(name, items))
        for n, asked in enumerate(talk["qa"]):
            gold, faults = repaired(asked["evidence"], {item.id for item in items})
            notes += [f"{name}-{n}: {each}" for each in faults]
            category, now = LOCOMO_CATEGORIES[asked["category"]], stores[-1].until() + _LATER
            questions.append(
                Question(f"{name}-{n}", name, asked["question"], category, gold, now, name)
            )
    return DataSet("locomo", "LoCoMo, turns", tuple(stores), tuple(questions), tuple(notes))


def _turns_of(talk: dict[str, Any]) -> Iterator[Item]:
    """The turns of all sessions in order; a shared picture is told by its caption."""
    order = 0
    for name, turns in _sessions_of(talk["conversation"]):
        begin = datetime.strptime(
            talk["conversation"][f"{name}_date_time"], "%I:%M %p on %d %B, %Y"
        ).replace(tzinfo=UTC)
        for n, turn in enumerate(turns):
            caption = turn.get("blip_caption")
            yield Item(
                id=turn["dia_id"],
                text=" ".join([turn["text"], *([f"[shares {caption}]"] if caption else [])]),
                speaker=turn["speaker"],
                session=name.replace("session_", "D"),
                time=begin + n * _TURN,
                order=order,
            )
            order += 1


def _sessions_of(conversation: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    named = re.compile(r"session_(\d+)")
    found = [
        (int(match[1]), name, turns)
        for name, turns in conversation.items()
        if (match := named.fullmatch(name)) and turns
    ]
    return [(name, turns) for _, name, turns in sorted(found, key=lambda each: each[0])]


def repaired(evidence: list[str], known: set[str]) -> tuple[tuple[str, ...], list[str]]:
    """Turn ids that an evidence list means, and what had to be repaired to read them.

    Seen: several ids in one string ("D8:6; D9:17"), a leading zero ("D30:05"), a colon too many
    ("D:11:26"), ids that no turn has.
    """
    gold: dict[str, None] = {}
    notes = []
    for text in evidence:
        found = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(text)]
        if found != [text]:
            notes.append(f"evidence {text!r} read as {found}")
        for each in found:
            if each in known:
                gold[each] = None
            else:
                notes.append(f"evidence {each} names no turn")
    return tuple(gold), notes


# -- BEAM -------------------------------------------------------------------------------------


def beam(root: Path) -> DataSet:
    """Every message is an item; ten abilities, of which abstention has no gold."""
    stores, questions = [], []
    paths = (root / "beam_100k").glob("chat_*.json")
    for path in sorted(paths, key=lambda each: int(each.stem.removeprefix("chat_"))):
        name = f"beam-{path.stem.removeprefix('chat_')}"
        items = tuple(_messages_of(json.loads(path.read_text(encoding="utf-8"))))
        stores.append(Store(name, items))
        asked = path.with_name(path.name.replace("chat_", "probing_"))
        probes = json.loads(asked.read_text(encoding="utf-8"))
        now = stores[-1].until() + _LATER
        for ability, listed in probes.items():
            for n, probe in enumerate(listed):
                gold = dict.fromkeys(str(each) for each in _leaves(probe.get("source_chat_ids")))
                id_, kind = f"{name}-{ability}-{n}", ability.replace("_", " ")
                questions.append(
                    Question(id_, name, probe["question"], kind, tuple(gold), now, name)
                )
    return DataSet("beam", "BEAM, messages", tuple(stores), tuple(questions))


def _messages_of(batches: list[dict[str, Any]]) -> Iterator[Item]:
    """Messages in order. A batch is a session; its first message carries its date."""
    order = 0
    for batch in batches:
        messages = [message for turn in batch["turns"] for message in turn]
        anchors = [each["time_anchor"] for each in messages if each.get("time_anchor")]
        begin = datetime.strptime(anchors[0], "%B-%d-%Y").replace(tzinfo=UTC) if anchors else None
        for n, message in enumerate(messages):
            yield Item(
                id=str(message["id"]),
                text=message["content"].partition(_LEFTOVER)[0].strip(),
                speaker=message["role"],
                session=f"batch-{batch['batch_number']}",
                time=begin + n * _TURN if begin else None,
                order=order,
            )
            order += 1


def _leaves(value: Any) -> Iterator[Any]:
    """What nested lists and dictionaries hold in the end."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None:
        yield value


# -- MADial, PrefEval ------------------------------------------------------------------------------


def madial(root: Path, *, named: bool = False) -> DataSet:
    """160 dated memories in one store; the cue is what was said before the turn under test.

    Without who said it that is harder than the set is meant: two people talk to one assistant, 36
    dialogues are Bart's and 44 Lisa's, and the memories are of both ("Bart danced at the Christmas
    party"). ``named``: with the speaker before each turn of the cue, as the set's turns have it.
    """
    set_name = "madial-named" if named else "madial"
    items = []
    for line in json_lines(root / "madial" / "memory_en.jsonl"):
        for number, memory in line.items():
            time = datetime.fromisoformat(memory["time"]).replace(tzinfo=UTC)
            items.append((time, int(number), memory["event"]))
    items.sort()
    store = Store(
        "madial",
        tuple(
            Item(str(number), text, "", time.date().isoformat(), time, order)
            for order, (time, number, text) in enumerate(items)
        ),
    )
    known = {item.id for item in store.items}
    questions, notes = [], []
    for n, talk in enumerate(json_lines(root / "madial" / "dialogue_en.jsonl")):
        gold = tuple(dict.fromkeys(str(each) for each in talk["relevant-id"]))
        lost = [each for each in gold if each not in known]
        if lost:
            notes.append(f"madial-{n}: no memory {', '.join(lost)}")
        id_, cue = f"madial-{n}", spoken(talk["dialogue"], named, talk["test-turn"][0])
        gold = tuple(each for each in gold if each in known)
        now = store.until() + _LATER
        questions.append(Question(id_, "madial", cue, "associative", gold, now, id_))
    title = "MADial, memories" + (" (cue with names)" if named else " (cue without names)")
    return DataSet(set_name, title, (store,), tuple(questions), tuple(notes))


def spoken(turns: list[str], named: bool, count: int | None = None) -> str:
    """The first ``count`` turns like ``<Bart>: "Hey."`` as lines ``Hey.`` or ``Bart: Hey.``.

    Begin and end are no turns. Some have no speaker ('"Wow."', "<Great!>"): it is who speaks in the
    other turns of their parity, for two speak by turns.
    """
    found = [_SPOKEN.match(turn.strip()) for turn in turns]
    by_parity = {n % 2: match["who"] for n, match in enumerate(found) if match}
    lines = []
    for n, (turn, match) in enumerate(zip(turns[:count], found, strict=False)):
        if turn.strip() in ("<BOD>", "<EOD>"):
            continue
        who = match["who"] if match else by_parity.get(n % 2, "")
        what = match["what"] if match else turn.strip().strip('<>"')
        lines.append(f"{who}: {what}" if named and who else what)
    return "\n".join(lines)


def prefeval(root: Path) -> DataSet:
    """All preferences in one store; the cue is a request that conflicts with one of them."""
    items: list[Item] = []
    questions = []
    for path in sorted((root / "prefeval").glob("*.json")):
        for n, pair in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            name = f"{path.stem}-{n}"
            # nothing is said about when, and each was said in a conversation of its own
            items.append(Item(name, pair["preference"], "", name, None, len(items)))
            questions.append(
                Question(name, "prefeval", pair["question"], path.stem, (name,), None, path.stem)
            )
    store = Store("prefeval", tuple(items))
    return DataSet("prefeval", "PrefEval, preferences", (store,), tuple(questions))


def prefeval_chat(root: Path) -> DataSet:
    """Ten preferences, one of each topic, among the messages of a BEAM chat.

    Two times ten stores and 200 requests; a group is a topic. The plain set asks which of five
    hundred people's preferences a request touches, and many fit as well. A user has one of each
    topic, said somewhere in months of other talk.
    """
    topics = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((root / "prefeval").glob("*.json"))
    }
    draw = random.Random(_SEED)
    for pairs in topics.values():
        draw.shuffle(pairs)
    stores, questions = [], []
    for number in range(_ROUNDS):
        for n, chat in enumerate(beam(root).stores):
            name = f"{chat.name}-{number}"
            at = number * 10 + n
            said = {topic: pairs[at % len(pairs)] for topic, pairs in topics.items()}
            stores.append(_with(chat, name, {t: p["preference"] for t, p in said.items()}, draw))
            last = chat.until()
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


LOADERS: Final[dict[str, Callable[[Path], DataSet]]] = {
    "locomo": locomo_turns,
    "beam": beam,
    "madial": madial,
    "madial-named": partial(madial, named=True),
    "prefeval": prefeval,
    "prefeval-chat": prefeval_chat,
}
