"""Translates the library's error messages into options and verbs of the command.

The library names Python arguments and calls, such as ``mode="r"``, ``user_id`` or
``forget(id, purge=True)``, which mean nothing on a command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

#: argument -> option with a different name
_FLAGS: Final = {
    "aliases": "--alias",
    "any_tags": "--any-tag",
    "agent_id": "--agent",
    "categories": "--category",
    "cue": "the query",
    "dest": "DEST",
    "k": "-k",
    "metadata": "--metadata",
    "modalities": "--modality",
    "session_id": "--session",
    "source": "--source",
    "tags": "--tag",
    "target": "FILE",
    "text": "TEXT",
    "tiers": "--tier",
    "user_id": "--user",
}
#: arguments with an option of the same name; no other word is translated
_SAME: Final = frozenset(
    """arousal as_of confidence dry_run embedder event_time expires_at expires_in importance
    include include_protected key_prefix limit max_tokens min_importance overwrite force
    profile purge role scopes_from_message skip_protected supersedes threshold tier valence
    valid_from valid_until verify wait where""".split()
)
_READING: Final = "a command that only reads (recall, context, get, list, export, stats, check)"
_WRITING: Final = "a command that writes (spector reflect PATH)"


def _flag(name: str) -> str:
    return _FLAGS.get(name) or (f"--{name.replace('_', '-')}" if name in _SAME else name)


_NAMES: Final = "|".join(sorted({*_FLAGS, *_SAME} - {"k", "cue", "dest"}, key=len, reverse=True))
#: pattern -> what stands in its place; applied in this order, each to the result of the one before
_PHRASES: Final[Mapping[str, str | Callable[[re.Match[str]], str]]] = {
    # a message that names both forms, an option in brackets behind its argument, keeps the option
    r"\b\w+=[^\s()]+ \((--[a-z-]+)\)": r"\1",
    r"to_json\(\) \((--json)\)": r"\1",
    r"it is the number of seconds, or a timedelta": "it is the number of seconds",
    r"\brefresh was given without expires_in": "--refresh was given without --expires-in",
    r"\bexpires_in and expires_at were": "--expires-in and --expires-at were",
    r"reinstate\(\d+, keep=True\) keeps both": "--keep keeps both",
    r"forget\(\d+\) (first, [\w ]+): (spector forget PATH \d+)": r"\2 \1",
    r"forget\(id, purge=True\) or compact\(\): spector compact PATH": (
        "spector forget PATH ID --purge, or of all: spector compact PATH"
    ),
    r"compact\(verify=\[[^]]*\]\) or (spector compact PATH)": r"\1",
    r"""open it with mode=["']rw["'] to finish that""": f"{_WRITING} finishes that",
    r"""open it with mode=["']rw["'] to change it""": f"use {_WRITING}",
    r"open it again with spector\.open": "run the command again",
    r"close this (?:store|reader) and open (?:it|the store) again": "run the command again",
    r"use that Memory, which threads may share, or close\(\) it first \(in a notebook:"
    r" del it\); mode=.r. opens it beside that one, to read": (
        f"close it in this process first, or use {_READING}"
    ),
    r"""open it once with mode=["']rw["'] to create it""": (
        'create it: spector remember PATH "something worth keeping"'
    ),
    r"""open (?:it )?(?:here )?(?:once )?with mode=["']rw["']""": f"run {_WRITING}",
    r"""open (?:it |the store )?(?:here )?with mode=["']r["'](?: to read only)?""": (
        f"use {_READING}"
    ),
    r"""was opened with mode=["']r["']""": "is open to read only",
    r"""mode=["']r["'] can read it""": f"to read it, use {_READING}",
    r"pass vector=, or open the store with an embedder": "pass --embedder default",
    r"pass dim=, or an embedder": "pass --embedder default",
    r"(?:open|pass) it with embedder=None": "pass --embedder none",
    r", None with vector=, or an object with embed\(\)": " or none",
    r"\bembedder=\"openai\"": "--embedder openai",
    r"\bembedder=None\b": "--embedder none",
    r"open the store with an embedder": "pass --embedder default",
    r"or open one with an embedder": "or pass --embedder default",
    r"pass \"default\" or an object": "pass --embedder default",
    r"check model= and base_url=": "check the model in --embedder openai:MODEL",
    r"check the key: api_key= or the environment": "check the key: the environment",
    r"open it with the tier it was made with: extra_tiers=\[\.\.\.\]"
    r"|pass the tier to spector\.open\(extra_tiers=\[\.\.\.\]\)": (
        "use the program that made it, which knows this tier"
    ),
    r",? or raise Config\.\w+": "",
    r" or pass a ScoringProfile": "",
    r", a function that counts,": "",
    r"\btime_range start\b": "--since",
    r"\btime_range end\b": "--until",
    r"\btime_range (?=ends|is|must)": "the range of times ",
    r"leave tokenizer out": "leave --tokenizer out",
    r"by a call without": "by a command without",
    r"remember(.*?) without supersedes": r"remember\1 without --supersedes",
    r"pass datetime\.now\(timezone\.utc\) or a string like": "write it like",
    r"pass datetime\(\.\.\., tzinfo=timezone\.utc\), or a string that ends in Z": (
        "write it like 2026-05-04T17:30:00Z"
    ),
    r'decode it with errors="replace"': "convert it to UTF-8",
    r"convert it: \w+=str\(\.\.\.\)": "pass a name of visible letters",
    r"\b(history|reinstate)\((\d+)\) ([^:()]+): spector \1 PATH \2": r"spector \1 PATH \2 \3",
    r"\b(compact|reflect|check|stats)\(\)": r"spector \1 PATH",
    r"\bforget\(tiers=\[\.\.\.\]\)": "spector forget PATH --tier TIER",
    r"\bforget\(user_id=\.\.\.(, purge=True)?\)": lambda m: (
        f"spector forget PATH --user ID{' --purge' if m[1] else ''}"
    ),
    r"(?<![\w\"'])(forget|get|pin|unpin|resolve|history|reinstate)"
    r"\((id|\d+)((?:, \w+=True)*)\)": lambda m: (
        f"spector {m[1]} PATH {'ID' if m[2] == 'id' else m[2]}"
        + "".join(f" {_flag(each)}" for each in re.findall(r"(\w+)=True", m[3]))
    ),
    r'\bupdate\(id, text="\.\.\."\)': 'spector update PATH ID "new text"',
    r"\bremember\(\.\.\., supersedes=id\)": "spector remember PATH TEXT --supersedes ID",
    r'\bupdate\(id, move_to=\{"user_id": "(\w+)"\}\)': r"spector update PATH ID --move-to-user \1",
    r'(?:\bupdate\(\w+, )?\bmove_to=\{"user_id": "?([^"}]+)"?\}\)?': r"--move-to-user \1",
    r"\bmove_to\b": "--move-to-user",
    r"\bsupersedes=hit\.id\b": "--supersedes ID",
    rf"\b({_NAMES})=\[\"([^\"]*)\"\]": lambda m: f"{_flag(m[1])} {_shell(m[2])}",
    rf"\b({_NAMES})=True or \1=False": lambda m: f"{_flag(m[1])} or leave it out",
    rf"\b({_NAMES})=True\b": lambda m: _flag(m[1]),
    rf"\b({_NAMES})=False\b": lambda m: f"no {_flag(m[1])}",
    rf"\b({_NAMES})=(?=[^\s=])": lambda m: f"{_flag(m[1])} ",
    r"(?<![\w\"'./-])(any_tags|agent_id|as_of|dry_run|event_time|include_protected"
    r"|max_tokens|min_importance|session_id|skip_protected|user_id|valid_from"
    r"|valid_until)(?![\w\"'(:=/.])": lambda m: _flag(m[1]),
}
#: a message that begins with an argument: "tags must be strings"
_FIRST: Final = re.compile(rf"({_NAMES})(?= (?:must|is|are|holds|has|needs|cannot)\b)")


def translate_to_commands(text: str) -> str:
    """Translate the cause or the hint of an error of the library."""
    found = _FIRST.match(text)
    if found:
        text = f"{_flag(found[1])}{text[found.end() :]}"
    for pattern, said in _PHRASES.items():
        text = re.sub(pattern, said, text)
    return text


def _shell(value: str) -> str:
    return value if re.fullmatch(r"[\w.-]+", value) else f'"{value}"'
