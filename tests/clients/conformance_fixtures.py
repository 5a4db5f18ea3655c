"""What the conformance suite calls by name, mounted on a server under test.

The suite cannot know a server's own tools, so it asks for `test_…` tools and prompts and `test://…`
resources with a fixed behaviour; `conformance list` and the descriptions of its scenarios define them.
They prove the server underneath: transport, errors, both protocol eras. They are never part of the daemon.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any

import anyio
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message, PromptResult
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    SamplingCapability,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
"""One red pixel."""

WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0data\0\0\0\0"
"""A header without samples."""


def mount(server: FastMCP) -> None:
    """Add every fixture to `server`, in place."""
    _add_content_tools(server)
    _add_behaviour_tools(server)
    _add_input_tools(server)
    _add_header_tool(server)
    _add_resources(server)
    _add_prompts(server)


def _add_content_tools(server: FastMCP) -> None:
    @server.tool
    def test_simple_text() -> str:
        """Return one text."""
        return "This is a simple text response for testing."

    @server.tool
    def test_image_content() -> ImageContent:
        """Return one image."""
        return _image()

    @server.tool
    def test_audio_content() -> AudioContent:
        """Return one sound."""
        return AudioContent(type="audio", data=base64.b64encode(WAV).decode(), mime_type="audio/wav")

    @server.tool
    def test_embedded_resource() -> EmbeddedResource:
        """Return one embedded resource."""
        return _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")

    @server.tool
    def test_multiple_content_types() -> ToolResult:
        """Return a text, an image and a resource."""
        return ToolResult(
            content=[
                TextContent(type="text", text="Multiple content types test:"),
                _image(),
                _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
            ]
        )


def _add_behaviour_tools(server: FastMCP) -> None:
    @server.tool
    def test_error_handling() -> str:
        """Fail, always."""
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool
    async def test_tool_with_progress(ctx: Context) -> str:
        """Report progress three times."""
        for percent in (0, 50, 100):
            await ctx.report_progress(percent, 100)
            await anyio.sleep(0.05)  # the suite wants a pause after each
        return "progress reported"

    @server.tool
    async def test_tool_with_logging(ctx: Context) -> str:
        """Log three messages."""
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.info(text)
            await anyio.sleep(0.05)  # the suite wants a pause after each
        return "messages logged"

    @server.tool
    async def test_logging_tool(ctx: Context) -> str:
        """Log one message, which no client receives without asking for it."""
        await ctx.info("not to be sent unless the request names a log level")
        return "logged"

    @server.tool
    def test_missing_capability(ctx: Context) -> str:
        """Refuse a client that cannot sample."""
        if _declared(ctx).sampling is None:
            needed = ClientCapabilities(sampling=SamplingCapability())
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY,
                "this tool needs the client's sampling capability",
                {"requiredCapabilities": needed.model_dump(by_alias=True, exclude_none=True)},
            )
        return "the client can sample"


def _add_input_tools(server: FastMCP) -> None:
    """Tools that ask the client and are called again with its answer (SEP-2322)."""
    ask_name = _form("What is your name?", name="string")
    ask_ok = _form("Please confirm", ok="boolean")

    @server.tool
    def test_input_required_result_elicitation(ctx: Context) -> str | InputRequiredResult:
        """Ask for a name, then greet."""
        answer = _answers(ctx).get("user_name")
        if not isinstance(answer, ElicitResult) or answer.content is None:
            return InputRequiredResult(input_requests={"user_name": ask_name})
        return f"Hello, {answer.content['name']}!"

    @server.tool
    def test_streaming_elicitation(ctx: Context) -> str | InputRequiredResult:
        """Ask for a name; the stream of the answer must hold no request of its own."""
        if "user_name" not in _answers(ctx):
            return InputRequiredResult(input_requests={"user_name": ask_name})
        return "answered"

    @server.tool
    def test_input_required_result_sampling(ctx: Context) -> str | InputRequiredResult:
        """Ask the client's model a question."""
        if "capital_question" not in _answers(ctx):
            question = _sample("What is the capital of France?", max_tokens=100)
            return InputRequiredResult(input_requests={"capital_question": question})
        return "the model answered"

    @server.tool
    def test_input_required_result_list_roots(ctx: Context) -> str | InputRequiredResult:
        """Ask for the client's roots."""
        if "client_roots" not in _answers(ctx):
            return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
        return "roots received"

    @server.tool
    def test_input_required_result_request_state(ctx: Context) -> str | InputRequiredResult:
        """Ask, and recognise the state that comes back with the answer."""
        return _confirmed(ctx, ask_ok, state="asked")

    @server.tool
    def test_input_required_result_tampered_state(ctx: Context) -> str | InputRequiredResult:
        """Ask, and let the server refuse a state that somebody changed."""
        return _confirmed(ctx, ask_ok, state="sealed")

    @server.tool
    def test_input_required_result_multiple_inputs(ctx: Context) -> str | InputRequiredResult:
        """Ask three things at once."""
        questions = {
            "user_name": ask_name,
            "greeting": _sample("Generate a greeting", max_tokens=50),
            "client_roots": ListRootsRequest(),
        }
        if not questions.keys() <= _answers(ctx).keys():
            return InputRequiredResult(input_requests=questions, request_state="three questions")
        return "all answered"

    @server.tool
    def test_input_required_result_multi_round(ctx: Context) -> str | InputRequiredResult:
        """Ask twice, one after the other."""
        answers = _answers(ctx)
        if ctx.request_state == "round 1" and "step1" in answers:
            ask_color = _form("Step 2: What is your favorite color?", color="string")
            return InputRequiredResult(input_requests={"step2": ask_color}, request_state="round 2")
        if ctx.request_state == "round 2" and "step2" in answers:
            return "both rounds answered"
        first = _form("Step 1: What is your name?", name="string")
        return InputRequiredResult(input_requests={"step1": first}, request_state="round 1")

    @server.tool
    def test_input_required_result_capabilities(ctx: Context) -> str | InputRequiredResult:
        """Ask only in the ways that the client declared."""
        able = _declared(ctx)
        questions: dict[str, Any] = {}
        if able.elicitation is not None:
            questions["user_name"] = ask_name
        if able.sampling is not None:
            questions["greeting"] = _sample("Generate a greeting", max_tokens=50)
        return InputRequiredResult(input_requests=questions) if questions else "nothing to ask with"


def _add_header_tool(server: FastMCP) -> None:
    @server.tool
    def test_parameter_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        """Take an argument that the client repeats in a header (SEP-2243)."""
        return f"in {region}"


def _add_resources(server: FastMCP) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """A text that never changes."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """Bytes that never change."""
        return PNG

    @server.resource("test://watched-resource", mime_type="text/plain")
    def watched_resource() -> str:
        """A text that a client may subscribe to."""
        return "watched"

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> dict[str, object]:  # noqa: A002 - the suite names the parameter
        """One resource for each id."""
        return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


def _add_prompts(server: FastMCP) -> None:
    @server.prompt
    def test_simple_prompt() -> str:
        """A prompt without arguments."""
        return "This is a simple prompt for testing."

    @server.prompt
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt that repeats its arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt
    def test_prompt_with_embedded_resource(resourceUri: str) -> PromptResult:
        """A prompt that carries a resource."""
        carried = _resource(resourceUri, "text/plain", "Embedded resource content for testing.")
        return PromptResult([Message(carried), Message("Please process the embedded resource above.")])

    @server.prompt
    def test_prompt_with_image() -> PromptResult:
        """A prompt that carries an image."""
        return PromptResult([Message(_image()), Message("Please analyze the image above.")])

    @server.prompt
    def test_input_required_result_prompt(ctx: Context) -> str | InputRequiredResult:
        """A prompt that first asks for its context."""
        answer = _answers(ctx).get("user_context")
        if not isinstance(answer, ElicitResult):
            question = _form("What context should the prompt use?", context="string")
            return InputRequiredResult(input_requests={"user_context": question})
        return "The context was given."

    @server.completion
    def complete(ref: object, argument: object, context: object) -> list[str]:
        return ["testing"]


def _confirmed(ctx: Context, question: ElicitRequest, *, state: str) -> str | InputRequiredResult:
    if ctx.request_state != state or "confirm" not in _answers(ctx):
        return InputRequiredResult(input_requests={"confirm": question}, request_state=state)
    return "state-ok"


def _answers(ctx: Context) -> Mapping[str, object]:
    return ctx.input_responses or {}


def _declared(ctx: Context) -> ClientCapabilities:
    return ctx.session.client_capabilities or ClientCapabilities()


def _form(message: str, **fields: str) -> ElicitRequest:
    schema = {"type": "object", "properties": {k: {"type": v} for k, v in fields.items()}, "required": [*fields]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _sample(text: str, *, max_tokens: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


def _image() -> ImageContent:
    return ImageContent(type="image", data=base64.b64encode(PNG).decode(), mime_type="image/png")


def _resource(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))
