"""Settings: what wins, what is refused and in which words, and that the documentation names every key."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest

from mcp_memory.errors import ConfigInvalid
from mcp_memory.recall.config import SHIPPED_PHASES
from mcp_memory.runtime.paths import PREFIX, config_file, state_folder, state_home
from mcp_memory.settings.settings import RANGES, Settings, as_tree, check_limits, load, shipped, values
from mcp_memory.settings.state import StateFolder
from mcp_memory.vault.config import SHIPPED_KINDS

CHECKOUT = Path(__file__).parents[2]


def loaded(text: str, tmp_path: Path, environ: dict[str, str] | None = None, **flags: object) -> Settings:
    file = tmp_path / "c.toml"
    file.write_text(text, encoding="utf-8")
    return load(environ or {}, file=file, flags={k.replace("__", "."): v for k, v in flags.items()})


def test_flag_over_environment_over_file_over_default(tmp_path: Path):
    text, environ = (
        "[daemon]\nport = 1\nlog_level = 'error'\nauth = 'none'\n",
        {
            "MCP_MEMORY_DAEMON_PORT": "2",
            "MCP_MEMORY_DAEMON_LOG_LEVEL": "debug",
        },
    )
    found = loaded(text, tmp_path, environ, daemon__port=3, daemon__host=None).daemon
    assert (found.port, found.log_level, found.auth, found.host) == (3, "debug", "none", "127.0.0.1")
    assert loaded("", tmp_path, {"MCP_MEMORY_VAULT": "/v"}).vault.path == "/v"
    assert loaded("", tmp_path, {"MCP_MEMORY_VAULT_PATH": "/w"}).vault.path == "/w"
    assert loaded("", tmp_path, {"MCP_MEMORY_VAULT": "/v"}, vault__path="/f").vault.path == "/f"


@pytest.mark.parametrize(
    ("name", "text", "section", "key", "value"),
    [
        ("DAEMON_ALLOW_REMOTE", "yes", "daemon", "allow_remote", True),
        ("WATCH_HINTS", "0", "watch", "hints", False),
        ("EMBEDDER_TIMEOUT_S", "2.5", "embedder", "timeout_s", 2.5),
        ("DAEMON_ALLOWED_HOSTS", "a.lan:1, b.lan:2", "daemon", "allowed_hosts", ("a.lan:1", "b.lan:2")),
        ("EMBEDDER_MODEL", "some/model", "embedder", "model", "some/model"),
        ("SUMMARIZER_PROMPT_TOKENS", "500", "summarizer", "prompt_tokens", 500),
    ],
)
def test_the_environment_is_read_as_the_type_of_the_key(name, text, section, key, value):
    settings = load({PREFIX + name: text, "MCP_MEMORY_CONFIG": ""})
    assert getattr(getattr(settings, section), key) == value


def test_names_that_are_not_ours_to_judge_and_empty_ones():
    environ = {
        "MCP_MEMORY_STATE": "/s", "MCP_MEMORY_MODELS": "/m", "MCP_MEMORY_TEST_MODEL_CACHE": "/t", "MCP_MEMORY": "x",
        "MCP_MEMORY_VAULT": "", "MCP_MEMORY_DAEMON_PORT": "", "OTHER_VAULT": "/o", "XDG_CONFIG_HOME": "/none",
    }  # fmt: skip
    assert as_tree(load(environ)) == as_tree(Settings())


WRONG = tomllib.loads(Path(__file__).with_name("wrong_settings.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "words"), WRONG["wrong"], ids=lambda value: str(value)[:50])
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, words: list[str]):
    with pytest.raises(ConfigInvalid) as caught:
        loaded(text, tmp_path)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


def test_the_blame_falls_on_what_set_it(tmp_path: Path):
    with pytest.raises(ConfigInvalid, match=r"daemon\.prot in the environment \(MCP_MEMORY_DAEMON_PROT\)"):
        loaded("[daemon]\nport = 1\n", tmp_path, {"MCP_MEMORY_DAEMON_PROT": "1"})
    with pytest.raises(ConfigInvalid, match=r"daemon\.port in the environment \(MCP_MEMORY_DAEMON_PORT\)"):
        loaded("", tmp_path, {"MCP_MEMORY_DAEMON_PORT": "x"})
    with pytest.raises(ConfigInvalid, match=r"daemon\.port in the command line"):
        loaded("", tmp_path, {"MCP_MEMORY_DAEMON_PORT": "5"}, daemon__port=-5)
    with pytest.raises(ConfigInvalid, match=r"vault in .*c\.toml must be a table"):
        loaded("vault = '/x'\n", tmp_path, {"MCP_MEMORY_VAULT": "/v"})


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(ConfigInvalid, match="no configuration file"):
        load({}, file=tmp_path / "none.toml")
    with pytest.raises(ConfigInvalid, match="no configuration file"):
        load({"MCP_MEMORY_CONFIG": str(tmp_path / "none.toml")})
    with pytest.raises(ConfigInvalid, match="cannot read"):
        load({}, file=tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigInvalid, match="cannot read"):
        load({}, file=tmp_path / "latin.toml")
    assert load({"XDG_CONFIG_HOME": str(tmp_path)}).file is None, "a missing default file is no error"


def test_a_configuration_that_is_no_regular_file_keeps_nobody_waiting(tmp_path: Path):
    """In a program of its own: one that waits for a writer cannot be interrupted from within."""
    os.mkfifo(tmp_path / "fifo")
    asking = "import os, sys; from mcp_memory.settings.settings import load; load({}, file=sys.argv[1])"
    for file in (tmp_path / "fifo", Path("/dev/null"), tmp_path):
        done = subprocess.run([sys.executable, "-c", asking, file], capture_output=True, text=True, timeout=60)
        assert f"cannot read {file}: it is not a regular file" in done.stderr


def test_where_things_are(tmp_path: Path):
    assert state_home({"MCP_MEMORY_STATE": "/s", "XDG_STATE_HOME": "/x"}) == "/s"
    assert state_home({"XDG_STATE_HOME": "/x"}) == "/x/mcp-memory"
    assert state_home({}) == str(Path("~/.local/state/mcp-memory").expanduser())
    assert config_file({"XDG_CONFIG_HOME": "/x"}) == "/x/mcp-memory/config.toml"
    assert config_file({}) == str(Path("~/.config/mcp-memory/config.toml").expanduser())
    state = StateFolder.for_vault(Path("/a/My Notes"), {"MCP_MEMORY_STATE": "/s"})
    assert state.root.parent == Path("/s/vaults")
    assert state.root.name.startswith("my-notes-")
    assert state.home == Path("/s")
    assert state.models == Path("/s/models")
    assert StateFolder.for_vault(Path("/b/My Notes"), {"MCP_MEMORY_STATE": "/s"}).root != state.root
    with pytest.raises(ConfigInvalid, match="home"):
        _ = load({"MCP_MEMORY_VAULT": "~nobody-of-that-name/x"}).vault_path


def test_one_vault_has_one_state_however_it_is_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to("vault")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    spellings = ["vault", "./vault/", str(tmp_path / "vault"), "link", "~/vault", "vault/../vault", ".//link//."]
    states = {load({"MCP_MEMORY_VAULT": spelling, "MCP_MEMORY_STATE": "/s"}).state.root for spelling in spellings}
    assert len(states) == 1


@pytest.mark.parametrize("behind", ["", "//", "//notes/"])
def test_a_link_to_itself_is_no_vault(tmp_path: Path, behind: str):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ConfigInvalid, match="leads nowhere"):
        _ = load({"MCP_MEMORY_VAULT": f"{tmp_path}/loop{behind}"}).vault_path


def test_who_names_whole_paths_may_stand_in_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As an agent does whose worktree was removed."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    found = load({"MCP_MEMORY_VAULT": f"{tmp_path}/vault", "MCP_MEMORY_STATE": "/s"})
    assert found.vault_path == tmp_path / "vault" and found.state.home == Path("/s")


@pytest.mark.parametrize("state", ["/", "//", "///", "/s/", "/s//", "/s/./"])
def test_the_state_folder_has_one_spelling(state: str):
    """`pathlib` keeps two slashes at the beginning, and so does the system mean something else by them."""
    found = state_folder("/v", {"MCP_MEMORY_STATE": state})
    assert str(Path(found)) == found == str(Path(state) / "vaults" / Path(found).name)


def keys(tree: dict) -> set[str]:
    """Dotted keys of sections; what a user names (sources, kinds, phases) counts as one key."""
    return {f"{section}.{key}" for section, table in tree.items() for key in table}


def test_the_default_file_names_every_key_with_its_default(tmp_path: Path):
    text = shipped("default.toml")
    assert text == (CHECKOUT / "configs" / "default.toml").read_text(encoding="utf-8")
    documented, real = tomllib.loads(text), as_tree(Settings())
    assert keys(documented) == keys(real)
    assert as_tree(loaded(text, tmp_path)) == real


def test_every_key_of_the_default_file_is_explained():
    in_section, unexplained = None, []
    for line in shipped("default.toml").splitlines():
        in_section = line if line.startswith("[") else in_section
        if re.match(r"\w+ = ", line) and in_section and not in_section.startswith("[recall.phases]"):
            key, _, rest = line.partition(" = ")
            if "#" not in rest:
                unexplained.append(key)
    # Obvious beside its neighbours.
    assert set(unexplained) <= {"timeout_s"}


def test_a_change_of_a_shipped_phase_or_kind_keeps_what_it_does_not_name(tmp_path: Path):
    text = """[recall.phases]
prompt = { budget_tokens = 500 }
debug = { kinds = [], least_share = 0 }
[kinds]
task = { folder = "todo" }
log = { about = "the diary" }
"""
    settings = loaded(text, tmp_path)
    prompt, debug = settings.recall.phases["prompt"], settings.recall.phases["debug"]
    assert prompt == replace(SHIPPED_PHASES["prompt"], budget_tokens=500)
    assert debug == replace(SHIPPED_PHASES["debug"], kinds=(), least_share=0)
    assert settings.kinds["task"] == replace(SHIPPED_KINDS["task"], folder="todo")
    assert settings.kinds["log"] == replace(SHIPPED_KINDS["log"], about="the diary")


def test_ones_own_phase_is_added_to_the_shipped_ones(tmp_path: Path):
    text = "[recall.phases]\nship = { budget_tokens = 700, kinds = ['fix'] }\nplan = { budget_tokens = 500 }\n"
    text += "debug.kinds = { fix = 200 }\n"
    phases = loaded(text, tmp_path).recall.phases
    assert phases.keys() == {*SHIPPED_PHASES, "ship"}
    assert phases["debug"] == replace(SHIPPED_PHASES["debug"], kinds={"fix": 200})
    assert (phases["ship"].kinds, phases["plan"].budget_tokens) == (("fix",), 500)


def test_the_start_of_a_session_has_one_budget():
    recall = Settings().recall
    assert recall.phases["start"].budget_tokens == recall.start_budget_tokens


def test_every_limit_is_of_a_key_and_holds_for_its_default():
    known = dict(values(as_tree(Settings()), ""))
    assert [key for key in RANGES if key.replace("*", "plan") not in known] == []
    check_limits(as_tree(Settings()), str)


def test_every_setting_is_frozen():
    def frozen(cls: type) -> None:
        assert cls.__dataclass_params__.frozen, cls
        for f in fields(cls):
            value = getattr(Settings(), f.name, None)
            if is_dataclass(value):
                frozen(type(value))

    frozen(Settings)


def test_a_relative_source_is_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = tmp_path / "etc" / "config.toml"
    file.parent.mkdir()
    file.write_text('[vault.sources]\nnear = "docs"\nhome = "~/notes"\nfar = "/srv/docs"\n')
    sources = load({"HOME": str(tmp_path / "home")}, file=file).vault.sources
    assert sources == {"near": f"{file.parent}/docs", "home": f"{tmp_path}/home/notes", "far": "/srv/docs"}
