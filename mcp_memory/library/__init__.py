"""The library: memory for programs that import us, with a daemon or without one.

Imports daemon, settings, client, engine, text. Keeps invariant 10: what opens a vault holds its lock, or asks the
process that does. `mcp_memory` exports its names when they are asked for.
"""
