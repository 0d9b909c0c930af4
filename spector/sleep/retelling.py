"""How a memory that sleep made reads by what it is made of, so that an earlier state can return."""

from __future__ import annotations

from spector.config import Config
from spector.knowledge import figure_text
from spector.knowledge.association import themes_among
from spector.knowledge.induction import trend_text
from spector.search import Surveyor
from spector.sleep.steps import theme_text

__all__ = ["retold"]


def retold(survey: Surveyor, config: Config, record_id: int) -> str | None:
    """The words of a statistic or a theme; None for anything else."""
    with survey.knowledge() as reader:
        statistic = reader.payloads([record_id], "statistic").get(record_id)
        sources = set(themes_among(reader, [record_id]).get(record_id, ()))
        sources -= {row["id"] for row in reader.facts(id=sorted(sources))} if sources else set()
    if statistic is not None:
        if statistic["category"] == "pattern":
            return trend_text(statistic["name"], statistic["values"])
        return figure_text(statistic["code"], statistic["name"], statistic["values"])
    if not sources:
        return None
    return theme_text([*survey.records(sorted(sources)).values()], config.sleep.summary_tokens)
