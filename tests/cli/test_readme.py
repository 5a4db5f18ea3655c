"""What the README and the first help try out from a shell finds what it stored, and is sure of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.place import CHECKOUT, Place, end

TRIED = re.compile(r'mcp-memory ((?:append|search|recall)(?: -k \w+)? "[^"]+"(?: --budget \d+)?)')


@pytest.fixture
def place(tmp_path: Path, model_cache: Path) -> Iterator[Place]:
    made = Place(tmp_path, model_cache).make()
    yield made
    end(made)


@pytest.mark.parametrize("source", ["README", "help"])
def test_what_was_stored_is_found_without_doubt(source: str, place: Place) -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8").partition("## Every day")[2]
    text = readme.partition("```sh\n")[2].partition("```")[0] if source == "README" else place.run("--help").ok().out
    append, *questions = map(shlex.split, TRIED.findall(text))
    assert append[0] == "append" and questions
    with place.started():
        place.run(*append).ok()
        for question in questions:
            ran = place.run(*question).ok()
            assert append[-1] in ran.out and "weak" not in ran.out + ran.err, (question, ran)
