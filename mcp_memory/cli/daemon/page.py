"""The command that opens the page in a browser."""

import webbrowser
from pathlib import Path

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.daemon.running import start_daemon
from mcp_memory.errors import Refused


@click.command("open")
@flag("--print", "only_print", help="Print the link instead of opening it.")
@command_options
def open_(cli: CommandContext, only_print: bool) -> None:
    """Open your memory in a browser: what is due, what waits for you, what changed, each with its undo.

    The link works once, on this machine, for two minutes. The browser then stays signed in for 30 days, or until
    mcp-memory clients token --rotate.

    \b
    mcp-memory open
    mcp-memory open --print"""
    connection = start_daemon(cli.settings)[0]
    if connection.address.uds:
        hint = "remove daemon.uds from the configuration, then: mcp-memory restart"
        raise Refused("a browser can't reach a Unix socket", hint=hint)
    server = f"http://{connection.address.authority}"
    opens = not (only_print or cli.as_json)
    link = connection.call("page_link", {"server": server if opens else ""})
    url = server + link["path"]
    is_opened = opens and webbrowser.open(Path(link["file"]).as_uri())
    lines = ["opened in your browser; if it shows nothing: mcp-memory open --print"] if is_opened else [url]
    cli.show({"url": url, "opened": is_opened}, lines)
