"""What the key, the end and the attachment of a memory may be given with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any, Final

from spector.arguments import parse_duration_ms, parse_switch
from spector.clock import to_ms
from spector.errors import InvalidInputError

__all__ = [
    "ENDING",
    "ENDS",
    "check_end",
    "check_key",
    "check_wordless",
    "ends_in",
    "not_kept",
    "without_end",
]

#: arguments about an end
ENDING: Final = ("expires_in", "expires_at", "refresh")

#: fields of a draft about its end
ENDS: Final = frozenset({"expires_ms", "expires_in_ms", "refresh"})


def check_end(parsed: Mapping[str, Any]) -> None:
    """Refuse ends that contradict one another, or that nothing may have."""
    if {"expires_ms", "expires_in_ms"} <= parsed.keys():
        raise InvalidInputError("expires_in and expires_at were given", hint="pass one of the two")
    if parsed.get("refresh") and "expires_in_ms" not in parsed:
        raise InvalidInputError(
            "refresh was given without expires_in", hint="say how long each use keeps it"
        )
    if parsed.get("immutable") and not parsed.keys().isdisjoint(ENDS - {"refresh"}):
        raise InvalidInputError(
            "an immutable memory does not expire", hint="leave one of the two out"
        )


def check_key(parsed: Mapping[str, Any]) -> None:
    """Refuse what needs a key without one, and a key beside what it says itself."""
    if "key" not in parsed:
        what = "a namespace" if parsed.get("namespace") else "if_revision"
        raise InvalidInputError(
            f"{what} was given without a key", hint="pass key= as well, or leave it out"
        )
    if "settles" in parsed:
        raise InvalidInputError(
            'supersedes="auto" was given with a key, which says itself what is replaced',
            hint="leave one of the two out, or name what it supersedes",
        )


def check_wordless(parsed: Mapping[str, Any]) -> None:
    """Refuse what only a memory with a text can have."""
    if "vector" in parsed:
        raise InvalidInputError(
            "a vector was given without a text", hint="pass a text as well, or leave it out"
        )
    if "settles" in parsed:
        raise InvalidInputError(
            'supersedes="auto" was given without a text, which alone could tell',
            hint="name the memory that it supersedes, or leave it out",
        )


def without_end(
    ends: Mapping[str, int | None] | None, tier: str
) -> Mapping[str, int | None] | None:
    """Refuse an end for a memory of a tier that does not last; taking one off changes nothing."""
    if ends is not None and ends["expires_ms"] is not None:
        raise not_kept(tier, "no end")
    return None


def not_kept(tier: str, what: str) -> InvalidInputError:
    """The error for what only memories have that last."""
    return InvalidInputError(
        f"a memory of the {tier} tier has {what}",
        hint='leave that out, or choose a tier that lasts, like tier="episodic"',
    )


def ends_in(changes: dict[str, Any], now_ms: int, zone: tzinfo) -> dict[str, int | None] | None:
    """The new end of a memory, taken out of the changes of it; None where they have none."""
    given = {name: changes.pop(name) for name in ENDING if name in changes}
    if not given:
        return None
    parsed: dict[str, Any] = {"immutable": changes.get("immutable")}
    after, at = given.get("expires_in"), None
    if after is not None:
        parsed["expires_in_ms"] = after = parse_duration_ms(after, "expires_in")
    if given.get("expires_at") is not None:
        parsed["expires_ms"] = at = to_ms(
            given["expires_at"], name="expires_at", zone=zone, is_end=True
        )
    refresh = given.get("refresh")
    parsed["refresh"] = refresh is not None and parse_switch(refresh, "refresh")
    check_end(parsed)
    return {
        "expires_ms": at if after is None else now_ms + after,
        "refresh_ms": after if parsed["refresh"] else None,
    }
