-- Messages between sessions, what agents wait for, tokens of programs outside of sessions, and the
-- last answer of each session.
CREATE TABLE mail (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    open        INTEGER NOT NULL,
    sent        INTEGER NOT NULL, -- milliseconds since 1970, UTC
    sender      TEXT NOT NULL,    -- addresses ...
    reader      TEXT NOT NULL,
    sender_name TEXT NOT NULL,    -- ... and what people call them, in lower case
    reader_name TEXT NOT NULL,
    thread      TEXT NOT NULL,
    key         TEXT,
    body        TEXT NOT NULL
) STRICT;
CREATE INDEX mail_open ON mail (number) WHERE open = 1;
CREATE INDEX mail_over ON mail (sent) WHERE open = 0;
CREATE INDEX mail_reader ON mail (reader, number);
CREATE INDEX mail_reader_with ON mail (reader, sender_name, number);
CREATE INDEX mail_sender ON mail (sender, number);
CREATE INDEX mail_sender_with ON mail (sender, reader_name, number);
CREATE INDEX mail_thread ON mail (thread, number);
CREATE INDEX mail_key ON mail (sender, key) WHERE key IS NOT NULL;

-- The words of each message, with whatever else narrows a search, so that one looks through one's own
-- messages alone. None of it ever changes.
CREATE VIRTUAL TABLE mail_words USING fts5 (
    sender, reader, thread, text,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER mail_comes AFTER INSERT ON mail BEGIN
    INSERT INTO mail_words (rowid, sender, reader, thread, text)
    VALUES (
        new.number, new.sender || ' ' || new.sender_name, new.reader || ' ' || new.reader_name,
        new.thread, json_extract(new.body, '$.text')
    );
END;
CREATE TRIGGER mail_goes AFTER DELETE ON mail BEGIN
    DELETE FROM mail_words WHERE rowid = old.number;
END;

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
