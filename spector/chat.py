"""What a message of a chat model says: its texts, its calls of tools, their results.

Messages of OpenAI (chat and Responses), Anthropic, LangChain and Gemini are read as they are, as
dictionaries or as the objects of their libraries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from typing import Any, Final

from spector.clock import MAX_MS, from_ms, ms_of_number, to_ms
from spector.errors import InvalidInputError, InvalidTextError
from spector.messages import counted, shown

#: why files are read without a message that no encoding has
HALF: Final = "left out: half of an emoji or letter in it cannot be stored"
#: keys of chat models' messages that are no fields of a memory; some are read all the same
MESSAGE_KEYS: Final = frozenset(
    """additional_kwargs annotations artifact audio cache_control call_id container content created
    created_at encrypted_content example finish_reason function_call id index input
    invalid_tool_calls is_error lc logprobs model name object output parts phase reasoning
    reasoning_content reasoning_details refusal response_metadata status stop_details stop_reason
    stop_sequence summary text timestamp tool_call_id tool_calls tool_use_id type usage
    usage_metadata""".split()
)
#: of the items of an API: what a call was made with, besides its name
_CALLED_WITH: Final = ("arguments", "input", "action", "queries", "code")
_ROLES: Final = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "developer": "developer",
}
_TEXTS: Final = frozenset(("text", "input_text", "output_text", "plain_text"))
_CALLS: Final = frozenset(("tool_use", "server_tool_use", "mcp_tool_use", "tool_call"))
_THOUGHTS: Final = frozenset(("thinking", "redacted_thinking", "reasoning", "thought"))
#: words that stand beside a sound, which were said, and beside a picture, which are about it
_WORDS_BESIDE: Final = ("transcript", "transcription", "alt", "alt_text", "caption")
_WORDS_ABOUT: Final = ("alt", "alt_text", "caption")
_BRACKETS: Final = str.maketrans("[]", "()")
#: of a source
_LABEL_BYTES: Final = 256
#: a word in the kind of a part -> what has no words there
_WORDLESS: Final = {
    "image": "picture",
    "audio": "sound",
    "video": "film",
    "document": "document",
    "file": "file",
    "media": "file",
}
#: characters of a call's arguments that are kept
_MOST_ARGUMENTS: Final = 200_000
#: keys of the time at which a message was sent, the surest first
_SENT: Final = ("timestamp", "created_at", "created")
#: parts within parts
_DEEPEST: Final = 16


class ToolCalls(dict[str, list[dict[str, str]]]):
    """What is attached to a message that calls tools, where nothing else was given."""

    def within(self, most_bytes: int) -> dict[str, list[dict[str, str]]] | None:
        """As many of the calls as there is room for; None for none."""
        room, kept = most_bytes - 32, []
        for call in self["tool_calls"]:
            room -= 4 + len(json.dumps(call, ensure_ascii=False).encode())
            if room < 0:
                break
            kept.append(call)
        return {"tool_calls": kept} if kept else None


@dataclass(slots=True)
class ChatMessage:
    """One message, taken apart.

    Attributes:
        texts: what its author says.
        results: what tools answered.
        calls: (tool, arguments) of the tools that it calls.
        wordless: kinds of its parts that have no words.
    """

    role: str | None = None
    name: str = ""
    texts: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    wordless: list[str] = field(default_factory=list)
    is_tool: bool = False
    failed: bool = False
    _in_result: bool = False

    @property
    def text(self) -> str:
        """What its author says, or else what the tools answered; "" for neither."""
        return "\n".join(self.texts or self.results)

    @property
    def found(self) -> str:
        """What it holds instead of a text, in words."""
        calls = [f"a call of the tool {name}" for name, _ in self.calls[:1]]
        if len(self.calls) > 1:
            calls = [f"calls of {counted(len(self.calls), 'tool')}"]
        kinds = dict.fromkeys(self.wordless)
        there = [*calls, *(f"a {kind}" if kind != "thoughts" else kind for kind in kinds)]
        return " and ".join(there) or "nothing"

    @property
    def reason(self) -> str:
        """Why it is left out, in a word or two."""
        if self.calls:
            return "tool call"
        return self.wordless[0] if self.wordless else "no text"

    def require_text(self) -> str:
        """Its text.

        Raises:
            InvalidTextError: it has none.
        """
        text = self.text
        if text and not text.isspace():
            return text
        raise InvalidTextError(
            f"a message needs a text, and this one has {self.found}",
            hint='write it like {"role": "user", "content": "..."}, or keep it without a text:'
            " remember(message, attachment=message)",
        )

    def attached_calls(self) -> ToolCalls:
        """Its calls, to be attached to what it says."""
        calls = [{"name": name, "arguments": arguments} for name, arguments in self.calls]
        return ToolCalls(tool_calls=[each for each in calls if is_unicode(each)])

    # -- taking apart ------------------------------------------------------------------------------

    def add(self, content: Any, depth: int = 0) -> None:
        """Add a content: a text, one part, or several parts."""
        if content is None:
            return
        if depth > _DEEPEST:
            raise InvalidTextError(
                "the parts of a message are nested too deeply", hint="pass the text alone"
            )
        if isinstance(content, str):
            self._say(content)
        elif isinstance(content, Mapping):
            self._add_part(content, depth)
        elif isinstance(content, Iterable) and not isinstance(content, (bytes, bytearray)):
            for part in content:
                part = as_message(part)
                if not isinstance(part, (str, Mapping)):
                    raise InvalidTextError(
                        f"a part of a message is a {type(part).__name__}",
                        hint='write parts like {"type": "text", "text": "..."}',
                    )
                self.add(part, depth + 1)
        else:
            raise InvalidTextError(
                f"the content of a message is a {type(content).__name__}",
                hint="pass a text, or a list of parts",
            )

    def _say(self, text: Any) -> None:
        if isinstance(text, Mapping):  # older APIs: {"text": {"value": ...}}
            text = text.get("value")
        if isinstance(text, str) and text.strip():
            (self.results if self._in_result else self.texts).append(text)

    def _add_part(self, part: Mapping[str, Any], depth: int) -> None:
        kind = part.get("type")
        if not isinstance(kind, str):
            self._add_bare_part(part, depth)
        elif kind in _TEXTS:
            self._say(part.get("text"))
        elif kind == "refusal":
            self._say(part.get("refusal"))
        elif kind in _CALLS:
            self.add_call(part.get("name"), part.get("input", part.get("args")))
        elif kind.endswith("tool_result"):
            self._add_result(part.get("content"), depth, part.get("is_error") is True)
        elif kind in _THOUGHTS:
            self.wordless.append("thoughts")
        elif kind == "search_result":
            self._add_result(part.get("content"), depth, False)
        else:
            self._add_wordless(kind, part)

    def _add_bare_part(self, part: Mapping[str, Any], depth: int) -> None:
        """A part that says by its keys what it is, as Gemini writes them."""
        for key, value in part.items():
            bare = key.replace("_", "").lower() if isinstance(key, str) else ""
            if bare == "text":
                if part.get("thought") is True:
                    self.wordless.append("thoughts")
                else:
                    self._say(value)
            elif bare == "functioncall" and isinstance(value, Mapping):
                self.add_call(value.get("name"), value.get("args"))
            elif bare == "functionresponse" and isinstance(value, Mapping):
                self.name = self.name or _text_or_nothing(value.get("name"))
                self._add_result(_answer_in(value.get("response")), depth, False)
            elif bare in ("inlinedata", "filedata") and isinstance(value, Mapping):
                self._add_wordless(str(value.get("mimeType", value.get("mime_type"))), part)
            elif bare == "executablecode" and isinstance(value, Mapping):
                self.add_call("code", value.get("code"))
            elif bare == "codeexecutionresult" and isinstance(value, Mapping):
                self._add_result(value.get("output"), depth, False)

    def _add_wordless(self, kind: str, part: Mapping[str, Any]) -> None:
        for name in _WORDS_BESIDE:
            for place in (part, *filter(_is_mapping, part.values())):
                if isinstance(place.get(name), str) and place[name].strip():
                    words = place[name]
                    if name in _WORDS_ABOUT:
                        words = " ".join(words.translate(_BRACKETS).split())
                        words = f"[shares a picture: {words}]"
                    self._say(words)
                    return
        if isinstance(part.get("text"), str):  # of a kind that is not known yet
            self._say(part["text"])
            return
        found = [said for word, said in _WORDLESS.items() if word in kind]
        self.wordless.append(found[0] if found else "part without words")

    def _add_result(self, content: Any, depth: int, failed: bool) -> None:
        self.is_tool = True
        self.failed = self.failed or failed
        before, self._in_result = self._in_result, True
        try:
            if isinstance(content, (str, Mapping, list, tuple)) or content is None:
                self.add(content, depth + 1)
        finally:
            self._in_result = before

    def add_calls(self, calls: Any) -> None:
        """Add the calls of tools of a message."""
        if calls is None:
            return
        if isinstance(calls, (str, bytes, Mapping)) or not isinstance(calls, Iterable):
            raise InvalidInputError(
                f"tool_calls is {shown(calls)}", hint="pass the list that the model gave"
            )
        for each in calls:
            each = as_message(each)
            made = each.get("function", each) if isinstance(each, Mapping) else {}
            made = as_message(made)
            if isinstance(made, Mapping):
                self.add_call(
                    made.get("name"), made.get("arguments", made.get("input", made.get("args")))
                )

    def add_call(self, name: Any, arguments: Any) -> None:
        """Add the call of a tool."""
        if not isinstance(name, str) or not name.strip():
            return
        if not isinstance(arguments, str):
            try:
                arguments = json.dumps(arguments or {}, ensure_ascii=False)
            except (TypeError, ValueError, RecursionError):
                arguments = ""
        call = (name.strip(), arguments[:_MOST_ARGUMENTS])
        if call not in self.calls:  # LangChain repeats in tool_calls what is in the content
            self.calls.append(call)

    def add_item(self, item: Mapping[str, Any]) -> None:
        """Add an item of an API that is no message: a call, an output, thoughts."""
        kind = str(item.get("type"))
        if kind in _THOUGHTS:
            self.wordless.append("thoughts")
        elif kind.endswith("_output"):
            self._add_result(item.get("output"), 0, item.get("status") == "failed")
        elif kind.endswith("_call"):
            given = next((item[key] for key in _CALLED_WITH if item.get(key) is not None), None)
            self.add_call(item.get("name") or kind.removesuffix("_call"), given)
            if isinstance(item.get("output"), str):
                self._add_result(item["output"], 0, False)
        else:
            self.wordless.append("part without words")


def chat_message(item: Mapping[str, Any]) -> ChatMessage:
    """A message taken apart; its text may be empty.

    Raises:
        InvalidTextError: its content is neither a text nor parts.
        InvalidInputError: its calls are no list.
    """
    item = unwrapped(item)
    found = ChatMessage(role_of(item), _text_or_nothing(item.get("name")))
    kind = item.get("type")
    if is_item(item):
        found.add_item(item)
    if found.role in ("tool", "function") or kind == "tool":
        found.is_tool = True
        found.failed = item.get("is_error") is True or item.get("status") == "error"
    body = item.get("text", item.get("content"))
    found.add(item.get("parts") if body is None else as_message(body))
    if not found.texts and not found.results:
        found.add(item.get("refusal") if isinstance(item.get("refusal"), str) else None)
        if isinstance(audio := as_message(item.get("audio")), Mapping):
            found._add_wordless("audio", audio)
    found.add_calls(item.get("tool_calls"))
    if isinstance(call := as_message(item.get("function_call")), Mapping):
        found.add_call(call.get("name"), call.get("arguments", call.get("args")))
    if isinstance(more := item.get("additional_kwargs"), Mapping) and not found.calls:
        found.add_calls(more.get("tool_calls") if isinstance(more.get("tool_calls"), list) else ())
    if found.is_tool and not found.texts:
        found.role = "tool"  # a result of a tool that stands under the name of another
    return found


def is_item(item: Mapping[str, Any]) -> bool:
    """Whether it is an item of an API that is no message: a call, an output, thoughts."""
    kind = item.get("type")
    return (
        isinstance(kind, str)
        and "content" not in item
        and "text" not in item
        and (kind in _THOUGHTS or kind.endswith(("_call", "_output")))
    )


def role_of(item: Mapping[str, Any]) -> Any:
    """The role of a message, in the words of memories where another maker has his own."""
    role = item.get("role")
    kind = item.get("type")
    if role is None and isinstance(kind, str):
        bare = kind.removesuffix("Chunk").removesuffix("Message").lower()
        return _ROLES.get(bare) or ("assistant" if kind.endswith("_call") else None)
    if role == "model" and "parts" in item:
        return "assistant"
    return "tool" if role == "function" else role  # the older name of the same


def sent_at(item: Mapping[str, Any], zone: tzinfo) -> datetime | None:
    """When a message says that it was sent; None where it does not, or in a form of its own.

    Args:
        zone: of times that name none.
    """
    for value in map(unwrapped(item).get, _SENT):
        try:
            if isinstance(value, (str, date)):
                when = datetime.fromisoformat(str(value).strip())
                when = when if when.tzinfo is not None else when.replace(tzinfo=zone)
                return when if to_ms(when) else None
            if isinstance(value, (int, float)) and value > 0:
                ms = ms_of_number(value)
                if ms is not None:
                    return from_ms(round(ms)) if ms <= MAX_MS else None
        except (ValueError, OverflowError):
            continue
    return None


def as_message(item: Any) -> Any:
    """The dictionary of an object of a maker's library; anything else as it is."""
    if isinstance(item, (str, Mapping, list, tuple)) or item is None:
        return item
    dump = getattr(item, "model_dump", None)
    if not callable(dump) or isinstance(item, type):
        return item
    made = dump()
    if not isinstance(made, Mapping):
        return item
    return {key: value for key, value in made.items() if value is not None}


def unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message within the wrappings of LangChain."""
    inner = item.get("kwargs") if item.get("lc") is not None else item.get("data")
    if isinstance(inner, Mapping) and "content" in inner and "content" not in item:
        names = item.get("id")
        kind = item.get("type")
        if kind == "constructor" and isinstance(names, list) and names:
            kind = names[-1]
        return {"type": kind, **inner}
    return item


def _answer_in(response: Any) -> Any:
    """What a function answered: its text, or the whole answer as JSON."""
    if not isinstance(response, Mapping):
        return response
    for name in ("result", "output", "content", "error"):
        if isinstance(response.get(name), str):
            return response[name]
    try:
        return json.dumps(response, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def _text_or_nothing(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def source_in(metadata: Any) -> str | None:
    """The source that metadata name, as a label; what has one is not the user's own."""
    source = metadata.get("source") if isinstance(metadata, Mapping) else None
    if not isinstance(source, str) or not is_unicode(source):
        return None
    label = "".join(filter(str.isprintable, source)).encode()[:_LABEL_BYTES]
    return label.decode(errors="ignore").strip() or None


def is_unicode(value: Any) -> bool:
    """Whether every text in a value can be encoded: none has half of a surrogate pair."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True
    if isinstance(value, Mapping):
        return all(is_unicode(each) for pair in value.items() for each in pair)
    return not isinstance(value, (list, tuple)) or all(map(is_unicode, value))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)
