"""Serves `/hook/<event>` for `mcp-memory hook` and clients that speak HTTP: returns the text for the client's agent."""

import json
import logging
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

from starlette.requests import Request
from starlette.responses import Response

from mcp_memory.engine.engine import Engine
from mcp_memory.errors import McpMemoryError
from mcp_memory.hooks.hook_answer import EVENTS, HookAnswer, answer
from mcp_memory.hooks.hook_call import HookCall
from mcp_memory.hooks.hook_command import FACTS, START, STARTS, SWITCHES, TRUTHS, WITHIN_MS
from mcp_memory.hooks.hook_input import MARKS, HookInput
from mcp_memory.hooks.hook_log import HookLogLine, owes_start
from mcp_memory.hooks.tool_answers import ACTING
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.settings.settings import HooksConfig

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HookEndpoint:
    """The endpoint for hooks. `log` is the hooks' log. The command writes the log and reads `config` by itself, since
    it knows the client's start time."""

    engine: Engine
    config: HooksConfig
    log: Path

    async def answer(self, client: str, request: Request) -> Response:
        """Answer a hook. Raises Unusable for an unknown event or unusable input, and the engine's errors."""
        event, within = request.path_params["name"], request.headers.get(WITHIN_MS)
        if within is not None:
            found = await self._answered(event, client, request, self._within_ms(within))
            return Response(found.output, headers={FACTS: json.dumps(found.facts)}, media_type="application/json")
        if not self.config.enabled:
            return Response()
        line, began = HookLogLine(), perf_counter()
        line.event, line.client = event if event in EVENTS else "", client
        try:
            within_ms = self.config.session_start_ms if event in STARTS else self.config.prompt_ms
            found = await self._answered(event, client, request, within_ms)
            line.add_facts(found.facts)
        except Exception as error:
            line.add_failure(error)
            raise
        finally:
            line.ms = (perf_counter() - began) * 1000
            await self._write(line)
        return Response(found.output, media_type="application/json")

    async def _answered(self, event: str, client: str, request: Request, within_ms: int) -> HookAnswer:
        environ = {name: request.headers[header] for name, header in MARKS.items() if header in request.headers}
        data = await request.body()
        engine, given = self.engine, HookInput(data)
        if given.tool not in ACTING:  # keyword search answers the acting tools
            engine.wake_model()  # without the model, a prompt gets less
        call = HookCall(
            event, client, given, within_ms, environ, engine.perform, engine.projects.find, self._owes_start,
            self._config_of(request),
        )  # fmt: skip
        return await answer(call)

    async def _owes_start(self, client: str, session: str, project: str) -> set[str] | None:
        """Return the notes shown to a session that lacks its start's text, see `hook_log.owes_start`. None if the log
        can't be read."""
        read = partial(owes_start, str(self.log), START, client, session, project)
        try:
            return await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading the hooks' log")
        except (OSError, McpMemoryError) as error:
            _log.warning("the hooks' log cannot be read: %s", type(error).__name__)
            return None

    async def _write(self, line: HookLogLine) -> None:
        """Write the line to the log. A full disk must not cost an answer."""
        write = partial(line.write, str(self.log))
        try:
            await in_thread(write, deadline_s=LOOK_DEADLINE_S, what="writing the hooks' log")
        except (OSError, McpMemoryError) as error:
            _log.warning("the hooks' log cannot be written: %s", type(error).__name__)

    def _config_of(self, request: Request) -> HooksConfig:
        """Return the configuration with the switches from the request. The command reads them anew for each call."""
        sent = dict(part.split("=", 1) for part in request.headers.get(SWITCHES, "").split(",") if "=" in part)
        config = replace(self.config, **{name: sent[name] == "true" for name in TRUTHS if name in sent})
        return replace(config, off=tuple(sent["off"].split())) if "off" in sent else config

    def _within_ms(self, header: str) -> int:
        return int(header) if header.isascii() and header.isdigit() and len(header) < 9 else self.config.prompt_ms
