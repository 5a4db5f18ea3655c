"""What starts early must start quickly."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "chunking.chunker",
        "conversation.conversation_chunks",
        "dates",
        "markdown.frontmatter",
        "markdown.links",
        "markdown.logs",
        "secrets.shapes",
        "tokens",
    ],
)
def test_no_third_party_package_is_imported(module: str):
    program = (
        f"import sys; before = set(sys.modules); import mcp_memory.text.{module}\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(names - set(sys.stdlib_module_names) - {'mcp_memory'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
