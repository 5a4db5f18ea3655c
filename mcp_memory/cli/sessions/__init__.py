"""Commands for captured sessions: capture, extract, review."""
