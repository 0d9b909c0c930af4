"""Faces of rooms that import what they export when it is first used."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

#: an import below ``if TYPE_CHECKING``, as the formatter writes it
_IMPORT: Final = re.compile(r"^    from (\S+) import (?:\(([^)]*)\)|(.+))$", re.MULTILINE)


def on_first_use(face: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose imports stand below ``if TYPE_CHECKING``.

    Checkers see these imports; a program runs the one of a name when it first uses the name.

    Args:
        face: name of the package.
    """

    def get(name: str) -> Any:
        home = _homes(face).get(name)
        if home is None:
            raise AttributeError(f"module {face!r} has no attribute {name!r}", name=name)
        value = getattr(import_module(home), name)
        setattr(sys.modules[face], name, value)
        return value

    return get


@cache
def _homes(face: str) -> dict[str, str]:
    """Name that a face exports -> module that has it."""
    module = sys.modules[face]
    assert module.__spec__ is not None
    source = getattr(module.__spec__.loader, "get_source", lambda name: None)(face)
    if source is None:  # a program that was bundled without sources: look into every module
        import pkgutil

        homes = [each.name for each in pkgutil.iter_modules(module.__path__, f"{face}.")]
        return {name: home for home in homes for name in vars(import_module(home))}
    return {
        name: home
        for home, several, one in _IMPORT.findall(source)
        for name in re.findall(r"\w+", several or one)
    }
