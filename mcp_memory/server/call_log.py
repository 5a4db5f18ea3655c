"""Logs one line for each tool call: client, tool, duration and outcome. Never an argument or a result."""

import logging
import time
from datetime import datetime

from fastmcp.server.dependencies import get_access_token
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams

from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.tool_names import TOOLS

log = logging.getLogger(__name__)


class CallLog(Middleware):
    """Logs at level debug, as the outermost middleware, so that refused arguments are logged too. Remembers each
    client's last call until the daemon ends."""

    def __init__(self) -> None:
        super().__init__()
        self._latest: dict[str, datetime] = {}

    def saw(self, client: str) -> None:
        """Record that this client calls now."""
        self._latest[client] = datetime.now().astimezone()

    def payload(self) -> dict[str, str]:
        """Return client → time of its last call, the latest first."""
        latest = sorted(self._latest.items(), key=lambda call: call[1], reverse=True)
        return {client: when.isoformat(timespec="seconds") for client, when in latest}

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        began, outcome = time.perf_counter(), "cancelled"
        name, token = context.message.name, get_access_token()
        name = name if name in TOOLS else "unknown tool"  # an unknown name may contain anything
        client = token.client_id if token else "anyone"
        self.saw(client)
        try:
            result = await call_next(context)
            outcome = "ok"
        except Exception as error:
            outcome = _code(error.__cause__)
            raise
        finally:
            log.debug("%s by %s: %s, %.1f ms", name, client, outcome, 1000 * (time.perf_counter() - began))
        return result


def _code(cause: BaseException | None) -> str:
    """Return the outcome's code. A tool error without a cause is caused by its arguments."""
    if isinstance(cause, McpMemoryError):
        return cause.code
    return "internal" if cause else InvalidInput.code
