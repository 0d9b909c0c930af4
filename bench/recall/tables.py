"""The tables of docs/recall.md, from the figures of one run."""

from __future__ import annotations

from typing import Any, Final

from bench.recall.arms import ARMS

Run = dict[str, Any]
#: columns of the table of categories
_SHOWN: Final = ("bm25", "dense", "rrf60", "turns", "spector")

#: stands for the category that is worst
WEAKEST: Final = "weakest"

#: what plain arms measured when this harness was asked for: set, arm, metric, category -> percent.
#: They are here so that a reader sees whether this is the same measurement.
FLOORS: Final[tuple[tuple[str, str, str, str | None, float], ...]] = (
    ("locomo", "bm25", "any", None, 68.0),
    ("locomo", "bm25", "frac", None, 62.7),
    ("locomo", "bm25", "all", "multi-hop", 17.2),
    ("locomo", "bm25-near", "any", None, 76.8),
    ("locomo", "bm25-near", "frac", None, 71.2),
    ("locomo", "dense", "any", None, 50.6),
    ("locomo", "dense", "frac", None, 45.6),
    ("locomo", "dense", "all", "multi-hop", 9.9),
    ("locomo", "turns", "any", None, 85.5),
    ("locomo", "turns", "frac", None, 79.5),
    ("locomo", "turns", "all", "multi-hop", 23.8),
    ("locomo-sessions", "bm25", "frac", None, 93.8),
    ("locomo-sessions", "dense", "frac", None, 60.8),
    ("locomo-sessions", "zhalf", "frac", None, 94.6),
    ("beam", "bm25", "any", None, 63.7),
    ("beam", "bm25", "any", "instruction following", 20.0),
    ("beam", "bm25", "any", "event ordering", 25.0),
    ("beam", "bm25", "any", "preference following", 42.0),
    ("beam", "bm25", "any", "summarization", 55.0),
    ("madial", "bm25", "frac", None, 56.3),
    ("madial", "dense", "frac", None, 66.2),
    ("madial", "zsum", "frac", None, 70.4),
    ("prefeval", "bm25", "any", None, 20.2),
    ("prefeval", "dense", "any", None, 44.4),
    ("prefeval", "zsum", "any", None, 35.6),
)

#: what this engine was built to reach with one set of defaults: set, metric, category -> percent
AIMS: Final[tuple[tuple[str, str, str | None, float], ...]] = (
    ("locomo", "any", None, 90.0),
    ("locomo", "frac", None, 85.0),
    ("locomo", "all", "multi-hop", 30.0),
    ("locomo-sessions", "frac", None, 97.0),
    ("beam", "any", None, 76.0),
    ("beam", "any", WEAKEST, 40.0),
    # with who speaks, as the turns of the set are; without is told beside it
    ("madial-named", "frac", None, 77.0),
    ("madial", "frac", None, 77.0),
    ("prefeval", "any", None, 54.0),
)
#: key of the times, what it is, p50 in ms
_TIME_AIMS: Final = (
    ("recall_with_embedding_ms", "ms p50, cue embedded", 15.0),
    ("recall_ms", "ms p50, vector of the cue given", 3.0),
)


def aims_table(run: Run) -> list[str]:
    """The defaults, and what other conversations would have chosen, beside what was aimed at."""
    held = run.get("chosen", {}).get("sets", {})
    rows = [
        "| set | metric | aim | spector, default | chosen on other folds |",
        "|---|---|---|---|---|",
    ]
    for name, metric, category, aim in AIMS:
        figures = run["sets"].get(name, {})
        default = figures.get("arms", {}).get("spector")
        if default is None or category not in (None, WEAKEST, *default["categories"]):
            continue
        here, value = _aimed(default, metric, category)
        other = _aimed(held[name], metric, category)[0] if name in held else ""
        what = f"{metric}@10" + (f", {category}" if category else "")
        told = f"**{here}**" if 100 * value >= aim else here
        rows.append(f"| {figures['title']} | {what} | {aim:g} | {told} | {other} |")
    rows += _silence_rows(run)
    for key, title, limit in _TIME_AIMS:
        if run.get("times"):
            p50 = run["times"][key]["p50"]
            told = f"**{p50:.1f}**" if p50 < limit else f"{p50:.1f}"
            rows.append(f"| {run['times']['turns']:,} turns | {title} | < {limit:g} | {told} | |")
    return rows if len(rows) > 2 else []


def _silence_rows(run: Run) -> list[str]:
    """What a context says to questions of another conversation, and what its silence costs."""
    figures = run["sets"].get("locomo", {})
    silent, always = (figures.get("arms", {}).get(n) for n in ("spector-context", "spector-always"))
    if silent is None or always is None:
        return []
    quiet = 1 - silent["abstention"]["false_returns"]
    lost = always["all"]["any"] - silent["all"]["any"]
    rows = []
    for what, aim, value, reached in (
        ("cues of another store that get nothing, context", "80", quiet, quiet >= 0.8),
        ("any@10 that this costs", "< 2", lost, lost < 0.02),
    ):
        told = f"**{percent(value)}**" if reached else percent(value)
        rows.append(f"| {figures['title']} | {what} | {aim} | {told} | |")
    return rows


def _aimed(told: dict[str, Any], metric: str, category: str | None) -> tuple[str, float]:
    """A figure as text and as a share."""
    if category is None:
        return _with_interval(told["interval"][metric]), told["all"][metric]
    parts = told["categories"]
    name = min(parts, key=lambda each: parts[each][metric]) if category == WEAKEST else category
    share = parts[name][metric]
    return percent(share) + (f" ({name})" if category == WEAKEST else ""), share


def main_table(figures: dict[str, Any]) -> list[str]:
    """One set: an arm a row."""
    rows = [
        "| arm | any@10 | frac@10 | all@10 | MRR@10 | any@10 against BM25 | precision | noise "
        "| silent | tokens | p50 cpu ms | p95 cpu ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, arm in figures["arms"].items():
        told = arm["all"]
        rows.append(
            f"| {ARMS[name].title} | {_with_interval(arm['interval']['any'])} "
            f"| {_with_interval(arm['interval']['frac'])} | {percent(told['all'])} "
            f"| {percent(told['mrr'])} | {_gain(arm)} | {percent(told['precision'])} "
            f"| {told['noise']:.1f} | {percent(told.get('silent', 0))} | {told['tokens']:,.0f} "
            f"| {told['p50_cpu_ms']:.1f} | {told['p95_cpu_ms']:.1f} |"
        )
    return rows


def category_table(figures: dict[str, Any]) -> list[str]:
    """One set: a category a row, any@10 / all@10 of a few arms."""
    arms = [name for name in _SHOWN if name in figures["arms"]]
    if not arms:
        return []
    counts = {
        name: told["questions"]
        for name, told in figures["arms"][arms[0]]["categories"].items()
    }
    rows = [
        "| any@10 / all@10 | questions | " + " | ".join(ARMS[name].title for name in arms) + " |",
        "|" + "---|" * (len(arms) + 2),
    ]
    for category, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        cells = []
        for name in arms:
            told = figures["arms"][name]["categories"][category]
            cells.append(f"{percent(told['any'])} / {percent(told['all'])}")
        rows.append(f"| {category} | {count:.0f} | " + " | ".join(cells) + " |")
    return rows


def abstention_table(figures: dict[str, Any]) -> list[str]:
    """One set of several conversations: what comes back to questions of another one."""
    rows = [
        "| arm | brings something back | with a threshold | any@10 that costs |",
        "|---|---|---|---|",
    ]
    for name, arm in figures["arms"].items():
        if "abstention" in arm:
            told = dict(arm["abstention"])
            # silent to everything: the score says nothing about the cue
            if told.get("lost_any", 0) >= arm["all"]["any"]:
                told = {"false_returns": told["false_returns"]}
            cells = [
                percent(told[key]) if key in told else ""
                for key in ("false_returns", "with_threshold", "lost_any")
            ]
            rows.append(f"| {ARMS[name].title} | " + " | ".join(cells) + " |")
    return rows if len(rows) > 2 else []


def ladder_table(arms: dict[str, Any]) -> list[str]:
    """One set: what each idea comes to, and what it adds to those above it."""
    rows = ["| with | any@10 | frac@10 | any@10 gained | frac@10 gained |", "|---|---|---|---|---|"]
    for each in arms.values():
        gained = [_signed(each["change"][m]) if "change" in each else "" for m in ("any", "frac")]
        cells = [percent(each["all"][m]) for m in ("any", "frac")] + gained
        rows.append(f"| {each['title']} | " + " | ".join(cells) + " |")
    return rows


def ablation_table(arms: dict[str, Any]) -> list[str]:
    """One set and base: the base, then what each single change does to it."""
    rows = [
        "| change | any@10 | frac@10 | all@10 | precision | silent |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for each in arms.values():
        if "change" in each:
            cells = [_signed(each["change"][metric]) for metric in ("any", "frac", "all")]
        else:
            cells = [percent(each["all"][metric]) for metric in ("any", "frac", "all")]
        cells += [percent(each["all"][metric]) for metric in ("precision", "silent")]
        rows.append(f"| {each['title']} | " + " | ".join(cells) + " |")
    return rows


def floor_table(run: Run) -> list[str]:
    """What was told beforehand beside what is measured here."""
    rows = ["| set | arm | metric | told | here |", "|---|---|---|---|---|"]
    for name, arm, metric, category, told in FLOORS:
        figures = run["sets"].get(name, {}).get("arms", {}).get(arm, {})
        parts = {None: figures.get("all"), **figures.get("categories", {})}
        part = parts.get(category)
        if part is None:
            continue
        what = f"{metric}@10" + (f", {category}" if category else "")
        rows.append(
            f"| {run['sets'][name]['title']} | {ARMS[arm].title} | {what} | {told:.1f} "
            f"| {percent(part[metric])} |"
        )
    return rows if len(rows) > 2 else []


def times_table(run: Run) -> list[str]:
    times = run.get("times")
    if not times:
        return []
    names = {
        "recall_ms": "recall, vector of the cue given",
        "recall_cpu_ms": "the same, processor time",
        "recall_with_embedding_ms": "recall, cue embedded",
        "recall_with_embedding_cpu_ms": "the same, processor time",
        "context_ms": "a context of 1,000 tokens, vector of the cue given",
        "recall_by_vector_ms": "recall by vector alone",
        "recall_by_vector_cpu_ms": "the same, processor time",
        "write_to_readable_ms": "`remember` until a recall has it",
        "first_recall_without_words_ms": "first recall of an opened store, without files of words",
        "first_recall_ms": "the same with them",
        "recall_of_few_by_vector_ms": f"{times.get('few', 0):,} memories: by vector, and the texts",
    }
    rows = ["| ms | best | p50 | p95 | p99 |", "|---|---|---|---|---|"]
    for key, title in names.items():
        if key not in times:
            continue
        told = times[key]
        rows.append(
            f"| {title} | " + " | ".join(f"{told[n]:.2f}" for n in ("best", "p50", "p95", "p99"))
            + " |"
        )
    return rows


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _with_interval(values: list[float]) -> str:
    middle, low, high = values
    return f"{percent(middle)} ({100 * low:.0f}-{100 * high:.0f})"


def _signed(values: list[float]) -> str:
    """A difference in points; bold when its interval leaves 0 out."""
    middle, low, high = (100 * value for value in values)
    text = f"{middle:+.1f} ({low:+.1f} to {high:+.1f})"
    return f"**{text}**" if low > 0 or high < 0 else text


def _gain(arm: dict[str, Any]) -> str:
    return _signed(arm["gain"]["any"]) if "gain" in arm else ""
