"""The client: how our own programs find a running daemon and talk to it, and how others do over stdio. Standard library
only.

Imports models and errors. Never sends a token before the daemon has proved who it is.
"""
