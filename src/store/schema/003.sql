-- Messages between sessions, what agents wait for, tokens of programs outside of sessions, and the
-- last answer of each session.
CREATE TABLE mail (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    open    INTEGER NOT NULL,
    sender  TEXT NOT NULL,
    reader  TEXT NOT NULL,
    key     TEXT,
    body    TEXT NOT NULL
) STRICT;
CREATE INDEX mail_open ON mail (number) WHERE open = 1;
CREATE INDEX mail_reader ON mail (reader, number);
CREATE INDEX mail_sender ON mail (sender, number);
CREATE INDEX mail_key ON mail (sender, key) WHERE key IS NOT NULL;

CREATE TABLE ticket (
    id   TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE token (
    id   TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE answer (
    session TEXT PRIMARY KEY,
    body    TEXT NOT NULL
) STRICT;
