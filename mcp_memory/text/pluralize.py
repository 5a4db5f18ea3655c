"""Formats counts with the right plural: `1 note`, `3 notes`."""


def counted(number: int, one: str, many: str = "") -> str:
    """Format a count. `many` is the plural if it isn't `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
