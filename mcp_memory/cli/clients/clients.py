"""The commands of the group `clients`, for people. Clients themselves run `hook`, `headers` and `stdio`."""

import click

from mcp_memory.cli.clients.hooks import hooks
from mcp_memory.cli.clients.plugin import plugin
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.client.credentials import DEFAULT_CLIENT, PERSON, Credentials


@click.group(invoke_without_command=True)
@command_options
def clients(cli: CommandContext) -> None:
    """List the clients on this machine, and how each is connected. Exits with 0 if there is nothing to do, else 1.

    Checks versions, in which file a client is connected (by install, plugin or stdio), whether the daemon answers it,
    whether its hooks run and its agent may call the tools, and when it last did.

    \b
    mcp-memory clients
    mcp-memory clients hooks --sessions 3"""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        from mcp_memory.cli.clients.client_status import show_clients

        if not show_clients(cli):
            context.exit(1)


clients.add_command(hooks)
clients.add_command(plugin)


@clients.command()
@click.option("--client", default=DEFAULT_CLIENT, show_default=True, help="The client's name.")
@click.option("--rotate", is_flag=True, help="Make a new token and reject the old one; also readmits a revoked client.")
@click.option("--revoke", is_flag=True, help="Reject this client until you rotate its token.")
@command_options
def token(cli: CommandContext, client: str, rotate: bool, revoke: bool) -> None:
    """Print a client's bearer token, creating it on first use.

    \b
    mcp-memory clients token --client inspector"""
    state = cli.settings.state
    state.make()
    credentials = Credentials(state.tokens)
    if revoke:
        credentials.revoke(client)
        cli.show({"client": client, "revoked": True}, [f"{client}: revoked"])
        return
    value = credentials.rotate(client) if rotate else credentials.token(client)
    if client == PERSON:
        cli.show({"client": client, "rotated": True}, [f"{client}: rotated"])
    else:
        cli.show({"client": client, "token": value}, [value])
