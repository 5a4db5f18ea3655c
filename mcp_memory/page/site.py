"""Answers browsers: checks who asks, finds the view or action, and adds the headers that each answer has."""

import logging
import os
from collections.abc import AsyncGenerator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from mcp_memory import __version__
from mcp_memory.core.core import Core, Perform
from mcp_memory.errors import McpMemoryError
from mcp_memory.page.actions import ACTIONS
from mcp_memory.page.link_file import LinkFiles
from mcp_memory.page.peer import user_at
from mcp_memory.page.sign_in import COOKIE_S, ENTRY, ROOT, SignIn
from mcp_memory.page.templates import Templates
from mcp_memory.page.view import Action, Flash, Instead, View, Visit
from mcp_memory.page.views import VIEWS
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.text.text_hash import text_hash

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, a browser would send the origin `null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOST_STREAMS = 8
"""The most browser windows that are kept up to date at once; a further one shows what it loaded."""
LOOK_S, BEAT_S = 1, 15
"""How often a stream looks for changes, and the longest silence, after which a browser that is gone is noticed."""
SIGNED_OUT = "You're signed out on this page."

log = logging.getLogger(__name__)


class Site:
    """The ASGI app at and below `ROOT`."""

    def __init__(self, core: Core, perform: Perform, sign_in: SignIn, link_files: LinkFiles) -> None:
        self._core, self._perform, self._sign_in, self._link_files = core, perform, sign_in, link_files
        files = [file for file in Path(__file__).with_name("static").iterdir() if file.suffix in KINDS]
        self._files = {file.name: file.read_bytes() for file in files}
        self._views: Mapping[str, View] = {view.name: view for view in VIEWS}
        self._actions: Mapping[str, Action] = {**ACTIONS, **{k: v for view in VIEWS for k, v in view.actions.items()}}
        release = text_hash(repr(sorted(self._files.items())), 8)
        self._templates = Templates(root=ROOT, views=VIEWS, version=__version__, release=release)
        self._flashes = dict[str, Flash]()
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except McpMemoryError as error:
            response = self._page("message", request, 400, heading="That didn't work", text=_in_words(error))
        except Exception:
            log.exception("a bug in the page")
            text = "A bug in mcp-memory; see the daemon's log."
            response = self._page("message", request, 500, heading="That didn't work", text=text)
        for name, value in HEADERS.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        first, _, rest = request.url.path.removeprefix(ROOT).strip("/").partition("/")
        if first == "static" and rest in self._files:
            kind = KINDS[Path(rest).suffix]
            return Response(self._files[rest], media_type=kind, headers={"Cache-Control": "max-age=31536000"})
        if request.url.path == ENTRY and request.method == "GET":
            return await in_thread(self._enter, request, deadline_s=LOOK_DEADLINE_S, what="signing in")
        cookie = self._cookie(request)
        if cookie is None:
            text = "To open this page, type: mcp-memory open"
            return self._page("message", request, 403, heading=SIGNED_OUT, text=text)
        zone = self._core.vault.layout.tz
        visit = Visit(request, self._perform, self._core.clock().astimezone(zone))
        if first == "do" and request.method == "POST":
            return await self._act(visit, rest, cookie)
        if first == "live":
            return self._live(cookie)
        view = self._views.get(first) if first else VIEWS[0]
        if view is None or rest or request.method not in {"GET", "HEAD"}:
            text = f"There is nothing at {request.url.path}."
            return self._page("message", request, 404, heading="No such page", text=text)
        return await self._show(visit, view, cookie)

    async def _show(self, visit: Visit, view: View, cookie: str) -> Response:
        found = await view.show(visit)
        if isinstance(found, Response):
            return found
        flash = self._flashes.pop(cookie, None)
        token = self._sign_in.form_token(cookie)
        response = self._page(view.name, visit.request, 200, view=view, flash=flash, token=token, **found)
        for name, value in visit.cookies.items():
            self._set_cookie(response, name, value)
        return response

    async def _act(self, visit: Visit, name: str, cookie: str) -> Response:
        """Do what a form of ours asks for, and lead back to the page that it was on."""
        request = visit.request
        body = await request.body()
        visit.form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        is_ours = self._sign_in.is_own_form(cookie, visit.sent("token"))
        if request.headers.get("sec-fetch-site") != "same-origin" or not is_ours:
            text = "This form isn't from the page that you have open. Reload it, and try again."
            return self._page("message", request, 403, heading="Nothing was done", text=text)
        if name == "sign-out":
            await in_thread(self._sign_in.end_all, deadline_s=LOOK_DEADLINE_S, what="signing out")
            return RedirectResponse(ROOT, 303)
        if name not in self._actions:
            return self._page("message", request, 404, heading="Nothing was done", text=f"There is no action {name}.")
        try:
            done = await self._actions[name].answer(visit)
        except McpMemoryError as error:
            done = Flash(_in_words(error), is_error=True)
        if isinstance(done, Instead):
            values = {"view": self._views[done.view], "token": visit.sent("token"), "here": done.here, **done.values}
            return self._page(done.view, request, 409, **values)
        self._flashes[cookie] = done
        return RedirectResponse(_local(visit.sent("next")), 303)

    def _enter(self, request: Request) -> Response:
        """Turn a link's key into a cookie. The page leads on by itself, since a browser sends a strict cookie only from
        a page of ours."""
        key = request.query_params.get("key", "")
        cookie = self._sign_in.redeem(key) if _is_own(request) else None
        if cookie is None:
            text = "A link works once, on this machine, for two minutes. For another one, type: mcp-memory open"
            return self._page("message", request, 403, heading="This link no longer works", text=text)
        self._link_files.remove(request.url.query)
        response = self._page("enter", request, 200)
        self._set_cookie(response, _cookie_name(request), cookie)
        return response

    def _live(self, cookie: str) -> Response:
        if self._streams >= MOST_STREAMS:
            return Response("too many windows are open", 503)
        return StreamingResponse(self._events(cookie), media_type="text/event-stream")

    async def _events(self, cookie: str) -> AsyncGenerator[str]:
        """Yield an event with each change of a note, until the browser is signed out."""
        changes = self._core.vault.changes
        self._streams += 1
        try:
            yield f"event: hello\ndata: {__version__}\n\n"
            seen, silent_s = changes.count, 0
            while self._sign_in.is_known(cookie):
                await anyio.sleep(LOOK_S)
                silent_s += LOOK_S
                if changes.count != seen:
                    seen, silent_s = changes.count, 0
                    yield f"event: change\ndata: {seen}\n\n"
                elif silent_s >= BEAT_S:
                    silent_s = 0
                    yield ":\n\n"
            yield "event: signed-out\ndata: \n\n"
        finally:
            self._streams -= 1

    def _page(self, template: str, request: Request, status: int, **values: Any) -> Response:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        known = {"view": None, "flash": None, "token": None, "here": here, "query": request.query_params.get("q", "")}
        return HTMLResponse(self._templates.fill(template, known | values), status)

    def _cookie(self, request: Request) -> str | None:
        """Return the cookie of a browser that is signed in."""
        cookie = request.cookies.get(_cookie_name(request), "")
        return cookie if self._sign_in.is_known(cookie) else None

    def _set_cookie(self, response: Response, name: str, value: str) -> None:
        response.set_cookie(name, value, max_age=COOKIE_S, path=ROOT, httponly=True, samesite="strict")


def _cookie_name(request: Request) -> str:
    """Return the cookie's name, with the port, because cookies of all ports of a host are sent to each."""
    return f"mcp_memory_{request.url.port}"


def _is_own(request: Request) -> bool:
    """Return whether the request comes from this machine and, as far as can be known, from a program of our user."""
    client = request.client
    if client is None or not ip_address(client.host).is_loopback:
        return False
    return user_at(client.port, request.scope["server"][1]) in {None, os.geteuid()}


def _local(path: str) -> str:
    """Return the path if it is below ours, else ours."""
    is_ours = path == ROOT or path.startswith((f"{ROOT}/", f"{ROOT}?"))
    return path if is_ours and path.isprintable() and "\\" not in path else ROOT


def _in_words(error: McpMemoryError) -> str:
    return f"{error.message} → {error.hint}" if error.hint else error.message
