"""Defines what can be asked about the code that notes name."""

from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class RefsRequest:
    """The code that notes, or the note or log entry `target`, name, as of the last check. `check`: look now. `confirm`:
    `target` is right as the code is now. `folder`: the repository of the `project`."""

    target: str | None = None
    _: KW_ONLY
    check: bool = False
    confirm: bool = False
    project: str | None = None
    folder: str | None = None
