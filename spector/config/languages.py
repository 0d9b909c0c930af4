"""Which languages there are: those that ship, and those whose folders a variable names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from spector.errors import InvalidInputError
from spector.messages import shown

__all__ = ["SHIPPED", "VARIABLE", "language_folders"]

#: names further folders that hold languages, separated as paths are
VARIABLE: Final = "SPECTOR_LANGUAGES"
#: a folder for each language that ships, named by its code
SHIPPED: Final = Path(__file__).parents[1] / "language" / "tables" / "data"


@lru_cache(maxsize=1)
def language_folders() -> Mapping[str, Path]:
    """Code of each language -> its folder of word tables; English first, the others by name.

    A folder of the user's stands for one of the same code that ships. The variable is read once.

    Raises:
        InvalidInputError: the variable names what is no folder, or holds no language.
    """
    found = _in(SHIPPED)
    for each in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        own = _in(Path(each)) if Path(each).is_dir() else {}
        if not own:
            raise InvalidInputError(
                f"{VARIABLE} names {shown(each)}, in which there is no language",
                hint="name a folder that has one folder for each language, with its language.toml",
            )
        found |= own
    return MappingProxyType(dict(sorted(found.items(), key=lambda each: (each[0] != "en", each))))


def _in(folder: Path) -> dict[str, Path]:
    return {each.name: each for each in folder.iterdir() if (each / "language.toml").is_file()}
