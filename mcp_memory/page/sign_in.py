"""Signs a browser in by a link that works once, and recognizes the browser, and the forms that we gave it, afterwards.

A cookie is a signature under the person's token and the default client's. Rotating either ends all cookies, and a
restart of the daemon ends none.
"""

import hmac
from secrets import token_urlsafe
from time import monotonic, time

from mcp_memory.client.credentials import DEFAULT_CLIENT, PERSON, Credentials
from mcp_memory.text.text_hash import text_hash

ROOT = "/ui"
ENTRY = f"{ROOT}/enter"
LINK_S = 120.0
COOKIE_S = 30 * 24 * 3600


class SignIn:
    """Thread-safe. Neither links nor cookies are stored."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._links = dict[str, float]()

    def make_link(self) -> str:
        """Return a path with a new key, which works once within `LINK_S` seconds."""
        key = token_urlsafe(32)
        self._links = {known: until for known, until in self._links.items() if until > monotonic()}
        self._links[text_hash(key, 64)] = monotonic() + LINK_S
        return f"{ENTRY}?key={key}"

    def redeem(self, key: str) -> str | None:
        """Return a new cookie for the key of a link; None for a key that is unknown, used or too old."""
        until = self._links.pop(text_hash(key, 64), None)
        if until is None or until <= monotonic():
            return None
        name = f"{int(time())}.{token_urlsafe(18)}"
        return f"{name}.{self._sign('cookie', name)}"

    def is_known(self, cookie: str) -> bool:
        """Return whether we made this cookie for a browser that is still signed in."""
        name, _, signature = cookie.rpartition(".")
        made = name.partition(".")[0]
        if not (made.isascii() and made.isdigit()) or int(made) + COOKIE_S < time():
            return False
        return hmac.compare_digest(signature.encode(), self._sign("cookie", name).encode())

    def form_token(self, cookie: str) -> str:
        """Return what each form for this browser contains."""
        return self._sign("form", cookie)

    def is_own_form(self, cookie: str, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.form_token(cookie).encode())

    def end_all(self) -> None:
        """Sign all browsers out. Raises StorageFailed."""
        self._links = {}
        self._credentials.rotate(PERSON)

    def _sign(self, purpose: str, text: str) -> str:
        credentials = self._credentials
        others = credentials.token() if credentials.has(DEFAULT_CLIENT) else ""
        key = f"{credentials.persons_token()} {others}"
        return hmac.new(key.encode(), f"{purpose} {text}".encode(), "sha256").hexdigest()
