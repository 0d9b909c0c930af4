"""docs/recall.md and its plot from one run. Nothing is edited by hand, no arm is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench import results
from bench.machine import REPO
from bench.recall import tables
from bench.recall.arms import ARMS
from bench.recall.protocol import page as protocol
from bench.recall.protocol import settle
from bench.recall.sets import LOADERS
from bench.rivals import svg

PAGE: Final = REPO / "docs" / "recall.md"
PLOT: Final = "recall.svg"
#: a bar each
_DRAWN: Final = (
    "bm25", "bm25-near", "dense", "rrf60", "zsum", "turns", "spector-text", "spector-vector",
    "spector",
)  # fmt: skip

_METHOD: Final = (
    "Every arm gets the same texts and is asked the same questions, who speaks told as `role=`; "
    "the product embeds by itself, the others are given its vectors.",
    "",
    "- any@10: a gold item is among the first ten. all@10: every gold item is. frac@10: the share "
    "of the gold items that are.",
    "- precision: the share of what was returned that is gold. silent: questions that have an "
    "answer and got nothing. tokens: what the items cost a reader, words and punctuation x 0.98.",
    "- Intervals are 95 %, from 10,000 bootstrap draws of whole conversations (of topics in "
    "PrefEval, of dialogues in MADial). Five conversations make a rough interval.",
    "- The paraphrases were written for this project (bench/recall/paraphrases.py): no question "
    "shares a word with its answer, so whoever decides by words withholds it.",
    "- Malformed evidence is repaired, not dropped; a question counts when an item that it names "
    "exists.",
)


class MixedError(Exception):
    """Parts of a run were not measured with the same code."""


def check_one_code(run: dict[str, Any]) -> None:
    """Refuse a run whose parts were made by different sources: a figure beside another then
    compares nothing.

    Raises:
        MixedError
    """
    parts = {f"set {name}": each for name, each in run["sets"].items()}
    parts |= {"times": run["times"]} if run.get("times") else {}
    codes = {name: each.get("code", "unknown") for name, each in parts.items()}
    codes |= {"the end of the run": run.get("code_at_the_end", "unknown")}
    code = run.get("code", "unknown")
    others = [f"{name} {each}" for name, each in codes.items() if each != code]
    if others or code == "unknown":
        raise MixedError(
            f"the run is of code {code}, but {', '.join(others) or 'that is no digest'}; measure "
            "all of it again: python -m bench.recall"
        )


def write_page(run: dict[str, Any], page: Path = PAGE) -> None:
    check_one_code(run)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(docs_page(run, settle.newest()), encoding="utf-8")
    (page.parent / PLOT).write_text(plot(run), encoding="utf-8")


def newest(folder: Path = results.RESULTS) -> Path:
    """The last run; names begin with their date, so they sort by it."""
    found = sorted(folder.glob("recall-*.json"))
    if not found:
        raise FileNotFoundError(
            f"no recall-*.json in {folder.name}/; make one: python -m bench.recall"
        )
    return found[-1]


def docs_page(run: dict[str, Any], told: dict[str, Any] | None = None) -> str:
    """The page of a run of the arms, after what the protocol found (``told``)."""
    lines = ["# What recall brings back", ""]
    if told is not None:
        lines += [
            f"Made by `python -m bench.recall`; protocol of {told['commit']}, "
            f"{told['started'][:10]}" + (f", before: {told['base']}." if "base" in told else "."),
            "", *protocol.sections(told), "",
        ]  # fmt: skip
    lines += [
        "## Beside plain arms",
        "",
        f"Made by `python -m bench.recall`; spector {run['versions']['spector']}, commit "
        f"{run['commit'][:10]}{'+' if run['dirty'] else ''}, code {run.get('code', 'unknown')}, "
        f"{run['started'][:10]}, on {_machine(run)}; embedder {run['embedder']}; {_bm25(run)}.",
        "",
        *_METHOD,
        "",
        f"![any@10 of each arm]({PLOT})",
    ]
    for figures in run["sets"].values():
        if "arms" in figures:
            lines += ["", *_set(figures)]
    lines += _if_any("## Times", _times_words(run), tables.times_table(run))
    return "\n".join([*lines, "", "## The run", "", *_absent(run), *_facts(run)]) + "\n"


def _absent(run: dict[str, Any]) -> list[str]:
    """What a whole run would have had."""
    sets = [name for name in LOADERS if name not in run["sets"] and name != "memorybank"]
    parts = [] if run.get("times") else ["times"]
    named = ", ".join([*(f"set {name}" for name in sets), *parts])
    return [f"Not measured in this run: {named}.", ""] if named else []


def summary(run: dict[str, Any]) -> str:
    """The tables alone, for the terminal."""
    parts = [
        "\n".join([figures["title"], *tables.main_table(figures)])
        for figures in run["sets"].values() if "arms" in figures
    ]
    parts.append("\n".join(tables.times_table(run)))
    return "\n\n".join(part for part in parts if part)


def plot(run: dict[str, Any]) -> str:
    """any@10 by set and arm as SVG."""
    groups = {}
    for figures in run["sets"].values():
        arms = figures.get("arms", {})
        shown = {ARMS[name].title: arms[name]["all"]["any"] for name in _DRAWN if name in arms}
        if shown:
            groups[figures["title"].replace(", ", "\n")] = shown
    return svg.bars("A gold item among the first ten", "any@10", groups)


def _set(figures: dict[str, Any]) -> list[str]:
    size = (
        f"{figures['questions']:,} questions to {figures['items']:,} items in "
        f"{figures['stores']} store{'s' if figures['stores'] > 1 else ''}."
    )
    return [f"### {figures['title']}", "", size, "", *tables.main_table(figures)]


def _if_any(title: str, words: str, table: list[str]) -> list[str]:
    return ["", title, "", words, "", *table] if table else []


def _times_words(run: dict[str, Any]) -> str:
    times = run.get("times") or {}
    load = times.get("load_average", run["load_average"])
    low, high = min(load), max(load)
    busy = (
        f" The machine was shared with other work (load {low:g} to {high:g} on "
        f"{run['machine']['cores']} cores): these times say little."
        if high > 1.5
        else ""
    )
    return (
        f"One store of {times.get('turns', 0):,} turns on disk, one caller. "
        f"{times.get('not_in_the_first_recall', 0)} new memories were missing in the first recall "
        f"after their `remember`.{busy}"
    )


def _machine(run: dict[str, Any]) -> str:
    told = run["machine"]
    memory = f", {told['ram_gb']:.0f} GB" if "ram_gb" in told else ""
    return f"{told['cores']} cores of {told['cpu']}{memory}"


def _bm25(run: dict[str, Any]) -> str:
    told = run["bm25"]
    return (
        f"BM25 by bm25s (Lucene's variant) with k1 {told['k1']:g}, b {told['b']:g}, "
        f"stemmer {told['stem']}, stop list {told['stop']}"
    )


def _facts(run: dict[str, Any]) -> list[str]:
    facts = {
        "started": run["started"],
        "took": f"{run['elapsed_s']:.0f} s",
        "commit": run["commit"] + (" with local changes" if run["dirty"] else ""),
        "code": run.get("code", "unknown"),
        "machine": _machine(run),
        "arms answered by lines of earlier runs": run.get("arms_of_earlier_runs", 0),
        "load before / after": " / ".join(f"{load:g}" for load in run["load_average"]),
        **{f"digest of {name}": each["digest"] for name, each in run["sets"].items()},
        **run["versions"],
    }
    return ["| fact | value |", "|---|---|", *(f"| {n} | {value} |" for n, value in facts.items())]
