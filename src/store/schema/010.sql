-- Accounts of agents, and what is wrong with them.
CREATE TABLE account (
    account TEXT PRIMARY KEY,
    body    TEXT NOT NULL
) STRICT;
