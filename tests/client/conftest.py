"""A vault served by a daemon that knows keywords only, and one that nobody serves."""

from __future__ import annotations

from tests.cli.conftest import served
from tests.daemon.conftest import place

__all__ = ["place", "served"]
