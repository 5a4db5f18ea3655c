"""Represents conversations as turns, and as chunks of a readable size."""
