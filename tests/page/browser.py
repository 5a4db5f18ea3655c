"""A browser as the daemon sees it: its cookies, the headers that it adds by itself, and the forms of a page."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.daemon.place import Place, Running
from tests.daemon.wire import Answer


@dataclass
class Form:
    """A form of a page, with nothing ticked. `label`: its button. A field that is there several times has a list."""

    action: str
    method: str = "get"
    fields: dict[str, Any] = field(default_factory=dict)
    label: str = ""


@dataclass
class Page(HTMLParser):
    """The forms, links and text of a page."""

    html: str

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)
        self.forms, self.links, self.sources = list[Form](), list[str](), list[str]()
        self.tags, self.inline = list[str](), list[str]()
        self._texts, self._open = list[str](), list[str]()
        self.feed(self.html)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self._open.append(tag)
        self.inline += [name for name in known if name.startswith("on") or name == "style"]
        self.sources += [known[name] for name in ("src", "href", "action") if name in known]
        if tag == "form":
            self.forms.append(Form(known.get("action", ""), known.get("method", "get")))
        elif tag == "input" and self.forms and "name" in known and known.get("type") != "checkbox":
            fields, value = self.forms[-1].fields, known.get("value", "")
            before = fields.get(known["name"])
            fields[known["name"]] = (
                value if before is None else [*([before] if isinstance(before, str) else before), value]
            )
        elif tag == "a":
            self.links.append(known.get("href", ""))

    def handle_data(self, data: str) -> None:
        self._texts.append(data)
        inside = self._open[-1] if self._open else ""
        if inside == "button" and self.forms and not self.forms[-1].label:
            self.forms[-1].label = data.strip()
        if inside in {"script", "style"} and data.strip():
            self.inline.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def form(self, label: str, **fields: str) -> Form:
        """The first form whose button says so, and that has these values."""
        return next(one for one in self.forms if one.label == label and fields.items() <= one.fields.items())


class Browser:
    """One browser with its own cookies. It follows what leads on, as a browser does."""

    def __init__(self, daemon: Running) -> None:
        self.daemon = daemon
        self.cookies = dict[str, str]()

    def link(self) -> str:
        """The path and query of a new link, as `mcp-memory open` prints it."""
        url = urlsplit(self.daemon.place.run("open", "--json").ok().json["url"])
        return f"{url.path}?{url.query}"

    def sign_in(self) -> Browser:
        assert self.send("GET", self.link()).status == 200
        return self

    def send(self, method: str, target: str, body: str = "", **headers: str) -> Answer:
        """One request, with the cookies, and with further headers (`_` for `-`)."""
        address = self.daemon.address
        with closing(http.client.HTTPConnection(address.host, address.port, timeout=30)) as connection:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.cookies:
                sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            connection.request(method, target, body.encode() or None, sent)
            response = connection.getresponse()
            for cookie in response.headers.get_all("set-cookie", []):
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value.strip('"')
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def see(self, target: str = "/ui", status: int = 200) -> Page:
        answer = self.send("GET", target)
        assert answer.status == status, answer.text
        return Page(answer.text)

    def submit(self, form: Form, **headers: str) -> Answer:
        """Send a form as its page does, or with other headers."""
        own = {"Origin": f"http://{self.daemon.address.authority}", "Sec-Fetch-Site": "same-origin"}
        sent = {"Content-Type": "application/x-www-form-urlencoded", **own, **headers}
        known = {name.replace("-", "_"): value for name, value in sent.items() if value}
        return self.send("POST", form.action, urlencode(form.fields, doseq=True), **known)

    def press(self, form: Form) -> Page:
        """Send a form, and see the page that it leads to."""
        answer = self.submit(form)
        assert answer.status == 303, answer.text
        return self.see(answer.headers["location"])


def call(daemon: Running, operation: str, client: str = "cli", **arguments: Any) -> Any:
    """Ask the daemon, as this client."""
    address = daemon.address
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=30)) as connection:
        headers = {"Authorization": f"Bearer {daemon.token(client)}", "Content-Type": "application/json"}
        connection.request("POST", f"/api/{operation}", json.dumps(arguments), headers)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        assert answer.status == 200, body
        return body


@contextmanager
def memory(place: Place) -> Iterator[Browser]:
    """A daemon of its own, and a browser that is signed in to it."""
    with place.started() as daemon:
        yield Browser(daemon).sign_in()
