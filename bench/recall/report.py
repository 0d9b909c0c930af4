"""docs/recall.md and its plot from one run. Nothing is edited by hand, no arm is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench import results
from bench.machine import REPO
from bench.recall import tables
from bench.recall.arms import ARMS
from bench.recall.sets import LOADERS
from bench.rivals import svg

PAGE: Final = REPO / "docs" / "recall.md"
PLOT: Final = "recall.svg"
STEPS: Final = "recall-steps.svg"
#: a bar each
_DRAWN: Final = (
    "bm25", "bm25-near", "dense", "rrf60", "zsum", "turns", "spector-text", "spector-vector",
    "spector",
)  # fmt: skip

_ABLATION: Final = (
    "Each arm differs in one setting from the one in the first row: the turn formula, or the "
    "product's default profile. Points, with the interval of the paired difference."
)
_LADDER: Final = (
    "The product with one more idea in each row; the last row is its default. Points gained over "
    "the row above, with the interval of the paired difference."
)
_METHOD: Final = (
    "Every arm gets the same texts and the same vectors, and is asked the same questions. A store "
    "is one conversation (all memories of MADial, all preferences of PrefEval); nothing is trained "
    "and no language model runs.",
    "",
    "- any@10: a gold item is among the first ten. all@10: every gold item is. frac@10: the share "
    "of the gold items that are. MRR@10: one over the rank of the first.",
    "- precision: the share of what was returned that is gold. noise: items returned that are not "
    "gold, for each that is. silent: questions that have an answer and got nothing. tokens: what "
    "the items cost a reader, words and punctuation x 0.98. cpu ms: processor time of one recall "
    "as the arm is asked here, in memory, the vector of the cue given.",
    "- Intervals are 95 %, from 10,000 bootstrap draws of whole conversations (of topics in "
    "PrefEval, of dialogues in MADial); differences are paired by question, and bold when the "
    "interval leaves 0 out. Five conversations make a rough interval.",
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
    page.write_text(docs_page(run), encoding="utf-8")
    (page.parent / PLOT).write_text(plot(run), encoding="utf-8")
    if any("ladder" in each for each in run["sets"].values()):
        (page.parent / STEPS).write_text(steps_plot(run), encoding="utf-8")


def newest(folder: Path = results.RESULTS) -> Path:
    """The last run; names begin with their date, so they sort by it."""
    found = sorted(folder.glob("recall-*.json"))
    if not found:
        raise FileNotFoundError(
            f"no recall-*.json in {folder.name}/; make one: python -m bench.recall"
        )
    return found[-1]


def docs_page(run: dict[str, Any]) -> str:
    lines = [
        "# What recall brings back",
        "",
        f"Made by `python -m bench.recall`; spector {run['versions']['spector']}, commit "
        f"{run['commit'][:10]}{'+' if run['dirty'] else ''}, code {run.get('code', 'unknown')}, "
        f"{run['started'][:10]}, on {_machine(run)}; embedder {run['embedder']}; {_bm25(run)}.",
        "",
        *_METHOD,
        "",
        f"![any@10 of each arm]({PLOT})",
    ]
    lines += _if_any("## What was aimed at", _aims_words(run), tables.aims_table(run))
    for figures in run["sets"].values():
        if "arms" in figures:
            lines += ["", *_set(figures)]
    ladders = [each for each in run["sets"].values() if "ladder" in each]
    if ladders:
        lines += ["", "## What each idea bought", "", _LADDER, "", f"![any@10 by step]({STEPS})"]
    for figures in ladders:
        lines += ["", f"### {figures['title']}", "", *tables.ladder_table(figures["ladder"])]
    ablations = [each for each in run["sets"].values() if "ablation" in each]
    if ablations:
        lines += ["", "## One change at a time", "", _ABLATION]
    for figures in ablations:
        for each in figures["ablation"].values():
            lines += ["", f"### {figures['title']}", "", *tables.ablation_table(each)]
    lines += _if_any("## Times", _times_words(run), tables.times_table(run))
    lines += _if_any(
        "## The same measurement?",
        "Figures that were known of plain arms before, from another program, and what this one "
        "finds.",
        tables.floor_table(run),
    )
    return "\n".join([*lines, "", "## The run", "", *_absent(run), *_facts(run)]) + "\n"


def _absent(run: dict[str, Any]) -> list[str]:
    """What a whole run would have had."""
    sets = [name for name in LOADERS if name not in run["sets"] and name != "memorybank"]
    parts = [] if any("ablation" in each for each in run["sets"].values()) else ["ablations"]
    parts += [] if run.get("times") else ["times"]
    named = ", ".join([*(f"set {name}" for name in sets), *parts])
    return [f"Not measured in this run: {named}.", ""] if named else []


def summary(run: dict[str, Any]) -> str:
    """The tables alone, for the terminal."""
    parts = []
    for figures in run["sets"].values():
        if "arms" in figures:
            parts.append("\n".join([figures["title"], *tables.main_table(figures)]))
            parts.append("\n".join(tables.category_table(figures)))
        parts += [
            "\n".join([figures["title"], *tables.ablation_table(each)])
            for each in figures.get("ablation", {}).values()
        ]
    parts += ["\n".join(tables.times_table(run)), "\n".join(tables.floor_table(run))]
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


def steps_plot(run: dict[str, Any]) -> str:
    """any@10 by set and step of the ladder as SVG."""
    groups = {
        figures["title"].replace(", ", "\n"): {
            told["title"]: told["all"]["any"] for told in figures["ladder"].values()
        }
        for figures in run["sets"].values() if "ladder" in figures
    }  # fmt: skip
    return svg.bars("A gold item among the first ten, idea by idea", "any@10", groups)


def _set(figures: dict[str, Any]) -> list[str]:
    size = (
        f"{figures['questions']:,} questions to {figures['items']:,} items in "
        f"{figures['stores']} store{'s' if figures['stores'] > 1 else ''}."
    )
    lines = [f"## {figures['title']}", "", size, "", *tables.main_table(figures)]
    if len(next(iter(figures["arms"].values()))["categories"]) > 1:
        lines += ["", *tables.category_table(figures)]
    silence = tables.abstention_table(figures)
    if silence:
        lines += [
            "",
            "Questions of up to four other conversations, whose answer is not in the store: how "
            "many bring something back as the arm is, and with a threshold that is set on the "
            "other folds so that 80 % of them get nothing; the last column is what the answerable "
            "ones then lose. The threshold of a plain arm is on how much of the cue's words its "
            "best text covers, plus the best cosine; that of spector on the probability of an "
            "answer by which a context says nothing, of a context that is never silent on its best "
            "score.",
            "",
            *silence,
        ]
    return lines


def _aims_words(run: dict[str, Any]) -> str:
    chosen = run.get("chosen") or {}
    words = (
        "One set of defaults for all sets, no language model; bold: reached. The terms and their "
        "weights were found with all of these conversations in view (bench/LOG.md)."
    )
    if not chosen:
        return words
    picked = "; ".join(dict.fromkeys(chosen["chosen"]))
    return (
        f"{words} Last column: each fold of conversations judged by the best of "
        f"{len(chosen['settings'])} settings (the defaults, and each weight taken away, halved, "
        f"doubled) on the other folds. They chose: {picked}."
    )


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
