"""The exception tree that the documentation draws is the one that exists.

Damage without it: an error that `except spector.SpectorError` does not catch, or a tree in the
docstring that promises a builtin base which is not there.
"""

from __future__ import annotations

import builtins
import inspect
import re

import pytest

from spector import errors

#: name -> the builtin that the drawn tree promises, or None
DRAWN = {
    match[1]: match[2]
    for line in (errors.__doc__ or "").splitlines()
    if line.lstrip().startswith(("+--", "|", "SpectorError"))
    for match in re.finditer(r"(\w+Error)\b(?: \((\w+)\))?", line.split("  the ")[0])
}
CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and value.__module__ == errors.__name__
}


def test_the_list_of_public_errors_is_complete() -> None:
    assert sorted(errors.__all__) == sorted(CLASSES)


def test_the_drawn_tree_names_every_error_and_no_other() -> None:
    assert set(DRAWN) == set(CLASSES)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_an_error_is_caught_by_the_base_class_and_by_its_builtin(name: str) -> None:
    assert issubclass(CLASSES[name], errors.SpectorError)
    promised = DRAWN.get(name)
    if promised:
        assert issubclass(CLASSES[name], getattr(builtins, promised))


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_an_error_shows_its_cause_and_its_hint(name: str) -> None:
    shown = str(CLASSES[name]("the disk is full", hint="free some space"))
    assert "the disk is full" in shown
    assert "free some space" in shown
