"""The changelog is made of fragments, one file for each issue and kind.

Mechanism: fragments are joined at a release. Damage: a release whose notes lack a change, or list
what no user meets. Guard: names and entries of every fragment have their form, and joining loses
nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from changes import __main__ as changes

CHANGELOG = """# Changelog

## [0.2.0] - unreleased

### Added

- An old thing: it was there. Scope: all.

### Known limits

- One.

## [0.1.0]

### Added

- First: it began. Scope: all.
"""


@pytest.mark.parametrize("path", changes.fragments(changes.HERE), ids=lambda path: path.name)
def test_every_entry_has_a_trigger_an_effect_and_a_scope(path: Path) -> None:
    for entry in changes.entries(path):
        assert len(entry) < 700, "an entry is what a user meets, not how it was done"


@pytest.mark.parametrize("name", ["28.added.md", "028.bugfix.md", "notes.md"])
def test_a_file_with_another_name_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("- A: b. Scope: c.\n")
    with pytest.raises(ValueError, match=r"must be NNN\.kind\.md"):
        changes.fragments(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "prose", "- No scope: it lacks one.", "- No effect. Scope: x."]
)
def test_an_entry_of_another_form_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "001.fixed.md"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"001\.fixed\.md"):
        changes.entries(path)


def test_entries_join_the_section_of_their_version_by_kind(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("how to write one")
    twelve = "- Twelve: it came.\n  Scope: a.\n- More: b. Scope: a.\n"
    (tmp_path / "012.added.md").write_text(twelve)
    (tmp_path / "003.fixed.md").write_text("- Three: it works. Scope: b.\n")
    text = changes.joined(CHANGELOG, "0.2.0", tmp_path)
    new, _, old = text.partition("## [0.1.0]")
    assert new == """# Changelog

## [0.2.0] - unreleased

### Added

- An old thing: it was there. Scope: all.
- Twelve: it came.
  Scope: a.
- More: b. Scope: a.

### Known limits

- One.

### Fixed

- Three: it works. Scope: b.

"""
    assert old == CHANGELOG.partition("## [0.1.0]")[2]


def test_a_version_without_a_section_gets_one_above_the_newest(tmp_path: Path) -> None:
    (tmp_path / "020.changed.md").write_text("- It: changed. Scope: all.\n")
    text = changes.joined(CHANGELOG, "0.3.0", tmp_path)
    head = "# Changelog\n\n## [0.3.0]\n\n### Changed\n\n- It: changed. Scope: all.\n\n## [0.2.0]"
    assert text.startswith(head)
    assert text.endswith(CHANGELOG.partition("## [0.2.0]")[2])
