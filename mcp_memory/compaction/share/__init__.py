"""Puts a topic into a folder of its own, for another vault or other people. The vault is only read."""
