-- The ledger: an answer of a model in each line, once, whatever files it stands in. Columns alone: they
-- are what is summed. Times are milliseconds since 1970, UTC; money is in millionths of a dollar.
CREATE TABLE ledger (
    message        TEXT NOT NULL, -- the service's ids ...
    request        TEXT NOT NULL, -- ... of message and request; empty where it has none
    asked          INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    model          TEXT NOT NULL,
    input          INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    web_searches   INTEGER NOT NULL,
    micro_usd      INTEGER, -- NULL: its model had no price when it came
    kind           TEXT NOT NULL,
    unit           TEXT NOT NULL, -- the piece of work it is of
    session        TEXT,
    name           TEXT NOT NULL,
    story          TEXT NOT NULL,
    project        TEXT,
    run            TEXT,
    run_name       TEXT,
    step           TEXT,
    parent         TEXT,
    root           TEXT,
    turn           TEXT,
    subagent       TEXT,
    PRIMARY KEY (message, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_at ON ledger (at);
CREATE INDEX ledger_session ON ledger (session) WHERE session IS NOT NULL;

-- Sums of what is paid for together, and what people said about them.
CREATE TABLE account (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
