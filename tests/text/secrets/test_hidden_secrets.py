"""Secrets that invisible or unusual characters, spaces and line ends hide."""

from __future__ import annotations

import pytest

from mcp_memory.text.secrets.finder import redact

RUN = "Hk3xQ9ZpR7mT2vYb5cN8wLdF4sJ6gUaE1oXi"
FULLWIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})


@pytest.mark.parametrize("text", [
    "password: Blau3Katze!".translate(FULLWIDTH),
    "password: ".translate(FULLWIDTH) + "Blau3Katze!",
    "p\u200bass\u00adword: Blau3Katze!",
    "contrasen\u0303a: Blau3Katze!",
    "Mot de passe\u00a0: Blau3Katze!",
    "\U0001d429\U0001d41a\U0001d42c\U0001d42c\U0001d430\U0001d428\U0001d42b\U0001d41d: Blau3Katze!",
    "漢字 \ufb01 \ufeff password: Blau\u200b3Katze!",
])  # fmt: skip
def test_unusual_characters_hide_no_password(text: str):
    before = text[: text.find("lau") - 1] if "lau" in text else ""
    redacted = redact(f"ｗｅ noted {text} today")
    assert redacted.text.startswith(f"ｗｅ noted {before}") and redacted.text.endswith(" today")
    assert redacted.secrets == 1 and "atze" not in redacted.text and "ａｔｚｅ" not in redacted.text
    assert redact(redacted.text) == (redacted.text, 0)


@pytest.mark.parametrize("text", [
    f"ghp_{RUN[:20]} {RUN[20:]}",
    f"ghp_{RUN[:20]}\n{RUN[20:]}",
    f"ghp_{RUN[:12]}\r\n  {RUN[12:24]}\r\n  {RUN[24:]}",
    f"> npm_{RUN[:20]}\n> {RUN[20:]}",
    f"ghp_{RUN[:20]}\u200b{RUN[20:]}",
    f"g\u200bhp_{RUN}",
    f"ghp_{RUN}".translate(FULLWIDTH),
    f"sk-ant-api03-{RUN}{RUN}\n  {RUN}",
])  # fmt: skip
def test_a_split_token_goes_whole(text: str):
    redacted = redact(f"Look: {text}\nThat is it.")
    kept = redacted.text.translate({wide: narrow for narrow, wide in FULLWIDTH.items()})
    assert redacted.secrets == 1 and not any(RUN[at : at + 6] in kept for at in range(len(RUN) - 6))
    assert redacted.text.endswith("]\nThat is it.")


@pytest.mark.parametrize("text", [
    "ghp_ tokens replace\nthe older ones of GitHub since 2021",
    "sk-learn and\nscikit2learn both work in Python3 since 2021",
    "Zeile\u200b eins, Passwort\u00a0abgelaufen, ﬁnal \u00bd",
    "glpat- gldt- glrt- glptt- glcbt- are prefixes",
])  # fmt: skip
def test_joined_words_are_no_token(text: str):
    assert redact(text) == (text, 0)
