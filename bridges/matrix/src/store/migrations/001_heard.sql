-- The account, and how far the homeserver has told us everything.
create table account (
    user   text primary key,
    cursor text not null       -- `next_batch` of the last sync that is written down
) strict;

-- What came, whole, until the daemon has it.
create table heard (
    id       integer primary key autoincrement,
    room     text not null,
    event    text not null,
    received integer not null, -- milliseconds since 1970
    json     text not null,    -- as it was decrypted; of strangers only until it was handed in
    trust    text not null,    -- how it came: 'signed', 'unsigned', 'plain' in a plain room, 'bare' in an encrypted one, 'sealed'
    megolm   text,             -- of what is sealed: the session whose key is missing
    told     integer not null default 0, -- whether the person knows that it is sealed
    state    text not null default 'new' check (state in ('new', 'done', 'dead')),
    tries    integer not null default 0,
    why      text,
    unique (room, event)
) strict;
create index heard_new on heard (id) where state = 'new';
create index heard_sealed on heard (megolm) where trust = 'sealed' and state = 'new';
