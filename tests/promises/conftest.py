from tests.daemon.conftest import place

__all__ = ["place"]
