"""What a client says to a hook: one JSON object, of which little is needed. Pure."""

from __future__ import annotations

import json

from mcp_memory.errors import Unusable

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from typing import Any

MOST_PROMPT_CHARS = 32_000
"""As much as the engine looks at; a person may paste a whole file."""

MOST_NAME_CHARS = 500


class HookInput:
    """Empty where the client does not say it, or says no text. `cwd` is the folder that the agent works in,
    `transcript` the file that its client writes the session down in."""

    def __init__(self, data: bytes) -> None:
        """Raises Unusable for what is no JSON object; keys that we do not know are not ours to judge."""
        try:
            given: dict[str, Any] = {**json.loads(data.decode("utf-8-sig", "replace"))}
        except (ValueError, RecursionError) as error:
            raise Unusable("the input is no JSON") from error
        except TypeError as error:
            raise Unusable("the input is no JSON object") from error
        self.session = _text(given, "session_id")[:MOST_NAME_CHARS]
        self.cwd = _text(given, "cwd")
        self.prompt = _text(given, "prompt")[:MOST_PROMPT_CHARS]
        self.transcript = _text(given, "transcript_path")

    def shortened(self) -> bytes:
        """Said again, without what nobody needs."""
        table = {"session_id": self.session, "cwd": self.cwd, "prompt": self.prompt, "transcript_path": self.transcript}
        return json.dumps(table).encode("ascii")


def _text(table: dict[str, Any], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
