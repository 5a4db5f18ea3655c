"""Finds preferences, decisions, promises and lessons in the messages of people and agents. Pure."""
