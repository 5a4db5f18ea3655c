"""A summarizer by its name, and what may be imported before one is wanted."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from mcp_memory.errors import ConfigInvalid
from mcp_memory.summarizers.base import SUMMARIZERS, open_summarizer
from mcp_memory.summarizers.config import SummarizerConfig


def test_the_default_needs_nothing(tmp_path: Path, request_of_notes):
    summarizer = open_summarizer(SummarizerConfig(), tmp_path / "spent.json")
    assert summarizer.name == "extractive" and not summarizer.summarize(request_of_notes).provisional
    summarizer.close()
    assert list(tmp_path.iterdir()) == []


def test_the_names_are_known_and_others_are_not(tmp_path: Path):
    assert SUMMARIZERS.names() == ["claude", "codex", "extractive", "gemini", "openai"]
    with pytest.raises(ConfigInvalid, match=r"'magic'.*claude, codex, extractive, gemini, openai"):
        open_summarizer(SummarizerConfig(provider="magic"), tmp_path / "spent.json")


@pytest.mark.parametrize("module", ["config", "base"])
def test_nothing_heavy_is_imported_before_it_is_wanted(module: str):
    program = (
        f"import sys; before = set(sys.modules); import mcp_memory.summarizers.{module}\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(names - set(sys.stdlib_module_names) - {'mcp_memory'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_prompts_travel_with_the_package():
    names = {entry.name for entry in (files("mcp_memory.summarizers") / "prompts").iterdir()}
    forms = ("list_form", "page_form")
    assert names == {
        f"{name}.md" for name in ("rules", "notes", "topics", "broader", "fresh", "update", "terse", "lines", *forms)
    }
