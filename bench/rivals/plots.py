"""The three plots of docs/rivals.md."""

from __future__ import annotations

from typing import Any, Final

from bench.rivals import svg, tables
from bench.rivals.workload import SHARES

#: a line or a bar each; all contenders together would be unreadable, and the tables have them
_LINES: Final = (
    "spector",
    "spector-fused",
    "spector-recall",
    "faiss-sq8",
    "faiss-rabitq-sq8",
    "faiss-hnsw",
    "hnswlib",
    "sqlite-vec-int8",
    "lancedb",
    "chroma",
)
_TRAPPED: Final = ("faiss-sq8", "faiss-hnsw", "usearch-hnsw", "lancedb-rq", "chroma")


def plots(run: dict[str, Any]) -> dict[str, str]:
    """SVG text by file name."""
    known = {each["name"]: each for each in run["contenders"]}
    size = f"{run['records']:,} x {run['dim']}"
    return {
        "rivals-filters.svg": svg.lines(
            f"Time of a top 10 by filter, one thread, {size}",
            "share of the records that the filter keeps",
            "p50, ms",
            {share.fraction: share.label for share in SHARES},
            {known[n]["title"]: line for n in _LINES if n in known and (line := _line(known[n]))},
        ),
        "rivals-recall.svg": svg.scatter(
            f"Recall@10 and time without a filter, one thread, {size}",
            "p50, ms",
            "recall@10 (fused rows: of the fused ranking)",
            {each["title"]: point for each in run["contenders"] if (point := _point(each))},
            floor=0.5,
            curves={
                each["title"]: [(cell["p50_ms"], cell["recall"]) for cell in told.values()]
                for each in run["contenders"]
                if (told := tables.curve(each))
            },
        ),
        "rivals-trap.svg": svg.bars(
            f"How much of the fused top 10 is left after fetching neighbours, {size}",
            "share of the true top 10",
            _groups(known),
        ),
    }


def _line(each: dict[str, Any]) -> list[svg.Point]:
    cells = each["query"].get("filters", {})
    return [
        (share.fraction, cells[share.label]["p50_ms"])
        for share in SHARES
        if "p50_ms" in cells.get(share.label, {})
    ]


def _point(each: dict[str, Any]) -> svg.Point | None:
    cell = each["query"].get("filters", {}).get(SHARES[0].label, {})
    return (cell["p50_ms"], cell["recall"]) if "p50_ms" in cell else None


def _groups(known: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The profile and the number fetched -> contender -> share."""
    groups: dict[str, dict[str, float]] = {}
    fused = known.get("spector-fused", {}).get("query", {}).get("direct", {})
    for profile in ("balanced", "importance"):
        for times in ("1", "10", "100"):
            group = {}
            if profile in fused:
                group[f"{known['spector-fused']['title']}, one call"] = fused[profile]["recall"]
            for name in _TRAPPED:
                cell = known.get(name, {}).get("query", {}).get("trap", {}).get(times, {})
                if profile in cell:
                    group[known[name]["title"]] = cell[profile]
            if group:
                groups[f"k x {times}\n{profile}"] = group
    return groups
