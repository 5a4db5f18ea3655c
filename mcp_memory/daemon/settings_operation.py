"""Answers requests about the settings, which only the process around the engine knows."""

from dataclasses import asdict, dataclass

from mcp_memory.core.core import Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.settings import settings_file
from mcp_memory.settings.settings import Settings


@dataclass(frozen=True)
class SettingsRequest:
    """The settings, their meanings and values; with a `key`, such as `hooks.enabled`, its new `value` instead."""

    key: str = ""
    value: str = ""


def settings_operation(running: Settings) -> Operation:
    def work(request: SettingsRequest) -> Payload:
        section, _, key = request.key.rpartition(".")
        if key:
            settings_file.change(running, section, key, request.value)
        listed = [asdict(one) for one in settings_file.explain(running)]
        return {"file": str(settings_file.file_of(running)), "settings": listed}

    async def answer(request: SettingsRequest) -> Payload:
        return await in_thread(work, request, deadline_s=LOOK_DEADLINE_S, what="looking at the settings")

    return Operation(SettingsRequest, answer)
