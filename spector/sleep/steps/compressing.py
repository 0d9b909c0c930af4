"""The step from short to medium term: what is a few days old is judged once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from spector.knowledge import Changes, KnowledgeReader, encode
from spector.layout import Flag, TierCode
from spector.providers import estimated_tokens
from spector.search import Strengths
from spector.sleep.night import Mask, Night, Rows, Units, batches, has_flag, mark_of, texts_of
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
        night.is_active(rows)
        & (rows["tier"] == int(TierCode.EPISODIC))
        & (ripe > night.state.compressed_ms)
        & (ripe <= night.started_ms)
    ]
    counts = Counter(due["user"].tolist())
    if sleep.compress_below == "forget":  # what is erased cannot be counted again
        names = night.memories.users
        first = night.once("due", lambda: {mark_of(names[n]): count for n, count in counts.items()})
        counts = Counter({n: first.get(mark_of(names[n]), count) for n, count in counts.items()})
    least = {
        user: sleep.compress_base + min(n / 100 * sleep.compress_penalty, sleep.compress_penalty)
        for user, n in counts.items()
    }
    threshold = np.array([least[each] for each in due["user"].tolist()], np.float32)
    fresh = ~has_flag(due, Flag.CONSOLIDATED)
    chosen = due["id"][fresh & (due["importance"] >= threshold)]
    below = due[fresh & (due["importance"] < threshold)]
    spared = {"less important": len(below)} if len(below) and not cursor else {}
    for batch in batches(chosen[chosen > cursor], sleep.batch_records):
        ids = batch.tolist()
        texts = {each: found.text for each, found in texts_of(night, ids).items()}
        decide, fallback = _summaries(night, texts)
        yield Unit(
            ids=ids,
            alter=_consolidated,
            decide=decide,
            cursor=int(batch[-1]),
            seen=len(batch),
            skipped=spared,
            reason="medium term",
            fallback=fallback,
        )
        spared = {}
    if sleep.compress_below != "keep":
        spared = {}
        yield from _below(night, below)
    if len(due):  # each is judged once, also in a night that changes nothing else
        yield Unit(skipped=spared, state={"compressed_ms": night.started_ms}, judges=True)
    return {"compressed_ms": night.started_ms}


def _below(night: Night, rows: Rows) -> Units:
    """What is not important enough rests or goes, as far as protections and limits let it.

    Where forgetting erases, what is below goes as soon as it is judged, as in UCMA; else floors of
    categories hold.
    """
    sleep, protection = night.sleep, Protection(night, night.memories.rows)
    erases = sleep.compress_below == "forget"
    floors = not (erases and sleep.forget_action == "forget")
    with night.survey.knowledge() as reader:
        free = protection.free(rows, reader, floors=floors, use=True)
    yield from retiring(
        night, free, "not important in the short term", protection.spared, erases=erases
    )
    return None


def _consolidated(fresh: Strengths) -> Mask:
    rows = fresh.rows
    chosen = ~has_flag(rows, Flag.CONSOLIDATED)
    rows["flags"] |= int(Flag.CONSOLIDATED)
    return chosen


def _summaries(
    night: Night, texts: Mapping[int, str]
) -> tuple[Callable[[KnowledgeReader, int], Changes], bool]:
    """Rows with the summaries of texts that are too long to be their own; whether a model failed."""
    most = night.sleep.summary_tokens
    long = {each: text for each, text in texts.items() if estimated_tokens(text) > most}
    made = {each: night.summary_of([text], "summaries") for each, text in long.items()}
    short = {each: text for each, (text, _) in made.items()}
    fallback = any(failed for _, failed in made.values())

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        known = reader.payloads(list(short), "episode")
        for each, summary in short.items():
            if summary and not known.get(each, {}).get("summary"):
                fields = {**known.get(each, {}), "summary": summary}
                changes.put("payload", id=each, sort="episode", json=encode("episode", fields))
        return changes

    return decide, fallback
