-- Where each person was heard, and when last.
CREATE TABLE last_heard (
    human  TEXT NOT NULL,
    bridge TEXT NOT NULL,
    chat   TEXT NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (human, bridge, chat)
) STRICT;
