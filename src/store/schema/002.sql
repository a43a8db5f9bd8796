-- Chats that people opened, and who a service's own ids of people are.
CREATE TABLE chat (
    bridge TEXT NOT NULL,
    chat   TEXT NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (bridge, chat)
) STRICT;

CREATE TABLE identity (
    bridge TEXT NOT NULL,
    id     TEXT NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (bridge, id)
) STRICT;

-- What was sent lately counts against a chat's budget after a start, too: milliseconds since 1970.
ALTER TABLE delivery ADD COLUMN sent INTEGER;
CREATE INDEX delivery_sent ON delivery (sent) WHERE sent IS NOT NULL;
