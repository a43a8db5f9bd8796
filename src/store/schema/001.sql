-- Whole things are kept as the serde form of the core's types in `body`; the columns beside it are
-- what is looked up. `event` is the journal: its numbers have no gaps that a reader could miss.
CREATE TABLE event (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL, -- milliseconds since 1970, UTC
    kind    TEXT NOT NULL,
    session TEXT,
    gate    TEXT,
    human   TEXT,
    detail  TEXT NOT NULL
) STRICT;

CREATE TABLE session (
    id   TEXT PRIMARY KEY,
    live INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE prompt (
    number INTEGER PRIMARY KEY,
    open   INTEGER NOT NULL,
    body   TEXT NOT NULL
) STRICT;
CREATE INDEX prompt_open ON prompt (number) WHERE open = 1;

CREATE TABLE gate (
    id    TEXT PRIMARY KEY,
    open  INTEGER NOT NULL,
    body  TEXT NOT NULL
) STRICT;

CREATE TABLE delivery (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    pending INTEGER NOT NULL,
    bridge  TEXT NOT NULL,
    chat    TEXT NOT NULL,
    message TEXT,
    session TEXT,
    gate    TEXT,
    body    TEXT NOT NULL
) STRICT;
CREATE INDEX delivery_pending ON delivery (number) WHERE pending = 1;
CREATE INDEX delivery_message ON delivery (bridge, chat, message) WHERE message IS NOT NULL;

CREATE TABLE heard (
    id      TEXT PRIMARY KEY,
    bridge  TEXT NOT NULL,
    key     TEXT NOT NULL,
    chat    TEXT NOT NULL,
    message TEXT,
    kept    INTEGER NOT NULL,
    body    TEXT NOT NULL,
    UNIQUE (bridge, key)
) STRICT;
CREATE INDEX heard_message ON heard (bridge, chat, message) WHERE message IS NOT NULL;
CREATE INDEX heard_kept ON heard (id) WHERE kept = 1;

CREATE TABLE thread (
    session TEXT NOT NULL,
    bridge  TEXT NOT NULL,
    chat    TEXT NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (session, bridge, chat)
) STRICT;

CREATE TABLE focus (
    place TEXT NOT NULL,
    human TEXT NOT NULL,
    body  TEXT NOT NULL,
    PRIMARY KEY (place, human)
) STRICT;
