"""Plots as SVG text, written by hand so that the project needs no plotting library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Final

#: distinguishable with and without colour vision (Okabe and Ito), then greys
COLOURS: Final = (
    "#D55E00",
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8C8C8C",
    "#7A5195",
    "#4C6B1F",
)
_WIDTH, _HEIGHT = 900, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 300, 46, 56

Point = tuple[float, float]


def lines(
    title: str,
    x_title: str,
    y_title: str,
    ticks: Mapping[float, str],
    series: Mapping[str, Sequence[Point]],
) -> str:
    """Lines over a logarithmic x (``ticks``: position -> label) and a logarithmic y."""
    points = [point for line in series.values() for point in line]
    if not points:
        return _page(title, [])
    place_x = _log_scale(list(ticks), _LEFT + 20, _WIDTH - _RIGHT - 20)
    place_y, y_ticks = _log_axis([y for _, y in points])
    body = _frame(x_title, y_title)
    for value, label in ticks.items():
        body.append(_text(place_x(value), _HEIGHT - _BOTTOM + 18, label, "middle"))
    body += _y_grid(place_y, y_ticks)
    for n, (name, line) in enumerate(series.items()):
        colour = COLOURS[n % len(COLOURS)]
        dash = "" if n < len(COLOURS) else ' stroke-dasharray="5 3"'
        path = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in line)
        body.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        body += [_dot(place_x(x), place_y(y), colour, name, f"{y:.3g}") for x, y in line]
        body.append(_legend(n, name, colour))
    return _page(title, body)


def scatter(
    title: str,
    x_title: str,
    y_title: str,
    points: Mapping[str, Point],
    floor: float,
    curves: Mapping[str, Sequence[Point]] | None = None,
) -> str:
    """Named points over a logarithmic x and a linear y to 1; what is below ``floor`` sits on it.

    curves: what else some of them did, as a thin line of the same colour.
    """
    if not points:
        return _page(title, [])
    curves = curves or {}
    every = [*points.values(), *(point for line in curves.values() for point in line)]
    low, high = _decades([x for x, _ in every])
    place_x = _log_scale([low, high], _LEFT + 10, _WIDTH - _RIGHT - 10)

    def place_y(value: float) -> float:
        share = (max(value, floor) - floor) / (1 - floor)
        return _HEIGHT - _BOTTOM - 10 - share * (_HEIGHT - _TOP - _BOTTOM - 20)

    body = _frame(x_title, y_title)
    decade = low
    while decade <= high * 1.001:
        body.append(_text(place_x(decade), _HEIGHT - _BOTTOM + 18, f"{decade:g}", "middle"))
        decade *= 10
    body += _y_grid(place_y, [floor + (1 - floor) * n / 5 for n in range(6)])
    for n, (name, (x, y)) in enumerate(points.items()):
        colour = COLOURS[n % len(COLOURS)]
        if name in curves:
            path = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in curves[name])
            body.append(f'<polyline points="{path}" fill="none" stroke="{colour}"/>')
        body.append(_dot(place_x(x), place_y(y), colour, name, f"{x:.3g} ms, {y:.3f}", 6))
        body.append(_text(place_x(x), place_y(y) + 3, str(n + 1), "middle", 8, "#fff"))
        body.append(_legend(n, f"{n + 1}  {name}", colour))
    return _page(title, body)


def curves(
    title: str,
    x_title: str,
    y_title: str,
    series: Mapping[str, Sequence[Point]],
    percent: Mapping[str, Sequence[Point]] | None = None,
) -> str:
    """Lines over linear axes from 0; those of ``percent`` are dashed, with an axis at the right."""
    percent = percent or {}
    left = [point for line in series.values() for point in line]
    if not left:
        return _page(title, [])
    most_x, most_y = _round_up(max(x for x, _ in left)), _round_up(max(y for _, y in left))
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def place(x: float, share: float) -> str:
        return f"{_LEFT + x / most_x * (right - _LEFT):.1f},{bottom - share * (bottom - _TOP):.1f}"

    body = _frame(x_title, y_title)
    body += _y_grid(
        lambda value: bottom - value / most_y * (bottom - _TOP), [most_y * n / 5 for n in range(6)]
    )
    for n in range(6):
        at = _LEFT + n / 5 * (right - _LEFT)
        body.append(_text(at, bottom + 18, f"{most_x * n / 5:g}", "middle"))
        if percent:
            y = bottom - n / 5 * (bottom - _TOP)
            body.append(_text(right + 6, y + 4, f"{20 * n} %"))
    drawn = [(name, line, most_y, "") for name, line in series.items()]
    drawn += [(name, line, 100.0, ' stroke-dasharray="6 4"') for name, line in percent.items()]
    for n, (name, line, most, dash) in enumerate(drawn):
        colour = COLOURS[n % len(COLOURS)]
        path = " ".join(place(x, y / most) for x, y in line)
        body.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        body.append(_legend(n, name, colour, 50 if percent else 18))
    return _page(title, body)


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 4, 5, 8 or 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(power * each for each in (1, 2, 2.5, 4, 5, 8, 10) if power * each >= value)


def bars(title: str, y_title: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """Grouped bars from 0 to 1: group label (lines) -> bar name -> value."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    if not names:
        return _page(title, [])

    def place_y(value: float) -> float:
        return _HEIGHT - _BOTTOM - value * (_HEIGHT - _TOP - _BOTTOM)

    body = _frame("", y_title)
    body += _y_grid(place_y, [n / 5 for n in range(6)])
    room = (_WIDTH - _RIGHT - _LEFT) / len(groups)
    width = room * 0.86 / len(names)
    for n, (label, group) in enumerate(groups.items()):
        begin = _LEFT + room * n + room * 0.07
        for line, words in enumerate(label.split("\n")):
            y = _HEIGHT - _BOTTOM + 18 + 15 * line
            body.append(_text(begin + room * 0.43, y, words, "middle"))
        for m, name in enumerate(names):
            if name in group:
                top = place_y(group[name])
                body.append(
                    f'<rect x="{begin + m * width:.1f}" y="{top:.1f}" width="{width * 0.9:.1f}" '
                    f'height="{_HEIGHT - _BOTTOM - top:.1f}" fill="{COLOURS[m % len(COLOURS)]}">'
                    f"<title>{escape(name)}: {group[name]:.3f}</title></rect>"
                )
    body += [_legend(m, name, COLOURS[m % len(COLOURS)]) for m, name in enumerate(names)]
    return _page(title, body)


def _page(title: str, body: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'font-family="sans-serif" font-size="12" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
            _text(_LEFT, 24, title, "start", 15),
            *(body or [_text(_LEFT, 80, "nothing was measured")]),
            "</svg>",
            "",
        ]
    )


def _frame(x_title: str, y_title: str) -> list[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    middle = (_TOP + bottom) / 2
    return [
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#444"/>',
        _text((_LEFT + right) / 2, _HEIGHT - 14, x_title, "middle"),
        f'<g transform="rotate(-90 18 {middle:.0f})">{_text(18, middle, y_title, "middle")}</g>',
    ]


def _y_grid(place: Callable[[float], float], ticks: Sequence[float]) -> list[str]:
    out = []
    for value in ticks:
        y = place(value)
        out.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="#e4e4e4"/>'
        )
        out.append(_text(_LEFT - 6, y + 4, f"{value:g}", "end"))
    return out


def _log_axis(values: Sequence[float]) -> tuple[Callable[[float], float], list[float]]:
    low, high = _decades(values)
    place = _log_scale([low, high], _HEIGHT - _BOTTOM - 8, _TOP + 8)
    count = round(math.log10(high / low))
    return place, [float(f"{low * 10**n:.6g}") for n in range(count + 1)]


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """The powers of ten around all values, at least one decade apart."""
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _log_scale(values: Sequence[float], begin: float, end: float) -> Callable[[float], float]:
    low, high = math.log10(min(values)), math.log10(max(values))
    span = (high - low) or 1.0
    return lambda value: begin + (math.log10(value) - low) / span * (end - begin)


def _dot(x: float, y: float, colour: str, name: str, value: str, radius: int = 4) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}">'
        f"<title>{escape(name)}: {escape(value)}</title></circle>"
    )


def _legend(n: int, name: str, colour: str, away: int = 18) -> str:
    x, y = _WIDTH - _RIGHT + away, _TOP + n * 17
    return f'<rect x="{x}" y="{y - 9}" width="12" height="10" fill="{colour}"/>' + _text(
        x + 18, y, name.replace("`", ""), size=11
    )


def _text(
    x: float, y: float, text: str, anchor: str = "start", size: int = 12, fill: str = "#222"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{fill}">{escape(text)}</text>'
    )
