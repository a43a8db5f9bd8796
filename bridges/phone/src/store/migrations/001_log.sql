-- One row: which log this is, and the number of its last change.
create table log (epoch text not null, seq integer not null) strict;
insert into log values (lower(hex(randomblob(4))), 0);

-- Every row that a page shows carries the number of its last change, so that a page which
-- continues from a number sees the newest state of all that changed since, and misses nothing.
create table thread (
  id integer primary key autoincrement,
  state text not null,                 -- ThreadState, JSON
  made integer not null,
  seq integer not null
) strict;
create unique index thread_seq on thread (seq);

create table message (
  id integer primary key autoincrement,
  thread integer not null,             -- 0: the main chat
  kind text not null check (kind in ('post', 'text', 'notice')),
  body text not null,                  -- a post: Post, JSON; otherwise the text itself
  author text,                         -- of a text: the person
  author_name text,
  client text,                         -- of a text: the id the page gave it
  reply_to integer,
  mark text,                           -- of a text: Mark, JSON
  aside text,                          -- of a text: why it could not be handed in
  card text check (card in ('open', 'decided')),
  loud integer not null,               -- counts as unread
  created integer not null,
  edited integer,
  seq integer not null
) strict;
create index message_thread on message (thread, id);
create unique index message_seq on message (seq);
create index message_card on message (card, seq) where card is not null;

-- What people did, until it is handed in; kept a while afterwards, so that a repeated request is known.
create table heard (
  id integer primary key autoincrement,
  person text not null,
  client text not null,
  message integer not null,
  heard text not null,                 -- Heard, JSON, its key still empty
  state text not null default 'waiting' check (state in ('waiting', 'accepted', 'aside')),
  refusals integer not null default 0, -- in a row, with the same reason
  reason text,
  notice text,
  created integer not null,
  unique (person, client)
) strict;
create index heard_waiting on heard (id) where state = 'waiting';

create table delivery (
  key text primary key,
  message integer,
  thread integer
) strict, without rowid;

create table read_mark (
  person text not null,
  thread integer not null,
  message integer not null,            -- the newest that was seen
  seq integer not null,
  primary key (person, thread)
) strict, without rowid;
