"""Listening: one `subscriptions/listen` of a stdio client, kept up over the daemon's restarts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from mcp_memory.client.connection import MCP
from mcp_memory.client.connection_pool import ConnectionPool
from mcp_memory.client.http_connection import Headers, HttpConnection
from mcp_memory.client.messages import ACKNOWLEDGED, answer_from
from mcp_memory.client.pending_call import CallCancelled, PendingCall
from mcp_memory.errors import Busy, DeadlineExceeded, NotRunning

ANSWER_S = 30.0
"""Until the daemon has said yes or no."""

SILENCE_S = 60.0
"""The daemon says something every 15 s; one that has been silent for so long hangs."""

AGAIN_S = 1.0
"""Between two looks for a daemon. None is started: somebody may have stopped it on purpose."""

CHANGES = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}


class Subscription:
    """`headers` are those of its request; `write` takes one line."""

    def __init__(
        self,
        call: PendingCall,
        channels: ConnectionPool,
        headers: Callable[[PendingCall], Headers],
        write: Callable[[bytes], None],
    ) -> None:
        self._call = call
        self._channels = channels
        self._headers = headers
        self._write = write
        self._acknowledged = False

    def run(self) -> bytes:
        """Write what the daemon says, until it refuses: that answer. Raises TakenBack, and before the daemon has
        agreed once NotRunning and DeadlineExceeded."""
        refusal = self._listen(self._channels.acquire)
        while refusal is None:
            if self._call.cancelled.wait(AGAIN_S):
                raise CallCancelled
            try:
                refusal = self._listen(self._channels.found)
            except (NotRunning, Busy, DeadlineExceeded):
                continue
        return refusal

    def _listen(self, connect: Callable[[], HttpConnection]) -> bytes | None:
        """One stream to its end. None where the daemon had agreed, so that it can be asked again."""
        channel, message = connect(), self._call.message
        try:
            with self._call.on(channel), channel:
                headers, until = self._headers(self._call), monotonic() + ANSWER_S
                status, answered = channel.ask("POST", MCP, headers, message.line, until)
                if not answered.get("content-type", "").startswith("text/event-stream"):
                    return answer_from(message, status, channel.body(answered, until))
                for event in channel.events(answered, SILENCE_S):
                    said: dict[str, Any] = json.loads(event)
                    if "method" not in said:
                        return None if self._acknowledged and "result" in said else event
                    for line in self._told(event, said):
                        self._write(line)
        except (OSError, ValueError) as error:
            if not self._acknowledged:
                raise NotRunning("the memory daemon ended", hint="listen again") from error
        return None

    def _told(self, event: bytes, said: dict[str, Any]) -> Iterator[bytes]:
        """The event; in place of the second agreement and any later one, that all may have changed meanwhile."""
        if said["method"] != ACKNOWLEDGED or not self._acknowledged:
            self._acknowledged |= said["method"] == ACKNOWLEDGED
            yield event
            return
        params = said["params"]
        meta, wanted = {"_meta": params["_meta"]}, params["notifications"]
        changed = [(method, meta) for kind, method in CHANGES.items() if wanted.get(kind)]
        changed += [
            ("notifications/resources/updated", {"uri": uri, **meta})
            for uri in wanted.get("resourceSubscriptions") or ()
        ]
        for method, about in changed:
            yield json.dumps({"jsonrpc": "2.0", "method": method, "params": about}).encode("ascii")
