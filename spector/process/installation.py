"""What is installed over the package: another distribution may have modules of the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: folder of the package, and the one that it is installed in
_PACKAGE: Final = Path(__file__).resolve().parent.parent


def has_namesake() -> bool:
    """Whether a distribution called like the package is installed beside it; a quick look."""
    return any(_PACKAGE.parent.glob(f"{_PACKAGE.name}-*.dist-info"))


def overlaid(own: str) -> list[str]:
    """What lies over files of the package: "spector 0.3.1: 12 files (spector/__init__.py, ...)".

    Files that are missing are listed alike, as "spector-memory 0.1.0 without: 12 files (...)".

    Args:
        own: name of the distribution that the package belongs to.
    """
    from importlib.metadata import distributions

    found = []
    for each in distributions(path=[str(_PACKAGE.parent)]):
        if each.read_text("RECORD") is None:
            continue
        name = each.metadata["Name"] or ""
        is_own = name.lower().replace("_", "-") == own
        wrong = sorted(
            str(file)
            for file in each.files or ()
            if file.parts[0] == _PACKAGE.name
            and file.suffix != ".pyc"
            and not (is_own and Path(file.locate()).exists())
        )
        if wrong:
            few = ", ".join(wrong[:3]) + (", ..." if len(wrong) > 3 else "")
            without = " without" if is_own else ""
            found.append(f"{name} {each.version}{without}: {len(wrong)} files ({few})")
    return sorted(found)
