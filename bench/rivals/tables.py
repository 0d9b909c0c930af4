"""The tables of docs/rivals.md as Markdown lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from bench.report import number
from bench.rivals.words import TRAP
from bench.rivals.workload import SHARES

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


def promises(run: dict[str, Any]) -> list[str]:
    """Paired ratios per filter and way of asking, then each promise with its verdict."""
    pair = run["pair"]
    if "filters" not in pair:
        return [f"Not measured: {pair.get('reason', 'unknown')}."]
    lines = [
        "All answer the same cue in turn, on one core. The ratio is faiss's time over spector's: "
        "median with quartiles, of the best times, of the median processor times.",
        "",
        "| filter | faiss SQ8 flat p50 | spector asked | p50 | p99 | ratio | of best | of CPU | "
        "recall | of exact |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for label, ways in pair["filters"].items():
        yardstick = ways[pair["yardstick"]]
        for way, cell in ways.items():
            if way != pair["yardstick"]:
                spread = f"{number(cell['ratio_p25'])} to {number(cell['ratio_p75'])}"
                lines.append(
                    f"| {label} | {ms(yardstick['p50_ms'])} | {way} | {ms(cell['p50_ms'])} | "
                    f"{ms(cell['p99_ms'])} | {number(cell['ratio'])} x ({spread}) | "
                    f"{number(cell['ratio_best'])} x | {number(cell['ratio_cpu'])} x | "
                    f"{share(cell.get('recall'))} | {share(cell.get('recall_of_exact'))} |"
                )
    lines += [
        "",
        "default: fused, filter through the Bloom filter. as recall asks: 16 more than wanted. "
        "confidence 3: three standard errors of margin. exact: no estimates. straight: without the "
        "index.",
        "",
    ]
    return lines + [_verdict(run, *promise) for promise in PROMISES]


def neighbours(run: dict[str, Any]) -> list[str]:
    """p50 / p99 and recall of every contender for every filter, one thread."""
    lines = [
        "One thread; p50 / p99 in milliseconds, then recall@10.",
        "",
        "| contender | " + " | ".join(LABELS) + " |",
        "|---|" + "---|" * len(LABELS),
    ]
    for each in run["contenders"]:
        cells = [_neighbour_cell(each["query"], label) for label in LABELS]
        lines.append(f"| {each['title']} | " + " | ".join(cells) + " |")
    return lines


def efforts(run: dict[str, Any]) -> list[str]:
    """p50 and recall without a filter of those that buy recall with time, by effort."""
    curves = [(each, known) for each in run["contenders"] if (known := curve(each))]
    if not curves:
        return ["Not measured in this run."]
    ours = next((_first_cell(each) for each in run["contenders"] if each["name"] == _OURS), {})
    lines = [
        "One thread, no filter. spector has no such setting: its estimates rule out what cannot be "
        "among the best, and it reads the rest.",
        "",
        "| contender | effort | p50 | recall@10 |",
        "|---|---|--:|--:|",
    ]
    if "p50_ms" in ours:
        cells = f"{ms(ours['p50_ms'])} | {share(ours['recall'])}"
        lines.append(f"| spector kernel, cosine only | - | {cells} |")
    for each, known in curves:
        lines += [
            f"| {each['title']} | {each['effort_name']} {effort} | {ms(cell['p50_ms'])} | "
            f"{share(cell['recall'])} |"
            for effort, cell in known.items()
        ]
    return lines


def curve(each: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """What was measured of a contender at which effort."""
    told = each["query"].get("efforts", {})
    return {int(effort): cell for effort, cell in told.items() if "p50_ms" in cell}


def facts(run: dict[str, Any]) -> list[str]:
    """Build, size, open, memory, and what two threads bring."""
    lines = [
        "| contender | build | bytes a record | open | first answer | own memory | "
        "one caller, two threads: p50 | two callers: answers/s (x one caller) | "
        "the same, 1 % filter |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for each in run["contenders"]:
        build, query, two = each["build"], each["query"], each["query2"]
        cells = [
            _seconds(build.get("build_s")),
            _bytes(build),
            _seconds(query.get("open_s")),
            _seconds(query.get("first_answer_s")),
            f"{query['peak_bytes'] / 2**20:,.0f} MiB" if query.get("open_s") else "-",
            _time_of(two.get("one_caller", {}).get(LABELS[0])),
            *(_rate_of(two.get("two_callers", {}).get(label)) for label in (LABELS[0], LABELS[2])),
        ]
        lines.append(f"| {each['title']} | " + " | ".join(cells) + " |")
    return [
        *lines,
        "",
        "Bytes are allocated on disk. Own memory is the peak of the querying process, without "
        "mapped files. spector: partitions and derived index, with the catalog (text, tags, full "
        "text) in parentheses.",
    ]


def trap(run: dict[str, Any]) -> list[str]:
    """How much of the fused top ten is found by fetching neighbours and ranking them again."""
    titles = list(dict.fromkeys(title for each in run["contenders"] for title in _traps(each)))
    lines = [*TRAP.splitlines(), ""]
    for title in titles:
        lines += [
            f"### Profile {title}"
            if "," not in title
            else f"### Profile {title} of the records, applied after fetching",
            "",
            "| contender | k x 1 | k x 10 | k x 100 |",
            "|---|--:|--:|--:|",
        ]
        for each in run["contenders"]:
            direct = each["query"].get("direct", {}).get(title)
            if direct:
                cell = f"{share(direct['recall'])} ({ms(direct['p50_ms'])})"
                lines.append(f"| {each['title']}: one call, nothing to fetch | {cell} | | |")
            elif title in _traps(each):
                cells = [
                    _trap_cell(each["query"]["trap"].get(times), title)
                    for times in ("1", "10", "100")
                ]
                lines.append(f"| {each['title']} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines[:-1]


def losses(run: dict[str, Any]) -> list[str]:
    """Every column in which somebody beats us at no worse recall; computed, not chosen."""
    ours = {each["name"]: each for each in run["contenders"]}.get(_OURS)
    if ours is None:
        return ["spector was not asked in this run."]
    rivals = [each for each in run["contenders"] if not each["name"].startswith(_OURS)]
    lines = []
    for label in LABELS:
        mine = ours["query"].get("filters", {}).get(label, {})
        if "p50_ms" not in mine:
            continue
        faster = [
            f"{each['title']} ({ms(cell['p50_ms'])}, recall {share(cell['recall'])}{how})"
            for each in rivals
            if (found := _quickest(each, label, mine["recall"] - _RECALL_SLACK)) is not None
            and (cell := found[0])["p50_ms"] < mine["p50_ms"]
            for how in [found[1]]
        ]
        if faster:
            lines.append(
                f"- Filter {label}: spector, cosine only, takes {ms(mine['p50_ms'])} (recall "
                f"{share(mine['recall'])}). Faster at no worse recall (within {_RECALL_SLACK}): "
                + ", ".join(faster)
                + "."
            )
    for what, of, figure, text in _OTHER_LOSSES:
        mine = figure(ours)
        better = [
            f"{each['title']} ({text(value)})"
            for each in rivals
            if (value := figure(each)) is not None and mine is not None and value < mine
        ]
        if better:
            lines.append(f"- {what}: {of} {text(mine)}; less: " + ", ".join(better) + ".")
    return lines or ["In no column of this run."]


def _quickest(each: dict[str, Any], label: str, recall: float) -> tuple[dict[str, Any], str] | None:
    """The least time in which a rival finds so much, at whatever effort, and which it was."""
    asked = [(each["query"].get("filters", {}).get(label, {}), "")]
    if label == LABELS[0]:
        asked += [
            (cell, f", {each['effort_name']} {effort}") for effort, cell in curve(each).items()
        ]
    enough = [one for one in asked if "p50_ms" in one[0] and one[0]["recall"] >= recall]
    return min(enough, key=lambda one: float(one[0]["p50_ms"]), default=None)


def _first_cell(each: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = each["query"].get("filters", {}).get(LABELS[0], {})
    return cell


def missing(run: dict[str, Any]) -> list[str]:
    """Why a row or a cell is empty."""
    lines = []
    for each in run["contenders"]:
        reasons = {
            step: each[step]["reason"]
            for step in ("build", "query", "query2")
            if "reason" in each[step]
        }
        if not each["query"]:
            reasons["query"] = each.get("sits_out") or "not asked"
        reasons |= {
            f"filter {label}": cell["reason"]
            for label, cell in each["query"].get("filters", {}).items()
            if "reason" in cell
        }
        by_reason: dict[str, list[str]] = {}
        for what, reason in reasons.items():
            by_reason.setdefault(reason, []).append(what)
        lines += [
            f"- {each['title']}, {', '.join(what)}: {reason}" for reason, what in by_reason.items()
        ]
    return lines


def ms(value: float) -> str:
    """A time given in milliseconds, in the unit that reads best."""
    if value < 0.1:
        return f"{number(value * 1e3)} us"
    return f"{number(value / 1e3)} s" if value >= 1000 else f"{number(value)} ms"


def share(value: float | None) -> str:
    """A share of 1 with three decimals, which is what some hundred cues of ten can resolve."""
    return "" if value is None else f"{value:.3f}"


def _verdict(
    run: dict[str, Any], label: str, way: str, figure: str, sign: str, bound: float, text: str
) -> str:
    value = run["pair"]["filters"][label][way][figure]
    kept = value >= bound if sign == ">=" else value <= bound
    shown = ms(value) if figure.endswith("_ms") else number(value)
    verdict = "kept" if kept else "**missed**"
    if run["records"] < _JUDGED_FROM:
        verdict = f"not judged here, as the promise is about {_JUDGED_FROM:,} records"
    return f"- Filter {label}, {text}: {shown}, {verdict}."


def _neighbour_cell(query: dict[str, Any], label: str) -> str:
    cell = query.get("filters", {}).get(label)
    if not cell or "p50_ms" not in cell:
        return "-"
    times = f"{_plain_ms(cell['p50_ms'])} / {_plain_ms(cell['p99_ms'])}"
    return f"{times}, {share(cell['recall'])}"


def _plain_ms(value: float) -> str:
    return number(value) if value >= 0.01 else f"{value:.4f}"


def _trap_cell(cell: dict[str, Any] | None, title: str) -> str:
    if not cell or title not in cell:
        return "-"
    return f"{share(cell[title])} ({ms(cell['fetch_p50_ms'])})"


def _traps(each: dict[str, Any]) -> list[str]:
    cells = each["query"].get("trap", {}).values()
    names = [n for cell in cells for n in cell if n not in ("fetch_p50_ms", "cues", "reason")]
    return [*names, *each["query"].get("direct", {})]


def _seconds(value: float | None) -> str:
    return "-" if value is None else ms(value * 1e3)


def _bytes(build: dict[str, Any]) -> str:
    if build.get("in_memory"):
        return "memory only"
    if "bytes_per_record" not in build:
        return "-"
    kinds = build.get("bytes_by_kind")
    if kinds:
        scanned = kinds.get("partitions", 0) + kinds.get("derived", 0)
        return f"{number(scanned)} ({number(build['bytes_per_record'])})"
    return number(build["bytes_per_record"])


def _time_of(cell: dict[str, Any] | None) -> str:
    return ms(cell["p50_ms"]) if cell and "p50_ms" in cell else "-"


def _rate_of(cell: dict[str, Any] | None) -> str:
    if not cell or "two_per_s" not in cell:
        return "-"
    return f"{number(cell['two_per_s'])} ({number(cell['speed_up'])} x)"


def _scanned_bytes(each: dict[str, Any]) -> float | None:
    build = each["build"]
    if build.get("in_memory"):
        return None
    kinds = build.get("bytes_by_kind")
    if kinds:
        return float(kinds.get("partitions", 0) + kinds.get("derived", 0))
    found: float | None = build.get("bytes_per_record")
    return found


_OTHER_LOSSES: Final[
    tuple[tuple[str, str, Callable[[dict[str, Any]], float | None], Callable[[Any], str]], ...]
] = (
    ("Build", "spector, with text and full text,", lambda e: e["build"].get("build_s"), _seconds),
    ("Open", "spector", lambda e: e["query"].get("open_s"), _seconds),
    ("Bytes a record", "spector without its catalog", _scanned_bytes, number),
)
