"""Which language model reads sessions, what it was asked today and why it failed, for the doctor and the status."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import pytest

from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.summarizers.fallback import QuotaUsage
from tests.support.world import World

pytestmark = pytest.mark.anyio

CLAUDE = ExtractionConfig(reader="claude")


def spend(world: World, problem: str = "") -> None:
    usage = QuotaUsage(day=int(time.time() // 86_400), calls=3, tokens=24_100, problem=problem)
    world.state.mkdir(parents=True, exist_ok=True)
    (world.state / "reader.json").write_text(json.dumps(asdict(usage)))


async def test_without_a_reader_nothing_is_said(world: World) -> None:
    async with world.engine() as engine:
        assert not [each.what for each in await engine.doctor() if "sessions" in each.what]
        assert "reader" not in await engine.perform("status", {})


async def test_a_reader_and_its_costs_are_named(world: World) -> None:
    spend(world)
    async with world.engine(extraction=CLAUDE) as engine:
        (found,) = (each for each in await engine.doctor() if "reads your sessions" in each.what)
        assert (
            found.what == "claude reads your sessions, logs and notes; today 3 of 200 calls, 24,100 of 1,000,000 tokens"
        )
        assert found.severity == "info" and 'reader = "none"' in found.remedy
        reader = (await engine.perform("status", {}))["reader"]
        assert (reader["name"], reader["calls"], reader["tokens"]) == ("claude", 3, 24_100)


async def test_a_failure_is_a_warning(world: World) -> None:
    spend(world, "claude ended with exit code 1")
    async with world.engine(extraction=CLAUDE) as engine:
        (found,) = (each for each in await engine.doctor() if "read your sessions" in each.what)
        assert found.what == "claude can't read your sessions, logs and notes: claude ended with exit code 1"
        assert found.severity == "warning"
        assert (await engine.perform("status", {}))["reader"]["problem"] == "claude ended with exit code 1"
