"""A hub on loopback that serves one model in the Hugging Face hub's protocol."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.support.loopback import LoopbackServer


class FakeHub:
    """A context manager; `address` is what `HF_ENDPOINT` should say."""

    commit = "0123456789abcdef0123456789abcdef01234567"

    def __init__(self, name: str, folder: Path) -> None:
        self.files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        self.files["evil.py"] = b"raise SystemExit"
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                prefix = f"/{name}/resolve/"
                if path in (f"/api/models/{name}", f"/api/models/{name}/revision/main"):
                    siblings = [{"rfilename": file} for file in hub.files]
                    body = json.dumps({"id": name, "sha": hub.commit, "siblings": siblings}).encode()
                    self.answer(200, body, {"Content-Type": "application/json"})
                elif path.startswith(f"/api/models/{name}/tree/"):
                    tree = [
                        {"type": "file", "path": file, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                        for file, data in hub.files.items()
                    ]
                    self.answer(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})
                elif path.startswith(prefix) and (file := path[len(prefix) :].partition("/")[2]) in hub.files:
                    data = hub.files[file]
                    etag = f'"{hashlib.sha1(data).hexdigest()}"'
                    self.answer(200, data, {"ETag": etag, "X-Repo-Commit": hub.commit})
                else:
                    self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})

            def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for header, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(header, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = LoopbackServer(Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> FakeHub:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.server.shutdown()
        self.server.server_close()
