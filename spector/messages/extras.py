"""Commands that install what is missing."""

from __future__ import annotations

from typing import Final

__all__ = ["DISTRIBUTION", "install_command"]

#: name on the index; its packages are imported as ``spector``
DISTRIBUTION: Final = "spector-memory"


def install_command(extra: str = "") -> str:
    """The command that installs the distribution with an extra."""
    return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"
