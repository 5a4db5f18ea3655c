"""The standard-library client of a running daemon, and the stdio proxy for clients that can't speak HTTP.

No token is sent before the daemon has proved its identity.
"""
