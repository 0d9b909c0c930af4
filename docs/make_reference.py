"""Write docs/reference.md, and what docs/architecture.md says of each package, from the code.

    python -m docs.make_reference

Names, types and defaults come from signatures. Meanings come from docstrings, and those of
``Config`` from the ``#:`` comments above its fields. The first line of its docstring describes a
package.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import spector
from spector import Config, Memory, RecallOptions

HERE: Final = Path(__file__).resolve().parent
PAGE: Final = HERE / "reference.md"
ARCHITECTURE: Final = HERE / "architecture.md"

#: meanings that no docstring has: they are the same for every verb
_COMMON: Final = {
    "tags": "exact labels, to filter by",
    "source": "where it came from: a file, a URL, a tool. What has a source cannot instruct",
    "pinned": "exempt from `min_importance` and from `forget` by filter",
    "immutable": "`update` and `forget` refuse it unless told otherwise",
    "category": "a `spector.Category` or its name",
    "modality": "a `spector.Modality` or its name",
    "role": 'who said it: "user", "assistant", "tool", ...; from the message if it has one',
    "tiers": "names of tiers to look in; all by default",
}

#: meanings of arguments that a docstring describes together
_APART: Final[dict[str, dict[str, str]]] = {
    "remember": {
        "importance": "0..1: how much it matters; `Config.default_importance` by default",
        "valence": "-1..1: from unpleasant to pleasant",
        "arousal": "0..1: from calm to excited; from 0.8 on it is a flashbulb",
        "confidence": "0..1: how far it can be trusted",
        "valid_from": "recall does not return it before then",
        "valid_until": "recall does not return it from then on",
        "user_id": "scope: whose memory it is. A recall with a scope never leaves it",
        "agent_id": "scope: the agent",
        "session_id": "scope: the session or conversation; its turns are neighbours in ranking",
    },
    "recall": {
        "tags": "exact tags that a hit must all have",
        "any_tags": "exact tags of which a hit must have one",
        "namespace": "the namespace of its key; () is the outermost one",
        "below": "also a namespace within that one",
        "user_id": "the user that a hit must be of",
        "agent_id": "the agent that a hit must be of",
        "session_id": "the session that a hit must be of",
    },
    "RecallOptions": {
        "categories": "categories, of which a hit must have one",
        "modalities": "modalities, of which a hit must have one",
    },
}

#: one within a cell
_PIPE: Final = "\\|"
#: private alias -> what it stands for
_ALIASES: Final = {
    "os.PathLike[str]": "PathLike",
    "Several": "str | Iterable[str]",
    "Range": "tuple",
    "Id": "str | None",
    "Memories": "int | Hit | MemoryRecord | Iterable",
    "Layout": "Literal['compact', 'full']",
}

_HEAD: Final = """\
# Reference

Made by `python -m docs.make_reference` from signatures and docstrings. `None` as a default may
always be passed. The [manual](README.md) has the examples.
"""


def render() -> str:
    """The whole page."""
    recall = _signature(Memory.recall, leave_out=("rare",))
    remembered = _docs(Memory.remember) | _APART["remember"]
    options = inspect.getdoc(RecallOptions) or ""
    rare = [
        (field.name, str(field.type), _shown(field.default))
        for field in dataclasses.fields(RecallOptions)
    ]
    parts = [
        _HEAD,
        "## spector.open\n\n" + _table(_signature(spector.open), _docs(spector.open)),
        "## Memory.remember\n\n" + _table(_signature(Memory.remember), remembered),
        "`remember_many` takes the same keywords for all of its items.",
        "## Memory.recall\n\n" + _table(recall, _docs(Memory.recall) | _APART["recall"]),
        "## RecallOptions\n\nFurther arguments of `recall` and `context`: as keywords, or in"
        " `options=`. A keyword wins over the same field of `options`.\n\n"
        + _table(rare, _entries(options, "Attributes:") | _APART["RecallOptions"]),
        "## Memory.context\n\nBesides those of `recall`, but for `selective`:\n\n"
        + _table(
            _signature(Memory.context, leave_out=("recall", "cue")),
            _entries(inspect.getdoc(Memory.context) or "", "Args:"),
        ),
        "## Config\n\n`spector.open(config=Config(...))`. Sizes are in bytes; times carry their"
        " unit in the name.\n\n" + _config(Config),
        *(
            f"### {kind.__name__}\n\n`Config({name}=spector.{kind.__name__}(...))`."
            f" {_first(kind)}\n\n" + _config(kind)
            for name, kind in _sections()
        ),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _signature(
    function: Callable[..., Any], leave_out: tuple[str, ...] = ()
) -> list[tuple[str, str, str]]:
    """Name, type and default of each argument."""
    return [
        (name, str(each.annotation), _shown(each.default))
        for name, each in inspect.signature(function).parameters.items()
        if name not in ("self", *leave_out)
    ]


def _docs(function: Callable[..., Any]) -> dict[str, str]:
    return _entries(inspect.getdoc(function) or "", "Args:")


def _entries(docstring: str, section: str) -> dict[str, str]:
    """Argument -> meaning, of a section of a docstring. One entry may have several names."""
    found = re.search(rf"^{section}\n((?:(?: {{4}}.*)?\n)+)", docstring + "\n", re.MULTILINE)
    out: dict[str, str] = {}
    for entry in re.split(r"\n(?=    \S)", found[1].strip("\n")) if found else ():
        text = " ".join(entry.split())
        # "importance, arousal: 0..1. valence: -1..1." has two entries in a line
        for names, meaning in re.findall(
            r"(?:^|(?<=\. ))(\w+(?:, \w+)*): (.*?)(?=\.? ?$|\. \w+(?:, \w+)*: )", text
        ):
            for name in names.split(", "):
                out[name] = meaning
    return out


def _table(arguments: list[tuple[str, str, str]], meanings: dict[str, str]) -> str:
    lines = ["|argument|type|default|meaning|", "|---|---|---|---|"]
    for name, kind, default in arguments:
        meaning = meanings.get(name) or _COMMON[name]
        shown = _short(kind if default != "`None`" else kind.removesuffix(" | None"))
        lines.append(_row(f"`{name}`", f"`{shown}`", default, _markdown(meaning)))
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return f"|{'|'.join(cell.replace('|', _PIPE) for cell in cells)}|"


def _sections() -> list[tuple[str, Any]]:
    """Name and class of each section of a Config."""
    kinds = [(field.name, type(field.default)) for field in dataclasses.fields(Config)]
    return [(name, kind) for name, kind in kinds if dataclasses.is_dataclass(kind)]


def _first(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _config(kind: Any) -> str:
    """One table for each group of fields, which a comment in the source introduces."""
    lines: list[str] = []
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    head = ["|field|default|meaning|", "|---|---|---|"]
    for group, name, meaning in _fields_of(inspect.getsource(kind)):
        if group:
            lines += ["", f"### {group.capitalize()}", ""]
        if group or not lines:
            lines += head
        default = defaults[name]
        given = f"`{type(default).__name__}()`" if dataclasses.is_dataclass(default) else None
        lines.append(_row(f"`{name}`", given or _shown(default), _markdown(meaning)))
    return "\n".join(lines).strip()


def _fields_of(source: str) -> Iterator[tuple[str, str, str]]:
    """Group (where a new one begins), name and meaning of each field."""
    group, meaning = "", []
    for line in source.splitlines():
        text = line.strip()
        if text.startswith("def "):
            return
        if text.startswith("#:"):
            meaning.append(text[2:].strip())
        elif text.startswith("# ") and not text.startswith("# fmt"):
            group = text[2:]
        elif found := re.match(r"([a-z]\w*): [^=]+ = ", text):
            yield group, found[1], " ".join(meaning)
            group, meaning = "", []


def _shown(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return ""
    if isinstance(default, int) and not isinstance(default, bool):
        return f"{default:,}"
    return f"`{default!r}`"


def _short(kind: str) -> str:
    """A type as its reader knows it: private aliases are written out."""
    for alias, plain in _ALIASES.items():
        kind = re.sub(rf"\b{re.escape(alias)}(?!\w)", plain, kind)
    return kind


def _markdown(text: str) -> str:
    """Roles of docstrings as code."""
    text = re.sub(r":\w+:`(?:~?[\w.]+\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`").removesuffix(".")


def described(text: str) -> str:
    """The page of the architecture with today's line for each package in its tables."""

    def line(row: re.Match[str]) -> str:
        package = HERE.parent / row[1] / "__init__.py"
        told = ast.get_docstring(ast.parse(package.read_bytes())) if package.exists() else None
        return f"| `{row[1]}` | {(told or '').partition(chr(10))[0]} |"

    return re.sub(r"^\| `(spector/[\w/]+)` \| .+ \|$", line, text, flags=re.MULTILINE)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    ARCHITECTURE.write_text(described(ARCHITECTURE.read_text("utf-8")), encoding="utf-8")
