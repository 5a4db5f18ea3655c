"""Defines what can be asked about links."""

from dataclasses import dataclass

from mcp_memory.core.requests import TargetRequest


@dataclass(frozen=True, slots=True)
class LinksRequest(TargetRequest):
    """The links from a note and to it, over `depth` hops."""

    depth: int = 1


@dataclass(frozen=True, slots=True)
class LintRequest:
    """Links that lead nowhere or to what no longer counts. `fix`: repair them, with `personal` also in your notes."""

    fix: bool = False
    personal: bool = False
    orphans: bool = False
