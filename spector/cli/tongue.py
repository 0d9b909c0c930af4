"""What the library advises, in the words of the command: flags and commands, no arguments.

The library raises in the words of who calls it: ``forget(7)``, ``purge=True``, ``mode="r"``. On a
command line none of these can be typed. The rules below say each kind as it is written there; the
first ones take whole phrases, the last ones any argument that a flag has the name of.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["in_shell"]

_READING: Final = "a command that only reads (recall, list, export, check)"
_WRITING: Final = "a command that writes, spector reflect PATH for instance,"
#: arguments whose flag has another name
_FLAGS: Final = {
    "user_id": "--user", "agent_id": "--agent", "session_id": "--session", "tags": "--tag",
    "any_tags": "--any-tag", "tiers": "--tier", "time_range": "the range of times", "k": "-k",
    "pinned": "--pin", "path": "the path", "dest": "the destination", "target": "the file",
    "limit": "--limit",
}  # fmt: skip
#: others that are flags with a line in place of the stroke
_SAME: Final = (
    "tier importance valence arousal confidence event_time valid_from valid_until metadata role "
    "source supersedes as_of min_importance where profile tokenizer max_tokens embedder durability "
    "threshold verify purge dry_run include_protected skip_protected overwrite force always "
    "selective exact learn vectors"
).split()
_ARGUMENTS: Final = _FLAGS | {name: f"--{name.replace('_', '-')}" for name in _SAME}
_NAME: Final = "|".join(sorted(_ARGUMENTS, key=len, reverse=True))

#: what is said to a program -> what is said to a shell, in this order
_PHRASES: Final = tuple((re.compile(pattern), instead) for pattern, instead in (
    # both ways are named already: the one that can be typed here stays
    (r"history\(\d+\) (has [\w ]+): (spector history PATH \d+)", r"\2 \1"),
    (r"reinstate\(\d+\) (makes [\w ]+): (spector reinstate PATH \d+)", r"\2 \1"),
    (r"forget\(\d+\) (first, [\w ]+): (spector forget PATH \d+)", r"\2 \1"),
    (r"forget\(id, purge=True\) or compact\(\): spector compact PATH",
     "spector forget PATH ID --purge, or of all: spector compact PATH"),
    (r"compact\(verify=\[[^]]*\]\) or (spector compact PATH)", r"\1"),
    (r"\w+=True \((--[\w-]+)\)", r"\1"),
    (r"to_json\(\) \((--json)\)", r"\1"),
    # opening: each command opens a store as it needs it
    (r"""open (?:it|the store)(?: here)? with mode=["']r["'](?: to read only)?""",
     f"use {_READING}"),
    (r"""open with mode=["']r["'](?: to read only)?""", f"use {_READING}"),
    (r"""mode=["']r["'] can read it""", f"{_READING} still works"),
    (r"""open it with mode=["']rw["'] to finish that""", f"{_WRITING} finishes that"),
    (r"""open it with mode=["']rw["'], which""", f"{_WRITING}"),
    (r"""open it with mode=["']rw["'] to change it""", "use a command that writes"),
    (r"""was opened with mode=["']r["']""", "was opened only to be read"),
    (r"open it again with spector\.open", "run the command again"),
    (r"close this (?:store|reader) and open (?:it|the store) again", "run the command again"),
    (r"open it with embedder=None", "pass --embedder none"),
    (r"open the store with an embedder", "pass --embedder default"),
    (r"or open one with an embedder", "or pass --embedder default"),
    (r"pass dim=, or an embedder", "pass --embedder default"),
    (r"pass vector=, or pass --embedder", "pass --embedder"),
    (r", None with vector=, or an object with embed\(\)", " or none"),
    (r", or pass embedder=\"openai\" or embedder=None",
     ", or pass --embedder openai or --embedder none"),
    (r"check model= and base_url=", "check the model in --embedder openai:MODEL"),
    (r"check the key: api_key= or the environment", "check the key: the environment"),
    (r"pass \"default\" or an object", "pass --embedder default"),
    (r"open it with the tier it was made with: extra_tiers=\[\.\.\.\]",
     "use the program that it was made with, which knows this tier"),
    (r"pass the tier to spector\.open\(extra_tiers=\[\.\.\.\]\)",
     "use the program that it was made with, which knows this tier"),
    # verbs
    (r'update\(id, move_to=\{"user_id": "b"\}\)', "spector update PATH ID --move-to-user b"),
    (r'update\(id, text="\.\.\."\)', 'spector update PATH ID "..."'),
    (r"remember\(\.\.\., supersedes=id\)", 'spector remember PATH "..." --supersedes ID'),
    (r"remember(.*?) without supersedes", r"remember\1 without --supersedes"),
    (r"move_to names another user", "--move-to-user names another user"),
    (r"by a call without", "by a command without"),
    (r"\b(forget|get|history|reinstate|pin|unpin|resolve|reinforce)\((\d+)\)",
     r"spector \1 PATH \2"),
    (r"\bforget\(tiers=\[\.\.\.\]\)", "spector forget PATH --tier ..."),
    (r"\bcompact\(\)", "spector compact PATH"),
    (r"\breflect\(\)", "spector reflect PATH"),
    (r"iterate with records\(\) to see everything", "spector list PATH or spector export PATH"
     " shows everything"),
    # values
    (r"pass datetime\.now\(timezone\.utc\) or a string like", "write it like"),
    (r"pass datetime\(\.\.\., tzinfo=timezone\.utc\), or a string that ends in Z",
     "write it like 2026-05-04T17:30:00Z"),
    (r'decode it with errors="replace"', "convert it to UTF-8"),
    (r"convert it: \w+=str\(\.\.\.\)", "pass a name of visible letters"),
    (r",? or raise Config\.\w+", ""),
    (r" or pass a ScoringProfile", ""),
    (r", a function that counts,", ""),
    (r"leave tokenizer out", "leave --tokenizer out"),
    (r"write it like \w+=", "write it like "),
    (r"pass hit\.id or record\.id", "spector list PATH shows ids"),
))  # fmt: skip
_SWITCH: Final = re.compile(rf"\b({_NAME})=(?:True|False)\b")
_GIVEN: Final = re.compile(rf"\b({_NAME})=(?=[\w\"'\[{{])")
_FIRST: Final = re.compile(rf"^({_NAME})(?=(?: is| must| has| holds| ends| searches|:) )")
_SCOPES: Final = re.compile(r"\b(user_id|agent_id|session_id)\b(?![\"'])")


def in_shell(text: str, *, named: bool = True) -> str:
    """A message or hint of the library as the command says it; PATH stays to be filled in.

    ``named``: what it begins with may be the name of an argument.
    """
    for pattern, instead in _PHRASES:
        text = pattern.sub(instead, text)
    text = _SWITCH.sub(lambda found: _ARGUMENTS[found[1]], text)
    text = _GIVEN.sub(lambda found: f"{_ARGUMENTS[found[1]]} ", text)
    if named:
        text = _FIRST.sub(lambda found: _ARGUMENTS[found[1]], text)
    return _SCOPES.sub(lambda found: _FLAGS[found[1]], text)
