-- Accounts of agents, and what is wrong with them.
CREATE TABLE outage (
    account TEXT PRIMARY KEY,
    body    TEXT NOT NULL
) STRICT;
