"""The command line as a person and a script use it: help, exit codes, JSON, standard input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from mcp_memory import __version__
from mcp_memory.cli.command_tree import COMMANDS, commands
from tests.daemon.place import Place, Ran

CONFIG = ["path", "show", "default"]
CLIENTS = ["hooks", "plugin", "token"]


@pytest.mark.parametrize(
    "command",
    [[name] for name in COMMANDS] + [["config", name] for name in CONFIG] + [["clients", name] for name in CLIENTS],
    ids=" ".join,
)
def test_help_says_what_it_does_and_shows_an_example(command: list[str]):
    shown = CliRunner().invoke(commands, [*command, "--help"], prog_name="mcp-memory")
    assert shown.exit_code == 0
    usage, _, more = shown.output.partition("\n")
    assert usage.lower().startswith("usage: mcp-memory ")
    assert f"mcp-memory {' '.join(command)}" in more, "an example, besides the usage line"
    assert command[-1] in CliRunner().invoke(commands, [*command[:-1], "--help"]).output
    assert "--vault" in more, "after the command as well as before it"
    assert "--config" in more


WITHOUT_JSON = {"serve", "default"}
"""A program in the foreground, and a file to copy."""
SHORT = {"-k": "--kind", "-n": "--limit", "-p": "--project", "-h": "--help"}
NUMBERS = {"--limit", "--sessions"}


def every_command(command: click.Command = commands, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Each command that does something, with its name."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for word in command.list_commands(context):
        below = command.get_command(context, word)
        assert below
        yield from every_command(below, f"{name} {word}".strip())


def test_an_option_is_called_the_same_in_every_command():
    for name, command in every_command():
        options = {flag: set(one.opts) for one in command.params for flag in one.opts if flag.startswith("-")}
        assert ("--json" in options) is (name.split()[-1] not in WITHOUT_JSON), name
        for flag, names in options.items():
            if flag in SHORT:
                assert SHORT[flag] in names or (flag == "-n" and names & NUMBERS), f"{name} {flag}"
            assert len(flag) > 2 or flag in SHORT, f"{name} {flag}: a short name that no other command has"
            if flag in {"--kind", "--project"} | NUMBERS:
                assert set(SHORT) & names, f"{name} {flag} has no short name"


@pytest.mark.parametrize("group", ["", "config", "topics", "sessions", "clients"])
def test_each_command_has_one_line_that_is_not_cut(group: str):
    shown = CliRunner().invoke(commands, [*group.split(), "--help"], terminal_width=80).output.splitlines()
    assert [line for line in shown[1:] if "..." in line or len(line) > 80] == []
    if not group:
        first, more = shown.index("Everyday:"), shown.index("More, explained by: mcp-memory help commands:")
        everyday = [line.split()[0] for line in shown[first + 1 : more] if line]
        assert everyday == list(COMMANDS)[:16], "one line each, none that goes on in a second"
        named = re.findall(r"[a-z-]+", " ".join(line[20:] for line in shown[more + 1 :]))
        assert named == list(COMMANDS)[16:]


def test_the_guide_lists_every_command_by_what_it_is_for():
    shown = CliRunner().invoke(commands, ["help", "commands"]).output.splitlines()
    assert [line.split()[0] for line in shown if line.startswith("  ")] == list(COMMANDS)
    assert [line for line in shown if len(line) > 80] == []


def test_the_program_itself(place: Place):
    bare = place.run()
    assert bare.code == 2
    assert bare.err.startswith("Usage: ") and "mcp-memory start" in bare.err and "Error" not in bare.err
    assert place.run("-h").ok().out == place.run("--help").ok().out
    assert __version__ in place.run("--version").ok().out


def test_what_stands_after_the_command_counts(served: Place):
    vault = str(served.vault)
    assert served.run("--vault", "elsewhere", "status", "--json", "--vault", vault).ok().json["vault"] == vault
    for command in (("--config", "b.toml", "path"), ("path", "--config", "b.toml")):
        assert served.run("--config", "a.toml", "config", *command, "--json").ok().json == {"file": "b.toml"}


def test_a_folder_or_file_by_path(served: Place):
    note = served.run("append", "--json", "-k", "lesson", "The penstock sticks in winter.").ok().json
    for path in ("notes/lesson", "notes/lesson/", "./notes", note["path"]):
        hits = served.run("search", "--json", "--path", path, "penstock").ok().json["hits"]
        assert [hit["id"] for hit in hits] == [note["id"]], path
    assert served.run("search", "--json", "--path", "notes/les", "penstock").ok().json["hits"] == []


def test_nothing_is_made_by_looking(place: Place):
    for command in (["--help"], ["search", "--help"], ["config", "show"], ["config", "path"], ["headers"], ["status"]):
        place.run(*command)
    assert not place.vault.exists()
    assert not (place.root / "state").exists()


SECRET = "push with ghp_16C7e42F292c6912E7710c838347Ae178B4a"

SERVED = [
    (0, ["search", "anything"]),
    (0, ["recall"]),
    (1, ["append", SECRET]),
    (2, ["append", "x", "--kind", "thought"]),
    (2, ["append", "x", "--path", "../x.md"]),
    (2, ["append", "   "]),
    (2, ["search", "x", "--limit", "0"]),
    (2, ["search", "x", "--limit", "many"]),
    (2, ["search", "x", "--mode", "fuzzy"]),
    (2, ["search", "x", "--since", "lunch"]),
    (2, ["search"]),
    (2, ["search", "--nonsense", "x"]),
    (2, ["nonsense"]),
    (2, ["recall", "--phase", "lunch"]),
    (2, ["recall", "--budget", "1"]),
    (2, ["recall", "--lines", "1-2"]),
    (2, ["serve", "--port", "1", "--uds", "x"]),
    (2, ["serve", "--host", "0.0.0.0"]),
    (2, ["serve", "--config", "none.toml"]),
    (2, ["start", "--config", "none.toml"]),
    (2, ["clients", "token", "--client", "a b"]),
    (2, ["headers", "--client", "a b"]),
    (2, ["--config", "none.toml", "status"]),
    (2, ["status", "--config", "none.toml"]),
    (2, ["config", "show", "--config", "none.toml"]),
    (2, ["config", "--config", "none.toml", "show"]),
    (3, ["--vault", "elsewhere", "status"]),
    (3, ["status", "--vault", "elsewhere"]),
    (3, ["headers", "--vault", "elsewhere"]),
    (4, ["recall", "--id", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]),
    (4, ["recall", "--path", "notes/none.md"]),
    (4, ["forget", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]),
    (4, ["restore", "notes/none.md"]),
    (4, ["adopt", "notes/none"]),
    (4, ["clients", "token", "--client", "stranger", "--revoke"]),
]


@pytest.mark.parametrize(("code", "command"), SERVED, ids=lambda value: str(value)[:50])
def test_exit_codes_and_what_to_do_next(served: Place, code: int, command: list[str]):
    ran = served.run(*command)
    assert ran.code == code, ran
    assert "Traceback" not in ran.err
    if code:
        assert len(ran.err.strip()) > 10, "says why"
        assert ran.out in {"", "{}\n"}, "nothing for the next program in the pipe"


def test_errors_are_json_too(served: Place):
    for code, command in [
        (1, ["append", SECRET, "--json"]),
        (2, ["search", "x", "--limit", "0", "--json"]),
        (2, ["search", "x", "--limit", "many", "--json"]),
        (2, ["nonsense", "--json"]),
        (3, ["--vault", "elsewhere", "status", "--json"]),
        (4, ["forget", "notes/none.md", "--json"]),
    ]:
        ran = served.run(*command)
        assert ran.code == code
        assert set(ran.json) == {"error", "code", "hint"}


def test_json_everywhere(served: Place):
    note = served.run("append", "--json", "-k", "decision", "--tag", "trade", "We mill rye on Tuesdays.").ok().json
    assert set(note) == {"id", "path", "etag", "outcome", "indexed", "similar", "contradicts"}
    found = served.run("search", "--json", "rye").ok().json
    assert found["hits"][0]["id"] == note["id"]
    assert served.run("search", "rye on Tuesdays").ok().out.splitlines()[-1].startswith("confidence")
    assert "We mill rye" in served.run("recall", "--json", "--id", note["id"]).ok().json["text"]
    assert served.run("forget", "--json", note["id"], "--reason", "a test").ok().json["status"] == "deleted"
    assert served.run("search", "--json", "rye").ok().json["hits"] == []
    assert served.run("restore", "--json", note["id"]).ok().json["status"] == "active"
    assert served.run("search", "--json", "rye").ok().json["hits"][0]["id"] == note["id"]
    assert served.run("doctor", "--reindex", "--json").ok().json["notes"] >= 1
    assert isinstance(served.run("adopt", "--yes", "--json").ok().json["adopted"], list)
    assert isinstance(served.run("doctor", "--json").json["findings"], list)
    assert served.run("doctor", "--accept", "--json").ok().json == {"pruned": 0}
    assert served.run("config", "show", "--json").ok().json["settings"]["daemon"]["host"] == "127.0.0.1"
    assert served.run("clients", "token", "--json", "--client", "x").ok().json["client"] == "x"
    assert served.run("clients", "token", "--json", "--client", "x", "--revoke").ok().json["revoked"] is True
    assert served.run("status", "--json").ok().json["ready"] is True


def test_daemon_and_process_answer_alike(model_cache, tmp_path):
    place = Place(tmp_path, model_cache).make()
    queries = [
        ("search", "--json", "which bird fishes"),
        ("search", "--json", "--limit", "0", "x"),
        ("recall", "--json", "birds", "--budget", "300"),
        ("recall", "--json"),
        ("append", "--json", "-k", "fact", "--tag", "bird", "The heron fishes below the weir."),
        ("doctor", "--json"),
    ]

    def answers() -> list[tuple[int, object]]:
        return [normal(place.run(*query)) for query in queries]

    with place.started():
        place.run("append", "-k", "fact", "--tag", "bird", "The heron fishes below the weir.").ok()
        place.run("append", "-k", "log", "Mended the weir; saw the heron.").ok()
        through_the_daemon = answers()
        assert place.run("status").code == 0
        place.run("stop").ok()
    assert place.run("status").code == 3
    for query, one, other in zip(queries, through_the_daemon, answers(), strict=True):
        assert one == other, query


def normal(ran: Ran) -> tuple[int, object]:
    """An answer without the moment it was given."""
    answer = ran.json
    answer.pop("as_of", None)
    if "findings" in answer:  # what is only information speaks of the daemon and its sweeps
        answer["findings"] = [finding for finding in answer["findings"] if finding["severity"] != "info"]
    if "text" in answer:
        answer["text"] = answer["text"].partition("As of ")[2].partition("\n")[2]
    return ran.code, answer


TEXT = "Zwölf Reiher 🐦\n\n- one\n- two\n"


@pytest.mark.parametrize("dash", [[], ["-"]])
def test_append_from_standard_input(served: Place, dash: list[str]):
    note = served.run("append", "--json", *dash, "-k", "fact", stdin=f"{dash} {TEXT}".encode()).ok().json
    assert TEXT.strip() in (served.vault / note["path"]).read_text()


@pytest.mark.parametrize(
    "data", [b"", b"  \n", b"\x7fELF\x02\x01\x01\x00\x00", b"caf\xe9 latin-1", b"PK\x03\x04\x00\x00", bytes(range(256))]
)
@pytest.mark.parametrize("through", ["daemon", "process"])
def test_what_is_no_text_is_refused(served: Place, place: Place, data: bytes, through: str):
    ran = (served if through == "daemon" else place).run("append", stdin=data)
    assert ran.code == 2, ran
    assert "content" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("size", [1_000_001, 10_000_000])
@pytest.mark.parametrize("through", ["daemon", "process"])
def test_too_much_is_refused_with_the_limit(served: Place, place: Place, size: int, through: str):
    ran = (served if through == "daemon" else place).run("append", stdin=b"x" * size)
    assert ran.code == 2, ran
    assert "1,000,000" in ran.err or "4,000,000" in ran.err


def test_the_largest_note_fits_through_the_daemon(served: Place):
    """JSON writes these as six characters each."""
    text = "é" * 333_000 + "\U0001f426" * 80_000
    assert len(text.encode()) < 1_000_000
    note = served.run("append", "--json", stdin=text.encode()).ok().json
    served.run("forget", note["id"]).ok()


def test_config_path_show_and_default(place: Place):
    assert place.run("config", "path").ok().out.strip() == str(place.home / ".config/mcp-memory/config.toml")
    assert place.run("--config", "x.toml", "config", "path").ok().out.strip().endswith("x.toml")
    (place.root / "x.toml").write_text("[daemon]\nport = 4242\n")
    shown = place.run("--config", "x.toml", "config", "show").ok().out
    assert "daemon.port = 4242" in shown
    assert "x.toml" in shown
    env = place.run("--config", "x.toml", "config", "show", "--json", MCP_MEMORY_DAEMON_PORT="4343").ok().json
    assert env["settings"]["daemon"]["port"] == 4343
    flag = place.run("--vault", "flagged", "config", "show", "--json").ok().json
    assert flag["settings"]["vault"]["path"] == "flagged", "a flag wins over MCP_MEMORY_VAULT"


def test_a_bad_configuration_names_key_file_and_remedy(place: Place):
    for text, words in [
        ("[daemon]\nprot = 1\n", ["daemon.prot", "x.toml", "did you mean daemon.port?"]),
        ("[daemon]\nport = '1'\nhost = 5\n", ["daemon.host", "x.toml", "a string"]),
        ("[daemon]\nport = 99999\n", ["daemon.port", "1 to 65535"]),
        ("[damon]\nport = 1\n", ["damon", "did you mean daemon?"]),
        ("port = \n", ["x.toml", "TOML"]),
    ]:
        (place.root / "x.toml").write_text(text)
        ran = place.run("--config", "x.toml", "search", "x")
        assert ran.code == 2, ran
        assert [word for word in words if word not in ran.err] == []
    for command in (["restart"], ["start"], ["serve"], ["headers"], ["doctor"]):
        assert place.run("--config", "x.toml", *command).code == 2


@pytest.mark.parametrize("mistake", [
    "[daemon]\nprot = 1", "[damon]\nx = 1", "[daemon\nport = 1", "[daemon]\nport = \n", "[hooks]\nenabled = maybe",
    '[[kinds]]\nname = "x', "[daemon]\nport = 99999", "[capture]\nkeep_days = 'x'", "nonsense",
    "[jobs.times]\ndream = 25",
])  # fmt: skip
def test_a_mistake_in_the_configuration_does_not_keep_the_daemon_from_being_ended(place: Place, mistake: str):
    file = place.root / "x.toml"
    of_the_file = {"MCP_MEMORY_VAULT": "", "MCP_MEMORY_CONFIG": str(file)}
    place.vault.mkdir()
    for text in (f'vault.path = "{place.vault}"\n{mistake}\n', f'{mistake}\n[vault]\npath = "{place.vault}"  # mine\n'):
        file.write_text(text)
        stopped = place.run("stop", **of_the_file).ok()
        assert "was not running" in stopped.out and "only the vault's path is used" in stopped.err
        looked = place.run("status", **of_the_file)
        assert looked.code == 3 and f"no daemon runs for {place.vault}" in looked.err
        gone = place.run("uninstall", **of_the_file).ok().out
        assert str(place.vault) in gone and f"rm {file}" in gone and "pip uninstall mcp-memory-vault" in gone


def test_the_daemon_of_a_configuration_with_a_mistake_is_ended(place: Place):
    with place.started() as running:
        (place.root / "x.toml").write_text("[daemon]\nprot = 1\n")
        assert place.run("--config", "x.toml", "status", "--json").ok().json["pid"] == running.address.pid
        assert place.run("--config", "x.toml", "stop", "--json").ok().json["pid"] == running.address.pid
    (place.root / "x.toml").write_text('[vault]\npath = "unfinished\n')
    ran = place.run("--config", "x.toml", "stop", MCP_MEMORY_VAULT="")
    assert ran.code == 2 and "does not say which vault" in ran.err, "in doubt, not another vault's"


def test_a_configuration_is_in_force_in_the_daemon(place: Place):
    (place.root / "x.toml").write_text('[kinds]\nrecipe = { folder = "kitchen", about = "how a dish is made" }\n')
    started = place.run("start", "--config", "x.toml", "--json").ok().json
    assert json.loads(place.state.daemon.read_text())["pid"] == started["pid"]
    note = place.run("append", "--json", "-k", "recipe", "Rice: one cup, two cups of water.").ok().json
    assert note["path"].startswith("kitchen/")
