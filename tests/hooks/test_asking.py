"""A prompt's hook passes on from which likelihood notes are shown without asking the person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_memory.hooks.briefing_answers import answer_prompt
from mcp_memory.hooks.hook_call import HookCall
from mcp_memory.hooks.hook_input import HookInput
from mcp_memory.settings.settings import HooksConfig


@pytest.mark.anyio
@pytest.mark.parametrize("config", [HooksConfig(), HooksConfig(ask_below=0.5)])
async def test_the_setting_reaches_the_prompt_and_is_off_by_default(config: HooksConfig):
    asked: list[dict[str, Any]] = []

    async def perform(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked.append(arguments)
        return {"text": "", "degraded": None}

    async def nothing(*_: object) -> None:
        return None

    given = HookInput(json.dumps({"session_id": "s", "prompt": "which colour has the sky?"}).encode())
    await answer_prompt(HookCall("prompt", "codex", given, 1000, {}, perform, nothing, nothing, config))
    assert [arguments["ask_below"] for arguments in asked] == [config.ask_below]
