"""Join the fragments into CHANGELOG.md.

    python -m changes VERSION       move every entry under that version, and remove the fragments
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
KINDS: Final = ("added", "changed", "fixed", "removed")
NAME: Final = re.compile(rf"(\d{{3}})\.({'|'.join(KINDS)})\.md")
#: trigger, effect, scope
ENTRY: Final = re.compile(r"- (?P<trigger>.+?): (?P<effect>.+)\. Scope: (?P<scope>.+)\.")


def fragments(folder: Path) -> list[Path]:
    """All fragments by issue; a name that is no fragment's is an error."""
    found = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    for path in found:
        if not NAME.fullmatch(path.name):
            raise ValueError(f"{path.name} must be NNN.kind.md, kind one of {', '.join(KINDS)}")
    return found


def entries(path: Path) -> list[str]:
    """The entries of a fragment as they stand; each must have a trigger, an effect, a scope."""
    items = re.split(r"^(?=- )", path.read_text(encoding="utf-8").strip(), flags=re.MULTILINE)
    kept = [item.strip() for item in items if item.strip()]
    for item in kept:
        if not ENTRY.fullmatch(" ".join(item.split())):
            raise ValueError(f"{path.name}: not '- TRIGGER: EFFECT. Scope: WHERE.': {item[:60]!r}")
    if not kept:
        raise ValueError(f"{path.name} has no entry")
    return kept


def joined(changelog: str, version: str, folder: Path) -> str:
    """The changelog with all entries at the end of their kind, under ``version``.

    A version that is not there yet gets a section above the newest one.
    """
    by_kind: dict[str, list[str]] = {}
    for path in fragments(folder):
        by_kind.setdefault(path.name.split(".")[1], []).extend(entries(path))
    head = rf"^## \[{re.escape(version)}\][^\n]*\n"
    if not re.search(head, changelog, re.MULTILINE):
        first = re.search(r"^## \[", changelog, re.MULTILINE)
        at = first.start() if first else len(changelog)
        changelog = f"{changelog[:at]}## [{version}]\n\n{changelog[at:]}"
    found = re.search(rf"({head})(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    assert found is not None
    section = found[2].strip()
    for kind in KINDS:
        if kind in by_kind:
            section = _with(section, kind.capitalize(), by_kind[kind])
    whole = f"{changelog[: found.start(2)]}\n{section}\n\n{changelog[found.end(2) :]}"
    return whole.rstrip() + "\n"


def _with(section: str, title: str, items: list[str]) -> str:
    """``section`` with the items at the end of the part called ``title``, or in a new part."""
    parts = [part.strip() for part in re.split(r"^(?=### )", section, flags=re.MULTILINE)]
    head = f"### {title}"
    if not any(part.startswith(head) for part in parts):
        parts.append(f"{head}\n")
    return "\n\n".join(
        "\n".join([part, *items]) if part.startswith(head) else part for part in parts if part
    )


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not arguments[0][:1].isdigit():  # --help is no version
        print(__doc__, file=sys.stderr)
        return 2
    page = HERE.parent / "CHANGELOG.md"
    page.write_text(joined(page.read_text("utf-8"), arguments[0], HERE), encoding="utf-8")
    for path in fragments(HERE):
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
