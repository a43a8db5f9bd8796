-- Rooms we are in, and what they are.
create table room (
    room      text primary key,
    kind      text not null check (kind in ('chat', 'session', 'space')),
    chat      text not null,   -- of a session's room: the chat it belongs to; else itself
    encrypted integer not null, -- once 1, never 0 again
    state     text not null default 'open' check (state in ('open', 'left', 'moved')),
    successor text
) strict;

-- People who were admitted when they were last heard.
create table person (
    user text primary key,
    at   integer not null      -- milliseconds since 1970
) strict;
