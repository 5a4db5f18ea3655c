"""Finds the address where clients reach a vault's daemon, whether it runs or not."""

from mcp_memory.client.connection import Address
from mcp_memory.daemon.listen import kept_port
from mcp_memory.daemon.serve import LOOPBACK_OF
from mcp_memory.errors import NotRunning
from mcp_memory.settings.settings import PREFERRED_PORT, Settings


def address_of(settings: Settings) -> str | None:
    """Return the URL of this vault's daemon, even while it is down; None before its first start."""
    try:
        return Address.read(settings.state.daemon).url
    except NotRunning:
        port = settings.daemon.port or kept_port(settings.state)
        return _url(settings, port) if port else None


def expected_url(settings: Settings) -> str:
    """Return the URL of this vault's daemon, or the URL that it will try first."""
    return address_of(settings) or _url(settings, PREFERRED_PORT)


def _url(settings: Settings, port: int) -> str:
    host = LOOPBACK_OF.get(settings.daemon.host, settings.daemon.host)
    return Address(host, port, "", 0, "", "").url
