"""Define the SQLite tables.

Terms. NUMBER: a note's row, new with each upsert and never used twice. CHUNK ID: the note's number and the chunk's
ordinal in one integer, so that a chunk's note, its neighbors and its order in the note need no look-up. SLOT: counts
the vectors as they arrive, so "everything newer than slot N" is a range.

A generation is a set of tables; the embedding cache is shared by all.
"""

VERSION = 7
"""The number of the schema. A file with another number has another schema, so the index is rebuilt."""

APPLICATION_ID = 0x6D6D656D
"""`mmem`: distinguishes our file from another program's."""

ORDINAL_BITS = 20
"""Up to 1,048,576 chunks a note; the note's number has the upper bits."""

MAX_CHUNKS = 1 << ORDINAL_BITS

FIRST_PHRASE = MAX_CHUNKS - 16
"""The ordinal of a note's first phrase under `when`, which has a vector like a chunk, and no text of its own."""

SHARED = """
CREATE TABLE state (
    token INTEGER NOT NULL
);
CREATE TABLE models (id INTEGER PRIMARY KEY, embedding TEXT NOT NULL UNIQUE);
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    model INTEGER NOT NULL,
    hash TEXT NOT NULL,
    vector BLOB NOT NULL,   -- int8, scaled by 127 / largest component: the cosine needs no scale
    UNIQUE (model, hash)
);
CREATE TABLE generations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL UNIQUE,
    embedding TEXT NOT NULL,
    model INTEGER NOT NULL,
    dimension INTEGER NOT NULL,
    active INTEGER NOT NULL DEFAULT 0,
    notes INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    pending INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE conflicts (
    older TEXT, newer TEXT, older_path TEXT, newer_path TEXT, newer_at TEXT, before TEXT, after TEXT, why TEXT,
    PRIMARY KEY (older, newer)
);
CREATE INDEX conflicts_older ON conflicts (older_path);
CREATE INDEX conflicts_newer ON conflicts (newer_path);
CREATE TABLE compared (path TEXT PRIMARY KEY, etag TEXT NOT NULL);  -- the versions of notes that were compared
"""

ORDER = "date IS NULL, date DESC, id DESC, path"
"""The order of notes: the newest first."""

MARKS = {"always_load": "instr(record, '\"always_load\":true') > 0", "due": "instr(record, '\"due\":') > 0"}
"""Conditions on records that few notes meet; SQLite uses their indexes only where a query has the same words."""

GONE_KEPT = 100_000
"""Removals that stay on record; a cache that has missed more is rebuilt."""


def chunk_id(number: int, ordinal: int) -> int:
    return (number << ORDINAL_BITS) | ordinal


def id_range(number: int) -> tuple[int, int]:
    """Return the first and last possible id of a note's chunks."""
    return number << ORDINAL_BITS, ((number + 1) << ORDINAL_BITS) - 1


class Tables:
    """The table names of one generation. They are made of a number alone, so they are safe inside SQL."""

    def __init__(self, generation: int) -> None:
        self.notes = f"notes_{generation}"
        self.words = f"words_{generation}"
        self.gone = f"gone_{generation}"
        self.tags = f"tags_{generation}"
        self.chunks = f"chunks_{generation}"
        self.vectors = f"vectors_{generation}"
        self.pending = f"pending_{generation}"
        self.links = f"links_{generation}"
        self.names = f"names_{generation}"

    def create(self) -> list[str]:
        """Return the statements that make the generation's tables."""
        return [
            f"""CREATE TABLE {self.notes} (
                number INTEGER PRIMARY KEY AUTOINCREMENT,
                path TEXT NOT NULL UNIQUE,
                id TEXT NOT NULL,
                state TEXT NOT NULL,
                kind TEXT NOT NULL,
                project TEXT,
                session TEXT,
                date INTEGER,               -- microseconds since 1970
                expires INTEGER,
                content TEXT NOT NULL,
                size INTEGER NOT NULL,      -- chunks
                record TEXT NOT NULL)""",
            # The order of `Index.notes`, so that the newest are found without reading the others.
            f"CREATE INDEX {self.notes}_newest ON {self.notes} (state, {ORDER})",
            *(
                f"CREATE INDEX {self.notes}_{name} ON {self.notes} (state, {ORDER}) WHERE {mark}"
                for name, mark in MARKS.items()
            ),
            f"CREATE INDEX {self.notes}_id ON {self.notes} (id)",
            f"CREATE INDEX {self.notes}_project ON {self.notes} (project) WHERE project IS NOT NULL",
            f"CREATE INDEX {self.notes}_content ON {self.notes} (content)",
            f"CREATE INDEX {self.notes}_expires ON {self.notes} (expires) WHERE expires IS NOT NULL",
            f"CREATE TABLE {self.words} (number INTEGER PRIMARY KEY, words BLOB NOT NULL)",
            # Numbers of notes that were replaced or removed, from which the caches catch up.
            f"CREATE TABLE {self.gone} (seq INTEGER PRIMARY KEY AUTOINCREMENT, number INTEGER NOT NULL)",
            f"CREATE TABLE {self.tags} (tag TEXT, number INTEGER, PRIMARY KEY (tag, number)) WITHOUT ROWID",
            f"CREATE INDEX {self.tags}_number ON {self.tags} (number)",
            f"CREATE TABLE {self.chunks} (id INTEGER PRIMARY KEY, text BLOB, rest TEXT)",
            f"CREATE TABLE {self.vectors} (slot INTEGER PRIMARY KEY AUTOINCREMENT, chunk INTEGER, embedding INTEGER)",
            f"CREATE INDEX {self.vectors}_chunk ON {self.vectors} (chunk)",
            f"CREATE INDEX {self.vectors}_embedding ON {self.vectors} (embedding)",
            f"CREATE TABLE {self.pending} (chunk INTEGER PRIMARY KEY, hash TEXT, text BLOB)",
            f"CREATE INDEX {self.pending}_hash ON {self.pending} (hash)",
            f"""CREATE TABLE {self.links} (
                number INTEGER, line INTEGER, at INTEGER, kind TEXT, type TEXT, target TEXT, key TEXT,
                PRIMARY KEY (number, at)) WITHOUT ROWID""",
            f"CREATE INDEX {self.links}_key ON {self.links} (key)",
            # `rank` is how the name leads to the note, with more for a page or a forgotten note.
            f"""CREATE TABLE {self.names} (
                name TEXT, rank INTEGER, number INTEGER, PRIMARY KEY (name, rank, number)) WITHOUT ROWID""",
            f"CREATE INDEX {self.names}_number ON {self.names} (number)",
        ]

    def drop(self) -> list[str]:
        """Return the statements that remove the tables."""
        return [f"DROP TABLE {name}" for name in vars(self).values()]
