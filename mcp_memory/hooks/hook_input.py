"""Reads a hook's input from a client: one JSON object, and marks in the environment. Pure.

The marks show that another agent runs the session, which the transcript does not. Seen with Claude Code 2.1.329 and
Codex 0.169.0. Both put their mark into the environment of their agent's commands, so a client that the agent starts
inherits it, and so do that client's hooks. Claude Code also marks its own hooks, with `CLAUDECODE` and more, but
`CLAUDE_CODE_EXECPATH` comes only from an agent's shell. Codex doesn't mark its own hooks.
"""

from __future__ import annotations

import json

from mcp_memory.errors import Unusable

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_PROMPT_CHARS = 32_000
"""The most characters that the engine reads of a prompt, which may have a whole file pasted into it."""

MOST_NAME_CHARS = 500

MOST_TOOL_CHARS = 32_000
"""The most characters of each text in a tool's input and output in a shortened input."""

_IN_CLAUDE, _IN_SHELL, _ATTENDED = "CLAUDECODE", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SESSION_ATTENDED"
_THREAD = "CODEX_THREAD_ID"

MARKS = {name: f"mcp-memory-{name.lower().replace('_', '-')}" for name in (_IN_CLAUDE, _IN_SHELL, _ATTENDED, _THREAD)}
"""Environment variable → the header in which a hook carries it to the daemon."""


class HookInput:
    """A hook's input. Fields are empty if the client doesn't send them as text.

    `cwd`: the folder that the agent works in. `project`: the project, if the client names it itself. `transcript`: the
    file in which the client records the session. `tool`, `tool_input` and `tool_output`: the tool before or after its
    call, its arguments, and its result (or its error if it `has_failed`). `source`: why a session starts. `agent_id`
    and `agent_type`: the sub-agent's. `is_shortened`: whether a text in the input was cut."""

    def __init__(self, data: bytes) -> None:
        """Parse the input; unknown keys are ignored. Raises Unusable for anything but a JSON object."""
        try:
            table: dict[str, Any] = {**json.loads(data.decode("utf-8-sig", "replace"))}
        except (ValueError, RecursionError) as error:
            raise Unusable("the input is not JSON") from error
        except TypeError as error:
            raise Unusable("the input is not a JSON object") from error
        texts = {key: value for key, value in table.items() if isinstance(value, str)}
        self.session = texts.get("session_id", "")[:MOST_NAME_CHARS]
        self.cwd = texts.get("cwd", "")
        self.project = texts.get("project", "")[:MOST_NAME_CHARS]
        self.prompt = texts.get("prompt", "")[:MOST_PROMPT_CHARS]
        self.source = texts.get("source", "")[:MOST_NAME_CHARS]
        self.transcript = texts.get("transcript_path", "")
        self.tool = texts.get("tool_name", "")[:MOST_NAME_CHARS]
        given = table.get("tool_input")
        self.tool_input: dict[str, Any] = given if isinstance(given, dict) else {}
        self.has_failed = bool(texts.get("error"))
        returned = table.get("error") or table.get("tool_response") or ""
        self.tool_output = returned if isinstance(returned, str) else json.dumps(returned, ensure_ascii=False)
        self.agent_id = texts.get("agent_id", "")[:MOST_NAME_CHARS]
        self.agent_type = texts.get("agent_type", "")[:MOST_NAME_CHARS]
        self.is_shortened = table.get("mcp_memory_shortened") is True

    def shortened(self) -> bytes:
        """Return the input as JSON, with only the fields that an answer needs."""
        tool_input = {key: value for key, value in self.tool_input.items() if isinstance(value, str)}
        table = {
            "session_id": self.session, "cwd": self.cwd, "project": self.project, "prompt": self.prompt,
            "source": self.source, "transcript_path": self.transcript, "tool_name": self.tool,
            "error" if self.has_failed else "tool_response": self.tool_output[:MOST_TOOL_CHARS],
            "tool_input": {key: value[:MOST_TOOL_CHARS] for key, value in tool_input.items()},
            "agent_id": self.agent_id, "agent_type": self.agent_type, "mcp_memory_shortened": True,
        }  # fmt: skip
        return json.dumps(table).encode("ascii")


def marks_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return header → value. A value that a header can't carry, such as a path with an umlaut, becomes a question
    mark."""
    return {
        header: value if value.isascii() and value.isprintable() else "?"
        for name, header in MARKS.items()
        if (value := environ.get(name))
    }


def is_nested(client: str, session: str, environ: Mapping[str, str]) -> bool:
    """Return whether another agent runs the session; False if a person uses it in a shell that an agent opened.
    `session`: the client's own id."""
    if client == "claude-code":
        if environ.get(_ATTENDED) == "1":
            return False
        in_claude = bool(environ.get(_IN_SHELL))
    else:
        in_claude = environ.get(_IN_CLAUDE) == "1"
    return in_claude or environ.get(_THREAD, session) != session
