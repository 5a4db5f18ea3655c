"""The caller: which client of which vault, as the options of `headers` and `stdio` say, and its way to the daemon.

Standard library only, and nothing that is slow to import: agents wait for it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mcp_memory import __version__
from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.client.credentials import Credentials
from mcp_memory.client.versions import is_newer
from mcp_memory.errors import InvalidInput, NotRunning
from mcp_memory.runtime.paths import DEFAULT_VAULT, vault_folder
from mcp_memory.settings.raw_settings import read_raw_settings
from mcp_memory.settings.state import StateFolder, was_served


def parse_options(program: str, usage: str, arguments: Sequence[str]) -> argparse.Namespace:
    """Ends the process for `--help` and for an argument that is wrong (exit code 2)."""
    # With no width argparse imports shutil, and with it three archive formats, to ask the terminal for one.
    layout = partial(argparse.RawDescriptionHelpFormatter, width=118)
    parser = argparse.ArgumentParser(prog=program, description=usage, formatter_class=layout)
    parser.add_argument("--client", default="default", help="the client's name; each has a token of its own")
    parser.add_argument("--project", help="sent as Mcp-Memory-Project; default: none")
    parser.add_argument("--vault", help="the vault's folder; default: the configured one")
    parser.add_argument("--config", type=Path, help="the configuration file")
    return parser.parse_args(arguments)


class ProxyOptions:
    """Raises ConfigInvalid for a configuration that names no vault."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        given = read_raw_settings(os.environ, {"vault"}, file=options.config, flags={"vault.path": options.vault})
        self._vault = Path(vault_folder(given.text("vault", "path", DEFAULT_VAULT)))
        self.state = StateFolder.for_vault(self._vault, os.environ)
        self.credentials = Credentials(self.state.tokens)

    def reach(self) -> None:
        """Returns once a daemon answers that need not be replaced; one is started if any has ever served this vault.

        Raises NotRunning where none has, DeadlineExceeded, and why it cannot be started.
        """
        if not self._is_served():
            from mcp_memory.daemon.launch import launch
            from mcp_memory.settings.settings import load

            options = self._options
            launch(load(os.environ, file=options.config, flags={"vault.path": options.vault}), [])

    def headers(self) -> dict[str, str]:
        """What this client sends with each request. Raises InvalidInput for a name that cannot be sent, Refused for a
        client that was revoked."""
        found = {"Authorization": f"Bearer {self.credentials.token(self._options.client)}"}
        if self._options.project:
            found["Mcp-Memory-Project"] = _header(self._options.project)
        return found

    def _is_served(self) -> bool:
        try:
            address = Address.read(self.state.daemon)
            DaemonConnection(address, self.credentials).verify()
        except NotRunning:
            if not (self.state.port.exists() or was_served(self._vault)):
                raise
            return False
        return not is_newer(__version__, than=address.version)


def _header(project: str) -> str:
    """A header holds ASCII only; the server decodes percent signs."""
    if not project.isprintable():
        raise InvalidInput("the project's name holds a control character", hint="use one line of plain text")
    import string
    from urllib.parse import quote

    return quote(project, safe=string.punctuation.replace("%", "") + " ")
