"""Commands for captured sessions: capture, extract, audit, review."""
