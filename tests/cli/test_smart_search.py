"""`search --smart`: a language model chooses words and filters, which are shown; without one, the search says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.support.stub_endpoint import StubEndpoint, serving

QUESTION = "that trouble with the heron feeder which we repaired, you know"


def completion(text: str) -> tuple[int, Any, dict[str, str]]:
    return 200, {"choices": [{"message": {"role": "assistant", "content": text}}]}, {}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[StubEndpoint]:
    with serving(lambda _: completion("I can't help with that.")) as made:
        yield made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, endpoint: StubEndpoint) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("smart")
    model = {f"MCP_MEMORY_SUMMARIZER_{name}": value for name, value in (
        ("PROVIDER", "openai"), ("ENDPOINT", endpoint.address), ("MODEL", "stub"),
    )}  # fmt: skip
    made = Place(root, root / "models", {**KEYWORDS_ONLY, **model}).make()
    with made.started():
        made.run("append", "-k", "fix", "The heron feeder jammed, and a new auger mended it.").ok()
        made.run("append", "-k", "fact", "The heron feeder is green.").ok()
        yield made


def found(place: Place, *options: str) -> list[str]:
    return [hit["kind"] for hit in place.run("search", "--smart", "--json", *options, QUESTION).ok().json["hits"]]


def test_the_model_chooses_words_and_filters_and_they_are_shown(place: Place, endpoint: StubEndpoint) -> None:
    answer = {"query": "heron feeder jammed", "kinds": ["fix", "secret"], "since": "last year", "project": "nowhere"}
    endpoint.script += [completion(f"Sure:\n```json\n{json.dumps(answer)}\n```")] * 3
    ran = place.run("search", "--smart", QUESTION).ok()
    assert "auger" in ran.out and "green" not in ran.out
    assert "stub chose query: heron feeder jammed; kinds: ['fix']\n" in ran.err
    asked = "\n".join(message["content"] for message in endpoint.requests[-1]["messages"])
    assert QUESTION in asked and "auger" not in asked, "it gets no notes"
    assert found(place) == ["fix"]
    assert found(place, "-k", "fact") == ["fact"], "what you pass counts"


def test_an_answer_of_another_form_changes_nothing(place: Place) -> None:
    ran = place.run("search", "--smart", QUESTION).ok()
    assert "stub answered in another form, so --smart changes nothing" in ran.err
    assert "auger" in ran.out and "green" in ran.out


def test_without_a_model_the_search_says_so(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()
    with place.started():
        place.run("append", "-k", "fact", "The heron feeder is green.").ok()
        ran = place.run("search", "--smart", QUESTION).ok()
        assert "no language model is configured" in ran.err and "green" in ran.out
        assert "no language model" in place.run("search", "--smart", "--json", QUESTION).ok().json["smart"]
