"""Marks the fields of a configuration that nobody can set. Standard library only."""

from dataclasses import Field, field
from typing import Any, TypeVar

T = TypeVar("T")


def constant(value: T) -> T:
    """Define a field of a configuration that nobody can set, because nobody would. A test may pass another value."""
    return field(default=value, metadata={"constant": True})


def is_setting(config_field: Field[Any]) -> bool:
    """Return whether a field of a configuration can be set."""
    return "constant" not in config_field.metadata
