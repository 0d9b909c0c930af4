"""Lines of an import that are no memories: kinds, predicates, pairs, associations, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spector.arguments import parse_integer, parse_number, parse_switch
from spector.errors import InvalidInputError
from spector.knowledge.exchange.values import (
    MOST_COUNT,
    MOST_NAME,
    fields_of,
    flag_in,
    id_of,
    list_of,
    moment_of,
    refuse_halves,
    text_of,
)
from spector.knowledge.exchange.writing import ITEM_KEY
from spector.knowledge.facts import checked_part, predicate_named

__all__ = ["parse_item"]

#: item -> its keys; those in brackets may be missing
_ITEMS: Final[Mapping[str, str]] = {
    "kind": "name (symmetric inverse prunable priority origin)",
    "predicate": "name (of single_valued)",
    "pair": "ids count (at)",
    "association": "evidence (user_id cue outcome strength observations tool about)",
    "alias": "name of (user_id)",
    "merge": "kept gone (user_id)",
}


def parse_item(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line that is no memory, checked; times are in ms.

    Raises:
        InvalidInputError: It is of no known kind, or a value is none that an export writes.
    """
    what = line[ITEM_KEY]
    if not isinstance(what, str) or what not in _ITEMS:
        raise InvalidInputError(f"{ITEM_KEY} is {what!r:.60}", hint=f"one of: {', '.join(_ITEMS)}")
    refuse_halves(line)
    needed, _, optional = _ITEMS[what].partition("(")
    keys = {*needed.split(), *optional.rstrip(")").split()}
    unknown = sorted(set(line) - keys - {ITEM_KEY})
    missing = [each for each in needed.split() if line.get(each) is None]
    if unknown or missing:
        fault = f"has the unknown key {unknown[0]!r:.60}" if unknown else f"lacks {missing[0]}"
        raise InvalidInputError(f"a line of {what} {fault}", hint=f"its keys: {_ITEMS[what]}")
    out = {name: line.get(name) for name in keys} | {ITEM_KEY: what}
    if "user_id" in out:
        user = out.pop("user_id")
        out["scope"] = "" if user is None else text_of(user, "user_id", 10_000)
    return out | _PARSERS[what](out)


def _kind(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": text_of(line["name"], "name", MOST_NAME),
        "symmetric": flag_in(line, "symmetric"),
        "prunable": flag_in(line, "prunable"),
        "inverse": None
        if line["inverse"] is None
        else text_of(line["inverse"], "inverse", MOST_NAME),
        "priority": parse_integer(
            0 if line["priority"] is None else line["priority"], "priority", low=0, high=1000
        ),
        "origin": text_of(line["origin"] or "agent", "origin", 10_000),
    }


def _pair(line: Mapping[str, Any]) -> dict[str, Any]:
    ids = [id_of(each, "ids of a pair") for each in list_of(line["ids"], "ids of a pair")]
    if len(set(ids)) != 2 or len(ids) != 2:
        raise InvalidInputError(f"ids of a pair are {ids!r:.60}", hint="write two ids")
    return {
        "ids": ids,
        "count": parse_integer(line["count"], "count", low=0, high=MOST_COUNT),
        "at": moment_of(line["at"], "at"),
    }


def _association(line: Mapping[str, Any]) -> dict[str, Any]:
    evidence = []
    for each in list_of(line["evidence"], "evidence"):
        one = fields_of(each, "evidence", "id at success")
        evidence.append(
            {
                "id": id_of(one.get("id"), "id of evidence"),
                "at": moment_of(one.get("at"), "at"),
                "success": parse_switch(one.get("success", False), "success of evidence"),
            }
        )
    if not evidence:
        raise InvalidInputError("evidence is empty", hint="an association lives by its evidence")
    about = "" if line["about"] in (None, "") else checked_part(line["about"], "about")
    return {
        "evidence": evidence,
        "json": {
            "cue": checked_part(line["cue"], "cue"),
            "outcome": checked_part(line["outcome"], "outcome"),
            "tool": checked_part(line["cue" if line["tool"] is None else "tool"], "tool"),
            "about": about,
            "strength": float(parse_number(line["strength"], "strength", low=0.0, high=1.0)),
            "observations": parse_integer(
                line["observations"], "observations", low=0, high=MOST_COUNT
            ),
        },
    }


def _predicate(line: Mapping[str, Any]) -> dict[str, Any]:
    of = None if line["of"] is None else predicate_named(line["of"], "of")
    single = flag_in(line, "single_valued")
    return {"said": {"name": predicate_named(line["name"], "name"), "of": of, "single": single}}


def _alias(line: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": checked_part(line["name"], "name"), "of": _who(line["of"], "of")}


def _merge(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _who(line[name], name) for name in ("kept", "gone")}


_PARSERS: Final = {
    "kind": _kind,
    "predicate": _predicate,
    "pair": _pair,
    "association": _association,
    "alias": _alias,
    "merge": _merge,
}


def _who(given: Any, name: str) -> tuple[str, str]:
    each = fields_of(given, name, "name type")
    return (
        checked_part(each.get("name"), f"name of {name}"),
        text_of(each.get("type", "thing"), f"type of {name}", MOST_NAME),
    )
