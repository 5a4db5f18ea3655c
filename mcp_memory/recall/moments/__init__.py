"""Advice for an agent as it acts: an order or lesson that names what it touches, or the fix of its error."""

import tomllib
from pathlib import Path

WORDS: dict[str, str] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
WORD_SETS = {name: frozenset(words.split()) for name, words in WORDS.items()}
