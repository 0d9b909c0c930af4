"""What is installed over the package: another distribution may have modules of the same name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["has_namesake", "overlaid"]

#: folder of the package, and the one that it is installed in
_PACKAGE: Final = Path(__file__).resolve().parent.parent
#: begins the metadata of distributions that are called like the package
_NAMESAKE: Final = f"{_PACKAGE.name}-"


def has_namesake() -> bool:
    """Whether a distribution called like the package is installed beside it; a quick look."""
    try:
        return any(
            name.startswith(_NAMESAKE) and name.endswith(".dist-info")
            for name in os.listdir(_PACKAGE.parent)
        )
    except OSError:
        return False


def overlaid(own: str) -> list[str]:
    """What lies over files of the package: "spector 0.3.1: 12 files (spector/__init__.py, ...)".

    Args:
        own: name of the distribution that the package belongs to.
    """
    from importlib.metadata import distributions

    found = []
    for each in distributions(path=[str(_PACKAGE.parent)]):
        name = each.metadata["Name"] or ""
        if name.lower().replace("_", "-") == own or each.read_text("RECORD") is None:
            continue
        ours = sorted(
            str(file)
            for file in each.files or ()
            if file.parts[0] == _PACKAGE.name and file.suffix != ".pyc"
        )
        if ours:
            few = ", ".join(ours[:3]) + (", ..." if len(ours) > 3 else "")
            found.append(f"{name} {each.version}: {len(ours)} files ({few})")
    return sorted(found)
