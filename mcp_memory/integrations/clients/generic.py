"""Any other client: we don't know its configuration, but many clients read `AGENTS.md`."""

from pathlib import Path
from typing import ClassVar

from mcp_memory.integrations.clients.client import Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.marked_block import InstructionBlock


class GenericClient(Client):
    """Any other client, which gets a repository's `AGENTS.md`."""

    name: ClassVar = "generic"
    title: ClassVar = "any other client"
    scopes: ClassVar = ()

    def config_file(self, scope: Scope, where: ClientPaths) -> Path | None:  # noqa: ARG002 -- as the others
        return None

    def targets(self, scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:  # noqa: ARG002 -- as the others
        if scope == "user" or where.project is None:
            return []
        return [ConfigTarget(where.project / "AGENTS.md", (InstructionBlock(wire.instructions),))]
