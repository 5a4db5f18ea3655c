"""Every speed and size that mcp-memory promises, measured beside its floor in one run.

    python -m tests.benchmarks [--only NAME …] [--json]

`figures` are what comes out. `corpus` writes notes, `site` starts daemons and the bare server, `calls` times calls in
turns; the parts (`search`, `indexing`, `appending`, `footprint`, `shell`) put them together. Vaults, their indexes and
the vectors they were built with stay in a folder of the system's temporary one, so that a second run is quick.
"""
