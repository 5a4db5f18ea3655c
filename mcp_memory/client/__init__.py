"""Standard-library client of a running daemon, and the stdio proxy for clients that can't speak HTTP.

Never sends a token before the daemon has proved who it is.
"""
