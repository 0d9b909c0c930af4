"""Consolidation: memories that belong together become one theme, and stay what they are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.clock import from_ms
from spector.knowledge import Changes, KnowledgeReader, New, encode
from spector.knowledge.induction import plan_moved_references
from spector.language.cues import need_gate
from spector.language.statements import ASSISTANTS
from spector.language.worth import content_density, sentences_of
from spector.layout import Category, Flag, TierCode
from spector.providers import estimated_tokens
from spector.search import Strengths, Words
from spector.sleep.night import Mask, Night, Rows, Units, breathe, has_flag, texts_of
from spector.sleep.retiring import OUTDATED, noting_rest, outdated, retiring
from spector.write import Prepared, Unit

__all__ = ["consolidate"]

#: roles, and sources of data, of what is not said by a person
_ANSWER: Final = ASSISTANTS | {"tool", "function", "document", "system"}
_SOURCES_OF_ANSWERS: Final = frozenset({"assistant_message", "tool", "document"})
#: memories that are compared with one another in a cycle
_MOST: Final = 500
#: likeness from which memories without a common session may be of one theme
_ALIKE: Final = 0.6
#: the same where even unlike memories are alike, as Turkish ones are to a model of English: so much
#: more for what the lower quarter of the pairs has above the usual; 0.8 for Turkish
_MORE_ALIKE, _USUAL = 0.9, 0.2
#: fewer memories do not tell what is usual
_LEAST_COMPARED: Final = 5
#: share of the pairs between two groups that are linked when they are joined
_JOINED: Final = 0.5
#: share of a derived memory's weight
_DERIVED: Final = 0.8
#: memories whose themes are looked up at once
_PAGE: Final = 1_000
#: memories of one theme at most: a summary has room for a sentence of each
_MOST_SOURCES: Final = 12
#: pairs of memories that are looked at without a pause
_BREATH: Final = 100
#: the best sentence of a memory comes before any second one
_FIRST: Final = 1_000.0
#: tokens that a theme may have, however short its sources are
_LEAST_TOKENS: Final = 30
#: tokens that a sentence costs beside its own
_ASIDE: Final = 8


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Memories of one theme, the ids ascending, and their words."""

    ids: tuple[int, ...]
    rows: Rows
    words: Mapping[int, Words]
    user: str | None


def consolidate(night: Night, cursor: int) -> Units:
    """Clusters of episodes become themes of the semantic tier, each derived from its sources.

    Linked are memories of a user with a common entity that not everything names, or of one category
    and about as important, that are alike or of one session. A cycle looks at the newest ones
    without a theme, and goes on where the last one ended with older ones. First a theme rests that
    quotes what was superseded; the others that it quotes have no theme then.
    """
    made = night.done.get("made", set())
    with night.survey.knowledge() as reader:
        old = outdated(night, reader, lambda each, kind: kind == "theme")
    yield from retiring(night, old.tonight, OUTDATED, {}, waiting=old.waiting)
    with night.survey.knowledge() as reader:
        done = {
            frozenset(each.target for each in reader.edges([theme], direction="out"))
            for theme in made
        }
        rows, gathered = _batch(night, reader, _eligible(night), made | old.resting)
        if not len(rows):
            return {"recent": {"gathered": gathered}}
        words = texts_of(night, rows["id"].tolist())
        answers = _answers(reader, words)
        rows = rows[[each in words and each not in answers and _says_something(words[each].text)
                     for each in rows["id"].tolist()]]  # fmt: skip
        entities = _entities(reader, rows["id"].tolist())
    vectors = night.survey.vectors(rows["id"].tolist())
    for cluster in _clusters(night, rows, vectors, entities, words):
        if any(set(cluster.ids) <= each for each in done):
            continue  # it was made before this step was cut short
        if night.made >= night.sleep.new_memories:
            yield Unit(skipped={"memories of a cycle": 1})
            continue
        yield _theme(night, cluster, entities)
    return {"recent": {"gathered": gathered}}


def _eligible(night: Night) -> Rows:
    """Episodes that may become a part of a theme, the newest first."""
    rows = night.memories.rows
    found: Rows = rows[
        night.is_active(rows) & (rows["tier"] == int(TierCode.EPISODIC))
        & (rows["importance"] >= np.float32(night.sleep.cluster_min_importance))
    ]
    return found[np.argsort(-found["id"])]


def _batch(
    night: Night, reader: KnowledgeReader, rows: Rows, made: Collection[int]
) -> tuple[Rows, int]:
    """The memories that a cycle compares, and the least id of them if older ones are left."""
    newest = _without_theme(reader, rows, _MOST // 2, made)
    if not len(newest):
        return newest, 0
    last = int(newest["id"][-1])
    begin = min(last, night.state.recent.get("gathered", 0) or last)
    older = _without_theme(reader, rows[rows["id"] < begin], _MOST - _MOST // 2, made)
    gathered = int(older["id"][-1]) if len(older) == _MOST - _MOST // 2 else 0
    return np.concatenate([newest, older]), gathered


def _without_theme(
    reader: KnowledgeReader, rows: Rows, count: int, made: Collection[int]
) -> Rows:
    """The first ``count`` of memories that no theme was made of, but for some themes."""
    chosen, found = [rows[:0]], 0
    for start in range(0, len(rows), _PAGE):
        part = rows[start : start + _PAGE]
        free = part[~np.isin(part["id"], _merged(reader, part["id"].tolist(), made))]
        chosen.append(free[: count - found])
        found += len(chosen[-1])
        if found == count:
            break
    return np.concatenate(chosen)


def _merged(
    reader: KnowledgeReader, ids: Sequence[int], made: Collection[int]
) -> NDArray[np.int64]:
    """Those that a theme was made of before; none of ``made`` counts."""
    edges = reader.edges(ids, direction="in", kinds=["derived_from"])
    dreams = reader.payloads({each.source for each in edges}, "observed")
    themes = {
        each for each, known in dreams.items()
        if known["kind"] == "theme" and each not in made
    }
    return np.array(sorted({e.target for e in edges if e.source in themes}), np.int64)


def _answers(reader: KnowledgeReader, words: Mapping[int, Words]) -> set[int]:
    """What assistants, tools and documents said: no theme of a user quotes them."""
    observed = reader.payloads(words, "observed")
    return {
        each for each, said in words.items()
        if (said.role or "").casefold() in _ANSWER
        or observed.get(each, {}).get("data_source") in _SOURCES_OF_ANSWERS
    }


def _says_something(text: str) -> bool:
    return need_gate(text).needed


def _entities(reader: KnowledgeReader, ids: Sequence[int]) -> dict[int, set[int]]:
    """Memory -> the entities that it mentions, without the persons who speak."""
    out: dict[int, set[int]] = defaultdict(set)
    ties = reader.links("mention", b=ids)
    known = reader.items({each["a"] for each in ties})
    speakers = {
        each for each, item in known.items()
        if item["json"].get("uri") in ("entity://person/user", "entity://person/agent")
    }
    for each in ties:
        if each["a"] not in speakers:
            out[each["b"]].add(each["a"])
    return out


def _clusters(
    night: Night, rows: Rows, vectors: NDArray[np.float32], entities: Mapping[int, set[int]],
    words: Mapping[int, Words],
) -> list[_Cluster]:
    """Connected groups of memories, the largest first."""
    out = []
    for user in np.unique(rows["user"]).tolist():
        mine = np.flatnonzero(rows["user"] == user)
        group = _groups(night, rows[mine], vectors[mine], entities)
        for members in group:
            found = mine[members]
            for chosen in _parts(found[np.argsort(rows["id"][found])], night.sleep.cluster_min):
                ids = rows["id"][chosen].tolist()
                out.append(_Cluster(
                    tuple(ids), rows[chosen], {each: words[each] for each in ids},
                    night.memories.users[user],
                ))  # fmt: skip
    return sorted(out, key=lambda each: (-len(each.ids), each.ids))


def _parts(found: NDArray[np.intp], least: int) -> list[NDArray[np.intp]]:
    """A group in parts of nearly equal size in the order of time, none of which is too large."""
    count = max(1, min(-(-len(found) // _MOST_SOURCES), len(found) // least))
    return list(np.array_split(found, count))


def _groups(
    night: Night, rows: Rows, vectors: NDArray[np.float32], entities: Mapping[int, set[int]]
) -> list[list[int]]:
    """Positions of memories that belong together, in groups of at least ``cluster_min``.

    The likeliest pairs are joined first, and two groups only where half of the pairs between them
    are linked: no chain of likenesses makes a theme.
    """
    likeness = np.einsum("id,jd->ij", vectors, vectors)
    linked = _links(night, rows, likeness >= _alike_from(likeness), entities)
    pairs = np.argwhere(np.triu(linked, 1))
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -likeness[pairs[:, 0], pairs[:, 1]]))
    group = {n: [n] for n in range(len(rows))}
    for n, (a, b) in enumerate(pairs[order].tolist()):
        if n % _BREATH == 0:
            breathe(night)
        one, other = group[a], group[b]
        if one is other or linked[np.ix_(one, other)].mean() < _JOINED:
            continue
        joined = sorted([*one, *other])
        group |= dict.fromkeys(joined, joined)
    unique = {id(each): each for each in group.values() if len(each) >= night.sleep.cluster_min}
    return list(unique.values())


def _alike_from(likeness: NDArray[np.float32]) -> float:
    """The likeness, of these (n, n), from which two memories may be of one theme."""
    if len(likeness) < _LEAST_COMPARED:
        return _ALIKE
    quarter = float(np.quantile(likeness[np.triu_indices(len(likeness), 1)], 0.25))
    if quarter >= _ALIKE:  # all of them are about one thing
        return _ALIKE
    return _ALIKE + _MORE_ALIKE * max(0.0, quarter - _USUAL)


def _links(
    night: Night, rows: Rows, near: Mask, entities: Mapping[int, set[int]]
) -> Mask:
    """(n, n): which two memories may be of one theme.

    They are alike or of one session, and have a common entity, or are of one category and about as
    important. What has no category is of one session with everything: there likeness decides.
    """
    named = np.array([each is not None for each in night.memories.sessions])
    session = (rows["session"][:, None] == rows["session"][None, :]) & named[rows["session"]][None]
    close = np.abs(rows["importance"][:, None] - rows["importance"][None, :])
    category = rows["category"][:, None] == rows["category"][None, :]
    like = category & (close < night.sleep.cluster_importance)
    told = rows["category"] != int(Category.OTHER)
    shared = np.zeros_like(near)
    members: dict[int, list[int]] = defaultdict(list)
    for n, each in enumerate(rows["id"].tolist()):
        for entity in entities.get(each, ()):
            members[entity].append(n)
    for positions in members.values():
        if len(positions) <= night.config.association.max_entity_mentions:
            shared[np.ix_(positions, positions)] = True
    links: Mask = ((near | session) & shared) | (like & (near | (session & told[None])))
    return links


def _theme(night: Night, cluster: _Cluster, entities: Mapping[int, set[int]]) -> Unit:
    """The unit that makes a theme of a cluster."""
    text, fallback = _text_of(night, cluster)
    tags = sorted({tag for each in cluster.words.values() for tag in each.tags})
    fields: dict[str, Any] = {
        "tier": "semantic", "importance": night.sleep.theme_importance,
        "category": Category.SUMMARY, "confidence": float(cluster.rows["confidence"].min()) / 255,
        "event_time": _moment(cluster.rows), "user_id": cluster.user, "tags": tags[:64] or None,
        **night.vector_of(cluster.ids),
    }  # fmt: skip
    if not text:
        return Unit(seen=len(cluster.ids), skipped={"nothing to say": 1}, fallback=fallback)
    resting = _resting(night, cluster)
    shared = Counter(entity for each in cluster.ids for entity in entities.get(each, ()))
    return Unit(
        ids=cluster.ids, alter=_originals(night), what="consolidated",
        prepared=[Prepared(text, fields)], seen=len(cluster.ids), reason="one theme",
        decide=_ties(cluster.ids, shared, resting, noting_rest(night, resting, "in a theme")),
        fallback=fallback,
    )  # fmt: skip


def _moment(rows: Rows) -> datetime:
    return from_ms(int(rows["event_ms"].max()))


def _text_of(night: Night, cluster: _Cluster) -> tuple[str, bool]:
    """What a cluster says in the tokens of a summary: by a model, or in its best sentences.

    Each memory has its say before any has a second one, and the most is said for the tokens.
    """
    texts = [cluster.words[each].text for each in cluster.ids]
    first = {max(found, key=_value) for text in texts if (found := sentences_of(text))}

    def worth(sentence: str) -> float:
        return _value(sentence) + _FIRST * (sentence in first)

    return night.summary_of(texts, "consolidation", worth=worth, most=_most_tokens(night, texts))


def _most_tokens(night: Night, texts: Sequence[str]) -> int:
    """Tokens that a theme of these texts may have: those of a summary, or a share of theirs."""
    sleep = night.sleep
    if sleep.theme_share >= 1.0:
        return sleep.summary_tokens
    share = int(sleep.theme_share * sum(map(estimated_tokens, texts)))
    return min(sleep.summary_tokens, max(_LEAST_TOKENS, share))


def _value(sentence: str) -> float:
    """What a sentence says for the tokens that it takes."""
    return content_density(sentence) / (estimated_tokens(sentence) + _ASIDE)


def _originals(night: Night) -> Callable[[Strengths], Mask]:
    """Sources are marked as consolidated; dormant only if the config says so."""
    rests = night.sleep.originals == "dormant"

    def alter(fresh: Strengths) -> Mask:
        rows = fresh.rows
        before = rows["flags"].copy()
        rows["flags"] |= int(Flag.CONSOLIDATED)
        if rests:
            held = has_flag(rows, Flag.PINNED | Flag.IMMUTABLE)
            rows["flags"] = np.where(held, rows["flags"], rows["flags"] | int(Flag.DORMANT))
        changed: Mask = rows["flags"] != before
        return changed

    return alter


def _resting(night: Night, cluster: _Cluster) -> list[int]:
    """The sources that a theme takes the place of."""
    held = has_flag(cluster.rows, Flag.PINNED | Flag.IMMUTABLE)
    rests = night.sleep.originals == "dormant"
    return cluster.rows["id"][~held].tolist() if rests else []


def _ties(
    sources: Iterable[int], shared: Mapping[int, int], resting: Sequence[int],
    rests: Callable[[KnowledgeReader, int], Changes],
) -> Callable[[KnowledgeReader, int], Changes]:
    """The rows of a theme: where it is from, what it mentions, and what refers to it from now on.
    """

    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes, made = Changes(), New(0)
        living = reader.owners(list(sources))
        if len(living) < 2:
            return changes
        changes.store.append(0)
        changes.put("payload", id=made, sort="observed", json=encode("observed", {
            "write_source": "dream", "data_source": "system", "kind": "theme",
        }))  # fmt: skip
        for each in sorted(living):
            changes.put("edge", source_id=made, kind="derived_from", target_id=each,
                        weight=_DERIVED, confidence=_DERIVED, origin="dream", created_ms=now_ms,
                        note=None)  # fmt: skip
        for each in sorted(living.keys() & set(resting)):
            plan_moved_references(reader, changes, each, made)
        changes.add(rests(reader, now_ms))
        known = reader.items(shared)
        for entity, count in sorted(shared.items()):
            if entity in known:
                changes.put("link", a=entity, kind="mention", b=made, n=count, t_ms=None)
        return changes

    return decide
