"""Names the places below the folder of all topics: the folder of fresh notes, and the numbered folders of topics."""

import re
from collections.abc import Iterable, Iterator

FRESH = "_fresh"

_NUMBERED = re.compile(r"([0-9]{2,6})-[^/]+")


def next_number(names: Iterable[str]) -> int:
    """Return the next free number among the folders of a parent."""
    return max((int(match[1]) for name in names if (match := _NUMBERED.fullmatch(name))), default=0) + 1


def is_topic_name(name: str) -> bool:
    return bool(_NUMBERED.fullmatch(name))


def age_key(path: str) -> tuple[str, int, str]:
    """Return a key that sorts notes by age: within `_fresh/` by number, so that 1000 comes after 999."""
    folder, _, name = path.rpartition("/")
    number = name.partition("-")[0]
    return folder, int(number) if number.isascii() and number.isdigit() else 0, name


def upwards(folder: str) -> Iterator[str]:
    """Yield the folder and its parents, without the top."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
