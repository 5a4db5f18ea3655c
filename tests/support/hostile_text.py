"""Text that would steer a terminal."""

from __future__ import annotations

# Clears the screen, renames the window, hides what follows, turns text around, ends a line early, C1 controls.
EVIL = "\x1b[2J\x1b]0;owned\x07\u202egnihsif\u202c\u200b\x9b31m\r hidden\u2066 heron"
SIGNS = ["\x1b[2J", "\x1b]0;", "\x07", "\u202e", "\u202c", "\u200b", "\x9b", "\u2066"]
