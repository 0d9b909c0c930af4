"""Causal links: how often a tool, with or without a thing or a goal, ends in success.

An association has a cue and the outcome ``success``. Each episode with a tool and an outcome moves
its strength, ``V += 0.3 (outcome - V)`` (Rescorla and Wagner 1972), and counts once; its link of
kind ``evidence`` says how it ended and when. An association lives as long as one of them does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spector.knowledge.changes import Changes, New
from spector.knowledge.facts import MOST_CHARS
from spector.knowledge.reader import KnowledgeReader
from spector.knowledge.statistics import associated
from spector.language.words import concept_key, normalize_tokens
from spector.store.payloads import compact_json

__all__ = ["Association", "associations_of", "evidence_of", "plan_associations"]

OUTCOME: Final = "success"
#: associations of a scope; further cues are not learned
MOST_ASSOCIATIONS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Association:
    """What a cue leads to."""

    id: int
    scope: str
    #: the tool, and what it was used on or for
    cue: str
    tool: str
    #: the thing or the goal; "" for the tool whatever it is used on
    about: str
    strength: float
    observations: int
    outcome: str = OUTCOME

    @property
    def name(self) -> str:
        """``grasp mug → success``."""
        return f"{self.cue} → {self.outcome}"


def associations_of(reader: KnowledgeReader, scope: str | None = None) -> list[Association]:
    """Every association of a scope, or of all, the oldest first."""
    return [
        Association(
            id=item,
            scope=row["scope"],
            cue=about["cue"],
            tool=about.get("tool", about["cue"]),
            about=about.get("about", ""),
            strength=about["strength"],
            observations=about["observations"],
            outcome=about["outcome"],
        )
        for item, row in sorted(reader.items_of("association", scope).items())
        for about in (row["json"],)
    ]


def evidence_of(
    reader: KnowledgeReader, associations: Collection[int]
) -> dict[int, list[tuple[int, int, bool]]]:
    """(event time in ms, memory, success) of what each association was learned from, by time."""
    found: dict[int, list[tuple[int, int, bool]]] = {each: [] for each in associations}
    for row in reader.links("evidence", a=associations) if associations else ():
        found[row["a"]].append((row["t_ms"] or 0, row["b"], bool(row["n"])))
    return {each: sorted(rows) for each, rows in found.items()}


def plan_associations(
    reader: KnowledgeReader,
    changes: Changes,
    episodes: Mapping[int, Mapping[str, Any]],
    *,
    rate: float = 0.3,
    most: int = MOST_ASSOCIATIONS,
) -> int:
    """Learn from episodes that have a tool and an outcome, each once, in the order of their ids.

    Args:
        episodes: memory -> the fields of its payload ``episode``.
        rate: how far one outcome moves a strength.
        most: associations that a scope may have.

    Returns:
        How many outcomes were counted.
    """
    owners = reader.owners(
        [
            each
            for each, details in episodes.items()
            if details.get("tool") and details.get("success") is not None
        ]
    )
    known = {
        scope: {
            (concept_key(each.tool), concept_key(each.about)): each
            for each in associations_of(reader, scope)
        }
        for scope in {each.scope for each in owners.values()}
    }
    seen = {(row["a"], row["b"]) for row in reader.links("evidence", b=owners)} if owners else set()
    state: dict[int | New, dict[str, Any]] = {}
    scopes: dict[int | New, str] = {}
    fresh: dict[tuple[str, str, str], New] = {}
    counted = 0
    for memory in sorted(owners):
        scope, success = owners[memory].scope, bool(episodes[memory]["success"])
        for tool, about in _cues(episodes[memory]):
            key = concept_key(tool), concept_key(about)
            old, item = known[scope].get(key), fresh.get((scope, *key))
            if old is None and item is None and len(known[scope]) + len(fresh) >= most:
                continue
            if old is not None and (old.id, memory) in seen:
                continue
            which: int | New = old.id if old is not None else item or changes.new_item()
            if old is None:
                fresh[(scope, *key)] = which  # type: ignore[assignment]
            if which not in state:
                scopes[which] = scope
                state[which] = (
                    _values(old)
                    if old is not None
                    else {
                        "cue": f"{tool} {about}".strip(),
                        "outcome": OUTCOME,
                        "strength": 0.0,
                        "observations": 0,
                        "tool": tool,
                        "about": about,
                    }
                )
            values = state[which]
            values["strength"] = associated(values["strength"], success, rate=rate)
            values["observations"] += 1
            changes.put(
                "link",
                a=which,
                kind="evidence",
                b=memory,
                n=int(success),
                t_ms=owners[memory].event_ms,
            )
            counted += 1
    for which, values in state.items():
        changes.put(
            "item",
            item_id=which,
            sort="association",
            scope=scopes[which],
            json=compact_json(values),
        )
    return counted


def _values(known: Association) -> dict[str, Any]:
    return {
        "cue": known.cue,
        "outcome": known.outcome,
        "strength": known.strength,
        "observations": known.observations,
        "tool": known.tool,
        "about": known.about,
    }


def _cues(details: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Tool and thing or goal, each once: the tool alone, with every object, with the goal."""
    tool = " ".join(str(details["tool"]).split())
    if not concept_key(tool) or len(tool) > MOST_CHARS:
        return
    things = [*(details.get("objects") or ()), *(details.get("people") or ())]
    abouts = ["", *(" ".join(each.split()) for each in things)]
    goal = " ".join(normalize_tokens(details.get("goal") or ""))
    known: set[str] = set()
    for about in [*abouts, goal]:
        key = concept_key(about)
        if key not in known and len(about) <= MOST_CHARS and (key or about == abouts[0]):
            known.add(key)
            yield tool, about
