"""What episodes teach: concepts, and patterns that are no chance."""

from __future__ import annotations

from spector.sleep.night import Night, Units
from spector.write import Prepared, Unit

__all__ = ["extract", "patterns"]


def extract(night: Night, cursor: int) -> Units:
    """Take over what new episodes name as concepts, from where the last cycle ended."""
    if night.config.knowledge.extract == "off" or night.dry:
        return None
    left, after = night.sleep.records_per_cycle, night.state.extracted_id
    while left > 0:
        size = min(left, night.sleep.batch_records)
        found = night.tools.extract_concepts(after, size)
        after, left = max(after, found.last_id), left - found.memories
        yield Unit(
            seen=found.memories, noted=found.concepts, made_before=found.made,
            state={"extracted_id": after}, reason="named by episodes",
        )  # fmt: skip
        if found.memories < size:
            break
    return {"extracted_id": after}


def patterns(night: Night) -> Units:
    """What causes success, which tools get worse, and what other sources have found."""
    for each in night.tools.promotions():
        if each.decide is None:
            yield Unit(seen=1, skipped={each.reason or "rejected": 1})
        else:
            texts = each.prepared if each.restates is None else [Prepared(each.name, {})]
            yield Unit(
                seen=1, prepared=texts, decide=each.decide, restates=each.restates,
                reason=each.category,
            )  # fmt: skip
    return None
