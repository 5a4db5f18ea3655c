from tests.daemon.conftest import place
from tests.engine.conftest import anyio_backend, toy_plugin, toy_world, world

__all__ = ["anyio_backend", "place", "toy_plugin", "toy_world", "world"]
