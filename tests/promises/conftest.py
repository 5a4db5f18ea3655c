from tests.engine.conftest import anyio_backend, toy_plugin, toy_world, world

__all__ = ["anyio_backend", "toy_plugin", "toy_world", "world"]
