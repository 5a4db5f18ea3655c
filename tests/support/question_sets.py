"""How far a figure of a question set may be off."""

from __future__ import annotations

ROOM = 2
"""Prompts."""
