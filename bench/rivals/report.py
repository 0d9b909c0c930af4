"""docs/rivals.md from one run. Nothing is edited by hand, no row is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench import results
from bench.machine import REPO
from bench.report import compact, number
from bench.rivals import tables
from bench.rivals.words import COMPARABLE, METHOD

PAGE: Final = REPO / "docs" / "rivals.md"


def write_page(run: dict[str, Any], page: Path = PAGE) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(docs_page(run), encoding="utf-8")


def newest(folder: Path = results.RESULTS) -> Path:
    """The run of most records; the newest of those. Names hold the date, then the size."""
    found = sorted(folder.glob("rivals-*.json"), key=lambda path: (_thousands(path), path.name))
    if not found:
        raise FileNotFoundError(f"no rivals-*.json in {folder.name}/; make one: make bench-rivals")
    return found[-1]


def docs_page(run: dict[str, Any]) -> str:
    lines = [
        "# spector beside other engines",
        "",
        _machine_line(run),
        "",
        f"{run['records']:,} records of {run['dim']} dimensions ({run['data']}); k = 10.",
        "",
        *METHOD,
        "",
        "What is not comparable:",
        "",
        *COMPARABLE,
        "",
        "## The promises: in turns with faiss SQ8 flat",
        "",
        *tables.promises(run),
        "",
        "## Nearest neighbours with a filter",
        "",
        *tables.neighbours(run),
        "",
        "### Graphs and clusters at other efforts",
        "",
        *tables.efforts(run),
        "",
        "### Building, opening, size, two threads",
        "",
        *tables.facts(run),
        "",
        "## The truncation trap",
        "",
        *tables.trap(run),
        "",
        "## Where spector loses",
        "",
        *tables.losses(run),
        "",
        "## What each row is",
        "",
        *(f"- **{c['title']}**: {c['about']}." for c in run["contenders"]),
    ]
    missing = tables.missing(run)
    if missing:
        lines += ["", "## Not measured", "", *missing]
    lines += ["", "## The run", "", *_facts(run)]
    return compact("\n".join(lines)) + "\n"


def summary(run: dict[str, Any]) -> str:
    """The tables alone, for the terminal."""
    parts = [
        tables.promises(run),
        tables.neighbours(run),
        tables.efforts(run),
        tables.facts(run),
        tables.trap(run),
        tables.losses(run),
        tables.missing(run),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _thousands(path: Path) -> int:
    size = path.stem.rsplit("-", 1)[-1].removesuffix("k")
    return int(size) if size.isdigit() else 0


def _machine_line(run: dict[str, Any]) -> str:
    about, versions = run["machine"], run["versions"]
    low, high = min(run["load_average"]), max(run["load_average"])
    # one thread measuring makes a load of one, building with two a load of two
    shared = (
        f" **The machine was shared with other work (load {low:g} to {high:g}): times are high "
        "and scattered and say little about anybody; the ratios of processor time in the first "
        "table suffer least.**"
        if high > 2.5
        else ""
    )
    return (
        f"{about['cpu']}, {about['cores']} cores, {about['ram_gb']:.0f} GB, streaming read "
        f"{about['stream_gb_per_s']:.1f} GB/s on one core; Python {versions['python']}, spector "
        f"{versions['spector']} with kernel {run['kernel']}; commit {run['commit'][:10]}"
        f"{'+' if run['dirty'] else ''}, {run['started'][:10]}.{shared}"
    )


def _facts(run: dict[str, Any]) -> list[str]:
    facts = {
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
    return ["| fact | value |", "|---|---|", *(f"| {n} | {value} |" for n, value in facts.items())]
