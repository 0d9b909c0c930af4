"""docs/rivals.md from one run: all that was measured of the engines of the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bench import results
from bench.machine import REPO
from bench.report import compact, machine_line, number, table
from bench.rivals.workload import SHARES

PAGE: Final = REPO / "docs" / "rivals.md"
LABELS: Final = tuple(share.label for share in SHARES)
#: promised: the filter, which way of asking, the figure, and whether it is a floor
PROMISES: Final = (
    ("100 %", "default", "ratio", ">=", 12.0, "at least 12 x faiss SQ8 flat"),
    ("100 %", "default", "recall_of_exact", ">=", 0.995, "recall of the exact ranking >= 0.995"),
    ("1 %", "default", "ratio", ">=", 20.0, "at least 20 x faiss SQ8 with a bitmap"),
    # 10 from the Bloom gate are two thirds strangers at such a share: what recall asks counts
    ("0.01 %", "as recall asks", "p50_ms", "<=", 0.05, "kernel call at most 50 us"),
)
#: promises are about a million records
_JUDGED_FROM: Final = 1_000_000
#: a faster rival that finds this much less has not won
_RECALL_SLACK: Final = 0.01
_OURS: Final = "spector"
_METHOD: Final = """\
Made by `python -m bench.rivals report` from what one run measured of the engines that
`bench/rivals` has; figures of engines that left it were taken out of the run. `make bench-rivals`
measures (ARGS=--full for a million records).

- Vectors are sentence embeddings of conversation, copied with Gaussian noise (cosine about 0.93).
  Cues are questions; all contenders get the same ones.
- A filter keeps a random share of the records. Rivals get the filter they offer, prepared.
- One thread is pinned to one core. Files are in the page cache. Graphs and clusters are not tuned.
- Recall is the share of the true top 10 in float32. Slow engines answer fewer of the 200 cues.

What is not comparable:

- Rivals rank by similarity, as the row "cosine only" does. The fused rows also weigh importance,
  retention and recency, and their recall is measured against that ranking.
- faiss, usearch and hnswlib keep vectors only; the databases store ids and filter columns here.
  spector's store holds text, tags, metadata and full text.
- Compare the row `recall`, the verb with text and checksums, with the databases, and the kernel
  rows, which take 16 more and drop false positives of the Bloom filter, with the libraries.
- The re-ranking of the trap is generous: exact similarities, and strengths at no cost in time.
""".splitlines()
_TRAP: Final = """\
The ten memories best by similarity, importance and recency together are wanted. A vector index
returns only the nearest, so one fetches k x 1, 10 or 100 and re-ranks those. The cells show how much
of the true fused top 10 is left, and how long the fetch took (p50).
""".splitlines()

Run = dict[str, Any]


def newest(folder: Path = results.RESULTS) -> Path:
    """The run of most records; the newest of those. Names hold the date, then the size."""

    def size(path: Path) -> int:
        return int(path.stem.rsplit("-", 1)[-1].removesuffix("k"))

    return max(results.all_of("rivals-*.json", "make bench-rivals", folder), key=size)


def docs_page(run: Run) -> str:
    parts = {
        "# spector beside other engines": [
            _machine_line(run),
            "",
            f"{run['records']:,} records of {run['dim']} dimensions ({run['data']}); k = 10.",
            "",
            *_METHOD,
        ],
        "## The promises: in turns with faiss SQ8 flat": promises(run),
        "## Nearest neighbours with a filter": neighbours(run),
        "### Graphs and clusters at other efforts": efforts(run),
        "### Building, opening, size": facts(run),
        "## The truncation trap": trap(run),
        "## Where spector loses": losses(run),
        "## What each row is": [f"- **{c['title']}**: {c['about']}." for c in run["contenders"]],
        "## Not measured": missing(run),
        "## The run": table("fact|value", _facts(run).items()),
    }
    text = "\n\n".join("\n".join([title, "", *lines]) for title, lines in parts.items() if lines)
    return compact(text) + "\n"


def promises(run: Run) -> list[str]:
    """Paired ratios per filter and way of asking, then each promise with its verdict."""
    pair = run["pair"]
    if "filters" not in pair:
        return [f"Not measured: {pair.get('reason', 'unknown')}."]
    rows = [
        [
            label,
            ms(ways[pair["yardstick"]]["p50_ms"]),
            way,
            ms(cell["p50_ms"]),
            ms(cell["p99_ms"]),
            f"{number(cell['ratio'])} x ({number(cell['ratio_p25'])} to "
            f"{number(cell['ratio_p75'])})",
            f"{number(cell['ratio_best'])} x",
            f"{number(cell['ratio_cpu'])} x",
            share(cell.get("recall")),
            share(cell.get("recall_of_exact")),
        ]
        for label, ways in pair["filters"].items()
        for way, cell in ways.items()
        if way != pair["yardstick"]
    ]
    head = "filter|faiss SQ8 flat p50|spector asked|p50:|p99:|ratio:|of best:|of CPU:|recall:|of exact:"
    return [
        "All answer the same cue in turn, on one core. The ratio is faiss's time over spector's: "
        "median with quartiles, of the best times, of the median processor times.",
        "",
        *table(head, rows),
        "",
        "default: fused, filter through the Bloom filter. as recall asks: 16 more than wanted. "
        "confidence 3: three standard errors of margin. exact: no estimates. straight: without the "
        "index.",
        "",
        *(_verdict(run, *promise) for promise in PROMISES),
    ]


def _verdict(
    run: Run, label: str, way: str, figure: str, sign: str, bound: float, text: str
) -> str:
    value = run["pair"]["filters"][label][way][figure]
    kept = value >= bound if sign == ">=" else value <= bound
    shown = ms(value) if figure.endswith("_ms") else number(value)
    verdict = "kept" if kept else "**missed**"
    if run["records"] < _JUDGED_FROM:
        verdict = f"not judged here, as the promise is about {_JUDGED_FROM:,} records"
    return f"- Filter {label}, {text}: {shown}, {verdict}."


def neighbours(run: Run) -> list[str]:
    """p50 / p99 and recall of every contender for every filter, one thread."""

    def cell(each: Run, label: str) -> str:
        found = each["query"].get("filters", {}).get(label, {})
        if "p50_ms" not in found:
            return "-"
        times = (number(v) if v >= 0.01 else f"{v:.4f}" for v in (found["p50_ms"], found["p99_ms"]))
        return f"{' / '.join(times)}, {share(found['recall'])}"

    rows = [[each["title"], *(cell(each, one) for one in LABELS)] for each in run["contenders"]]
    return [
        "One thread; p50 / p99 in milliseconds, then recall@10.",
        "",
        *table(f"contender|{'|'.join(LABELS)}", rows),
    ]


def efforts(run: Run) -> list[str]:
    """p50 and recall without a filter of those that buy recall with time, by effort."""
    rows = [
        [
            each["title"],
            f"{each['effort_name']} {effort}",
            ms(cell["p50_ms"]),
            share(cell["recall"]),
        ]
        for each in run["contenders"]
        for effort, cell in _curve(each)
    ]
    if not rows:
        return ["Not measured in this run."]
    for each in run["contenders"]:
        ours = each["query"].get("filters", {}).get(LABELS[0], {})
        if each["name"] == _OURS and "p50_ms" in ours:
            rows.insert(0, [each["title"], "-", ms(ours["p50_ms"]), share(ours["recall"])])
    return [
        "One thread, no filter. spector has no such setting: its estimates rule out what cannot be "
        "among the best, and it reads the rest.",
        "",
        *table("contender|effort|p50:|recall@10:", rows),
    ]


def _curve(each: Run) -> Iterator[tuple[int, Run]]:
    """What was measured of a contender at which effort."""
    for effort, cell in each["query"].get("efforts", {}).items():
        if "p50_ms" in cell:
            yield int(effort), cell


def facts(run: Run) -> list[str]:
    """Build, size, open, memory."""

    def row(each: Run) -> Sequence[str]:
        build, query = each["build"], each["query"]
        size = "-"
        if (scanned := _scanned_bytes(each)) is not None:
            whole = f" ({number(build['bytes_per_record'])})" if "bytes_by_kind" in build else ""
            size = f"{number(scanned)}{whole}"
        peak = f"{query['peak_bytes'] / 2**20:,.0f} MiB" if query.get("open_s") else "-"
        times = (_seconds(of.get(f"{n}_s")) for of, n in ((query, "open"), (query, "first_answer")))
        return [each["title"], _seconds(build.get("build_s")), size, *times, peak]

    head = "contender|build:|bytes a record:|open:|first answer:|own memory:"
    return [
        *table(head, map(row, run["contenders"])),
        "",
        "Bytes are allocated on disk. Own memory is the peak of the querying process, without "
        "mapped files. spector: partitions and derived index, with the catalog (text, tags, full "
        "text) in parentheses.",
    ]


def _scanned_bytes(each: Run) -> float | None:
    build = each["build"]
    kinds = build.get("bytes_by_kind")
    found = kinds.get("partitions", 0) + kinds.get("derived", 0) if kinds else None
    return found or build.get("bytes_per_record")


def trap(run: Run) -> list[str]:
    """How much of the fused top ten is found by fetching neighbours and ranking them again."""
    titles = dict.fromkeys(
        title
        for each in run["contenders"]
        for cell in each["query"].get("trap", {}).values()
        for title in cell
        if title not in ("fetch_p50_ms", "cues", "reason")
    )
    lines = list(_TRAP)
    for title in titles:
        rows = []
        for each in run["contenders"]:
            direct = each["query"].get("direct", {}).get(title)
            fetched = each["query"].get("trap", {})
            if direct:
                cell = f"{share(direct['recall'])} ({ms(direct['p50_ms'])})"
                rows.append([f"{each['title']}: one call, nothing to fetch", cell, "", ""])
            elif any(title in cell for cell in fetched.values()):
                cells = [fetched.get(times, {}) for times in ("1", "10", "100")]
                rows.append(
                    [
                        each["title"],
                        *(
                            f"{share(cell[title])} ({ms(cell['fetch_p50_ms'])})"
                            if title in cell
                            else "-"
                            for cell in cells
                        ),
                    ]
                )
        after = " of the records, applied after fetching" if "," in title else ""
        lines += ["", f"### Profile {title}{after}", ""]
        lines += table("contender|k x 1:|k x 10:|k x 100:", rows)
    return lines


def losses(run: Run) -> list[str]:
    """Every column in which somebody beats us at no worse recall; computed, not chosen."""
    ours = next((each for each in run["contenders"] if each["name"] == _OURS), None)
    if ours is None:
        return ["spector was not asked in this run."]
    rivals = [each for each in run["contenders"] if not each["name"].startswith(_OURS)]
    lines = []
    for label in LABELS:
        mine = ours["query"].get("filters", {}).get(label, {})
        faster = [
            f"{each['title']} ({ms(cell['p50_ms'])}, recall {share(cell['recall'])}{how})"
            for each in rivals
            if "p50_ms" in mine
            for cell, how in _quickest(each, label, mine["recall"] - _RECALL_SLACK)
            if cell["p50_ms"] < mine["p50_ms"]
        ]
        if faster:
            lines.append(
                f"- Filter {label}: spector, cosine only, takes {ms(mine['p50_ms'])} (recall "
                f"{share(mine['recall'])}). Faster at no worse recall (within {_RECALL_SLACK}): "
                f"{', '.join(faster)}."
            )
    for what, figure, text in _OTHER_LOSSES:
        own = figure(ours)
        better = [
            f"{each['title']} ({text(value)})"
            for each in rivals
            if (value := figure(each)) is not None and own is not None and value < own
        ]
        if better:
            lines.append(f"- {what} {text(own)}; less: {', '.join(better)}.")
    return lines or ["In no column of this run."]


def _quickest(each: Run, label: str, recall: float) -> list[tuple[Run, str]]:
    """The least time in which a rival finds so much, at whatever effort, and which it was."""
    asked = [(each["query"].get("filters", {}).get(label, {}), "")]
    if label == LABELS[0]:
        asked += [(cell, f", {each['effort_name']} {effort}") for effort, cell in _curve(each)]
    enough = [one for one in asked if "p50_ms" in one[0] and one[0]["recall"] >= recall]
    return sorted(enough, key=lambda one: float(one[0]["p50_ms"]))[:1]


def missing(run: Run) -> list[str]:
    """Why a row or a cell is empty."""
    lines = []
    for each in run["contenders"]:
        cells = {"build": each["build"], "query": each["query"]}
        if not each["query"]:
            cells["query"] = {"reason": each.get("sits_out") or "not asked"}
        filters = each["query"].get("filters", {})
        cells |= {f"filter {label}": cell for label, cell in filters.items()}
        by_reason: dict[str, list[str]] = {}
        for what, cell in cells.items():
            if "reason" in cell:
                by_reason.setdefault(cell["reason"], []).append(what)
        lines += [f"- {each['title']}, {', '.join(w)}: {why}" for why, w in by_reason.items()]
    return lines


def ms(value: float) -> str:
    """A time given in milliseconds, in the unit that reads best."""
    if value < 0.1:
        return f"{number(value * 1e3)} us"
    return f"{number(value / 1e3)} s" if value >= 1000 else f"{number(value)} ms"


def share(value: float | None) -> str:
    """A share of 1 with three decimals, which is what some hundred cues of ten can resolve."""
    return "" if value is None else f"{value:.3f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else ms(value * 1e3)


_OTHER_LOSSES: Final[
    tuple[tuple[str, Callable[[Run], float | None], Callable[[Any], str]], ...]
] = (
    (
        "Build: spector, with text and full text,",
        lambda each: each["build"].get("build_s"),
        _seconds,
    ),
    ("Open: spector", lambda each: each["query"].get("open_s"), _seconds),
    ("Bytes a record: spector without its catalog", _scanned_bytes, number),
)


def _machine_line(run: Run) -> str:
    low, high = min(run["load_average"]), max(run["load_average"])
    # one thread measuring makes a load of one, building with two a load of two
    shared = (
        f" **The machine was shared with other work (load {low:g} to {high:g}): times are high "
        "and scattered and say little about anybody; the ratios of processor time in the first "
        "table suffer least.**"
        if high > 2.5
        else ""
    )
    software = f"spector {run['versions']['spector']} with kernel {run['kernel']}"
    return machine_line(run, software) + shared


def _facts(run: Run) -> dict[str, str]:
    return {
        "started": run["started"],
        "took": f"{run['elapsed_s']:.0f} s",
        "commit": run["commit"] + (" with local changes" if run["dirty"] else ""),
        "time for each cell": f"{run['cell_s']:g} s",
        "lowest / highest load": " / ".join(f"{load:g}" for load in run["load_average"]),
        "cpu flags": ", ".join(run["machine"]["cpu_flags"]),
        "l3 cache": run["machine"]["l3_cache"],
        "system": run["machine"]["system"],
        "streaming read": f"{number(run['machine']['stream_gb_per_s'])} GB/s",
        **run["versions"],
    }
