"""Settings: defaults, then a TOML file, then the environment, then flags; the last one wins.

`raw_settings` and `state` use the standard library only, because `headers` and `hook` wait for them. Each component
gets its own frozen section; `configs/default.toml` documents every key.
"""
