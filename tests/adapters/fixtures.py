"""A server with our tools and those that the conformance suite asks every server for.

The suite calls tools, resources and prompts of its own names, so that it can see images, progress,
questions to the user and errors. They stand beside ours on one server:

    python -m tests.adapters.fixtures STORE PORT
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Annotated, Any, Final

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Audio, Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    EmptyResult,
    InputRequiredResult,
    ListRootsRequest,
    MissingRequiredClientCapabilityErrorData,
    SamplingCapability,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import AnyUrl, Field

import spector
from spector.adapters.mcp import Opening, server
from spector.adapters.mcp.transports import serve_http
from tests.fakes import FakeEmbedder


def _png() -> bytes:
    """A picture of one red pixel."""

    def chunk(name: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")


PNG: Final = _png()
#: no sound at all, but a whole file
WAV: Final = (
    b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data" + struct.pack("<I", 0)
)  # fmt: skip

_NAME: Final = {"name": {"type": "string"}}


def embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    held = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=held)


def question(message: str, properties: Mapping[str, Any]) -> ElicitRequest:
    """A form for the user; all its fields are needed."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str, most: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[message], max_tokens=most)
    )


def answers(context: Context[Any], *names: str) -> list[Any] | None:
    """What the client has answered to these questions; None if one is open."""
    given = context.input_responses or {}
    return [given[name] for name in names] if set(names) <= set(given) else None


#: the keywords of JSON Schema that a list of tools must not lose
_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def add_fixtures(app: MCPServer[Any]) -> None:
    _add_contents(app)
    _add_schemas(app)
    _add_questions(app)
    _add_rounds(app)
    _add_resources(app)
    _add_prompts(app)


def _add_contents(app: MCPServer[Any]) -> None:
    @app.tool(structured_output=False)
    def test_simple_text() -> str:
        """Text."""
        return "This is a simple text response for testing."

    @app.tool(structured_output=False)
    def test_image_content() -> Image:
        """An image."""
        return Image(data=PNG, format="png")

    @app.tool(structured_output=False)
    def test_audio_content() -> Audio:
        """A sound."""
        return Audio(data=WAV, format="wav")

    @app.tool(structured_output=False)
    def test_embedded_resource() -> EmbeddedResource:
        """A resource."""
        text = "This is an embedded resource content."
        return embedded("test://embedded-resource", "text/plain", text)

    @app.tool(structured_output=False)
    def test_multiple_content_types() -> list[Any]:
        """Text, an image and a resource."""
        data = json.dumps({"test": "data", "value": 123})
        held = embedded("test://mixed-content-resource", "application/json", data)
        return ["Multiple content types test:", Image(data=PNG, format="png"), held]

    @app.tool(structured_output=False)
    def test_error_handling() -> str:
        """An error."""
        raise ToolError("This tool intentionally returns an error for testing")

    @app.tool(structured_output=False)
    async def test_tool_with_logging(context: Context[Any]) -> str:
        """Lines of a log."""
        for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await context.session.send_log_message("info", line)
            await anyio.sleep(0.05)
        return "logged"

    @app.tool(structured_output=False)
    async def test_logging_tool(context: Context[Any]) -> str:
        """A line of a log, for clients that ask for it."""
        await context.session.send_log_message("info", "a line")
        return "logged"

    @app.tool(structured_output=False)
    async def test_tool_with_progress(context: Context[Any]) -> str:
        """Steps."""
        for done in (0, 50, 100):
            await context.report_progress(done, 100)
            await anyio.sleep(0.05)
        return "done"

    @app.tool(structured_output=False)
    async def test_trigger_tool_change(context: Context[Any]) -> str:
        """Say that the tools have changed."""
        await context.notify_tools_changed()
        return "changed"

    @app.tool(structured_output=False)
    async def test_trigger_prompt_change(context: Context[Any]) -> str:
        """Say that the prompts have changed."""
        await context.notify_prompts_changed()
        return "changed"

    @app.tool(structured_output=False)
    def test_missing_capability(context: Context[Any]) -> str:
        """Works for clients with a model only."""
        known = context.client_capabilities
        if known is None or known.sampling is None:
            needed = ClientCapabilities(sampling=SamplingCapability())
            data = MissingRequiredClientCapabilityErrorData(required_capabilities=needed)
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY,
                "a model is needed",
                data.model_dump(by_alias=True, exclude_none=True),
            )
        return "there is a model"


def _add_schemas(app: MCPServer[Any]) -> None:
    @app.tool(structured_output=False)
    def json_schema_2020_12_tool() -> str:
        """A schema with every keyword."""
        return "called"

    tool: Any = app._tool_manager.get_tool("json_schema_2020_12_tool")
    tool.parameters = _SCHEMA

    @app.tool(structured_output=False)
    def test_custom_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    ) -> str:
        """An argument that a header repeats."""
        return region


def _add_questions(app: MCPServer[Any]) -> None:
    """Tools that ask the client while they run; of the revisions with sessions."""

    async def asked(context: Context[Any], message: str, properties: Mapping[str, Any]) -> str:
        schema = {"type": "object", "properties": properties, "required": []}
        found = await context.session.elicit_form(message, schema, context.request_id)
        return f"action={found.action}, content={json.dumps(found.content)}"

    @app.tool(structured_output=False)
    async def test_sampling(prompt: str, context: Context[Any]) -> str:
        """Ask the client's model."""
        message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
        found = await context.session.create_message(
            [message], max_tokens=100, related_request_id=context.request_id
        )
        return f"LLM response: {getattr(found.content, 'text', found.content)}"

    @app.tool(structured_output=False)
    async def test_elicitation(message: str, context: Context[Any]) -> str:
        """Ask the user."""
        fields = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }
        schema = {"type": "object", "properties": fields, "required": list(fields)}
        found = await context.session.elicit_form(message, schema, context.request_id)
        return f"User response: action={found.action}, content={json.dumps(found.content)}"

    @app.tool(structured_output=False)
    async def test_elicitation_sep1034_defaults(context: Context[Any]) -> str:
        """Ask the user, with defaults."""
        states = ["active", "inactive", "pending"]
        fields = {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": states, "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
        return f"Elicitation completed: {await asked(context, 'Please check', fields)}"

    @app.tool(structured_output=False)
    async def test_elicitation_sep1330_enums(context: Context[Any]) -> str:
        """Ask the user to choose, in each form of a choice."""

        def titled(*titles: str) -> list[dict[str, str]]:
            return [{"const": f"value{n}", "title": title} for n, title in enumerate(titles, 1)]

        plain, old = ["option1", "option2", "option3"], ["opt1", "opt2", "opt3"]
        options = titled("First Option", "Second Option", "Third Option")
        choices = titled("First Choice", "Second Choice", "Third Choice")
        fields = {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": options},
            "legacyEnum": {
                "type": "string",
                "enum": old,
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": choices}},
        }
        return f"Elicitation completed: {await asked(context, 'Please choose', fields)}"


def _add_rounds(app: MCPServer[Any]) -> None:
    """Tools that end with a question and are called again with its answer; without sessions."""

    @app.tool(structured_output=False)
    def test_input_required_result_elicitation(context: Context[Any]) -> str | InputRequiredResult:
        """Greet the user by name."""
        found = answers(context, "user_name")
        name = getattr(found[0], "content", None) if found else None
        if not isinstance(name, dict) or not isinstance(name.get("name"), str):
            asked = {"user_name": question("What is your name?", _NAME)}
            return InputRequiredResult(input_requests=asked)
        return f"Hello, {name['name']}!"

    @app.tool(structured_output=False)
    def test_streaming_elicitation(context: Context[Any]) -> str | InputRequiredResult:
        """The same for what is streamed."""
        return test_input_required_result_elicitation(context)

    @app.tool(structured_output=False)
    def test_input_required_result_sampling(context: Context[Any]) -> str | InputRequiredResult:
        """Ask the client's model for a capital."""
        found = answers(context, "capital_question")
        if found is None:
            asked = {"capital_question": sampling("What is the capital of France?", 100)}
            return InputRequiredResult(input_requests=asked)
        return str(getattr(found[0].content, "text", found[0].content))

    @app.tool(structured_output=False)
    def test_input_required_result_list_roots(context: Context[Any]) -> str | InputRequiredResult:
        """Name the client's folders."""
        found = answers(context, "client_roots")
        if found is None:
            return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
        return ", ".join(str(each.uri) for each in found[0].roots)

    @app.tool(structured_output=False)
    def test_input_required_result_request_state(
        context: Context[Any],
    ) -> str | InputRequiredResult:
        """Get a state back."""
        if answers(context, "confirm") is None or context.request_state is None:
            asked = {"confirm": question("Please confirm", {"ok": {"type": "boolean"}})}
            return InputRequiredResult(input_requests=asked, request_state="confirming")
        return "state-ok" if context.request_state == "confirming" else "another state"

    @app.tool(structured_output=False)
    def test_input_required_result_tampered_state(
        context: Context[Any],
    ) -> str | InputRequiredResult:
        """Get a state back that nobody has changed."""
        return test_input_required_result_request_state(context)

    @app.tool(structured_output=False)
    def test_input_required_result_multiple_inputs(
        context: Context[Any],
    ) -> str | InputRequiredResult:
        """Ask for three things at once."""
        asked = {
            "user_name": question("What is your name?", _NAME),
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": ListRootsRequest(),
        }
        if answers(context, *asked) is None:
            return InputRequiredResult(input_requests=asked, request_state="three")
        return "all three are there"

    @app.tool(structured_output=False)
    def test_input_required_result_multi_round(context: Context[Any]) -> str | InputRequiredResult:
        """Ask twice."""
        if context.request_state is None:
            asked = {"step1": question("Step 1: What is your name?", _NAME)}
            return InputRequiredResult(input_requests=asked, request_state="one")
        if context.request_state == "one":
            color = {"color": {"type": "string"}}
            asked = {"step2": question("Step 2: What is your favorite color?", color)}
            return InputRequiredResult(input_requests=asked, request_state="two")
        return "both are there"

    @app.tool(structured_output=False)
    def test_input_required_result_capabilities(context: Context[Any]) -> str | InputRequiredResult:
        """Ask only what the client can answer."""
        known = context.client_capabilities or ClientCapabilities()
        asked: dict[str, Any] = {}
        if known.sampling is not None:
            asked["greeting"] = sampling("Generate a greeting", 50)
        if known.elicitation is not None:
            asked["user_name"] = question("What is your name?", _NAME)
        if not asked or answers(context, *asked) is not None:
            return "nothing is asked"
        return InputRequiredResult(input_requests=asked)


def _add_resources(app: MCPServer[Any]) -> None:
    @app.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """Text."""
        return "This is the content of the static text resource."

    @app.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """An image."""
        return PNG

    @app.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        """Data of an id."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    low: Any = app._lowlevel_server

    async def accept(*given: object) -> EmptyResult:
        return EmptyResult()

    low.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accept)
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, accept)

    @app.completion()  # type: ignore[untyped-decorator]
    async def complete(*given: object) -> Completion:
        return Completion(values=["paris", "park", "party"], total=3, has_more=False)


def _add_prompts(app: MCPServer[Any]) -> None:
    def said(content: Any) -> dict[str, Any]:
        return {"role": "user", "content": content}

    @app.prompt()
    def test_simple_prompt() -> str:
        """A prompt."""
        return "This is a simple prompt for testing."

    @app.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt with arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @app.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:  # noqa: N803
        """A prompt with a resource."""
        held = embedded(
            str(AnyUrl(resourceUri)), "text/plain", "Embedded resource content for testing."
        )
        return [said(held), said("Please process the embedded resource above.")]

    @app.prompt()
    def test_prompt_with_image() -> list[Any]:
        """A prompt with an image."""
        image = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
        text = {"type": "text", "text": "Please analyze the image above."}
        return [said(image), said(text)]

    @app.prompt()
    def test_input_required_result_prompt(context: Context[Any]) -> str | InputRequiredResult:
        """A prompt that asks the user."""
        if answers(context, "user_context") is None:
            text = {"context": {"type": "string"}}
            asked = {"user_context": question("What context should the prompt use?", text)}
            return InputRequiredResult(input_requests=asked)
        return "the context is there"


def main() -> None:
    store, port = sys.argv[1], int(sys.argv[2])
    opening = Opening(store, lambda: spector.open(store, embedder=FakeEmbedder(), shared=True))
    app = server(opening)
    add_fixtures(app)
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    serve_http(app, opening, "127.0.0.1", port, None)


if __name__ == "__main__":
    main()
