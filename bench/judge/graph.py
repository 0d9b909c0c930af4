"""The network of ``train.py`` as an ONNX graph with int8 weights, for one pair a run.

Each column of a weight has its own scale; states are quantized as they come, in a run of their own,
so that no pair changes the verdict of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["MOST_TOKENS", "graph_of"]

_DIM, _HEADS, _LAYERS = 384, 12, 6
#: tokens of a pair with its three marks
MOST_TOKENS: Final = 256
_OPSET, _IR = 17, 8

Array = NDArray[Any]


class _Graph:
    """Nodes and constants of a graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def keep(self, value: Array) -> str:
        name = f"c{len(self.constants)}"
        whole = np.ascontiguousarray(value) if value.ndim else value
        self.constants.append(numpy_helper.from_array(whole, name))
        return name

    def add(self, kind: str, *inputs: str, outputs: int = 1, **given: Any) -> Any:
        names = [f"n{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **given))
        return names[0] if outputs == 1 else names

    def number(self, value: float) -> str:
        return self.keep(np.array(value, np.float32))

    def sizes(self, *values: int) -> str:
        return self.keep(np.array(values, np.int64))

    def quantized(self, x: str) -> Sequence[str]:
        """int8 states, their scale and their zero."""
        found: Sequence[str] = self.add("DynamicQuantizeLinear", x, outputs=3)
        return found

    def dense(self, states: Sequence[str], weight: Array, bias: Array) -> str:
        whole, scale = _int8(weight.T, axis=0)
        sums = self.add("MatMulInteger", states[0], self.keep(whole), states[2])
        scales = self.add("Mul", states[1], self.keep(scale[0]))
        product = self.add("Mul", self.add("Cast", sums, to=TensorProto.FLOAT), scales)
        return str(self.add("Add", product, self.keep(bias)))

    def norm(self, x: str, weight: Array, bias: Array) -> str:
        found = self.add(
            "LayerNormalization", x, self.keep(weight), self.keep(bias), axis=-1, epsilon=1e-12
        )
        return str(found)


def _int8(weight: Array, axis: int) -> tuple[Array, Array]:
    """Whole numbers up to 63, and the scale along an axis.

    Seven bits, because products of eight overflow where a processor adds two of them in 16 bits.
    """
    scale = np.maximum(np.abs(weight).max(axis, keepdims=True), 1e-9) / 63
    return np.rint(weight / scale).astype(np.int8), scale.astype(np.float32)


def graph_of(weights: Mapping[str, Array]) -> bytes:
    """The bytes of an ONNX model: ``ids`` and ``types``, both (1, n) int64 -> (1, 5) logits."""
    g = _Graph()
    x = _embedded(g, weights)
    for n in range(_LAYERS):
        at = f"encoder.layer.{n}."
        x = _layer(g, x, {k[len(at) :]: v for k, v in weights.items() if k.startswith(at)})
    types = g.add("Cast", "types", to=TensorProto.FLOAT)
    new = g.add("Unsqueeze", types, g.sizes(-1))
    means = [
        g.add(
            "Div",
            g.add("ReduceSum", g.add("Mul", x, which), g.sizes(1), keepdims=0),
            g.add("ReduceSum", which, g.sizes(1), keepdims=0),
        )
        for which in (g.add("Sub", g.number(1), new), new)
    ]
    first = g.add("Gather", x, g.keep(np.array(0, np.int64)), axis=1)
    seen = g.add("Concat", first, *means, g.add("Sub", *means), axis=-1)
    found = g.add("MatMul", seen, g.keep(weights["head.weight"].T))
    g.nodes.append(helper.make_node("Add", [found, g.keep(weights["head.bias"])], ["logits"]))
    shape = [1, "length"]
    graph = helper.make_graph(
        g.nodes,
        "judge",
        [helper.make_tensor_value_info(k, TensorProto.INT64, shape) for k in ("ids", "types")],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 5])],
        g.constants,
    )
    opset = [helper.make_opsetid("", _OPSET)]
    made: bytes = helper.make_model(graph, opset_imports=opset, ir_version=_IR).SerializeToString()
    return made


def _embedded(g: _Graph, weights: Mapping[str, Array]) -> str:
    at = "embeddings."
    table = weights[f"{at}word_embeddings.weight"]
    scale = np.maximum(np.abs(table).max(1, keepdims=True), 1e-9) / 127
    whole = np.rint(table / scale).astype(np.int8)
    words = g.add("Cast", g.add("Gather", g.keep(whole), "ids"), to=TensorProto.FLOAT)
    x = g.add("Mul", words, g.add("Gather", g.keep(scale.astype(np.float32)), "ids"))
    places = g.keep(weights[f"{at}position_embeddings.weight"][:MOST_TOKENS])
    length = g.add("Slice", g.add("Shape", "ids"), g.sizes(1), g.sizes(2))
    x = g.add("Add", x, g.add("Slice", places, g.sizes(0), length, g.sizes(0)))
    sides = g.add("Gather", g.keep(weights[f"{at}token_type_embeddings.weight"]), "types")
    x = g.add("Add", x, sides)
    return g.norm(x, weights[f"{at}LayerNorm.weight"], weights[f"{at}LayerNorm.bias"])


def _layer(g: _Graph, x: str, weights: Mapping[str, Array]) -> str:
    def of(name: str) -> tuple[Array, Array]:
        return weights[f"{name}.weight"], weights[f"{name}.bias"]

    states = g.quantized(x)
    split = g.sizes(0, 0, _HEADS, _DIM // _HEADS)
    q, k, v = (
        g.add("Reshape", g.dense(states, *of(f"attention.self.{name}")), split)
        for name in ("query", "key", "value")
    )
    q = g.add("Mul", g.add("Transpose", q, perm=[0, 2, 1, 3]), g.number((_DIM / _HEADS) ** -0.5))
    scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 3, 1]))
    v = g.add("Transpose", v, perm=[0, 2, 1, 3])
    seen = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
    seen = g.add("Reshape", g.add("Transpose", seen, perm=[0, 2, 1, 3]), g.sizes(0, 0, _DIM))
    seen = g.dense(g.quantized(seen), *of("attention.output.dense"))
    x = g.norm(g.add("Add", x, seen), *of("attention.output.LayerNorm"))
    wide = g.dense(g.quantized(x), *of("intermediate.dense"))
    erf = g.add("Erf", g.add("Mul", wide, g.number(2**-0.5)))
    wide = g.add("Mul", g.add("Mul", wide, g.number(0.5)), g.add("Add", erf, g.number(1)))
    back = g.dense(g.quantized(wide), *of("output.dense"))
    return g.norm(g.add("Add", x, back), *of("output.LayerNorm"))
