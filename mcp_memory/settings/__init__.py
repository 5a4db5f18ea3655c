"""Settings: defaults, then a TOML file, then the environment, then flags; the last one wins.

Standard library only, because `headers` and `hook` wait for it. Only composition roots read settings; each component
gets its own frozen section. `configs/default.toml` documents every key.
"""
