-- The bot whose updates these are, and from where on they are asked for.
create table bot (
    id       integer primary key,
    username text,             -- as it last told; null until it did
    topics   integer not null default 0, -- whether private chats with it have topics
    next     integer,          -- the offset that confirms everything written down here
    told     integer,          -- when an update last came, milliseconds since 1970
    polled   integer,          -- when a poll last came back, milliseconds since 1970
    silent   integer,          -- milliseconds of a silence that the daemon has not been told of
    menu     text              -- the command menu that was set last
) strict;

-- What Telegram told, whole, until the daemon has it. Update numbers start anew after a quiet week,
-- so a row has an id of its own. `batch` is the first row of what is one thing: an album, a paste
-- that the app cut. It is written before that is handed in, so that it stays the same.
create table heard (
    id       integer primary key autoincrement,
    bot      integer not null,
    number   integer not null, -- the update's
    received integer not null, -- milliseconds since 1970
    json     text not null,    -- of strangers only until it was handed in
    urgent   integer not null, -- taps and reactions, which wait behind nothing
    chat     integer,          -- of a message or its edit
    message  integer,
    album    text,
    state    text not null default 'new' check (state in ('new', 'done', 'dead')),
    tries    integer not null default 0,
    why      text,
    batch    integer
) strict;
create index heard_number on heard (bot, number);
create index heard_new on heard (bot, urgent, id) where state = 'new';
create index heard_message on heard (chat, message) where chat is not null;
create index heard_album on heard (album) where album is not null;

-- Groups that became supergroups, as far as the daemon was told.
create table moved (
    old integer primary key,
    new integer not null
) strict;

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
