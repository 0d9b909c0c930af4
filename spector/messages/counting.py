"""Numbers in texts that people read."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, what: str, several: str = "", *, commas: bool = False) -> str:
    """1 -> "1 memory", 2 -> "2 memories"; ``several`` where the rule does not make it.

    ``commas``: 4096 -> "4,096 bytes", for numbers that are large.
    """
    if number == 1:
        return f"1 {what}"
    ends = what.endswith("y") and what[-2:-1] not in ("a", "e", "i", "o", "u")
    shown = f"{number:,}" if commas else str(number)
    return f"{shown} {several or (f'{what[:-1]}ies' if ends else f'{what}s')}"
