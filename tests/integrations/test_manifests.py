"""server.json and the bundle: generated, within what the registry and the apps accept, and true."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import jsonschema
import pytest
from packaging.utils import canonicalize_name

from mcp_memory import __version__
from tests.integrations.manifests import CHECKOUT, COMMAND, PROJECT, REGISTRY_NAME, manifests, tools

ARGUMENT = {
    "type": "object",
    "required": ["type"],
    "oneOf": [
        {"properties": {"type": {"const": "positional"}}, "required": ["value"]},
        {"properties": {"type": {"const": "named"}, "name": {"pattern": "^--"}}, "required": ["name"]},
    ],
}
PACKAGE = {
    "type": "object",
    "required": ["registryType", "identifier", "version", "transport"],
    "properties": {
        "version": {"pattern": r"^\d+\.\d+\.\d+$"},
        "transport": {"properties": {"type": {"enum": ["stdio", "streamable-http", "sse"]}}, "required": ["type"]},
        "packageArguments": {"items": ARGUMENT},
        "environmentVariables": {"items": {"required": ["name"]}},
    },
}
SERVER = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "properties": {
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "maxLength": 200},
        "title": {"minLength": 1, "maxLength": 100},
        "description": {"minLength": 1, "maxLength": 100},
        "packages": {"minItems": 1, "items": PACKAGE},
    },
}
"""What the registry's format of 2025-12-11 says of the fields that we use."""


def test_the_files_are_what_is_generated() -> None:
    """Made anew by `python -m tests.integrations.manifests`."""
    found = {name: (CHECKOUT / name).read_text(encoding="utf-8") for name in manifests()}
    assert found == manifests()
    assert {path.name for path in (CHECKOUT / "configs/mcpb").iterdir()} == {
        "manifest.json",
        "pyproject.toml",
        "server.py",
    }


def test_the_registry_accepts_the_server() -> None:
    server = _json("configs/server.json")
    jsonschema.Draft7Validator(SERVER).validate(server)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SERVER).validate({**server, "description": "x" * 101})
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"mcp-name: {re.escape(REGISTRY_NAME)}(?![\w./-])", readme), "the registry looks for it on PyPI"


def test_one_name_and_one_version_everywhere() -> None:
    assert PROJECT["version"] == __version__
    assert PROJECT["scripts"][PROJECT["name"]] == PROJECT["scripts"][COMMAND], "what uvx and pipx run call"
    assert canonicalize_name(PROJECT["name"]) == PROJECT["name"] == REGISTRY_NAME.partition("/")[2]
    (package,) = _json("configs/server.json")["packages"]
    bundled = tomllib.loads((CHECKOUT / "configs/mcpb/pyproject.toml").read_text())["project"]
    assert bundled["dependencies"] == [f"{package['identifier']}=={package['version']}"]


def test_the_bundle_names_every_tool() -> None:
    named = {tool["name"]: tool["description"] for tool in _json("configs/mcpb/manifest.json")["tools"]}
    assert named == dict(tools()) and list(named) == [
        "memory_search",
        "memory_recall",
        "memory_append",
        "memory_forget",
    ]
    assert all(named.values())


def _json(name: str) -> Any:
    return json.loads((CHECKOUT / name).read_text(encoding="utf-8"))
