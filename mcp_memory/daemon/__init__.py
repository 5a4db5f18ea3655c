"""Runs one process per vault: lock, socket, signals, log, and starting it from outside.

The lock and the socket come before any third-party import, so that many starts at once cost little. Keeps invariant 10:
a second daemon reports which daemon runs, and exits.
"""
