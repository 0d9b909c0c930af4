"""The step from short to medium term: what is a few days old is judged once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from spector.knowledge import Changes, KnowledgeReader, encode
from spector.language.worth import extract_of
from spector.layout import Flag, TierCode
from spector.providers import estimated_tokens
from spector.search import Strengths
from spector.sleep.night import Mask, Night, Rows, Units, batches, has_flag
from spector.sleep.protection import Protection
from spector.sleep.retiring import retiring
from spector.write import Unit

__all__ = ["compress"]

_HOUR_MS = 3_600_000


def compress(night: Night, cursor: int) -> Units:
    """Important episodes get a summary and the mark of the medium term.

    Due is what has become two days old since the step last ran. The more of a user are due at
    once, the more important an episode must be. What is not stays as it is, unless the config
    says otherwise.
    """
    sleep, rows = night.sleep, night.memories.rows
    born = np.maximum(rows["event_ms"], rows["recorded_ms"])
    ripe = born + int(sleep.short_term_ttl_h * _HOUR_MS)
    due = rows[
        night.is_active(rows) & (rows["tier"] == int(TierCode.EPISODIC))
        & (ripe > night.state.compressed_ms) & (ripe <= night.started_ms)
    ]
    counts = Counter(due["user"].tolist())
    least = {
        user: sleep.compress_base
        + min(n / 100 * sleep.compress_penalty, sleep.compress_penalty)
        for user, n in counts.items()
    }
    threshold = np.array([least[each] for each in due["user"].tolist()], np.float32)
    fresh = ~has_flag(due, Flag.CONSOLIDATED)
    chosen = due["id"][fresh & (due["importance"] >= threshold)]
    below = due[fresh & (due["importance"] < threshold)]
    spared = {"less important": len(below)} if len(below) and not cursor else {}
    for batch in batches(chosen[chosen > cursor], sleep.batch_records):
        ids = batch.tolist()
        texts = {each: found.text for each, found in night.survey.words(ids).items()}
        yield Unit(
            ids=ids, alter=_consolidated, decide=_summaries(texts, sleep.summary_tokens),
            cursor=int(batch[-1]), seen=len(batch), skipped=spared, reason="medium term",
        )  # fmt: skip
        spared = {}
    if sleep.compress_below != "keep":
        yield from _below(night, below)
    elif spared:
        yield Unit(skipped=spared)
    return {"compressed_ms": night.started_ms}


def _below(night: Night, rows: Rows) -> Units:
    """What is not important enough becomes dormant, as far as protections and limits let it."""
    protection = Protection(night, night.memories.rows)
    free = rows[protection.of_headers(rows, floors=True, use=True)]
    yield from retiring(night, free, "not important in the short term", protection.spared)
    return None


def _consolidated(fresh: Strengths) -> Mask:
    rows = fresh.rows
    chosen = ~has_flag(rows, Flag.CONSOLIDATED)
    rows["flags"] |= int(Flag.CONSOLIDATED)
    return chosen


def _summaries(texts: Mapping[int, str], most: int):  # type: ignore[no-untyped-def]
    """Rows with the summaries of texts that are too long to be their own."""
    long = {each: text for each, text in texts.items() if estimated_tokens(text) > most}
    short = {each: extract_of([text], most, estimated_tokens) for each, text in long.items()}

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        known = reader.payloads(list(short), "episode")
        for each, summary in short.items():
            if summary:
                fields = {**known.get(each, {}), "summary": summary}
                changes.put("payload", id=each, sort="episode", json=encode("episode", fields))
        return changes

    return decide
