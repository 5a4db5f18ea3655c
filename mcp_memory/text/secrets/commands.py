"""Recognizes secrets where programs take them: headers, options, environment variables, and lines of configuration."""

from functools import partial

from mcp_memory.text.secrets.shapes import looks_drawn, mixed, mixed_or_sequence, shape
from mcp_memory.text.secrets.values import (
    BARE,
    KIND,
    NAMES,
    QUOTED,
    Q,
    in_env,
    like_a_key,
    like_a_password,
    like_a_secret,
    like_no_word,
    quoted_like_a_secret,
    strong,
)

_FOUR = r"(?P<secret>(?:[^\s\"'`\\]|\\(?![\\\"'nrt])){4,200})"
_named = partial(shape, KIND)
_ENV = (
    r"(?:SECRET|TOKEN|PASSWORD|PASSPHRASE|PASSWD|PWD|KEY|PASS|CREDENTIAL|AUTH|(?<=_)PAT(?![A-Z]))"
    r"(?!_(?:NAME|HEADER|FILE|PATH|PREFIX|TYPE|URL)\b)[A-Z0-9_]{0,10}"
)
_COMMANDS = tuple(
    _named(hint, rf"{before}(?:{Q})?{_FOUR}", like_no_word)
    for hint, before in (
        ("requirepass", r"\brequirepass[ \t]{1,3}"),
        ("smbclient", r"smbclient\b[^\n]{0,100}?[ \t](?:-U|--user)[ =]?[^\s%]{1,60}%"),
        ("ldap", r"ldap[a-z]{3,10}\b[^\n]{0,200}?[ \t]-w[ \t]{1,3}"),
        ("openssl", r"openssl\b[^\n]{0,200}?[ \t](?:-k[ \t]{1,3}|-pass(?:in|out)?[ \t]{1,3}pass:)"),
        ("storepass keypass", r"-(?:store|key)pass[ \t]{1,3}"),
        ("zip", r"zip\b[^\n]{0,100}?[ \t]-P[ \t]{0,3}"),
        ("7z", r"\b7z[a-z]?[ \t][^\n]{0,100}?(?<=[ \t])-p"),
        ("login", r"login(?<!\wlogin)[ \t][^\n]{0,100}?(?<=[ \t])-p[ \t]{1,3}"),
        ("rabbitmqctl", r"rabbitmqctl[ \t]{1,3}(?:add_user|change_password)[ \t]{1,3}\S{1,60}[ \t]{1,3}"),
        ("htpasswd", r"htpasswd[ \t]{1,3}-\w{0,5}b\w{0,5}[ \t]{1,3}\S{1,100}[ \t]{1,3}\S{1,60}[ \t]{1,3}"),
    )
)
"""Programs that take a password as an argument."""
_PIPED = r"(?:echo|printf)[ \t]{1,3}(?:-n[ \t]{1,3})?"
CALLED = (
    shape(
        "authorization header",
        "uthorization UTHORIZATION",
        rf"[aA](?:uthorization|UTHORIZATION)(?:{Q})?\s{{0,3}}[:=]\s{{0,3}}(?:{Q})?[A-Za-z][A-Za-z\-]{{1,20}}\s{{1,3}}(?:token=)?"
        rf"(?:{Q})?(?P<secret>[\w\-.+/~]{{16,2000}}={{0,2}})",
        mixed_or_sequence,
    ),
    shape(
        "bearer token",
        "earer EARER",
        r"[bB](?<!\w[bB])(?:earer|EARER)\s{1,3}(?P<secret>[\w\-.+/~]{16,2000}={0,2})",
        mixed_or_sequence,
    ),
    shape(
        "authorization header",
        "SSWS GenieKey ApiKey Basic",
        r"\b(?:SSWS|GenieKey|ApiKey|Basic)[ \t]{1,3}(?P<secret>[\w\-.+/~]{20,2000}={0,2})",
        looks_drawn,
    ),
    shape(
        "cookie",
        "ookie OOKIE",
        rf"[cC](?:ookie|OOKIE)(?:{Q})?\s{{0,3}}:\s{{0,3}}(?:{Q})?"
        r"(?P<secret>[^\s\"'\\=]{1,80}=[^\r\n\"'\\]{7,4000})",
        mixed,
    ),
    shape(
        "cookie",
        "curl",
        rf"curl[ \t][^\n]{{0,300}}?(?<=[ \t])(?:-b|--cookie)[ =]?(?:{Q})?"
        r"(?P<secret>[^\s\"'\\=]{1,80}=[^\r\n\"'\\]{7,4000})",
        mixed,
    ),
    _named("=", rf"{_ENV}={QUOTED}", in_env),
    _named("=", rf"{_ENV}={BARE}", in_env),
    _named("ENV", rf"ENV[ \t]{{1,3}}[A-Z0-9_]{{0,60}}?{_ENV}[ \t]{{1,3}}(?:{Q})?{BARE}", like_a_secret),
    _named("--", rf"--[A-Za-z\-]{{0,30}}?{NAMES}(?:[ =]|{Q},\s{{1,3}})(?:{Q})?{BARE}", like_a_secret),
    _named(
        "og sign Sign OG reds redential ccount ugang eldedaten dentifiant",
        r"(?i)\b(?:(?:log|sign)(?:ged)?[ \-]?in(?:[ \t](?:as|with|using|als|mit|como|con|comme|avec))?|"
        r"credentials?|creds|account|zugangsdaten|anmeldedaten|zugang|identifiants?|credenciales)\b"
        rf"[ \t:]{{1,3}}[^\s/:]{{1,60}}[ \t]{{0,2}}/[ \t]{{0,2}}(?:{Q})?{BARE}",
        strong,
    ),
    _named("SESSION= SALT= PEPPER=", rf"(?:SESSION|SALT|PEPPER)=(?:{Q})?{BARE}", like_a_key),
    _named(
        "PIN",
        r"PIN(?<!\wPIN)(?:[ \-]?[Cc]ode)?(?:[ \t]?[:=]|[ \t](?:is|ist|lautet|es|est))[ \t]{0,3}"
        r"(?P<secret>[0-9]{4,8})(?![\w.:\-])",
        bool,
    ),
    _named("?", r"[?&](?:key|sig|[\w\-]{0,20}[sS]ignature|auth|code)=(?P<secret>[\w\-%.~+/]{20,400})", mixed),
    _named("auth", rf"auth{Q}\s{{0,3}}:\s{{0,3}}{Q}(?P<secret>[A-Za-z0-9+/]{{16,400}}={{0,2}})", mixed),
    _named(
        "curl -a --auth",
        rf"(?:curl|https?)[ \t][^\n]{{0,300}}?(?<=[ \t])(?:-u|--user|-a|--auth)[ =]?[ \t]{{0,3}}(?:{Q})?"
        rf"[^\s:\"'`]{{1,100}}:{_FOUR}",
        like_a_password,
    ),
    _named("define", rf"define\(\s{{0,3}}{Q}\w{{0,60}}?{NAMES}\w{{0,20}}{Q},\s{{0,3}}{QUOTED}", quoted_like_a_secret),
    _named(
        "chpasswd",
        rf"{_PIPED}(?:{Q})?[\w.\-]{{1,40}}:{_FOUR}(?:{Q})?[ \t]{{0,3}}\|[^\n]{{0,40}}?chpasswd",
        like_a_password,
    ),
    _named(
        "-stdin sudo",
        rf"{_PIPED}(?:{Q})?{_FOUR}(?:{Q})?[ \t]{{0,3}}\|[^\n]{{0,80}}?(?:--password-stdin|sudo[ \t]-S)",
        like_a_password,
    ),
    _named(
        "IDENTIFIED identified", rf"(?:IDENTIFIED|identified)[ \t]{{1,3}}(?i:by)[ \t]{{1,3}}{QUOTED}", like_a_password
    ),
    _named("sshpass", rf"sshpass[ \t]{{1,3}}-p[ \t]{{0,3}}(?:{Q})?{_FOUR}", like_a_password),
    *_COMMANDS,
    _named("redis-cli", rf"redis-cli\b[^\n]{{0,100}}?[ \t]-a[ \t]{{1,3}}(?:{Q})?{_FOUR}", like_a_password),
    _named(
        "docker podman mongo",
        rf"(?:docker|podman|mongosh?)[ \t][^\n]{{0,200}}?(?<=[ \t])-p[ \t]{{1,3}}(?:{Q})?{_FOUR}",
        strong,
    ),
    _named(
        "mysql mariadb",
        rf"(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{{0,100}}?[ \t]-p(?:{Q})?{_FOUR}",
        like_a_password,
    ),
    _named(
        ":*: :5432: :5433: :6432:",
        r":(?:[0-9]{4,5}|\*):[\w*\-]{1,60}:[\w*\-]{1,60}:(?P<secret>[^\s:]{6,100})(?!\S)",
        like_a_password,
    ),
)
