"""Train the head that finds what sentences state; writes ``spector/language/frames/data/head.npz``.

    python -m bench.judge.statements [--check] [--last]

It learns from the facts of the messages of four in five English hands (README.md); by the fifth
ones it learns how sure it may be. ``--check`` prints what it finds in the messages of these, beside
what the frames find, and writes nothing; ``--last`` what the head that ships finds in messages that
were put aside. Deterministic: a fixed seed, one thread. The extra ``[train]`` has what is needed.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.data import json_lines
from bench.judge.hands import TURKISH, digest_of, fitted, halves, keep, rows_of
from spector.language.entities import Seen, split_words
from spector.language.entities.words import AFFIXES, SHAPES, affix_buckets, shape_features
from spector.language.frames import extract
from spector.language.frames.head import (
    FAR,
    HEADS,
    VERSION,
    StatementHead,
    Triple,
    load_statement_head,
)
from spector.language.frames.tagged import LEAST, as_written, tagged_statements
from spector.language.statements import own_words
from spector.observe.resolving import without_questions
from spector.providers import MiniLMEmbedder

F32 = NDArray[np.float32]
Place = tuple[int, int]

OUT: Final = Path(__file__).parents[2] / "spector/language/frames/data/head.npz"
_ASIDE: Final = (
    Path(__file__).parent / "data/later/messages.jsonl",
    Path(__file__).parents[1] / "cognition/voices/last/messages.jsonl",
)
SEED: Final = 0
#: of the hands, by name, each fifth is left out: it says how sure the head may be
_EACH: Final = 5
#: width, words that a word is seen with, width of what points
WIDTH, NEAR, POINTS = 64, 5, 48
EPOCHS, BATCH, RATE, DECAY, DROPOUT, SMOOTHING = 14, 32, 2e-3, 0.02, 0.3, 0.02
#: what subjects, pointers to them and words of predicates weigh beside values
_WEIGHTS: Final = (0.5, 0.3, 0.5)
#: probability from which on triples are counted
_LEAST: Final = 0.15
_PRECISIONS: Final = (0.6, 0.7, 0.75, 0.8, 0.85, 0.88)

# What is learnt: messages as words, and their facts as places of words.

_SPEAKER: Final = frozenset("i me my mine myself we us our ours user".split())
_SMALL: Final = frozenset("my our the a an s his her their your this that its mr mrs ms".split())
_TOKEN: Final = re.compile(r"\w+(?:[-&.]\w+)*|[^\w\s]")
#: "X is the brother of I" is "I has the brother X"
_OF_SPEAKER: Final = re.compile(r"(?:is|was|are|were) (?:the |a |an )?(.+) of")
#: predicates that only name, or say what is: what they are of is the predicate itself
_NAMES: Final = frozenset("is are was were be called named name has have on at in a the".split())
_BE: Final = frozenset("is are was were am 's ’s 'm ’m 're ’re be been im".split())
_ENDS: Final = ("ing", "ies", "ied", "ed", "es", "s", "e")

Fact = tuple[str, str, str]


class Learnt(NamedTuple):
    """A fact as words of its message; the subject is None for who speaks."""

    subject: Place | None
    value: Place
    relation: tuple[int, ...]


class Text(NamedTuple):
    hand: str
    text: str
    words: list[str]
    places: list[Place]
    facts: list[Fact]
    learnt: list[Learnt]

    def said(self, words: Place) -> str:
        return self.text[slice(*_characters(self, words))]


def text_of(row: Mapping[str, Any]) -> Text:
    found = split_words(row["text"])
    facts = [_turned(*each) for each in row["facts"]]
    words, places = [each.text for each in found], [(each.start, each.end) for each in found]
    out = Text(row["hand"], row["text"], words, places, facts, [])
    out.learnt.extend(filter(None, (_learnt(out, fact) for fact in facts)))
    return out


def read() -> list[Text]:
    """The messages of the English hands."""
    return [
        text
        for hand, rows in rows_of("messages").items()
        for text in map(text_of, rows if hand not in TURKISH else ())
        if text.words
    ]


def _turned(subject: str, predicate: str, value: str) -> Fact:
    found = _OF_SPEAKER.fullmatch(predicate.lower())
    if found is None or value.lower() not in _SPEAKER:
        return subject, predicate, value
    return "I", found[1], subject


def _learnt(text: Text, fact: Fact) -> Learnt | None:
    """Where a fact stands: the subject that is nearest to its value."""
    subject, predicate, value = fact
    values = _found(text, value)
    subjects: list[Place | None] = [*_found(text, subject)]
    if not subjects and " " in subject:
        subjects = [*_found(text, subject.split(" ", 1)[1])]
    if subject.lower() in _SPEAKER:
        subjects = [None]
    pairs = [
        (0 if one is None else abs(one[0] - other[0]), n, one, other)
        for n, (one, other) in enumerate((one, other) for one in subjects for other in values)
        if one is None or one[1] <= other[0] or other[1] <= one[0]
    ]
    if not pairs:
        return None
    _, _, one, other = min(pairs, key=lambda each: each[:2])
    free = [
        n for n in range(len(text.words))
        if not other[0] <= n < other[1] and not (one and one[0] <= n < one[1])
    ]  # fmt: skip
    relation = set()
    for word in map(_stem, re.findall(r"[\w'’]+", predicate)):
        same = [n for n in free if _stem(text.words[n]) == word]
        if same:
            relation.add(min(same, key=lambda n: min(abs(n - other[0]), abs(n - other[1] + 1))))
    return Learnt(one, other, tuple(sorted(relation)))


def _found(text: Text, said: str) -> list[Place]:
    """Words of a text that are these; whole words where there are any."""
    found = list(re.finditer(re.escape(said), text.text)) or list(
        re.finditer(re.escape(said), text.text, re.IGNORECASE)
    )
    whole = [
        each
        for each in found
        if not text.text[each.start() - 1 : each.start() + 1].isalnum() or each.start() == 0
        if not text.text[each.end() - 1 : each.end() + 1].isalnum() or each.end() == len(text.text)
    ]
    out = []
    for each in whole or found:
        meets = [n for n, (a, b) in enumerate(text.places) if a < each.end() and each.start() < b]
        if meets:
            out.append((meets[0], meets[-1] + 1))
    return out


def _stem(word: str) -> str:
    word = word.lower()
    if word in _BE:
        return "be"
    end = next((e for e in _ENDS if word.endswith(e) and len(word) - len(e) >= 2), "")
    return word.removesuffix(end)


# When a triple is one of the hand's: the same subject, and half of the words of the value.


def matches(facts: Sequence[Fact], found: Sequence[tuple[str, str, str, float]]) -> list[bool]:
    """Whether each (subject, predicate, value, probability) is a fact, the surest first; a fact is
    found once."""
    left, out = list(facts), [False] * len(found)
    for n in sorted(range(len(found)), key=lambda n: -found[n][3]):
        subject, predicate, value, _ = found[n]
        for fact in left:
            same = _is_same(fact[0], subject) or _is_role(fact, subject, predicate)
            if same and _share_half(fact[2], value):
                out[n] = True
                left.remove(fact)
                break
    return out


def _key(subject: str) -> frozenset[str]:
    """The words that name a subject; none for who speaks."""
    words = _TOKEN.findall(subject.lower().replace("’", "'").replace("'s", ""))
    return frozenset(each for each in words if each not in _SMALL | _SPEAKER)


def _is_same(one: str, other: str) -> bool:
    a, b = _key(one), _key(other)
    return 2 * len(a & b) >= min(len(a), len(b)) and bool(a & b) if a and b else a == b


def _is_role(fact: Fact, subject: str, predicate: str) -> bool:
    """Whether "user, brother, Jon" says what "my brother, is called, Jon" does."""
    if _key(subject) or not _key(fact[0]) or not predicate:
        return False
    names = frozenset(_TOKEN.findall(fact[1].lower())) <= _NAMES
    return names and bool(_key(predicate.replace("_", " "))) and _is_same(
        predicate.replace("_", " "), fact[0]
    )  # fmt: skip


def _share_half(one: str, other: str) -> bool:
    a, b = (Counter(_TOKEN.findall(each.lower())) for each in (one, other))
    for article in ("the", "a", "an"):
        del a[article], b[article]
    return 2 * (a & b).total() >= max(a.total(), b.total()) > 0


# The network, as `StatementHead` runs it.


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as missing:
        raise SystemExit(f'training needs {missing.name}: pip install -e ".[train]"') from None
    torch.set_num_threads(1)
    return torch


class Rows(NamedTuple):
    """The words of all texts in one table, and where each text begins; the last row is none."""

    vectors: Any
    shapes: Any
    affixes: Any
    starts: NDArray[np.int64]
    means: Any


def rows_of_words(torch: Any, texts: Sequence[Text], vectors: Sequence[F32]) -> Rows:
    none = [AFFIXES] * 5
    affixes = [
        [*affix_buckets(word), *none][:5] for text in texts for word in text.words
    ]  # fmt: skip
    shapes = [shape_features(text.words) for text in texts]
    return Rows(
        torch.from_numpy(np.vstack([*vectors, np.zeros((1, vectors[0].shape[1]), np.float32)])),
        torch.from_numpy(np.vstack([*shapes, np.zeros((1, SHAPES), np.float32)])),
        torch.tensor([*affixes, none]),
        np.cumsum([0, *map(len, vectors)]),
        torch.from_numpy(np.vstack([each.mean(axis=0) for each in vectors])),
    )


def network(torch: Any, dim: int) -> Any:
    nn = torch.nn
    dense = {
        "vectors": (dim, WIDTH), "near": (NEAR * WIDTH, WIDTH), "attention": (WIDTH, 3 * WIDTH),
        "told": (WIDTH, WIDTH), "tags": (WIDTH, 3), "subjects": (WIDTH, 3),
        "asks_subject": (2 * WIDTH, POINTS), "is_subject": (WIDTH, POINTS),
        "speaks": (2 * WIDTH, 1), "asks_relation": (2 * WIDTH, POINTS),
        "is_relation": (WIDTH, POINTS), "relates": (WIDTH, 1),
    }  # fmt: skip
    net = nn.Module()
    for name, (inputs, outputs) in dense.items():
        net.add_module(name, nn.Linear(inputs, outputs))
    net.add_module("sentence", nn.Linear(dim, WIDTH, bias=False))
    net.add_module("shapes", nn.Linear(SHAPES, WIDTH, bias=False))
    net.add_module("affixes", nn.EmbeddingBag(AFFIXES + 1, WIDTH, mode="sum", padding_idx=AFFIXES))
    nn.init.normal_(net.affixes.weight, 0, 0.05)
    for name in ("first", "second", "third"):
        net.add_module(name, nn.LayerNorm(WIDTH))
    for name, size in {
        "distances": (HEADS, 2 * FAR + 1), "subject_at": (2 * FAR + 1,),
        "relation_at": (2 * FAR + 1,), "speaker": (1, POINTS),
    }.items():  # fmt: skip
        net.register_parameter(name, nn.Parameter(torch.zeros(size)))
    return net


def states_of(torch: Any, net: Any, rows: Rows, at: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    """(texts, n, WIDTH) states of words, which of them there are, and how far they are apart."""
    functional = torch.nn.functional
    starts, sizes = rows.starts[at], rows.starts[at + 1] - rows.starts[at]
    n = int(sizes.max())
    real = np.arange(n) < sizes[:, None]
    own = torch.from_numpy(np.where(real, starts[:, None] + np.arange(n), rows.starts[-1]))
    mask = torch.from_numpy(real)
    far = torch.from_numpy(np.clip(np.arange(n) - np.arange(n)[:, None], -FAR, FAR) + FAR)

    def dropped(x: Any, share: float = DROPOUT) -> Any:
        return functional.dropout(x, share, net.training)

    affixes = net.affixes(rows.affixes[own].view(-1, 5)).view(len(at), n, WIDTH)
    x = net.vectors(dropped(rows.vectors[own], 0.2)) + net.shapes(rows.shapes[own])
    x = x + net.sentence(dropped(rows.means[torch.from_numpy(at)], 0.2))[:, None]
    x = dropped(net.first(x + dropped(affixes, 0.2)).relu()) * mask[..., None]
    reach = NEAR // 2
    padded = functional.pad(x, (0, 0, reach, reach))
    near = torch.cat([padded[:, each : each + n] for each in range(NEAR)], -1)
    x = net.second(x + dropped(net.near(near).relu())) * mask[..., None]
    query, key, value = net.attention(x).view(len(at), n, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
    odds = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + net.distances[:, far]
    shares = odds.masked_fill(~mask[:, None, None], -1e4).softmax(-1)
    told = (shares @ value).transpose(1, 2).reshape(len(at), n, WIDTH)
    x = net.third(x + dropped(net.told(told))) * mask[..., None]
    return x, mask, far


def _loss(torch: Any, net: Any, rows: Rows, texts: Sequence[Text], at: NDArray[np.int64]) -> Any:
    functional = torch.nn.functional
    x, mask, far = states_of(torch, net, rows, at)
    n = x.shape[1]
    learnt = [(k, each) for k, which in enumerate(at.tolist()) for each in texts[which].learnt]
    tags, subjects = np.zeros((2, len(at), n), np.int64)
    for k, each in sorted(learnt, key=lambda one: one[1].value[1] - one[1].value[0]):
        for place, kept in ((each.value, tags), (each.subject, subjects)):
            if place is not None and not kept[k, slice(*place)].any():
                kept[k, slice(*place)] = 2
                kept[k, place[0]] = 1
    of_subjects, of_pointers, of_relations = _WEIGHTS
    loss = functional.cross_entropy(
        net.tags(x)[mask], torch.from_numpy(tags)[mask], label_smoothing=SMOOTHING
    )
    loss = loss + of_subjects * functional.cross_entropy(
        net.subjects(x)[mask], torch.from_numpy(subjects)[mask]
    )
    if not learnt:
        return loss
    whose = torch.tensor([k for k, _ in learnt])
    first = torch.tensor([each.value[0] for _, each in learnt])
    last = torch.tensor([each.value[1] - 1 for _, each in learnt])
    ends = torch.cat([x[whose, first], x[whose, last]], -1)
    size = math.sqrt(POINTS)
    asked, seen = net.asks_subject(ends), mask[whose]
    odds = torch.einsum("pd,pnd->pn", asked, net.is_subject(x)[whose]) / size
    odds = (odds + net.subject_at[far[first]]).masked_fill(~seen, -1e4)
    odds = torch.cat([odds, asked @ net.speaker.T / size + net.speaks(ends)], 1).log_softmax(-1)
    right = [
        odds[k, -1] if each.subject is None else odds[k, slice(*each.subject)].logsumexp(0)
        for k, (_, each) in enumerate(learnt)
    ]
    relation = torch.einsum("pd,pnd->pn", net.asks_relation(ends), net.is_relation(x)[whose])
    relation = relation / size + net.relation_at[far[first]] + net.relates(x)[whose][..., 0]
    wanted = torch.zeros_like(relation)
    for k, (_, each) in enumerate(learnt):
        wanted[k, list(each.relation)] = 1
    said = functional.binary_cross_entropy_with_logits(relation[seen], wanted[seen])
    return loss - of_pointers * torch.stack(right).mean() + of_relations * said


def train(
    texts: Sequence[Text],
    vectors: Sequence[F32],
    fingerprint: str,
    *,
    epochs: int = EPOCHS,
    seed: int = SEED,
) -> StatementHead:
    torch = _torch()
    torch.manual_seed(seed)
    chance = np.random.default_rng(seed)
    rows, net = rows_of_words(torch, texts, vectors), network(torch, vectors[0].shape[1])
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=DECAY)
    steps = epochs * math.ceil(len(texts) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=steps, pct_start=0.1
    )
    sizes = np.diff(rows.starts)
    for _ in range(epochs):
        order = np.argsort(sizes + chance.random(len(sizes)) * 8, kind="stable")
        for at in chance.permutation(np.arange(0, len(order), BATCH)).tolist():
            optimizer.zero_grad()
            _loss(torch, net, rows, texts, order[at : at + BATCH]).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return StatementHead(_weights(net), fingerprint)


def _weights(net: Any) -> dict[str, F32]:
    """The weights as the head has them, in half precision as they are kept."""
    out = {}
    for name, tensor in net.state_dict().items():
        layer, _, part = name.partition(".")
        norm = layer in ("first", "second", "third")
        ending = {"": "", "weight": "_scale" if norm else "", "bias": "_shift" if norm else "_bias"}
        out[layer + ending[part]] = tensor.numpy().astype(np.float16).astype(np.float32)
    out["affixes"] = out["affixes"][:AFFIXES]
    return out


# Figures, on hands left out.

Found = list[tuple[str, str, str, float]]


def said_of(text: Text, found: Sequence[Triple]) -> Found:
    """What a head finds, as words."""
    return [
        (
            "I" if each.subject is None else text.said(each.subject),
            " ".join(text.words[at] for at in each.relation),
            text.text[slice(*as_written(text.text, _characters(text, each.value)))],
            each.probability,
        )
        for each in found
    ]


def _characters(text: Text, words: Place) -> Place:
    return text.places[words[0]][0], text.places[words[1] - 1][1]


def filed_by(
    head: StatementHead, texts: Sequence[Text], vectors: Sequence[F32], least: float
) -> list[Found]:
    """What is filed of each text: neither of its questions and quotations, nor under a veto."""
    out: list[Found] = []
    for text, own in zip(texts, vectors, strict=True):
        read = without_questions(own_words(text.text))
        rows = {start: own[n] for n, (start, _) in enumerate(text.places)}
        words = tuple(each for each in split_words(read) if each.start in rows)
        seen = Seen(words, np.array([rows[each.start] for each in words], np.float32))
        found = tagged_statements(read, seen, head, least=least) if words else []
        out.append([_words_of(each.statement) for each in found])
    return out


def found_by_frames(texts: Sequence[Text]) -> list[Found]:
    return [[_words_of(each) for each in extract(text.text)] for text in texts]


def _words_of(stated: Any) -> tuple[str, str, str, float]:
    subject = stated.subject.replace("user's ", "")
    return subject, stated.predicate, stated.object, stated.confidence


def signs_of(
    head: StatementHead, texts: Sequence[Text], vectors: Sequence[F32]
) -> list[tuple[F32, list[bool]]]:
    """Of each text the signs of all that may be stated there, and whether its hand says the same."""
    found = (head.candidates(each.words, own) for each, own in zip(texts, vectors, strict=True))
    return [
        (signs, matches(text.facts, said_of(text, triples)))
        for text, (triples, signs) in zip(texts, found, strict=True)
    ]


def sure(found: Sequence[tuple[F32, list[bool]]]) -> F32:
    """What signs weigh, by texts that the head did not learn from."""
    signs, right = np.vstack([each[0] for each in found]), [each[1] for each in found]
    return fitted(signs.astype(np.float64), np.concatenate(right) > 0).astype(np.float32)


def filed_unseen(head: StatementHead, texts: Sequence[Text], vectors: Sequence[F32]) -> list[Found]:
    """What is filed of hands that neither the head nor what says how sure it is has seen."""
    found = signs_of(head, texts, vectors)
    out: list[Found] = []
    for hand in dict.fromkeys(each.hand for each in texts):
        others = sure([own for own, text in zip(found, texts, strict=True) if text.hand != hand])
        one = replace(head, weights={**head.weights, "sure": others})
        own = [n for n, text in enumerate(texts) if text.hand == hand]
        out += filed_by(one, [texts[n] for n in own], [vectors[n] for n in own], _LEAST)
    return out


def figures(
    name: str, texts: Sequence[Text], found: Sequence[Found], least: float = 0.0
) -> Iterator[str]:
    """Rows of the table: of what is as sure as that, then recall at each precision."""
    pairs = [
        (one[3], right)
        for text, own in zip(texts, found, strict=True)
        for one, right in zip(own, matches(text.facts, own), strict=True)
    ]
    pairs.sort(key=lambda each: -each[0])
    right = np.cumsum([each[1] for each in pairs])
    precision = right / np.arange(1, len(pairs) + 1)
    recall = right / sum(len(each.facts) for each in texts)
    n = sum(each[0] >= least for each in pairs)
    yield f"| {name} | {n} | {precision[n - 1]:.3f} | {recall[n - 1]:.3f} |"
    for wanted in _PRECISIONS:
        enough = np.flatnonzero(precision >= wanted)
        if enough.size and (at := int(enough[-1])) > 20:
            yield f"| – precision {wanted} | from {pairs[at][0]:.3f} | | {recall[at]:.3f} |"


def digest() -> str:
    """SHA-256 of the data."""
    return digest_of(rows_of("messages"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print the figures, write nothing")
    parser.add_argument("--last", action="store_true", help="figures of messages put aside")
    args = parser.parse_args(arguments)
    embedder = MiniLMEmbedder()
    if args.last:
        head = load_statement_head()
        assert head is not None
        for path in _ASIDE:
            texts = [text_of({"hand": "", "facts": [], **each}) for each in json_lines(path)]
            vectors = embedder.word_vectors_of([each.words for each in texts])
            print(path.parent.name)
            print(*figures("frames", texts, found_by_frames(texts)), sep="\n")
            found = filed_by(head, texts, vectors, _LEAST)
            print(*figures("head", texts, found, LEAST), sep="\n", flush=True)
        return
    texts = read()
    vectors = [
        each.astype(np.float16).astype(np.float32)
        for each in embedder.word_vectors_of([text.words for text in texts])
    ]
    aside = sorted({each.hand for each in texts})[::_EACH]
    seen, left = (
        [n for n, text in enumerate(texts) if (text.hand in aside) == is_left]
        for is_left in (False, True)
    )
    head = train([texts[n] for n in seen], [vectors[n] for n in seen], embedder.fingerprint)
    write(head, [texts[n] for n in left], [vectors[n] for n in left], kept=not args.check)


def write(
    head: StatementHead, texts: Sequence[Text], vectors: Sequence[F32], *, kept: bool = True
) -> None:
    """Print the figures of hands that a head has not seen, and keep it with how sure it is."""
    print("| messages of hands left out | found | precision | recall |\n|---|--:|--:|--:|")
    print(*figures("frames", texts, found_by_frames(texts)), sep="\n")
    found = filed_unseen(head, texts, vectors)
    print(*figures("head", texts, found, LEAST), sep="\n", flush=True)
    if not kept:
        return
    about = {"version": VERSION, "sha256": digest(), "fingerprint": head.fingerprint}
    weights = {**head.weights, "sure": sure(signs_of(head, texts, vectors))}
    keep(OUT, about, halves(weights))


if __name__ == "__main__":
    main()
