"""How a memory that sleep made reads by what it is made of, so that an earlier state can return."""

from __future__ import annotations

from spector.config import Config
from spector.knowledge import figure_text
from spector.knowledge.induction import trend_text
from spector.language.worth import extract_of
from spector.providers import estimated_tokens
from spector.search import Surveyor
from spector.sleep.steps import SUMMARY, pattern_of, pattern_text

__all__ = ["retold"]


def retold(survey: Surveyor, config: Config, record_id: int) -> str | None:
    """The words of a statistic, a summary or a pattern; None for anything else."""
    with survey.knowledge() as reader:
        statistic = reader.payloads([record_id], "statistic").get(record_id)
        kind = reader.payloads([record_id], "observed").get(record_id, {}).get("kind") or ""
        edges = reader.edges([record_id], direction="out", kinds=["derived_from"])
        sources = sorted(each.target for each in edges)
        facts = reader.facts(id=pattern_of(kind)) if pattern_of(kind) else []
    if statistic is not None:
        if statistic["category"] == "pattern":
            return trend_text(statistic["name"], statistic["values"])
        return figure_text(statistic["code"], statistic["name"], statistic["values"])
    if facts:
        return pattern_text(facts[0]["json"], len(sources))
    if not kind.startswith(SUMMARY):
        return None
    words = survey.words(sources)
    texts = [words[each].text for each in sources if each in words]
    return extract_of(texts, config.sleep.summary_tokens, estimated_tokens)
