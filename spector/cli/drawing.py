"""Drawings of a small graph: text for Graphviz, and an SVG that needs no other program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from spector.records import Edge

__all__ = ["dot", "svg"]

_WIDTH: Final = 960
_HEIGHT: Final = 640
_BOX: Final = (230, 40)


def dot(labels: Mapping[int, str], edges: Sequence[Edge], centre: int) -> str:
    """The graph in Graphviz's language."""
    lines = ["digraph memory {", '  node [shape=box, fontname="sans-serif"];']
    for node, label in labels.items():
        style = ", style=bold" if node == centre else ""
        lines.append(f'  {node} [label="{_quoted(label)}"{style}];')
    lines += [
        f'  {each.source} -> {each.target} [label="{_quoted(each.kind)} {each.weight:.2f}"];'
        for each in edges
    ]
    return "\n".join([*lines, "}"])


def svg(labels: Mapping[int, str], edges: Sequence[Edge], centre: int) -> str:
    """The graph as SVG: the memory in the middle, the others on an ellipse around it."""
    places = _places(list(labels), centre)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for each in edges:
        (x1, y1), (x2, y2) = places[each.source], places[each.target]
        # the kind stands nearer to the target, so that the direction can be read
        x, y = x1 + 0.55 * (x2 - x1), y1 + 0.55 * (y2 - y1)
        lines += [
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="#888"'
            f' stroke-width="{0.5 + 2 * each.weight:.1f}"/>',
            f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" fill="#555">'
            f"{escape(each.kind)} {each.weight:.2f} →</text>",
        ]
    wide, high = _BOX
    for node, (x, y) in places.items():
        fill = "#e8f0fe" if node == centre else "#f7f7f7"
        lines += [
            f'<rect x="{x - wide / 2:.0f}" y="{y - high / 2:.0f}" width="{wide}" height="{high}"'
            f' rx="6" fill="{fill}" stroke="#555"/>',
            f'<text x="{x:.0f}" y="{y - 3:.0f}" text-anchor="middle">{escape(labels[node])}</text>',
            f'<text x="{x:.0f}" y="{y + 13:.0f}" text-anchor="middle" fill="#888">{node}</text>',
        ]
    return "\n".join([*lines, "</svg>"])


def _places(nodes: Sequence[int], centre: int) -> dict[int, tuple[float, float]]:
    x, y = _WIDTH / 2, _HEIGHT / 2
    others = [each for each in nodes if each != centre]
    places = {centre: (x, y)}
    for n, node in enumerate(others):
        angle = 2 * math.pi * n / max(1, len(others)) - math.pi / 2
        wide, high = x - _BOX[0] / 2 - 10, y - _BOX[1] - 10
        places[node] = (x + wide * math.cos(angle), y + high * math.sin(angle))
    return places


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
