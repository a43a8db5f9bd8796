-- The account, and how far the homeserver has told us everything.
create table account (
    user   text primary key,
    cursor text not null       -- `next_batch` of the last sync that is written down
) strict;

-- What came, whole, until the daemon has it.
create table heard (
    id        integer primary key autoincrement,
    room      text not null,
    event     text not null,
    sender    text not null,
    thread    text,             -- the event that its thread hangs on
    sent      integer not null, -- as the sender's homeserver says, milliseconds since 1970
    received  integer not null, -- milliseconds since 1970
    json      text not null,    -- as it was decrypted; of strangers only until it was handed in
    trust     text not null,    -- how it came: 'signed', 'unsigned', 'changed', 'plain', 'bare', 'sealed' or 'gap'
    megolm    text,             -- of what is sealed: the session that it is encrypted with
    hindrance text,             -- of what is sealed: why it does not open
    device    text,             -- that it came from, if that is known
    told      integer not null default 0, -- how often the person heard that it is sealed
    state     text not null default 'new' check (state in ('new', 'done', 'dead')),
    tries     integer not null default 0,
    why       text,
    unique (room, event)
) strict;
create index heard_new on heard (id) where state = 'new';
create index heard_sealed on heard (megolm) where trust = 'sealed' and state = 'new';

-- What somebody was told once, or is told at most once in a while.
create table told (
    room  text not null,       -- '' where it is about no room
    who   text not null,
    about text not null,
    at    integer not null,    -- when last, milliseconds since 1970
    primary key (room, who, about)
) strict;
