"""Train the judge of pairs, a small head over the embedder's words. ``make train-judge``.

    python -m bench.judge.train [--hands N ...]

Prints what the folds, which leave hands out, find on hands, and the models of all hands on voices;
``--hands`` prints the same of fewer hands. The extra ``[train]`` has what is needed. No network.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError as missing:
    raise SystemExit(f'training needs {missing.name}: pip install -e ".[train]"') from None

from bench.judge.hands import TURKISH, UNBALANCED, auc, fitted, pairs_of, replaces
from spector.language.observing import is_hedged, tells_of_change, tells_of_more
from spector.observe.gate import RuleJudge
from spector.providers import MiniLMEmbedder
from spector.records import RELATIONS, Statement

__all__ = ["Judge", "Seen", "english", "seen_of", "wrong_pairs"]

FOLDS, EPOCHS, BATCH, RATE, DECAY, SMOOTHING = 5, 6, 64, 2e-3, 0.05, 0.05
WIDTH, LAYERS, HEADS, SEED = 96, 2, 4, 0
#: words of a text that are read, and dimensions of a word's state that are kept
MOST_WORDS, STATES = 96, 128
#: what a pair of a hand counts whose lengths and shared words differ by relation
_UNBALANCED_WEIGHT: Final = 0.6
#: likeness of an older message from which on it may be about the same, and is no wrong one
_SAME: Final = 0.75
_VETOES: Final = (
    "another subject", "of the past", "nothing in common", "says more", "not asserted",
)  # fmt: skip
_WORD: Final = re.compile(r"\w+(?:['’]\w+)?|[^\w\s]")
_VOICES: Final = Path(__file__).parents[1] / "cognition" / "voices"
_FALSE: Final = (0.005, 0.02, 0.05, 0.10)
_BEGIN, _LATER = datetime(2026, 3, 2, 10, tzinfo=UTC), timedelta(days=5)

Row = dict[str, Any]
F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Seen:
    """Pairs as the head sees them.

    Attributes:
        words: of each text, (n, 384) f32 with a last column that says whether the other has it.
        signs: (n, d) f32: cues, vetoes, likeness, how well the words meet.
        cues: how many columns of ``signs`` are cues, vetoes and likeness.
    """

    words: list[tuple[F32, F32]]
    signs: F32
    cues: int


def english() -> dict[str, list[Row]]:
    """Hand -> its pairs, without the Turkish ones."""
    return {hand: rows for hand, rows in pairs_of().items() if hand not in TURKISH}


def wrong_pairs(rows: Sequence[Row]) -> list[Row]:
    """Each new message of one hand with the nearest older one that it is not about."""
    embed = MiniLMEmbedder(threads=1).embed
    alike = embed([row["new"] for row in rows]) @ embed([row["old"] for row in rows]).T
    np.fill_diagonal(alike, -1)
    alike[alike > _SAME] = -1
    return [
        {"old": rows[at]["old"], "new": row["new"], "relation": "apart", "hand": row["hand"]}
        for row, at in zip(rows, alike.argmax(1), strict=True)
    ]


def seen_of(rows: Sequence[Row]) -> Seen:
    """What the head sees of pairs of texts."""
    texts = sorted({row[side] for row in rows for side in ("old", "new")})
    split = {text: _WORD.findall(text)[:MOST_WORDS] for text in texts}
    embedder, rules = MiniLMEmbedder(threads=1), RuleJudge()
    states = dict(zip(texts, embedder.word_vectors_of(list(split.values())), strict=True))
    whole = dict(zip(texts, embedder.embed(texts), strict=True))
    words, signs, cues = [], [], 0
    for row in rows:
        old, new = row["old"], row["new"]
        first, second = ({word.lower() for word in split[text]} for text in (old, new))
        words.append(
            (_marked(states[old], split[old], second), _marked(states[new], split[new], first))
        )
        said = Statement(text=old, time=_BEGIN), Statement(text=new, time=_BEGIN + _LATER)
        vetoes = rules.judgement(*said, None, "").vetoes
        own = [
            tells_of_change(new), tells_of_change(old), tells_of_more(new), is_hedged(new),
            *(each in vetoes for each in _VETOES),
            whole[old] @ whole[new], len(split[old]) / 20, len(split[new]) / 20,
        ]  # fmt: skip
        cues = len(own)
        signs.append([*map(float, own), *_met(states[old], states[new])])
    return Seen(words, np.array(signs, np.float32), cues)


def _marked(states: F32, own: Sequence[str], other: AbstractSet[str]) -> F32:
    return np.column_stack([states, [word.lower() in other for word in own]]).astype(np.float32)


def _met(old: F32, new: F32) -> list[float]:
    """How well each word of one text finds a like one in the other: means, extremes, shares."""
    one, other = (x / np.maximum(1e-6, np.linalg.norm(x, axis=1))[:, None] for x in (old, new))
    alike = one @ other.T
    out: list[float] = []
    for best in (np.sort(alike.max(1)), np.sort(alike.max(0))):
        out += [best.mean(), best[0], best[min(1, len(best) - 1)], best[-1], best.std()]
        out += [(best < 0.5).mean(), (best > 0.8).mean(), (best < 0.35).sum()]
    return out


class Head(nn.Module):
    """Attention over the words of both texts; (n, 5) logits of `RELATIONS` from their means and
    the signs of the pair."""

    def __init__(self, signs: int) -> None:
        super().__init__()
        self.inner, self.norm = nn.Linear(STATES + 1, WIDTH), nn.LayerNorm(WIDTH)
        self.side = nn.Parameter(torch.randn(2, WIDTH) * 0.1)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                WIDTH, HEADS, 2 * WIDTH, 0.2, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(LAYERS)
        )
        self.out = nn.Linear(3 * WIDTH + signs, len(RELATIONS))

    def forward(self, words: Tensor, sides: Tensor, signs: Tensor) -> Tensor:
        """Args: sides: (n, t): 0 for the older text, 1 for the newer one, -1 behind the end."""
        x = functional.dropout(words, 0.1, self.training)
        x = self.norm(self.inner(x) + self.side[sides.clamp(min=0)])
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=sides < 0)
        masks = ((sides == side).float()[:, :, None] for side in (0, 1))
        old, new = ((x * mask).sum(1) / mask.sum(1).clamp(min=1) for mask in masks)
        seen = functional.dropout(torch.cat([old, new, new - old], 1), 0.2, self.training)
        found: Tensor = self.out(torch.cat([seen, signs], 1))
        return found


class Judge:
    """A head and a logistic regression of the cues, fitted on pairs.

    Args:
        most_steps: of training; None for all.
    """

    def __init__(self, rows: Sequence[Row], seen: Seen, most_steps: int | None = None) -> None:
        states = np.concatenate([text[:, :-1] for pair in seen.words for text in pair])
        self._mean = states.mean(0)
        spread, axes = np.linalg.eigh(np.cov((states - self._mean)[::3].T))
        self._axes = (axes / np.sqrt(spread + 0.1 * spread.mean()))[:, ::-1][:, :STATES]
        self._middle, self._scale = seen.signs.mean(0), seen.signs.std(0) + 1e-3
        weights = np.array([_UNBALANCED_WEIGHT if r["hand"] in UNBALANCED else 1.0 for r in rows])
        told = np.array(["id" in row for row in rows])  # wrong pairs say nothing of cues
        self._cues = fitted(
            _cues(self._signs(seen), seen.cues)[told],
            np.array([replaces(row) for row in rows])[told],
        )
        self.losses: list[float] = []
        self._head = self._trained(rows, seen, weights, most_steps)

    def _signs(self, seen: Seen) -> F32:
        return np.asarray((seen.signs - self._middle) / self._scale, np.float32)

    def _words(self, seen: Seen) -> list[tuple[Tensor, Tensor]]:
        """Words and sides of each pair."""
        out = []
        for pair in seen.words:
            both = np.concatenate(pair)
            states = np.column_stack([(both[:, :-1] - self._mean) @ self._axes, both[:, -1]])
            sides = torch.tensor([n for n, text in enumerate(pair) for _ in text])
            out.append((torch.from_numpy(states.astype(np.float32)), sides))
        return out

    def _trained(
        self, rows: Sequence[Row], seen: Seen, weights: Any, most_steps: int | None
    ) -> Head:
        torch.manual_seed(SEED)
        order, words = np.random.default_rng(SEED), self._words(seen)
        head, signs = Head(seen.signs.shape[1]), torch.from_numpy(self._signs(seen))
        labels = torch.tensor([RELATIONS.index(row["relation"]) for row in rows])
        counts = torch.tensor(weights, dtype=torch.float32)
        lengths = np.array([len(sides) for _, sides in words])
        optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=DECAY)
        steps = EPOCHS * math.ceil(len(rows) / BATCH)
        for _ in range(EPOCHS):
            near = np.argsort(lengths + order.random(len(rows)) * 10)
            batches = [near[at : at + BATCH] for at in range(0, len(rows), BATCH)]
            order.shuffle(batches)
            for batch in batches:
                done = len(self.losses)
                rise = min(1, 10 * (done + 1) / steps)
                for group in optimizer.param_groups:
                    group["lr"] = RATE * rise * 0.5 * (1 + math.cos(math.pi * done / steps))
                found = head(*_together([words[n] for n in batch]), signs[batch])
                loss = functional.cross_entropy(
                    found, labels[batch], label_smoothing=SMOOTHING, reduction="none"
                )
                mean = (loss * counts[batch]).sum() / counts[batch].sum()
                optimizer.zero_grad()
                mean.backward()
                nn.utils.clip_grad_norm_(head.parameters(), 1.0)
                optimizer.step()
                self.losses.append(float(mean.detach()))
                if len(self.losses) == most_steps:
                    return head.eval()
        return head.eval()

    def odds(self, seen: Seen) -> NDArray[np.float64]:
        """(n,) log-odds of "changes or ends": those of the head and those of the cues."""
        signs, words = torch.from_numpy(self._signs(seen)), self._words(seen)
        out = np.asarray(_cues(self._signs(seen), seen.cues) @ self._cues)
        chosen = [RELATIONS.index(each) for each in ("changes", "ends")]
        with torch.no_grad():
            for at in range(0, len(words), BATCH):
                part = slice(at, at + BATCH)
                shares = self._head(*_together(words[part]), signs[part]).softmax(1)
                out[part] += torch.logit(shares[:, chosen].sum(1), 1e-6).numpy()
        return out


def _cues(signs: F32, count: int) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(signs)), signs[:, :count]]).astype(np.float64)


def _together(pairs: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    words, sides = zip(*pairs, strict=True)
    pad = nn.utils.rnn.pad_sequence
    return pad(words, batch_first=True), pad(sides, batch_first=True, padding_value=-1)


def found_on(name: str, scores: NDArray[np.float64], rows: Sequence[Row]) -> str:
    """A line of the page: AUC, and recall where 0.5, 2, 5 and 10 % of the others are above."""
    labels = np.array([replaces(row) for row in rows])
    ours, others = scores[labels], np.sort(scores[~labels])[::-1]
    shares = (f"{(ours > others[int(f * len(others))]).mean():.2f}" for f in _FALSE)
    return f"| {name} | {len(rows)} | {auc(scores, labels):.3f} | {' | '.join(shares)} |"


def part_of(seen: Seen, chosen: Sequence[int]) -> Seen:
    return Seen([seen.words[n] for n in chosen], seen.signs[list(chosen)], seen.cues)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.judge.train")
    parser.add_argument("--hands", type=int, nargs="*", default=[])
    given = parser.parse_args()
    torch.set_num_threads(1)  # threads that wait for one another take longer than these sums
    torch.set_flush_denormal(True)
    hands = english()
    names = random.Random(43).sample(sorted(hands), len(hands))
    rows = [row for name in names for row in (*hands[name], *wrong_pairs(hands[name]))]
    seen, voices = seen_of(rows), _voices()
    ours = np.array([names.index(row["hand"]) for row in rows])
    there = seen_of(voices)
    print(
        "| hands | measured on | pairs | AUC | .5 % | 2 % | 5 % | 10 % |\n|--:|---|--:|--:|--:|--:|--:|--:|"
    )
    for count in given.hands or [len(names)]:
        odds = np.full(len(rows), -np.inf)
        for fold in range(FOLDS):
            others = [n for n in range(len(names)) if n % FOLDS != fold][:count]
            train = np.flatnonzero(np.isin(ours, others)).tolist()
            test = np.flatnonzero(ours % FOLDS == fold).tolist()
            judge = Judge([rows[n] for n in train], part_of(seen, train))
            odds[test] = judge.odds(part_of(seen, test))
        told = [n for n, r in enumerate(rows) if "id" in r and r["hand"] not in UNBALANCED]
        wrong = [n for n, r in enumerate(rows) if replaces(r) or "id" not in r]
        for name, chosen in (("hands left out", told), ("changes and wrong pairs", wrong)):
            print(f"| {len(others)} " + found_on(name, odds[chosen], [rows[n] for n in chosen]))
        train = np.flatnonzero(ours < count).tolist()
        judge = Judge([rows[n] for n in train], part_of(seen, train))
        print(f"| {count} " + found_on("voices", judge.odds(there), voices), flush=True)


def _voices() -> list[Row]:
    """The pairs of row 26, by writers who are no hand."""
    return [
        {**json.loads(line), "relation": relation, "hand": "voices"}
        for name, relation in (("changes", "changes"), ("stays", "apart"))
        for line in (_VOICES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


if __name__ == "__main__":
    main()
