-- What digests tell of: the newest are kept.
CREATE TABLE happened (
    number INTEGER PRIMARY KEY,
    body   TEXT NOT NULL
) STRICT;
-- The last digest of each person.
CREATE TABLE digest (
    human TEXT PRIMARY KEY,
    body  TEXT NOT NULL
) STRICT;
-- What makes no sound for whom.
CREATE TABLE mute (
    human TEXT NOT NULL,
    what  TEXT NOT NULL,
    body  TEXT NOT NULL,
    PRIMARY KEY (human, what)
) STRICT;
