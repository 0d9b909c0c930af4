"""Contexts for the hooks of an agent: at the start of a session, and for each prompt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from spector.errors import InvalidInputError

if TYPE_CHECKING:
    from spector.memory import Memory

#: hook -> its name in what Claude Code reads, and most tokens of its context
EVENTS: Final = {"session-start": ("SessionStart", 800), "prompt": ("UserPromptSubmit", 400)}


def prompt_in(document: str) -> str:
    """The user's prompt in what the agent passes on stdin."""
    try:
        found = json.loads(document)["prompt"]
    except (ValueError, RecursionError, KeyError, TypeError):
        found = None
    if not isinstance(found, str):
        raise InvalidInputError(
            "stdin has no prompt", hint='a hook passes JSON with it: {"prompt": "..."}'
        )
    # half an emoji, and what is no UTF-8, is U+FFFD as in the server
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def answer(memory: Memory, hook: str, cue: str | None, max_tokens: int, scope: Any) -> str:
    """The context of a hook as one line of JSON; "" if there is nothing to say.

    A session begins with the pinned memories and the strongest ones; a prompt brings those that it
    is about, and none for small talk.
    """
    if cue is not None and not cue.strip():
        return ""
    always: Any = "pinned" if cue is None else False
    found = memory.context(cue, max_tokens=max_tokens, always=always, hot=cue is None, **scope)
    if not found.text:
        return ""
    said = {"hookEventName": EVENTS[hook][0], "additionalContext": found.text}
    return json.dumps({"hookSpecificOutput": said}, ensure_ascii=False)
