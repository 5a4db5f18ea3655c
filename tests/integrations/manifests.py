"""The manifests for the MCP registry and for apps that install bundles, made from pyproject.toml and the tools.

`python -m tests.integrations.manifests` writes them into `configs/`.
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
REGISTRY_NAME: str = PYPROJECT["tool"]["mcp-memory"]["registry-name"]
COMMAND = "mcp-memory"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
"""The newest format of server.json that the registry has published."""

ENTRY_POINT = '''"""What an app runs that installs this bundle: passes messages to the daemon, which it starts."""

import sys

from mcp_memory.cli import main

sys.argv = ["mcp-memory", "stdio", "--create", *sys.argv[1:]]
main()
'''


def manifests() -> dict[str, str]:
    """Path in the checkout → text."""
    return {
        "configs/server.json": _json(_server()),
        "configs/mcpb/manifest.json": _json(_bundle()),
        "configs/mcpb/pyproject.toml": _bundle_project(),
        "configs/mcpb/server.py": ENTRY_POINT,
    }


def _server() -> dict[str, Any]:
    """The entry of the MCP registry: what a client runs is `uvx mcp-memory-vault@VERSION stdio --create …`."""
    arguments = [
        {"type": "positional", "value": "stdio"},
        {"type": "positional", "value": "--create"},
        {"type": "named", "name": "--client", "description": "A name for this client", "default": "registry"},
    ]
    vault = {
        "name": "MCP_MEMORY_VAULT",
        "description": "The folder of the notes; made if it is missing",
        "format": "filepath",
        "default": "~/memory",
    }
    package = {
        "registryType": "pypi",
        "identifier": PROJECT["name"],
        "version": PROJECT["version"],
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": arguments,
        "environmentVariables": [vault],
    }
    return {
        "$schema": SCHEMA,
        "name": REGISTRY_NAME,
        "title": COMMAND,
        "description": PROJECT["description"],
        "version": PROJECT["version"],
        "packages": [package],
    }


def _bundle() -> dict[str, Any]:
    """The manifest of the bundle: the app brings uv, which fetches Python and what `pyproject.toml` beside it names."""
    vault = {
        "type": "directory",
        "title": "Vault",
        "description": "The folder of the notes; made if it is missing",
        "default": "${HOME}/memory",
        "required": True,
    }
    run = ["run", "--directory", "${__dirname}", "server.py", "--client", "desktop", "--vault", "${user_config.vault}"]
    return {
        "manifest_version": "0.4",
        "name": PROJECT["name"],
        "display_name": COMMAND,
        "version": PROJECT["version"],
        "description": PROJECT["description"],
        "author": {"name": COMMAND},
        "license": PROJECT["license"],
        "keywords": PROJECT["keywords"],
        "server": {"type": "uv", "entry_point": "server.py", "mcp_config": {"command": "uv", "args": run}},
        "tools": [{"name": name, "description": what} for name, what in tools()],
        "user_config": {"vault": vault},
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": PROJECT["requires-python"]}},
    }


def _bundle_project() -> str:
    return (
        f'[project]\nname = "{PROJECT["name"]}-bundle"\nversion = "{PROJECT["version"]}"\n'
        f'requires-python = "{PROJECT["requires-python"]}"\n'
        f'dependencies = ["{PROJECT["name"]}=={PROJECT["version"]}"]\n'
    )


def tools() -> Iterator[tuple[str, str]]:
    """Each tool and the first sentence of what agents are told of it."""
    source = (CHECKOUT / "mcp_memory/server/tools.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("memory_"):
            yield node.name, " ".join((ast.get_docstring(node) or "").split()).partition(". ")[0]


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    for name, text in manifests().items():
        (CHECKOUT / name).parent.mkdir(parents=True, exist_ok=True)
        (CHECKOUT / name).write_text(text, encoding="utf-8")
