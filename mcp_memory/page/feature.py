"""Serves a web page to a person's browser, below the path `/ui` of the daemon."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.client.credentials import Credentials
from mcp_memory.core.core import Core, Feature, Operation, Perform
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import NotRunning
from mcp_memory.page.activity import ActivityRequest, activity
from mcp_memory.page.link_file import LinkFiles
from mcp_memory.page.sign_in import LINK_S, ROOT, SignIn
from mcp_memory.runtime.threads import in_thread

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass(frozen=True)
class PageLinkRequest:
    """A link that signs a browser in once. `server`: the URL of the daemon, to get a private file that leads there."""

    server: str = ""


def build(core: Core) -> Feature:
    page = Page(core)
    return Feature(
        operations={
            "page_link": Operation(PageLinkRequest, page.link),
            "activity": Operation(ActivityRequest, partial(activity, core)),
        },
        sites={ROOT: page.serve},
        prepare=page.files.remove_all,
        close=page.files.remove_all,
    )


class Page:
    """The page of one vault. The modules that answer browsers are imported with the first request, so that a page that
    nobody opens costs nothing."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.files = LinkFiles(core.config.state / "links")
        self._perform: Perform | None = None
        self._sign_in: SignIn | None = None
        self._app: ASGIApp | None = None

    async def link(self, request: PageLinkRequest) -> Payload:
        """Return the path of a new link, and the file that leads there. Raises NotRunning if no daemon serves the page,
        StorageFailed."""
        if self._sign_in is None:
            raise NotRunning("no daemon serves the page", hint="mcp-memory start")
        path = self._sign_in.make_link()
        if not request.server:
            return {"path": path, "file": None}
        file = await in_thread(self.files.write, request.server + path, what="writing the link")
        asyncio.get_running_loop().call_later(LINK_S, self.files.remove, path)
        return {"path": path, "file": str(file)}

    def serve(self, perform: Perform, credentials: Credentials) -> ASGIApp:
        self._perform, self._sign_in = perform, SignIn(credentials)
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = await in_thread(self._make, what="importing the page")
        await self._app(scope, receive, send)

    def _make(self) -> ASGIApp:
        from mcp_memory.page.site import Site

        assert self._perform and self._sign_in
        return Site(self._core, self._perform, self._sign_in, self.files)
