"""Tables from the results: a block in the README and one in docs/performance.md.

Nothing here is written by hand, and no row is left out: a promise that was missed says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.machine import REPO
from bench.results import met

README: Final = REPO / "README.md"
#: the page that every benchmark has a block in
PAGE: Final = REPO / "docs" / "performance.md"

GROUPS: Final = {
    "scan": "Scan, beside a streaming read of the same bytes",
    "recall": "Recall",
    "lists": "Keys, pages and counts",
    "write": "Writing",
    "import": "Importing files",
    "reach": "Awaiting, MCP and namespaces",
    "start": "Start: processor time of a process beyond that of Python alone",
    "open": "Import and open",
    "size": "Size",
    "sleep": "Compact and check",
    "embed": "The offline embedder",
}
#: ids of the rows of the README; the page has all of them
_README_ROWS: Final = frozenset(
    {
        "recall.vector.1000000",
        "recall.hybrid.1000000",
        "recall.tagged.1000000",
        "recall.where.1000000",
        "recall.after-remember.3650",
        "remember.strict",
        "append.many.20000",
        "open.1000000",
        "disk.1000000",
        "embed.cue",
    }
)
#: load average that one busy benchmark reaches by itself
_OWN_LOAD: Final = 1.5
_WORDS: Final = {"texts": "{:,} texts", "threads": "{} thread(s)", "backend": "{}"}


def write_all(results: dict[str, Any], readme: Path = README, page: Path = PAGE) -> None:
    """Regenerate both blocks from one run."""
    write_block(page, "bench", docs_block(results))
    write_block(readme, "bench", readme_block(results))


def write_block(page: Path, name: str, block: str) -> None:
    """Replace the block called ``name`` of a page."""
    text = page.read_text(encoding="utf-8")
    page.write_text(replace_block(text, name, block), encoding="utf-8")


def replace_block(text: str, name: str, block: str) -> str:
    """``text`` with what stands between the two marks of ``name`` replaced."""
    begin, end = marks(name)
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"expected exactly one {begin} ... {end}")
    return pattern.sub(lambda _: f"{begin}\n{compact(block.strip())}\n{end}", text)


def compact(page: str) -> str:
    """A page whose tables have no spaces around their cells: none is shown."""
    return re.sub(r"^\|.*\|$", lambda row: re.sub(r" *\| *", "|", row[0]), page, flags=re.MULTILINE)


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def readme_block(results: dict[str, Any]) -> str:
    rows = [row for row in results["rows"] if row["id"] in _README_ROWS]
    rows.sort(key=_order)
    return "\n".join(
        [
            *_table(rows),
            "",
            _machine_line(results),
            "All figures, the method, and the goals that were missed: "
            "[docs/performance.md](docs/performance.md).",
        ]
    )


def docs_block(results: dict[str, Any]) -> str:
    lines = ["## Benchmarks", "", _machine_line(results), "", *_METHOD, ""]
    missed = [row for row in results["rows"] if met(row) is False]
    promised = [row for row in results["rows"] if met(row) is not None]
    kept = len(promised) - len(missed)
    lines += [f"{kept} of the {len(promised)} goals that these rows measure are met."]
    if missed:
        lines += ["", "Missed:", ""]
        lines += [f"- {_name(row)}: {_verdict(row)}" for row in missed]
    lines += _failures(results)
    for group, title in GROUPS.items():
        rows = sorted((row for row in results["rows"] if row["group"] == group), key=_order)
        if rows:
            lines += ["", f"### {title}", "", *_table(rows)]
    lines += ["", "### The run", "", *table("fact|value", _run_facts(results).items())]
    return "\n".join(lines) + "\n"


_METHOD: Final = """\
Made by `python -m bench report`; no row is edited or left out. `make bench` makes a quick run,
`python -m bench --full` a full one.

- Vectors are sentence embeddings of conversation, copied with Gaussian noise to the size of the
  store (cosine about 0.93). Cues are questions.
- One thread, one core, files in the page cache, unless a row says more. Stores live 400 days.
- p50 and p99 are nearest-rank; of fewer than 100 samples p99 is the slowest. The p99 of a rate is
  its slow end. CPU p50 is the processor's time; what p50 is above it was spent waiting.
- A scan alternates with a plain streaming read of the same bytes, the fastest of several.""".splitlines()


def _order(row: dict[str, Any]) -> tuple[int, int]:
    """By group, then by size; rows of equal size keep the order in which they ran."""
    return list(GROUPS).index(row["group"]), row["params"].get("records", 0)


def table(head: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table; columns whose name ends with a colon are aligned to the right."""
    names = head.split("|")
    rule = "|".join("--:" if each.endswith(":") else "---" for each in names)
    named = (each.removesuffix(":") for each in names)
    body = [f"| {' | '.join(row)} |" for row in (named, *rows)]
    return [body[0], f"|{rule}|", *body[1:]]


def _table(rows: Iterable[dict[str, Any]]) -> list[str]:
    cells = (
        [
            row["title"],
            _over(row),
            *(number(row["stats"][name]) for name in ("p50", "p99", "best")),
            number(row["cpu_p50"]) if "cpu_p50" in row else "",
            row["unit"],
            _verdict(row),
        ]
        for row in rows
    )
    return table("what|over|p50:|p99:|best:|CPU p50:|unit|promised", cells)


def _failures(results: dict[str, Any]) -> list[str]:
    failed = results.get("failed", [])
    if not failed:
        return []
    return ["", "Not measured in this run:", "", *(f"- {f['test']}: {f['why']}" for f in failed)]


def _run_facts(results: dict[str, Any]) -> dict[str, str]:
    return {
        "mode": results["mode"],
        "started": results["started"],
        "took": f"{results['elapsed_s']:.0f} s",
        "commit": results["commit"] + (" with local changes" if results["dirty"] else ""),
        "data": results["data"],
        "kernel": results.get("kernel", "unknown"),
        **{_plain(name): _value(value) for name, value in results["machine"].items()},
        "load before / after": " / ".join(str(load) for load in results.get("load_average", [])),
        **results["versions"],
    }


def machine_line(results: dict[str, Any], software: str, mode: str = "") -> str:
    """The machine, the software with its commit, and the day."""
    machine = results["machine"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['ram_gb']:.0f} GB, streaming read "
        f"{machine['stream_gb_per_s']:.1f} GB/s on one core; Python {results['versions']['python']}"
        f", {software}; commit {results['commit'][:10]}{'+' if results['dirty'] else ''}, "
        f"{results['started'][:10]}{mode}."
    )


def _machine_line(results: dict[str, Any]) -> str:
    software = "NumPy {numpy}, SQLite {sqlite}".format_map(results["versions"])
    return machine_line(results, software, f", {results['mode']} run") + _sharing(results)


def _sharing(results: dict[str, Any]) -> str:
    """A warning when other programs competed: the benchmarks themselves make a load of one."""
    low, high = min(results["load_average"]), max(results["load_average"])
    if high <= _OWN_LOAD:
        return ""
    return f" The machine was shared with other work (load {low:g} to {high:g}): times are high."


def _name(row: dict[str, Any]) -> str:
    over = _over(row)
    return f"{row['title']} ({over})" if over else str(row["title"])


def _over(row: dict[str, Any]) -> str:
    params = row["params"]
    parts = []
    if "records" in params:
        parts.append(f"{params['records']:,} x {params['dim']}")
    for name, form in _WORDS.items():
        if name in params and not (name == "threads" and params[name] == 1):
            parts.append(form.format(params[name]))
    return ", ".join(parts)


def _verdict(row: dict[str, Any]) -> str:
    target = row.get("target")
    if not target:
        return ""
    figure = {**row["stats"], **row["extra"]}[target["of"]]
    sign = {"<=": "at most", ">=": "at least"}[target["op"]]
    promise = f"{sign} {number(target['value'])}"
    if target["of"] not in row["stats"]:
        promise += f" {_plain(target['of'])}"
    return f"{promise}: {'kept' if met(row) else '**missed**'} ({number(figure)})"


def _plain(name: str) -> str:
    names = {"times_stream": "x stream", "of_stream": "of the stream", "per_second": "a second"}
    return names.get(name, name.replace("_", " "))


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return number(value)


def number(value: float) -> str:
    """Three significant digits, thousands separated, integers from 100 on."""
    if abs(value) >= 99.95:
        return f"{round(value):,}"
    if value == int(value):
        return str(int(value))
    return f"{float(f'{value:.3g}'):g}"
