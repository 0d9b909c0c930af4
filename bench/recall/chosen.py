"""Settings chosen on some conversations and judged on the others: is a default only luck?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.recall.figures import metrics_of
from bench.recall.metrics import Metric, Outcome, any_at, frac_at
from bench.recall.paired import held_out
from bench.recall.shape import DataSet, folds

#: what counts on each set when one setting is chosen for all of them
OBJECTIVES: Final[dict[str, Metric]] = {
    "locomo": any_at, "beam": any_at, "madial": frac_at, "prefeval": any_at,
}  # fmt: skip

Outcomes = Sequence[Outcome]


def chosen_figures(
    settings: Mapping[str, Mapping[str, Outcomes]], sets: Sequence[DataSet], fold_count: int
) -> dict[str, Any]:
    """What every fold chose, and the metrics of each set when nothing was chosen where it counts.

    Args:
        settings: setting -> set -> outcomes. Sets that one of them was not asked are left out.
    """
    told = [data for data in sets if data.name in OBJECTIVES
            and all(data.name in results for results in settings.values())]  # fmt: skip
    if not told or len(settings) < 2:
        return {}
    objectives = {data.name: OBJECTIVES[data.name] for data in told}
    parts = {data.name: folds(data, fold_count) for data in told}
    count = max(len(each) for each in parts.values())
    # a set with fewer groups than folds is tested in the first of them
    tested = [
        {name: each[n] for name, each in parts.items() if n < len(each)} for n in range(count)
    ]
    found = held_out(settings, tested, objectives)
    return {
        "settings": list(settings),
        "chosen": list(found.chosen),
        "sets": {name: metrics_of(outcomes) for name, outcomes in found.outcomes.items()},
    }
