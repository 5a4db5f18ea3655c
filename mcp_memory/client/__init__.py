"""The client: how our own programs find a running daemon and talk to it. Standard library only.

Imports models and errors. Never sends a token before the daemon has proved who it is.
"""
