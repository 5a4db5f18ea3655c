"""Storage back ends by name."""

from __future__ import annotations

from mcp_memory.registry import Registry

STORAGE = Registry(
    "storage",
    {
        "filesystem": "mcp_memory.storage.filesystem:FilesystemBackend",
        "memory": "mcp_memory.storage.memory:MemoryBackend",
    },
)
