"""The pinned programs, stubbed models, and a machine with a running daemon for each file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.machine import Machine, serving
from tests.clients.programs import Programs, locate
from tests.clients.stubs import AnthropicStub, GeminiStub, OpenAIStub

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and "programs" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.clients)


@pytest.fixture(scope="session")
def programs() -> Programs:
    return locate(os.environ)


@pytest.fixture(scope="module")
def served(programs: Programs, model_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which `mcp-memory serve` is running, for the tests of one file."""
    machine = Machine.make(tmp_path_factory.mktemp("machine") / "home", programs)
    with serving(machine, MCP_MEMORY_MODELS=str(model_cache)):
        yield machine


@pytest.fixture
def anthropic(tmp_path: Path) -> Iterator[AnthropicStub]:
    with AnthropicStub(tmp_path / "anthropic.jsonl") as stub:
        yield stub


@pytest.fixture
def openai(tmp_path: Path) -> Iterator[OpenAIStub]:
    with OpenAIStub(tmp_path / "openai.jsonl") as stub:
        yield stub


@pytest.fixture
def gemini(tmp_path: Path) -> Iterator[GeminiStub]:
    with GeminiStub(tmp_path / "gemini.jsonl") as stub:
        yield stub
