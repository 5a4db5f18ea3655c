"""A language model decides about numbered lines; what it doesn't decide validly is left to rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.core.line_reader import LineReader
from mcp_memory.summarizers.base import open_summarizer
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.numbered_lines import Finding, LineTask, SourceLine
from tests.support.stub_endpoint import StubEndpoint, serving

pytestmark = pytest.mark.anyio

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def check(item: Mapping[str, Any], line: SourceLine) -> Finding:
    if item.get("name", "") not in line.text:
        raise ValueError("name")
    return {"name": item["name"]} if "name" in item else {}


TASK = LineTask("names", "Name what each line is about.", ["replaces"], check)
OLD = SourceLine("n1", "The depot is in Lyon.", "2026-05-01")
NEW = SourceLine("n2", f"The depot is in Metz; the key is {TOKEN}.", "2026-06-01")
LINES = [OLD, NEW]


class Answers:
    """Answers of the endpoint; the last is repeated."""

    def __init__(self, *items: object) -> None:
        self.texts = [one if isinstance(one, str) else json.dumps({"lines": one}) for one in items]

    def __call__(self, _: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        return 200, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}, {}


@pytest.fixture
def answers() -> Answers:
    return Answers([])


@pytest.fixture
def endpoint(answers: Answers) -> Iterator[StubEndpoint]:
    with serving(answers) as served:
        yield served


def opened(endpoint: StubEndpoint, state: Path, **settings: Any) -> LineReader:
    config = SummarizerConfig(provider="openai", endpoint=endpoint.address, model="small", **settings)
    reader = LineReader(config, state / "read-lines.jsonl")
    reader.model = open_summarizer(config, state / "reader.json")
    return reader


async def test_a_model_sees_numbered_lines_and_refers_to_them(tmp_path: Path, endpoint: StubEndpoint, answers: Answers):
    given = json.dumps({"lines": [{"line": 2, "name": "Metz", "replaces": [1]}]})
    answers.texts = [f"Sure:\n```json\n{given}\n```"]
    reader = opened(endpoint, tmp_path)
    await reader.read(TASK, LINES)
    assert reader.findings(TASK) == {OLD.key: {}, NEW.key: {"name": "Metz", "replaces": [OLD.key]}}
    asked = "\n".join(message["content"] for message in endpoint.requests[0]["messages"])
    assert "[1] 2026-05-01: The depot is in Lyon.\n[2] 2026-06-01: The depot is in Metz" in asked
    assert TASK.instructions in asked and TOKEN not in asked


@pytest.mark.parametrize(
    "item",
    [
        {"line": 3, "name": "Metz"},
        {"line": 0, "name": "Metz"},
        {"line": "2", "name": "Metz"},
        {"line": True, "name": ""},
        {"line": 2, "name": "Paris"},
        {"line": 2, "name": "Metz", "replaces": [2]},
        {"line": 2, "name": "Metz", "replaces": [3]},
        {"line": 2, "name": "Metz", "replaces": ["1"]},
        {"line": 2, "name": "Metz", "replaces": 1},
        "2",
    ],
)
async def test_an_invalid_item_says_nothing(tmp_path: Path, endpoint: StubEndpoint, answers: Answers, item: object):
    answers.texts = [json.dumps({"lines": [item]})]
    reader = opened(endpoint, tmp_path)
    await reader.read(TASK, LINES)
    assert reader.findings(TASK) == {OLD.key: {}, NEW.key: {}}


async def test_an_unchanged_line_is_never_asked_about_again(tmp_path: Path, endpoint: StubEndpoint):
    await opened(endpoint, tmp_path).read(TASK, LINES)
    again, changed = opened(endpoint, tmp_path), SourceLine("n2", "The depot is in Nancy.", "2026-07-01")
    await again.read(TASK, LINES)
    assert len(endpoint.requests) == 1
    await again.read(TASK, [OLD, changed], earlier=lambda batch: [OLD] if batch == [changed] else [])
    asked = endpoint.requests[1]["messages"][-1]["content"]
    assert "[1] 2026-05-01: The depot is in Lyon.\n[2] 2026-07-01: The depot is in Nancy." in asked


async def test_a_killed_run_asks_only_for_what_is_missing(tmp_path: Path, endpoint: StubEndpoint):
    many = [SourceLine("n3", f"Parcel {number} is late.") for number in range(100)]
    endpoint.script = [Answers([]), (500, {}, {})]
    await opened(endpoint, tmp_path, back_off_s=0.0).read(TASK, many)
    await opened(endpoint, tmp_path, back_off_s=0.0).read(TASK, many)
    first, *others = [request["messages"][-1]["content"] for request in endpoint.requests]
    assert "Parcel 0 is" in first and "Parcel 99 is" in others[-1] and not any("Parcel 0 is" in one for one in others)


@pytest.mark.parametrize("answer", ["", "No.", "[1]", '{"lines": {}}', "[" * 100_000])
async def test_after_an_answer_of_another_form_the_next_run_asks_again(
    tmp_path: Path, endpoint: StubEndpoint, answers: Answers, answer: str
):
    answers.texts = [answer]
    reader = opened(endpoint, tmp_path)
    many = [SourceLine("n3", f"Parcel {number} is late.") for number in range(100)]
    for _ in range(2):
        await reader.read(TASK, many)
    assert len(endpoint.requests) == 2 and reader.unusable == 2 and reader.findings(TASK) == {}


async def test_nothing_is_asked_beyond_the_limit_of_the_day(tmp_path: Path, endpoint: StubEndpoint):
    await opened(endpoint, tmp_path, calls_a_day=0).read(TASK, LINES)
    assert endpoint.requests == []


async def test_without_a_model_nothing_is_found(tmp_path: Path, endpoint: StubEndpoint):
    await opened(endpoint, tmp_path).read(TASK, LINES)
    reader = LineReader(SummarizerConfig(), tmp_path / "read-lines.jsonl")
    await reader.read(TASK, [SourceLine("n9", "New.")])
    assert reader.findings(TASK) == {} and len(endpoint.requests) == 1


async def test_what_was_found_in_an_erased_note_is_erased(tmp_path: Path, endpoint: StubEndpoint):
    reader = opened(endpoint, tmp_path)
    await reader.read(TASK, LINES)
    reader.erase("n2", "memory/2026-05-01.md#")
    assert reader.findings(TASK) == {OLD.key: {}}
