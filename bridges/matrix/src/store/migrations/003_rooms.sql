-- Rooms we are in, and what they are.
create table room (
    room       text primary key,
    kind       text not null check (kind in ('chat', 'session', 'space')),
    chat       text not null,    -- of a session's room: the chat it belongs to; else itself
    encrypted  integer not null, -- once 1, never 0 again
    state      text not null default 'open' check (state in ('open', 'left', 'moved')),
    introduced integer not null default 0, -- whether the daemon knows how it stands
    latest     text,             -- the last event that came from there
    successor  text
) strict;

-- People who were admitted when they were last heard.
create table person (
    user text primary key,
    at   integer not null      -- milliseconds since 1970
) strict;

-- People for whom we make a room of our own accord, once.
create table welcome (
    user text primary key,
    at   integer not null,     -- when it was begun, milliseconds since 1970
    room text                  -- null: under way, or nobody knows
) strict;
