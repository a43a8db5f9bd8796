-- What was said under which key. Without an event it is under way, or nobody knows.
create table said (
    key     text not null,     -- of the delivery
    part    integer not null,  -- one delivery may be several events
    room    text not null,
    content text not null,     -- a digest of what was sent under the transaction id
    first   integer not null,  -- when it was first tried, milliseconds since 1970
    at      integer not null,  -- when it was last tried
    event   text,              -- what it became; of a change, the message that changes
    settled integer not null default 0, -- once 1, all that answers it is known here too
    primary key (key, part)
) strict;
create index said_event on said (room, event);
create index said_unsettled on said (room) where settled = 0;

-- A message of ours that changes: how often it did, and what it shows now.
create table edited (
    room    text not null,
    event   text not null,
    at      integer not null,  -- when it last changed, milliseconds since 1970
    content text not null,     -- a digest
    times   integer not null,
    primary key (room, event)
) strict;

-- Our reaction on a person's message, and the reply that says it in words.
create table receipt (
    room     text not null,
    message  text not null,
    at       integer not null, -- when it last changed, milliseconds since 1970
    emoji    text,
    reaction text,             -- the event that put it there
    reply    text,             -- our message with the words
    words    text,
    primary key (room, message)
) strict;

-- What a reaction on a message of ours means: the buttons that Matrix does not have. A card that
-- changes leaves behind what its reactions meant before.
create table legend (
    room     text not null,
    event    text not null,
    emoji    text not null,    -- without variation selector and skin tone
    action   text not null,    -- of the port, as text
    since    integer not null, -- for reactions put from then on, by the homeserver's clock, in ms
    until    integer,          -- and before then; null: it means that now
    primary key (room, event, emoji, since)
) strict;

-- Our own reactions below a card, to tap on.
create table quick (
    room     text not null,
    event    text not null,
    emoji    text not null,
    reaction text,             -- the event that put it there; null: under way
    primary key (room, event, emoji)
) strict;

-- The poll beside a card; the ids of its answers are actions of the port.
create table poll (
    room  text not null,
    card  text not null,
    poll  text not null,
    ended integer not null default 0,
    primary key (room, card)
) strict;

-- A session's thread or room as it was last shown, and the newest event known in it.
create table thread (
    room  text not null,
    root  text not null,       -- an event; of a session's room: the room itself
    shown text not null,       -- a digest
    last  text,
    primary key (room, root)
) strict;

-- Rooms that we made, by the delivery that asked for them; that of the space is 'space'.
create table made (
    key  text primary key,
    room text                  -- null: under way, or nobody knows
) strict;
