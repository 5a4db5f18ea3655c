"""A served vault for the commands."""

from tests.cli.conftest import place, served

__all__ = ["place", "served"]
