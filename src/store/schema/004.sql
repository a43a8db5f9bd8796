-- Runs of workflows: the run, what it was made of (written once), its log (only ever added to), and the
-- last time of each schedule that was dealt with.
CREATE TABLE run (
    id       TEXT PRIMARY KEY,
    open     INTEGER NOT NULL,
    workflow TEXT NOT NULL,
    short    TEXT NOT NULL, -- the last part of its workflow's name, in lower case
    number   INTEGER NOT NULL,
    key      TEXT,
    parent   TEXT,
    body     TEXT NOT NULL,
    UNIQUE (short, number)
) STRICT;
CREATE INDEX run_open ON run (id) WHERE open = 1;
CREATE UNIQUE INDEX run_key ON run (workflow, key) WHERE key IS NOT NULL;
CREATE INDEX run_parent ON run (parent) WHERE parent IS NOT NULL;

CREATE TABLE run_frozen (
    run  TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE run_log (
    run  TEXT NOT NULL,
    seq  INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE slot (
    workflow TEXT PRIMARY KEY,
    body     TEXT NOT NULL
) STRICT;
