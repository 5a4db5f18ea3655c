"""The whole life of a daemon, seen from outside: no connection but loopback, no file but in vault and state."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.place import CHECKOUT, Place

TRACED = "connect,sendto,sendmsg,openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlinkat"
WRITES = re.compile(r"O_(WRONLY|RDWR|CREAT)|^(?:\d+ +)?(mkdir|rename|link|symlink|creat)")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
HARMLESS = ("/dev/", "/proc/self/")

# Loopback is down in a new network namespace; raising it needs no program, only this call.
LIFE = """
import fcntl, json, socket, struct, subprocess, sys
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running
def memory(*arguments):
    done = subprocess.run([sys.executable, "-m", "mcp_memory", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done
    return json.loads(done.stdout)
started = memory("start", "--json")
try:
    note = memory("append", "--json", "-k", "fact", "The heron fishes below the weir.")
    found = memory("search", "--json", "which bird catches fish")
    recalled = memory("recall", "--json", "bird fishing")
    status = memory("status", "--json")
    maps = open(f"/proc/{started['pid']}/maps").read()
finally:
    memory("stop", "--json")
    inside = memory("search", "--json", "which bird catches fish")
libraries = sorted({line.split("/")[-1] for line in maps.splitlines() if ".so" in line})
print(json.dumps([started, note, found, recalled, status, libraries, inside]))
"""


def can(*command: str) -> bool:
    return bool(shutil.which(command[0])) and subprocess.run([*command, "true"], capture_output=True).returncode == 0


no_network = pytest.mark.skipif(not can("unshare", "-rn"), reason="needs a network namespace of its own")
traced = pytest.mark.skipif(not can("strace", "-qq", "-o", "/dev/null"), reason="needs strace")


@traced
@no_network
def test_a_life_without_network(tmp_path: Path, model_cache: Path):
    place = Place(tmp_path, model_cache).make()
    models_before = snapshot(model_cache)
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-s", "4096", "-e", f"trace={TRACED}", "-e", "signal=none"]
    done = subprocess.run(
        ["unshare", "-rn", *strace, "-o", str(trace), sys.executable, "-c", LIFE],
        env=place.environ, cwd=place.home, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    _started, note, found, recalled, status, libraries, inside = json.loads(done.stdout)

    assert status["model"], "the model works without a network"
    assert note["indexed"] == "keywords"
    assert found["hits"][0]["id"] == inside["hits"][0]["id"] == note["id"]
    assert "heron" in recalled["text"]
    assert any("onnxruntime" in name for name in libraries)
    assert not [name for name in libraries if "torch" in name], "torch is for other models only"

    calls = trace.read_text(errors="replace").splitlines()
    inet = [call for call in calls if re.search(r"AF_INET6?\b", call)]
    assert inet, "the trace sees our own connections"
    assert [call for call in inet if not re.search(r'inet_addr\("127\.|"::1"', call)] == []
    mine = [str(place.vault), str(place.state.home)]
    assert [path for path in written(calls) if not path.startswith((*mine, *HARMLESS))] == []
    assert any(path.startswith(mine[0]) for path in written(calls)), "the trace sees our own writes"

    assert {path.name for path in place.root.iterdir()} == {"home", "tmp", "vault", "state", "trace"}
    assert list(place.home.iterdir()) == list((place.root / "tmp").iterdir()) == []
    assert snapshot(model_cache) == models_before


def written(calls: list[str]) -> set[str]:
    """Absolute paths that a call created or opened for writing, whether it succeeded or not."""
    paths: set[str] = set()
    for call in calls:
        if WRITES.search(call) and "O_TMPFILE" not in call:
            paths |= {path for path in QUOTED.findall(call) if path.startswith("/")}
    return paths


def snapshot(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_the_switches_stand_before_the_first_import(tmp_path: Path):
    """Whatever the user's environment says: each works only if it is set before its library is imported."""
    environ = {
        "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1",
        "FASTMCP_LOG_ENABLED": "true", "FASTMCP_CHECK_FOR_UPDATES": "stable", "ORT_DISABLE_TELEMETRY": "0",
    }  # fmt: skip
    (tmp_path / ".env").write_text("FASTMCP_MASK_ERROR_DETAILS=nonsense\nFASTMCP_LOG_LEVEL=nonsense\n")
    program = (
        "import json, mcp_memory.server.app, fastmcp, os\n"
        "s = fastmcp.settings\n"
        "print(json.dumps([s.log_enabled, s.check_for_updates, os.environ['ORT_DISABLE_TELEMETRY']]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == [False, "off", "1"]
    assert {path.name for path in tmp_path.iterdir()} == {".env"}
