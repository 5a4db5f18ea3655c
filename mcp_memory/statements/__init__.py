"""Finds preferences, decisions, promises and lessons in what people and agents said. Pure."""
