"""Modules that a command of an agent's start must not import."""

from __future__ import annotations

SLOW = {
    "dataclasses", "difflib", "email", "http.client", "importlib.metadata", "inspect", "secrets", "shutil", "ssl",
    "tempfile", "threading", "tomllib", "mcp_memory.vault.config", "mcp_memory.models", "mcp_memory.settings.settings",
}  # fmt: skip
"""Modules that take milliseconds each, and that a client with a token has no need of."""
