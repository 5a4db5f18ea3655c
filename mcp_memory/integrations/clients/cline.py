"""Cline: one file for its editor extensions and its command line (as version 3.0.65 reads it)."""

from typing import ClassVar

from mcp_memory.integrations.clients.client import TOOLS
from mcp_memory.integrations.clients.stdio_client import StdioClient


class Cline(StdioClient):
    """`autoApprove` counts in the editors; the command line asks for nothing by default."""

    name: ClassVar = "cline"
    title: ClassVar = "Cline"
    program: ClassVar = "cline"
    tolerates: ClassVar = ""
    home: ClassVar = ".cline"
    home_variable: ClassVar = "CLINE_DIR"
    file: ClassVar = "data/settings/cline_mcp_settings.json"
    more: ClassVar = {"autoApprove": list(TOOLS)}
    permission: ClassVar = '"autoApprove" in its entry'
    rules: ClassVar = "rules/mcp-memory.md"
