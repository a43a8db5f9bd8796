-- The bot whose updates these are, and from where on they are asked for.
create table bot (
    id       integer primary key,
    username text not null,
    next     integer,          -- the offset that confirms everything written down here
    polled   integer           -- when a poll last came back, milliseconds since 1970
) strict;

-- What Telegram told, whole, until the daemon has it. `batch` joins what is one thing: an album, a
-- paste that the app cut. It is written before the batch is handed in, so that it stays the same.
create table heard (
    bot      integer not null,
    number   integer not null,
    received integer not null, -- milliseconds since 1970
    json     text not null,
    state    text not null default 'new' check (state in ('new', 'done', 'dead')),
    tries    integer not null default 0,
    why      text,
    batch    integer,
    primary key (bot, number)
) strict;
create index heard_new on heard (bot, number) where state = 'new';

-- The newest message of each chat that was seen, by anybody: what we send has a greater number.
create table newest (
    chat    integer primary key,
    message integer not null
) strict;

-- What was said under which key. Without a message or a thread it is under way, or nobody knows.
create table said (
    key     text primary key,
    chat    integer not null,
    before  integer not null,  -- the newest message when it was first sent; 0: none was known
    at      integer not null,  -- when it was last tried, milliseconds since 1970
    message integer,
    thread  integer            -- the topic it made
) strict;
create index said_in on said (chat, message);

-- Topics as they were last seen: made, renamed, closed by us or by people.
create table topic (
    chat   integer not null,
    thread integer not null,
    name   text not null,
    closed integer not null,
    ours   integer not null,   -- whether the bot made it
    primary key (chat, thread)
) strict;

-- The receipt on a person's message: the reaction, and a reply that says it in words.
create table receipt (
    chat     integer not null,
    message  integer not null,
    at       integer not null, -- when it last changed, milliseconds since 1970
    reaction text,
    reply    integer,          -- our message with the words
    words    text,             -- what it says
    primary key (chat, message)
) strict;
