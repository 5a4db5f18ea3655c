"""Whether another agent runs the session of a hook: its shell's environment says so, the transcript does not.

Seen with Claude Code 2.1.329 and Codex 0.169.0. Both put their marks into the environment of what their agent runs, and
so of a client that it starts; the hooks of that client inherit them. Claude Code also marks its own hooks, with
`CLAUDECODE` and more, but `CLAUDE_CODE_EXECPATH` comes from an agent's shell alone; Codex marks none of its own.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping

_IN_CLAUDE, _IN_SHELL, _ATTENDED = "CLAUDECODE", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SESSION_ATTENDED"
_THREAD = "CODEX_THREAD_ID"

MARKS = {name: f"mcp-memory-{name.lower().replace('_', '-')}" for name in (_IN_CLAUDE, _IN_SHELL, _ATTENDED, _THREAD)}
"""The variables that tell it → the header in which a hook carries each to the daemon."""


def marks_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Header → value. One that no header can hold, such as a path with an umlaut, is a question mark: it is there."""
    return {
        header: value if value.isascii() and value.isprintable() else "?"
        for name, header in MARKS.items()
        if (value := environ.get(name))
    }


def is_nested(client: str, session: str, environ: Mapping[str, str]) -> bool:
    """`session` is the client's own id of it. False where a person sits before it, in a shell that an agent opened."""
    if client == "claude-code":
        if environ.get(_ATTENDED) == "1":
            return False
        in_claude = bool(environ.get(_IN_SHELL))
    else:
        in_claude = environ.get(_IN_CLAUDE) == "1"
    return in_claude or environ.get(_THREAD, session) != session
