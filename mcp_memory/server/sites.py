"""Passes requests below a site's path to the site, and all others on."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass(frozen=True)
class Sites:
    """The ASGI middleware between the guard and everything that agents call. `by_path`: a path → the app for browsers
    at and below it."""

    app: ASGIApp
    by_path: Mapping[str, ASGIApp]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = site_of(scope, self.by_path) if scope["type"] == "http" else None
        app = self.app if path is None else self.by_path[path]
        await app(scope, receive, send)


def site_of(scope: Scope, paths: Mapping[str, object] | frozenset[str]) -> str | None:
    """Return the path of the site that a request is for; None if it is for none."""
    return next((path for path in paths if f"{scope['path']}/".startswith(f"{path}/")), None)
