"""Settings: defaults, then a TOML file, then the environment, then flags; the last one wins.

Standard library only, because `headers` and `hook` wait for it: they read no more than they need (`given`, `state`).
Only composition roots (daemon, CLI, tests) read settings; each component gets its own frozen section.
`configs/default.toml` documents every key.
"""
