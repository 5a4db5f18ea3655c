"""show --history and --until, as someone types them."""

from __future__ import annotations

from tests.daemon.place import Place


def test_a_chain_is_printed_from_any_link_the_newest_first(served: Place):
    old = served.run("append", "--json", "-k", "fact", "The weir opens at nine.").ok().json
    said = served.run("append", "-k", "fact", "--supersedes", old["id"], "The weir opens at ten.").ok().out
    assert f"replaced:  {old['path']}  {old['id'][-6:]}\n  The weir opens at nine.\n" in said
    chain = served.run("show", "--history", "--json", old["id"]).ok().json["chain"]
    assert [(link["status"], link["text"], link["source"]) for link in chain] == [
        ("active", "The weir opens at ten.", "cli"), ("superseded", "The weir opens at nine.", "cli")
    ]  # fmt: skip
    shown = served.run("show", "--history", chain[0]["path"]).ok().out
    assert shown.index("opens at ten") < shown.index("superseded") < shown.index("opens at nine")
    told = served.run("recall", "--id", old["id"]).ok().out
    assert told.index("opens at ten") < told.index("opens at nine") and chain[0]["id"] in told
    archived = served.run("search", "--archived", "weir nine").ok().out
    assert f"superseded by {chain[0]['id'][-6:]}" in archived
    forgotten = served.run("forget", chain[0]["id"]).ok().out
    assert f"now holds:  {old['path']}" in forgotten and "opens at nine" in forgotten
    hidden = served.run("show", "--history", old["id"]).ok().out
    assert "(forgotten: mcp-memory restore brings it back)" in hidden and "opens at ten" not in hidden


def test_how_it_was_is_asked_with_a_question(served: Place):
    served.run("append", "-k", "fact", "The sluice is green.").ok()
    assert "Nothing relevant" in served.run("recall", "--until", "2020-01-01", "sluice").ok().out
    assert "green" in served.run("recall", "--until", "2099-01-01", "sluice").ok().out
    assert served.run("recall", "--until", "2020-01-01").code == 2
    assert served.run("recall", "--until", "2020-01-01", "--path", "README.md").code == 2
    assert served.run("search", "--until", "yesterday-ish", "sluice").code == 2
